//! `.servers`, the sealed list of the remote servers that this user knows, and the choice of the server for an
//! application:
//!
//! | the application | is connected through |
//! |---|---|
//! | names a server | that server |
//! | names none, and `start` was given `--server` | the server of the command line |
//! | was connected through a server of the user's list before | that server, until the user moves it |
//! | else | the default of the list or, without one, the relay on this machine |
//!
//! No application stays with the relay on this machine once there is a default. The list is read each time, because
//! other
//! processes write it too: `postern server` works without a running manager.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::apps::app::AppConfig;
use super::list_error::Error;
use super::server_url::ServerUrl;
use crate::api::ServerUpdate;
use crate::store;
use crate::store::time::rfc3339;
use crate::store::{DataDir, JsonFile};
use crate::sync::Mutex;

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
    /// Origin of the server that plain `postern start` uses.
    #[serde(default)]
    default: Option<String>,
}

/// A server of the list.
#[derive(Serialize, Deserialize)]
pub struct KnownServer {
    /// URL, as [`ServerUrl`] shows it.
    pub url: String,
    /// Label given by the user.
    #[serde(default)]
    pub label: Option<String>,
    /// Enrolment token; sent to this server alone.
    #[serde(default)]
    pub enroll_token: Option<Zeroizing<String>>,
    /// Time at which it was added, RFC 3339.
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

    /// Adds or changes a server; the URL in the change is not used.
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

    /// Forgets the server with this origin, and its token; false if there is none. An error if an application of `apps`
    /// names it or stays with it.
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
    /// All servers with their origins.
    pub fn all(&self) -> impl Iterator<Item = (&str, &KnownServer)> {
        let servers = self.servers.iter();
        servers.map(|(origin, server)| (origin.as_str(), server))
    }

    /// The server with this origin.
    pub fn get(&self, origin: &str) -> Option<&KnownServer> {
        self.servers.get(origin)
    }

    /// The server that plain `postern start` uses.
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

/// Checks a change. A label is trimmed; an empty label or token is none.
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

/// Checks a text, which may be a secret and is not repeated.
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

/// A server, and the token with which this connector enrols there.
#[derive(Clone)]
pub struct ServerAccess {
    /// The server.
    pub server: ServerUrl,
    /// Enrolment token; a secret for this server alone.
    pub enroll_token: Option<Zeroizing<String>>,
}

/// Relay on this machine, used if no server is given and there is no default.
#[derive(Clone, Default)]
pub struct LocalRelay {
    /// The relay; none if none could be started.
    pub relay: Option<ServerAccess>,
    /// True if it is part of this program.
    pub is_embedded: bool,
    /// Notices on the page while it is used.
    pub notices: Vec<String>,
}

/// Choice of the server.
pub(crate) struct ServerChoice {
    /// The server of the command line, for all applications that name none.
    pub(crate) named: Option<ServerUrl>,
    /// The server that a token was given for at the start.
    given: Option<ServerAccess>,
    local_relay: Mutex<Arc<LocalRelay>>,
    pub(crate) store: ServerStore,
    /// True if servers on other machines may be reached without TLS.
    pub(crate) insecure: bool,
}

/// Choice with the current list.
pub(crate) struct CurrentServers<'a> {
    choice: &'a ServerChoice,
    pub(crate) list: ServerList,
}

/// Server for a command that shares without a manager: `named`, else the user's default; none for the relay on this
/// machine. Without a given token, the saved one for that server is used.
pub fn chosen_server(
    home: &DataDir,
    named: Option<ServerUrl>,
    enroll_token: Option<Zeroizing<String>>,
) -> Result<Option<ServerAccess>, String> {
    let list = ServerStore::new(home.clone()).read();
    let list = match named {
        // A given server needs no list.
        Some(_) => list.unwrap_or_default(),
        None => list.map_err(|error| error.to_string())?,
    };
    let kept = list.default_server().filter(|_| named.is_none());
    let kept = kept.map(|known| ServerUrl::parse(&known.url, false));
    let server = named.or(kept.transpose()?);
    Ok(server.map(|server| ServerAccess {
        enroll_token: enroll_token.or_else(|| list.token(server.origin())),
        server,
    }))
}

impl ServerChoice {
    /// `named` and `enroll_token` are from the command line: the token is for that server, or for the current default.
    pub(crate) fn new(
        store: ServerStore,
        named: Option<ServerUrl>,
        enroll_token: Option<Zeroizing<String>>,
        local_relay: LocalRelay,
        insecure: bool,
    ) -> Self {
        let mut choice = Self {
            named,
            given: None,
            local_relay: Mutex::new(Arc::new(local_relay)),
            store,
            insecure,
        };
        if enroll_token.is_some() {
            let server = choice.now().ok().and_then(|now| now.default().ok()?);
            choice.given = server.map(|server| ServerAccess {
                server,
                enroll_token,
            });
        }
        choice
    }

    /// Reads the current list.
    pub(crate) fn now(&self) -> Result<CurrentServers<'_>, store::Error> {
        Ok(CurrentServers {
            choice: self,
            list: self.store.read()?,
        })
    }

    /// Relay on this machine.
    pub(crate) fn local_relay(&self) -> Arc<LocalRelay> {
        Arc::clone(&self.local_relay.lock())
    }

    /// Sets another relay on this machine.
    pub(crate) fn set_local_relay(&self, local_relay: LocalRelay) {
        *self.local_relay.lock() = Arc::new(local_relay);
    }

    /// True if this is the relay on this machine.
    pub(crate) fn is_local_relay(&self, origin: &str) -> bool {
        let local_relay = self.local_relay();
        let relay = local_relay.relay.as_ref();
        relay.is_some_and(|relay| relay.server.origin() == origin)
    }
}

impl CurrentServers<'_> {
    /// The server that an application is connected through next.
    pub(crate) fn of(&self, app: &AppConfig) -> Result<ServerUrl, String> {
        if let Some(own) = &app.server {
            return self.parsed(own);
        }
        match (&self.choice.named, &app.used_server) {
            (None, Some(used)) => self.parsed(used),
            _ => self.default().and_then(|server| {
                server.ok_or_else(|| {
                    "no server given: add one on the page or with 'postern server add URL', or choose one for the \
                     application"
                        .into()
                })
            }),
        }
    }

    /// The server of applications that name none and were not connected before.
    pub(crate) fn default(&self) -> Result<Option<ServerUrl>, String> {
        if let Some(named) = &self.choice.named {
            return Ok(Some(named.clone()));
        }
        if let Some(known) = self.list.default_server() {
            return self.parsed(&known.url).map(Some);
        }
        let local_relay = self.choice.local_relay();
        let relay = local_relay.relay.as_ref();
        Ok(relay.map(|relay| relay.server.clone()))
    }

    /// Enrolment token for the server with this origin; sent to no other.
    pub(crate) fn token(&self, origin: &str) -> Option<Zeroizing<String>> {
        let given = |access: &&ServerAccess| access.server.origin() == origin;
        let of = |access: Option<&ServerAccess>| access.filter(given)?.enroll_token.clone();
        of(self.choice.given.as_ref())
            .or_else(|| self.list.token(origin))
            .or_else(|| of(self.choice.local_relay().relay.as_ref()))
    }

    /// True if the relay on this machine serves applications without a server.
    pub(crate) fn uses_local_relay(&self) -> bool {
        self.choice.named.is_none() && self.list.default_server().is_none()
    }

    fn parsed(&self, url: &str) -> Result<ServerUrl, String> {
        ServerUrl::parse(url, self.choice.insecure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ServerUpdate;
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

    fn access(text: &str, token: &str) -> ServerAccess {
        ServerAccess {
            server: url(text),
            enroll_token: Some(Zeroizing::new(token.to_owned())),
        }
    }

    fn choice(home: &DataDir, given: Option<ServerAccess>) -> ServerChoice {
        let local_relay = LocalRelay {
            relay: Some(access("http://127.0.0.1:8180", "own")),
            is_embedded: true,
            notices: Vec::new(),
        };
        let (named, token) = given
            .map(|given| (given.server, given.enroll_token))
            .unzip();
        let store = ServerStore::new(home.clone());
        ServerChoice::new(store, named, token.flatten(), local_relay, false)
    }

    fn change(token: &str, default: bool) -> ServerUpdate {
        ServerUpdate {
            enroll_token: Some(Some(Zeroizing::new(token.to_owned()))),
            default: Some(default),
            ..ServerUpdate::default()
        }
    }

    #[test]
    fn an_application_goes_where_it_says_or_was_or_to_the_default() {
        let dir = tempfile::tempdir().unwrap();
        let mut choice = choice(&DataDir::at(dir.path().join("home")), None);
        let body = serde_json::json!({"protocol": "http"});
        let mut app = AppInput::parse(&body, true).unwrap().into_new();
        let of = |choice: &ServerChoice, app: &AppConfig| {
            let url = choice.now().unwrap().of(app);
            url.map(|url| url.to_string()).unwrap_or_default()
        };
        assert_eq!(of(&choice, &app), "http://127.0.0.1:8180");
        let a = url("https://a.example");
        choice.store.put(&a, change("t", true)).unwrap();
        assert_eq!(of(&choice, &app), "https://a.example");
        app.used_server = Some("https://b.example".into());
        assert_eq!(of(&choice, &app), "https://b.example", "it stays");
        choice.named = Some(url("https://c.example"));
        assert_eq!(
            of(&choice, &app),
            "https://c.example",
            "the user moves it by the command"
        );
        app.server = Some("https://d.example".into());
        assert_eq!(of(&choice, &app), "https://d.example");
        (app.server, app.used_server, choice.named) = (None, None, None);
        choice.set_local_relay(LocalRelay::default());
        choice.store.remove(a.origin(), &[]).unwrap();
        assert_eq!(of(&choice, &app), "");
    }

    #[test]
    fn a_token_is_for_its_own_server() {
        let dir = tempfile::tempdir().unwrap();
        let home = DataDir::at(dir.path().join("home"));
        let plain = choice(&home, None);
        let a = url("https://a.example");
        plain.store.put(&a, change("stored", false)).unwrap();
        let token = |choice: &ServerChoice, origin: &str| {
            let token = choice.now().unwrap().token(origin);
            token.map(|token| token.to_string())
        };
        assert_eq!(token(&plain, a.origin()).as_deref(), Some("stored"));
        assert_eq!(
            token(&plain, "http://127.0.0.1:8180").as_deref(),
            Some("own")
        );
        assert_eq!(token(&plain, "https://a.example:444"), None);
        let named = choice(&home, Some(access("https://a.example", "given")));
        assert_eq!(token(&named, a.origin()).as_deref(), Some("given"));
        let chosen = chosen_server(&home, Some(a.clone()), None)
            .unwrap()
            .unwrap();
        assert_eq!(chosen.enroll_token.unwrap().as_str(), "stored");
        assert!(chosen_server(&home, None, None).unwrap().is_none());
        plain.store.put(&a, change("stored", true)).unwrap();
        let chosen = chosen_server(&home, None, None).unwrap().unwrap();
        assert_eq!(chosen.server, a);
        let other = Some(url("https://b.example"));
        let chosen = chosen_server(&home, other, None).unwrap().unwrap();
        assert!(chosen.enroll_token.is_none());
    }
}
