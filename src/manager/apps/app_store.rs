//! `.apps`: the sealed list of applications.

use std::fmt;
use std::time::SystemTime;

use super::app::AppConfig;
use super::app_input::AppInput;
use crate::store::time::rfc3339;
use crate::store::{self, DataDir, JsonFile};
use crate::sync::Mutex;
use serde::{Deserialize, Serialize};

/// Applications of one user: a page lists them all.
pub const MAX_APPS: usize = 100;
const FILE: &str = ".apps";
const PURPOSE: &str = "postern applications 1";

/// The list on disk, of which nothing is kept in memory, as other processes write it too; and the temporary
/// applications of this process, of which nothing is on disk.
pub struct AppStore {
    /// None where every application is a temporary one.
    file: Option<JsonFile<AppList>>,
    temporary: Mutex<Vec<AppConfig>>,
}

/// Why the list could not be read or changed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The per-user directory.
    Store(store::Error),
    /// There are [`MAX_APPS`] already.
    Full,
    /// No application has this identifier.
    Unknown(String),
    /// The system gives no random bytes.
    NoRandom,
}

#[derive(Default, Serialize, Deserialize)]
struct AppList {
    apps: Vec<AppConfig>,
}

impl AppStore {
    /// The list in `home`.
    pub fn new(home: DataDir) -> Self {
        Self {
            file: Some(JsonFile::sealed(home, FILE, PURPOSE)),
            temporary: Mutex::default(),
        }
    }

    /// A list of which nothing is stored.
    pub fn in_memory() -> Self {
        Self {
            file: None,
            temporary: Mutex::default(),
        }
    }

    /// All applications, in the order they were added.
    pub fn list(&self) -> Result<Vec<AppConfig>, Error> {
        let stored = self.file.as_ref().map(JsonFile::read).transpose()?;
        let mut apps = stored.flatten().unwrap_or_default().apps;
        apps.extend(self.temporary.lock().iter().cloned());
        Ok(apps)
    }

    /// The application with this identifier.
    pub fn find(&self, id: &str) -> Result<AppConfig, Error> {
        let found = self.list()?.into_iter().find(|app| app.id == id);
        found.ok_or_else(|| unknown(id))
    }

    /// Adds an application.
    pub fn add(&self, draft: AppInput) -> Result<AppConfig, Error> {
        self.insert(draft.into_new().map_err(|_| Error::NoRandom)?)
    }

    /// Adds one that is never stored, with this identifier.
    pub fn add_temporary(&self, draft: AppInput, id: &str) -> Result<AppConfig, Error> {
        let app = draft.into_temporary(id).map_err(|_| Error::NoRandom)?;
        self.insert(app)
    }

    fn insert(&self, app: AppConfig) -> Result<AppConfig, Error> {
        self.change(|apps| {
            if apps.len() >= MAX_APPS {
                return Err(Error::Full);
            }
            apps.push(app.clone());
            Ok(app)
        })
    }

    /// Puts an application in the place of another.
    pub fn replace(&self, id: &str, draft: AppInput) -> Result<AppConfig, Error> {
        self.change(|apps| {
            let place = place(apps, id)?;
            *place = draft.replacing(place);
            Ok(place.clone())
        })
    }

    /// Removes an application.
    pub fn remove(&self, id: &str) -> Result<AppConfig, Error> {
        self.change(|apps| {
            let removed = place(apps, id)?.clone();
            apps.retain(|app| app.id != id);
            Ok(removed)
        })
    }

    /// Notes that an application was connected now; `through` is the URL of the server that it stays with, where it
    /// names none.
    pub fn connected(&self, id: &str, through: Option<&str>) -> Result<(), Error> {
        self.change(|apps| {
            let app = place(apps, id)?;
            app.last_connected_at = Some(rfc3339(SystemTime::now()));
            if app.server.is_none()
                && let Some(through) = through
            {
                app.used_server = Some(through.to_owned());
            }
            Ok(())
        })
    }

    /// Reads, changes and writes under the writers' lock.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<AppConfig>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(file) = &self.file else {
            return change(&mut self.temporary.lock());
        };
        file.update(|list| {
            let mut temporary = self.temporary.lock();
            list.apps.append(&mut temporary);
            let answer = change(&mut list.apps);
            let (kept, stored) = list.apps.drain(..).partition(|app| app.temporary);
            (*temporary, list.apps) = (kept, stored);
            answer
        })
    }
}

fn place<'a>(apps: &'a mut [AppConfig], id: &str) -> Result<&'a mut AppConfig, Error> {
    apps.iter_mut()
        .find(|app| app.id == id)
        .ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Error {
    Error::Unknown(id.chars().take(40).collect())
}

impl Error {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => Some(error.hint()),
            Self::Full => Some("remove one that is not needed"),
            Self::Unknown(_) => Some("'postern app list' shows what is there"),
            Self::NoRandom => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => write!(f, "{error}"),
            Self::Full => write!(f, "there are {MAX_APPS} applications already, the limit"),
            Self::Unknown(id) => write!(f, "there is no application {id:?}"),
            Self::NoRandom => write!(f, "the system gives no random bytes"),
        }
    }
}

impl std::error::Error for Error {}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn store() -> (tempfile::TempDir, AppStore) {
        let dir = tempfile::tempdir().unwrap();
        let store = AppStore::new(DataDir::at(dir.path().join("home")));
        (dir, store)
    }

    fn draft(name: &str) -> AppInput {
        AppInput::parse(&json!({"protocol": "http", "name": name}), false).unwrap()
    }

    #[test]
    fn what_was_added_is_changed_and_removed_by_its_identifier() {
        let (_dir, store) = store();
        assert_eq!(store.list().unwrap(), []);
        let [first, second] = ["one", "two"].map(|name| store.add(draft(name)).unwrap());
        assert_eq!(store.list().unwrap(), [first.clone(), second.clone()]);
        let changed = store.replace(&first.id, draft("three")).unwrap();
        store
            .connected(&first.id, Some("https://a.example"))
            .unwrap();
        let found = store.find(&first.id).unwrap();
        assert_eq!((found.name.as_str(), &found.id), ("three", &changed.id));
        assert!(found.last_connected_at.is_some() && found.used_server.is_some());
        assert_eq!(store.remove(&first.id).unwrap(), found);
        assert!(matches!(store.find(&first.id), Err(Error::Unknown(_))));
        assert!(matches!(store.remove(&first.id), Err(Error::Unknown(_))));
        assert!(matches!(
            store.replace("x", draft("x")),
            Err(Error::Unknown(_))
        ));
        assert_eq!(store.list().unwrap(), [second]);
    }

    #[test]
    fn a_temporary_application_is_in_the_list_and_never_on_disk() {
        let (dir, store) = store();
        let stored = store.add(draft("stored")).unwrap();
        let id = "00112233445566aa";
        let temporary = store.add_temporary(draft("temporary"), id).unwrap();
        assert_eq!(store.list().unwrap(), [stored.clone(), temporary]);
        let changed = store.replace(id, draft("other")).unwrap();
        assert!(changed.temporary && changed.name == "other");
        store.connected(id, None).unwrap();
        let reader = AppStore::new(DataDir::at(dir.path().join("home")));
        assert_eq!(reader.list().unwrap(), [stored.clone()]);
        assert!(store.find(id).unwrap().last_connected_at.is_some());
        store.remove(id).unwrap();
        assert_eq!(store.list().unwrap(), [stored]);
        let memory = AppStore::in_memory();
        let id = memory.add(draft("one")).unwrap().id;
        assert_eq!(memory.list().unwrap().len(), 1);
        memory.remove(&id).unwrap();
        assert!(memory.list().unwrap().is_empty());
    }

    #[test]
    fn the_list_is_bounded() {
        let (_dir, store) = store();
        for number in 0..MAX_APPS {
            store.add(draft(&number.to_string())).unwrap();
        }
        assert!(matches!(store.add(draft("more")), Err(Error::Full)));
        assert_eq!(store.list().unwrap().len(), MAX_APPS);
    }
}
