//! `postern relay invite`, `invites` and `uninvite`: who comes in by what, how often and until when, and what a
//! revocation does to it.

use std::sync::{Arc, Barrier};

use serde_json::{Value, json};
use support::postern::Home;
use support::relay::{Relay, body, texts_below, with};

/// Flag that makes the relay public, so that it asks for a token.
const PUBLIC: &str = "--public-url=https://localhost";
const PORTS: [&str; 2] = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];

/// Runs `postern relay` with these words; what it printed.
#[track_caller]
fn relay_says(home: &Home, words: &[&str]) -> String {
    let done = home.run(&[&["relay"], words].concat());
    assert_eq!(done.code, Some(0), "{words:?}: {done:?}");
    done.stdout
}

/// An invite made with these flags: its id and its token.
#[track_caller]
fn invite(home: &Home, flags: &[&str]) -> (String, String) {
    let made = relay_says(home, &[&["invite", "--json"], flags].concat());
    let made: Value = serde_json::from_str(&made).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&made["invite"]["id"]), text(&made["token"]))
}

#[track_caller]
fn listed(home: &Home) -> Vec<Value> {
    let listed: Value = serde_json::from_str(&relay_says(home, &["invites", "--json"])).unwrap();
    listed.as_array().unwrap().clone()
}

/// The status of the call that enrols `connector`, and what was said.
fn ask(relay: &Relay, connector: &str, token: &str) -> (u16, String) {
    let token = json!({"enroll_token": token});
    let answer = relay.call(&with(body(connector, "shop", "http", 1), token));
    (answer.status(), answer.text().to_owned())
}

fn is_in(relay: &Relay, connector: &str, token: &str) -> bool {
    ask(relay, connector, token).0 == 200
}

#[test]
fn an_invite_is_good_once_and_a_lost_answer_does_not_cost_it() {
    let relay = Relay::start(&[PUBLIC]);
    let (id, token) = invite(relay.home(), &["--label", "for Ann"]);
    assert!(is_in(&relay, "ann", &token));
    assert!(
        is_in(&relay, "ann", &token),
        "the answer was lost: it asks again"
    );
    let (status, said) = ask(&relay, "bob", &token);
    assert!(
        status == 403 && said.contains("already been used"),
        "{said}"
    );
    let of_list = listed(relay.home());
    let used = of_list.iter().find(|invite| invite["id"] == *id).unwrap();
    assert_eq!(
        (&used["status"], &used["label"]),
        (&json!("used"), &json!("for Ann"))
    );
    assert_eq!(used["used_by"][0]["connector"], "ann");
    assert_eq!(used["used_by"].as_array().unwrap().len(), 1);
    let status = relay.status();
    assert_eq!(
        status["connectors"][0]["invite"],
        json!({"id": id, "label": "for Ann"})
    );
    let table = relay_says(relay.home(), &["list"]);
    assert!(table.contains(&format!("\t{id} for Ann\t")), "{table}");
    // A call that fails uses nothing up.
    let (_, token) = invite(relay.home(), &[]);
    let ssh = with(
        body("carl", "a", "ssh", 22),
        json!({"enroll_token": token, "port": 0}),
    );
    assert_eq!(relay.call(&ssh).status(), 400);
    assert!(is_in(&relay, "carl", &token));
    assert!(
        !texts_below(&relay.data()).contains(&token),
        "kept as a digest"
    );
    assert!(!relay.stderr().contains(&token) && !relay.stdout().contains(&token));
}

/// The operator knows people by the labels that they were invited with.
#[test]
fn connectors_are_listed_by_the_label_of_their_invite() {
    let relay = Relay::start(&[PUBLIC]);
    let (id, token) = invite(relay.home(), &["--label", "anna-laptop"]);
    let said = json!({"enroll_token": token, "label": "debian"});
    relay.assign(&with(body("postern_1", "shop", "http", 1), said));
    let table = relay_says(relay.home(), &["list"]);
    let row: Vec<&str> = table.lines().nth(1).unwrap().split('\t').collect();
    assert_eq!(
        (row[0], row[1], row[6]),
        ("anna-laptop", "postern_1", "debian")
    );
    let found = |search: &str| {
        let path = format!("/api/status?search={search}");
        relay.operators("GET", &path, b"").data()["matching"].clone()
    };
    assert_eq!(
        (found("anna"), found(&id), found("bert")),
        (json!(1), json!(1), json!(0))
    );
}

/// The label is what the operator reads in the table, so it is also what he may type.
#[test]
fn a_connector_is_revoked_and_allowed_by_its_label() {
    let mut relay = Relay::start(&[PUBLIC]);
    let enrol = |name: &str, label: &str| {
        let (_, token) = invite(relay.home(), &["--label", label]);
        let said = json!({"enroll_token": token, "label": "debian"});
        relay.assign(&with(body(name, "shop", "http", 1), said));
    };
    enrol("postern_1", "anna-laptop");
    enrol("postern_2", "twin");
    enrol("postern_3", "twin");
    let listed: Value =
        serde_json::from_str(&relay_says(relay.home(), &["list", "--json"])).unwrap();
    assert_eq!(
        (&listed[0]["label"], &listed[0]["machine"]),
        (&json!("anna-laptop"), &json!("debian"))
    );
    let home = relay.home().clone();
    let run = |command: &str, label: &str| home.run(&["relay", command, label]);
    let revoked = run("revoke", "anna-laptop");
    assert!(
        revoked.code == Some(0) && revoked.stdout.starts_with("postern_1 is revoked"),
        "{revoked:?}"
    );
    let several = run("revoke", "twin");
    assert_eq!(several.code, Some(1), "{several:?}");
    assert_eq!(
        several.stderr,
        "postern: 2 connectors have the label 'twin'\nuse one of the names: postern_2, postern_3\n"
    );
    let said = relay.stderr();
    assert!(
        said.contains("'postern_1' (anna-laptop) got http")
            && said.contains("'postern_1' (anna-laptop) is revoked"),
        "{said}"
    );
    relay.stop();
    let allowed = run("allow", "anna-laptop");
    assert!(
        allowed.code == Some(0) && allowed.stdout.starts_with("allowed postern_1"),
        "{allowed:?}"
    );
    // A name counts before a label.
    assert_eq!(run("revoke", "postern_2").code, Some(0));
    assert_eq!(run("revoke", "twin").code, Some(0));
}

/// A hint names what cures this refusal: another token where the token is used up, and no token where there are no ports.
#[test]
fn what_is_hinted_fits_the_refusal() {
    // One whose tunnels others reach gives no public ports unless its operator says so.
    let listen = [
        "--listen=127.0.0.1:0",
        "--tunnel-listen=0.0.0.0:0",
        "--external-ip=127.0.0.1",
    ];
    let relay = Relay::start_in(&Arc::new(Home::new()), &listen);
    let (_, token) = invite(relay.home(), &[]);
    let hinted = |words: &[&str]| {
        let home = Home::new();
        let server = relay.url();
        let ended = home.run(&[words, &["--server", &server]].concat());
        assert_eq!(ended.code, Some(4), "{ended:?}");
        ended.stderr.lines().last().unwrap().to_owned()
    };
    assert!(hinted(&["http", "1"]).starts_with("give an enrolment token of the relay"));
    assert!(is_in(&relay, "one", &token));
    let used = hinted(&["http", "1", "--enroll-token", &token]);
    assert!(
        used.starts_with("ask the relay's operator for a new token"),
        "{used}"
    );
    let port = hinted(&["tcp", "1", "--visible"]);
    assert!(
        port.contains("public ports") && !port.contains("token"),
        "{port}"
    );
}

/// Beside those that were made for somebody there are those that nobody has labelled.
#[test]
fn the_common_token_and_that_of_the_first_start_are_marked() {
    let relay = Relay::start(&[PUBLIC]);
    let (_, _) = invite(relay.home(), &["--label", "anna-laptop"]);
    let labels = |relay: &Relay| -> Vec<String> {
        let table = relay_says(relay.home(), &["invites"]);
        let lines = table.lines().skip(1);
        lines
            .map(|line| line.split('\t').nth(5).unwrap().to_owned())
            .collect()
    };
    assert_eq!(labels(&relay), ["(from the first start)", "anna-laptop"]);
    let flags = [PUBLIC, "--enroll-token", "chosen-by-the-operator"];
    let relay = relay.restart(&flags);
    let common = "(common: --enroll-token or its replacement)";
    assert_eq!(
        labels(&relay),
        ["(from the first start)", "anna-laptop", common]
    );
    let kinds: Vec<_> = listed(relay.home())
        .iter()
        .map(|invite| (invite["first"].clone(), invite["common"].clone()))
        .collect();
    let [yes, no] = [json!(true), json!(false)];
    assert_eq!(
        kinds,
        [
            (yes.clone(), no.clone()),
            (no.clone(), no.clone()),
            (no, yes)
        ]
    );
}

/// The operator's cookie goes along with what a tenant's page asks for, as both are names of one site: its origin is
/// what keeps that out.
#[test]
fn a_tenants_page_makes_no_invite_with_the_operators_cookie() {
    let relay = Relay::start(&[PUBLIC]);
    let token = relay.operator_token();
    let code = format!("code={token}");
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let entered = relay.client().send("POST", "/auth", &form, code.as_bytes());
    let cookie = entered
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let ask = |method: &str, path: &str, more: &[(&str, &str)]| {
        let own = [("Cookie", cookie.as_str()), ("X-Forwarded-Proto", "https")];
        let headers = [&own[..], more].concat();
        relay.client().send(method, path, &headers, b"{}")
    };
    let json = ("Content-Type", "application/json");
    // A misspelled field is rejected, so that an hour does not become a week.
    let headers = [("Cookie", cookie.as_str()), json];
    let body = br#"{"for": "1h"}"#;
    let unknown = relay.client().send("POST", "/api/invites", &headers, body);
    assert!(
        unknown.status() == 400 && unknown.text().contains("'for'"),
        "{}",
        unknown.text()
    );
    for more in [
        &[json, ("Origin", "https://shop.localhost")][..],
        &[json, ("Origin", "null")],
        &[json, ("Sec-Fetch-Site", "same-site")],
        &[("Content-Type", "text/plain")],
    ] {
        let refused = ask("POST", "/api/invites", more).status();
        assert!(refused == 403 || refused == 415, "{more:?}: {refused}");
    }
    assert_eq!(listed(relay.home()).len(), 1, "that of the first start");
    let made = ask("POST", "/api/invites", &[json]);
    assert_eq!(made.status(), 200, "{}", made.text());
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let secret = made.data()["token"].as_str().unwrap().to_owned();
    let again = ask("GET", "/api/invites", &[]);
    assert!(again.status() == 200 && !again.text().contains(&secret));
    assert_eq!(relay.client().get("/api/invites").status(), 401);
}

/// Many come by it at the same moment, and each with a good token.
#[test]
fn an_invite_lets_in_no_more_than_it_says_however_they_race() {
    let relay = Arc::new(Relay::start(&[PUBLIC]));
    let (_, token) = invite(relay.home(), &["--uses", "3"]);
    let together = Arc::new(Barrier::new(12));
    let calls: Vec<_> = (0..12)
        .map(|number| {
            let (relay, together, token) =
                (Arc::clone(&relay), Arc::clone(&together), token.clone());
            std::thread::spawn(move || {
                together.wait();
                is_in(&relay, &format!("c{number}"), &token)
            })
        })
        .collect();
    let in_now = calls
        .into_iter()
        .filter_map(|call| call.join().unwrap().then_some(()));
    assert_eq!(in_now.count(), 3);
}

/// Nobody is taken for another one, also of two who come at the same moment. Who is in already stays.
#[test]
fn connectors_have_names_that_people_tell_apart() {
    let relay = Arc::new(Relay::start(&[PUBLIC]));
    let (_, token) = invite(relay.home(), &["--uses", "9"]);
    let alike = ["office", "Office", "OFFICE.", "office.."];
    let together = Arc::new(Barrier::new(alike.len()));
    let calls = alike.map(|name| {
        let (relay, together, token) = (Arc::clone(&relay), Arc::clone(&together), token.clone());
        std::thread::spawn(move || {
            together.wait();
            (name, ask(&relay, name, &token))
        })
    });
    let answers = calls.map(|call| call.join().unwrap());
    let is_in = |(_, (status, _)): &&(&str, (u16, String))| *status == 200;
    assert_eq!(answers.iter().filter(is_in).count(), 1, "{answers:?}");
    for (name, (status, text)) in &answers {
        assert!(
            *status == 200 || (*status == 403 && text.contains("the same name")),
            "{name}: {text}"
        );
        assert_eq!(ask(&relay, name, &token).0, *status, "{name} again");
    }
    for name in [" office", "office ", "office\t", ".office", ""] {
        assert_eq!(ask(&relay, name, &token).0, 400, "{name:?}");
    }
    assert!(self::is_in(&relay, "offices", &token));
    let home = Arc::clone(relay.home());
    drop(Arc::into_inner(relay));
    let data = home.path().join("relay");
    let mut state = support::relay::state(&data);
    let kept = state["connectors"]["offices"].clone();
    state["connectors"]["OffiCes."] = kept;
    support::relay::put_state(&data, &state);
    let relay = Relay::start_in(&home, &[&[PUBLIC][..], &PORTS].concat());
    for name in ["offices", "OffiCes."] {
        assert!(self::is_in(&relay, name, &token), "{name} of before");
    }
    assert_eq!(ask(&relay, "OFFICES", &token).0, 403);
    relay_says(&home, &["revoke", "offices"]);
    assert_eq!(
        ask(&relay, "officeS", &token).0,
        403,
        "nor of one who was turned out"
    );
}

#[test]
fn what_is_taken_back_lets_nobody_in_and_who_came_by_it_stays() {
    let relay = Relay::start(&[PUBLIC]);
    let (id, token) = invite(relay.home(), &["--uses=5", "--for=12h"]);
    assert!(is_in(&relay, "one", &token));
    let table = relay_says(relay.home(), &["invites"]);
    assert!(table.contains(&format!("{id}\tgood\t1/5\t")), "{table}");
    relay_says(relay.home(), &["uninvite", &id]);
    assert_eq!(ask(&relay, "two", &token).0, 403);
    assert!(is_in(&relay, "one", ""));
    let said = relay_says(relay.home(), &["revoke", "one"]);
    assert!(said.contains(&format!("({id})")), "{said}");
    let again = relay.home().run(&["relay", "uninvite", &id]);
    assert!(
        again.code == Some(1) && again.stderr.contains("relay invites"),
        "{again:?}"
    );
    for flags in [
        ["--uses", "0"],
        ["--for", "0s"],
        ["--for", "1"],
        ["--label", "a\nb"],
    ] {
        let refused = relay
            .home()
            .run(&[&["relay", "invite"], &flags[..]].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
    }
}

/// Its end is passed while the relay does not look.
#[test]
fn an_invite_ends_by_itself() {
    let relay = Relay::start(&[PUBLIC]);
    let (_, token) = invite(relay.home(), &["--for", "1s"]);
    let is_over = || {
        listed(relay.home())
            .iter()
            .any(|invite| invite["status"] == "over")
    };
    support::wait_until(support::TIMEOUT, "its end", is_over);
    let (status, said) = ask(&relay, "late", &token);
    assert!(status == 403 && said.contains("has expired"), "{said}");
}

#[test]
fn invites_are_made_and_taken_back_where_no_relay_runs() {
    let home = Arc::new(Home::new());
    let start = || Relay::start_in(&home, &[PORTS[0], PORTS[1], PUBLIC]);
    drop(start());
    let (id, token) = invite(&home, &["--uses", "2"]);
    let told = home.run(&["relay", "invite"]);
    assert!(
        told.stdout.starts_with("Enrolment token: ")
            && told.stderr.contains("no relay is running on "),
        "{told:?}"
    );
    let (other, gone) = invite(&home, &[]);
    relay_says(&home, &["uninvite", &other]);
    assert!(listed(&home).iter().any(|invite| invite["id"] == *id));
    let relay = start();
    assert!(is_in(&relay, "one", &token) && !is_in(&relay, "two", &gone));
    assert!(
        !relay.stdout().contains("Enrolment token"),
        "only the first start makes one"
    );
}

/// The one who is out knows its token, and so does nobody that came by another.
#[test]
fn a_revocation_forbids_its_invite_alone_and_is_undone() {
    let relay = Relay::start(&[PUBLIC]);
    let (id, team) = invite(relay.home(), &["--uses=9", "--label=team"]);
    let (_, other) = invite(relay.home(), &["--uses=9"]);
    assert!(is_in(&relay, "one", &team) && is_in(&relay, "two", &team));
    let said = relay_says(relay.home(), &["revoke", "one"]);
    assert!(
        said.contains(&format!("{id} team")) && !said.contains("Enrolment token"),
        "{said}"
    );
    let (status, said) = ask(&relay, "one-again", &team);
    assert!(status == 403 && said.contains("revoked"), "{said}");
    assert!(is_in(&relay, "two", ""), "who came by it stays");
    assert!(is_in(&relay, "three", &other), "others go on");
    let relay = relay.restart(&[PUBLIC]);
    assert_eq!(ask(&relay, "one-again", &team).0, 403, "for good");
    let said = relay_says(relay.home(), &["allow", "one"]);
    assert!(
        said.contains("still reserved for it") && said.contains("invite"),
        "{said}"
    );
    assert!(is_in(&relay, "one", "") && is_in(&relay, "four", &team));
}

/// The flag is in a unit file, and comes again with each start.
#[test]
fn a_revocation_forbids_the_command_lines_token_also_after_a_restart() {
    const CHOSEN: &str = "chosen-by-the-operator-of-this-relay-0123";
    let flags = [PUBLIC, "--enroll-token", CHOSEN];
    let relay = Relay::start(&flags);
    let (_, invited) = invite(relay.home(), &["--uses=2"]);
    assert!(is_in(&relay, "one", CHOSEN) && is_in(&relay, "two", &invited));
    let said = relay_says(relay.home(), &["revoke", "one"]);
    assert!(
        said.contains("--enroll-token") && said.contains("invites still work"),
        "{said}"
    );
    assert!(
        !said.contains("Enrolment token: "),
        "there is another way in: {said}"
    );
    let relay = relay.restart(&flags);
    assert!(
        relay.stderr().contains("was revoked or cancelled"),
        "{}",
        relay.stderr()
    );
    assert_eq!(ask(&relay, "one-again", CHOSEN).0, 403);
    assert!(is_in(&relay, "three", &invited));
    // The flag does not bring back a cancelled token either.
    let relay = relay.restart(&[PUBLIC, "--enroll-token", "another-one-of-the-operator"]);
    let shared = listed(relay.home());
    let shared = shared
        .iter()
        .find(|invite| invite["common"] == true && invite["status"] == "good");
    let id = shared.unwrap()["id"].as_str().unwrap();
    relay_says(relay.home(), &["uninvite", id]);
    let relay = relay.restart(&[PUBLIC, "--enroll-token", "another-one-of-the-operator"]);
    assert_eq!(ask(&relay, "four", "another-one-of-the-operator").0, 403);
}

/// The state that an earlier version left: one enrolment token for all, without an end.
#[test]
fn the_enrol_token_of_an_earlier_version_goes_on() {
    const CHOSEN: &str = "chosen-by-the-operator-of-this-relay-0123";
    let home = Arc::new(Home::new());
    let flags = [PORTS[0], PORTS[1], PUBLIC];
    let relay = Relay::start_in(&home, &[&flags[..], &["--enroll-token", CHOSEN]].concat());
    assert!(is_in(&relay, "one", CHOSEN));
    let data = relay.data();
    drop(relay);
    let mut state = support::relay::state(&data);
    let members = state.as_object_mut().unwrap();
    let invites = members.remove("invites").unwrap();
    members.insert("enroll_token".into(), invites[0]["token"].clone());
    members.insert("version".into(), json!(1));
    members["connectors"]["one"]
        .as_object_mut()
        .unwrap()
        .remove("invite");
    support::relay::put_state(&data, &state);
    let relay = Relay::start_in(&home, &flags);
    assert!(!relay.stdout().contains("Enrolment token"), "there is one");
    assert!(is_in(&relay, "one", "") && is_in(&relay, "two", CHOSEN));
    assert_eq!(listed(&home)[0]["uses"], Value::Null);
    let said = relay_says(&home, &["revoke", "one"]);
    assert!(
        said.contains("Enrolment token: "),
        "it was the only one: {said}"
    );
    assert_eq!(ask(&relay, "three", CHOSEN).0, 403);
}
