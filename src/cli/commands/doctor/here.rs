//! Checks of this machine: the per-user directory and its files, ports, the clock, the plugin; and [`Finding`], the
//! result of a check.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, SystemTime};
use std::{fs, io};

use serde_json::{Value, json};

use crate::cli::failure::printable;
use crate::cli::manager_client::Manager;
use crate::cli::serve;
use crate::manager::app::AppConfig;
use crate::manager::app_store::AppStore;
use crate::manager::server_store::{ServerList, ServerStore};
use crate::net::in_words;
use crate::plugin::Registry;
use crate::relay::{self, StateError};
use crate::store::time::{parse_rfc3339, rfc3339};
use crate::store::{CredentialStore, Credentials, DataDir, Error, files_set_aside, key_file};

/// Default ports, each with its use.
const PORTS: [(u16, &str); 3] = [
    (8181, "the manager's page"),
    (8180, "sites of the relay on this machine"),
    (62888, "tunnels of the relay on this machine"),
];
/// Bytes below which a disk counts as full. Default 64 KiB: a few saves.
const LEAST_FREE: u64 = 64 * 1024;
/// No correct clock is behind this time.
const BUILT_AFTER: &str = "2026-01-01T00:00:00Z";

/// Content of the sealed files, and errors of unreadable ones.
pub(super) struct StateFiles {
    pub(super) apps: Vec<AppConfig>,
    pub(super) servers: ServerList,
    pub(super) credentials: BTreeMap<String, Credentials>,
    errors: Vec<Error>,
}

impl StateFiles {
    pub(super) fn look(home: &DataDir) -> Self {
        let mut errors = Vec::new();
        Self {
            apps: or_note(AppStore::new(home.clone()).look(), &mut errors),
            servers: or_note(ServerStore::new(home.clone()).look(), &mut errors),
            credentials: or_note(CredentialStore::new(home.clone()).look(), &mut errors),
            errors,
        }
    }
}

fn or_note<T: Default>(looked: Result<T, Error>, errors: &mut Vec<Error>) -> T {
    looked.unwrap_or_else(|error| {
        errors.push(error);
        T::default()
    })
}

/// Checks that the directory exists, is private and writable.
pub(super) fn directory(home: &DataDir) -> Vec<Finding> {
    const CHECK: &str = "per-user directory";
    let dir = home.dir().display();
    match fs::metadata(home.dir()) {
        Ok(found) if !found.is_dir() => vec![Finding::wrong(
            CHECK,
            format!("{dir} is not a directory"),
            "move it away, or set POSTERN_HOME to another directory",
        )],
        Ok(found) => vec![match shared(&found) {
            Some(why) => Finding::wrong(
                CHECK,
                format!("{dir}: {why}"),
                format!("chmod 700 {dir}, or set POSTERN_HOME to another directory"),
            ),
            None => writable(home.dir(), dir.to_string()),
        }],
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let existing = home.dir().ancestors().find(|path| path.exists());
            let text = format!("{dir}, created on first use");
            vec![writable(existing.unwrap_or(home.dir()), text)]
        }
        Err(error) => vec![Finding::wrong(
            CHECK,
            format!("{dir}: {error}"),
            "set POSTERN_HOME to a writable directory",
        )],
    }
}

#[cfg(unix)]
fn shared(found: &fs::Metadata) -> Option<&'static str> {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid();
    if found.uid() != user.as_raw() && !user.is_root() {
        return Some("it belongs to another user");
    }
    (found.mode() & 0o022 != 0).then_some("other users can write to it")
}

#[cfg(not(unix))]
fn shared(_: &fs::Metadata) -> Option<&'static str> {
    None
}

/// Checks without writing that a directory is writable; `text` is the result in that case.
fn writable(dir: &Path, text: String) -> Finding {
    const CHECK: &str = "per-user directory";
    if let Err(error) = rustix::fs::access(dir, rustix::fs::Access::WRITE_OK) {
        let error = io::Error::from(error);
        return Finding::wrong(
            CHECK,
            format!("{} cannot be written: {error}", dir.display()),
            "make it writable, or set POSTERN_HOME to another directory",
        );
    }
    let Ok(disk) = rustix::fs::statvfs(dir) else {
        return Finding::good(CHECK, text);
    };
    // Some file systems count no files.
    let missing = if disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST_FREE {
        "space"
    } else if disk.f_files > 0 && disk.f_favail == 0 {
        "inodes"
    } else {
        return Finding::good(CHECK, text);
    };
    Finding::wrong(
        CHECK,
        format!("{} is on a full disk (no free {missing})", dir.display()),
        "delete files there, or set POSTERN_HOME to a directory on another disk",
    )
}

/// Checks that each file can be opened, and lists those that were set aside as unreadable.
pub(super) fn files(home: &DataDir, files: &StateFiles) -> Vec<Finding> {
    const CHECK: &str = "sealed files";
    let unreadable = files.errors.iter();
    let mut findings: Vec<Finding> = unreadable
        .map(|error| Finding::wrong(CHECK, error.to_string(), error.hint()))
        .collect();
    if findings.is_empty() {
        let (apps, known) = (files.apps.len(), files.credentials.len());
        let text = format!("readable; applications: {apps}, relays with credentials: {known}");
        findings.push(Finding::good(CHECK, text));
    }
    findings.extend(files_set_aside(home).iter().map(|path| {
        Finding::wrong(
            CHECK,
            format!("unreadable file kept: {}", path.display()),
            "it is damaged, from another machine, or its key is lost; delete it if you do not need it",
        )
    }));
    findings.push(key(home));
    findings.extend(relay_state(home));
    findings
}

/// Checks that the state of this user's relay can be read, if there is one. The state of a fleet is elsewhere.
fn relay_state(home: &DataDir) -> Option<Finding> {
    const CHECK: &str = "relay's state";
    let data = DataDir::at(home.dir().join("relay"));
    if !relay::has_state(&data) {
        return None;
    }
    match relay::stored_status(&data) {
        Ok(status) => {
            let (enrolled, revoked) = (status.connectors.len(), status.revoked.len());
            let text = format!("readable; connectors: {enrolled}, revoked: {revoked}");
            Some(Finding::good(CHECK, text))
        }
        Err(StateError::OfFleet(_)) => None,
        Err(error) => Some(Finding::wrong(CHECK, error.to_string(), error.hint())),
    }
}

/// Shows the file with the key of the sealed files, which a backup needs too.
fn key(home: &DataDir) -> Finding {
    const CHECK: &str = "key of sealed files";
    match key_file(home) {
        Ok(Some(path)) if path.starts_with(home.dir()) => Finding::note(
            CHECK,
            path.display().to_string(),
            "no separate place for the key: a copy of the directory includes it",
        ),
        Ok(Some(path)) => Finding::good(CHECK, path.display().to_string()),
        Ok(None) => Finding::good(CHECK, "created with the first file"),
        Err(error) => Finding::wrong(CHECK, error.to_string(), error.hint()),
    }
}

/// Checks whether a manager runs, and where.
pub(super) fn manager(home: &DataDir) -> Finding {
    const CHECK: &str = "manager";
    match Manager::find(home) {
        Ok(Some(manager)) => {
            let url = manager.url().unwrap_or_default();
            let text = format!("{url} (process {})", manager.pid);
            match manager.missing_variables() {
                None => Finding::good(CHECK, text),
                Some(names) => Finding::note(
                    CHECK,
                    format!("{text} has no {names}, set here"),
                    "it connects with its own environment: start it again with the same variables",
                ),
            }
        }
        Ok(None) => Finding::note(CHECK, "not running", "run 'postern start'"),
        Err(_) => Finding::wrong(
            CHECK,
            "run/start.json is damaged",
            "stop 'postern start' and start it again",
        ),
    }
}

/// Checks the holders of the default ports; free or ours is fine.
pub(super) fn ports(home: &DataDir) -> Vec<Finding> {
    let manager = Manager::find(home).ok().flatten();
    let own = manager.map(|manager| format!("(process {})", manager.pid));
    let is_in_use = |port| {
        let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
        bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
    };
    let of_port = |(port, what): &(u16, &str)| match serve::port_holder(*port) {
        // The system may not tell the name of the listener.
        None if is_in_use(*port) => Finding::note(
            "port",
            format!("{port} ({what}) is in use"),
            "no action needed if postern uses it; the system does not show by whom",
        ),
        None => Finding::good("port", format!("{port} ({what}) is free")),
        Some(holder) if own.as_ref().is_some_and(|own| holder.ends_with(own)) => {
            Finding::good("port", format!("{port} ({what}) is used by the manager"))
        }
        Some(holder) => {
            let hint = match *port {
                8181 => "use another port: postern start PORT",
                _ => "the relay on this machine uses other ports, so addresses change",
            };
            Finding::note("port", format!("{port} ({what}) is used by {holder}"), hint)
        }
    };
    let ports = PORTS.iter().map(of_port);
    loopback().into_iter().chain(ports).collect()
}

/// Finds a machine that cannot reach itself.
fn loopback() -> Option<Finding> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    let error = TcpStream::connect(listener.local_addr().ok()?).err()?;
    Some(Finding::wrong(
        "network",
        format!("127.0.0.1 cannot be reached: {error}"),
        "start the network of this machine ('ip link set lo up')",
    ))
}

/// Checks that the clock is plausible; the server's clock tells more.
pub(super) fn clock() -> Finding {
    let now = SystemTime::now();
    let text = rfc3339(now);
    let least = parse_rfc3339(BUILT_AFTER).unwrap_or(SystemTime::UNIX_EPOCH);
    if now < least {
        let hint = "set the clock: certificates and end times depend on it";
        return Finding::wrong("clock", format!("{text} is in the past"), hint);
    }
    Finding::good("clock", text)
}

/// Finding if the server's clock differs much from ours.
pub(super) fn clock_of(server: &str, there: SystemTime) -> Option<Finding> {
    /// Difference that counts: far more than any call takes.
    const MOST: Duration = Duration::from_secs(60);
    let now = SystemTime::now();
    let apart = now
        .duration_since(there)
        .or_else(|_| there.duration_since(now))
        .ok()?;
    (apart > MOST).then(|| {
        let ahead = if now > there { "ahead of" } else { "behind" };
        let text = format!(
            "this machine's clock is {} s {ahead} that of {server}",
            apart.as_secs()
        );
        Finding::wrong(
            "clock",
            text,
            "set the clock: certificates and end times depend on it",
        )
    })
}

/// Checks whether databases can be shared and are saved.
pub(super) fn plugin(home: &DataDir, files: &StateFiles) -> Finding {
    const CHECK: &str = "database plugin";
    const HINT: &str = "run 'postern plugin add mysql'";
    let is_needed = files.apps.iter().any(|app| app.protocol.is_database());
    match Registry::new(home.clone()).serves("mysql") {
        Ok(true) => Finding::good(CHECK, "mysql is added"),
        Ok(false) if is_needed => {
            Finding::wrong(CHECK, "mysql is not added, but applications need it", HINT)
        }
        Ok(false) => Finding::note(CHECK, "mysql is not added", HINT),
        Err(error) => Finding::wrong(CHECK, error.to_string(), error.hint()),
    }
}

/// Result of one check.
pub(super) struct Finding {
    /// Name of the check.
    check: &'static str,
    pub(super) state: Severity,
    text: String,
    /// Suggested fix.
    hint: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    Good,
    /// Possibly intended.
    Note,
    Wrong,
}

impl Finding {
    pub(super) fn good(check: &'static str, text: impl Into<String>) -> Self {
        Self {
            check,
            state: Severity::Good,
            text: in_words(text.into()),
            hint: None,
        }
    }

    pub(super) fn note(
        check: &'static str,
        text: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            state: Severity::Note,
            hint: Some(hint.into()),
            ..Self::good(check, text)
        }
    }

    pub(super) fn wrong(
        check: &'static str,
        text: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            state: Severity::Wrong,
            ..Self::note(check, text, hint)
        }
    }

    pub(super) fn word(&self) -> &'static str {
        match self.state {
            Severity::Good => "ok",
            Severity::Note => "note",
            Severity::Wrong => "WRONG",
        }
    }

    pub(super) fn lines(&self) -> String {
        let mut lines = format!(
            "{:7}{}: {}\n",
            self.word(),
            self.check,
            printable(&self.text)
        );
        if let Some(hint) = &self.hint {
            lines.push_str(&format!("       {}\n", printable(hint)));
        }
        lines
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"check": self.check, "state": self.word().to_lowercase(), "text": self.text, "hint": self.hint})
    }
}
