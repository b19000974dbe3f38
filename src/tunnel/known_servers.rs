//! The host keys of servers, each pinned when it is first seen: `known_servers.json`.

use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::ssh::HostKey;
use crate::store::time::rfc3339;
use crate::store::{self, DataDir, JsonFile};

const FILE: &str = "known_servers.json";
/// Bytes of the file. Default 1 MiB: some thousand servers.
const CAP: u64 = 1024 * 1024;

/// The pinned keys of a per-user directory; nothing is kept in memory, as others write it too.
///
/// Pins are kept apart by who named the server ([`KnownServers::named_by`]), so that
/// none of them decides which key another one's server must have.
pub struct KnownServers {
    file: JsonFile<Pins>,
    /// Prefix of a server's address; empty if the user named it.
    named_by: String,
}

/// Result of comparing a key with the pinned one.
#[derive(Debug, PartialEq, Eq)]
pub enum KeyMatch {
    /// It is the pinned one.
    Same,
    /// It was pinned now.
    New,
    /// Another one is pinned: its fingerprint.
    Changed(String),
}

/// The file cannot be read or written.
#[derive(Debug)]
pub struct Error(store::Error);

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self(error)
    }
}

#[derive(Serialize, Deserialize, Default)]
struct Pins {
    #[serde(default)]
    servers: BTreeMap<String, Pin>,
}

#[derive(Serialize, Deserialize, Clone)]
struct Pin {
    fingerprint: String,
    kind: String,
    since: String,
}

impl KnownServers {
    /// The keys that are pinned in this directory.
    pub fn new(home: DataDir) -> Self {
        let file = JsonFile::new(home, FILE, CAP)
            .with_consequence(": host keys of servers are pinned again at the next contact");
        Self {
            file,
            named_by: String::new(),
        }
    }

    /// The keys in the same directory of servers that `origin` named.
    pub fn named_by(&self, origin: &str) -> Self {
        Self {
            file: self.file.clone(),
            named_by: format!("{origin} "),
        }
    }

    /// Advice for a user who wants to trust another key than the pinned one.
    pub(super) fn advice(&self) -> &'static str {
        if self.named_by.is_empty() {
            "compare the new one with the operator's and give it with --fingerprint, or remove the known one from \
             known_servers.json"
        } else {
            "compare the new one with the operator's and accept it on the page of 'postern start' or with 'postern \
             app trust'"
        }
    }

    /// Compares a server's key with the pinned one, or pins it.
    pub fn check(&self, server: &str, key: &HostKey) -> Result<KeyMatch, Error> {
        let compare = |pin: &Pin| {
            if pin.fingerprint == key.fingerprint() {
                KeyMatch::Same
            } else {
                KeyMatch::Changed(pin.fingerprint.clone())
            }
        };
        let server = self.entry(server);
        if let Some(pin) = self.read()?.servers.get(&server) {
            return Ok(compare(pin));
        }
        self.write(|pins| {
            // Another process may have been first.
            let found = pins.servers.get(&server).map(compare);
            pins.servers
                .entry(server)
                .or_insert_with(|| pin(key.fingerprint(), key.kind()));
            found.unwrap_or(KeyMatch::New)
        })
    }

    /// The kind of the pinned key.
    pub fn kind(&self, server: &str) -> Option<String> {
        let pin = self.read().ok()?.servers.remove(&self.entry(server))?;
        Some(pin.kind).filter(|kind| !kind.is_empty())
    }

    /// The fingerprint of the pinned key.
    pub fn fingerprint(&self, server: &str) -> Option<String> {
        let pin = self.read().ok()?.servers.remove(&self.entry(server))?;
        Some(pin.fingerprint)
    }

    /// The fingerprints of all keys that are pinned here.
    pub(crate) fn fingerprints(&self) -> Result<Vec<String>, Error> {
        let servers = self.read()?.servers.into_iter();
        let here = servers.filter(|(name, _)| name.starts_with(&self.named_by));
        Ok(here.map(|(_, pin)| pin.fingerprint).collect())
    }

    /// Pins the key with this fingerprint where none is pinned.
    pub fn pin_first(&self, server: &str, fingerprint: &str) -> Result<(), Error> {
        let server = self.entry(server);
        if self.read()?.servers.contains_key(&server) {
            return Ok(());
        }
        self.write(|pins| {
            pins.servers
                .entry(server)
                .or_insert_with(|| pin(fingerprint.to_owned(), ""));
        })
    }

    /// Pins the key with this fingerprint in place of what was known: the user trusts it.
    pub fn trust(&self, server: &str, fingerprint: &str) -> Result<(), Error> {
        let server = self.entry(server);
        self.write(|pins| {
            pins.servers.insert(server, pin(fingerprint.to_owned(), ""));
        })
    }

    /// Pins the key with this fingerprint wherever `known` is pinned for the server, whoever named it: the user trusts
    /// the change.
    pub fn trust_change(&self, server: &str, known: &str, fingerprint: &str) -> Result<(), Error> {
        self.write(|pins| {
            let of_server = |name: &str| name.rsplit(' ').next() == Some(server);
            let pins = pins.servers.iter_mut();
            for (_, found) in
                pins.filter(|(name, found)| of_server(name) && found.fingerprint == known)
            {
                *found = pin(fingerprint.to_owned(), "");
            }
        })
    }

    /// The server's name in the file. For a server that the user named it has no path, as in files of earlier versions.
    fn entry(&self, server: &str) -> String {
        match server.split_once('/') {
            Some((place, _)) if self.named_by.is_empty() => place.to_owned(),
            _ => format!("{}{server}", self.named_by),
        }
    }

    fn read(&self) -> Result<Pins, Error> {
        Ok(self.file.read()?.unwrap_or_default())
    }

    fn write<T>(&self, change: impl FnOnce(&mut Pins) -> T) -> Result<T, Error> {
        self.file.update(|pins| Ok(change(pins)))
    }
}

fn pin(fingerprint: String, kind: &str) -> Pin {
    Pin {
        fingerprint,
        kind: kind.to_owned(),
        since: rfc3339(SystemTime::now()),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot save host keys: {}", self.0)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::files_set_aside;
    use crate::tunnel::ssh::{KeyKind, ServerKey};

    #[test]
    fn a_key_is_pinned_once_and_a_change_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let known = KnownServers::new(DataDir::at(dir.path().join("home")));
        let [first, second] = [KeyKind::Ed25519, KeyKind::EcdsaP256]
            .map(|kind| ServerKey::generate(kind).unwrap().public());
        assert_eq!(known.kind("a:1"), None);
        assert_eq!(known.check("a:1", &first).unwrap(), KeyMatch::New);
        assert_eq!(known.check("a:1", &first).unwrap(), KeyMatch::Same);
        assert_eq!(known.kind("a:1").as_deref(), Some("ssh-ed25519"));
        assert_eq!(
            known.check("a:1", &second).unwrap(),
            KeyMatch::Changed(first.fingerprint())
        );
        assert_eq!(known.check("a:2", &second).unwrap(), KeyMatch::New);
        known.trust("a:1", &second.fingerprint()).unwrap();
        known.pin_first("a:1", &first.fingerprint()).unwrap();
        assert_eq!(known.check("a:1", &second).unwrap(), KeyMatch::Same);
    }

    #[test]
    fn whoever_names_a_server_pins_for_itself_alone() {
        let dir = tempfile::tempdir().unwrap();
        let known = KnownServers::new(DataDir::at(dir.path().join("home")));
        let [a, b] = ["https://a:443", "https://b:443"].map(|origin| known.named_by(origin));
        let [real, other] = [KeyKind::Ed25519, KeyKind::EcdsaP256]
            .map(|kind| ServerKey::generate(kind).unwrap().public());
        a.pin_first("t:1", "a lie").unwrap();
        assert_eq!(b.check("t:1", &real).unwrap(), KeyMatch::New);
        assert_eq!(known.check("t:1", &real).unwrap(), KeyMatch::New);
        let refused = KeyMatch::Changed("a lie".into());
        assert_eq!(a.check("t:1", &real).unwrap(), refused);
        known
            .trust_change("t:1", "a lie", &other.fingerprint())
            .unwrap();
        assert_eq!(a.check("t:1", &other).unwrap(), KeyMatch::Same);
        assert_eq!(b.check("t:1", &real).unwrap(), KeyMatch::Same);
    }

    #[test]
    fn a_file_that_was_not_written_here_is_kept_aside() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path().join("home"));
        let key = ServerKey::generate(KeyKind::Ed25519).unwrap().public();
        let known = KnownServers::new(home.clone());
        for content in ["{", "", "[]", "[{}]", "null", "{\"servers\":[]}"] {
            home.lock()
                .unwrap()
                .write(FILE, content.as_bytes())
                .unwrap();
            let before = files_set_aside(&home).len();
            assert_eq!(known.check("a", &key).unwrap(), KeyMatch::New, "{content}");
            let aside = files_set_aside(&home);
            assert_eq!(aside.len(), before + 1, "{content}");
            assert_eq!(known.check("a", &key).unwrap(), KeyMatch::Same);
        }
        home.lock().unwrap().write(FILE, b"{}").unwrap();
        assert_eq!(known.kind("a"), None, "no server yet is no damage");
        assert_eq!(files_set_aside(&home).len(), 6);
    }
}
