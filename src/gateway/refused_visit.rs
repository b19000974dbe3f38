//! Refused visitors, as the relay reports them to the owner of the site.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::site_request::{SiteRequest, path};

/// Characters of a path that are reported. Default 200: a visitor may send 32 KiB.
const MAX_PATH: usize = 200;

/// A request that was refused: the JSON `{"refused": {"source", "method", "path", "status"}}` in the data of a ping.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefusedVisit {
    pub(crate) source: IpAddr,
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    /// 401 for a wrong code, 429 for too many of them, 403 for a network that is not allowed.
    pub(crate) status: u16,
}

#[derive(Serialize, Deserialize)]
struct RefusedVisitMessage {
    refused: RefusedVisit,
}

impl RefusedVisit {
    pub(super) fn new(request: &SiteRequest<'_>, status: u16) -> RefusedVisit {
        RefusedVisit {
            source: request.origin.source(),
            method: request.head.method.chars().take(MAX_PATH).collect(),
            path: path(request.head).chars().take(MAX_PATH).collect(),
            status,
        }
    }

    /// A connection to a public port, from a network that is not allowed.
    pub(crate) fn at_port(source: IpAddr) -> RefusedVisit {
        RefusedVisit {
            source,
            method: "TCP".to_owned(),
            path: String::new(),
            status: 403,
        }
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        serde_json::to_vec(&RefusedVisitMessage { refused: self }).unwrap_or_default()
    }

    /// The one in the data of a ping; none if it says something else. A server of another maker may send anything.
    pub(crate) fn decode(data: &[u8]) -> Option<RefusedVisit> {
        let RefusedVisitMessage { refused } = serde_json::from_slice(data).ok()?;
        let is_plain = |text: &str| text.len() <= 4 * MAX_PATH && !text.contains(char::is_control);
        (is_plain(&refused.method) && is_plain(&refused.path)).then_some(refused)
    }
}

impl fmt::Display for RefusedVisit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.status {
            401 => "a wrong code",
            429 => "too many wrong codes",
            _ => "not from an allowed network",
        };
        write!(f, "{} was refused: {why}", self.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_understood_and_nothing_else_is() {
        let visit = RefusedVisit {
            source: "2001:db8::1".parse().unwrap(),
            method: "GET".into(),
            path: "/a\u{2026}".into(),
            status: 401,
        };
        let said = "2001:db8::1 was refused: a wrong code";
        assert_eq!(visit.to_string(), said);
        let data = visit.clone().encode();
        assert_eq!(RefusedVisit::decode(&data), Some(visit.clone()));
        let escape = RefusedVisit {
            path: "/\u{1b}[2J".into(),
            ..visit.clone()
        };
        assert_eq!(RefusedVisit::decode(&escape.encode()), None);
        let long = RefusedVisit {
            path: "x".repeat(4096),
            ..visit
        };
        assert_eq!(RefusedVisit::decode(&long.encode()), None);
        for other in [&b""[..], b"{}", b"pong", br#"{"refused": 1}"#, b"\xff"] {
            assert_eq!(RefusedVisit::decode(other), None);
        }
    }
}
