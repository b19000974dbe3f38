//! Opens the user's browser, if there is one.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::args::values::PASSWORD_VARIABLE;
use crate::sync;

/// Programs that open a URL, the usual one first.
const OPENERS: &[&str] = if cfg!(target_os = "macos") {
    &["open"]
} else {
    &["xdg-open", "wslview", "x-www-browser", "www-browser"]
};

/// Opens `url`, which every user of the machine can see in the list of
/// processes: it must hold no secret. Without display or opener nothing happens.
pub(crate) fn open(url: &str) {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !cfg!(target_os = "macos") && !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return log::debug!("no display: not opening a browser");
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    match OPENERS.iter().find_map(|name| find(name, &path)) {
        Some(opener) => spawn(opener, url),
        None => log::debug!("none of {OPENERS:?} is in PATH: not opening a browser"),
    }
}

fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|file| file.is_file())
}

/// Starts the browser in a process group of its own, so that Ctrl-C here does not end it.
fn spawn(opener: PathBuf, url: &str) {
    let spawned = Command::new(&opener)
        .arg(url)
        .env_remove(PASSWORD_VARIABLE)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => return log::warn!("cannot start {}: {error}", opener.display()),
    };
    // A thread because some openers live as long as the browser; it ends with the opener.
    sync::spawn(sync::Thread::Browser, move || match child.wait() {
        Ok(status) if !status.success() => log::warn!("{}: {status}", opener.display()),
        Ok(_) => {}
        Err(error) => log::debug!("cannot wait for the browser: {error}"),
    })
    .unwrap_or_else(|error| log::debug!("no thread to wait for the browser: {error}"));
}
