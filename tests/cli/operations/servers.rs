//! `postern server`.

use std::sync::Arc;

use serde_json::json;
use support::Home;
use support::manager::Manager;

use super::json_of;

#[test]
fn servers_are_kept_with_and_without_a_running_start() {
    let home = Arc::new(Home::new());
    let run = |args: &[&str]| home.run(&[&["server"], args].concat());
    for is_running in [false, true] {
        let _manager = is_running.then(|| Manager::start_in(&home, &[]));
        let mut add = home.command(&["server", "add", "https://one.example", "--label", "one"]);
        let added = add
            .env("POSTERN_ENROLL_TOKEN", "planted-token-0123")
            .output()
            .unwrap();
        assert!(added.status.success(), "{added:?}");
        assert_eq!(
            run(&["add", "https://two.example", "--default"]).code,
            Some(0)
        );
        let all = json_of(&run(&["list", "--json"]));
        let of = |url: &str| {
            let mut all = all.as_array().unwrap().iter();
            all.find(|server| server["url"] == url)
                .unwrap_or_else(|| panic!("{all:?}"))
                .clone()
        };
        let (one, two) = (of("https://one.example"), of("https://two.example"));
        assert_eq!(
            (&one["label"], &one["has_enroll_token"], &one["default"]),
            (&json!("one"), &json!(true), &json!(false))
        );
        assert_eq!(
            (&two["has_enroll_token"], &two["default"]),
            (&json!(false), &json!(true))
        );
        assert!(!all.to_string().contains("planted"), "{all}");
        assert_eq!(run(&["default", "https://one.example"]).code, Some(0));
        let listed = run(&["list"]).stdout;
        assert!(
            listed.contains("default\thttps://one.example\t"),
            "{listed}"
        );
        for url in ["https://one.example", "https://two.example"] {
            assert_eq!(run(&["remove", url]).code, Some(0));
        }
        let again = run(&["remove", "https://two.example"]);
        assert!(
            again.code == Some(1) && again.stderr.contains("is not in the list"),
            "{again:?}"
        );
        assert_eq!(run(&["add", "relay"]).code, Some(2));
    }
}
