//! Tests of the remotes' text form and of the configuration.

use super::*;
use serde_json::json;

fn read(text: &str) -> Result<Remote, RemoteError> {
    text.parse()
}

#[test]
fn the_text_form_is_read_from_the_back() {
    let table = [
        ("R:80", "R:0.0.0.0:80:127.0.0.1:80"),
        ("R:8080:80", "R:0.0.0.0:8080:127.0.0.1:80"),
        ("R:host:80", "R:0.0.0.0:80:host:80"),
        ("R:8080:host:80", "R:0.0.0.0:8080:host:80"),
        ("R:1.2.3.4:8080:host:80", "R:1.2.3.4:8080:host:80"),
        ("R:host:8080:80", "R:0.0.0.0:8080:host:80"),
        ("R:62889:localhost:4000", "R:0.0.0.0:62889:localhost:4000"),
        (
            "R:127.0.0.1:7000:192.168.1.9:3306/tcp",
            "R:127.0.0.1:7000:192.168.1.9:3306",
        ),
        ("R:[::]:7000:[::1]:80", "R:[::]:7000:[::1]:80"),
        ("R:[fe80::1]:80/TCP", "R:0.0.0.0:80:[fe80::1]:80"),
    ];
    for (text, complete) in table {
        let remote = read(text).unwrap();
        assert_eq!(remote.to_string(), complete, "{text}");
        assert_eq!(read(complete).unwrap(), remote, "{complete}");
    }
}

#[test]
fn what_is_no_remote_is_refused() {
    for text in [
        "",
        "R:",
        "R::80",
        "R:80:",
        "R:0",
        "R:65536",
        "R:host",
        "R:80:host",
        "R:1:2:3",
        "R:a:b:c:80",
        "R:1:a:2:b:3",
        "R:[::1:80",
        "R:[::1]x:80",
        "R:[x]:80",
        "R:h h:80",
        "R:80/sctp",
        "R:+80",
        "R:a:a:a:80",
        "R:\u{e4}:80",
        "R:[]:80",
        "R:a/b:80",
        "R:[::1]]:80",
    ] {
        assert!(
            matches!(read(text), Err(RemoteError::Malformed(..))),
            "{text}: {:?}",
            read(text)
        );
    }
}

#[test]
fn other_kinds_are_named() {
    for (text, kind) in [
        ("R:socks", "SOCKS"),
        ("R:5000:socks", "SOCKS"),
        ("socks", "SOCKS"),
        ("stdio:host:22", "standard input and output"),
        ("3000", "a forward remote"),
        ("3000:host:80", "a forward remote"),
        ("R:53:1.1.1.1:53/udp", "UDP"),
    ] {
        assert_eq!(
            read(text),
            Err(RemoteError::Unsupported(text.to_owned(), kind)),
            "{text}"
        );
        assert!(
            read(text)
                .unwrap_err()
                .to_string()
                .contains("only reverse TCP")
        );
    }
}

#[test]
fn the_configuration_has_exactly_the_known_keys() {
    let remotes = [
        read("R:127.0.0.1:7000:10.0.0.5:80").unwrap(),
        read("R:[::1]:1:[::2]:2").unwrap(),
    ];
    let data = encode_config(&remotes);
    let value: serde_json::Value = serde_json::from_slice(&data).unwrap();
    let wire = |local, local_port, remote, remote_port| {
        json!({"LocalHost": local, "LocalPort": local_port, "LocalProto": "tcp",
            "RemoteHost": remote, "RemotePort": remote_port, "RemoteProto": "tcp",
            "Socks": false, "Reverse": true, "Stdio": false})
    };
    let expected = [
        wire("127.0.0.1", "7000", "10.0.0.5", "80"),
        wire("[::1]", "1", "[::2]", "2"),
    ];
    assert_eq!(value, json!({"Version": "0.0.0-src", "Remotes": expected}));
    assert_eq!(decode_config(&data).unwrap(), remotes);
}

#[test]
fn a_configuration_is_read_with_care() {
    let one = |remote: serde_json::Value| {
        decode_config(json!({"Remotes": [remote]}).to_string().as_bytes())
    };
    let good = json!({"LocalPort": "1", "RemotePort": "2", "Reverse": true, "More": 1});
    assert_eq!(one(good).unwrap()[0].to_string(), "R:0.0.0.0:1:127.0.0.1:2");
    for (key, value) in [
        ("Reverse", json!(false)),
        ("Socks", json!(true)),
        ("Stdio", json!(true)),
        ("LocalProto", json!("udp")),
        ("LocalPort", json!("")),
        ("RemotePort", json!("70000")),
        ("LocalPort", json!(80)),
        ("LocalHost", json!("a b")),
        ("RemoteHost", json!("x\r\ny")),
    ] {
        let mut remote = json!({"LocalPort": "1", "RemotePort": "2", "Reverse": true});
        remote[key] = value.clone();
        assert!(one(remote).is_err(), "{key} {value}");
    }
    assert_eq!(
        decode_config(br#"{"Version":"1","Remotes":null}"#).unwrap(),
        []
    );
    for malformed in [
        &b""[..],
        b"7",
        b"null",
        // A list in place of an object, which would be read by the order of the fields.
        b"[]",
        br#"["1",[]]"#,
        br#"{"Remotes":[["","80","tcp","","80","tcp",false,true,false]]}"#,
        br#"{"Remotes":{}}"#,
        br#"{"Remotes":[],"Remotes":[]}"#,
    ] {
        let text = String::from_utf8_lossy(malformed);
        assert!(decode_config(malformed).is_err(), "{text}");
    }
    let many = json!({"Remotes": vec![json!({}); MAX_REMOTES + 1]}).to_string();
    assert_eq!(
        decode_config(many.as_bytes()),
        Err(RemoteError::TooMany(MAX_REMOTES + 1))
    );
}

#[test]
fn permissions_and_targets_are_plain_text() {
    let remote = read("R:7000:[::1]:80").unwrap();
    assert_eq!(remote.permission(), "R:0.0.0.0:7000");
    assert_eq!(remote.target(), "[::1]:80");
}

#[test]
fn a_malicious_text_is_fit_for_the_log() {
    let error = read(&format!("R:\r\n{}", "x".repeat(1000)))
        .unwrap_err()
        .to_string();
    assert!(!error.contains('\n') && error.len() < 1000);
    let data = json!({"Version": ["\r\n".repeat(10_000)], "Remotes": "\n".repeat(10_000)});
    let error = decode_config(data.to_string().as_bytes()).unwrap_err();
    let text = error.to_string();
    assert!(!text.contains('\n') && text.len() < 1000, "{text}");
}
