//! What the relay remembers: connectors, their applications, and who was turned out. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::secret::Kept;

/// The form that is written; another one is not read.
pub(super) const VERSION: u32 = 1;
/// Connectors that may be enrolled. Default 1,000: as many connections as the tunnel server takes.
pub(super) const MAX_CONNECTORS: usize = 1000;
/// Applications of a connector. Default 100: as many as a manager holds.
pub(super) const MAX_APPLICATIONS: usize = 100;
/// Names that are remembered as turned out; the oldest is forgotten first.
const MAX_REVOKED: usize = 1000;

/// All of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Book {
    pub(super) version: u32,
    /// What lets an unknown connector in; the token itself is nowhere.
    #[serde(default)]
    pub(super) enroll_token: Option<Kept>,
    #[serde(default)]
    pub(super) connectors: BTreeMap<String, Connector>,
    /// In the order in which they were turned out.
    #[serde(default)]
    pub(super) revoked: Vec<String>,
}

/// One connector.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Connector {
    pub(super) password: Kept,
    /// The number that its main tunnel names; nothing listens there.
    pub(super) api_port: u16,
    /// RFC 3339, as all times here.
    pub(super) enrolled_at: String,
    /// The last quick-setup.
    pub(super) called_at: String,
    #[serde(default)]
    pub(super) applications: Vec<Application>,
}

/// One application of a connector, and what it was assigned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Application {
    /// What the connector knows it by.
    pub(super) key: String,
    /// What the relay's answers call it.
    pub(super) app_id: String,
    pub(super) display_name: String,
    pub(super) protocol: String,
    /// The address that the connector said it leads to.
    pub(super) target: String,
    /// The remote port. Of a site it is a number alone; else it is public.
    pub(super) port: u16,
    /// The site's name, where there is one.
    #[serde(default)]
    pub(super) site: Option<Site>,
    pub(super) called_at: String,
}

/// What visitors with a browser see of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Site {
    pub(super) name: String,
    /// What was wished for, so that another wish is known as one.
    #[serde(default)]
    pub(super) wish: Option<String>,
    /// Whether the application speaks TLS.
    pub(super) tls: bool,
    /// Base64 of the SHA-256 of the code, where visitors have to show one.
    #[serde(default)]
    pub(super) code: Option<String>,
    /// Whether the application asks for a code itself.
    #[serde(default)]
    pub(super) checks_code: bool,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            version: VERSION,
            enroll_token: None,
            connectors: BTreeMap::new(),
            revoked: Vec::new(),
        }
    }
}

impl Book {
    /// Every application with its connector's name.
    pub(super) fn applications(&self) -> impl Iterator<Item = (&str, &Application)> {
        self.connectors.iter().flat_map(|(name, connector)| {
            let applications = connector.applications.iter();
            applications.map(move |application| (name.as_str(), application))
        })
    }

    /// Turns a connector out for good; false where there is none of that name.
    pub(super) fn revoke(&mut self, name: &str) -> bool {
        let known = self.connectors.remove(name).is_some();
        if known {
            self.revoked.push(name.to_owned());
            let over = self.revoked.len().saturating_sub(MAX_REVOKED);
            self.revoked.drain(..over);
        }
        known
    }

    /// Whether a connector was turned out.
    pub(super) fn is_revoked(&self, name: &str) -> bool {
        self.revoked.iter().any(|revoked| revoked == name)
    }

    /// Forgets an application; what it was, where there was one.
    pub(super) fn release(&mut self, connector: &str, key: &str) -> Option<Application> {
        let applications = &mut self.connectors.get_mut(connector)?.applications;
        let at = applications.iter().position(|known| known.key == key)?;
        Some(applications.remove(at))
    }
}

impl Application {
    /// Whether `again` differs in nothing but the time of the call and the value of the code, so that
    /// nobody is let in or kept out by what is on disk where only this has changed.
    pub(super) fn is_confirmed_by(&self, again: &Application) -> bool {
        let lasting = |application: &Application| {
            let mut application = application.clone();
            application.called_at.clear();
            if let Some(code) = application
                .site
                .as_mut()
                .and_then(|site| site.code.as_mut())
            {
                code.clear();
            }
            application
        };
        lasting(self) == lasting(again)
    }
}

impl Connector {
    /// The application that was assigned this port.
    pub(super) fn at_port(&self, port: u16) -> Option<&Application> {
        self.applications.iter().find(|known| known.port == port)
    }
}
