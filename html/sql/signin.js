// The sign-in page of a shared database.
import { byId } from '../common/dom.js';
import { signInForm } from '../common/signin.js';

const show = byId('show', HTMLInputElement);
show.addEventListener('change', () => { byId('code', HTMLInputElement).type = show.checked ? 'text' : 'password'; });
signInForm({
  wrong: 'That code is not right. Whoever shares the database has it.',
  tooMany: 'Too many wrong codes from here. Wait a minute, then try again.',
});
