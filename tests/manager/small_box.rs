//! A machine that lacks something: a disk with no room, or that nobody may write to; open files; memory, where
//! `tests/dist.sh small` runs this.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::Arc;

use serde_json::json;
use support::flood::Flood;
use support::kill_on_drop::KillOnDrop;
use support::manager::{Manager, Target, environment};
use support::postern::binary;
use support::relay::Relay;
use support::share::Sharing;
use support::small_disk::SmallDisk;
use support::{Home, TIMEOUT, wait_until};

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

#[test]
fn a_machine_without_a_network_is_the_reason_that_a_share_gives() {
    let home = Home::new();
    let run = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.arg("--net").args(arguments);
        command.envs(environment(home.path())).output().unwrap()
    };
    if !run(&["true"]).status.success() {
        return eprintln!("NOT TRIED: this user cannot have a network of its own");
    }
    let binary = binary();
    let binary = binary.to_str().unwrap();
    let share = run(&[binary, "http", "1"]);
    let said = String::from_utf8_lossy(&share.stderr);
    assert_eq!(share.status.code(), Some(3), "{said}");
    assert!(said.contains("start the network of this machine"), "{said}");
    let found = run(&[binary, "doctor"]).stdout;
    let found = String::from_utf8_lossy(&found);
    assert!(found.contains("127.0.0.1 cannot be reached"), "{found}");
}

/// 64 visitors who take nothing, then one who does; and a long answer to its end, or as much of it as is long.
#[test]
fn many_visitors_who_take_nothing_leave_memory_for_others() {
    const LONG: u64 = 256 << 20;
    let (flood, target, manager) = (Flood::start(), Target::start(), Manager::start(&[]));
    let site = |name: &str, port: u16| {
        let app = json!({"protocol": "http", "port": port, "name": name});
        let id = manager.add(&app);
        let site = manager.connected(&id)["site_url"].clone();
        let site = site.as_str().unwrap();
        site.trim_start_matches("http://")
            .trim_end_matches('/')
            .to_owned()
    };
    let (floods, others) = (site("floods", flood.port), site("others", target.port()));
    let ask = |host: &str| {
        let (_, port) = host.rsplit_once(':').unwrap();
        let mut visitor = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
        write!(
            visitor,
            "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        visitor
    };
    let visit_others = || {
        let mut answer = String::new();
        ask(&others).read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("hello from the target"), "{answer}");
    };
    let open: Vec<TcpStream> = (0..64).map(|_| ask(&floods)).collect();
    flood.wait_stalled();
    visit_others();
    drop(open);
    wait_until(TIMEOUT, "their ends", || flood.open() == 0);
    let taken = std::io::copy(&mut ask(&floods).take(LONG), &mut std::io::sink());
    assert_eq!(taken.unwrap(), LONG);
    visit_others();
}
