//! `postern doctor`.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use support::manager::Target;
use support::relay::Relay;
use support::{Home, free_port};

use super::json_of;

/// Every file below a directory, with its content.
fn files_below(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files_below(&path));
        } else {
            all.insert(
                path.to_string_lossy().into_owned(),
                fs::read(&path).unwrap(),
            );
        }
    }
    all
}

#[test]
fn the_doctor_names_what_is_wrong_and_changes_nothing() {
    let relay = Relay::start(&[]);
    let target = Target::start();
    let home = Home::new();
    let dead = free_port().to_string();
    home.run(&[
        "app",
        "add",
        "http",
        &target.port().to_string(),
        "--name",
        "alive",
    ]);
    home.run(&["app", "add", "tcp", &dead, "--name", "gone"]);
    home.run(&["server", "add", &relay.url(), "--default"]);
    let before = files_below(home.path());
    let said = home.run(&["doctor"]);
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{said:?}");
    let port = target.port();
    for line in [
        format!("ok     application: alive: 127.0.0.1:{port} answers\n"),
        format!("WRONG  application: gone: 127.0.0.1:{dead} refuses connections\n"),
        format!("ok     quick-setup: {} accepts requests\n", relay.url()),
        "ok     sealed files: readable; applications: 2,".to_owned(),
    ] {
        assert!(said.stdout.contains(&line), "{line}: {}", said.stdout);
    }
    assert_eq!(home.run(&["doctor", "--strict"]).code, Some(1));
    let found = json_of(&home.run(&["doctor", "--json"]));
    let of_check = |check: &str| {
        found
            .as_array()
            .unwrap()
            .iter()
            .filter(|one| one["check"] == check)
            .count()
    };
    assert_eq!(
        (of_check("application"), of_check("clock")),
        (2, 1),
        "{found}"
    );
    assert_eq!(files_below(home.path()), before);
    // An unreadable file stays where it is: another command sets it aside.
    fs::write(home.path().join(".apps"), "damaged").unwrap();
    let before = files_below(home.path());
    let said = home.run(&["doctor"]);
    assert!(said.stdout.contains("WRONG  sealed files: "), "{said:?}");
    assert_eq!(files_below(home.path()), before);
    let state = home.path().join("relay/relay.rows");
    fs::create_dir_all(state.parent().unwrap()).unwrap();
    fs::write(state, "damaged\n").unwrap();
    let said = home.run(&["doctor"]).stdout;
    let line = said
        .lines()
        .find(|line| line.starts_with("WRONG  relay's state: "));
    assert!(
        line.unwrap()
            .contains("relay.rows is damaged (line 1 of relay.rows)"),
        "{said}"
    );
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let said = home.run(&["doctor"]);
    assert!(
        said.stdout.contains("other users can write to it"),
        "{said:?}"
    );
}

#[test]
fn a_server_that_is_not_there_is_told_step_by_step() {
    let home = Home::new();
    let nobody = format!("http://127.0.0.1:{}", free_port());
    home.run(&["server", "add", &nobody]);
    let said = home.run(&["doctor"]).stdout;
    assert!(
        said.contains("ok     DNS: 127.0.0.1 is 127.0.0.1\n"),
        "{said}"
    );
    assert!(
        said.contains(&format!("WRONG  connection: {nobody}: ")),
        "{said}"
    );
    assert!(!said.contains("quick-setup"), "{said}");
    // A web server that is no relay.
    let target = Target::start();
    let home = Home::new();
    home.run(&[
        "server",
        "add",
        &format!("http://127.0.0.1:{}", target.port()),
    ]);
    let said = home.run(&["doctor"]).stdout;
    assert!(said.contains("WRONG  quick-setup: "), "{said}");
}
