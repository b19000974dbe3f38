//! Authentication by password (RFC 4252), client and server.

use zeroize::Zeroizing;

use super::Session;
use crate::tunnel::ssh::error::Error;
use crate::tunnel::ssh::event::Event;
use crate::tunnel::ssh::names::{CONNECTION_SERVICE, NONE, PASSWORD, USERAUTH_SERVICE, msg};
use crate::tunnel::ssh::output::Output;
use crate::tunnel::ssh::wire::{Fields, Put};
use crate::tunnel::ssh::{Role, limits};

/// How far the login is.
pub(super) enum Auth {
    /// Client: the host key has not been shown, or its owner has not said what to do.
    Undecided,
    /// Client: has asked for the service, and will then send this request.
    Service(Zeroizing<Vec<u8>>),
    /// Client: has sent a request.
    Asked,
    /// Client: was refused.
    Refused,
    /// Server: the client has not asked for the service yet.
    Waiting,
    /// Server: so many attempts have failed.
    Failed(Tries),
    /// Server: its owner has not decided about an attempt.
    Deciding(Tries),
    /// Both.
    Done,
}

/// What a client has tried so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tries {
    failed: u32,
    /// The method `none` is usually asked first, to learn the methods: once is free.
    none: bool,
}

impl Session {
    /// Client: trusts the key of [`Event::HostKey`], and logs in; also after
    /// [`Event::LoginRefused`]. The answer is an event.
    pub fn login(&mut self, user: &str, password: &str) -> Result<(), Error> {
        self.check_alive()?;
        if user.len().max(password.len()) > limits::MAX_CREDENTIAL {
            return Err(Error::Misuse("the user name or password is too long"));
        }
        let request = request(user, password);
        match self.login {
            Auth::Undecided if self.exchange.has_host_key() => {
                let mut service = vec![msg::SERVICE_REQUEST];
                service.put_string(USERAUTH_SERVICE.as_bytes());
                self.out.urgent(&[&service]);
                self.login = Auth::Service(request);
            }
            Auth::Refused => {
                self.out.urgent(&[&request]);
                self.login = Auth::Asked;
            }
            _ => return Err(Error::Misuse("there is nothing to log in to now")),
        }
        Ok(())
    }

    /// Server: answers [`Event::Password`]. Call [`Reader::next`](crate::tunnel::ssh::Reader::next) afterwards:
    /// what came meanwhile has waited.
    pub fn verdict(&mut self, accepted: bool) -> Result<(), Error> {
        self.check_alive()?;
        let Auth::Deciding(tries) = self.login else {
            return Err(Error::Misuse("nobody waits for a verdict"));
        };
        if accepted {
            self.out.urgent(&[&[msg::USERAUTH_SUCCESS]]);
            self.login = Auth::Done;
            return Ok(());
        }
        match tries.fail(&mut self.out) {
            Ok(failed) => self.login = failed,
            Err(error) => self.fail(&error),
        }
        Ok(())
    }
}

impl Auth {
    pub(super) fn new(role: Role) -> Self {
        match role {
            Role::Client => Self::Undecided,
            Role::Server => Self::Waiting,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    pub(super) fn awaits_verdict(&self) -> bool {
        matches!(self, Self::Deciding(_))
    }

    pub(super) fn handle<'a>(
        &mut self,
        kind: u8,
        fields: Fields<'a>,
        out: &mut Output,
    ) -> Result<Event<'a>, Error> {
        match (&*self, kind) {
            (Self::Service(request), msg::SERVICE_ACCEPT) => {
                out.urgent(&[request]);
                *self = Self::Asked;
                Ok(Event::Quiet)
            }
            (Self::Asked, msg::USERAUTH_SUCCESS) => {
                fields.end()?;
                *self = Self::Done;
                Ok(Event::LoggedIn)
            }
            (Self::Asked, msg::USERAUTH_FAILURE) => self.refused(fields),
            // RFC 4252 §8: the server wants another password; there is nobody to ask for one.
            (Self::Asked, msg::USERAUTH_PASSWD_CHANGEREQ) => Err(Error::NoPasswordLogin),
            // RFC 4252 §5.4: a banner may come at any time before success; nobody would see it.
            (
                Self::Service(_) | Self::Asked | Self::Refused | Self::Undecided,
                msg::USERAUTH_BANNER,
            ) => Ok(Event::Quiet),
            // Some clients ask for the service again before every attempt.
            (Self::Waiting | Self::Failed(_), msg::SERVICE_REQUEST) => self.serve(fields, out),
            (Self::Failed(tries), msg::USERAUTH_REQUEST) => {
                let tries = *tries;
                self.attempt(tries, fields, out)
            }
            // RFC 4252 §5.1: requests after success are ignored.
            (Self::Done, msg::USERAUTH_REQUEST) => Ok(Event::Quiet),
            _ => Err(Error::Protocol("a login message came out of order")),
        }
    }

    fn refused(&mut self, mut fields: Fields<'_>) -> Result<Event<'static>, Error> {
        let password_helps = fields.names()?.any(|name| name == PASSWORD);
        let partial = fields.boolean()?;
        if partial || !password_helps {
            return Err(Error::NoPasswordLogin);
        }
        *self = Self::Refused;
        Ok(Event::LoginRefused)
    }

    /// RFC 4253 §10: a service that is not offered ends the connection.
    fn serve(&mut self, mut fields: Fields<'_>, out: &mut Output) -> Result<Event<'static>, Error> {
        if fields.string()? != USERAUTH_SERVICE.as_bytes() {
            return Err(Error::NoService);
        }
        let mut accept = vec![msg::SERVICE_ACCEPT];
        accept.put_string(USERAUTH_SERVICE.as_bytes());
        out.urgent(&[&accept]);
        if matches!(self, Self::Waiting) {
            *self = Self::Failed(Tries::default());
        }
        Ok(Event::Quiet)
    }

    /// RFC 4252 §5: user, service, method; §8: the password.
    fn attempt<'a>(
        &mut self,
        mut tries: Tries,
        mut fields: Fields<'a>,
        out: &mut Output,
    ) -> Result<Event<'a>, Error> {
        let user = fields.text()?;
        if fields.string()? != CONNECTION_SERVICE.as_bytes() {
            return Err(Error::NoService);
        }
        let method = fields.name(limits::MAX_NAME)?;
        if method == NONE && !std::mem::replace(&mut tries.none, true) {
            refuse(out);
            *self = Self::Failed(tries);
            return Ok(Event::Quiet);
        }
        if method != PASSWORD || fields.boolean()? {
            *self = tries.fail(out)?;
            return Ok(Event::Quiet);
        }
        let password = fields.text()?;
        fields.end()?;
        if user.len().max(password.len()) > limits::MAX_CREDENTIAL {
            *self = tries.fail(out)?;
            return Ok(Event::Quiet);
        }
        *self = Self::Deciding(tries);
        Ok(Event::Password { user, password })
    }
}

impl Tries {
    fn fail(mut self, out: &mut Output) -> Result<Auth, Error> {
        self.failed += 1;
        if self.failed >= limits::MAX_LOGIN_TRIES {
            return Err(Error::TooManyTries);
        }
        refuse(out);
        Ok(Auth::Failed(self))
    }
}

/// RFC 4252 §5.1.
fn refuse(out: &mut Output) {
    let mut failure = vec![msg::USERAUTH_FAILURE];
    failure.put_names([PASSWORD].into_iter());
    failure.put_bool(false);
    out.urgent(&[&failure]);
}

/// RFC 4252 §8.
fn request(user: &str, password: &str) -> Zeroizing<Vec<u8>> {
    // Never grown, so that no copy of the password is left behind.
    let size = 64 + user.len() + password.len();
    let mut request = Zeroizing::new(Vec::with_capacity(size));
    request.put_byte(msg::USERAUTH_REQUEST);
    request.put_string(user.as_bytes());
    request.put_string(CONNECTION_SERVICE.as_bytes());
    request.put_string(PASSWORD.as_bytes());
    request.put_bool(false);
    request.put_string(password.as_bytes());
    request
}
