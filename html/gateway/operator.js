// The operator's sign-in.
import { byId } from '../common/dom.js';
import { signInForm } from '../common/signin.js';

signInForm({
  wrong: 'That token is not right. Another one is made at each start of the relay.',
  tooMany: 'Too many wrong tokens from here. Wait a minute, then try again.',
});

// A link that is good leads on at once: whoever is here with one has one that is not.
if (new URLSearchParams(location.search).has('code')) {
  byId('error').textContent = 'This link is not good any more: another one is made at each start of the relay, and a printed one is good once, within ten minutes. “postern relay status-url” prints one that is.';
  history.replaceState(null, '', location.pathname);
}
