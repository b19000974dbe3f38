//! `postern server`.

use std::sync::Arc;

use serde_json::json;
use support::Home;
use support::manager::Manager;
use support::relay::Relay;

use super::{is_also_json, json_of};

#[test]
fn servers_are_kept_with_and_without_a_running_start() {
    let home = Arc::new(Home::new());
    let run = |args: &[&str]| home.run(&[&["server"], args].concat());
    for is_running in [false, true] {
        let _manager = is_running.then(|| Manager::start_in(&home, &[]));
        let mut add = home.command(&["server", "add", "http://127.0.0.1:1", "--label", "one"]);
        let added = add
            .env("POSTERN_ENROLL_TOKEN", "planted-token-0123")
            .output()
            .unwrap();
        // Nobody is there, which is said; whoever starts it later need not add it again.
        assert_eq!(added.status.code(), Some(3), "{added:?}");
        let second = run(&["add", "http://127.0.0.1:2", "--default"]);
        assert!(
            second.code == Some(3)
                && second
                    .stderr
                    .contains("no relay answered at http://127.0.0.1:2: connection refused")
                && !second.stdout.contains("server default"),
            "{second:?}"
        );
        let again = run(&["add", "http://127.0.0.1:2", "--json"]);
        is_also_json(&again, 503);
        assert_eq!(json_of(&again)["url"], "http://127.0.0.1:2");
        let all = json_of(&run(&["list", "--json"]));
        let of = |url: &str| {
            let mut all = all.as_array().unwrap().iter();
            all.find(|server| server["url"] == url)
                .unwrap_or_else(|| panic!("{all:?}"))
                .clone()
        };
        let (one, two) = (of("http://127.0.0.1:1"), of("http://127.0.0.1:2"));
        assert_eq!(
            (&one["label"], &one["has_enroll_token"], &one["default"]),
            (&json!("one"), &json!(true), &json!(false))
        );
        assert_eq!(
            (&two["has_enroll_token"], &two["default"]),
            (&json!(false), &json!(true))
        );
        assert!(!all.to_string().contains("planted"), "{all}");
        assert_eq!(run(&["default", "http://127.0.0.1:1"]).code, Some(0));
        let listed = run(&["list"]).stdout;
        assert!(listed.contains("default\thttp://127.0.0.1:1\t"), "{listed}");
        let unknown = run(&["default", "http://127.0.0.1:3"]);
        let hint = "add it first: postern server add http://127.0.0.1:3";
        assert!(
            unknown.code == Some(1) && unknown.stderr.contains(hint),
            "{unknown:?}"
        );
        assert_eq!(run(&["default", "none"]).code, Some(0));
        let listed = json_of(&run(&["list", "--json"]));
        for server in listed.as_array().unwrap() {
            let is_kept = server["known"] != json!(false);
            assert_eq!(server["default"], json!(!is_kept), "{listed}");
        }
        let removed = run(&["remove", "http://127.0.0.1:1", "--json"]);
        assert_eq!(removed.code, Some(0), "{removed:?}");
        assert_eq!(json_of(&removed)["label"], "one");
        assert_eq!(run(&["remove", "http://127.0.0.1:2"]).code, Some(0));
        let again = run(&["remove", "http://127.0.0.1:2"]);
        assert!(
            again.code == Some(1) && again.stderr.contains("is not in the list"),
            "{again:?}"
        );
        assert_eq!(run(&["add", "relay"]).code, Some(2));
    }
}

/// A token that lets nobody in was found out with the first share.
#[test]
fn a_server_that_would_not_let_this_machine_in_is_not_added() {
    let relay = Relay::start(&["--public-url=https://localhost"]);
    let (url, token) = (relay.url(), relay.enrol_token());
    let home = Arc::new(Home::new());
    for is_running in [false, true] {
        let _manager = is_running.then(|| Manager::start_in(&home, &[]));
        let add = |token: &str| {
            let mut add = home.command(&["server", "add", &url]);
            let done = add.env("POSTERN_ENROLL_TOKEN", token).output().unwrap();
            let said = String::from_utf8(done.stderr).unwrap();
            (done.status.code(), said)
        };
        let known = || json_of(&home.run(&["server", "list", "--json"])).to_string();
        let (code, said) = add("wrong");
        assert_eq!(code, Some(4), "{said}");
        assert!(
            said.contains(
                "the enrolment token is wrong or was cancelled: ask the relay's operator"
            ) && said.contains("nothing was saved"),
            "{said}"
        );
        assert!(!known().contains(&url));
        let (code, said) = add("");
        assert_eq!(code, Some(0), "it is saved all the same");
        assert!(
            said.contains("no enrolment token was given")
                && said.contains(&format!("postern server add {url} --enroll-token TOKEN")),
            "{said}"
        );
        assert_eq!(add(&token), (Some(0), String::new()));
        assert_eq!(add(""), (Some(0), String::new()), "it has one");
        assert!(known().contains(&url) && !known().contains(&token));
        assert_eq!(home.run(&["server", "remove", &url]).code, Some(0));
    }
    assert_eq!(
        relay.status()["connectors"],
        json!([]),
        "nobody is enrolled"
    );
}
