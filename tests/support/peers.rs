//! Peers not written by us: libraries that `tests/setup.sh` installs, and our scripts that use them.

use std::path::{Path, PathBuf};

/// The Python that has the libraries, and a script of `tests/peers`.
#[track_caller]
pub fn script(name: &str) -> (PathBuf, PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let root = root.expect("this crate lies in tests/support");
    let python = root.join("target/peers/bin/python");
    assert!(
        python.exists(),
        "run tests/setup.sh first: {} is missing",
        python.display()
    );
    (python, root.join("tests/peers").join(name))
}
