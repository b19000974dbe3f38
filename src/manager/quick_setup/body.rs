//! Request to a server.

use std::fmt;

use serde::Serialize;
use zeroize::Zeroizing;

use crate::store::to_json;

/// The JSON body of a quick-setup call.
#[derive(Clone, Default, Serialize)]
pub struct Body<'a> {
    /// The application's protocol; `http` for the web client of a database.
    pub protocol: &'a str,
    /// The address of what is to be exposed.
    pub ip: &'a str,
    /// Its port.
    pub port: u16,
    /// Name of the connector.
    pub connector_name: &'a str,
    /// The connector's password.
    pub password: &'a str,
    /// The application's id, by which a relay knows it again.
    pub client_app_id: &'a str,
    /// Token that allows a new connector to enrol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enroll_token: Option<&'a str>,
    /// Display name of the application; may be empty.
    pub display_name: &'a str,
    /// The wanted name of the site; empty leaves it to the server.
    pub site_name: &'a str,
    /// True if no other name will do.
    #[serde(skip_serializing_if = "is_false")]
    pub site_name_required: bool,
    /// True if visitors need a code.
    pub invisible: bool,
    /// True if the application asks visitors for the code itself; a relay then need not ask too.
    #[serde(skip_serializing_if = "is_false")]
    pub checks_code: bool,
    /// The SHA-256, in hexadecimal digits, of the code that was made here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_sha256: Option<String>,
    /// Seconds after which the application ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_in: Option<u64>,
    /// The networks that visitors may come from; empty lets everybody in.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    pub allow: &'a [String],
    /// The Host that the application gets, where it is not the visitor's: this end sees to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_header: Option<&'a str>,
    /// Another number than before ends all sign-ins and open streams.
    #[serde(skip_serializing_if = "is_zero")]
    pub generation: u64,
    /// The name of this machine, by which who runs the server knows it again; may be empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub label: &'a str,
    /// The version of this program.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub version: &'a str,
    /// Always empty: some servers read a field of this spelling.
    pub visable: &'a str,
    /// True if the server may take these credentials as new.
    pub reset: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Body<'_> {
    /// The bytes to send.
    pub fn to_json(&self) -> Zeroizing<Vec<u8>> {
        to_json(self).expect("strings, numbers and booleans have a JSON form")
    }
}

impl fmt::Debug for Body<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            protocol,
            ip,
            port,
            connector_name,
            ..
        } = self;
        write!(f, "Body({protocol} {ip} {port} for {connector_name})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_the_contract() {
        let body = Body {
            protocol: "http",
            ip: "127.0.0.1",
            port: 80,
            connector_name: "postern_0",
            password: "hush",
            client_app_id: "00ff",
            enroll_token: None,
            display_name: "",
            site_name: "shop",
            invisible: true,
            checks_code: false,
            visable: "",
            reset: false,
            ..Body::default()
        };
        let expected = "{\"protocol\":\"http\",\"ip\":\"127.0.0.1\",\"port\":80,\
            \"connector_name\":\"postern_0\",\"password\":\"hush\",\"client_app_id\":\"00ff\",\
            \"display_name\":\"\",\"site_name\":\"shop\",\"invisible\":true,\"visable\":\"\",\
            \"reset\":false}";
        assert_eq!(String::from_utf8_lossy(&body.to_json()), expected);
        let allow = ["::1".to_owned()];
        let with_token = Body {
            enroll_token: Some("t"),
            code_sha256: Some("00ff".into()),
            expires_in: Some(9),
            allow: &allow,
            host_header: Some("target"),
            generation: 2,
            ..body
        };
        let terms = "\"code_sha256\":\"00ff\",\"expires_in\":9,\"allow\":[\"::1\"],\
            \"host_header\":\"target\",\"generation\":2";
        assert!(String::from_utf8_lossy(&with_token.to_json()).contains(terms));
        assert!(String::from_utf8_lossy(&with_token.to_json()).contains("\"enroll_token\":\"t\""));
        assert!(!format!("{with_token:?}").contains("hush"));
    }
}
