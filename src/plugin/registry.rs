//! `plugins.json`: the plugins that the user has added.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::store::{self, DataDir, JsonFile, time::rfc3339};

const FILE: &str = "plugins.json";
/// Largest file that is read, in bytes. An entry has about 120.
const FILE_CAP: u64 = 1024 * 1024;
/// Longest text of an entry, in bytes. All are names, versions and times.
const TEXT_CAP: usize = 64;
/// Version of every built-in plugin: that of the program.
const VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The plugins of one user.
#[derive(Debug)]
pub struct Registry {
    home: DataDir,
    file: JsonFile<Document>,
}

/// An added plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// Its version, `v1.2.3`.
    pub version: String,
    /// Names of the protocols that use it.
    pub protocols: Vec<String>,
    /// Time when it was added, RFC 3339 in UTC.
    pub installed: String,
}

#[derive(Default, Serialize, Deserialize)]
struct Document {
    plugins: Vec<Installed>,
}

/// Error of reading or changing the registry.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The directory failed.
    Store(store::Error),
    /// The file is invalid; it is left unchanged.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// The plugin of this name was already added.
    AlreadyAdded(String),
    /// No plugin of this name was added.
    NotAdded(String),
}

impl Registry {
    /// The registry in `home`, which need not exist yet.
    pub fn new(home: DataDir) -> Self {
        let file = JsonFile::new(home.clone(), FILE, FILE_CAP);
        Self { home, file }
    }

    /// The plugins in the order they were added.
    pub fn list(&self) -> Result<Vec<Installed>, Error> {
        let plugins = self.file.look()?.unwrap_or_default().plugins;
        match plugins.iter().find(|plugin| !plugin.is_sound()) {
            Some(plugin) => Err(Error::Damaged {
                path: self.home.dir().join(FILE),
                reason: format!("the entry {:.64?} is not well-formed", plugin.name),
            }),
            None => Ok(plugins),
        }
    }

    /// Checks whether a plugin for `protocol` was added.
    pub fn serves(&self, protocol: &str) -> Result<bool, Error> {
        let has = |plugin: &Installed| plugin.protocols.iter().any(|name| name == protocol);
        Ok(self.list()?.iter().any(has))
    }

    /// Adds a plugin of this name and these protocols.
    pub fn add(&self, name: &str, protocols: &[&str]) -> Result<Installed, Error> {
        let lock = self.home.lock()?;
        let mut plugins = self.list()?;
        if plugins.iter().any(|plugin| plugin.name == name) {
            return Err(Error::AlreadyAdded(name.to_owned()));
        }
        let added = Installed {
            name: name.to_owned(),
            version: VERSION.to_owned(),
            protocols: protocols.iter().map(|&name| name.to_owned()).collect(),
            installed: rfc3339(SystemTime::now()),
        };
        plugins.push(added.clone());
        self.file.write_locked(&lock, &Document { plugins })?;
        Ok(added)
    }

    /// Removes the plugin of this name.
    pub fn remove(&self, name: &str) -> Result<Installed, Error> {
        let lock = self.home.lock()?;
        let mut plugins = self.list()?;
        let Some(position) = plugins.iter().position(|plugin| plugin.name == name) else {
            return Err(Error::NotAdded(name.to_owned()));
        };
        let removed = plugins.remove(position);
        self.file.write_locked(&lock, &Document { plugins })?;
        Ok(removed)
    }
}

impl Installed {
    /// True if the texts can be printed in columns: the file may have been edited by hand.
    fn is_sound(&self) -> bool {
        let texts = [&self.name, &self.version, &self.installed];
        let is_word = |text: &String| {
            !text.is_empty()
                && text.len() <= TEXT_CAP
                && text.bytes().all(|byte| byte.is_ascii_graphic())
        };
        texts.into_iter().chain(&self.protocols).all(is_word) && !self.protocols.is_empty()
    }
}

impl Error {
    /// Hint for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::Store(error) => error.hint().to_owned(),
            Self::Damaged { .. } => {
                "fix the file, or move it away and add the plugins again".into()
            }
            Self::AlreadyAdded(name) => format!("see 'postern {name} --help'"),
            Self::NotAdded(_) => "see 'postern plugin list'".into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}"),
            Self::Damaged { path, reason } => {
                write!(f, "{} is damaged: {reason}", path.display())
            }
            Self::AlreadyAdded(name) => write!(f, "plugin '{name}' is already added"),
            Self::NotAdded(name) => write!(f, "plugin '{name}' is not added"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Damaged { path, reason } => Self::Damaged { path, reason },
            error => Self::Store(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn registry() -> (tempfile::TempDir, Registry) {
        let dir = tempfile::tempdir().unwrap();
        let registry = Registry::new(DataDir::at(dir.path()));
        (dir, registry)
    }

    #[test]
    fn what_was_added_is_listed_until_it_is_removed() {
        let (_dir, registry) = registry();
        assert_eq!(registry.list().unwrap(), []);
        let added = registry.add("mysql", &["mysql", "mariadb"]).unwrap();
        assert_eq!(registry.list().unwrap(), std::slice::from_ref(&added));
        assert!(registry.serves("mysql").unwrap() && registry.serves("mariadb").unwrap());
        assert!(!registry.serves("mysq").unwrap());
        let again = registry.add("mysql", &["mysql"]);
        assert!(matches!(again, Err(Error::AlreadyAdded(_))));
        assert_eq!(registry.remove("mysql").unwrap(), added);
        assert!(matches!(registry.remove("mysql"), Err(Error::NotAdded(_))));
        assert_eq!(registry.list().unwrap(), []);
    }

    #[test]
    fn a_damaged_file_is_named_and_kept() {
        let entry = |name: &str| {
            format!(
                r#"{{"plugins":[{{"name":"{name}","version":"v1.0.0","protocols":["p"],"installed":"t"}}]}}"#
            )
        };
        for content in [
            String::new(),
            "{".into(),
            "[]".into(),
            "{}".into(),
            r#"{"plugins":[{"name":"mysql"}]}"#.into(),
            entry(""),
            entry("two words"),
            entry("\\u001b[31m"),
            entry(&"x".repeat(65)),
        ] {
            let (dir, registry) = registry();
            let path = dir.path().join(FILE);
            fs::write(&path, &content).unwrap();
            let error = registry.add("mysql", &["mysql"]).unwrap_err();
            let message = error.to_string();
            assert!(message.contains("plugins.json is damaged"), "{message}");
            assert!(!message.contains('\u{1b}'), "{message:?}");
            assert!(registry.remove("mysql").is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
    }
}
