//! The link of a share for visitors, notices about its site name, and QR codes.

use std::net::IpAddr;

use qrcodegen::{QrCode, QrCodeEcc};

use super::failure::{Failure, printable, quoted};
use crate::api::ConnectResult;
use crate::api::protocol::Protocol;
use crate::net::authority::{self, is_host};
use crate::net::percent::encode;
use crate::relay::names;

/// Begin of sign-in links of our relays, and of this end; they accept a code and the path to open.
const OWN_SIGN_IN: &str = "/.postern/auth?";

/// Light modules around a QR symbol (ISO/IEC 18004). The standard asks for 4; scanners take 2, and a terminal is small.
const QUIET: i32 = 2;

/// Link that a visitor opens or types, with the code if there is one.
pub(super) fn of(result: &ConnectResult) -> String {
    let (site, auth) = (&*result.site_url, &*result.auth_url);
    let exposed = result.exposed.as_ref();
    let path = exposed.and_then(|exposed| exposed.path.as_deref());
    let link = match (auth, path.unwrap_or_default()) {
        ("", "") => shown(site, exposed.map(|exposed| exposed.protocol)),
        ("", path) => format!("{}{path}", site.trim_end_matches('/')),
        (auth, "") => auth.to_owned(),
        (auth, path) if auth.contains(OWN_SIGN_IN) => format!("{auth}&next={}", encode(path)),
        // The link of a foreign server cannot carry a path.
        (auth, _) => auth.to_owned(),
    };
    link.escape_default().to_string()
}

/// The command or the bare address, if a browser cannot open it.
fn shown(site: &str, protocol: Option<Protocol>) -> String {
    let Some((_, place)) = site
        .split_once("://")
        .filter(|(scheme, _)| !scheme.starts_with("http"))
    else {
        return site.to_owned();
    };
    let place = place.trim_end_matches('/');
    // A command may contain only a host and a port, because users paste it into a shell.
    let parts = authority::split(place).filter(|(host, port)| {
        is_host(host) && port.is_some_and(|port| authority::port(port).is_some())
    });
    match (protocol, parts) {
        (Some(Protocol::Ssh), Some((host, Some(port)))) => format!("ssh -p {port} {host}"),
        (Some(Protocol::Telnet), Some((host, Some(port)))) => format!("telnet {host} {port}"),
        _ => place.to_owned(),
    }
}

/// Notice that a site has another name than the preferred one, with the reason. None for a bare address.
pub(super) fn renamed(wish: &str, site: &str) -> Option<String> {
    let (_, place) = site
        .split_once("://")
        .filter(|_| site.starts_with("http"))?;
    let host = place.split(['/', ':']).next().unwrap_or_default();
    let (name, _) = host.split_once('.')?;
    let wished = names::label(wish);
    let why = why_unfit(wish);
    if name == wished && why.is_none() || host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let why = why.map_or("is already taken".to_owned(), |why| {
        format!("is not a valid site name ({why})")
    });
    let (name, wish) = (printable(name), quoted(wish));
    Some(format!("The site is named {name}: {wish} {why}.\n"))
}

/// Notice that a site will get another name than this one, as far as that is known before it is connected.
pub(super) fn unfit(wish: &str) -> Option<String> {
    let why = why_unfit(wish)?;
    Some(format!(
        "the site gets another name: {} is not a valid site name ({why})",
        quoted(wish)
    ))
}

/// Reason that a text is not a site name: letters are lost, or the rest is invalid.
fn why_unfit(wish: &str) -> Option<&'static str> {
    let wished = names::label(wish);
    let letters = |text: &str| text.chars().filter(|one| one.is_alphanumeric()).count();
    let is_whole = letters(wish) == letters(&wished);
    let lost = (!is_whole).then_some("2 to 63 of a-z, 0-9 and hyphens");
    names::check(&wished).err().or(lost)
}

/// A text as a QR code for the terminal, in lines of half blocks, two modules of height each. Colours are set, so that
/// it is dark on light in every terminal.
pub(super) fn qr(text: &str) -> Result<String, Failure> {
    let too_long = |_| Failure::operation("the link is too long for a QR code");
    let symbol = QrCode::encode_text(text, QrCodeEcc::Medium).map_err(too_long)?;
    let end = symbol.size() + QUIET;
    let mut lines = String::new();
    let mut y = -QUIET;
    while y < end {
        lines.push_str("\u{1b}[30;107m");
        for x in -QUIET..end {
            lines.push(
                match (symbol.get_module(x, y), symbol.get_module(x, y + 1)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                },
            );
        }
        lines.push_str("\u{1b}[0m\n");
        y += 2;
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::{Protocol, qr, renamed, shown};
    use crate::api::ConnectResult;
    use crate::manager::app_input::AppInput;
    use serde_json::json;

    /// The link of a connection whose application is made of these fields.
    fn link(site: &str, auth: &str, fields: serde_json::Value) -> String {
        let input = AppInput::parse(&fields, true).unwrap();
        super::of(&ConnectResult {
            site_url: site.to_owned(),
            auth_url: auth.to_owned(),
            exposed: Some(input.into_new().shown().saved()),
            ..ConnectResult::default()
        })
    }

    #[test]
    fn links_are_what_a_visitor_needs() {
        let of = |site: &str, auth: &str, protocol: &str| {
            link(site, auth, json!({"protocol": protocol, "port": 1}))
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

    #[test]
    fn another_name_than_the_wished_one_is_reported() {
        for (wish, site, told) in [
            ("shop", "https://shop.relay.example/", None),
            ("My Shop", "http://my-shop.localhost:8180/", None),
            (
                "shop",
                "https://shop-2.relay.example/",
                Some("'shop' is already taken"),
            ),
            (
                "x",
                "https://x-calm-fox-7.relay.example/",
                Some("'x' is not a valid site name (2 to 63"),
            ),
            (
                "Café",
                "https://caf.relay.example/",
                Some("named caf: 'Café' is not a valid site name"),
            ),
            (
                "admin",
                "https://admin-site.relay.example/",
                Some("reserved"),
            ),
            ("shop", "http://192.0.2.7:20001/", None),
            ("shop", "tcp://relay.example:20001", None),
        ] {
            let line = renamed(wish, site);
            let is_told = line
                .as_deref()
                .map(|line| line.contains(told.unwrap_or("?")));
            assert_eq!(is_told, told.map(|_| true), "{wish}: {line:?}");
        }
    }

    #[test]
    fn a_site_is_opened_at_the_path_that_was_given() {
        let at = |site: &str, auth: &str| {
            let fields = json!({"protocol": "http", "path": "/admin?a=1&b"});
            link(site, auth, fields)
        };
        assert_eq!(at("https://a.x/", ""), "https://a.x/admin?a=1&b");
        assert_eq!(
            at("https://a.x/", "https://a.x/.postern/auth?app_id=a&code=1"),
            "https://a.x/.postern/auth?app_id=a&code=1&next=%2Fadmin%3Fa%3D1%26b"
        );
        let foreign = "https://s.x/auth?code=1";
        assert_eq!(at("https://a.x/", foreign), foreign);
    }

    /// Text from a relay is never part of a command.
    #[test]
    fn a_command_holds_a_host_and_a_port_alone() {
        for place in [
            "relay.example:22/;touch x;#:22",
            "-Fevil:22",
            "$(id):22",
            "a b:22",
            "h:0",
        ] {
            for protocol in [Protocol::Ssh, Protocol::Telnet] {
                assert_eq!(shown(&format!("tcp://{place}"), Some(protocol)), place);
            }
        }
        assert_eq!(
            shown("tcp://[::1]:22/", Some(Protocol::Ssh)),
            "ssh -p 22 ::1"
        );
    }

    #[test]
    fn every_line_has_the_same_width_and_resets_its_colours() {
        let drawn = qr("http://shop.relay.example/").unwrap();
        let widths: Vec<usize> = drawn.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{widths:?}");
        assert!(drawn.lines().all(|line| line.ends_with("\u{1b}[0m")));
        // Version 2: 25 modules and the quiet zone.
        assert_eq!(
            (widths.len(), widths[0]),
            (15, 25 + 4 + "\u{1b}[30;107m\u{1b}[0m".len())
        );
        assert!(qr(&"x".repeat(3000)).is_err());
    }
}
