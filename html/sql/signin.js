// The sign-in page works as a plain form; this only says in place what went wrong, and keeps what was typed.
import { byId } from '../common/dom.js';

/** What to tell for an answer of `/auth`. */
const TEXTS = {
  401: 'That code is not right. Whoever shares the database has it.',
  403: 'That code is not right. Whoever shares the database has it.',
  429: 'Too many wrong codes from here. Wait a minute, then try again.',
};

byId('show').addEventListener('change', () => { byId('code').type = byId('show').checked ? 'text' : 'password'; });
byId('form').addEventListener('submit', (event) => {
  event.preventDefault();
  signIn();
});

async function signIn() {
  byId('submit').disabled = true;
  byId('error').textContent = '';
  try {
    const body = new URLSearchParams({ code: byId('code').value.trim() });
    const response = await fetch('/auth', { method: 'POST', body, credentials: 'same-origin', redirect: 'follow' });
    if (response.ok) location.replace('/');
    else fail(TEXTS[response.status] ?? `The server answered ${response.status}; try again.`);
  } catch {
    fail('The server is not reachable; is postern still running?');
  }
}

function fail(text) {
  byId('error').textContent = text;
  byId('submit').disabled = false;
  byId('code').focus();
  byId('code').select();
}
