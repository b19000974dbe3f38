// The sign-in page of a shared database.
import { byId } from '../common/dom.js';
import { signInForm } from '../common/signin.js';

const show = byId('show', HTMLInputElement);
show.addEventListener('change', () => { byId('code', HTMLInputElement).type = show.checked ? 'text' : 'password'; });
signInForm({
  wrong: 'Wrong code. Ask the person who shares the database.',
  tooMany: 'Too many wrong codes from here. Wait a minute, then try again.',
});
