//! `.servers`: the sealed list of the remote servers that this user knows.
//!
//! It is read anew each time, as other processes write it too: `postern server` does without a running manager.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::apps::app::AppConfig;
use super::list_error::Error;
use super::server_url::ServerUrl;
use crate::api::ServerUpdate;
use crate::store::time::rfc3339;
use crate::store::{self, DataDir, JsonFile};

/// Servers of one user: a page lists them all.
pub const MAX_SERVERS: usize = crate::limits::SERVERS;
/// Characters of a label.
const LABEL_CAP: usize = 100;
/// Bytes of an enrolment token. 256, as a relay takes it.
const TOKEN_CAP: usize = crate::limits::ENROLL_TOKEN;
const FILE: &str = ".servers";
const PURPOSE: &str = "postern servers 1";

/// The list on disk.
#[derive(Clone)]
pub struct ServerStore {
    file: JsonFile<ServerList>,
}

/// The servers that are known, by origin.
#[derive(Default, Serialize, Deserialize)]
pub struct ServerList {
    #[serde(default)]
    servers: BTreeMap<String, KnownServer>,
    /// The origin of the one that plain `postern start` uses.
    #[serde(default)]
    default: Option<String>,
}

/// One of them.
#[derive(Serialize, Deserialize)]
pub struct KnownServer {
    /// Its URL, as [`ServerUrl`] shows it.
    pub url: String,
    /// Label given by the user.
    #[serde(default)]
    pub label: Option<String>,
    /// Enrolment token; sent to this server alone.
    #[serde(default)]
    pub enroll_token: Option<Zeroizing<String>>,
    /// Since when it is known, RFC 3339.
    #[serde(default)]
    pub added_at: String,
}

impl ServerStore {
    /// The list in `home`.
    pub fn new(home: DataDir) -> Self {
        let file = JsonFile::sealed(home, FILE, PURPOSE)
            .with_consequence(": add your servers, their labels and enrolment tokens again");
        Self { file }
    }

    /// Returns the current list.
    pub fn read(&self) -> Result<ServerList, store::Error> {
        Ok(self.file.read()?.unwrap_or_default())
    }

    /// Reads without changing anything: an unreadable file stays in place and is an error.
    pub fn look(&self) -> Result<ServerList, store::Error> {
        Ok(self.file.look()?.unwrap_or_default())
    }

    /// Adds a server, or changes what is kept of it, whatever URL the change has.
    pub(crate) fn put(&self, server: &ServerUrl, change: ServerUpdate) -> Result<(), Error> {
        let change = checked(change)?;
        self.file.update(|list| list.put(server, change))
    }

    /// Keeps a server that was used, unless it is known; nothing else changes.
    pub fn remember(&self, server: &ServerUrl) -> Result<(), Error> {
        if self.read()?.servers.contains_key(server.origin()) {
            return Ok(());
        }
        self.put(server, ServerUpdate::default())
    }

    /// Forgets the server with this origin, and its token; false where there is none. One that an application of `apps`
    /// names or stays with is not forgotten.
    pub fn remove(&self, origin: &str, apps: &[AppConfig]) -> Result<bool, Error> {
        let users: Vec<String> = apps
            .iter()
            .filter(|app| uses(app, origin))
            .map(|app| app.name.clone())
            .collect();
        if !users.is_empty() {
            return Err(Error::InUse(users));
        }
        self.file.update(|list| {
            if list.default.as_deref() == Some(origin) {
                list.default = None;
            }
            Ok(list.servers.remove(origin).is_some())
        })
    }
}

/// True if an application names the server with this origin, or stays with it.
pub fn uses(app: &AppConfig, origin: &str) -> bool {
    let url = app.server.as_ref().or(app.used_server.as_ref());
    let url = url.and_then(|url| ServerUrl::parse(url, true).ok());
    url.is_some_and(|url| url.origin() == origin)
}

impl ServerList {
    /// All of them with their origins.
    pub fn all(&self) -> impl Iterator<Item = (&str, &KnownServer)> {
        let servers = self.servers.iter();
        servers.map(|(origin, server)| (origin.as_str(), server))
    }

    /// The one with this origin.
    pub fn get(&self, origin: &str) -> Option<&KnownServer> {
        self.servers.get(origin)
    }

    /// The one that plain `postern start` uses.
    pub fn default_server(&self) -> Option<&KnownServer> {
        self.servers.get(self.default.as_ref()?)
    }

    /// True if the default server has this origin.
    pub fn is_default(&self, origin: &str) -> bool {
        self.default.as_deref() == Some(origin)
    }

    /// Enrolment token for the server with this origin; a secret for that server alone.
    pub fn token(&self, origin: &str) -> Option<Zeroizing<String>> {
        self.servers.get(origin)?.enroll_token.clone()
    }

    fn put(&mut self, server: &ServerUrl, change: ServerUpdate) -> Result<(), Error> {
        let origin = server.origin();
        if !self.servers.contains_key(origin) && self.servers.len() >= MAX_SERVERS {
            return Err(Error::Full(MAX_SERVERS, "servers"));
        }
        let known = self.servers.entry(origin.to_owned());
        let known = known.or_insert_with(|| KnownServer {
            url: String::new(),
            label: None,
            enroll_token: None,
            added_at: rfc3339(SystemTime::now()),
        });
        known.url = server.to_string();
        known.label = change.label.unwrap_or_else(|| known.label.take());
        let token = change.enroll_token;
        known.enroll_token = token.unwrap_or_else(|| known.enroll_token.take());
        match change.default {
            Some(true) => self.default = Some(origin.to_owned()),
            Some(false) if self.is_default(origin) => self.default = None,
            _ => {}
        }
        Ok(())
    }
}

/// Without spaces around a label; what is empty is none.
fn checked(change: ServerUpdate) -> Result<ServerUpdate, Error> {
    let trimmed = |label: String| Some(label.trim().to_owned()).filter(|label| !label.is_empty());
    let label = change.label.map(|label| label.and_then(trimmed));
    let token = change.enroll_token;
    let enroll_token = token.map(|token| token.filter(|token| !token.is_empty()));
    if let Some(Some(label)) = &label {
        check("label", label, label.chars().count() <= LABEL_CAP)?;
    }
    if let Some(Some(token)) = &enroll_token {
        check("enroll_token", token, token.len() <= TOKEN_CAP)?;
    }
    Ok(ServerUpdate {
        label,
        enroll_token,
        ..change
    })
}

/// The text may be a secret and is not repeated.
fn check(field: &'static str, text: &str, is_short: bool) -> Result<(), Error> {
    let why = if !is_short {
        "is too long"
    } else if text.chars().any(char::is_control) {
        "must not contain control characters"
    } else {
        return Ok(());
    };
    Err(Error::Value(field, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::apps::app_input::AppInput;

    fn store() -> (tempfile::TempDir, ServerStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = ServerStore::new(DataDir::at(dir.path().join("home")));
        (dir, store)
    }

    fn url(text: &str) -> ServerUrl {
        ServerUrl::parse(text, false).unwrap()
    }

    fn token(text: &str) -> ServerUpdate {
        ServerUpdate {
            enroll_token: Some(Some(Zeroizing::new(text.to_owned()))),
            ..ServerUpdate::default()
        }
    }

    #[test]
    fn what_is_left_out_is_kept_and_what_is_null_or_empty_goes() {
        let (_dir, store) = store();
        let a = url("https://a.example");
        store.put(&a, token("hush")).unwrap();
        let list = store.read().unwrap();
        let known = list.get(a.origin()).unwrap();
        assert!(known.label.is_none() && known.enroll_token.is_some());
        let label = |label: Option<&str>| ServerUpdate {
            label: Some(label.map(str::to_owned)),
            ..ServerUpdate::default()
        };
        store.put(&a, label(Some(" home "))).unwrap();
        store.remember(&a).unwrap();
        let list = store.read().unwrap();
        let known = list.get(a.origin()).unwrap();
        assert!(list.all().count() == 1 && known.label.as_deref() == Some("home"));
        assert_eq!(list.token(a.origin()).unwrap().as_str(), "hush");
        assert!(
            list.token("https://b.example:443").is_none(),
            "for that server alone"
        );
        store.put(&a, token("")).unwrap();
        store.put(&a, label(None)).unwrap();
        let list = store.read().unwrap();
        let known = list.get(a.origin()).unwrap();
        assert!(known.label.is_none() && known.enroll_token.is_none());
    }

    #[test]
    fn there_is_one_default_and_it_goes_with_its_server() {
        let (_dir, store) = store();
        let [a, b] = ["https://a.example", "http://127.0.0.1:8180/x"].map(url);
        store.remember(&a).unwrap();
        assert!(store.read().unwrap().default_server().is_none());
        let default = |is| ServerUpdate {
            default: Some(is),
            ..ServerUpdate::default()
        };
        store.put(&a, default(true)).unwrap();
        store.put(&b, default(true)).unwrap();
        let list = store.read().unwrap();
        assert_eq!(list.default_server().unwrap().url, b.to_string());
        assert!(!list.is_default(a.origin()));
        store.put(&a, default(false)).unwrap();
        assert!(store.read().unwrap().is_default(b.origin()), "it was not");
        assert!(store.remove(b.origin(), &[]).unwrap() && !store.remove(b.origin(), &[]).unwrap());
        assert!(store.read().unwrap().default_server().is_none());
        assert_eq!(store.read().unwrap().all().count(), 1);
    }

    #[test]
    fn one_in_use_is_not_forgotten() {
        let (_dir, store) = store();
        let [a, b] = ["https://a.example", "https://b.example"].map(url);
        store.remember(&a).unwrap();
        store.remember(&b).unwrap();
        let app = |name: &str| {
            let body = serde_json::json!({"protocol": "http", "name": name});
            AppInput::parse(&body, false).unwrap().into_new()
        };
        let mut apps = [app("names"), app("stays"), app("free")];
        apps[0].server = Some("https://a.example/".into());
        apps[1].used_server = Some(a.to_string());
        let refused = store.remove(a.origin(), &apps).unwrap_err();
        assert_eq!(refused.to_string(), "in use by names, stays");
        assert!(store.remove(b.origin(), &apps).unwrap());
        assert!(store.remove(a.origin(), &apps[2..]).unwrap());
    }

    #[test]
    fn what_cannot_be_kept_is_refused_without_repeating_it() {
        let (_dir, store) = store();
        let a = url("https://a.example");
        for text in ["hush\n", &"hush".repeat(65)] {
            let error = store.put(&a, token(text)).unwrap_err().to_string();
            assert!(
                error.starts_with("enroll_token ") && !error.contains("hush"),
                "{error}"
            );
        }
        assert_eq!(store.read().unwrap().all().count(), 0);
        for number in 0..MAX_SERVERS {
            store
                .remember(&url(&format!("https://s{number}.example")))
                .unwrap();
        }
        assert!(matches!(store.remember(&a), Err(Error::Full(..))));
    }
}
