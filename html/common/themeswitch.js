// The button that switches the theme; each page has one with the id `theme`.
import { announce } from './announce.js';
import { byId, setIcon } from './dom.js';
import { followTheme, nextTheme, theme, themeIcon } from './theme.js';

/** Wires the theme switch of the page. */
export function themeSwitch() {
  const button = byId('theme');
  const draw = () => {
    setIcon(button, themeIcon(theme()));
    button.title = `Theme: ${theme()}`;
    button.setAttribute('aria-label', button.title);
  };
  button.addEventListener('click', () => { announce(`Theme: ${nextTheme()}`); draw(); });
  followTheme(draw);
  draw();
}
