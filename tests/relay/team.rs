//! A team's relay over the months: it moves, members leave and come, names are handed over.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use support::manager::{Manager, Target};
use support::relay::Relay;
use support::share::Sharing;
use support::{Home, wait_until};

/// Reason for which a name is not transferred to somebody who has not connected so far.
const IS_UNKNOWN: &str =
    "no connector has this label or name yet; it is known after its first connect\n";

/// Time in which a member finds a relay again that has moved.
const FOUND_WITHIN: Duration = Duration::from_secs(90);

/// A member's `postern start`, enrolled at the relay.
#[track_caller]
fn member(relay: &Relay, home: &Arc<Home>) -> Manager {
    let (url, token) = (relay.url(), relay.enrol_token());
    Manager::start_in(home, &["--server", &url, "--enroll-token", &token])
}

/// An application that is to have this site.
fn app(target: &Target, site: &str) -> Value {
    let mut app = target.app();
    for (field, value) in [("name", json!(site)), ("site_name", json!(site))] {
        app[field] = value;
    }
    app["protocol"] = json!("http");
    app
}

#[track_caller]
fn share(manager: &Manager, target: &Target, site: &str) -> String {
    let id = manager.add(&app(target, site));
    manager.connected(&id);
    id
}

#[track_caller]
fn is_there(relay: &Relay, site: &str) -> bool {
    let answer = relay.visit(site, "/");
    answer.status() == 200 && answer.text() == "hello from the target"
}

/// H1: the name of the relay leads to another machine now, whose tunnels come in at another address and port.
#[test]
fn a_relay_that_moved_is_found_again_without_a_command() {
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let relay = Relay::start_in(
        &home,
        &["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"],
    );
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let members = homes.each_ref().map(|home| member(&relay, home));
    let mut ids = Vec::new();
    for (at, member) in members.iter().enumerate() {
        ids.extend((0..3).map(|of| (at, share(member, &target, &format!("site-{at}-{of}")))));
    }
    let (url, port) = (relay.url(), target.port().to_string());
    let (alone, token) = (Home::new(), relay.enrol_token());
    let flags = [
        "http",
        &port,
        "--visible",
        "--name",
        "alone",
        "--server",
        &url,
    ];
    let flags = [&flags[..], &["--enroll-token", &token]].concat();
    let sharing = Sharing::start(&alone, &flags);
    sharing.link();
    let at = relay.address.to_string();
    let fingerprint = relay.said("Fingerprint: ");
    drop(relay);
    let relay = Relay::start_in(&home, &["--listen", &at, "--tunnel-listen=127.0.0.2:0"]);
    assert_eq!(
        relay.said("Fingerprint: "),
        fingerprint,
        "its directory moved along"
    );
    let sites = (0..2).flat_map(|at| (0..3).map(move |of| format!("site-{at}-{of}")));
    let sites: Vec<_> = sites.chain(["alone".to_owned()]).collect();
    wait_until(FOUND_WITHIN, "all sites", || {
        sites.iter().all(|site| is_there(&relay, site))
    });
    for (at, id) in &ids {
        let member = &members[*at];
        member.wait_status(id, "connected");
        let main = member.client().get("/api/tunnel").data();
        assert_eq!(main[0]["status"], "connected", "{main}");
    }
}

/// The answer to a call is not believed about the key: another server at the new address gets no password. It is tried
/// slowly, until the known key is back.
#[test]
fn a_relay_that_moved_shows_the_key_that_is_known() {
    let (home, target) = (Arc::new(Home::new()), Target::start());
    let relay = Relay::start_in(
        &home,
        &["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"],
    );
    let of_member = Arc::new(Home::new());
    let member = member(&relay, &of_member);
    let id = share(&member, &target, "site");
    let (at, data, was_at) = (relay.address.to_string(), relay.data(), relay.tunnel);
    drop(relay);
    // All but the keys is what it was.
    let is_key = |name: &str| name.starts_with("host.");
    let files = std::fs::read_dir(&data).unwrap().flatten();
    let keys: Vec<_> = files
        .filter(|file| is_key(&file.file_name().to_string_lossy()))
        .collect();
    assert!(!keys.is_empty(), "{data:?}");
    let keys: Vec<_> = keys.iter().map(std::fs::DirEntry::path).collect();
    let contents: Vec<_> = keys.iter().map(|key| std::fs::read(key).unwrap()).collect();
    for key in &keys {
        std::fs::remove_file(key).unwrap();
    }
    let relay = Relay::start_in(&home, &["--listen", &at, "--tunnel-listen=127.0.0.2:0"]);
    let shown = member.wait_for_within(FOUND_WITHIN, &id, "the changed key", |status| {
        status["error_class"] == "host-key-changed"
    });
    // It is found by its URL before the call tells where it is now.
    let named = [was_at, relay.tunnel].map(|tunnel| json!(tunnel.to_string()));
    assert!(named.contains(&shown["host_key"]["server"]), "{shown}");
    assert!(!is_there(&relay, "site"));
    let failed = member.wait_for_within(FOUND_WITHIN, &id, "the end of the round", |status| {
        status["status"] == "failed"
    });
    assert_eq!(failed["error_class"], "host-key-changed", "{failed}");
    let wait = failed["next_retry_ms"].as_u64().unwrap_or_default();
    assert!((6_000..=10_000).contains(&wait), "{failed}");
    let doctor = || of_member.run(&["doctor"]).stdout;
    let said = doctor();
    let shown = &failed["host_key"];
    let [known, offered] = ["known", "offered"].map(|key| shown[key].as_str().unwrap());
    let change = format!("does not match: known {known}, now {offered}");
    let line = format!("WRONG  host key: {}: {change}\n", relay.tunnel);
    assert!(said.contains(&line), "{line}: {said}");
    assert!(
        said.contains(&format!("'postern server trust {}'", relay.url())),
        "{said}"
    );
    drop(relay);
    for (key, content) in keys.iter().zip(contents) {
        std::fs::write(key, content).unwrap();
    }
    let relay = Relay::start_in(&home, &["--listen", &at, "--tunnel-listen=127.0.0.2:0"]);
    wait_until(FOUND_WITHIN, "the return", || is_there(&relay, "site"));
    member.wait_status(&id, "connected");
    let line = format!(
        "ok     host key: {}: {known} is the known one\n",
        relay.tunnel
    );
    let said = doctor();
    assert!(said.contains(&line), "{line}: {said}");
}

/// The site's URL at the relay, as a member's `start` has it.
#[track_caller]
fn wait_at(member: &Manager, id: &str, relay: &Relay, site: &str) {
    let url = format!("http://{site}.localhost:{}/", relay.address.port());
    let is = |status: &Value| status["status"] == "connected" && status["site_url"] == url;
    member.wait_for(id, &url, is);
}

#[track_caller]
fn operator(relay: &Relay, args: &[&str]) -> support::postern::Finished {
    relay.home().run(&[&["relay"], args].concat())
}

/// An application that keeps the heads of its requests.
fn recorder() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let of_thread = Arc::clone(&heads);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let heads = Arc::clone(&of_thread);
            std::thread::spawn(move || {
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n > 0) {
                    head.push(byte[0]);
                }
                heads
                    .lock()
                    .unwrap()
                    .push(String::from_utf8_lossy(&head).into_owned());
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nSet-Cookie: new=1\r\nConnection: close\r\n\r\nok";
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    (port, heads)
}

/// H2: a member leaves, and another one gets the name; nothing of the first site reaches the second by visitors' browsers.
#[test]
fn the_name_of_a_member_who_left_is_released_and_browsers_forget_its_site() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let [mut leaves, stays] = homes.each_ref().map(|home| member(&relay, home));
    share(&leaves, &target, "wiki");
    let refused = operator(&relay, &["release", "wiki"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--force"), "{refused:?}");
    assert!(is_there(&relay, "wiki"));
    leaves.stop();
    wait_until(support::TIMEOUT, "its end", || !is_there(&relay, "wiki"));
    let released = operator(&relay, &["release", "wiki"]);
    assert_eq!(released.code, Some(0), "{released:?}");
    let again = operator(&relay, &["release", "wiki"]);
    assert!(
        again.stderr.contains("neither in use nor reserved"),
        "{again:?}"
    );
    let (port, heads) = recorder();
    let mut app = app(&target, "wiki");
    app["port"] = json!(port);
    let id = stays.add(&app);
    stays.connected(&id);
    wait_at(&stays, &id, &relay, "wiki");
    let host = format!("wiki.localhost:{}", relay.address.port());
    let ask = |cookie: &str, dest: &str| {
        let headers = [
            ("Host", host.as_str()),
            ("Origin", ""),
            ("Cookie", cookie),
            ("Sec-Fetch-Dest", dest),
        ];
        let before = heads.lock().unwrap().len();
        let answer = relay.client().send("GET", "/a/b", &headers, b"");
        let asked = heads.lock().unwrap();
        let is_asked = |head: &&String| head.starts_with("GET /a/b");
        let head = asked.iter().skip(before).find(is_asked).cloned();
        (answer, head.unwrap())
    };
    let (answer, head) = ask("session=earlier", "document");
    let cleared: Vec<&str> = answer.headers("clear-site-data").collect();
    assert_eq!(
        cleared,
        ["\"cache\", \"storage\""],
        "never the cookies of other sites"
    );
    assert!(!head.to_lowercase().contains("cookie:"), "{head}");
    let set: Vec<&str> = answer.headers("set-cookie").collect();
    for path in ["/", "/a", "/a/", "/a/b"] {
        let ended = format!("session=; Path={path}; Max-Age=0");
        assert!(set.contains(&ended.as_str()), "{path}: {set:?}");
    }
    assert_eq!(
        set.last(),
        Some(&"new=1"),
        "the application's own come last"
    );
    let mark = set
        .iter()
        .find_map(|line| line.strip_prefix("postern-cleared="));
    let mark = mark.unwrap().split(';').next().unwrap();
    let marked = format!("session=new; postern-cleared={mark}");
    let (answer, head) = ask(&marked, "document");
    assert_eq!(
        answer.headers("clear-site-data").count(),
        0,
        "once a visitor"
    );
    assert!(head.contains("session=new"), "{head}");
    let (answer, _) = ask("session=other", "image");
    assert_eq!(answer.headers("clear-site-data").count(), 0);
}

/// H2: a member has a new laptop, and its sites are to have the names that the old one still serves.
#[test]
fn a_new_laptop_gets_the_old_names() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let [old, new] = homes.each_ref().map(|home| member(&relay, home));
    let was = share(&old, &target, "shop");
    let is = share(&new, &target, "shop");
    wait_at(&old, &was, &relay, "shop");
    wait_at(&new, &is, &relay, "shop-2");
    let connectors = relay.status()["connectors"].clone();
    let connectors = connectors.as_array().unwrap().iter();
    let has_it = |connector: &&Value| {
        connector["applications"][0]["url"]
            .as_str()
            .unwrap()
            .contains("shop-2")
    };
    let newer = connectors.clone().find(has_it).unwrap()["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let label = connectors.clone().next().unwrap()["label"]
        .as_str()
        .unwrap()
        .to_owned();
    for (args, why) in [
        (["transfer", "shop", &newer], "--force"),
        (["transfer", "shop", &label], "2 connectors have this label"),
        (
            ["transfer", "nosuch", &newer],
            "neither in use nor reserved",
        ),
        (["transfer", "shop", "nobody"], IS_UNKNOWN),
        (["transfer", "shop-2", &newer], "already has the name"),
    ] {
        let refused = operator(&relay, &args);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains(why), "{args:?}: {refused:?}");
    }
    let done = operator(&relay, &["transfer", "shop", &newer, "--force"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    wait_at(&new, &is, &relay, "shop");
    wait_at(&old, &was, &relay, "shop-3");
    let text = |site: &str| is_there(&relay, site);
    wait_until(support::TIMEOUT, "both sites", || {
        text("shop") && text("shop-3")
    });
    // The transfer survives a restart of the relay.
    let relay = relay.restart(&[]);
    wait_until(FOUND_WITHIN, "both sites", || {
        is_there(&relay, "shop") && is_there(&relay, "shop-3")
    });
    wait_at(&new, &is, &relay, "shop");
}

/// Transfers a name while no relay runs.
#[test]
fn a_name_is_transferred_while_the_relay_does_not_run() {
    use support::relay::{body, with};
    let mut relay = Relay::start(&[]);
    let call = |relay: &Relay, connector: &str| {
        let wish = with(
            body(connector, "a", "http", 1),
            json!({"site_name": "shop"}),
        );
        let url = relay.assign(&wish)["app"]["site_url"]
            .as_str()
            .unwrap()
            .to_owned();
        url.split("://")
            .nth(1)
            .unwrap()
            .split('.')
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        (call(&relay, "one"), call(&relay, "two")),
        ("shop".into(), "shop-2".into())
    );
    relay.stop();
    let unknown = operator(&relay, &["transfer", "shop", "three"]);
    assert!(
        unknown.code == Some(1) && unknown.stderr.contains(IS_UNKNOWN),
        "{unknown:?}"
    );
    let done = operator(&relay, &["transfer", "shop", "two"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(
        done.stderr.contains("takes effect at its next start"),
        "{done:?}"
    );
    let relay = relay.restart(&[]);
    assert_eq!(
        (call(&relay, "one"), call(&relay, "two")),
        ("shop-3".into(), "shop".into())
    );
}

/// The operator finds out what is to be transferred, and is told what is left of it.
#[test]
fn the_names_of_a_revoked_connector_are_shown_and_those_that_are_left_come_back() {
    use support::relay::{body, with};
    let mut relay = Relay::start(&[]);
    for (connector, site) in [
        ("one", "wiki"),
        ("one", "shop"),
        ("one", "old"),
        ("two", "db"),
    ] {
        let app = body(connector, site, "http", 1);
        relay.assign(&with(app, json!({"site_name": site})));
    }
    let app = body("one", "old", "http", 1);
    relay.assign(&with(app, json!({"site_name": "new"})));
    let sites = |relay: &Relay| {
        let listed = operator(relay, &["list", "--json"]).stdout;
        let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
        let one = listed.iter().find(|of| of["name"] == "one").unwrap();
        one["sites"].clone()
    };
    assert_eq!(sites(&relay), json!(null), "it has applications");
    assert_eq!(operator(&relay, &["revoke", "one"]).code, Some(0));
    let all = json!(["new", "old", "shop", "wiki"]);
    assert_eq!(relay.status()["revoked"][0]["sites"], all);
    assert_eq!(sites(&relay), all);
    let listed = operator(&relay, &["list"]).stdout;
    let rows: Vec<&str> = listed
        .lines()
        .filter(|row| row.contains("\trevoked\t"))
        .collect();
    assert_eq!(rows.len(), 4, "{listed}");
    let url = format!("\thttp://wiki.localhost:{}/\t", relay.address.port());
    assert!(rows[3].contains(&url), "{listed}");
    assert_eq!(operator(&relay, &["transfer", "wiki", "two"]).code, Some(0));
    assert_eq!(operator(&relay, &["release", "old"]).code, Some(0));
    assert_eq!(sites(&relay), json!(["new", "shop"]));
    relay.stop();
    assert_eq!(sites(&relay), json!(["new", "shop"]));
    let relay = relay.restart(&[]);
    let allowed = operator(&relay, &["allow", "one"]);
    let said =
        "allowed one: it is enrolled again, with the names and ports still reserved for it\n";
    assert_eq!(allowed.stdout, said);
    let applications = relay.status()["connectors"][0]["applications"].clone();
    assert_eq!(applications.as_array().unwrap().len(), 2, "{applications}");
}

/// H2: its owner gives a name away with the application; without that it is reserved.
#[test]
fn a_removed_application_gives_its_name_back_when_its_owner_says_so() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let [first, second] = homes.each_ref().map(|home| member(&relay, home));
    for site in ["kept", "given"] {
        share(&first, &target, site);
    }
    assert_eq!(homes[0].run(&["app", "remove", "kept"]).code, Some(0));
    let given = homes[0].run(&["app", "remove", "given", "--release"]);
    assert_eq!(given.code, Some(0), "{given:?}");
    for (site, found) in [("given", "given"), ("kept", "kept-2")] {
        let id = share(&second, &target, site);
        wait_at(&second, &id, &relay, found);
    }
}

/// H3: another name than the wished one is told wherever the address is; one on the command line is had or refused.
#[test]
fn another_name_than_the_wished_one_is_told_and_a_required_one_is_refused() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let [first, second] = homes.each_ref().map(|home| member(&relay, home));
    share(&first, &target, "wiki");
    let id = share(&second, &target, "wiki");
    let status = second.status(&id);
    assert_eq!(status["site_name_wanted"], "wiki", "{status}");
    let own = first.client().get("/api/apps").data();
    assert_eq!(own[0]["connection"]["site_name_wanted"], json!(null));
    let home = &homes[1];
    for args in [
        &["app", "connect", "wiki"][..],
        &["app", "reconnect", "wiki"],
    ] {
        let told = home.run(args);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.stderr.contains("'wiki' is already taken"), "{told:?}");
    }
    for args in [&["status"][..], &["app", "show", "wiki"]] {
        let told = home.run(args);
        let is_told = ["is taken", "name taken"]
            .iter()
            .any(|words| told.stdout.contains(words));
        assert!(is_told, "{told:?}");
    }
    let port = target.port().to_string();
    let args = [
        "app",
        "add",
        "http",
        &port,
        "--name",
        "again",
        "--site-name",
        "wiki",
        "--connect",
    ];
    let refused = home.run(&args);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("the name 'wiki' is already taken"),
        "{refused:?}"
    );
    let (alone, url, token) = (Home::new(), relay.url(), relay.enrol_token());
    let flags = [
        "http",
        &port,
        "--site-name",
        "wiki",
        "--server",
        &url,
        "--enroll-token",
        &token,
    ];
    let refused = alone.run(&flags);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("the name 'wiki' is already taken"),
        "{refused:?}"
    );
    assert!(!relay.status().to_string().contains("wiki-3"));
}

/// A name of two letters is one; a reserved word of two is none.
#[test]
fn a_site_is_called_by_two_letters() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let home = Arc::new(Home::new());
    let member = member(&relay, &home);
    let id = share(&member, &target, "qa");
    wait_at(&member, &id, &relay, "qa");
    assert!(is_there(&relay, "qa"));
    let refused = member.client().post("/api/apps", &app(&target, "ns"));
    assert_eq!(refused.status(), 400, "{}", refused.text());
}

/// A member gives its site another name; the first one stays its own, and nobody else gets it.
#[test]
fn a_renamed_site_keeps_its_first_name_from_others() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let [first, second] = homes.each_ref().map(|home| member(&relay, home));
    let id = share(&first, &target, "before");
    let edited = homes[0].run(&["app", "edit", "before", "--site-name", "after"]);
    assert_eq!(edited.code, Some(0), "{edited:?}");
    assert_eq!(homes[0].run(&["app", "reconnect", "before"]).code, Some(0));
    wait_at(&first, &id, &relay, "after");
    assert!(is_there(&relay, "after"));
    assert_eq!(relay.visit("before", "/").status(), 410);
    let other = share(&second, &target, "before");
    wait_at(&second, &other, &relay, "before-2");
}

/// An application that wished for no other name than its own is called by a name that is transferred to its connector, and
/// keeps its address when it is renamed, or when it wishes for a name that somebody else has.
#[test]
fn an_address_changes_only_for_a_name_that_is_to_be_had() {
    let (relay, target) = (Relay::start(&[]), Target::start());
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let [first, second] = homes.each_ref().map(|home| member(&relay, home));
    let plain = |member: &Manager, name: &str| {
        let mut app = app(&target, name);
        app["site_name"] = json!(null);
        let id = member.add(&app);
        member.connected(&id);
        id
    };
    let (_, id) = (plain(&first, "shop"), plain(&second, "shop"));
    wait_at(&second, &id, &relay, "shop-2");
    let name = |site: &str| {
        let status = relay.status();
        let all = status["connectors"].as_array().unwrap().iter();
        let has = |of: &&Value| {
            let applications = of["applications"].as_array().unwrap().iter();
            let mut urls = applications.map(|of| of["url"].as_str().unwrap());
            urls.any(|url| url.contains(&format!("//{site}.")))
        };
        all.clone().find(has).unwrap()["name"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let done = operator(&relay, &["revoke", &name("shop")]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let done = operator(&relay, &["transfer", "shop", &name("shop-2")]);
    assert_eq!(done.code, Some(0), "{done:?}");
    wait_at(&second, &id, &relay, "shop");
    // Renamed, it stays where its visitors look for it, which is no name that somebody has taken.
    let edited = homes[1].run(&["app", "edit", "shop", "--name", "till"]);
    assert_eq!(edited.code, Some(0), "{edited:?}");
    let again = homes[1].run(&["app", "reconnect", "till"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(!again.stderr.contains("taken"), "{again:?}");
    wait_at(&second, &id, &relay, "shop");
    // A name in use is refused, and the own name is not given up for it.
    plain(&second, "wiki");
    let edited = homes[1].run(&["app", "edit", "till", "--site-name", "wiki"]);
    assert_eq!(edited.code, Some(0), "{edited:?}");
    let again = homes[1].run(&["app", "reconnect", "till"]);
    assert!(
        again.stderr.contains("'wiki' is already taken"),
        "{again:?}"
    );
    wait_at(&second, &id, &relay, "shop");
    assert!(is_there(&relay, "shop"));
}

/// A token that is good once has been used: the second member reads what to do, and an invite lets it in.
#[test]
fn a_used_up_token_says_so_and_a_new_invite_lets_the_member_in() {
    let (relay, target) = (
        Relay::start(&["--public-url", "https://localhost"]),
        Target::start(),
    );
    let made = operator(&relay, &["invite", "--label", "ann", "--json"]);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let (url, token) = (relay.url(), made["token"].as_str().unwrap().to_owned());
    let homes = [(); 2].map(|()| Arc::new(Home::new()));
    let [first, second] = homes.each_ref().map(|home| {
        let manager = Manager::start_in(home, &[]);
        let server = json!({"url": url, "default": true, "enroll_token": token});
        assert_eq!(manager.client().post("/api/servers", &server).status(), 200);
        manager
    });
    share(&first, &target, "one");
    let id = second.add(&app(&target, "two"));
    second.connect(&id);
    let refused = second.wait_status(&id, "failed");
    assert_eq!(refused["error_class"], "forbidden", "{refused}");
    let said = refused["error"].as_str().unwrap();
    assert!(said.contains("token") && said.contains("used"), "{said}");
    let made = operator(&relay, &["invite", "--label", "bob", "--json"]);
    let made: Value = serde_json::from_str(&made.stdout).unwrap();
    let token = made["token"].as_str().unwrap();
    let added = homes[1].run(&["server", "add", &url, "--enroll-token", token]);
    assert_eq!(added.code, Some(0), "{added:?}");
    second.connected(&id);
    assert!(is_there(&relay, "two"));
}
