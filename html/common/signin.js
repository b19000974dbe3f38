// A sign-in page works as a plain form; this only says in place what went wrong, and keeps what was typed.
import { byId } from './dom.js';
import { createFetch } from './transport.js';

/**
 * Wires the form of a sign-in page: `form` with `code`, `submit` and `error`.
 * @param {{wrong: string, tooMany: string}} texts what to tell for a wrong code and for too many of them
 */
export function signInForm({ wrong, tooMany }) {
  const texts = { 401: wrong, 403: wrong, 429: tooMany };
  const code = byId('code', HTMLInputElement);
  const submit = byId('submit', HTMLButtonElement);
  const send = createFetch();

  async function signIn() {
    submit.disabled = true;
    byId('error').textContent = '';
    try {
      const { ok, status } = await send('/auth', { method: 'POST', body: new URLSearchParams({ code: code.value.trim() }) });
      if (ok) location.replace(`/${location.hash}`);
      else fail(texts[status] ?? `The server answered ${status}; try again.`);
    } catch {
      fail('The server is not reachable; is postern still running?');
    }
  }

  function fail(text) {
    byId('error').textContent = text;
    submit.disabled = false;
    code.focus();
    code.select();
  }

  byId('form').addEventListener('submit', (event) => {
    event.preventDefault();
    signIn();
  });
}
