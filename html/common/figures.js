// Figures as people read them. No DOM.

/** 1234567 → `1.2 M`. @param {number} count */
export function formatCount(count) {
  return scaled(count, 1000, ['', ' k', ' M', ' G', ' T']);
}

/** 356515840 → `340 MiB`. @param {number} bytes */
export function formatBytes(bytes) {
  return scaled(bytes, 1024, [' B', ' KiB', ' MiB', ' GiB', ' TiB']);
}

/** @param {number} value @param {number} step from one unit to the next @param {string[]} units */
function scaled(value, step, units) {
  let figure = value;
  let unit = 0;
  // A figure that would round up to a whole step belongs to the next unit.
  while (Math.round(figure) >= step && unit < units.length - 1) {
    figure /= step;
    unit += 1;
  }
  return `${unit === 0 || figure >= 100 ? Math.round(figure) : figure.toFixed(1).replace(/\.0$/, '')}${units[unit]}`;
}

/** Milliseconds as `0.4 ms`, `12 ms`, `3.2 s`, `2 min 5 s`. @param {number} ms */
export function formatMs(ms) {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** True if a server told a number. @param {unknown} value @returns {value is number} */
export function isFigure(value) {
  return Number.isFinite(value);
}
