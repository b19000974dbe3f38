//! Runs the unit tests of the pages' DOM-free modules under Node.js.

use std::path::PathBuf;
use std::process::Command;

#[test]
fn the_modules_of_the_pages_pass_their_unit_tests() {
    let root = env!("CARGO_MANIFEST_DIR");
    let listed = std::fs::read_dir(format!("{root}/tests/js")).expect("tests/js exists");
    let files: Vec<PathBuf> = listed
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    assert!(!files.is_empty(), "no unit tests in tests/js");
    // A module that never ends must not hold up the others.
    let done = Command::new("timeout")
        .args(["300", "node", "--test"])
        .args(&files)
        .current_dir(root)
        .output()
        .expect("Node.js; run tests/setup.sh");
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}
