//! Remotes of a tunnel, in chisel's text form and in its configuration's JSON.
//!
//! Only reverse TCP remotes are supported. *Local* is the side of the server, which listens there;
//! *remote* is the side that the client connects to.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::net::authority::{MAX_HOST, authority, bracketed, port};

/// Version that a client gives in its configuration.
const VERSION: &str = "0.0.0-src";
/// Remotes in one configuration. Default 128: more than the 100 applications of one client.
pub const MAX_REMOTES: usize = 128;
/// Characters of a remote in a message. Default 300: a long host name and what belongs to it.
const TEXT_CAP: usize = 300;
/// Listening host of a remote that names none: every interface of the server.
const ANY: &str = "0.0.0.0";
/// Target host of a remote that names none: the client itself.
const HERE: &str = "127.0.0.1";
const HINT: &str =
    "give R:[LOCAL_HOST:]LOCAL_PORT:REMOTE_HOST:REMOTE_PORT, e.g. R:8080:localhost:80";

/// One reverse TCP remote.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Remote {
    /// Host that the server listens on; an IPv6 address has no brackets here.
    pub local_host: String,
    /// The port that the server listens on.
    pub local_port: u16,
    /// Host that the client connects to; an IPv6 address has no brackets here.
    pub remote_host: String,
    /// The port that the client connects to.
    pub remote_port: u16,
}

/// Reason that a remote cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RemoteError {
    /// Malformed text: the text and its fault.
    Malformed(String, &'static str),
    /// A remote of a kind that is not served: its text, and the kind.
    Unsupported(String, &'static str),
    /// A configuration that is not JSON of the known shape.
    Json(String),
    /// More than [`MAX_REMOTES`].
    TooMany(usize),
}

impl fmt::Display for RemoteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(text, reason) => {
                write!(f, "remote '{text}' is malformed: {reason}; {HINT}")
            }
            Self::Unsupported(text, kind) => {
                write!(
                    f,
                    "remote '{text}' is not supported: {kind}; only reverse TCP works: {HINT}"
                )
            }
            Self::Json(reason) => write!(f, "malformed configuration: {reason}"),
            Self::TooMany(count) => write!(
                f,
                "{count} remotes in one configuration, the limit is {MAX_REMOTES}"
            ),
        }
    }
}

impl std::error::Error for RemoteError {}

impl Remote {
    /// The address that the server listens on, `host:port`.
    pub fn local(&self) -> String {
        authority(&self.local_host, self.local_port)
    }

    /// The address that the client connects to, `host:port`: also the text that opens a stream.
    pub fn target(&self) -> String {
        authority(&self.remote_host, self.remote_port)
    }

    /// The text that permissions are checked against, and that a denial names: `R:host:port`.
    pub fn permission(&self) -> String {
        format!("R:{}", self.local())
    }
}

/// The complete text form; it reads back as the same remote.
impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "R:{}:{}", self.local(), self.target())
    }
}

/// Reads the text form from the back, as chisel does: ports first, then the hosts beside them.
///
/// | text | listens on | leads to |
/// |---|---|---|
/// | `R:80` | `0.0.0.0:80` | `127.0.0.1:80` |
/// | `R:8080:80` | `0.0.0.0:8080` | `127.0.0.1:80` |
/// | `R:host:80` | `0.0.0.0:80` | `host:80` |
/// | `R:8080:host:80` | `0.0.0.0:8080` | `host:80` |
/// | `R:1.2.3.4:8080:host:80` | `1.2.3.4:8080` | `host:80` |
///
/// `R:host:8080:80` leads to `host:80`: the first host met from the back is the remote's.
impl FromStr for Remote {
    type Err = RemoteError;

    fn from_str(text: &str) -> Result<Self, RemoteError> {
        let malformed = |reason| RemoteError::Malformed(shown(text), reason);
        let unsupported = |kind| RemoteError::Unsupported(shown(text), kind);
        let reversed = text.strip_prefix("R:");
        let parts = split(reversed.unwrap_or(text)).map_err(malformed)?;
        // As in chisel, the names count only in their place.
        match (parts.first(), parts.last()) {
            (_, Some(&"socks")) => return Err(unsupported("SOCKS")),
            (Some(&"stdio"), _) => return Err(unsupported("standard input and output")),
            _ => {}
        }
        let found = from_the_back(&parts).map_err(|problem| match problem {
            Problem::Malformed(reason) => malformed(reason),
            Problem::Unsupported(kind) => unsupported(kind),
        })?;
        match reversed {
            Some(_) => Ok(found),
            None => Err(unsupported("a forward remote")),
        }
    }
}

enum Problem {
    Malformed(&'static str),
    Unsupported(&'static str),
}

fn from_the_back(parts: &[&str]) -> Result<Remote, Problem> {
    let (mut ports, mut hosts) = (Vec::new(), Vec::new());
    for part in parts.iter().rev() {
        let part = without_protocol(part)?;
        match port(part) {
            Some(_) if ports.len() == 2 => return Err(Problem::Malformed("it has three ports")),
            Some(port) => ports.push(port),
            None if ports.is_empty() => {
                return Err(Problem::Malformed("it must end with a port"));
            }
            None if hosts.len() == 2 => return Err(Problem::Malformed("it has three hosts")),
            None => hosts.push(host(part).map_err(Problem::Malformed)?),
        }
    }
    let (mut ports, mut hosts) = (ports.into_iter(), hosts.into_iter());
    let remote_port = ports
        .next()
        .ok_or(Problem::Malformed("the port is missing"))?;
    Ok(Remote {
        remote_host: hosts.next().unwrap_or_else(|| HERE.to_owned()),
        local_host: hosts.next().unwrap_or_else(|| ANY.to_owned()),
        local_port: ports.next().unwrap_or(remote_port),
        remote_port,
    })
}

/// Splits at the colons outside brackets, into one to four parts.
fn split(text: &str) -> Result<Vec<&str>, &'static str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    loop {
        let end = match rest.strip_prefix('[') {
            Some(inner) => inner.find(']').ok_or("a bracket is not closed")? + 2,
            None => rest.find(':').unwrap_or(rest.len()),
        };
        let (part, after) = rest.split_at(end);
        parts.push(part);
        match after.split_once(':') {
            _ if parts.iter().any(|part| part.is_empty()) => return Err("a part is empty"),
            None if after.is_empty() && parts.len() <= 4 => return Ok(parts),
            Some((stray, next)) if parts.len() < 4 && stray.is_empty() => rest = next,
            _ => return Err("it has too many parts"),
        }
    }
}

/// Takes `/tcp` off; `/udp` is refused.
fn without_protocol(part: &str) -> Result<&str, Problem> {
    match part.rsplit_once('/') {
        None => Ok(part),
        Some((part, protocol)) if protocol.eq_ignore_ascii_case("tcp") => Ok(part),
        Some((_, protocol)) if protocol.eq_ignore_ascii_case("udp") => {
            Err(Problem::Unsupported("UDP"))
        }
        Some(_) => Err(Problem::Malformed("the protocol is unknown")),
    }
}

/// A name, an IPv4 address, or an IPv6 address in brackets, which are taken off.
fn host(part: &str) -> Result<String, &'static str> {
    if let Some(inner) = part
        .strip_prefix('[')
        .and_then(|part| part.strip_suffix(']'))
    {
        inner
            .parse::<Ipv6Addr>()
            .map_err(|_| "no IPv6 address in the brackets")?;
        return Ok(inner.to_owned());
    }
    let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    match part {
        _ if part.len() > MAX_HOST => Err("a host name is too long"),
        _ if part.bytes().all(|b| b.is_ascii_digit()) => Err("a port is a number from 1 to 65535"),
        _ if part.bytes().all(legal) => Ok(part.to_owned()),
        _ => Err("a host name has an invalid character"),
    }
}

/// Returns the given text, fit for a message; the mark at its end says that there was more.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(TEXT_CAP).collect();
    let mark = if short.len() < text.len() {
        "… (cut)"
    } else {
        ""
    };
    short.escape_default().to_string() + mark
}

/// The data of the `config` request.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Config {
    #[serde(default)]
    version: String,
    /// A client without remotes sends null.
    #[serde(default)]
    remotes: Option<Vec<RemoteWire>>,
}

/// A remote as the configuration has it: all keys always sent, none needed.
#[derive(Serialize, Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct RemoteWire {
    local_host: String,
    local_port: String,
    local_proto: String,
    remote_host: String,
    remote_port: String,
    remote_proto: String,
    socks: bool,
    reverse: bool,
    stdio: bool,
}

/// The JSON of a client's `config` request.
pub fn encode_config(remotes: &[Remote]) -> Vec<u8> {
    let config = Config {
        version: VERSION.to_owned(),
        remotes: Some(remotes.iter().map(RemoteWire::from).collect()),
    };
    serde_json::to_vec(&config).expect("strings and booleans are always JSON")
}

/// Reads a client's `config` request. The first remote of another kind than reverse TCP makes
/// it an error whose text may be sent to the client.
pub fn decode_config(data: &[u8]) -> Result<Vec<Remote>, RemoteError> {
    let malformed = |error: serde_json::Error| RemoteError::Json(shown(&error.to_string()));
    check_shape(&serde_json::from_slice(data).map_err(malformed)?)?;
    let config: Config = serde_json::from_slice(data).map_err(malformed)?;
    let remotes = config.remotes.unwrap_or_default();
    if remotes.len() > MAX_REMOTES {
        return Err(RemoteError::TooMany(remotes.len()));
    }
    remotes.iter().map(Remote::try_from).collect()
}

/// A list would be taken for an object's values, in the order of its fields.
fn check_shape(config: &Value) -> Result<(), RemoteError> {
    let remotes = config.get("Remotes").and_then(Value::as_array);
    let all_objects = |remotes: &Vec<Value>| remotes.iter().all(Value::is_object);
    if !config.is_object() || !remotes.is_none_or(all_objects) {
        let reason = "a list instead of an object";
        return Err(RemoteError::Json(reason.to_owned()));
    }
    Ok(())
}

impl From<&Remote> for RemoteWire {
    fn from(remote: &Remote) -> Self {
        Self {
            local_host: bracketed(&remote.local_host).into_owned(),
            local_port: remote.local_port.to_string(),
            local_proto: "tcp".to_owned(),
            remote_host: bracketed(&remote.remote_host).into_owned(),
            remote_port: remote.remote_port.to_string(),
            remote_proto: "tcp".to_owned(),
            socks: false,
            reverse: true,
            stdio: false,
        }
    }
}

impl TryFrom<&RemoteWire> for Remote {
    type Error = RemoteError;

    fn try_from(wire: &RemoteWire) -> Result<Self, RemoteError> {
        let text = || {
            shown(&format!(
                "{}:{}:{}:{}",
                wire.local_host, wire.local_port, wire.remote_host, wire.remote_port
            ))
        };
        let malformed = |reason| RemoteError::Malformed(text(), reason);
        let tcp = |protocol: &str| matches!(protocol, "" | "tcp");
        let unsupported = match wire {
            _ if wire.socks => Some("SOCKS"),
            _ if wire.stdio => Some("standard input and output"),
            _ if !wire.reverse => Some("a forward remote"),
            _ if !tcp(&wire.local_proto) || !tcp(&wire.remote_proto) => Some("UDP"),
            _ => None,
        };
        if let Some(kind) = unsupported {
            return Err(RemoteError::Unsupported(text(), kind));
        }
        let read_port = |text: &str| port(text).ok_or("a port is a number from 1 to 65535");
        Ok(Self {
            local_host: wire_host(&wire.local_host, ANY).map_err(malformed)?,
            local_port: read_port(&wire.local_port).map_err(malformed)?,
            remote_host: wire_host(&wire.remote_host, HERE).map_err(malformed)?,
            remote_port: read_port(&wire.remote_port).map_err(malformed)?,
        })
    }
}

/// An IPv6 address comes with brackets or without.
fn wire_host(text: &str, default: &str) -> Result<String, &'static str> {
    match text {
        "" => Ok(default.to_owned()),
        _ if text.parse::<IpAddr>().is_ok() => Ok(text.to_owned()),
        _ => host(text),
    }
}

#[cfg(test)]
#[path = "remote_tests.rs"]
mod tests;
