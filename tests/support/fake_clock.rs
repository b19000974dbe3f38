//! A wall clock that a test sets, for one program: Debian's libfaketime. The monotonic clocks stay true.

use std::path::PathBuf;

use super::kill_on_drop::KillOnDrop;
use super::postern::binary;

/// The clock of a program; true until it is set.
pub struct FakeClock {
    file: PathBuf,
    _dir: tempfile::TempDir,
}

impl FakeClock {
    /// Makes a clock that shows the true time.
    pub fn new() -> FakeClock {
        let dir = tempfile::tempdir().expect("a directory is made");
        let clock = FakeClock {
            file: dir.path().join("clock"),
            _dir: dir,
        };
        clock.set(0);
        clock
    }

    /// The program, which goes by this clock.
    pub fn program(&self) -> KillOnDrop {
        let set = |name: &str, value: &str| format!("{name}={value}");
        KillOnDrop::new("env")
            .args([
                set("LD_PRELOAD", &library()),
                set("FAKETIME_TIMESTAMP_FILE", &self.file.to_string_lossy()),
                set("FAKETIME_NO_CACHE", "1"),
                set("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
                set("NO_FAKE_STAT", "1"),
            ])
            .args([binary()])
    }

    /// Sets it so many seconds before the true one.
    pub fn set(&self, ahead: i64) {
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{ahead:+}\n")).expect("a file is made");
        std::fs::rename(new, &self.file).expect("it takes its place");
    }
}

fn library() -> String {
    let dirs = std::fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .flatten();
    let paths = dirs.map(|dir| dir.path().join("faketime/libfaketime.so.1"));
    let found = paths.into_iter().find(|path| path.exists());
    let found = found.expect("run tests/setup.sh first: libfaketime is missing");
    found.to_string_lossy().into_owned()
}
