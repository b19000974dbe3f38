//! Which remote server an application is connected through, and with which enrolment token.
//!
//! | the application | is connected through |
//! |---|---|
//! | names a server | that |
//! | names none, and `start` was given `--server` | that of the command line |
//! | was connected through a server of the user's list before | that one: it stays until the user moves it |
//! | else | the default of the list, and where there is none the relay on this machine |
//!
//! The relay on this machine only stands in: nothing stays with it once there is a default.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::apps::app::AppConfig;
use super::server_store::{ServerList, ServerStore};
use super::server_url::ServerUrl;
use crate::store::{self, DataDir};
use crate::sync::Mutex;

/// A server, and what lets this connector enrol there.
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
    /// The relay; none where none could be started.
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

/// Where a command that shares by itself goes: `named` as it was given, else the user's default; none where the relay
/// on this machine is to be used. Without a token that was given, the one that is kept for that server is taken.
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
    /// `named` and `enroll_token` are the command line's: the token is for that server, or for the default of now.
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

    /// With what is known now.
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

    /// Another relay serves them from now on.
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

    fn url(text: &str) -> ServerUrl {
        ServerUrl::parse(text, false).unwrap()
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
