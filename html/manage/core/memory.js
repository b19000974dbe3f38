// Settings of the page, stored in this browser; nothing is stored if storage is blocked.

/** @template T @param {string} key @param {T} otherwise @returns {T} */
export function remembered(key, otherwise) {
  try {
    const value = JSON.parse(localStorage.getItem(key) ?? 'null');
    return value !== null && typeof value === typeof otherwise && Array.isArray(value) === Array.isArray(otherwise) ? value : otherwise;
  } catch {
    return otherwise;
  }
}

/** @param {string} key @param {any} value */
export function remember(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Used, though not remembered.
  }
}
