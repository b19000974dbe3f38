//! Tests that need a process of their own: the test binary runs one test of it again.

use std::any::type_name_of_val;
use std::io::Read;
use std::process::{Command, Stdio};

/// Names the test that a process was started for.
const ALONE: &str = "POSTERN_TEST_ALONE";

/// Runs `test`, the calling test itself, in a process of its own. Returns true after a success, when nothing is left to
/// do, and false in the new process. Useful for resources that a process has only once: limits, counts of threads and
/// descriptors, memory.
#[track_caller]
pub fn ran_apart<T>(test: T) -> bool {
    let name = name_of(&test);
    if std::env::var_os(ALONE).is_some_and(|alone| alone == name) {
        end_with_parent();
        return false;
    }
    print!("{}", run_apart(again(test).env(ALONE, name)));
    true
}

/// The command that runs `test`, a test function of this binary, and nothing else.
pub fn again<T>(test: T) -> Command {
    let own = std::env::current_exe().expect("the system tells where a program is");
    let mut command = Command::new(own);
    command.args([name_of(&test), "--exact", "--nocapture", "--test-threads=1"]);
    command
}

/// Runs such a command to its end, which must be good, and answers what it printed.
#[track_caller]
pub fn run_apart(command: &mut Command) -> String {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the test binary is there");
    // Open until the child has ended: its end is how the child sees that of this process.
    let _line = child.stdin.take();
    let done = child.wait_with_output().expect("our child");
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success() && printed.contains("1 passed"),
        "{command:?} failed:\n{printed}{}",
        String::from_utf8_lossy(&done.stderr)
    );
    printed
}

/// Ends this process when the one that started it has ended, killed perhaps.
fn end_with_parent() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(1);
    });
}

/// As the test harness names it: the path below the crate.
fn name_of<T>(test: &T) -> &'static str {
    let path = type_name_of_val(test);
    path.split_once("::").map_or(path, |(_, below)| below)
}
