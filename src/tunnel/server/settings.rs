//! Settings of a server: its policy, which decides about logins and remotes, and its time limits.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use regex_lite::Regex;
use ring::{digest, hmac};
use zeroize::Zeroizing;

use crate::tunnel::client::KEEPALIVE;
use crate::tunnel::mux::{TokenBucket, VisitStats};
use crate::tunnel::remote::Remote;
use crate::tunnel::ssh::{self, ServerKey};
use crate::tunnel::ws::AcceptOptions;

/// Open files of the rest of the program. Default 128: logs, the standard streams, files that it reads.
const RESERVED_FILES: usize = 128;
/// Time from the WebSocket to a login. Default 30 s.
pub const LOGIN_WITHIN: Duration = crate::limits::LOGIN_WITHIN;
/// Time from the login to the configuration. Default 10 s, as a chisel server has it.
pub const CONFIG_WITHIN: Duration = crate::limits::CONFIG_WITHIN;

/// Bytes of a compiled expression. Default 1 MiB: an address pattern takes some kilobytes.
const PATTERN_CAP: usize = 1024 * 1024;

/// Settings of a server.
#[non_exhaustive]
pub struct Settings {
    /// Listener for clients; none if only other listeners take them.
    pub listener: Option<TcpListener>,
    /// The host keys, one of each kind at most.
    pub keys: Arc<[ServerKey]>,
    /// Policy for logins and remotes.
    pub policy: Box<dyn Policy>,
    /// The pause between keep-alive requests; none for no keep-alive.
    pub keepalive: Option<Duration>,
    /// Options for accepting connections.
    pub accept: AcceptOptions,
    /// Time limits for a client.
    pub timeouts: Timeouts,
    /// Offers and limits of the protocol.
    pub ssh: ssh::Config,
    /// Open files that the rest of the program may need: caps on clients and visitors leave them.
    pub reserved_files: usize,
}

/// Time limits for a client to be ready.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Timeouts {
    /// From the WebSocket to a login. Default [`LOGIN_WITHIN`].
    pub login: Duration,
    /// From the login to the configuration. Default [`CONFIG_WITHIN`].
    pub config: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            login: LOGIN_WITHIN,
            config: CONFIG_WITHIN,
        }
    }
}

impl Settings {
    /// Settings of a server for everybody.
    pub fn new(listener: impl Into<Option<TcpListener>>, keys: Arc<[ServerKey]>) -> Self {
        Self {
            listener: listener.into(),
            keys,
            policy: Box::new(Users::default()),
            keepalive: Some(KEEPALIVE),
            accept: AcceptOptions::default(),
            timeouts: Timeouts::default(),
            ssh: ssh::Config::default(),
            reserved_files: RESERVED_FILES,
        }
    }
}

/// Decides about logins and remotes. Called on the thread of the client's connection, at most once
/// a login and a remote (but for [`Policy::port_access`]); it may be asked by many connections at once.
pub trait Policy: Send + Sync {
    /// Checks a login. Returns the name under which the client's remotes are held: a later login with the same name
    /// takes over those that its dead connection still holds. `None` refuses.
    fn login(&self, user: &str, password: &str, peer: SocketAddr) -> Option<String>;

    /// Decides about a remote that `holder` (as `login` answered) asks for.
    fn grant(&self, holder: &str, remote: &Remote) -> Grant;

    /// Returns the bandwidth that all streams of `holder` share; none if nothing limits them. Asked once a login.
    fn rate(&self, _holder: &str) -> Option<Arc<TokenBucket>> {
        None
    }

    /// Returns the access to a port that `holder` listens on, and its counters. By default everybody may come, and the
    /// counters are not shown.
    fn port_access(&self, _holder: &str, _remote: &Remote) -> PortAccess {
        PortAccess {
            may_come: Box::new(|_| true),
            refusal: |_| Vec::new(),
            stats: Arc::default(),
        }
    }

    /// The connection over which `holder` held this port, or listened on it, has ended. By default nobody minds.
    fn on_left(&self, _holder: &str, _port: u16) {}
}

/// Access to a port, and its counters.
pub struct PortAccess {
    /// True if somebody may come from this address; asked at each visit, before a byte is read.
    pub may_come: Box<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// Message for the client about a visitor who may not come, as data of a ping; empty if it is told nothing.
    pub refusal: fn(IpAddr) -> Vec<u8>,
    /// Counters of its visitors.
    pub stats: Arc<VisitStats>,
}

/// Entrance for the visitors of a remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grant {
    /// None: the client is told that access is denied, and gets none of its remotes.
    Denied,
    /// The address that the remote names.
    Listen,
    /// This address, in place of the remote's.
    ListenAt(SocketAddr),
    /// No port: only [`Opener::open`](super::Opener::open) leads to it.
    Held,
}

/// The users of a server. Without any, everybody may do everything.
pub struct Users {
    users: BTreeMap<String, User>,
    /// Secret that an unknown name's password is compared with: as much work as for a known one.
    decoy: PasswordDigest,
}

impl Default for Users {
    fn default() -> Self {
        Self {
            users: BTreeMap::new(),
            decoy: PasswordDigest::new(""),
        }
    }
}

struct User {
    password: PasswordDigest,
    allowed: Vec<Pattern>,
}

/// Pattern for an address.
#[derive(Debug)]
enum Pattern {
    All,
    Matching(Regex),
}

/// A password's keyed digest: comparing it tells neither its length nor where a difference lies by the time it takes.
struct PasswordDigest {
    key: hmac::Key,
    tag: hmac::Tag,
}

impl PasswordDigest {
    fn new(password: &str) -> Self {
        let mut random = [0; 32];
        // The key only has to be unknown to an attacker who measures; without random bytes the tag is still no
        // password.
        let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut random);
        let key = hmac::Key::new(hmac::HMAC_SHA256, &random);
        let tag = hmac::sign(
            &key,
            digest::digest(&digest::SHA256, password.as_bytes()).as_ref(),
        );
        Self { key, tag }
    }

    fn is(&self, password: &str) -> bool {
        let given = digest::digest(&digest::SHA256, password.as_bytes());
        hmac::verify(&self.key, given.as_ref(), self.tag.as_ref()).is_ok()
    }
}

impl Policy for Users {
    /// Without users, a source address is the best name there is.
    fn login(&self, user: &str, password: &str, peer: SocketAddr) -> Option<String> {
        let name = || {
            if self.is_empty() {
                format!("@{}", peer.ip())
            } else {
                user.to_owned()
            }
        };
        self.admits(user, password).then(name)
    }

    fn grant(&self, holder: &str, remote: &Remote) -> Grant {
        if self.allows(holder, &remote.permission()) {
            Grant::Listen
        } else {
            Grant::Denied
        }
    }
}

impl Users {
    /// Adds a user who may do everything, from `name:password`.
    pub fn add(&mut self, credentials: &str) -> Result<(), String> {
        let (name, user) = read(credentials, vec![Pattern::All])?;
        self.users.insert(name, user);
        Ok(())
    }

    /// Reads chisel's JSON: `{"name:password": ["^R:0.0.0.0:7000$", …]}`; an empty expression, or `*`, allows
    /// everything.
    pub fn read_json(&mut self, json: &[u8]) -> Result<(), String> {
        let file: Vec<(Zeroizing<String>, Vec<String>)> =
            serde_json::from_slice::<BTreeMap<String, _>>(json)
                // The parser's own text may repeat a password.
                .map_err(|error| {
                    format!(
                        "line {}: expected {{\"name:password\": [\"expression\"]}}",
                        error.line()
                    )
                })?
                .into_iter()
                .map(|(name, patterns)| (Zeroizing::new(name), patterns))
                .collect();
        for (credentials, patterns) in file {
            let allowed = patterns
                .iter()
                .map(|text| pattern(text))
                .collect::<Result<_, _>>()?;
            let (name, user) = read(&credentials, allowed)?;
            self.users.insert(name, user);
        }
        Ok(())
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.users.is_empty()
    }

    /// True if this is a user's name and password.
    pub(super) fn admits(&self, name: &str, password: &str) -> bool {
        match self.users.get(name) {
            Some(user) => user.password.is(password),
            None if self.is_empty() => true,
            None => {
                self.decoy.is(password);
                false
            }
        }
    }

    /// True if a user may have this address, as in `R:0.0.0.0:7000`.
    pub(super) fn allows(&self, name: &str, address: &str) -> bool {
        if self.is_empty() {
            return true;
        }
        self.users.get(name).is_some_and(|user| {
            user.allowed.iter().any(|pattern| match pattern {
                Pattern::All => true,
                Pattern::Matching(expression) => expression.is_match(address),
            })
        })
    }
}

fn read(credentials: &str, allowed: Vec<Pattern>) -> Result<(String, User), String> {
    match credentials.split_once(':') {
        Some((name, password)) if !name.is_empty() => Ok((
            name.to_owned(),
            User {
                password: PasswordDigest::new(password),
                allowed,
            },
        )),
        _ => Err("give a user as NAME:PASSWORD".to_owned()),
    }
}

fn pattern(text: &str) -> Result<Pattern, String> {
    match text {
        "" | "*" => Ok(Pattern::All),
        _ => regex_lite::RegexBuilder::new(text)
            .size_limit(PATTERN_CAP)
            .build()
            .map(Pattern::Matching)
            .map_err(|_| format!("'{}' is not a regular expression", text.escape_debug())),
    }
}

impl fmt::Debug for Users {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.users.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_users_everybody_may_do_everything() {
        let users = Users::default();
        assert!(users.admits("", "") && users.allows("x", "R:0.0.0.0:1"));
    }

    #[test]
    fn a_file_of_chisel_is_read() {
        let mut users = Users::default();
        let json = br#"{"a:x:y": ["^R:0\\.0\\.0\\.0:7\\d{3}$"], "root:toor": [""], "star:s": ["*"], "none:n": []}"#;
        users.read_json(json).unwrap();
        assert!(users.admits("a", "x:y") && !users.admits("a", "x") && !users.admits("b", "x:y"));
        assert!(users.allows("a", "R:0.0.0.0:7000") && !users.allows("a", "R:0.0.0.0:70001"));
        assert!(users.allows("root", "R:anything:1") && users.allows("star", "R:anything:1"));
        assert!(
            !users.allows("none", "R:0.0.0.0:7000") && !users.allows("unknown", "R:0.0.0.0:7000")
        );
    }

    #[test]
    fn what_is_no_file_of_users_is_refused_without_its_secrets() {
        for json in [
            "",
            "[]",
            r#"{"secret": []}"#,
            r#"{":secret": []}"#,
            r#"{"a:secret": "x"}"#,
            r#"{"a:secret": ["("]}"#,
        ] {
            let error = Users::default().read_json(json.as_bytes()).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(Users::default().add("nobody").is_err());
        let mut users = Users::default();
        users.add("me:pass").unwrap();
        assert!(!format!("{users:?}").contains("pass"));
    }

    #[test]
    fn a_client_has_thirty_seconds_to_log_in_and_ten_to_configure() {
        let timeouts = Timeouts::default();
        assert_eq!(timeouts.login, Duration::from_secs(30));
        assert_eq!(timeouts.config, Duration::from_secs(10));
    }
}
