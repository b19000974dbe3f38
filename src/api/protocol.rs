//! The protocols an application can speak.

use serde::{Deserialize, Serialize};

/// Protocol of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)] // the names are the protocols
pub enum Protocol {
    Http,
    Https,
    Tcp,
    Ssh,
    Rdp,
    Vnc,
    Telnet,
    Mysql,
    Mariadb,
}

use Protocol::*;

impl Protocol {
    /// All protocols, in the order in which messages list them.
    pub const ALL: [Protocol; 9] = [Http, Https, Tcp, Ssh, Rdp, Vnc, Telnet, Mysql, Mariadb];

    /// The protocol of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// Name in requests and answers.
    pub fn name(self) -> &'static str {
        match self {
            Http => "http",
            Https => "https",
            Tcp => "tcp",
            Ssh => "ssh",
            Rdp => "rdp",
            Vnc => "vnc",
            Telnet => "telnet",
            Mysql => "mysql",
            Mariadb => "mariadb",
        }
    }

    /// Usual port of such an application; none for plain TCP.
    pub fn default_port(self) -> Option<u16> {
        match self {
            Http => Some(80),
            Https => Some(443),
            Tcp => None,
            Ssh => Some(22),
            Rdp => Some(3389),
            Vnc => Some(5900),
            Telnet => Some(23),
            Mysql | Mariadb => Some(3306),
        }
    }

    /// True if a plugin's web client is between visitor and application.
    pub fn is_database(self) -> bool {
        matches!(self, Mysql | Mariadb)
    }

    /// True if visitors use a browser, so that they can be asked for a code.
    pub fn is_visited_by_http(self) -> bool {
        matches!(self, Http | Https) || self.is_database()
    }

    /// True if a gateway of ours is between tunnel and application.
    pub fn has_gateway(self) -> bool {
        matches!(self, Http | Https)
    }

    /// Protocol for the remote server: it sees the web client of a database, and TLS to an application ends here.
    pub fn exposed(self) -> &'static str {
        if self.is_visited_by_http() {
            Http.name()
        } else {
            self.name()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_stored_ones() {
        for protocol in Protocol::ALL {
            assert_eq!(Protocol::named(protocol.name()), Some(protocol));
            let stored = serde_json::to_value(protocol).unwrap();
            assert_eq!(stored, protocol.name());
        }
        assert_eq!(Protocol::named("HTTP"), None);
    }
}
