// The operator's sign-in.
import { byId } from '../common/dom.js';
import { signInForm } from '../common/signin.js';

signInForm({
  wrong: 'That code is not right. Another one is made at each start of the relay.',
  tooMany: 'Too many wrong codes from here. Wait a minute, then try again.',
});

// A link that is good leads on at once: whoever is here with one has one that is not.
if (new URLSearchParams(location.search).has('code')) {
  byId('error').textContent = 'This link has expired. Links work once, within ten minutes of being printed, and until the relay restarts. “postern relay status-url” prints another one.';
  history.replaceState(null, '', location.pathname);
}
