//! Processes that cannot outlive the test process.
//!
//! The program runs under a small `sh` that kills it, and removes its directory, as soon as the pipe to the test
//! process closes. A pipe closes in every case: drop, panic, abort, SIGKILL. (`PR_SET_PDEATHSIG` would need unsafe
//! code, and statics such as a shared server are never dropped at all.)

use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::holds_within;

/// Runs "$@", reports its process id on the first line of standard output (before the program can print anything
/// itself), kills it once standard input closes.
/// Its own output goes nowhere else, so that the program's streams end when the program does.
const WATCHDOG: &str = r#"
exec 3<&0 </dev/null
sh -c 'echo "$$"; exec "$@"' program "$@" 3<&- &
pid=$!
{ read -r _ <&3; trap '' TERM; kill -9 "$pid"; exit 0; } >/dev/null 2>&1 &
watch=$!
exec >/dev/null 2>&1
wait "$pid"
status=$?
kill "$watch"
wait "$watch" && owner=gone || owner=here
if [ "$LEASH_REMOVES" = always ] || [ "$LEASH_REMOVES" = "$owner" ]; then
    rm -rf "$LEASH_DIR" || { sleep 1; rm -rf "$LEASH_DIR"; }
fi
exit "$status"
"#;

/// Time in which a program may end by itself after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(20);

/// Output of a program so far.
#[derive(Clone, Default)]
pub struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    /// The text so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    /// The rest of the first complete line that starts with `prefix`.
    pub fn line_after(&self, prefix: &str) -> Option<String> {
        let text = self.text();
        let complete = &text[..text.rfind('\n')? + 1];
        let rest = complete.lines().find_map(|l| l.strip_prefix(prefix))?;
        Some(rest.trim().to_owned())
    }

    /// Collects `stream` on a thread that ends with the stream, that is with the program.
    fn follow(&self, mut stream: impl Read + Send + 'static) -> JoinHandle<()> {
        let sink = Arc::clone(&self.0);
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut chunk) {
                sink.lock().unwrap().extend_from_slice(&chunk[..n]);
            }
        })
    }
}

/// A running program on its kill_on_drop.
pub struct Leashed {
    watchdog: Child,
    line: Option<ChildStdin>,
    pid: Pid,
    is_postern: bool,
    followers: Vec<JoinHandle<()>>,
    /// Standard output of the program.
    pub stdout: Output,
    /// Standard error of the program.
    pub stderr: Output,
}

/// Command to run; a builder for [`Leashed`].
pub struct KillOnDrop {
    program: OsString,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<TempDir>,
    /// The directory that the watchdog removes, and when: `always`, or when the owner is `gone`.
    removes: (PathBuf, &'static str),
}

impl KillOnDrop {
    /// Runs `program`.
    pub fn new(program: impl AsRef<OsStr>) -> KillOnDrop {
        KillOnDrop {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            dir: None,
            removes: (PathBuf::new(), "never"),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> KillOnDrop {
        self.args
            .extend(args.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> KillOnDrop {
        self.env
            .push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Hands over the directory that goes with the program: the watchdog removes it once the program has ended.
    #[must_use]
    pub fn owning(mut self, dir: TempDir) -> KillOnDrop {
        self.removes = (dir.path().to_owned(), "always");
        self.dir = Some(dir);
        self
    }

    /// Names a directory that the test removes itself, unless it cannot: when it is killed, or never drops a static.
    #[must_use]
    pub fn lending(mut self, dir: &Path) -> KillOnDrop {
        self.removes = (dir.to_owned(), "gone");
        self
    }

    /// Starts it.
    pub fn start(self) -> Leashed {
        let mut watchdog = Command::new("sh");
        watchdog
            .args(["-c", WATCHDOG, "watchdog"])
            .arg(&self.program)
            .args(&self.args)
            .envs(self.env)
            .env("LEASH_DIR", self.removes.0)
            .env("LEASH_REMOVES", self.removes.1)
            // Out of the terminal's process group: Ctrl-C ends the test process, and the pipe ends the rest.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = watchdog.spawn().expect("sh is part of every system");
        let line = child.stdin.take();
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let pid = read_pid(&mut out)
            .unwrap_or_else(|| panic!("cannot start {}", self.program.to_string_lossy()));
        // From here on the watchdog removes it, also when this process is killed.
        self.dir.map(TempDir::keep);
        let (stdout, stderr) = (Output::default(), Output::default());
        let err = child.stderr.take().expect("piped");
        let followers = vec![stdout.follow(out), stderr.follow(err)];
        Leashed {
            watchdog: child,
            line,
            pid,
            is_postern: Path::new(&self.program).ends_with("postern"),
            followers,
            stdout,
            stderr,
        }
    }
}

fn read_pid(out: &mut impl BufRead) -> Option<Pid> {
    let mut first = String::new();
    out.read_line(&mut first).ok()?;
    Pid::from_raw(first.trim().parse().ok()?)
}

/// Fails a test whose program told the system's number of an error, which nobody can do anything with.
#[track_caller]
pub fn has_plain_words(text: &str) {
    assert!(!text.contains("(os error "), "{text}");
}

impl Leashed {
    /// Process id of the program (not of its watchdog).
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// Its exit status, once it has ended; death by a signal shows as 128 + the signal.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.watchdog.try_wait().expect("the watchdog is our child")
    }

    /// Waits for the program to end by itself.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        holds_within(patience, || self.ended().is_some());
        self.ended()
    }

    /// Sends a signal to the program.
    pub fn signal(&mut self, signal: Signal) {
        if self.ended().is_none() {
            // It may end between the look and the signal; then there is nobody to tell.
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Asks the program to end, and kills it when it does not. Answers its exit status if it ended when asked.
    pub fn terminate(&mut self) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        let status = self.wait(GRACE);
        self.kill();
        status
    }

    /// Waits until all that the ended program printed has arrived.
    pub fn drained(&mut self) {
        for follower in self.followers.drain(..) {
            let _ = follower.join();
        }
    }

    /// Ends the program at once and waits until it, and its directory, are gone.
    pub fn kill(&mut self) {
        self.line = None;
        let _ = self.watchdog.wait();
    }
}

impl Drop for Leashed {
    fn drop(&mut self) {
        self.kill();
        if self.is_postern && !std::thread::panicking() {
            has_plain_words(&self.stderr.text());
        }
    }
}
