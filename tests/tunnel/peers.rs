//! The tunnel's server against a client that is not ours: Python's paramiko, set up by `tests/setup.sh`.

use std::process::Command;

use crate::fixture::{free_port, serve_with_all_keys};
use postern::tunnel::server::Users;

#[test]
fn paramiko_finds_a_server_that_keeps_to_the_protocol() {
    let mut users = Users::default();
    users.add("me:secret").unwrap();
    let server = serve_with_all_keys(users);
    let (python, script) = support::peers::script("peer.py");
    let output = Command::new(python)
        .arg(script)
        .args([
            "client",
            "127.0.0.1",
            &server.address().port().to_string(),
            &free_port().to_string(),
            "me",
            "secret",
        ])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert_eq!(
        said.lines()
            .filter(|line| line.starts_with("passed: "))
            .count(),
        10,
        "{said}"
    );
}
