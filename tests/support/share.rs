//! A command that shares something until it is ended, as `postern http 3000`.

use std::process::ExitStatus;

use rustix::process::Signal;
use serde_json::Value;

use super::kill_on_drop::{KillOnDrop, Leashed};
use super::manager::environment;
use super::postern::{Home, binary};
use super::{TIMEOUT, wait_until};

/// One at work, ended on drop (SIGTERM first).
pub struct Sharing {
    process: Leashed,
}

impl Sharing {
    /// Starts it in `home`, and does not wait.
    pub fn start(home: &Home, args: &[&str]) -> Sharing {
        let mut kill_on_drop = KillOnDrop::new(binary()).args(args);
        for (name, value) in environment(home.path()) {
            kill_on_drop = kill_on_drop.env(name, value);
        }
        Sharing {
            process: kill_on_drop.start(),
        }
    }

    /// The first line of standard output, once it is there.
    #[track_caller]
    pub fn link(&self) -> String {
        let line = || {
            let text = self.stdout();
            let (line, _) = text.split_once('\n')?;
            Some(line.to_owned())
        };
        wait_until(TIMEOUT, "a link", || line().is_some());
        line().unwrap()
    }

    /// With `--json`, the events with this name so far.
    pub fn events(&self, name: &str) -> Vec<Value> {
        let text = self.stdout();
        let events = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        events
            .filter(|event: &Value| event["event"] == name)
            .collect()
    }

    /// The first event with this name, once it is there.
    #[track_caller]
    pub fn event(&self, name: &str) -> Value {
        wait_until(TIMEOUT, name, || !self.events(name).is_empty());
        self.events(name).remove(0)
    }

    /// Waits until it has said that on standard error.
    #[track_caller]
    pub fn wait_said(&self, words: &str) {
        wait_until(TIMEOUT, words, || self.stderr().contains(words));
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Standard output so far.
    pub fn stdout(&self) -> String {
        self.process.stdout.text()
    }

    /// Standard error so far.
    pub fn stderr(&self) -> String {
        self.process.stderr.text()
    }

    /// SIGTERM; its exit status, none when it had to be killed.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        let ended = self.process.terminate();
        self.process.drained();
        ended
    }

    /// Any signal.
    pub fn signal(&mut self, signal: Signal) {
        self.process.signal(signal);
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Waits for its end, and answers its exit code.
    #[track_caller]
    pub fn code(&mut self) -> Option<i32> {
        let ended = self.process.wait(TIMEOUT);
        self.process.drained();
        ended.and_then(|status| status.code())
    }
}

impl Drop for Sharing {
    fn drop(&mut self) {
        self.process.terminate();
        if std::thread::panicking() {
            eprintln!("the sharing said:\n{}{}", self.stdout(), self.stderr());
        }
    }
}
