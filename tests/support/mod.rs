//! What every integration test leans on: private MariaDB servers, the real `postern` binary, a small HTTP client
//! that shares no code with the program, and a driver for headless Chromium.
//!
//! Use it with `mod support;`. Everything started here ends when its owner is dropped, when the test panics, and
//! when the test process itself is killed (see [`kill_on_drop`]).
#![allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "test support: each test binary uses a part of it, and a panic is how a test reports"
)]

pub mod chromium;
pub mod http;
pub mod kill_on_drop;
pub mod manager;
pub mod mariadb;
pub mod openapi;
pub mod postern;
pub mod quick_setup;
pub mod relay;

pub use chromium::Browser;
pub use mariadb::MariaDb;
pub use postern::{Home, Postern};

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a test waits for something that should take well under a second; generous because two cores may be
/// shared by many test binaries.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Pause between two looks at a condition.
const POLL: Duration = Duration::from_millis(10);

/// Waits until `condition` holds and panics with `what` when `patience` runs out.
#[track_caller]
pub fn wait_until(patience: Duration, what: &str, condition: impl FnMut() -> bool) {
    assert!(
        holds_within(patience, condition),
        "waited {patience:?} in vain: {what}"
    );
}

/// Whether `condition` comes to hold before `patience` runs out.
pub fn holds_within(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(POLL);
    }
}

/// A directory for what survives the test run (templates, screenshots), inside `target/`.
pub fn target_dir(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&dir)
        .unwrap_or_else(|e| panic!("cannot create {}: {e}", dir.display()));
    dir
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
