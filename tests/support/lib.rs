//! Tools for all integration tests: private database servers, the real `postern` binary, a small HTTP client that
//! shares no code with the program, and a driver for headless Chromium.
//!
//! Everything started here ends when its owner is dropped, when the test panics, and when the test process itself is
//! killed (see [`kill_on_drop`]).
pub mod balancer;
pub mod chromium;
pub mod database;
pub mod fake_clock;
pub mod fault_proxy;
pub mod fleet;
pub mod flood;
pub mod front;
pub mod galera;
pub mod gateway;
pub mod http;
pub mod kept;
pub mod kill_on_drop;
pub mod load;
pub mod manager;
pub mod openapi;
pub mod own_process;
pub mod peers;
pub mod ports;
pub mod postern;
pub mod process;
pub mod prometheus;
pub mod quick_setup;
pub mod relay;
pub mod share;
pub mod small_disk;
pub mod websocket;

pub use self::postern::{Home, Postern};
pub use chromium::Browser;
pub use database::Database;
pub use load::{allowed, assert_within, slowdown};
pub use ports::{free_port, keep_the_usual_port_away};

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Limit for something that should take well under a second; generous because two cores may be
/// shared by many test binaries.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Pause between the first two looks at a condition, which doubles from look to look...
const FIRST_POLL: Duration = Duration::from_millis(2);
/// ... up to this one: a look may cost a query or a call to the browser.
const LAST_POLL: Duration = Duration::from_millis(25);

/// Waits until `condition` holds and panics with `what` when `patience` runs out.
#[track_caller]
pub fn wait_until(patience: Duration, what: &str, condition: impl FnMut() -> bool) {
    assert!(
        holds_within(patience, condition),
        "waited {patience:?} in vain: {what}"
    );
}

/// True if `condition` becomes true within `patience`.
pub fn holds_within(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    let mut poll = FIRST_POLL;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(poll);
        poll = (poll * 2).min(LAST_POLL);
    }
}

/// True in the long form of the tests, which `POSTERN_TEST_WHOLE` asks for (`make nightly`).
pub fn is_whole() -> bool {
    std::env::var_os("POSTERN_TEST_WHOLE").is_some_and(|value| !value.is_empty())
}

/// A number of rounds: `usual`, or `whole` in the long form.
pub fn rounds(usual: usize, whole: usize) -> usize {
    if is_whole() { whole } else { usual }
}

/// A directory for what survives the test run (templates, screenshots), beside [`build_dir`].
pub fn target_dir(name: &str) -> PathBuf {
    let dir = build_dir().with_file_name("tmp").join(name);
    std::fs::create_dir_all(&dir)
        .unwrap_or_else(|e| panic!("cannot create {}: {e}", dir.display()));
    dir
}

/// Directory of this build's programs: `target/debug`, as a test or bench itself runs from `target/debug/deps`.
pub fn build_dir() -> PathBuf {
    let own = std::env::current_exe().expect("the system tells where a program is");
    let dir = own.ancestors().nth(2);
    dir.expect("a test runs from target/PROFILE/deps")
        .to_owned()
}

/// Holds a lock between test processes until the answer is dropped.
pub fn exclusive(name: &str) -> File {
    let path = target_dir("locks").join(name);
    let file =
        File::create(&path).unwrap_or_else(|e| panic!("cannot create {}: {e}", path.display()));
    file.lock()
        .unwrap_or_else(|e| panic!("cannot lock {}: {e}", path.display()));
    file
}
