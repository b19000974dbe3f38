//! The fields of a body, one by one.

use crate::net::authority::{MAX_HOST, authority, is_host, split};

use serde_json::{Map, Value};

use super::app::AppConfig;
use super::protocol::Protocol;
use super::reader::{Invalid, Reader, Secret};
use super::sharing::{Sharing, SharingInput};
use super::sharing_fields::SHARING_FIELDS;
use crate::manager::server_url::ServerUrl;
use crate::relay::names;

/// Characters of a name: it stands on a card.
const NAME_CAP: usize = crate::limits::APP_NAME;
/// Characters of a user's or database's name: the longest that a server takes.
const TEXT_CAP: usize = 255;
/// Characters of a URL.
const URL_CAP: usize = crate::limits::APP_URL;
/// Where an application is that names no address.
const HERE: &str = "127.0.0.1";

/// Fields that only the server writes; a client may send back what it was shown.
const SERVERS_OWN: [&str; 10] = [
    "id",
    "has_auth_pass",
    "has_db_pass",
    "created_at",
    "updated_at",
    "last_connected_at",
    "temporary",
    "conn_status",
    "health",
    "connection",
];
const FIELDS: [&str; 16] = [
    "name",
    "protocol",
    "ip",
    "port",
    "server",
    "tunnel_port",
    "invisible",
    "site_name",
    "display_name",
    "username",
    "auth_pass",
    "db_user",
    "db_pass",
    "db_name",
    "db_readonly",
    "autoconnect",
];

/// Fields of one body.
pub(super) struct Fields {
    /// Without its secrets and without how it is shared.
    pub(super) app: AppConfig,
    pub(super) sharing: SharingInput,
    pub(super) auth_pass: Secret,
    pub(super) db_pass: Secret,
}

/// Reads the fields; `insecure` lets a remote server be reached without TLS.
pub(super) fn read(fields: &Map<String, Value>, insecure: bool) -> Result<Fields, Invalid> {
    let mut reader = Reader::new(fields);
    reader.refuse_unknown();
    let read = reader.all(insecure);
    reader.outcome(read)
}

impl Reader<'_> {
    fn all(&mut self, insecure: bool) -> Option<Fields> {
        let protocol = self.protocol();
        let ip = self.host();
        let port = self.port("port");
        let is_database = protocol.is_some_and(Protocol::is_database);
        let invisible = self.flag("invisible", is_database);
        let app = AppConfig {
            id: String::new(),
            name: self.text("name", NAME_CAP).unwrap_or_default(),
            protocol: protocol.unwrap_or(Protocol::Tcp),
            ip,
            port: self.port_or_default(protocol, port),
            server: self.server(insecure),
            used_server: None,
            tunnel_port: self.port("tunnel_port"),
            invisible: self.invisible(protocol, invisible),
            site_name: self.site_name(),
            display_name: self.text("display_name", NAME_CAP),
            username: self.text("username", TEXT_CAP),
            auth_pass: None,
            db_user: self.text("db_user", TEXT_CAP),
            db_pass: None,
            db_name: self.text("db_name", TEXT_CAP),
            db_readonly: self.flag("db_readonly", true),
            autoconnect: self.flag("autoconnect", false),
            sharing: Sharing::default(),
            code: None,
            lapsed: None,
            site_words: None,
            signed_out: 0,
            created_at: String::new(),
            updated_at: String::new(),
            last_connected_at: None,
            temporary: false,
            site_name_required: false,
        };
        let sharing = self.sharing();
        let (auth_pass, db_pass) = (self.secret("auth_pass"), self.secret("db_pass"));
        protocol.map(|_| Fields {
            app: named(app),
            sharing,
            auth_pass,
            db_pass,
        })
    }

    fn refuse_unknown(&mut self) {
        let known = |name: &str| {
            let lists: [&[&str]; 3] = [&FIELDS, &SHARING_FIELDS, &SERVERS_OWN];
            lists.iter().any(|names| names.contains(&name))
        };
        let unknown: Vec<String> = self
            .fields
            .keys()
            .filter(|name| !known(name))
            .cloned()
            .collect();
        for name in unknown {
            let name: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
            self.wrong(&name, "is not a known field");
        }
    }

    fn protocol(&mut self) -> Option<Protocol> {
        let found = match self.value("protocol") {
            Some(value) => value.as_str().and_then(Protocol::named),
            None => None,
        };
        if found.is_none() {
            let known: Vec<&str> = Protocol::ALL.into_iter().map(Protocol::name).collect();
            self.wrong("protocol", format!("must be one of {}", known.join(", ")));
        }
        found
    }

    fn port_or_default(&mut self, protocol: Option<Protocol>, port: Option<u16>) -> u16 {
        let port = port.or_else(|| protocol?.default_port());
        if port.is_none() && protocol.is_some() && self.value("port").is_none() {
            self.wrong("port", "is required for tcp");
        }
        port.unwrap_or_default()
    }

    fn host(&mut self) -> String {
        let host = self.text("ip", MAX_HOST).unwrap_or_else(|| HERE.to_owned());
        let bare = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        let host = bare.unwrap_or(&host).to_owned();
        if !is_host(&host) {
            self.wrong("ip", "must be an IP address or a host name");
        }
        host
    }

    fn server(&mut self, insecure: bool) -> Option<String> {
        let text = self.text("server", URL_CAP)?;
        match ServerUrl::parse(&text, insecure) {
            Ok(server) => Some(server.to_string()),
            Err(why) => {
                self.wrong("server", format!("cannot be used: {why}"));
                None
            }
        }
    }

    fn invisible(&mut self, protocol: Option<Protocol>, wanted: bool) -> bool {
        if wanted && protocol.is_some_and(|protocol| !protocol.is_visited_by_http()) {
            self.wrong(
                "invisible",
                "needs http, https, mysql or mariadb to ask for a code",
            );
        }
        wanted
    }

    fn site_name(&mut self) -> Option<String> {
        let name = self.text("site_name", TEXT_CAP)?;
        if names::is_reserved(&name) {
            let why = "is reserved, like www, admin, mail and others: choose another";
            self.wrong("site_name", why);
        } else if names::check_form(&name).is_err() {
            self.wrong(
                "site_name",
                "must be 2 to 63 of a-z, 0-9 and -, without - at either end and without --",
            );
        }
        Some(name)
    }
}

fn named(mut app: AppConfig) -> AppConfig {
    if app.name.is_empty() {
        app.name = default_name(&app, 1);
    }
    app
}

/// Returns the default name of an application: its address, with a number if several share it.
pub(super) fn default_name(app: &AppConfig, number: usize) -> String {
    let name = format!("{} {}", app.protocol.name(), authority(&app.ip, app.port));
    let suffix = match number {
        1 => String::new(),
        number => format!(" ({number})"),
    };
    let room = NAME_CAP - suffix.len();
    name.chars().take(room).collect::<String>() + &suffix
}

/// True if its name is an address, its own or a former one.
pub(super) fn is_default_name(called: &str) -> bool {
    let Some((protocol, rest)) = called.split_once(' ') else {
        return false;
    };
    let address = rest.split_once(" (").map_or(rest, |(address, _)| address);
    Protocol::named(protocol).is_some() && split(address).is_some_and(|(_, port)| port.is_some())
}
