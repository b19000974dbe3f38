//! Place of the per-user directory, and access to its files.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{Error, count_error};
use super::lock::Locked;

/// The per-user directory. Naming it creates nothing; the first write does.
#[derive(Clone, Debug)]
pub struct DataDir {
    dir: PathBuf,
    /// Possible places for the key of its sealed files outside the directory, the best first.
    key_places: Arc<[PathBuf]>,
}

impl DataDir {
    /// The directory that the environment names.
    ///
    /// `POSTERN_HOME`, else `.postern` in the home directory (on Windows
    /// `Postern` in `%LOCALAPPDATA%`). An empty variable counts as unset.
    /// Without `HOME` the account's entry in `/etc/passwd` counts; if root has none, as in an empty container, `/`.
    pub fn locate() -> Result<Self, Error> {
        let variable = |name: &str| std::env::var_os(name);
        let dir = resolve(variable, account_home).ok_or(Error::NoHome)?;
        // An absolute path stays valid when the working directory changes.
        let dir = std::path::absolute(&dir).map_err(Error::io("find", &dir))?;
        let key_places = key_places(variable, account_home, &dir).into();
        Ok(Self { dir, key_places })
    }

    /// The directory `dir`, with the key of its sealed files in it.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        Self::with_key_at(dir, [])
    }

    /// Like [`DataDir::at`], with the key at the first usable path of these.
    pub fn with_key_at(dir: impl Into<PathBuf>, places: impl IntoIterator<Item = PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            key_places: places.into_iter().collect(),
        }
    }

    /// Possible places for the key of its sealed files outside the directory, the best first.
    pub fn key_places(&self) -> &[PathBuf] {
        &self.key_places
    }

    /// The path of the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The content of the file `name`, at most `cap` bytes; `None` when there is no such file.
    pub fn read(&self, name: &str, cap: u64) -> Result<Option<Vec<u8>>, Error> {
        let path = self.dir.join(name);
        match fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &path)(error)),
            // Opening a FIFO would wait forever.
            Ok(metadata) if !metadata.is_file() => {
                count_error();
                let reason = "it is not a regular file";
                return Err(Error::NotPrivate { path, reason });
            }
            Ok(_) => {}
        }
        match read_capped(&path, cap) {
            // Another process has set it aside meanwhile.
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    /// Refuses the file `name` if it is a link, belongs to another user, or is writable by others, who may have changed
    /// its content. Root may use another user's directory with files of that user.
    #[cfg(unix)]
    pub fn refuse_foreign(&self, name: &str) -> Result<(), Error> {
        use std::os::unix::fs::MetadataExt;
        let path = self.dir.join(name);
        let (found, dir) = match (fs::symlink_metadata(&path), fs::metadata(&self.dir)) {
            (Ok(found), Ok(dir)) => (found, dir),
            // The reader reports the error.
            _ => return Ok(()),
        };
        let user = rustix::process::geteuid();
        let is_homes = user.is_root() && found.uid() == dir.uid();
        let reason = if found.is_symlink() {
            "it is a symbolic link: put the file itself there"
        } else if found.uid() != user.as_raw() && found.uid() != 0 && !is_homes {
            "it belongs to another user: check its content, then 'chown' it"
        } else if found.is_file() && found.mode() & 0o022 != 0 {
            "other users can write to it: check its content, then 'chmod 600' it"
        } else {
            return Ok(());
        };
        count_error();
        Err(Error::NotPrivate { path, reason })
    }

    /// Does nothing: only Unix tells the owner of a file.
    #[cfg(not(unix))]
    pub fn refuse_foreign(&self, _name: &str) -> Result<(), Error> {
        Ok(())
    }

    /// Creates a missing directory and waits for the right to write in it.
    pub fn lock(&self) -> Result<Locked, Error> {
        let run = self.ensure_run()?;
        Locked::acquire(&self.dir, &run.join("lock"))
    }

    /// Locks without waiting: [`Error::Busy`] if another process has the lock.
    pub(super) fn lock_now(&self) -> Result<Locked, Error> {
        let run = self.ensure_run()?;
        Locked::acquire_now(&self.dir, &run.join("lock"))
    }

    /// `run/`, which has the lock and the sockets; created if it is missing.
    pub(super) fn ensure_run(&self) -> Result<PathBuf, Error> {
        create_private(&self.dir)?;
        refuse_shared(&self.dir)?;
        let run = self.dir.join("run");
        create_private(&run)?;
        make_private(&run)?;
        Ok(run)
    }
}

fn resolve(
    variable: impl Fn(&str) -> Option<OsString>,
    account_home: impl Fn() -> Option<PathBuf>,
) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if let Some(dir) = set("POSTERN_HOME") {
        return Some(dir.into());
    }
    if cfg!(windows) {
        return set("LOCALAPPDATA").map(|dir| Path::new(&dir).join("Postern"));
    }
    let home = set("HOME").map(PathBuf::from).or_else(account_home)?;
    Some(home.join(".postern"))
}

/// Places for the key: the platform's directory for program state or, for a chosen directory, next to that.
fn key_places(
    variable: impl Fn(&str) -> Option<OsString>,
    account_home: impl Fn() -> Option<PathBuf>,
    dir: &Path,
) -> Vec<PathBuf> {
    let set = |name| variable(name).filter(|value| !value.is_empty());
    if set("POSTERN_HOME").is_some() || cfg!(windows) {
        let name = dir.file_name().map(|name| {
            let mut name = name.to_owned();
            name.push(".key");
            name
        });
        return name
            .map(|name| dir.with_file_name(name))
            .into_iter()
            .collect();
    }
    let home = set("HOME").map(PathBuf::from).or_else(account_home);
    let of_account = home.map(|home| {
        home.join(if cfg!(target_os = "macos") {
            "Library/Application Support"
        } else {
            ".local/state"
        })
    });
    let named = set("XDG_STATE_HOME").map(PathBuf::from);
    // A relative path counts as unset.
    let named = named.filter(|path| path.is_absolute());
    let states = named.into_iter().chain(of_account);
    states.map(|state| state.join("postern/key")).collect()
}

#[cfg(unix)]
fn account_home() -> Option<PathBuf> {
    let user = rustix::process::geteuid();
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    home_in_passwd(&accounts, user.as_raw()).or_else(|| user.is_root().then(|| PathBuf::from("/")))
}

#[cfg(not(unix))]
fn account_home() -> Option<PathBuf> {
    None
}

/// Sixth field of the entry whose third is `user`.
#[cfg(unix)]
fn home_in_passwd(accounts: &str, user: u32) -> Option<PathBuf> {
    accounts.lines().find_map(|line| {
        let mut fields = line.split(':').skip(2);
        let entry: u32 = fields.next()?.parse().ok()?;
        let home = fields.nth(2)?;
        (entry == user && home.starts_with('/')).then(|| home.into())
    })
}

fn read_capped(path: &Path, cap: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(Error::io("read", path))?;
    let read = file
        .take(cap.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(Error::io("read", path))?;
    if u64::try_from(read).is_ok_and(|read| read <= cap) {
        return Ok(bytes);
    }
    let path = path.to_owned();
    Err(Error::TooLarge { path, cap })
}

/// Creates `dir` and missing parents with mode 0700.
pub(super) fn create_private(dir: &Path) -> Result<(), Error> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).map_err(Error::io("create", dir))
}

/// Refuses a directory whose files others could replace. Read access of others is accepted: it may be a home directory,
/// and our files have mode 0600.
#[cfg(unix)]
fn refuse_shared(dir: &Path) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(dir).map_err(Error::io("read", dir))?;
    let user = rustix::process::geteuid();
    let reason = if metadata.uid() != user.as_raw() && !user.is_root() {
        "it belongs to another user"
    } else if metadata.mode() & 0o022 != 0 {
        "other users can write to it"
    } else {
        return Ok(());
    };
    let path = dir.to_owned();
    Err(Error::NotPrivate { path, reason })
}

/// Gives a directory that we created mode 0700; refuses a link, and a directory of another user.
#[cfg(unix)]
pub(super) fn make_private(dir: &Path) -> Result<(), Error> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let metadata = fs::symlink_metadata(dir).map_err(Error::io("read", dir))?;
    let user = rustix::process::geteuid();
    let ours = metadata.uid() == user.as_raw() || user.is_root();
    if !metadata.is_dir() || !ours {
        let (path, reason) = (dir.to_owned(), "it is not your directory");
        return Err(Error::NotPrivate { path, reason });
    }
    if metadata.mode() & 0o777 == 0o700 {
        return Ok(());
    }
    let private = fs::Permissions::from_mode(0o700);
    fs::set_permissions(dir, private).map_err(Error::io("protect", dir))
}

#[cfg(not(unix))]
fn refuse_shared(_: &Path) -> Result<(), Error> {
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn make_private(_: &Path) -> Result<(), Error> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn resolved(variables: &[(&str, &str)], account: Option<&str>) -> Option<PathBuf> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        resolve(variable, || account.map(PathBuf::from))
    }

    #[test]
    fn an_empty_variable_counts_as_unset() {
        for (variables, account, dir) in [
            (
                &[("POSTERN_HOME", "/p"), ("HOME", "/h")][..],
                None,
                Some("/p"),
            ),
            (
                &[("POSTERN_HOME", ""), ("HOME", "/h")],
                None,
                Some("/h/.postern"),
            ),
            (&[("HOME", "/h")], Some("/a"), Some("/h/.postern")),
            (&[("HOME", "")], Some("/a"), Some("/a/.postern")),
            (&[], Some("/"), Some("/.postern")),
            (&[("HOME", "")], None, None),
        ] {
            assert_eq!(resolved(variables, account), dir.map(PathBuf::from));
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_key_lies_apart_from_the_directory() {
        let places = |variables: &[(&str, &str)], dir: &str| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let places = key_places(variable, || Some("/a".into()), Path::new(dir));
            let shown = places
                .iter()
                .map(|path| path.to_string_lossy().into_owned());
            shown.collect::<Vec<_>>()
        };
        let (home, state) = (("HOME", "/h"), ("XDG_STATE_HOME", "/s"));
        let default = "/h/.local/state/postern/key";
        assert_eq!(places(&[home], "/h/.postern"), [default]);
        assert_eq!(
            places(&[home, state], "/h/.postern"),
            ["/s/postern/key", default]
        );
        assert_eq!(
            places(&[home, ("XDG_STATE_HOME", "s")], "/h/.postern"),
            [default]
        );
        assert_eq!(places(&[], "/a/.postern"), ["/a/.local/state/postern/key"]);
        let chosen = ("POSTERN_HOME", "/srv/p");
        assert_eq!(places(&[home, state, chosen], "/srv/p"), ["/srv/p.key"]);
        assert!(places(&[chosen], "/").is_empty());
    }

    #[test]
    fn the_account_entry_names_the_home() {
        let accounts =
            "root:x:0:0:root:/root:/bin/sh\nbad\nme:x:7:7::/home/me:\nrel:x:8:8::here:\n";
        assert_eq!(home_in_passwd(accounts, 0), Some("/root".into()));
        assert_eq!(home_in_passwd(accounts, 7), Some("/home/me".into()));
        assert_eq!(home_in_passwd(accounts, 8), None);
        assert_eq!(home_in_passwd(accounts, 9), None);
    }

    #[test]
    fn directories_are_private_and_files_survive_a_round_trip() {
        let parent = tempfile::tempdir().unwrap();
        let home = DataDir::at(parent.path().join("a/b"));
        assert_eq!(home.read("f", 9).unwrap(), None);
        home.lock().unwrap().write("f", b"content").unwrap();
        assert_eq!(home.read("f", 7).unwrap().unwrap(), b"content");
        assert!(matches!(home.read("f", 6), Err(Error::TooLarge { .. })));
        for (name, mode) in [
            ("", 0o700),
            ("run", 0o700),
            ("run/lock", 0o600),
            ("f", 0o600),
        ] {
            let found = fs::metadata(home.dir().join(name)).unwrap().permissions();
            assert_eq!(found.mode() & 0o777, mode, "{name}");
        }
    }

    #[test]
    fn a_directory_that_others_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let refused = DataDir::at(dir.path()).lock().unwrap_err();
        assert!(refused.to_string().contains("other users can write"));
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("d")).unwrap();
        assert!(DataDir::at(dir.path()).read("d", 9).is_err());
    }

    #[test]
    fn a_linked_run_directory_is_refused_and_a_wide_one_tightened() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        fs::create_dir(&run).unwrap();
        fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).unwrap();
        DataDir::at(dir.path()).lock().unwrap();
        assert_eq!(
            fs::metadata(&run).unwrap().permissions().mode() & 0o777,
            0o700
        );
        fs::remove_dir_all(&run).unwrap();
        std::os::unix::fs::symlink("/tmp", &run).unwrap();
        assert!(DataDir::at(dir.path()).lock().is_err());
    }
}
