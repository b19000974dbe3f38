// The operator's sign-in.
import { byId } from '../common/dom.js';
import { signInForm } from '../common/signin.js';

// Who comes by a link and still sees this page has an old one.
if (new URLSearchParams(location.search).has('code')) {
  byId('error').textContent = 'This link is not right any more: its token is made anew at each start. '
    + '\u2018postern relay status-url\u2019 prints a fresh one.';
  // What is typed next is not to be mixed up with it, nor kept in the history.
  history.replaceState(null, '', location.pathname);
}

signInForm({
  wrong: 'That token is not right: it is made anew at each start. \u2018postern relay status-url\u2019 prints a fresh address.',
  tooMany: 'Too many wrong tokens from here. Wait a minute, then try again.',
});
