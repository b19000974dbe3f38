//! `postern status` and `postern logs`.

use std::sync::Arc;

use serde_json::{Value, json};
use support::manager::{Manager, Target};
use support::relay::Relay;
use support::{Home, TIMEOUT, wait_until};

use super::{is_also_json, json_of};

#[test]
fn the_status_says_what_is_in_force_without_codes() {
    let relay = Relay::start(&[]);
    let home = Arc::new(Home::new());
    home.run(&["app", "add", "http", "1", "--name", "dead", "--invisible"]);
    let idle = home.run(&["status"]);
    assert_eq!(idle.code, Some(1), "{idle:?}");
    assert!(
        idle.stdout.contains("dead\tidle\twill be invisible\t"),
        "{idle:?}"
    );
    let off = home.run(&["status", "--json"]);
    let shown = json_of(&off);
    assert_eq!((off.code, &shown["running"]), (Some(1), &json!(false)));
    assert_eq!(shown["applications"][0]["name"], "dead");
    is_also_json(&off, 503);
    let manager = Manager::start_in(&home, &["--server", &relay.url()]);
    let connected = home.run(&["app", "connect", "dead"]);
    let code = connected
        .stdout
        .split("code=")
        .nth(1)
        .expect("an address with a code")
        .trim()
        .to_owned();
    let said = home.run(&["status"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let url = manager.url();
    assert!(
        said.stdout
            .starts_with(&format!("Manager: {url}/ (process {})\n", manager.pid())),
        "{said:?}"
    );
    assert!(
        said.stdout.contains("\ndead\tconnected\tinvisible\t"),
        "{said:?}"
    );
    assert!(
        said.stdout
            .contains("dead: 127.0.0.1:1 refuses connections\n"),
        "{said:?}"
    );
    let json = home.run(&["status", "--json"]);
    let shown = json_of(&json);
    assert_eq!(
        (&shown["running"], &shown["pid"]),
        (&json!(true), &json!(manager.pid()))
    );
    assert_eq!(shown["servers"][0]["status"], "connected", "{shown}");
    assert_eq!(
        shown["applications"][0]["connection"]["exposed"]["invisible"], true,
        "{shown}"
    );
    for text in [&said.stdout, &json.stdout] {
        assert!(!text.contains(&code), "{text}");
    }
}

/// A script reads one object, and a person the same text.
#[test]
fn a_failure_is_one_json_object_too() {
    let home = Home::new();
    home.run(&["app", "add", "http", "1", "--name", "shop"]);
    for (line, exit, code) in [
        ("app show nobody", 1, 404),
        ("app remove nobody", 1, 404),
        ("app connect shop", 1, 503),
        ("app add http 2 --name shop", 1, 409),
        ("app edit shop", 2, 400),
        ("app qr shop", 1, 503),
        ("app trust shop", 1, 503),
        ("server remove http://127.0.0.1:1", 1, 404),
        ("relay list", 1, 500),
        ("logs", 1, 503),
        ("http 1 --server http://127.0.0.1:1", 3, 503),
        ("mysql --share", 1, 500),
        ("app show", 2, 400),
        ("app list --frob", 2, 400),
        ("http --frob", 2, 400),
    ] {
        let args: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let failed = home.run(&args);
        assert_eq!(failed.code, Some(exit), "{failed:?}");
        is_also_json(&failed, code);
        let plain = home.run(&args[..args.len() - 1]);
        assert_eq!((plain.code, plain.stdout.as_str()), (Some(exit), ""));
    }
    // A check that fails has its place in the list already.
    let checked = home.run(&["doctor", "--strict", "--json"]);
    assert_eq!(checked.code, Some(1));
    assert!(json_of(&checked).is_array(), "{checked:?}");
    // After this it is no option.
    let operand = home.run(&["app", "show", "--", "--json", "x"]);
    assert_eq!((operand.code, operand.stdout.as_str()), (Some(1), ""));
}

#[test]
fn several_applications_are_an_object_a_line() {
    let home = Home::new();
    for name in ["shop", "till"] {
        home.run(&["app", "add", "http", "1", "--name", name]);
    }
    let both = home.run(&["app", "show", "shop", "till", "--json"]);
    let lines = both.stdout.lines().map(serde_json::from_str::<Value>);
    let names: Vec<Value> = lines.map(|line| line.unwrap()["name"].clone()).collect();
    assert_eq!(names, ["shop", "till"]);
    let one = json_of(&home.run(&["app", "show", "till", "--json"]));
    assert_eq!(one["name"], "till");
}

#[test]
fn the_log_of_an_application_says_who_was_here() {
    let relay = Relay::start(&[]);
    let target = Target::start();
    let manager = Manager::start(&["--server", &relay.url()]);
    let home = manager.home();
    let mut app = target.app();
    app["name"] = json!("shop");
    let id = manager.add(&app);
    let nobody = home.run(&["logs", "shop"]);
    assert!(
        nobody.code == Some(0) && nobody.stdout.starts_with("shop: not connected"),
        "{nobody:?}"
    );
    manager.connect(&id);
    let site = manager.connected(&id)["site_url"]
        .as_str()
        .unwrap()
        .to_owned();
    let name = site
        .trim_start_matches("http://")
        .split('.')
        .next()
        .unwrap()
        .to_owned();
    relay.visit(&name, "/a?secret=planted");
    wait_until(TIMEOUT, "the request in the log", || {
        home.run(&["logs", "shop"]).stdout.contains("\tGET\t/a\n")
    });
    let said = home.run(&["logs"]);
    assert!(
        said.stdout.contains("\tshop\t") && !said.stdout.contains("planted"),
        "{said:?}"
    );
    let line = home.run(&["logs", "shop", "--json"]).stdout;
    let entry: Value = serde_json::from_str(line.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&entry["app"], &entry["path"]),
        (&json!("shop"), &json!("/a"))
    );
    let unknown = home.run(&["logs", "shap"]);
    assert!(
        unknown.code == Some(1) && unknown.stderr.contains("'shap'"),
        "{unknown:?}"
    );
    assert_eq!(Home::new().run(&["logs"]).code, Some(1));
}
