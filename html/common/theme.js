// The theme switch: system, light, dark. `theme-early.js` applies the remembered one before the first paint.
import { announce } from './announce.js';
import { byId, setIcon } from './dom.js';

const KEY = 'postern.theme';
/** The themes in the order of the switch, each with its icon. */
const ICONS = { system: 'system', light: 'sun', dark: 'moon' };
const ORDER = Object.keys(ICONS);

/** Wires the page's button with the id `theme`, and follows a change made in another window. */
export function themeSwitch() {
  const button = byId('theme');
  const draw = () => {
    setIcon(button, ICONS[theme()]);
    button.title = `Theme: ${theme()}`;
    button.setAttribute('aria-label', button.title);
  };
  button.addEventListener('click', () => {
    const next = ORDER[(ORDER.indexOf(theme()) + 1) % ORDER.length];
    apply(next);
    remember(next);
    announce(`Theme: ${next}`);
    draw();
  });
  addEventListener('storage', (event) => {
    if (event.key !== KEY) return;
    apply(event.newValue ?? 'system');
    draw();
  });
  draw();
}

function theme() {
  const value = document.documentElement.dataset.theme;
  return value === 'light' || value === 'dark' ? value : 'system';
}

function apply(name) {
  if (name === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

function remember(name) {
  try {
    if (name === 'system') localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, name);
  } catch {
    // Not remembered where storage is forbidden; still applied.
  }
}
