//! Authentication by password (RFC 4252), client and server.

use zeroize::Zeroizing;

use super::config;
use super::error::Error;
use super::event::Event;
use super::names::{CONNECTION_SERVICE, NONE, PASSWORD, Role, USERAUTH_SERVICE, msg};
use super::output::Output;
use super::wire::{Fields, Put};

/// Progress of a login.
pub(super) enum Auth {
    /// Client: the host key has not been shown, or its owner has not decided.
    Undecided,
    /// Client: has asked for the service, and will then send this request.
    Service(Zeroizing<Vec<u8>>),
    /// Client: has sent a request.
    Asked,
    /// Client: was refused.
    Refused,
    /// Server: the client has not asked for the service yet.
    Waiting,
    /// Server: the client may log in, after these attempts.
    Failed(LoginAttempts),
    /// Server: its owner has not decided about an attempt.
    Deciding(LoginAttempts),
    /// Both.
    Done,
}

/// Attempts of a client so far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LoginAttempts {
    failed: u32,
    /// The method `none` is usually asked first, to learn the methods: once is free.
    none: bool,
}

impl Auth {
    pub(super) fn new(role: Role) -> Self {
        match role {
            Role::Client => Self::Undecided,
            Role::Server => Self::Waiting,
        }
    }

    /// Client: asks to be admitted, once the server has proved its host key or has refused.
    pub(super) fn authenticate(
        &mut self,
        has_host_key: bool,
        user: &str,
        password: &str,
        out: &mut Output,
    ) -> Result<(), Error> {
        if user.len().max(password.len()) > config::MAX_CREDENTIAL {
            return Err(Error::Misuse("the user name or password is too long"));
        }
        let request = request(user, password);
        match self {
            Self::Undecided if has_host_key => {
                let mut service = vec![msg::SERVICE_REQUEST];
                service.put_string(USERAUTH_SERVICE.as_bytes());
                out.urgent(&[&service]);
                *self = Self::Service(request);
            }
            Self::Refused => {
                out.urgent(&[&request]);
                *self = Self::Asked;
            }
            _ => return Err(Error::Misuse("there is nothing to log in to now")),
        }
        Ok(())
    }

    /// Server: its owner has decided about an attempt.
    pub(super) fn decide(&mut self, accepted: bool, out: &mut Output) -> Result<(), Error> {
        let Self::Deciding(tries) = *self else {
            return Err(Error::Misuse("nobody waits for a verdict"));
        };
        *self = if accepted {
            out.urgent(&[&[msg::USERAUTH_SUCCESS]]);
            Self::Done
        } else {
            tries.fail(out)?
        };
        Ok(())
    }

    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    pub(super) fn awaits_answer(&self) -> bool {
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
                Ok(Event::Handled)
            }
            (Self::Asked, msg::USERAUTH_SUCCESS) => {
                fields.end()?;
                *self = Self::Done;
                Ok(Event::AuthSuccess)
            }
            (Self::Asked, msg::USERAUTH_FAILURE) => self.refused(fields),
            // RFC 4252 §8: the server wants another password; there is nobody to ask for one.
            (Self::Asked, msg::USERAUTH_PASSWD_CHANGEREQ) => Err(Error::NoPasswordAuth),
            // RFC 4252 §5.4: a banner may come at any time before success; nobody would see it.
            (
                Self::Service(_) | Self::Asked | Self::Refused | Self::Undecided,
                msg::USERAUTH_BANNER,
            ) => Ok(Event::Handled),
            // Some clients ask for the service again before every attempt.
            (Self::Waiting | Self::Failed(_), msg::SERVICE_REQUEST) => self.serve(fields, out),
            (Self::Failed(tries), msg::USERAUTH_REQUEST) => {
                let tries = *tries;
                self.attempt(tries, fields, out)
            }
            // RFC 4252 §5.1: requests after success are ignored.
            (Self::Done, msg::USERAUTH_REQUEST) => Ok(Event::Handled),
            _ => Err(Error::Protocol("a login message came out of order")),
        }
    }

    fn refused(&mut self, mut fields: Fields<'_>) -> Result<Event<'static>, Error> {
        let password_helps = fields.names()?.any(|name| name == PASSWORD);
        let partial = fields.boolean()?;
        if partial || !password_helps {
            return Err(Error::NoPasswordAuth);
        }
        *self = Self::Refused;
        Ok(Event::AuthFailure)
    }

    /// RFC 4253 §10: a service that is not offered ends the connection.
    fn serve(&mut self, mut fields: Fields<'_>, out: &mut Output) -> Result<Event<'static>, Error> {
        if fields.string()? != USERAUTH_SERVICE.as_bytes() {
            return Err(Error::UnknownService);
        }
        let mut accept = vec![msg::SERVICE_ACCEPT];
        accept.put_string(USERAUTH_SERVICE.as_bytes());
        out.urgent(&[&accept]);
        if matches!(self, Self::Waiting) {
            *self = Self::Failed(LoginAttempts::default());
        }
        Ok(Event::Handled)
    }

    /// RFC 4252 §5: user, service, method; §8: the password.
    fn attempt<'a>(
        &mut self,
        mut tries: LoginAttempts,
        mut fields: Fields<'a>,
        out: &mut Output,
    ) -> Result<Event<'a>, Error> {
        let user = fields.text()?;
        if fields.string()? != CONNECTION_SERVICE.as_bytes() {
            return Err(Error::UnknownService);
        }
        let method = fields.name(config::MAX_NAME)?;
        if method == NONE && !std::mem::replace(&mut tries.none, true) {
            refuse(out);
            *self = Self::Failed(tries);
            return Ok(Event::Handled);
        }
        if method != PASSWORD || fields.boolean()? {
            *self = tries.fail(out)?;
            return Ok(Event::Handled);
        }
        let password = fields.text()?;
        fields.end()?;
        if user.len().max(password.len()) > config::MAX_CREDENTIAL {
            *self = tries.fail(out)?;
            return Ok(Event::Handled);
        }
        *self = Self::Deciding(tries);
        Ok(Event::PasswordAuth { user, password })
    }
}

impl LoginAttempts {
    fn fail(mut self, out: &mut Output) -> Result<Auth, Error> {
        self.failed += 1;
        if self.failed >= config::MAX_LOGIN_TRIES {
            return Err(Error::TooManyAuthTries);
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
