// Keys that change text in the editor: indenting, comments, a selection put in brackets or quotes.

/** Pairs that a selection is put between when the first of the two is typed over it. */
const PAIRS = { '(': ')', '[': ']', '{': '}', "'": "'", '"': '"', '`': '`' };

/**
 * @typedef {{text: string, area: HTMLTextAreaElement, lines: import('./editorlines.js').Lines, selection: {start: number, end: number},
 *   lineOf: (offset: number) => number, replace: (start: number, end: number, text: string, typed?: boolean) => void}} Editor
 */

/** Tab inserts two spaces, or indents the selected lines (Shift: outdents). @param {Editor} editor @param {boolean} back */
export function indent(editor, back) {
  const { start, end } = editor.selection;
  if (back) changeLines(editor, (line) => line.replace(/^ {1,2}|^\t/, ''));
  else if (editor.lineOf(start) === editor.lineOf(end)) editor.replace(start, end, '  ');
  else changeLines(editor, (line) => (line === '' ? line : `  ${line}`));
}

/** Comments the selected lines in or out. @param {Editor} editor */
export function toggleComment(editor) {
  const lines = selectedLines(editor).text.split('\n').filter((line) => line.trim());
  const off = lines.length > 0 && lines.every((line) => /^\s*-- ?/.test(line));
  changeLines(editor, (line) => (off ? line.replace(/^(\s*)-- ?/, '$1') : line.trim() ? `-- ${line}` : line));
}

/** Puts the selection between what is typed and its partner; false where nothing is selected. @param {Editor} editor @param {InputEvent} event */
export function wrapSelection(editor, event) {
  const { start, end } = editor.selection;
  const typed = event.data ?? '';
  if (start === end || event.inputType !== 'insertText' || event.isComposing || !PAIRS[typed]) return false;
  const text = editor.text.slice(start, end);
  editor.replace(start, end, typed + text + PAIRS[typed], true);
  editor.area.setSelectionRange(start + 1, start + 1 + text.length);
  return true;
}

function selectedLines({ selection: { start, end }, text, lines }) {
  const from = lines.starts[lines.of(start)];
  const to = lines.end(lines.of(end > start && text[end - 1] === '\n' ? end - 1 : end));
  return { from, to, text: text.slice(from, to) };
}

function changeLines(editor, change) {
  const { start, end } = editor.selection;
  const { from, to, text } = selectedLines(editor);
  const next = text.split('\n').map(change).join('\n');
  if (next === text) return;
  editor.replace(from, to, next);
  const moved = next.length - text.length;
  if (start === end) editor.area.setSelectionRange(Math.max(from, start + moved), Math.max(from, start + moved));
  else editor.area.setSelectionRange(from, from + next.length);
}
