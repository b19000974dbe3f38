// The theme switch: system, light, dark. `theme-early.js` applies the remembered one before the first paint.
const KEY = 'postern.theme';
const ORDER = ['system', 'light', 'dark'];

/** @returns {'system'|'light'|'dark'} the chosen theme */
export function theme() {
  const value = document.documentElement.dataset.theme;
  return value === 'light' || value === 'dark' ? value : 'system';
}

/** Applies and remembers a theme. @param {string} name one of system, light, dark */
export function setTheme(name) {
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    if (name === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, name);
  } catch {
    // Not remembered where storage is forbidden; still applied.
  }
}

/** Moves to the next theme and returns its name. */
export function nextTheme() {
  const name = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
  setTheme(name);
  return name;
}

/** The sprite icon that stands for a theme. @param {string} name */
export function themeIcon(name) {
  return { system: 'system', light: 'sun', dark: 'moon' }[name];
}

/** Follows a change made in another window. @param {() => void} onChange */
export function followTheme(onChange) {
  addEventListener('storage', (event) => {
    if (event.key !== KEY) return;
    if (event.newValue) document.documentElement.dataset.theme = event.newValue;
    else delete document.documentElement.dataset.theme;
    onChange();
  });
}
