// Setters that leave an unchanged value alone, so that nothing is styled, laid out or announced again.

/** @param {Element} element @param {string} text */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Names a button; its accessible name begins with the visible label, as voice control needs. @param {Element} button @param {string} label @param {string} name of the application */
export function relabel(button, label, name) {
  const text = button.lastElementChild;
  if (text) setText(text, label);
  setAttribute(button, 'aria-label', `${label} ${name}`);
}

/** @param {Element} element @param {string} name @param {string|null} value null takes it away */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) === value) return;
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
}

/** @param {HTMLElement} element @param {boolean} isHidden */
export function setHidden(element, isHidden) {
  if (element.hidden !== isHidden) element.hidden = isHidden;
}
