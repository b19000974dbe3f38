// Reads the page as a person sees it, for the tests. Set in every document before the page's own scripts.
globalThis.eyes = (() => {
  const violations = [];
  addEventListener('securitypolicyviolation', (event) => violations.push(`${event.violatedDirective}: ${event.blockedURI}`));

  const shown = (element) => element.checkVisibility({ visibilityProperty: true });
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const first = (selector) => all(selector)[0] ?? null;
  const index = (element, name) => Number(element.getAttribute(`aria-${name}index`));
  const ordered = (elements, name) => [...elements].sort((a, b) => index(a, name) - index(b, name));
  const grid = () => first('.grid');
  const rows = () => ordered(grid()?.querySelectorAll('.grid-row') ?? [], 'row');
  const cellsOf = (row) => ordered(row.querySelectorAll('.grid-cell'), 'col');

  return {
    violations, all, first, grid, rows,
    /** Texts of the rows in the document, in order. */
    cells: () => rows().map((row) => cellsOf(row).map((cell) => cell.textContent)),
    /** The cell at a place, counted from 0. */
    cell: (row, column) => cellsOf(rows().find((r) => index(r, 'row') === row + 2))[column],
    headers: () => ordered(grid()?.querySelectorAll('.grid-header') ?? [], 'col').map((header) => header.querySelector('.grid-name').textContent),
    header: (name) => [...grid().querySelectorAll('.grid-header')].find((header) => header.querySelector('.grid-name').textContent === name),
    editor: () => first('textarea.editor-area')?.value ?? null,
    resultTabs: () => all('.results-tab [role=tab]').map((tab) => tab.innerText.replace(/\s+/g, ' ').trim()),
    box: (selector) => first(selector).getBoundingClientRect().toJSON(),
    style: (selector, name) => getComputedStyle(first(selector))[name],
  };
})();
