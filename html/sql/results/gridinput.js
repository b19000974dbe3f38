/**
 * Keys and pointers of the grid.
 * @module
 */

/** Pixels a column grows or shrinks by a key press. */
const RESIZE_STEP = 16;

/** Pixels a pointer may move during a click. */
const CLICK_SLACK = 4;

/** @param {import('./grid.js').Grid} grid */
export function listen(grid) {
  const { element } = grid;
  element.addEventListener('keydown', (event) => onKey(grid, event));
  element.addEventListener('copy', (event) => grid.options.onCopy?.(event));
  element.addEventListener('pointerdown', (event) => onPress(grid, event));
  element.addEventListener('dblclick', (event) => onDouble(grid, event));
  element.addEventListener('click', (event) => onClick(grid, event));
  element.addEventListener('contextmenu', (event) => onMenu(grid, event));
  element.addEventListener('wheel', (event) => onWheel(grid, event), { passive: false });
}

/** Space at the sides of the grid in which a dragged column scrolls it, and by how much, in pixels. */
const EDGE = 24;

/** Time that a finger rests on a header until its menu opens, in milliseconds. */
const LONG_PRESS_MS = 500;

const command = (event) => event.ctrlKey || event.metaKey;

const isMenuKey = ({ key, shiftKey }) => (key === 'F10' && shiftKey) || key === 'ContextMenu';

// Keyboard.

function onKey(grid, event) {
  if (event.isComposing) return;
  const { active } = grid.model;
  const handled = active.row < 0 ? onHeaderKey(grid, event, active.column) : onCellKey(grid, event, active);
  if (handled || moveByKey(grid, event, active)) {
    event.preventDefault();
    event.stopPropagation();
  }
}

function onHeaderKey(grid, event, column) {
  const { widths } = grid.model;
  if (event.altKey && event.shiftKey && event.key.startsWith('Arrow')) grid.options.onRearrange?.(({ shift }, layout) => shift(layout, column, { ArrowLeft: -1, ArrowRight: 1 }[event.key] ?? 0));
  else if (isMenuKey(event)) grid.options.onHeaderMenu?.(grid.activeElement, column);
  else if (event.altKey && event.key === 'ArrowLeft') grid.resizeColumn(column, widths[column] - RESIZE_STEP);
  else if (event.altKey && event.key === 'ArrowRight') grid.resizeColumn(column, widths[column] + RESIZE_STEP);
  else if (event.altKey && event.key === 'Enter') grid.fitColumn(column);
  else if (event.key === 'Enter' || (event.key === ' ' && !command(event))) grid.sortBy(column, event.shiftKey);
  else if (event.key === ' ') grid.moveTo({ row: -1, column }, { span: 'columns' });
  else return grid.options.onKey?.(event, grid.model.active);
  return true;
}

function onCellKey(grid, event, active) {
  const { key } = event;
  if (grid.options.onKey?.(event, active)) return true;
  if (command(event) && key.toLowerCase() === 'a') grid.moveTo(active, { span: 'all' });
  else if (key === 'Enter' && !command(event)) grid.options.onOpen?.(active, true);
  else if (key === ' ' && event.shiftKey) grid.moveTo(active, { span: 'rows' });
  else if (key === ' ' && command(event)) grid.moveTo(active, { span: 'columns' });
  else if (isMenuKey(event)) grid.options.onMenu?.(grid.activeElement);
  else return false;
  return true;
}

function moveByKey(grid, event, { row, column }) {
  if (event.altKey) return false;
  const to = target(grid, event, row, column);
  if (!to) return false;
  // The header is no part of a selection: Shift extends from it only into the rows.
  const extend = event.shiftKey && row >= 0 && to.row >= 0;
  grid.moveTo(to, { extend });
  return true;
}

function target(grid, event, row, column) {
  const far = command(event);
  const { rowCount, slots } = grid.model;
  const [first, end] = [slots[0], slots[slots.length - 1]];
  const page = row < 0 ? 0 : grid.pageRows;
  switch (event.key) {
    case 'ArrowUp':
      return { row: far ? 0 : row - 1, column };
    case 'ArrowDown':
      return { row: far ? rowCount - 1 : row + 1, column };
    case 'ArrowLeft':
      return { row, column: far ? first : grid.model.next(column, -1) };
    case 'ArrowRight':
      return { row, column: far ? end : grid.model.next(column, 1) };
    case 'Home':
      return { row: far ? 0 : row, column: first };
    case 'End':
      if (far && grid.options.toEnd && grid.model.goesOn) {
        grid.options.toEnd();
        return { row, column: end };
      }
      return { row: far ? rowCount - 1 : row, column: end };
    case 'PageUp':
      return { row: Math.max(0, row - page), column };
    case 'PageDown':
      return { row: row + page, column };
    default:
      return null;
  }
}

// Pointer.

function onPress(grid, event) {
  if (event.button !== 0) return;
  const part = partAt(grid, event);
  if (part?.kind === 'resizer') return startResize(grid, event, part.column);
  if (event.pointerType === 'touch' && part?.kind === 'header') return startLongPress(grid, event, part.column);
  if (event.pointerType === 'touch' || !part) return undefined; // a finger scrolls; its tap arrives as a click
  if (part.kind === 'cell' || part.kind === 'number') startSelecting(grid, event, part);
  if (part.kind === 'header') startMoving(grid, event, part.column);
  return undefined;
}

/** The part that was hit: `{ kind: 'cell'|'number'|'header'|'resizer'|'corner', row?, column? }`. */
function partAt(grid, event) {
  const hit = event.target.closest?.('.grid-resizer, .grid-cell, .grid-number, .grid-header, .grid-corner');
  if (!hit || !grid.element.contains(hit)) return null;
  const kind = [...hit.classList].find((name) => name.startsWith('grid-')).slice(5);
  const column = grid.model.slots[Number(hit.closest('[aria-colindex]').getAttribute('aria-colindex')) - 2];
  const row = Number(hit.closest('[role="row"]').getAttribute('aria-rowindex')) - 2;
  return { kind, row, column };
}

function startSelecting(grid, event, { kind, row, column }) {
  event.preventDefault(); // no text selection; the focus follows below
  const span = kind === 'number' ? 'rows' : 'cells';
  const at = kind === 'number' ? { row, column: grid.model.active.column } : { row, column };
  grid.moveTo(at, { extend: event.shiftKey, span, focus: true });
  drag(grid, event, (move) => {
    const to = grid.positionAt(move.clientX, move.clientY);
    const same = to.row === grid.model.active.row && (span === 'rows' || to.column === grid.model.active.column);
    if (!same) grid.moveTo(span === 'rows' ? { ...to, column } : to, { extend: true, span, focus: true });
  });
}

/** Moves a column to where its header is dropped; without a move it is a click. */
function startMoving(grid, start, column) {
  start.preventDefault(); // no text selection; a click brings the focus
  const { element, model, head } = grid;
  const mark = document.createElement('div');
  mark.className = 'grid-drop';
  /** @type {{column: number, behind: boolean}|null} */
  let to = null;
  drag(grid, start, ({ clientX, clientY }) => {
    const box = element.getBoundingClientRect();
    if (clientX > box.right - EDGE) element.scrollLeft += EDGE;
    else if (clientX < box.left + model.stuckWidth + EDGE && model.slotOf(column) >= model.stuck) element.scrollLeft -= EDGE;
    const target = grid.positionAt(clientX, clientY).column;
    const isStuck = model.slotOf(target) < model.stuck;
    const left = model.left(target) + (isStuck ? element.scrollLeft : 0);
    to = { column: target, behind: clientX - box.left + element.scrollLeft > left + model.widths[target] / 2 };
    mark.style.left = `${left + (to.behind ? model.widths[target] : 0)}px`;
    head.append(mark);
  }, (type) => {
    mark.remove();
    if (!to || to.column === column) return; // a click with an unsteady hand
    swallowClick();
    const { column: beside, behind } = to;
    if (type === 'pointerup') grid.options.onRearrange?.(({ place }, layout) => place(layout, column, beside, behind));
  });
}

const stop = (event) => event.stopPropagation();

/** The release of what was dragged or held is no click. */
function swallowClick() {
  addEventListener('click', stop, true);
  setTimeout(() => removeEventListener('click', stop, true));
}

/** Follows the pointer until it is released; outside the grid it scrolls one step a frame. */
function drag(grid, start, onMove, onEnd = (_type) => {}) {
  /** @type {PointerEvent|null} */
  let last = null;
  let frame = 0;
  const step = () => {
    frame = 0;
    if (!last) return;
    onMove(last);
    const box = grid.element.getBoundingClientRect();
    const outside = last.clientY < box.top || last.clientY > box.bottom || last.clientX < box.left || last.clientX > box.right;
    if (outside) frame = requestAnimationFrame(step);
  };
  const move = (event) => {
    const far = Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > CLICK_SLACK;
    if (last || far) last = event;
    if (last && !frame) frame = requestAnimationFrame(step);
  };
  const end = ({ type }) => {
    if (frame && last && type === 'pointerup') onMove(last); // a quick one ends before its frame
    cancelAnimationFrame(frame);
    for (const name of ['pointerup', 'pointercancel', 'blur']) removeEventListener(name, end);
    removeEventListener('pointermove', move);
    onEnd(type);
  };
  addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel', 'blur']) addEventListener(name, end);
}

function startResize(grid, event, column) {
  event.preventDefault();
  const handle = event.target;
  const width = grid.model.widths[column];
  const from = event.clientX;
  handle.setPointerCapture(event.pointerId); // also keeps the release from being a click on a header
  document.documentElement.classList.add('resizing');
  const move = (next) => next.clientX !== from && grid.resizeColumn(column, width + next.clientX - from);
  const end = () => {
    document.documentElement.classList.remove('resizing');
    removeEventListener('pointermove', move);
    for (const name of ['pointerup', 'pointercancel']) removeEventListener(name, end);
  };
  addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel']) addEventListener(name, end);
}

function onClick(grid, event) {
  const part = partAt(grid, event);
  if (!part) return grid.focus();
  const { kind, row, column } = part;
  if (kind === 'corner') grid.moveTo(grid.model.active, { span: 'all', focus: true });
  if (kind === 'header') onHeaderClick(grid, event, column);
  if (kind === 'number' && event.pointerType === 'touch') grid.moveTo({ row, column: grid.model.slots[0] }, { span: 'rows', focus: true });
  if (kind === 'cell') onCellClick(grid, event, { row, column });
}

function onHeaderClick(grid, event, column) {
  if (command(event)) grid.moveTo({ row: -1, column }, { span: 'columns', focus: true });
  else {
    grid.moveTo({ row: -1, column }, { focus: true });
    grid.sortBy(column, event.shiftKey);
  }
}

function onCellClick(grid, event, at) {
  if (event.pointerType === 'touch') grid.moveTo(at, { focus: true });
  const { anchor, active } = grid.model;
  const plain = anchor.row === active.row && anchor.column === active.column && !event.shiftKey;
  if (plain && grid.model.hasMore(at)) grid.options.onOpen?.(at, false, true);
}

function onDouble(grid, event) {
  const part = partAt(grid, event);
  if (part?.kind === 'resizer') grid.fitColumn(part.column);
  if (part?.kind === 'cell') grid.options.onOpen?.({ row: part.row, column: part.column });
}

function onMenu(grid, event) {
  const part = partAt(grid, event);
  if (part?.kind === 'header' || part?.kind === 'resizer') {
    event.preventDefault();
    if (event.pointerType !== 'touch') openHeaderMenu(grid, part.column);
  }
  if (part?.kind !== 'cell') return;
  event.preventDefault();
  if (!grid.model.isSelected(part.row, part.column)) grid.moveTo({ row: part.row, column: part.column }, { focus: true });
  grid.options.onMenu?.(grid.activeElement);
}

/** A header within selected columns keeps them selected. */
function openHeaderMenu(grid, column) {
  const { model } = grid;
  if (model.active.row >= 0 || model.span !== 'columns' || !model.isSelected(0, column)) grid.moveTo({ row: -1, column }, { focus: true });
  const header = grid.element.querySelector(`.grid-header[aria-colindex="${model.slotOf(column) + 2}"]`);
  if (header) grid.options.onHeaderMenu?.(header, column);
}

/** Opens the menu of a header on which a finger rests; the tap does not sort then. */
function startLongPress(grid, start, column) {
  let isOpen = false;
  const timer = setTimeout(() => {
    isOpen = true;
    openHeaderMenu(grid, column);
  }, LONG_PRESS_MS);
  const end = () => {
    clearTimeout(timer);
    if (isOpen) swallowClick();
    for (const name of ['pointerup', 'pointercancel']) removeEventListener(name, end);
    removeEventListener('pointermove', move);
  };
  const move = (event) => { if (Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) > CLICK_SLACK) end(); };
  addEventListener('pointermove', move);
  for (const name of ['pointerup', 'pointercancel']) addEventListener(name, end);
}

/** Scrolls by unscaled pixels if the scroll position is scaled. A wheel would skip rows otherwise. */
function onWheel(grid, event) {
  if (!grid.model.scaled || event.ctrlKey || event.shiftKey || event.deltaY === 0) return;
  event.preventDefault();
  const unit = [1, grid.model.rowHeight, grid.view][event.deltaMode] ?? 1;
  grid.offset += event.deltaY * unit;
  grid.element.scrollLeft += event.deltaX;
}
