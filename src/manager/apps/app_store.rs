//! `.apps`: the sealed list of applications.

use std::time::SystemTime;

use super::app::AppConfig;
use super::app_input::AppInput;
pub use crate::manager::list_error::Error;
use crate::store::time::rfc3339;
use crate::store::{self, DataDir, JsonFile, random};
use crate::sync::Mutex;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

/// Applications of one user: a page lists them all.
pub const MAX_APPS: usize = crate::limits::APPLICATIONS;
const FILE: &str = ".apps";
const PURPOSE: &str = "postern applications 1";

/// The stored list, read from disk each time because other processes write it too, and the temporary applications of
/// this process, which are only in memory.
pub struct AppStore {
    /// None if all applications are temporary.
    file: Option<JsonFile<AppList>>,
    temporary: Mutex<Vec<AppConfig>>,
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

    /// A list of temporary applications only.
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

    /// Reads without changing anything: an unreadable file stays in place and is an error.
    pub fn look(&self) -> Result<Vec<AppConfig>, store::Error> {
        let stored = self.file.as_ref().map(JsonFile::look).transpose()?;
        Ok(stored.flatten().unwrap_or_default().apps)
    }

    /// The application with this identifier.
    pub fn find(&self, id: &str) -> Result<AppConfig, Error> {
        let found = self.list()?.into_iter().find(|app| app.id == id);
        found.ok_or_else(|| unknown(id))
    }

    /// Adds an application.
    pub fn add(&self, draft: AppInput) -> Result<AppConfig, Error> {
        let is_named = draft.is_named;
        self.insert(draft.into_new(), is_named)
    }

    /// Adds a temporary application with this identifier. If its name is taken, it gets a number.
    pub fn add_temporary(&self, draft: AppInput, id: &str) -> Result<AppConfig, Error> {
        self.insert(draft.into_temporary(id), false)
    }

    fn insert(&self, app: AppConfig, is_named: bool) -> Result<AppConfig, Error> {
        self.change(|apps| {
            if apps.len() >= MAX_APPS {
                return Err(Error::Full(MAX_APPS, "applications"));
            }
            let app = named_alone(apps, app, is_named)?;
            apps.push(app.clone());
            Ok(app)
        })
    }

    /// Puts an application in the place of another.
    pub fn replace(&self, id: &str, draft: AppInput) -> Result<AppConfig, Error> {
        self.change(|apps| {
            let is_named = draft.is_named;
            let old = place(apps, id)?.clone();
            let new = draft.replacing(&old);
            // Duplicate names of an earlier version stay until they are changed.
            let new = if new.name == old.name {
                new
            } else {
                named_alone(apps, new, is_named)?
            };
            *place(apps, id)? = new.clone();
            Ok(new)
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

    /// Notes that an application was connected now; `through` is the URL of the server that it stays with if it names
    /// none.
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

    /// Returns the application, with a code if it needs one.
    pub fn with_code(&self, app: AppConfig) -> Result<AppConfig, Error> {
        if !app.invisible || app.code.is_some() {
            return Ok(app);
        }
        self.change(|apps| {
            let place = place(apps, &app.id)?;
            place.code.get_or_insert_with(new_code);
            Ok(AppConfig {
                code: place.code.clone(),
                ..app
            })
        })
    }

    /// Puts another code in the place of an application's.
    pub fn renew_code(&self, id: &str) -> Result<AppConfig, Error> {
        self.change(|apps| {
            let place = place(apps, id)?;
            place.code = Some(new_code());
            Ok(place.clone())
        })
    }

    /// Signs all visitors of an application out.
    pub fn sign_out(&self, id: &str) -> Result<AppConfig, Error> {
        self.change(|apps| {
            let place = place(apps, id)?;
            place.signed_out += 1;
            Ok(place.clone())
        })
    }

    /// Notes that an application has expired, if this is still its end time.
    pub fn mark_expired(&self, id: &str, expires: &str) -> Result<(), Error> {
        self.change(|apps| {
            let place = place(apps, id)?;
            if place.expires.as_deref() == Some(expires) {
                place.expired.clone_from(&place.expires);
            }
            Ok(())
        })
    }

    /// Reads and changes under the writers' lock, and writes unless the change is to a temporary one.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut Vec<AppConfig>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(file) = &self.file else {
            return change(&mut self.temporary.lock());
        };
        file.update_where_changed(|list| {
            let mut temporary = self.temporary.lock();
            let before = list.apps.clone();
            list.apps.extend(temporary.iter().cloned());
            let answer = change(&mut list.apps)?;
            (*temporary, list.apps) = list.apps.drain(..).partition(|app| app.temporary);
            let is_changed = list.apps != before;
            Ok((answer, is_changed))
        })
    }
}

fn place<'a>(apps: &'a mut [AppConfig], id: &str) -> Result<&'a mut AppConfig, Error> {
    apps.iter_mut()
        .find(|app| app.id == id)
        .ok_or_else(|| unknown(id))
}

/// Returns the application with a unique name: a taken name is an error if it was given, else it gets a number.
fn named_alone(apps: &[AppConfig], app: AppConfig, is_named: bool) -> Result<AppConfig, Error> {
    let is_taken = |name: &String| {
        let mut others = apps.iter().filter(|other| other.id != app.id);
        others.any(|other| other.name == *name)
    };
    if !is_taken(&app.name) {
        return Ok(app);
    }
    if is_named {
        return Err(Error::NameTaken(app.name));
    }
    let mut numbered = (2..).map(|number| app.default_name(number));
    let name = numbered.find(|name| !is_taken(name));
    let name = name.expect("there are more numbers than applications");
    Ok(AppConfig { name, ..app })
}

/// 160 random bits.
fn new_code() -> Zeroizing<String> {
    Zeroizing::new(random::token())
}

fn unknown(id: &str) -> Error {
    Error::Unknown(id.chars().take(40).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::os::unix::fs::MetadataExt;

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
        let file = dir.path().join("home").join(FILE);
        let before = std::fs::metadata(&file).unwrap().ino();
        let temporary = store.add_temporary(draft("temporary"), id).unwrap();
        assert_eq!(store.list().unwrap(), [stored.clone(), temporary]);
        let changed = store.replace(id, draft("other")).unwrap();
        assert!(changed.temporary && changed.name == "other");
        store.connected(id, None).unwrap();
        let reader = AppStore::new(DataDir::at(dir.path().join("home")));
        assert_eq!(reader.list().unwrap(), std::slice::from_ref(&stored));
        assert!(store.find(id).unwrap().last_connected_at.is_some());
        store.remove(id).unwrap();
        assert_eq!(store.list().unwrap(), [stored]);
        // A disk that is full stops none of that.
        assert_eq!(std::fs::metadata(&file).unwrap().ino(), before);
        let memory = AppStore::in_memory();
        let id = memory.add(draft("one")).unwrap().id;
        assert_eq!(memory.list().unwrap().len(), 1);
        memory.remove(&id).unwrap();
        assert!(memory.list().unwrap().is_empty());
    }

    #[test]
    fn a_name_is_one_applications_alone() {
        let (_dir, store) = store();
        let [first, second] = ["one", "two"].map(|name| store.add(draft(name)).unwrap());
        let taken = store.add(draft("one")).unwrap_err();
        assert_eq!(taken.to_string(), "another application is named 'one'");
        let taken = store.replace(&second.id, draft("one"));
        assert!(matches!(taken, Err(Error::NameTaken(_))));
        assert_eq!(store.replace(&first.id, draft("one")).unwrap().name, "one");
        let names = [(); 3].map(|()| store.add(draft("")).unwrap().name);
        assert_eq!(
            names,
            [
                "http 127.0.0.1:80",
                "http 127.0.0.1:80 (2)",
                "http 127.0.0.1:80 (3)"
            ]
        );
    }

    #[test]
    fn a_code_stays_until_it_is_renewed() {
        let (_dir, store) = store();
        let mut body = json!({"protocol": "http", "invisible": true, "name": "n"});
        let added = store.add(AppInput::parse(&body, true).unwrap()).unwrap();
        let code = store.with_code(added.clone()).unwrap().code.unwrap();
        assert_eq!(code.len(), 40, "160 bits");
        let again = store.with_code(store.find(&added.id).unwrap()).unwrap();
        assert_eq!(again.code.as_ref(), Some(&code));
        body["display_name"] = json!("d");
        let changed = store.replace(&added.id, AppInput::parse(&body, true).unwrap());
        assert_eq!(changed.unwrap().code.as_ref(), Some(&code));
        assert_ne!(
            store.renew_code(&added.id).unwrap().code.as_ref(),
            Some(&code)
        );
        assert_eq!(store.sign_out(&added.id).unwrap().signed_out, 1);
        let open = store.add(draft("open")).unwrap();
        assert_eq!(store.with_code(open).unwrap().code, None);
    }

    #[test]
    fn an_end_is_noted_as_passed_where_it_is_the_end() {
        let (_dir, store) = store();
        let expires = "2030-01-01T00:00:00Z";
        let body = json!({"protocol": "http", "expires": expires});
        let added = store.add(AppInput::parse(&body, true).unwrap()).unwrap();
        store
            .mark_expired(&added.id, "2029-01-01T00:00:00Z")
            .unwrap();
        assert!(!store.find(&added.id).unwrap().is_noted_as_expired());
        store.mark_expired(&added.id, expires).unwrap();
        assert!(store.find(&added.id).unwrap().is_noted_as_expired());
        let body = json!({"protocol": "http", "expires": "2031-01-01T00:00:00Z"});
        let later = store.replace(&added.id, AppInput::parse(&body, true).unwrap());
        assert!(!later.unwrap().is_noted_as_expired());
    }

    #[test]
    fn the_list_is_bounded() {
        let store = AppStore::in_memory();
        for number in 0..MAX_APPS {
            store
                .add_temporary(draft(&number.to_string()), &number.to_string())
                .unwrap();
        }
        assert!(matches!(store.add(draft("more")), Err(Error::Full(..))));
        assert_eq!(store.list().unwrap().len(), MAX_APPS);
    }
}
