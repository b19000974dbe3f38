// The operator's sign-in.
import { signInForm } from '../common/signin.js';

signInForm({
  wrong: 'That token is not right. It is printed at each start.',
  tooMany: 'Too many wrong tokens from here. Wait a minute, then try again.',
});
