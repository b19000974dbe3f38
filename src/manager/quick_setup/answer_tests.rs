//! Tests of what is taken from a server, and what is not.

use serde_json::{Value, json};

use super::*;

fn whole() -> Value {
    json!({
        "connector": {"external_ip": "203.0.113.7", "api_port": 4001, "username": "u",
            "password": "hush", "tunnel_port": 62888, "fingerprint": "abc="},
        "app": {"app_id": "a1", "site_url": "https://shop.example/",
            "resource": {"ip": "127.0.0.1", "port": 20001}},
        "api_key": {"nhp_server": "auth.example", "code": "c d&", "app_id": "k1"},
    })
}

fn of(value: &Value) -> Result<Setup, Refusal> {
    read(value.to_string().as_bytes())
}

fn with(pointer: &str, value: Value) -> Result<Setup, Refusal> {
    let mut answer = whole();
    *answer.pointer_mut(pointer).unwrap() = value;
    of(&answer)
}

#[test]
fn bare_and_wrapped_in_both_spellings_are_the_same() {
    let bare = of(&whole()).unwrap();
    assert_eq!(bare.connector.external_ip, "203.0.113.7");
    assert_eq!(
        (bare.connector.api_port, bare.connector.tunnel_port),
        (4001, Some(62888))
    );
    assert_eq!(
        (bare.app.resource.port, bare.api_key.code.as_str()),
        (20001, "c d&")
    );
    for code in [json!(200), json!(0), json!("200"), Value::Null] {
        let wrapped = json!({"code": code, "message": "ok", "extra": [1], "data": whole()});
        assert_eq!(of(&wrapped).unwrap(), bare);
    }
    let go = json!({
        "Connector": {"ExternalIP": "203.0.113.7", "APIPort": 4001, "Username": "u",
            "Password": "hush", "TunnelPort": 62888, "Fingerprint": "abc=", "More": {}},
        "App": {"AppID": "a1", "SiteURL": "https://shop.example/",
            "Resource": {"IP": "127.0.0.1", "Port": 20001}},
        "APIKey": {"NHPServer": "auth.example", "Code": "c d&", "AppID": "k1"},
    });
    assert_eq!(of(&go).unwrap(), bare);
    assert_eq!(of(&json!({"code": 200, "data": go})).unwrap(), bare);
    let shown = format!("{bare:?}");
    assert!(
        !shown.contains("hush") && !shown.contains("c d&"),
        "{shown}"
    );
}

#[test]
fn what_may_be_missing_may_be_missing() {
    let least = json!({
        "connector": {"external_ip": "[2001:db8::1]", "api_port": 1, "username": "u", "password": "p",
            "tunnel_port": null, "fingerprint": ""},
        "app": {"resource": {"port": 65535}},
        "api_key": null,
    });
    let setup = of(&least).unwrap();
    assert_eq!(setup.connector.external_ip, "2001:db8::1");
    assert_eq!(
        (
            setup.connector.tunnel_port,
            setup.connector.fingerprint.clone()
        ),
        (None, None)
    );
    assert_eq!((setup.app.site_url.as_str(), setup.auth_url()), ("", None));
}

#[test]
fn an_envelope_that_failed_says_so() {
    for (answer, code, text) in [
        (
            json!({"code": 500, "message": "broken", "data": ""}),
            "500",
            "broken",
        ),
        (
            json!({"code": "E7", "msg": "broken", "data": whole()}),
            "E7",
            "broken",
        ),
        (json!({"code": -1}), "-1", ""),
        (
            json!({"code": 9, "message": "", "msg": "", "error": "why"}),
            "9",
            "why",
        ),
        (json!({"code": true, "message": {}}), "true", ""),
    ] {
        assert_eq!(
            of(&answer),
            Err(Refusal::Code(code.to_owned(), text.to_owned()))
        );
    }
    assert_eq!(message(b"{\"message\":\"why\"}"), Some("why".to_owned()));
    assert_eq!(message(b"<html>"), None);
}

#[test]
fn what_is_no_answer_names_the_part_and_no_value() {
    for text in [
        "",
        "null",
        "[]",
        "7",
        "<html>",
        "{\"connector\"",
        "\u{feff}{}",
    ] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
    assert_eq!(
        read(b"{}"),
        Err(Refusal::Shape("'connector' is missing".to_owned()))
    );
    for (pointer, value) in [
        ("/connector/api_port", json!("hush")),
        ("/connector/api_port", json!(1.5)),
        ("/connector/password", json!(["hush"])),
        ("/app", json!("hush")),
    ] {
        let refusal = with(pointer, value).unwrap_err();
        assert!(
            matches!(&refusal, Refusal::Shape(text) if !text.contains("hush")),
            "{refusal:?}"
        );
    }
}

#[test]
fn each_value_is_checked() {
    let long = "x".repeat(3000);
    for (pointer, value) in [
        ("/connector/api_port", json!(0)),
        ("/connector/api_port", json!(70000)),
        ("/connector/api_port", json!(-1)),
        ("/connector/tunnel_port", json!(65536)),
        ("/app/resource/port", json!(0)),
        ("/app/resource/port", json!(70000)),
        ("/app/resource/ip", json!("a\u{0}b")),
        ("/connector/external_ip", json!("")),
        ("/connector/external_ip", json!("a b")),
        ("/connector/external_ip", json!("a:1")),
        ("/connector/external_ip", json!("a/b")),
        ("/connector/external_ip", json!("u@h")),
        ("/connector/external_ip", json!("[::1")),
        ("/connector/external_ip", json!(long)),
        ("/connector/username", json!("")),
        ("/connector/username", json!("a\nb")),
        ("/connector/username", json!(long)),
        ("/connector/password", json!("")),
        ("/connector/password", json!("a\r")),
        ("/connector/password", json!(long)),
        ("/connector/fingerprint", json!("a\u{1b}")),
        ("/app/app_id", json!(long)),
        ("/app/site_url", json!("javascript:alert(1)")),
        ("/app/site_url", json!("javascript://x/%0aalert(1)")),
        ("/app/site_url", json!("data:text/html,x")),
        ("/app/site_url", json!("//x")),
        ("/app/site_url", json!("https://")),
        ("/app/site_url", json!("https://u:p@h/")),
        ("/app/site_url", json!("https://h/\"><script>")),
        ("/app/site_url", json!("https://h\\@evil/")),
        ("/app/site_url", json!("https://h:99999/")),
        ("/app/site_url", json!(" https://h/")),
        ("/app/site_url", json!(format!("https://h/{long}"))),
        ("/api_key/nhp_server", json!("javascript:alert(1)")),
        ("/api_key/nhp_server", json!("ftp://h")),
        ("/api_key/nhp_server", json!("h?x=")),
        ("/api_key/nhp_server", json!("h#x")),
        ("/api_key/nhp_server", json!("a b")),
        ("/api_key/code", json!("a\u{7f}")),
        ("/api_key/app_id", json!("a\u{85}")),
    ] {
        let refusal = with(pointer, value.clone()).unwrap_err();
        let named = pointer.trim_start_matches('/').replace('/', ".");
        assert!(
            matches!(&refusal, Refusal::Value(name, _) if *name == named),
            "{pointer} {value}"
        );
    }
    for url in [
        "http://h",
        "https://[2001:db8::1]:8/x?y#z",
        "tcp://h:1",
        "HTTP://h/%20",
    ] {
        assert!(with("/app/site_url", json!(url)).is_ok(), "{url}");
    }
}

#[test]
fn the_auth_url_is_built_as_agreed() {
    for (server, url) in [
        (
            "auth.example",
            Some("https://auth.example/auth?app_id=k1&code=c%20d%26"),
        ),
        (
            "http://a.example:8/",
            Some("http://a.example:8/auth?app_id=k1&code=c%20d%26"),
        ),
        (
            "HTTPS://a.example/p/",
            Some("https://a.example/p/auth?app_id=k1&code=c%20d%26"),
        ),
        (
            "[::1]:8080",
            Some("https://[::1]:8080/auth?app_id=k1&code=c%20d%26"),
        ),
        ("", None),
    ] {
        let setup = with("/api_key/nhp_server", json!(server)).unwrap();
        assert_eq!(setup.auth_url().as_deref(), url, "{server}");
    }
    let setup = with("/api_key/app_id", json!("")).unwrap();
    assert!(setup.auth_url().unwrap().contains("app_id=a1&"));
    assert_eq!(with("/api_key/code", json!("")).unwrap().auth_url(), None);
}

/// A server decides where the tunnels lead, but not into the user's own network.
#[test]
fn a_tunnel_server_further_inside_than_the_server_is_refused() {
    use AddressClass::{Loopback, Private, Public};
    for (class, external_ip, is_taken) in [
        (Public, "203.0.113.7", true),
        (Public, "relay.example", true),
        (Public, "10.0.0.1", false),
        (Public, "127.0.0.1", false),
        (Public, "localhost", false),
        (Public, "a.localhost", false),
        (Public, "::ffff:127.0.0.1", false),
        (Public, "64:ff9b::7f00:1", false),
        (Private, "10.0.0.1", true),
        (Private, "::1", false),
        (Private, "localhost", false),
        (Loopback, "127.0.0.1", true),
        (Loopback, "localhost", true),
        (Loopback, "10.0.0.1", true),
        (Loopback, "0.0.0.0", false),
        (Loopback, "169.254.169.254", false),
    ] {
        let mut answer = whole();
        answer["connector"]["external_ip"] = json!(external_ip);
        let server = ServerUrl::parse("https://relay.example", false).unwrap();
        let read = read_from(&server, class, answer.to_string().as_bytes());
        assert_eq!(read.is_ok(), is_taken, "{class} {external_ip}");
        match read {
            Ok(setup) => assert_eq!(setup.server_class, class),
            Err(Refusal::Address(why)) => assert!(why.contains(external_ip), "{why}"),
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_tunnel_url_is_taken_at_the_servers_own_host_alone() {
    use AddressClass::Public;
    let at = |server: &str, url: &str, port: i64, external_ip: &str| {
        let mut answer = whole();
        answer["connector"]["external_ip"] = json!(external_ip);
        answer["connector"]["tunnel_port"] = json!(port);
        answer["connector"]["tunnel_url"] = json!(url);
        let server = ServerUrl::parse(server, true).unwrap();
        let setup = read_from(&server, Public, answer.to_string().as_bytes());
        setup.map(|setup| {
            let url = setup.connector.tunnel_url.map(|url| url.to_string());
            (setup.connector.tunnel_port, url)
        })
    };
    let own = "wss://relay.example:443/.postern/tunnel";
    let of = |server, url| at(server, url, 7, "203.0.113.7").unwrap();
    for (server, url, taken) in [
        (
            "https://relay.example",
            "wss://relay.example/.postern/tunnel",
            Some(own),
        ),
        ("https://relay.example:8443", own, Some(own)),
        ("https://Relay.example", own, Some(own)),
        (
            "http://relay.example",
            "ws://relay.example:80/t",
            Some("ws://relay.example:80/t"),
        ),
        ("https://relay.example", "ws://relay.example/t", None),
        ("https://relay.example", "https://relay.example/t", None),
        ("https://relay.example", "wss://other.example/t", None),
        ("https://relay.example", "wss://a.relay.example/t", None),
        ("https://relay.example", "wss://127.0.0.1/t", None),
        ("https://relay.example", "wss://u:p@relay.example/t", None),
        ("https://relay.example", "wss://relay.example/t\n", None),
        ("https://relay.example", "", None),
    ] {
        assert_eq!(
            of(server, url),
            (Some(7), taken.map(str::to_owned)),
            "{url}"
        );
    }
    let https = "https://relay.example";
    let url = || Some(own.to_owned());
    // No port, and an address that a public server may not name.
    assert_eq!(at(https, own, 0, "relay.example"), Ok((Some(0), url())));
    assert_eq!(at(https, own, 7, "10.0.0.1"), Ok((Some(0), url())));
    let other = "wss://other.example/t";
    assert_eq!(
        at(https, other, 0, "relay.example"),
        Ok((None, None)),
        "0 is absent"
    );
    assert!(at(https, other, 7, "10.0.0.1").is_err());
}

#[test]
fn other_relays_may_have_a_url_alone() {
    let mut answer = whole();
    let other = |ip: &str, port: i64, url: &str| json!({"external_ip": ip, "tunnel_port": port, "tunnel_url": url, "fingerprint": "f"});
    let own = "wss://relay.example:443/2";
    answer["connector"]["alternates"] = json!([
        other("203.0.113.9", 7, own),
        other("relay.example", 0, own),
        other("10.0.0.1", 7, own),
        other("10.0.0.1", 7, "wss://other.example/2"),
        other("203.0.113.9", 0, ""),
    ]);
    let server = ServerUrl::parse("https://relay.example", false).unwrap();
    let read = read_from(&server, AddressClass::Public, answer.to_string().as_bytes()).unwrap();
    let ports = read.connector.alternates.unwrap();
    let ports: Vec<u16> = ports.iter().map(|other| other.tunnel_port).collect();
    assert_eq!(ports, [7, 0, 0]);
}
