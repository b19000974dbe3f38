//! Today's program and an older one, one as the relay and the other at a member: `make nightly PARTS=versions` builds the
//! older and names it in `POSTERN_TEST_OLD`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use support::kill_on_drop::KillOnDrop;
use support::manager::{Manager, Target};
use support::postern::binary;
use support::relay::Relay;
use support::{Home, wait_until};

/// Time in which a site is back after one of the programs was replaced.
const BACK_WITHIN: Duration = Duration::from_secs(90);

/// The programs that the tests mix.
fn programs() -> Option<[PathBuf; 2]> {
    let old = std::env::var_os("POSTERN_TEST_OLD").filter(|path| !path.is_empty())?;
    Some([binary(), old.into()])
}

#[track_caller]
fn relay(program: &PathBuf, home: &Arc<Home>, ports: &[&str]) -> Relay {
    let started = Relay::try_start_by(KillOnDrop::new(program), home, ports);
    started.unwrap_or_else(|failed| panic!("{}: {failed:?}", program.display()))
}

#[track_caller]
fn member(program: &PathBuf, home: &Arc<Home>, relay: &Relay, token: &str) -> Manager {
    let (url, kill_on_drop) = (relay.url(), KillOnDrop::new(program));
    let args = ["--server", &url, "--enroll-token", token];
    let started = Manager::try_start_by(kill_on_drop, "0", home, &args);
    started.unwrap_or_else(|failed| panic!("{}: {failed:?}", program.display()))
}

fn app(target: &Target, changes: Value) -> Value {
    let mut app = target.app();
    app["protocol"] = json!("http");
    let changes = changes.as_object().unwrap().clone();
    app.as_object_mut().unwrap().extend(changes);
    app
}

#[track_caller]
fn wait_there(relay: &Relay, site: &str) {
    wait_until(BACK_WITHIN, site, || {
        let answer = relay.visit(site, "/");
        answer.status() == 200 && answer.text() == "hello from the target"
    });
}

/// A relay where another one has run. Today's reads the state of the older one; that refuses today's, which goes on then.
#[track_caller]
fn relay_after(program: &PathBuf, today: &PathBuf, home: &Arc<Home>, ports: &[&str]) -> Relay {
    if program != today && home.path().join("relay/relay.rows").exists() {
        let refused = Relay::try_start_by(KillOnDrop::new(program), home, ports).err();
        let said = refused.map_or_else(String::new, |refused| refused.stderr);
        assert!(
            said.contains("later version") || said.contains("newer version"),
            "{said}"
        );
        return relay(today, home, ports);
    }
    relay(program, home, ports)
}

/// Both sides are replaced by the other program in place, one after the other, and taken back: the state that the older
/// one has written is read by today's, and no command is needed. A relay is not taken back.
fn mixed(programs: [&PathBuf; 2], today: &PathBuf) {
    let [one, other] = programs;
    let (at_relay, at_member) = (Arc::new(Home::new()), Arc::new(Home::new()));
    let target = Target::start();
    let first = relay(
        one,
        &at_relay,
        &["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"],
    );
    let token = first.enrol_token();
    let (listen, tunnel) = (first.address.to_string(), first.tunnel.to_string());
    let ports = ["--listen", &listen, "--tunnel-listen", &tunnel];
    let share = |member: &Manager, changes: Value| member.add(&app(&target, changes));
    let mut its = member(other, &at_member, &first, &token);
    let open = share(
        &its,
        json!({"name": "open", "site_name": "shop", "autoconnect": true}),
    );
    its.connected(&open);
    let closed = share(
        &its,
        json!({"name": "closed", "invisible": true, "autoconnect": true}),
    );
    its.connected(&closed);
    wait_there(&first, "shop");
    assert_ne!(first.visit("closed", "/").text(), "hello from the target");
    drop(first);
    let second = relay_after(other, today, &at_relay, &ports);
    wait_there(&second, "shop");
    its.stop();
    drop(its);
    let mut its = member(one, &at_member, &second, &token);
    wait_there(&second, "shop");
    let more = share(&its, json!({"name": "more", "autoconnect": true}));
    its.connected(&more);
    drop(second);
    let third = relay_after(one, today, &at_relay, &ports);
    for site in ["shop", "more"] {
        wait_there(&third, site);
    }
    its.stop();
    drop(its);
    let its = member(other, &at_member, &third, &token);
    for site in ["shop", "more"] {
        wait_there(&third, site);
    }
    for id in [&open, &closed, &more] {
        its.wait_status(id, "connected");
    }
    assert_ne!(third.visit("closed", "/").text(), "hello from the target");
}

#[test]
fn a_member_of_today_at_an_older_relay_and_the_reverse() {
    let Some([today, old]) = programs() else {
        return;
    };
    mixed([&old, &today], &today);
    mixed([&today, &old], &today);
}
