//! Fields of a quick-setup call. Pure.

use std::fmt;

use crate::net::Cidr;
use crate::net::authority::authority;
use crate::store::expiry::LONGEST;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::names;
use super::state::CallerInfo;

/// Bytes of a connector's name, and of an application's.
const MAX_NAME: usize = 64;
/// Bytes of a password: too long to guess within the calls that are allowed, and a cap.
const PASSWORD: std::ops::RangeInclusive<usize> = 8..=512;
/// Bytes of an enrolment token. Default 256.
const MAX_TOKEN: usize = crate::limits::ENROLL_TOKEN;
/// Characters of a title. Default 100, as in a manager.
const MAX_DISPLAY: usize = 100;
/// Bytes of a host name (RFC 1035 §2.3.4).
const MAX_HOST: usize = 253;
/// Networks that visitors may come from. Default 100, as in a manager.
const MAX_ALLOWED: usize = crate::limits::NETWORKS;
/// Bytes of a SHA-256 digest.
const DIGEST: usize = 32;
/// Protocols that get a site.
const WEB: [&str; 2] = ["http", "https"];
/// Protocols that get a public port.
const OTHER: [&str; 7] = ["tcp", "ssh", "rdp", "vnc", "telnet", "mysql", "mariadb"];

/// A call's body.
#[derive(Clone)]
pub(super) struct SetupRequest {
    pub(super) protocol: String,
    pub(super) ip: String,
    pub(super) port: u16,
    pub(super) connector_name: String,
    pub(super) password: Zeroizing<String>,
    pub(super) client_app_id: Option<String>,
    pub(super) enroll_token: Option<Zeroizing<String>>,
    pub(super) display_name: String,
    pub(super) site_name: Option<String>,
    /// True if it needs exactly this name.
    pub(super) site_name_required: bool,
    pub(super) invisible: bool,
    /// True if the connector asks visitors for the code itself, so that the relay need not.
    pub(super) checks_code: bool,
    /// SHA-256 of the code that the connector has made; without it the relay makes one.
    pub(super) code_sha256: Option<[u8; DIGEST]>,
    /// Seconds after which the application ends by itself.
    pub(super) expires_in: Option<u64>,
    /// Networks that visitors may come from; empty allows everybody.
    pub(super) allow: Vec<Cidr>,
    /// Number that ends all sign-ins and open streams when it changes.
    pub(super) generation: u64,
    /// Description that the connector gives of itself; the address of the call is added later.
    pub(super) caller: CallerInfo,
}

impl SetupRequest {
    /// Reads a body; else returns every wrong field with its fault. Unknown fields are ignored: connectors of other
    /// makers send more.
    pub(super) fn read(body: &Map<String, Value>) -> Result<Self, String> {
        let mut fields = Fields {
            body,
            wrong: Vec::new(),
        };
        let request = Self {
            protocol: fields.text("protocol", true, protocol),
            ip: fields.text("ip", true, host),
            port: fields.port(),
            connector_name: fields.text("connector_name", true, identifier),
            password: Zeroizing::new(fields.text("password", true, password)),
            client_app_id: some(fields.text("client_app_id", false, identifier)),
            enroll_token: some(fields.text("enroll_token", false, token)).map(Zeroizing::new),
            display_name: fields.text("display_name", false, display),
            site_name: some(fields.text("site_name", false, names::check_form)),
            site_name_required: fields.switch("site_name_required"),
            invisible: fields.switch("invisible"),
            checks_code: fields.switch("checks_code"),
            code_sha256: fields.digest("code_sha256"),
            expires_in: fields.number("expires_in"),
            allow: fields.networks("allow"),
            generation: fields.number("generation").unwrap_or_default(),
            caller: CallerInfo {
                label: fields.text("label", false, display),
                version: fields.text("version", false, display),
                source: String::new(),
            },
        };
        fields.switch("reset");
        if fields.wrong.is_empty() {
            Ok(request)
        } else {
            Err(fields.wrong.join("; "))
        }
    }

    /// Returns the key by which the connector knows the application.
    pub(super) fn key(&self) -> String {
        let address = || format!("{}:{}:{}", self.protocol, self.ip, self.port);
        self.client_app_id.clone().unwrap_or_else(address)
    }

    /// True if it gets a site.
    pub(super) fn is_web(&self) -> bool {
        WEB.contains(&self.protocol.as_str())
    }

    /// True if the relay asks visitors for a code.
    pub(super) fn needs_sign_in(&self) -> bool {
        self.is_web() && self.invisible && !self.checks_code
    }

    /// Returns the names of the fields that the relay enforces.
    pub(super) fn in_force(&self) -> Vec<String> {
        let asked = [
            ("code", self.code_sha256.is_some() && self.needs_sign_in()),
            ("expires_in", self.expires_in.is_some()),
            ("allow", !self.allow.is_empty()),
        ];
        let asked = asked.into_iter().filter(|(_, is_asked)| *is_asked);
        asked.map(|(name, _)| name.to_owned()).collect()
    }

    /// Returns the address of the application.
    pub(super) fn target(&self) -> String {
        authority(&self.ip, self.port)
    }
}

/// Shows no secret.
impl fmt::Debug for SetupRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SetupRequest")
            .field("connector_name", &self.connector_name)
            .field("key", &self.key())
            .finish_non_exhaustive()
    }
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

struct Fields<'a> {
    body: &'a Map<String, Value>,
    wrong: Vec<String>,
}

impl Fields<'_> {
    /// Reads a text; null and missing are empty.
    fn text(
        &mut self,
        name: &str,
        needed: bool,
        check: impl Fn(&str) -> Result<(), &'static str>,
    ) -> String {
        let given = match self.body.get(name) {
            None | Some(Value::Null) => "",
            Some(Value::String(text)) => text,
            Some(_) => return self.refuse(name, "a string"),
        };
        match given {
            "" if needed => self.refuse(name, "required"),
            "" => String::new(),
            text => match check(text) {
                Ok(()) => text.to_owned(),
                Err(reason) => self.refuse(name, reason),
            },
        }
    }

    fn port(&mut self) -> u16 {
        let given = self.body.get("port").and_then(Value::as_u64);
        let port = given.and_then(|port| u16::try_from(port).ok());
        port.filter(|port| *port > 0).unwrap_or_else(|| {
            self.refuse("port", "a number from 1 to 65535");
            0
        })
    }

    /// Reads hexadecimal digits.
    fn digest(&mut self, name: &str) -> Option<[u8; DIGEST]> {
        let text = self.text(name, false, |text| {
            check(unhex(text).is_some(), "64 hexadecimal digits")
        });
        unhex(&text)
    }

    /// Reads a whole number that is no larger than any time or counter.
    fn number(&mut self, name: &str) -> Option<u64> {
        let given = self.body.get(name).filter(|given| !given.is_null())?;
        let number = given.as_u64().filter(|number| *number <= LONGEST.as_secs());
        if number.is_none() {
            self.refuse(name, "a whole number of seconds, at most 100 years");
        }
        number
    }

    fn networks(&mut self, name: &str) -> Vec<Cidr> {
        let given = match self.body.get(name) {
            None | Some(Value::Null) => return Vec::new(),
            Some(given) => given.as_array().filter(|given| given.len() <= MAX_ALLOWED),
        };
        let network = |text: &Value| text.as_str()?.parse().ok();
        let networks = given.and_then(|given| given.iter().map(network).collect());
        networks.unwrap_or_else(|| {
            self.refuse(
                name,
                "at most 100 addresses or networks such as 192.0.2.0/24",
            );
            Vec::new()
        })
    }

    fn switch(&mut self, name: &str) -> bool {
        match self.body.get(name) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(on)) => *on,
            Some(_) => {
                self.refuse(name, "true or false");
                false
            }
        }
    }

    /// Notes the fault of a field. The reason never repeats the value, which may be a secret in the wrong place.
    fn refuse(&mut self, name: &str, reason: &str) -> String {
        self.wrong.push(format!("{name}: {reason}"));
        String::new()
    }
}

fn unhex(text: &str) -> Option<[u8; DIGEST]> {
    let digits = text.as_bytes();
    let mut bytes = [0; DIGEST];
    if digits.len() != 2 * DIGEST || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

fn check(is_fine: bool, otherwise: &'static str) -> Result<(), &'static str> {
    is_fine.then_some(()).ok_or(otherwise)
}

fn protocol(text: &str) -> Result<(), &'static str> {
    check(
        WEB.contains(&text) || OTHER.contains(&text),
        "http, https, tcp, ssh, rdp, vnc, telnet, mysql or mariadb",
    )
}

/// Checks a host name or an address, IPv6 without brackets.
fn host(text: &str) -> Result<(), &'static str> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let is_name = text.len() <= MAX_HOST && text.bytes().all(legal);
    check(
        is_name || text.parse::<std::net::Ipv6Addr>().is_ok(),
        "a host name or an IP address",
    )
}

/// Checks names in paths of the API and on command lines: `..` would be no path there, and a leading hyphen a flag, so
/// that nobody could revoke a connector of such a name.
fn identifier(text: &str) -> Result<(), &'static str> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let is_plain = !text.starts_with(['.', '-']) && text.len() <= MAX_NAME;
    check(
        is_plain && text.bytes().all(legal),
        "at most 64 letters, digits, hyphens, dots or underscores, not starting with a hyphen or dot",
    )
}

fn password(text: &str) -> Result<(), &'static str> {
    check(
        PASSWORD.contains(&text.len()) && !text.chars().any(char::is_control),
        "8 to 512 bytes without control characters",
    )
}

fn token(text: &str) -> Result<(), &'static str> {
    check(
        text.len() <= MAX_TOKEN && !text.chars().any(char::is_control),
        "at most 256 bytes without control characters",
    )
}

fn display(text: &str) -> Result<(), &'static str> {
    check(
        text.chars().count() <= MAX_DISPLAY && !text.chars().any(char::is_control),
        "at most 100 characters without control characters",
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    /// A call that is in order.
    pub(in crate::relay) fn call() -> Value {
        json!({"protocol": "http", "ip": "127.0.0.1", "port": 3000,
            "connector_name": "postern_0123456789ab", "password": "p".repeat(43),
            "client_app_id": "00ff", "display_name": "My Shop", "site_name": "",
            "invisible": false, "visable": "", "reset": true, "of_another_maker": [1]})
    }

    /// Reads the call with these changes.
    pub(in crate::relay) fn with(changes: Value) -> Result<SetupRequest, String> {
        let mut call = call();
        let body = call.as_object_mut().unwrap();
        body.extend(changes.as_object().unwrap().clone());
        SetupRequest::read(body)
    }

    #[test]
    fn a_whole_call_and_the_least_one_are_read() {
        let request = with(json!({})).unwrap();
        assert_eq!((request.key().as_str(), request.is_web()), ("00ff", true));
        let least = json!({"protocol": "ssh", "ip": "::1", "port": 22, "connector_name": "c",
            "password": "12345678", "site_name": null});
        let least = SetupRequest::read(least.as_object().unwrap()).unwrap();
        assert_eq!(
            (least.key().as_str(), least.is_web()),
            ("ssh:::1:22", false)
        );
        assert_eq!(least.target(), "[::1]:22");
        assert!(!format!("{least:?}").contains("12345678"));
        assert!(!format!("{request:?}").contains("ppp"));
    }

    #[test]
    fn every_wrong_field_is_named_at_once_and_no_value_is_repeated() {
        let secret = "hush\u{1}hushhush";
        let wrong = with(
            json!({"protocol": "ftp", "ip": "a b", "port": 0, "connector_name": "a/b",
            "password": secret, "client_app_id": "é", "enroll_token": secret,
            "display_name": "a\nb", "site_name": "WWW", "invisible": "", "reset": 1}),
        )
        .unwrap_err();
        let fields: Vec<&str> = wrong
            .split("; ")
            .map(|part| part.split(':').next().unwrap())
            .collect();
        assert_eq!(
            fields,
            [
                "protocol",
                "ip",
                "port",
                "connector_name",
                "password",
                "client_app_id",
                "enroll_token",
                "display_name",
                "site_name",
                "invisible",
                "reset"
            ]
        );
        assert!(!wrong.contains("hush"));
    }

    #[test]
    fn lengths_and_types_are_bounded() {
        for changes in [
            json!({"port": 65536}),
            json!({"port": "80"}),
            json!({"port": 1.5}),
            json!({"port": -1}),
            json!({"port": null}),
            json!({"ip": "a".repeat(254)}),
            json!({"ip": ["x"]}),
            json!({"ip": "[::1]"}),
            json!({"connector_name": "a".repeat(65)}),
            json!({"connector_name": ""}),
            json!({"connector_name": ".."}),
            json!({"connector_name": "-h"}),
            json!({"client_app_id": "."}),
            json!({"password": "1234567"}),
            json!({"password": "p".repeat(513)}),
            json!({"client_app_id": "a".repeat(65)}),
            json!({"display_name": "ä".repeat(101)}),
            json!({"site_name": "www"}),
            json!({"code_sha256": "0".repeat(63)}),
            json!({"code_sha256": "é".repeat(32)}),
            json!({"code_sha256": 1}),
            json!({"expires_in": -1}),
            json!({"expires_in": 1.5}),
            json!({"expires_in": LONGEST.as_secs() + 1}),
            json!({"allow": "127.0.0.1"}),
            json!({"allow": ["127.0.0.1/33"]}),
            json!({"allow": vec!["::1"; MAX_ALLOWED + 1]}),
            json!({"generation": "1"}),
            json!({"protocol": "HTTP"}),
        ] {
            assert!(with(changes.clone()).is_err(), "{changes}");
        }
        let fine = with(
            json!({"code_sha256": "0F".repeat(32), "expires_in": 0, "generation": 7,
            "allow": ["10.0.0.0/8", "::1"]}),
        );
        let fine = fine.unwrap();
        assert_eq!(fine.code_sha256, Some([15; 32]));
        assert_eq!((fine.expires_in, fine.generation), (Some(0), 7));
        assert_eq!(fine.allow.len(), 2);
        assert!(with(json!({"display_name": "ä".repeat(100), "ip": "a".repeat(253)})).is_ok());
    }
}
