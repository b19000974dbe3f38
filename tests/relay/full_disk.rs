//! A relay whose disk takes nothing more: who is known is served, and nothing new is taken.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use postern::tunnel::client::Status;
use serde_json::json;
use support::Home;
use support::relay::{PASSWORD, ROWS, Relay, body, with};
use support::small_disk::SmallDisk;
use support::{TIMEOUT, wait_until};

const PORTS: [&str; 2] = ["--listen=127.0.0.1:0", "--tunnel-listen=127.0.0.1:0"];

/// An obstacle that keeps the relay from writing, and can be removed.
trait Obstacle {
    fn put(&self, data: &Path);
    fn remove(&self, data: &Path);
}

/// A directory where the state's file was: nothing can be renamed onto it, whoever tries.
struct InTheWay;

impl Obstacle for InTheWay {
    fn put(&self, data: &Path) {
        fs::rename(data.join(ROWS), data.join("kept")).unwrap();
        fs::create_dir(data.join(ROWS)).unwrap();
        File::create(data.join(ROWS).join("full")).unwrap();
    }

    fn remove(&self, data: &Path) {
        fs::remove_dir_all(data.join(ROWS)).unwrap();
        fs::rename(data.join("kept"), data.join(ROWS)).unwrap();
    }
}

impl Obstacle for SmallDisk {
    fn put(&self, _: &Path) {
        self.fill();
    }

    fn remove(&self, _: &Path) {
        self.free();
    }
}

#[test]
fn a_state_file_that_cannot_be_replaced_stops_nobody_who_is_known() {
    let home = Arc::new(Home::new());
    known_connectors_are_served(&home, &home.path().join("relay"), &InTheWay);
}

/// Skipped if nothing can be mounted; then only the test above checks it.
#[test]
fn a_full_disk_stops_nobody_who_is_known() {
    let home = Arc::new(Home::new());
    let data = home.path().join("disk");
    fs::create_dir(&data).unwrap();
    let Some(disk) = SmallDisk::mount(&data) else {
        return;
    };
    known_connectors_are_served(&home, &data, &disk);
}

/// A revoked connector is disconnected at once, although the revocation is lost when the relay ends.
fn is_out_at_once(relay: &Relay, flag: &str) {
    let tunnel = relay.tunnel("out", PASSWORD, &[]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    let revoked = relay.home().run(&["relay", "revoke", "out", flag]);
    assert_eq!(revoked.code, Some(1), "{revoked:?}");
    for said in ["is revoked", "not be saved", "restarts"] {
        assert!(revoked.stderr.contains(said), "{said}: {revoked:?}");
    }
    wait_until(TIMEOUT, "its tunnel ends", || {
        tunnel.snapshot().status != Status::Connected
    });
    assert_eq!(relay.visit("outs", "/").status(), 410);
    assert_eq!(relay.call(&body("out", "outs", "http", 1)).status(), 403);
}

fn known_connectors_are_served(home: &Arc<Home>, data: &Path, obstacle: &dyn Obstacle) {
    let flag = format!("--data={}", data.display());
    let relay = Relay::start_in(home, &[PORTS[0], PORTS[1], &flag]);
    let shop = body("one", "shop", "http", 3000);
    let hidden = with(body("one", "hidden", "http", 1), json!({"invisible": true}));
    relay.assign(&body("out", "outs", "http", 1));
    let before = [relay.assign(&shop), relay.assign(&hidden)];
    obstacle.put(data);
    for _ in 0..3 {
        assert_eq!(relay.assign(&shop)["app"], before[0]["app"]);
        assert_eq!(relay.assign(&hidden)["app"], before[1]["app"]);
    }
    let tunnel = relay.tunnel("one", PASSWORD, &[]);
    assert!(tunnel.wait(TIMEOUT), "{:?}", tunnel.snapshot());
    for refused in [
        body("one", "new", "http", 1),
        body("two", "shop", "http", 1),
        body("one", "shop", "http", 3001),
        with(shop.clone(), json!({"invisible": true})),
        with(hidden.clone(), json!({"invisible": false})),
    ] {
        assert_eq!(relay.call(&refused).status(), 500, "{refused}");
    }
    let said = |text: &str| relay.stderr().matches(text).count();
    assert_eq!(
        said("the relay's state is not saved: "),
        1,
        "{}",
        relay.stderr()
    );
    is_out_at_once(&relay, &flag);
    obstacle.remove(data);
    relay.assign(&body("one", "new", "http", 1));
    wait_until(TIMEOUT, "it is said that it is over", || {
        said("saved again") == 1
    });
    let relay = relay.restart(&[&flag]);
    assert_eq!(relay.assign(&shop)["app"], before[0]["app"]);
    let out = relay.call(&body("out", "outs", "http", 1)).status();
    assert_eq!(out, 403, "it was saved with what came after");
    assert_eq!(
        relay.status()["connectors"][0]["applications"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}
