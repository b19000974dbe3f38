//! Answer of a server, checked before use.

use crate::net::authority::{self, is_host};
use crate::net::percent;
use std::fmt;
use std::net::IpAddr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::manager::ServerUrl;
use crate::net::AddressClass;
use crate::store::from_json;
use crate::tunnel::fleet_keys::FleetKeys;
use crate::tunnel::ws::Endpoint;

/// Bytes of a URL or a server's address.
const MAX_URL: usize = 2048;
/// Bytes of a host name (RFC 1035 §2.3.4).
const MAX_HOST: usize = 253;
/// Bytes of a name, an id or a fingerprint.
const MAX_NAME: usize = 255;
/// Other relays that are read of an answer. Default 8: one of them is used.
const MAX_ALTERNATES: usize = 8;
/// Bytes of a password or a code.
const MAX_SECRET: usize = 1024;
/// Name of the only port that may be 0.
const TUNNEL_PORT: &str = "connector.tunnel_port";
const NO_PORT: &str = "it is not a port from 1 to 65535";

/// Assignment by a server.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Setup {
    /// The connector's tunnel.
    #[serde(alias = "Connector")]
    pub connector: Connector,
    /// The application.
    #[serde(alias = "App")]
    pub app: App,
    /// Code for visitors of an invisible application.
    #[serde(default, alias = "APIKey", deserialize_with = "key_or_none")]
    pub api_key: ApiKey,
    /// Class of the address at which the server was reached; behind a proxy a name counts as public.
    #[serde(skip, default = "public")]
    pub server_class: AddressClass,
}

/// Address and credentials for the connector's tunnels.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct Connector {
    /// A host name or an IP address; no brackets.
    #[serde(alias = "ExternalIP")]
    pub external_ip: String,
    /// The remote port of the main tunnel.
    #[serde(alias = "APIPort", deserialize_with = "port_or_none")]
    pub api_port: u16,
    /// The user name of tunnel connections.
    #[serde(alias = "Username")]
    pub username: String,
    /// Password of tunnel connections. Wiped when it is dropped, whether or not the rest of the answer is valid.
    #[serde(alias = "Password")]
    pub password: Zeroizing<String>,
    /// The tunnel server's port, where the server names it; 0 if `tunnel_url` is the only way.
    #[serde(default, alias = "TunnelPort", deserialize_with = "tunnel_port")]
    pub tunnel_port: Option<u16>,
    /// The tunnel server at the server's own host, for networks that let out nothing but web traffic.
    #[serde(default, alias = "TunnelURL", deserialize_with = "tunnel_url")]
    pub tunnel_url: Option<Endpoint>,
    /// The fingerprint of the tunnel server's host key, where the server names it.
    #[serde(default, alias = "Fingerprint")]
    pub fingerprint: Option<String>,
    /// Other relays of the same fleet that may be dialled, the best first; none from a server that is of no fleet.
    #[serde(default, deserialize_with = "alternates")]
    pub alternates: Option<Vec<Alternate>>,
    /// Signed keys of these relays and of the first; none from a relay of an earlier version.
    #[serde(default, deserialize_with = "fleet")]
    pub(crate) fleet: Option<FleetKeys>,
}

/// Another tunnel server of the same state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Alternate {
    /// A host name or an IP address; no brackets.
    pub external_ip: String,
    /// Port; 0 if `tunnel_url` is the only way.
    pub tunnel_port: u16,
    /// Like [`Connector::tunnel_url`].
    #[serde(default, deserialize_with = "tunnel_url")]
    pub tunnel_url: Option<Endpoint>,
    /// The fingerprint of its host key.
    pub fingerprint: String,
}

/// Addresses of the application.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct App {
    /// Server's ID of the application; may be empty.
    #[serde(default, alias = "AppID")]
    pub app_id: String,
    /// An `http`, `https` or `tcp` URL; empty where the server gives none.
    #[serde(default, alias = "SiteURL")]
    pub site_url: String,
    /// Address that the application's tunnel binds.
    #[serde(alias = "Resource")]
    pub resource: Resource,
    /// Fields of the call that the server enforces; none from a server that is not one of our relays.
    #[serde(default)]
    pub in_force: Option<Vec<String>>,
    /// True if the site has another name than the wished one because somebody else has that; none from an older relay.
    #[serde(default)]
    pub site_name_taken: Option<bool>,
}

/// The remote end of an application's tunnel.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Resource {
    /// An address of the server, as the server sees it; may be empty.
    #[serde(default, alias = "IP")]
    pub ip: String,
    /// The port to bind there.
    #[serde(alias = "Port", deserialize_with = "port_or_none")]
    pub port: u16,
}

/// Code for visitors of an invisible application; all empty without one.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ApiKey {
    /// Server of the sign-in link: a host, or an `http` or `https` URL.
    #[serde(alias = "NHPServer")]
    pub nhp_server: String,
    /// The authorization code. Wiped as [`Connector::password`] is.
    #[serde(alias = "Code")]
    pub code: Zeroizing<String>,
    /// The application's id there.
    #[serde(alias = "AppID")]
    pub app_id: String,
}

impl Setup {
    /// `{nhp_server}/auth?app_id={app_id}&code={code}` with the server's own code; `None` where it gave none.
    pub fn auth_url(&self) -> Option<String> {
        let (server, code) = (&self.api_key.nhp_server, &self.api_key.code);
        if server.is_empty() || code.is_empty() {
            return None;
        }
        let (server, code) = (web_base(server)?, percent::encode(code));
        let app_id = percent::encode(self.app_id());
        Some(format!("{server}/auth?app_id={app_id}&code={code}"))
    }

    /// Sign-in link if this end asks for the code: below the site's own address.
    pub fn own_auth_url(&self, code: &str) -> Option<String> {
        let site = web_base(&self.app.site_url).filter(|_| !self.app.site_url.is_empty())?;
        let (app_id, code) = (percent::encode(self.app_id()), percent::encode(code));
        Some(format!("{site}/.postern/auth?app_id={app_id}&code={code}"))
    }

    /// Id of the application in sign-in links.
    pub fn app_id(&self) -> &str {
        match self.api_key.app_id.as_str() {
            "" => &self.app.app_id,
            given => given,
        }
    }

    /// True if one of our relays has answered: it lists what it enforces.
    pub fn is_of_relay(&self) -> bool {
        self.app.in_force.is_some()
    }

    /// True if the server enforces this field of the call.
    pub fn has_in_force(&self, field: &str) -> bool {
        let in_force = self.app.in_force.as_deref().unwrap_or_default();
        in_force.iter().any(|in_force| in_force == field)
    }
}

impl Connector {
    /// Refuses a tunnel server that is further inside the network than the server that names it, unless there is a
    /// tunnel URL. A name is judged when it is resolved, except names of this machine.
    pub(super) fn judged_by(
        mut self,
        server: &ServerUrl,
        class: AddressClass,
    ) -> Result<Self, Refusal> {
        self.tunnel_url = self.tunnel_url.filter(|url| is_of(server, url));
        if self.tunnel_url.is_none() {
            self.tunnel_port = self.tunnel_port.filter(|port| *port != 0);
        }
        for other in self.alternates.iter_mut().flatten() {
            other.tunnel_url = other.tunnel_url.take().filter(|url| is_of(server, url));
            if !permits(class, &other.external_ip) {
                let ip = &other.external_ip;
                log::debug!("{ip} is not a valid tunnel address for a {class} server");
                other.tunnel_port = 0;
            }
        }
        if let Some(others) = &mut self.alternates {
            others.retain(|other| other.tunnel_port != 0 || other.tunnel_url.is_some());
        }
        if permits(class, &self.external_ip) {
            return Ok(self);
        }
        let wrong = format!(
            "{} is not a valid tunnel address for a server at a {class} address",
            self.external_ip
        );
        if self.tunnel_url.is_none() {
            return Err(Refusal::Address(wrong));
        }
        log::debug!("connector.external_ip: {wrong}: its tunnel_url is used");
        self.tunnel_port = Some(0);
        Ok(self)
    }
}

/// True if the URL is at the server's own host, and as private.
fn is_of(server: &ServerUrl, url: &Endpoint) -> bool {
    let bare = |host: &str| host.trim_end_matches('.').to_ascii_lowercase();
    let is_its_own =
        bare(&url.host) == bare(server.host()) || (url.is_loopback() && server.is_loopback());
    let is_of = is_its_own && (url.secure || !server.endpoint().secure);
    if !is_of {
        log::warn!(
            "the relay names {url} for tunnels: ignored, as it is not a wss URL of {}",
            server.host()
        );
    }
    is_of
}

fn permits(server: AddressClass, external_ip: &str) -> bool {
    match external_ip.parse::<IpAddr>() {
        Ok(address) => server.permits(address),
        Err(_) => {
            let endpoint = Endpoint::parse(&format!("ws://{external_ip}"));
            server == AddressClass::Loopback
                || !endpoint.is_ok_and(|endpoint| endpoint.is_loopback())
        }
    }
}

/// Shows no secret.
impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connector({} at {})", self.username, self.external_ip)
    }
}

/// Shows no secret.
impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({} of {})", self.app_id, self.nhp_server)
    }
}

#[cfg(test)]
impl Setup {
    /// Reads an answer as from a server with a public address.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        read(body).ok()
    }
}

/// Reason that an answer is invalid.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// Not a JSON object.
    NotJson,
    /// An envelope with another code than 0 or 200, and its message.
    Code(String, String),
    /// A part that is missing or has the wrong type. No values: they may be secrets.
    Shape(String),
    /// Reason that the tunnel server's address is refused.
    Address(String),
    /// Name of an invalid value, and what is wrong with it.
    Value(&'static str, &'static str),
}

/// Reads an answer of a server that was reached at an address of this class.
pub(super) fn read_from(
    server: &ServerUrl,
    server_class: AddressClass,
    body: &[u8],
) -> Result<Setup, Refusal> {
    let setup = read(body)?;
    Ok(Setup {
        connector: setup.connector.judged_by(server, server_class)?,
        server_class,
        ..setup
    })
}

/// Reads an answer, bare or in an envelope.
pub(super) fn read(body: &[u8]) -> Result<Setup, Refusal> {
    let envelope: Envelope = serde_json::from_slice(body).map_err(|_| Refusal::NotJson)?;
    if let Some(code) = envelope.failure() {
        return Err(Refusal::Code(code, envelope.message()));
    }
    let setup: Setup = match serde_json::from_slice::<Wrapped>(body) {
        Ok(Wrapped { data: Some(setup) }) => setup,
        Ok(Wrapped { data: None }) => serde_json::from_slice(body).map_err(shape)?,
        Err(error) => return Err(shape(error)),
    };
    let connector = setup.connector.checked()?;
    setup.app.check()?;
    setup.api_key.check()?;
    Ok(Setup { connector, ..setup })
}

/// The `message` of a JSON answer, for the one that comes with an error status.
pub(super) fn message(body: &[u8]) -> Option<String> {
    let envelope: Envelope = serde_json::from_slice(body).ok()?;
    Some(envelope.message()).filter(|message| !message.is_empty())
}

/// Error without Serde's own text, which quotes values: one may be a password in the wrong place.
fn shape(error: serde_json::Error) -> Refusal {
    let text = error.to_string();
    if text.starts_with(TUNNEL_PORT) {
        return Refusal::Value(TUNNEL_PORT, NO_PORT);
    }
    let field = text
        .strip_prefix("missing field `")
        .and_then(|rest| rest.split('`').next());
    Refusal::Shape(match field {
        Some(field) => format!("'{field}' is missing"),
        None => format!(
            "a value of the wrong type in line {}, column {}",
            error.line(),
            error.column()
        ),
    })
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default, alias = "Code")]
    code: Value,
    #[serde(default, alias = "Message")]
    message: Value,
    #[serde(default)]
    msg: Value,
    #[serde(default)]
    error: Value,
    /// RFC 9457 section 3.1.4.
    #[serde(default)]
    detail: Value,
}

impl Envelope {
    /// Code of a failure.
    fn failure(&self) -> Option<String> {
        match &self.code {
            Value::Null => None,
            Value::Number(code) if matches!(code.as_i64(), Some(0 | 200)) => None,
            Value::String(code) if matches!(code.as_str(), "" | "0" | "200") => None,
            Value::String(code) => Some(code.clone()),
            other => Some(other.to_string()),
        }
    }

    fn message(&self) -> String {
        let said = [&self.message, &self.msg, &self.error, &self.detail];
        let mut said = said.into_iter().filter_map(Value::as_str);
        said.find(|text| !text.is_empty())
            .unwrap_or_default()
            .to_owned()
    }
}

#[derive(Deserialize)]
struct Wrapped {
    #[serde(default, alias = "Data")]
    data: Option<Setup>,
}

impl Connector {
    fn checked(mut self) -> Result<Self, Refusal> {
        // A server that leaves the tunnel's port open may say 0; with a URL it has none.
        let (port_given, url) = (self.tunnel_port, &self.tunnel_url);
        self.tunnel_port = port_given.filter(|port| *port != 0 || url.is_some());
        self.fingerprint = self.fingerprint.filter(|text| !text.is_empty());
        if let Some(fingerprint) = &self.fingerprint {
            check("connector.fingerprint", fingerprint, MAX_NAME)?;
        }
        given("connector.username", &self.username, MAX_NAME)?;
        given("connector.password", &self.password, MAX_SECRET)?;
        self.external_ip = host("connector.external_ip", self.external_ip)?;
        port("connector.api_port", self.api_port)?;
        if let Some(others) = &mut self.alternates {
            others.retain(|other| {
                other.external_ip != self.external_ip
                    || self.tunnel_port != Some(other.tunnel_port)
                    || (other.tunnel_port == 0 && other.tunnel_url != self.tunnel_url)
            });
        }
        Ok(self)
    }
}

/// Reads another relay; none if it is invalid.
fn alternate(offered: &Value) -> Option<Alternate> {
    let read = || {
        let read: Alternate = from_json(offered).map_err(shape)?;
        given("alternates.fingerprint", &read.fingerprint, MAX_NAME)?;
        Ok(Alternate {
            external_ip: host("alternates.external_ip", read.external_ip)?,
            ..read
        })
    };
    let read: Result<_, Refusal> = read();
    read.inspect_err(|error| log::debug!("another relay of the server is skipped: {error:?}"))
        .ok()
}

impl App {
    fn check(&self) -> Result<(), Refusal> {
        check("app.app_id", &self.app_id, MAX_NAME)?;
        check("app.resource.ip", &self.resource.ip, MAX_HOST)?;
        if !self.site_url.is_empty() {
            site("app.site_url", &self.site_url)?;
        }
        port("app.resource.port", self.resource.port)
    }
}

impl ApiKey {
    fn check(&self) -> Result<(), Refusal> {
        check("api_key.app_id", &self.app_id, MAX_NAME)?;
        check("api_key.code", &self.code, MAX_SECRET)?;
        check("api_key.nhp_server", &self.nhp_server, MAX_URL)?;
        if !self.nhp_server.is_empty() && web_base(&self.nhp_server).is_none() {
            let wrong = "it is not an http or https address";
            return Err(Refusal::Value("api_key.nhp_server", wrong));
        }
        Ok(())
    }
}

/// Reads the URL for tunnels; none if it is invalid.
fn tunnel_url<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Endpoint>, D::Error> {
    let offered = Value::deserialize(from)?;
    let Some(url) = offered.as_str().filter(|url| !url.is_empty()) else {
        return Ok(None);
    };
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    let read = match check("tunnel_url", url, MAX_URL) {
        Ok(()) if is_one_of(scheme, &["ws", "wss"]) => Endpoint::parse(url),
        Ok(()) => Err("it is not a ws or wss URL".to_owned()),
        Err(_) => Err("it is too long or has control characters".to_owned()),
    };
    let read = read.inspect_err(|error| log::warn!("the relay's tunnel_url is ignored: {error}"));
    Ok(read.ok())
}

/// A port, or 0 for a number that is none.
fn port_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<u16, D::Error> {
    Ok(u16::try_from(i64::deserialize(from)?).unwrap_or_default())
}

fn tunnel_port<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u16>, D::Error> {
    let number = Option::<i64>::deserialize(from)?;
    let number = number.map(u16::try_from).transpose();
    number.map_err(|_| D::Error::custom(TUNNEL_PORT))
}

/// Reads the other relays that are valid.
fn alternates<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Alternate>>, D::Error> {
    let offered = Value::deserialize(from)?;
    let read = |all: &Vec<Value>| {
        all.iter()
            .take(MAX_ALTERNATES)
            .filter_map(alternate)
            .collect()
    };
    Ok(offered.as_array().map(read))
}

/// Reads the fleet's keys; none if they are invalid.
fn fleet<'de, D: Deserializer<'de>>(from: D) -> Result<Option<FleetKeys>, D::Error> {
    Ok(from_json(&Value::deserialize(from)?).ok())
}

fn key_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<ApiKey, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

fn public() -> AddressClass {
    AddressClass::Public
}

fn port(name: &'static str, number: u16) -> Result<(), Refusal> {
    match number {
        0 => Err(Refusal::Value(name, NO_PORT)),
        _ => Ok(()),
    }
}

fn check(name: &'static str, text: &str, cap: usize) -> Result<(), Refusal> {
    if text.len() > cap {
        return Err(Refusal::Value(name, "it is too long"));
    }
    if text.chars().any(char::is_control) {
        Err(Refusal::Value(name, "it contains control characters"))
    } else {
        Ok(())
    }
}

fn given(name: &'static str, text: &str, cap: usize) -> Result<(), Refusal> {
    if text.is_empty() {
        return Err(Refusal::Value(name, "it is empty"));
    }
    check(name, text, cap)
}

/// A host name, or an address with or without brackets.
fn host(name: &'static str, text: String) -> Result<String, Refusal> {
    let inner = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let bare = inner.unwrap_or(&text);
    let url = match bare.parse::<IpAddr>() {
        Ok(IpAddr::V6(_)) => format!("ws://[{bare}]"),
        _ => format!("ws://{bare}"),
    };
    match Endpoint::parse(&url) {
        Ok(endpoint) if endpoint.host == bare => Ok(bare.to_owned()),
        _ => Err(Refusal::Value(name, "it is not a host name or address")),
    }
}

/// A URL that may become a link: `http`, `https` or `tcp`, a host, no credentials.
fn site(name: &'static str, url: &str) -> Result<(), Refusal> {
    check(name, url, MAX_URL)?;
    match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("tcp") && is_place(rest) => Ok(()),
        Some((scheme, rest)) if is_one_of(scheme, &["http", "https"]) && has_host(rest) => Ok(()),
        _ => Err(Refusal::Value(name, "it is not an http, https or tcp URL")),
    }
}

/// `https://` before a bare host; no slash at the end, no query. `None` for another scheme.
fn web_base(server: &str) -> Option<String> {
    let (scheme, rest) = server.split_once("://").unwrap_or(("https", server));
    let rest = rest.trim_end_matches('/');
    let taken =
        is_one_of(scheme, &["http", "https"]) && has_host(rest) && !rest.contains(['?', '#']);
    taken.then(|| format!("{}://{rest}", scheme.to_ascii_lowercase()))
}

fn is_one_of(scheme: &str, known: &[&str]) -> bool {
    known.iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// True if it is `host:port` and nothing else: people put both into a command.
fn is_place(rest: &str) -> bool {
    let place = rest.strip_suffix('/').unwrap_or(rest);
    authority::split(place).is_some_and(|(host, port)| {
        is_host(host) && port.is_some_and(|port| authority::port(port).is_some())
    })
}

/// True if the text after `://` begins with a host, has no credentials and only what RFC 3986 allows.
fn has_host(rest: &str) -> bool {
    let legal = |b: u8| b.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&b);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    rest.bytes().all(legal)
        && !authority.contains('@')
        && Endpoint::parse(&format!("ws://{authority}")).is_ok()
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
