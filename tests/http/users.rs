//! Another user of this host: a child process under another user id. Needs root, as in CI;
//! without it the pure parts in `http::server::peer` are what is tested.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::fixture::{Fixture, start_with};
use postern::http::{Limits, Request, Response};

/// `nobody` on most systems; any user but ours will do.
const OTHER: u32 = 65534;

fn server(check: bool) -> Fixture {
    start_with(Limits::default(), check, |request: Request| {
        request.respond(Response::text(200, "ok"));
    })
}

/// The status that bash's own TCP client sees as `user`.
fn ask(server: &Fixture, user: u32, then: &str) -> String {
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; \
         printf 'GET / HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\nConnection: close\\r\\n\\r\\n' >&3; {then}",
        port = server.addr.port()
    );
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir("/")
        .uid(user)
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn another_user_of_this_host_is_refused() {
    if !rustix::process::geteuid().is_root() || !cfg!(target_os = "linux") {
        return;
    }
    let read = "head -n 1 <&3";
    let checked = server(true);
    assert!(ask(&checked, 0, read).contains(" 200 "));
    assert!(ask(&checked, OTHER, read).contains(" 403 "));
    let reached = checked.reached.load(std::sync::atomic::Ordering::SeqCst);
    let gone_at_once = ask(&checked, OTHER, "exec 3>&-");
    assert_eq!(gone_at_once, "");
    assert_eq!(checked.get("/").status, 200);
    let after = checked.reached.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(after, reached + 1, "a closed socket's owner is not root");
    assert!(ask(&server(false), OTHER, read).contains(" 200 "));
}
