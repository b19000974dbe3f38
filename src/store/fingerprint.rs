//! Fingerprint that ties sealed files to one user of one machine.

use std::path::Path;
use std::{fmt, fs, io};

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::data_dir::DataDir;
use super::error::Error;
use super::lock::Locked;
use super::random::{self, hex};

/// Files of systemd and D-Bus with the machine id (machine-id(5)).
const MACHINE_IDS: [&str; 2] = ["etc/machine-id", "var/lib/dbus/machine-id"];
/// Text that systemd writes before the first boot creates an id.
const NOT_YET: &str = "uninitialized";
/// File with a random id for a machine without one.
const RANDOM_ID: &str = ".machine-id";
/// Bytes of an id file. Default 4 KiB; a machine id has 33.
const ID_CAP: u64 = 4096;

/// A digest of the machine and the user, from which the keys of sealed files are made.
///
/// It is not secret from this machine's own users. It prevents that a file, copied elsewhere with its key, can be
/// opened there.
#[derive(Clone, PartialEq, Eq)]
pub struct Fingerprint(Zeroizing<[u8; 32]>);

impl Fingerprint {
    /// SHA-256 over the machine id and the owner of `home`.
    ///
    /// Without a machine id: the host name and the first physical network address; without these, a random id file in
    /// `home`, made now with a warning.
    pub fn of(home: &DataDir) -> Result<Self, Error> {
        match Self::known(home, Path::new("/"))? {
            Some(known) => Ok(known),
            None => Self::known_or_new(home, &home.lock()?, Path::new("/")),
        }
    }

    /// Returns it for the holder of the lock, on the machine with the root directory `root`.
    pub(super) fn known_or_new(
        home: &DataDir,
        locked: &Locked,
        root: &Path,
    ) -> Result<Self, Error> {
        if let Some(known) = Self::known(home, root)? {
            return Ok(known);
        }
        let id = hex(&random::bytes::<16>());
        locked.write(RANDOM_ID, id.as_bytes())?;
        log::warn!(
            "this machine has no id: {} replaces it, keep it with the other files",
            home.dir().join(RANDOM_ID).display()
        );
        Self::digest(home, "random", &[&id])
    }

    /// `None` if nothing identifies this machine.
    pub(super) fn known(home: &DataDir, root: &Path) -> Result<Option<Self>, Error> {
        if let Some(id) = machine_id(root)? {
            return Self::digest(home, "machine", &[&id]).map(Some);
        }
        if let Some((host, address)) = host_name(root).zip(physical_address(root)) {
            return Self::digest(home, "host", &[&host, &address]).map(Some);
        }
        match home.read(RANDOM_ID, ID_CAP)?.map(String::from_utf8) {
            Some(Ok(id)) if !id.trim().is_empty() => {
                Self::digest(home, "random", &[id.trim()]).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Checks whether the machine with the root directory `root` has an id of its own.
    pub(super) fn is_machines(root: &Path) -> Result<bool, Error> {
        let has_name = || host_name(root).zip(physical_address(root)).is_some();
        Ok(machine_id(root)?.is_some() || has_name())
    }

    fn digest(home: &DataDir, kind: &str, parts: &[&str]) -> Result<Self, Error> {
        let owner = owner(home.dir())?;
        let mut hash = Sha256::new();
        hash.update(b"postern fingerprint 1\0");
        for part in [kind, &owner].iter().chain(parts) {
            // No part contains a zero byte, so that two lists are never equal.
            hash.update(part.replace('\0', ""));
            hash.update([0]);
        }
        Ok(Self(Zeroizing::new(hash.finalize().into())))
    }

    /// Bytes for keys and names that are made from it.
    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fingerprint(***)")
    }
}

fn machine_id(root: &Path) -> Result<Option<String>, Error> {
    for path in MACHINE_IDS {
        let id = read_text(&root.join(path))?;
        if let Some(id) = id.filter(|id| id != NOT_YET) {
            return Ok(Some(id));
        }
    }
    platform_id()
}

/// The trimmed first bytes of a file; `None` if it is missing or empty. Other failures are reported: they may be
/// temporary, and a wrong id would make the sealed files unreadable.
fn read_text(path: &Path) -> Result<Option<String>, Error> {
    use io::{ErrorKind, Read};
    let mut bytes = Vec::new();
    let read = fs::File::open(path).and_then(|file| file.take(ID_CAP).read_to_end(&mut bytes));
    match read {
        Ok(_) => {
            let text = String::from_utf8_lossy(&bytes).trim().to_owned();
            Ok(Some(text).filter(|text| !text.is_empty()))
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// The hardware's own id, asked of the system's tool.
#[cfg(target_os = "macos")]
fn platform_id() -> Result<Option<String>, Error> {
    let output = output_of("/usr/sbin/ioreg", &["-rd1", "-c", "IOPlatformExpertDevice"])?;
    Ok(value_after(&output, "\"IOPlatformUUID\" = \""))
}

/// The installation's id, asked of the system's tool.
#[cfg(windows)]
fn platform_id() -> Result<Option<String>, Error> {
    let key = r"HKLM\SOFTWARE\Microsoft\Cryptography";
    let output = output_of("reg", &["query", key, "/v", "MachineGuid", "/reg:64"])?;
    Ok(value_after(&output, "REG_SZ"))
}

#[cfg(not(any(target_os = "macos", windows)))]
fn platform_id() -> Result<Option<String>, Error> {
    Ok(None)
}

#[cfg(any(target_os = "macos", windows))]
fn output_of(tool: &str, arguments: &[&str]) -> Result<String, Error> {
    let output = std::process::Command::new(tool).args(arguments).output();
    let output = output.map_err(Error::io("run", Path::new(tool)))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The word that follows `mark`, up to a quote or the end of the line.
#[cfg(any(target_os = "macos", windows, test))]
fn value_after(output: &str, mark: &str) -> Option<String> {
    let (_, rest) = output.split_once(mark)?;
    let value = rest.trim_start().split(['"', '\r', '\n']).next()?.trim();
    Some(value.to_owned()).filter(|value| !value.is_empty())
}

/// Name of this machine; empty if unknown.
pub fn machine_name() -> String {
    let name = host_name(Path::new("/")).unwrap_or_default();
    name.chars().filter(|c| !c.is_control()).take(64).collect()
}

fn host_name(root: &Path) -> Option<String> {
    let name = read_text(&root.join("proc/sys/kernel/hostname")).ok()??;
    Some(name).filter(|name| name != "(none)")
}

/// Address of the first network card by name that is a real device.
fn physical_address(root: &Path) -> Option<String> {
    let cards = fs::read_dir(root.join("sys/class/net")).ok()?;
    let mut cards: Vec<_> = cards.flatten().map(|card| card.path()).collect();
    cards.sort();
    let physical = cards.iter().filter(|card| card.join("device").exists());
    physical
        .filter_map(|card| read_text(&card.join("address")).ok()?)
        .find(|address| address.bytes().any(|b| !matches!(b, b'0' | b':')))
}

/// Owner of a directory; a missing one will be ours.
#[cfg(unix)]
fn owner(dir: &Path) -> Result<String, Error> {
    use std::os::unix::fs::MetadataExt;
    match fs::metadata(dir) {
        Ok(metadata) => Ok(metadata.uid().to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(rustix::process::geteuid().as_raw().to_string())
        }
        Err(error) => Err(Error::io("read", dir)(error)),
    }
}

#[cfg(not(unix))]
fn owner(_: &Path) -> Result<String, Error> {
    Ok(std::env::var("USERNAME").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_sources_are_tried_in_order() {
        let root = tempfile::tempdir().unwrap();
        let home = DataDir::at(root.path().join("home"));
        let known = || Fingerprint::known(&home, root.path()).unwrap();
        assert_eq!(known(), None);

        put(root.path(), "proc/sys/kernel/hostname", "box\n");
        assert_eq!(known(), None, "a container's name changes at every start");
        put(
            root.path(),
            "sys/class/net/eth1/address",
            "02:00:00:00:00:01\n",
        );
        put(root.path(), "sys/class/net/lo/device/x", "");
        put(
            root.path(),
            "sys/class/net/lo/address",
            "00:00:00:00:00:00\n",
        );
        assert_eq!(known(), None, "no physical card");
        put(root.path(), "sys/class/net/eth1/device/x", "");
        let by_host = known().unwrap();

        put(root.path(), "etc/machine-id", "uninitialized\n");
        put(root.path(), "var/lib/dbus/machine-id", "aa\n");
        let by_bus = known().unwrap();
        put(root.path(), "etc/machine-id", "bb\n");
        let by_id = known().unwrap();
        put(root.path(), "etc/machine-id", "bb");
        assert_eq!(known().unwrap(), by_id);
        assert!(by_host != by_bus && by_bus != by_id && by_id != by_host);
    }

    #[test]
    fn an_empty_root_gets_a_private_random_id_that_stays() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let home = DataDir::at(root.path().join(name));
            let locked = home.lock().unwrap();
            let first = Fingerprint::known_or_new(&home, &locked, root.path()).unwrap();
            assert_eq!(
                Fingerprint::known(&home, root.path()).unwrap(),
                Some(first.clone())
            );
            let file = fs::metadata(home.dir().join(RANDOM_ID)).unwrap();
            assert_eq!(file.permissions().mode() & 0o777, 0o600);
            first
        };
        assert_ne!(make("a"), make("b"));
    }

    #[test]
    fn an_id_that_cannot_be_read_is_no_missing_one() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etc/machine-id")).unwrap();
        let home = DataDir::at(root.path().join("home"));
        assert!(Fingerprint::known(&home, root.path()).is_err());
    }

    #[test]
    fn it_is_the_same_before_and_after_the_directory_is_made_and_shows_nothing() {
        let parent = tempfile::tempdir().unwrap();
        let home = DataDir::at(parent.path().join("h"));
        let before = Fingerprint::of(&home).unwrap();
        home.lock().unwrap();
        assert_eq!(Fingerprint::of(&home).unwrap(), before);
        assert_eq!(format!("{before:?}"), "Fingerprint(***)");
    }

    #[test]
    fn the_tools_of_other_platforms_are_understood() {
        let mac = "  \"IOPlatformUUID\" = \"0A-1B\"\n  \"x\" = \"y\"\n";
        assert_eq!(
            value_after(mac, "\"IOPlatformUUID\" = \""),
            Some("0A-1B".into())
        );
        let windows = "HKEY...\r\n    MachineGuid    REG_SZ    c0-ffee\r\n";
        assert_eq!(value_after(windows, "REG_SZ"), Some("c0-ffee".into()));
        assert_eq!(value_after("", "REG_SZ"), None);
    }
}
