//! Identity of this connector at each server: `.credential`, one map keyed by server origin.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::data_dir::DataDir;
use super::error::Error;
use super::fingerprint::Fingerprint;
use super::json_file::JsonFile;
use super::random::{self, hex};

const FILE: &str = ".credential";
const PURPOSE: &str = "postern credentials 1";

/// A connector's identity at a server, and the server's assignment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// The connector's name.
    pub connector_name: String,
    /// The connector's password.
    pub password: Zeroizing<String>,
    /// The port of the local API service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_port: Option<u16>,
    /// The address of the tunnel server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ip: Option<String>,
    /// Class of the server's address when it named that one: `public`, `private`, `loopback`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_class: Option<String>,
    /// The remote port of the main tunnel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_port: Option<u16>,
    /// The tunnel server's port; 0 if `tunnel_url` is the only way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel_port: Option<u16>,
    /// The tunnel server at the server's own host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel_url: Option<String>,
    /// The tunnel server's port of the last connected main tunnel; a port that an application names may be wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proven_tunnel_port: Option<u16>,
    /// The user name of tunnel connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conn_username: Option<String>,
    /// The password of tunnel connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conn_password: Option<Zeroizing<String>>,
    /// True if the server has accepted them once.
    #[serde(default)]
    pub accepted: bool,
    /// True if it has answered as one of our relays, which never knows a code. If it no longer does, it is not trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_relay: bool,
}

impl Credentials {
    /// Creates a new name and a random password.
    ///
    /// The name does not reveal the fingerprint, because a random nonce is hashed with it.
    pub fn generate(fingerprint: &Fingerprint) -> Self {
        let mut hash = Sha256::new();
        hash.update(fingerprint.as_bytes());
        hash.update(random::bytes::<16>());
        let digest = hash.finalize();
        let secret = Zeroizing::new(random::bytes::<32>());
        Self {
            connector_name: format!("postern_{:.12}", hex(&digest)),
            password: Zeroizing::new(URL_SAFE_NO_PAD.encode(secret.as_slice())),
            local_port: None,
            external_ip: None,
            server_class: None,
            api_port: None,
            tunnel_port: None,
            tunnel_url: None,
            proven_tunnel_port: None,
            conn_username: None,
            conn_password: None,
            accepted: false,
            is_relay: false,
        }
    }

    /// True if all that a main tunnel needs is known (`HasConnectorInfo`).
    pub fn has_connector_info(&self) -> bool {
        let given = |text: Option<&String>| text.is_some_and(|text| !text.is_empty());
        given(self.external_ip.as_ref())
            && given(self.conn_username.as_ref())
            && given(self.conn_password.as_deref())
            && self.api_port.is_some()
            && self.tunnel_port.is_some()
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("connector_name", &self.connector_name)
            .field("password", &"***")
            .field("local_port", &self.local_port)
            .field("external_ip", &self.external_ip)
            .field("server_class", &self.server_class)
            .field("api_port", &self.api_port)
            .field("tunnel_port", &self.tunnel_port)
            .field("tunnel_url", &self.tunnel_url)
            .field("proven_tunnel_port", &self.proven_tunnel_port)
            .field("conn_username", &self.conn_username)
            .field("conn_password", &self.conn_password.as_ref().map(|_| "***"))
            .field("accepted", &self.accepted)
            .finish()
    }
}

/// The credentials of a per-user directory; nothing is kept in memory, because other processes write them too.
#[derive(Clone, Debug)]
pub struct CredentialStore {
    home: DataDir,
    file: JsonFile<Servers>,
}

#[derive(Default, Serialize, Deserialize)]
struct Servers {
    #[serde(default)]
    servers: BTreeMap<String, Credentials>,
}

impl CredentialStore {
    /// The credentials in `home`.
    pub fn new(home: DataDir) -> Self {
        let file = JsonFile::sealed(home.clone(), FILE, PURPOSE);
        Self { home, file }
    }

    /// The credentials for the server `origin`, as they are on the disk now.
    ///
    /// Without credentials, new ones are made and saved, so that two callers get the same.
    pub fn load(&self, origin: &str) -> Result<Credentials, Error> {
        match self.read()?.remove(origin) {
            Some(known) => Ok(known),
            None => self.change(origin, |credentials| credentials.clone()),
        }
    }

    /// Reads the credentials of every server without changing anything: an unreadable file stays in place and is an
    /// error.
    pub fn look(&self) -> Result<BTreeMap<String, Credentials>, Error> {
        Ok(self.file.look()?.unwrap_or_default().servers)
    }

    /// Changes the credentials for `origin` (new ones if there are none) and saves them, under the writers' lock.
    /// Unchanged ones are not written, because each connection calls this.
    pub fn change<T>(
        &self,
        origin: &str,
        change: impl FnOnce(&mut Credentials) -> T,
    ) -> Result<T, Error> {
        // Made before the update, which holds the lock that a new fingerprint needs.
        let fingerprint = Fingerprint::of(&self.home)?;
        self.file.update_where_changed(|content| {
            let before = content.servers.get(origin).cloned();
            let new = || Credentials::generate(&fingerprint);
            let entry = content.servers.entry(origin.to_owned());
            let entry = entry.or_insert_with(new);
            let answer = change(entry);
            Ok((answer, before.as_ref() != Some(entry)))
        })
    }

    /// Called when the server `from` is at `to` now: keeps the connector's identity there, unless there is one already.
    /// The server's next answer names the tunnel server.
    pub fn follow(&self, from: &str, to: &str) -> Result<(), Error> {
        let known = self.read()?;
        let (Some(before), false) = (known.get(from), known.contains_key(to)) else {
            return Ok(());
        };
        let moved = Credentials {
            api_port: None,
            tunnel_port: None,
            proven_tunnel_port: None,
            ..before.clone()
        };
        self.file.update(|content| {
            content.servers.entry(to.to_owned()).or_insert(moved);
            Ok(())
        })
    }

    /// The servers whose connector info is complete, by origin.
    pub fn with_connector_info(&self) -> Result<Vec<(String, Credentials)>, Error> {
        let mut servers = self.read()?;
        servers.retain(|_, credentials| credentials.has_connector_info());
        Ok(servers.into_iter().collect())
    }

    /// Forgets all credentials; the file is kept as `.credential.reset-TIME`.
    pub fn reset(&self) -> Result<(), Error> {
        self.file.retire("reset").map(drop)
    }

    /// Checks whether there are credentials for `origin`; makes none.
    pub fn knows(&self, origin: &str) -> Result<bool, Error> {
        Ok(self.read()?.contains_key(origin))
    }

    /// Forgets the credentials for `origin`; a copy of the file is kept as `.credential.reset-TIME`. False if there are
    /// none.
    pub fn forget(&self, origin: &str) -> Result<bool, Error> {
        if !self.knows(origin)? {
            return Ok(false);
        }
        self.file.keep_copy("reset")?;
        self.file
            .update(|content| Ok(content.servers.remove(origin).is_some()))
    }

    fn read(&self) -> Result<BTreeMap<String, Credentials>, Error> {
        Ok(self.file.read()?.unwrap_or_default().servers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = "https://a.example:443";
    const B: &str = "http://127.0.0.1:8180";

    fn complete(credentials: &mut Credentials) {
        credentials.external_ip = Some("203.0.113.7".to_owned());
        credentials.api_port = Some(4001);
        credentials.tunnel_port = Some(62888);
        credentials.conn_username = Some("user".to_owned());
        credentials.conn_password = Some(Zeroizing::new("hush".to_owned()));
    }

    #[test]
    fn new_credentials_are_saved_and_each_server_has_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path().join("h")));
        let a = store.load(A).unwrap();
        let b = store.load(B).unwrap();
        assert_eq!(store.load(A).unwrap(), a);
        assert!(a.connector_name != b.connector_name && a.password != b.password);
        let digits = a.connector_name.strip_prefix("postern_").unwrap();
        assert!(digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
        assert_eq!(
            URL_SAFE_NO_PAD.decode(a.password.as_str()).unwrap().len(),
            32
        );
        assert!(!a.accepted && !a.has_connector_info());
    }

    #[test]
    fn a_change_is_kept_and_seen_by_another_store() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path()));
        store.load(B).unwrap();
        store.change(A, complete).unwrap();
        let other = CredentialStore::new(DataDir::at(dir.path()));
        let complete = other.with_connector_info().unwrap();
        assert_eq!(complete.len(), 1);
        assert_eq!(complete[0].0, A);
        assert_eq!(complete[0].1, store.load(A).unwrap());
    }

    /// It waits for the disk otherwise, before each connection.
    #[test]
    fn what_has_stayed_the_same_is_not_written_again() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path()));
        // Each write replaces the file by another one.
        let file = || std::fs::metadata(dir.path().join(FILE)).unwrap();
        store.change(A, |_| ()).unwrap();
        store.change(A, complete).unwrap();
        let before = (file().ino(), file().modified().unwrap());
        store.change(A, complete).unwrap();
        assert_eq!((file().ino(), file().modified().unwrap()), before);
        store
            .change(A, |saved| saved.api_port = Some(4002))
            .unwrap();
        assert_ne!((file().ino(), file().modified().unwrap()), before);
        store.change(B, |_| ()).unwrap();
        assert!(store.knows(B).unwrap(), "new ones are saved as they are");
    }

    #[test]
    fn one_server_is_forgotten_and_the_old_file_can_be_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path()));
        let (a, b) = (store.load(A).unwrap(), store.load(B).unwrap());
        assert!(!store.forget("https://nowhere:1").unwrap());
        assert!(!store.knows("https://nowhere:1").unwrap());
        assert!(store.forget(A).unwrap() && !store.knows(A).unwrap());
        assert_eq!(store.load(B).unwrap(), b);
        assert_ne!(store.load(A).unwrap(), a);
        let names = std::fs::read_dir(dir.path()).unwrap().flatten();
        let kept: Vec<_> = names
            .filter(|entry| entry.file_name().to_string_lossy().contains(".reset-"))
            .collect();
        assert_eq!(kept.len(), 1);
        std::fs::rename(kept[0].path(), dir.path().join(FILE)).unwrap();
        assert_eq!(store.load(A).unwrap(), a);
    }

    #[test]
    fn a_server_that_moves_knows_the_connector_again() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path()));
        store.change(B, complete).unwrap();
        let before = store.load(B).unwrap();
        let moved = "http://127.0.0.1:9999";
        store.follow(B, moved).unwrap();
        let after = store.load(moved).unwrap();
        assert_eq!(
            (&after.connector_name, &after.password),
            (&before.connector_name, &before.password)
        );
        assert!(!after.has_connector_info() && store.load(B).unwrap() == before);
        store.follow(A, moved).unwrap();
        store.load(A).unwrap();
        store.follow(A, moved).unwrap();
        assert_eq!(
            store.load(moved).unwrap(),
            after,
            "what is known there stays"
        );
    }

    #[test]
    fn connector_info_needs_every_part() {
        let dir = tempfile::tempdir().unwrap();
        let fingerprint = Fingerprint::of(&DataDir::at(dir.path())).unwrap();
        let mut whole = Credentials::generate(&fingerprint);
        complete(&mut whole);
        assert!(whole.has_connector_info());
        let without: [fn(&mut Credentials); 7] = [
            |c| c.external_ip = None,
            |c| c.external_ip = Some(String::new()),
            |c| c.api_port = None,
            |c| c.tunnel_port = None,
            |c| c.conn_username = None,
            |c| c.conn_password = None,
            |c| c.conn_password = Some(Zeroizing::default()),
        ];
        for take in without {
            let mut part = whole.clone();
            take(&mut part);
            assert!(!part.has_connector_info());
        }
    }

    #[test]
    fn a_reset_starts_afresh_and_keeps_the_old_file() {
        let dir = tempfile::tempdir().unwrap();
        let store = CredentialStore::new(DataDir::at(dir.path()));
        store.reset().unwrap();
        let old = store.load(A).unwrap();
        store.reset().unwrap();
        assert_ne!(store.load(A).unwrap(), old);
        let names = std::fs::read_dir(dir.path()).unwrap().flatten();
        let kept = names.filter(|e| e.file_name().to_string_lossy().contains(".reset-"));
        assert_eq!(kept.count(), 1);
    }

    #[test]
    fn the_names_are_those_of_the_specification_and_debug_hides_secrets() {
        let dir = tempfile::tempdir().unwrap();
        let mut credentials =
            Credentials::generate(&Fingerprint::of(&DataDir::at(dir.path())).unwrap());
        complete(&mut credentials);
        credentials.local_port = Some(4000);
        let json = serde_json::to_value(&credentials).unwrap();
        for name in [
            "connector_name",
            "password",
            "local_port",
            "external_ip",
            "api_port",
            "tunnel_port",
            "conn_username",
            "conn_password",
        ] {
            assert!(json.get(name).is_some(), "{name}");
        }
        let shown = format!("{credentials:?}");
        assert!(!shown.contains("hush") && !shown.contains(credentials.password.as_str()));
    }

    #[test]
    fn foreign_content_is_kept_aside() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path());
        let file = JsonFile::sealed(home.clone(), FILE, PURPOSE);
        let foreign = BTreeMap::from([("servers".to_owned(), 7)]);
        file.write(&foreign).unwrap();
        CredentialStore::new(home.clone()).load(A).unwrap();
        assert_eq!(crate::store::files_set_aside(&home).len(), 1);
    }
}
