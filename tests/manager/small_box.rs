//! A machine that lacks something: a disk with no room, or that nobody may write to; open files.

use std::sync::Arc;

use support::kill_on_drop::KillOnDrop;
use support::manager::{Manager, Target, environment};
use support::postern::binary;
use support::relay::Relay;
use support::share::Sharing;
use support::small_disk::SmallDisk;
use support::{Home, TIMEOUT};

#[test]
fn a_full_disk_ends_nothing_and_a_temporary_share_needs_no_room() {
    let (relay, target, home) = (Relay::start(&[]), Target::start(), Arc::new(Home::new()));
    let Some(disk) = SmallDisk::mount(home.path()) else {
        return;
    };
    let manager = Manager::start_in(&home, &["--server", &relay.url()]);
    let port = target.port().to_string();
    let kept = ["app", "add", "http", &port, "--name", "kept", "--connect"];
    assert_eq!(home.run(&kept).code, Some(0), "{}", manager.stderr());
    let names = || {
        let apps = manager.client().get("/api/apps").data();
        let name = |app: &serde_json::Value| app["name"].as_str().unwrap().to_owned();
        apps.as_array()
            .unwrap()
            .iter()
            .map(name)
            .collect::<Vec<_>>()
    };
    disk.fill();
    for (site, arguments) in [("notes", vec![]), ("other", vec!["--for", "1h"])] {
        let share = [vec!["http", &port, "--name", site], arguments].concat();
        let mut sharing = Sharing::start(&home, &share);
        sharing.link();
        assert_eq!(names(), ["kept", site]);
        for site in ["kept", site] {
            assert_eq!(relay.visit(site, "/").text(), "hello from the target");
        }
        assert_eq!(sharing.stop().and_then(|status| status.code()), Some(0));
        assert_eq!(names(), ["kept"], "{}", sharing.stderr());
    }
    let refused = home.run(&["app", "add", "http", "1", "--name", "new"]);
    assert_eq!(refused.code, Some(1));
    for said in ["No space left on device", "free some space on that disk"] {
        assert!(refused.stderr.contains(said), "{refused:?}");
    }
    let found = home.run(&["doctor"]).stdout;
    assert!(
        found.contains("is on a full disk (no free space)"),
        "{found}"
    );
    disk.free();
    assert_eq!(
        home.run(&["app", "add", "http", "1", "--name", "new"]).code,
        Some(0)
    );
    assert_eq!(names(), ["kept", "new"]);
}

#[test]
fn a_full_disk_is_the_reason_that_a_share_gives() {
    let (home, target) = (Home::new(), Target::start());
    let Some(disk) = SmallDisk::mount(home.path()) else {
        return;
    };
    disk.fill();
    let port = target.port().to_string();
    let refused = home.run(&["http", &port]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .contains("No space left on device\nfree some space"),
        "{refused:?}"
    );
    disk.free();
    disk.protect();
    let found = home.run(&["doctor"]).stdout;
    assert!(
        found.contains("cannot be written: Read-only file system"),
        "{found}"
    );
}

#[test]
fn too_few_open_files_are_the_reason_that_a_share_gives() {
    let home = Home::new();
    let mut limited = KillOnDrop::new("prlimit").args(["--nofile=30:30"]);
    for (name, value) in environment(home.path()) {
        limited = limited.env(name, value);
    }
    let mut share = limited.args([binary()]).args(["http", "1"]).start();
    let ended = share.wait(TIMEOUT).and_then(|status| status.code());
    share.drained();
    let said = share.stderr.text();
    assert_eq!(ended, Some(1), "{said}");
    assert!(
        said.contains("the limit of open files is 30, and 40 are needed\nraise the limit"),
        "{said}"
    );
}
