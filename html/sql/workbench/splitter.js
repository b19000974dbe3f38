// Splitters: dragged by pointer, moved by arrow keys, remembered by whoever gives `set`.

/**
 * Makes `handle` (role separator) move a boundary.
 * @param {HTMLElement} handle
 * @param {{vertical: boolean, value: () => number, set: (value: number, done: boolean) => void, reset: () => void}} options
 *   `value` in px along the axis; `set` clamps and applies; `reset`: a double click, or Enter
 */
export function splitter(handle, { vertical, value, set, reset }) {
  const axis = (event) => (vertical ? event.clientX : event.clientY);
  /** @type {{at: number, value: number}|null} */
  let from = null;
  handle.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    from = { at: axis(event), value: value() };
    handle.setPointerCapture(event.pointerId);
    handle.classList.add('dragging');
    event.preventDefault();
    handle.focus();
  });
  handle.addEventListener('pointermove', (event) => { if (from) set(from.value + axis(event) - from.at, false); });
  const end = () => {
    if (!from) return;
    from = null;
    handle.classList.remove('dragging');
    set(value(), true);
  };
  handle.addEventListener('pointerup', end);
  handle.addEventListener('pointercancel', end);
  handle.addEventListener('dblclick', reset);
  handle.addEventListener('keydown', (event) => {
    const step = event.shiftKey ? 64 : 16;
    const by = { ArrowLeft: -step, ArrowRight: step, ArrowUp: -step, ArrowDown: step }[event.key];
    if (event.key === 'Enter') reset();
    if (by === undefined || vertical !== /Left|Right/.test(event.key)) return;
    event.preventDefault();
    set(value() + by, true);
  });
}
