//! Failure of a quick-setup call: message, hint, and the removal of secrets from texts of servers.

use std::fmt;

use serde::Deserialize;
use zeroize::Zeroizing;

use super::answer::{self, Refusal};
use crate::store::is_hidden;
use crate::tunnel::ws::{DialError, NO_NAME};

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

/// Characters of an excerpt: two lines of a card.
const EXCERPT: usize = 200;
/// Characters of a message for people: longer than any real one.
const MESSAGE: usize = 4096;
/// Bytes of an answer that are used for an excerpt.
const LOOKED_AT: usize = 4096;
const MASK: &str = "***";
/// Bytes of the shortest secret that is masked: connectors' passwords have 43 and tokens of a relay of ours at least
/// 12. A shorter one may be any word of the message, such as "wrong", and masking it would reveal it.
const SHORTEST_SECRET: usize = 8;

/// Reason of a failure. Its texts can be shown: they are cleaned, bounded and without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure {
    /// Nobody wants the answer any more.
    Stopped,
    /// Something on this machine: the proxy setting, the credentials, a thread.
    Local(String),
    /// The server rejects the credentials, also after they were loaded again.
    Unauthorized {
        /// Message of the server; may be empty.
        said: String,
    },
    /// The server limits calls, at the last attempt too.
    TooManyRequests {
        /// Number of attempts.
        attempts: u32,
    },
    /// Nothing answers, or it stops in the middle, at the last attempt too.
    Unreachable {
        /// Error of the last attempt.
        reason: String,
        /// Number of attempts.
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
        /// Message of the server; may be empty.
        said: String,
    },
    /// An answer whose body reports a failure.
    Refused {
        /// `code` of the answer.
        code: String,
        /// `message` of the answer; may be empty.
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

    /// True if the wanted name is reserved at the relay.
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

    /// Failure of a call without a complete answer: the end of the stream, a timeout, a refused connection.
    pub(super) fn passing(reason: String) -> Self {
        Self::Unreachable {
            reason,
            attempts: 1,
        }
    }

    /// Message for a single call, without the number of attempts.
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

/// Hint for a refusal, by the relay's message.
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

/// The secrets of one call, which none of its outcome may repeat.
#[derive(Deserialize)]
pub(super) struct SentSecrets {
    #[serde(default)]
    password: Zeroizing<String>,
    #[serde(default)]
    enroll_token: Zeroizing<String>,
}

impl SentSecrets {
    /// Reads the secrets of a body that was sent.
    pub(super) fn of(body: &[u8]) -> Self {
        serde_json::from_slice(body).expect("what was sent is JSON of ours")
    }

    /// Message of a server to people, whole up to [`MESSAGE`].
    pub(super) fn message(&self, text: &str) -> String {
        line(&self.masked(text), MESSAGE)
    }

    /// Message in the body of a refusal.
    pub(super) fn said(&self, body: &[u8]) -> String {
        match answer::message(body) {
            Some(text) => self.message(&text),
            None => self.excerpt(body),
        }
    }

    /// Beginning of a text that came in place of an answer. JSON is removed, wherever it begins: it may be part of an
    /// answer, behind a byte order mark or a warning, with the credentials that the server assigns.
    pub(super) fn excerpt(&self, bytes: &[u8]) -> String {
        let start = bytes.get(..LOOKED_AT).unwrap_or(bytes);
        if start.trim_ascii_start().starts_with(b"[") {
            return String::new();
        }
        let text = self.masked(&String::from_utf8_lossy(start));
        let before = text.split_once('{').map_or(text.as_str(), |(text, _)| text);
        line(before, EXCERPT)
    }

    fn masked(&self, text: &str) -> String {
        let secrets = [&self.password, &self.enroll_token].into_iter();
        let secrets = secrets.filter(|secret| secret.len() >= SHORTEST_SECRET);
        secrets.fold(text.to_owned(), |text, secret| {
            text.replace(secret.as_str(), MASK)
        })
    }
}

/// Puts a text on one line of at most [`MESSAGE`] characters.
pub(super) fn clean(text: &str) -> String {
    line(text, MESSAGE)
}

/// Puts a text on one line of at most `cap` characters, with a mark at its end if it was cut.
fn line(text: &str, cap: usize) -> String {
    // Marks that change the writing direction would let a server disguise its text.
    let spaced = text.replace(|c: char| c.is_control() || is_hidden(c), " ");
    let line = spaced.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(cap) {
        Some((end, _)) => format!("{}… (cut)", line.split_at(end).0),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> SentSecrets {
        SentSecrets::of(br#"{"ip":"1.2.3.4","password":"hushhush","enroll_token":"token-two"}"#)
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        let shown = |text: &str| secrets().excerpt(text.as_bytes());
        assert_eq!(
            shown("<html>\r\n\t<b>\u{1b}[31mno\u{202e}</b>\0"),
            "<html> <b> [31mno </b>"
        );
        assert_eq!(shown(""), "");
        let long = shown(&"\u{e4}".repeat(5000));
        assert_eq!(long, "\u{e4}".repeat(EXCERPT) + "… (cut)");
        let words = "give it with --enroll-token. ".repeat(40);
        assert_eq!(secrets().message(&words), words.trim_end());
        assert_eq!(secrets().excerpt(b"\xff\xfeab"), "\u{fffd}\u{fffd}ab");
    }

    /// A token that is a word is none; masked, the message would say nothing and tell the token.
    #[test]
    fn a_word_that_was_sent_as_a_token_is_left_in_the_message() {
        let sent = SentSecrets::of(br#"{"password":"hushhush","enroll_token":"wrong"}"#);
        let said = "the enrolment token is wrong";
        assert_eq!(sent.message(said), said);
    }

    #[test]
    fn no_secret_that_was_sent_and_none_of_an_answer_is_shown() {
        assert_eq!(secrets().excerpt(b"name=x&p=hushhush&q"), "name=x&p=***&q");
        assert_eq!(
            secrets().message("wrong token-two, hushhush!"),
            "wrong ***, ***!"
        );
        for half in [
            r#"{"Connector":{"Password":"other1"#,
            " \n[{\"password\":\"other1\"",
        ] {
            assert_eq!(secrets().excerpt(half.as_bytes()), "");
        }
    }

    /// Some servers write a mark or a warning of their own before their JSON, which is none then.
    #[test]
    fn no_secret_is_shown_of_an_answer_that_something_stands_before() {
        let answer = r#"{"connector":{"password":"other1"}}"#;
        let shown = |before: &str| secrets().excerpt(format!("{before}{answer}").as_bytes());
        assert_eq!(shown("\u{feff}"), "");
        assert_eq!(
            shown("<b>Warning</b>: no index\n"),
            "<b>Warning</b>: no index"
        );
        let wide: Vec<u8> = answer.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let marked = [&[0xff, 0xfe], wide.as_slice()].concat();
        assert!(!secrets().excerpt(&marked).contains("o t h e r"));
    }
}
