//! Why a quick-setup call brought nothing.

use std::fmt;

use super::answer::Refusal;
use super::redact::SentSecrets;
use crate::tunnel::ws::{DialError, NO_NAME};

/// The reason, fit to be shown: what came is cleaned, bounded and without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// Nobody wants the answer any more.
    Stopped,
    /// Something on this machine: the proxy setting, the credentials, a thread.
    Local(String),
    /// The server does not take the credentials, also after they were loaded anew.
    Unauthorized {
        /// Its message; may be empty.
        said: String,
    },
    /// The server asks for patience, at the last attempt too.
    TooManyRequests {
        /// How often it was asked.
        attempts: u32,
    },
    /// Nothing answers, or it stops in the middle, at the last attempt too.
    Unreachable {
        /// Error of the last attempt.
        reason: String,
        /// How often it was tried.
        attempts: u32,
    },
    /// The call cannot succeed: a name without an address, a certificate, no HTTP.
    Call {
        /// Reason.
        reason: String,
    },
    /// A proxy does not pass the call on.
    Proxy {
        /// Message.
        reason: String,
        /// Advice for it.
        advice: &'static str,
        /// True if it wants other credentials.
        is_about_account: bool,
    },
    /// Another status than 200 to 299.
    Status {
        /// The status.
        status: u16,
        /// Its message; may be empty.
        said: String,
    },
    /// An answer that says in itself that it failed.
    Refused {
        /// Its `code`.
        code: String,
        /// Its `message`; may be empty.
        said: String,
    },
    /// An answer that cannot be used.
    Answer {
        /// Reason.
        reason: String,
        /// Received text; may be empty.
        came: String,
    },
}

/// Hint for a certificate that is not valid at this time.
const CLOCK: &str =
    "set this machine's clock, or ask the relay's operator to renew the certificate";
/// Hint for a revocation.
pub(crate) const REVOKED: &str =
    "ask the relay's operator to allow it again ('postern relay allow'); it then reconnects";
/// Hint for a revocation that ends the command.
pub(crate) const REVOKED_HERE: &str = "ask the relay's operator to allow it again ('postern relay allow'), then run the command again";

/// Start of the reason of a call whose proxy does not answer.
pub(super) const NO_PROXY_THERE: &str = "cannot connect to the proxy";
/// Advice for that.
pub(super) const PROXY_SETTING: &str =
    "check the proxy's address and port in HTTPS_PROXY, and that the proxy runs";
/// Reason of a call to a name without an address.
pub(super) const NAMELESS: &str = "the relay's name has no DNS entry";
/// Reason if this machine has no network.
pub(super) const NO_ROUTE: &str = "no route to the relay";

/// Advice about a name that another connector has.
pub(crate) const OTHER_NAME: &str =
    "choose another --site-name, or ask the relay's operator to transfer it";

impl Failure {
    /// True if the operator of a relay has revoked this connector.
    pub(crate) fn is_revocation(&self) -> bool {
        matches!(self, Self::Status { status: 403, said } if said.contains("revoked by"))
    }

    /// True if a quota of the relay is used up: of this connector, or of its public ports.
    pub(crate) fn is_quota(&self) -> bool {
        const TOLD: [&str; 2] = [
            "quota for one connector",
            "no public port of this relay is free",
        ];
        matches!(self, Self::Status { status: 403, said } if TOLD.iter().any(|told| said.contains(told)))
    }

    /// True if the relay gives the wished name to nobody.
    pub(crate) fn is_reserved_name(&self) -> bool {
        matches!(self, Self::Status { status: 400, said } if said.contains("this name is reserved"))
    }

    /// True if a proxy wants other credentials.
    pub(super) fn is_about_proxy_account(&self) -> bool {
        matches!(
            self,
            Self::Proxy {
                is_about_account: true,
                ..
            }
        )
    }

    /// The refusal of a proxy.
    pub(super) fn of_proxy(error: &DialError) -> Self {
        Self::Proxy {
            reason: error.to_string(),
            advice: error.advice().unwrap_or("check the proxy"),
            is_about_account: matches!(error, DialError::ProxyCredentials { .. }),
        }
    }

    /// Nothing came back of a call: the end of the stream, a timeout, a refused connection.
    pub(super) fn passing(reason: String) -> Self {
        Self::Unreachable {
            reason,
            attempts: 1,
        }
    }

    /// Its message, for one call.
    pub(super) fn into_reason(self) -> String {
        match self {
            Self::Unreachable { reason, .. } => reason,
            other => other.to_string(),
        }
    }

    /// An answer that was refused.
    pub(super) fn of(refusal: Refusal, body: &[u8], secrets: &SentSecrets) -> Self {
        let (reason, came) = match refusal {
            Refusal::Code(code, said) => {
                return Self::Refused {
                    code: secrets.message(&code),
                    said: secrets.message(&said),
                };
            }
            Refusal::NotJson => ("it is not a JSON object".to_owned(), secrets.excerpt(body)),
            Refusal::Shape(reason) => (reason, String::new()),
            Refusal::Address(reason) => (format!("connector.external_ip: {reason}"), String::new()),
            Refusal::Value(name, reason) => (format!("{name}: {reason}"), String::new()),
        };
        Self::Answer { reason, came }
    }

    /// Hint for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Stopped => "connect again",
            Self::Local(_) => "fix that, then connect again",
            Self::Unauthorized { .. } => {
                "check the enrolment token, or reset the identity on the page or with --reset-credentials"
            }
            Self::TooManyRequests { .. } => "wait some minutes and connect again",
            Self::Proxy { advice, .. } => advice,
            Self::Unreachable { reason, .. } if reason.starts_with(NAMELESS) => NO_NAME,
            Self::Unreachable { reason, .. } if reason.starts_with(NO_PROXY_THERE) => PROXY_SETTING,
            Self::Unreachable { reason, .. } if reason.starts_with(NO_ROUTE) => {
                "start the network of this machine, or check its routes ('ip link', 'ip route')"
            }
            Self::Call { reason } if reason.contains("machine's clock") => CLOCK,
            Self::Unreachable { .. } | Self::Call { .. } => {
                "check the relay's URL, and that the relay runs and is reachable"
            }
            revoked if revoked.is_revocation() => REVOKED,
            full if full.is_quota() => "remove an unused application, or ask the relay's operator",
            Self::Status { status: 403, said } => hint_of_403(said),
            Self::Status { status: 409, .. } => OTHER_NAME,
            reserved if reserved.is_reserved_name() => OTHER_NAME,
            Self::Status { status: 400, said } if said.contains("site_name: 3 to 63") => {
                "this relay is older: it takes site names of 3 to 63 characters"
            }
            Self::Status { status: 503, .. } => "try again later, or ask the relay's operator",
            Self::Status { .. } | Self::Refused { .. } => {
                "check the application and the relay's URL, or ask the relay's operator"
            }
            Self::Answer { .. } => {
                "check that the URL is the one of a relay or another tunnel server"
            }
        }
    }
}

/// Returns what cures a refusal, by what a relay said of it: a token does where that was about tokens.
fn hint_of_403(said: &str) -> &'static str {
    let is = |words: &str| said.contains(words);
    match () {
        () if is("no public ports") => {
            "share it as http or https if it is a web site, or ask the relay's operator for public ports"
        }
        () if is("enrols new ones") => {
            "give an enrolment token of the relay (on the page, or 'postern server add URL --enroll-token T'), or ask its \
             operator"
        }
        () if is("enrol token") || is("enrolment token") => {
            "ask the relay's operator for a new token, and give it on the page or with 'postern server add URL \
             --enroll-token T'"
        }
        () if is("has the same name but for") => {
            "reset the identity on the page or with --reset-credentials"
        }
        () => "ask the relay's operator",
    }
}

/// Message; the hint is [`Failure::hint`].
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped => f.write_str("the call to the relay was stopped"),
            Self::Local(reason) | Self::Proxy { reason, .. } => f.write_str(reason),
            Self::Unauthorized { said } => {
                f.write_str("the relay refuses this connector's credentials (401")?;
                part(f, " ", said)?;
                f.write_str(")")
            }
            Self::TooManyRequests { attempts } => {
                write!(
                    f,
                    "the relay still limits calls (429) after {attempts} attempts"
                )
            }
            Self::Unreachable { reason, attempts } => {
                write!(
                    f,
                    "the relay cannot be reached: {reason}, {attempts} attempts"
                )
            }
            Self::Call { reason } => write!(f, "the relay did not give an address: {reason}"),
            Self::Status { status, said } => {
                write!(f, "the relay answered {status}")?;
                part(f, ": ", said)
            }
            Self::Refused { code, said } => {
                write!(f, "the relay refused with code {code}")?;
                part(f, ": ", said)
            }
            Self::Answer { reason, came } => {
                write!(f, "the relay's answer is invalid: {reason}")?;
                part(f, "; it sent: ", came)
            }
        }
    }
}

impl std::error::Error for Failure {}

fn part(f: &mut fmt::Formatter<'_>, before: &str, text: &str) -> fmt::Result {
    match text {
        "" => Ok(()),
        text => write!(f, "{before}{text}"),
    }
}
