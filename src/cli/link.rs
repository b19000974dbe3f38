//! The address of what is shared, as the one who is sent it needs it.

use serde_json::Value;

use super::failure::Failure;
use super::manager_client::text;
use super::qr;
use crate::net::authority::{self, is_host};

/// What a visitor opens or types: with the code where there is one.
pub(super) fn of(result: &Value) -> String {
    let (site, auth) = (text(result, "/site_url"), text(result, "/auth_url"));
    let protocol = text(result, "/exposed/protocol");
    let link = if auth.is_empty() {
        shown(site, protocol)
    } else {
        auth.to_owned()
    };
    link.escape_default().to_string()
}

/// Of what no browser opens, the command or the bare address.
fn shown(site: &str, protocol: &str) -> String {
    let Some((_, place)) = site
        .split_once("://")
        .filter(|(scheme, _)| !scheme.starts_with("http"))
    else {
        return site.to_owned();
    };
    let place = place.trim_end_matches('/');
    // A command is made of nothing but a host and a port: somebody puts it into a shell.
    let parts = authority::split(place).filter(|(host, port)| {
        is_host(host) && port.is_some_and(|port| authority::port(port).is_some())
    });
    match (protocol, parts) {
        ("ssh", Some((host, Some(port)))) => format!("ssh -p {port} {host}"),
        ("telnet", Some((host, Some(port)))) => format!("telnet {host} {port}"),
        _ => place.to_owned(),
    }
}

/// A text as a QR code for the terminal.
pub(super) fn qr(text: String) -> Result<String, Failure> {
    qr::drawn(&text).ok_or_else(|| Failure::operation("the link is too long for a QR code"))
}

#[cfg(test)]
mod tests {
    use super::shown;
    use serde_json::json;

    #[test]
    fn links_are_what_a_visitor_needs() {
        let of = |site: &str, auth: &str, protocol: &str| {
            super::of(
                &json!({"site_url": site, "auth_url": auth, "exposed": {"protocol": protocol}}),
            )
        };
        assert_eq!(of("https://a.x/", "", "http"), "https://a.x/");
        assert_eq!(
            of("https://a.x/", "https://a.x/.postern/auth?code=1", "http"),
            "https://a.x/.postern/auth?code=1"
        );
        assert_eq!(of("tcp://a.x:20001", "", "tcp"), "a.x:20001");
        assert_eq!(of("tcp://a.x:20001", "", "ssh"), "ssh -p 20001 a.x");
        assert_eq!(of("ssh://[::1]:20001", "", "ssh"), "ssh -p 20001 ::1");
        assert_eq!(of("tcp://a.x:20001/", "", "telnet"), "telnet a.x 20001");
    }

    /// What a relay makes up is no part of a command.
    #[test]
    fn a_command_holds_a_host_and_a_port_alone() {
        for place in [
            "relay.example:22/;touch x;#:22",
            "-Fevil:22",
            "$(id):22",
            "a b:22",
            "h:0",
        ] {
            for protocol in ["ssh", "telnet"] {
                assert_eq!(shown(&format!("tcp://{place}"), protocol), place);
            }
        }
        assert_eq!(shown("tcp://[::1]:22/", "ssh"), "ssh -p 22 ::1");
    }
}
