// The sign-in page of a shared database.
import { byId } from '../common/dom.js';
import { signInForm } from '../common/signin.js';

const show = /** @type {HTMLInputElement} */ (byId('show'));
show.addEventListener('change', () => { /** @type {HTMLInputElement} */ (byId('code')).type = show.checked ? 'text' : 'password'; });
signInForm({
  wrong: 'That code is not right. Whoever shares the database has it.',
  tooMany: 'Too many wrong codes from here. Wait a minute, then try again.',
});
