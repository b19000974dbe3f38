//! Which applications are meant, and where they are asked for.

use serde_json::{Value, json};

use crate::cli::args::app::ALL;
use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::flags::ENROLL_TOKEN;
use crate::cli::failure::{Failure, printable, quoted};
use crate::cli::fields::Fields;
use crate::cli::manager_client::{Manager, text};
use crate::cli::serve::data_dir;
use crate::manager::ServerUrl;
use crate::manager::app_input::AppInput;
use crate::manager::app_store::{self, AppStore};
use crate::manager::server_store::{ServerChange, ServerStore};
use crate::store::DataDir;

/// An application that the command line means.
pub(crate) struct Selected {
    pub(crate) id: String,
    /// Text by which a user can name it.
    pub(crate) name: String,
    /// Its name.
    pub(crate) label: String,
}

/// Where applications are changed: at the running manager, else in the stored list.
pub(super) struct Changes<'a> {
    manager: Option<&'a Manager>,
    home: &'a DataDir,
}

pub(super) fn changes<'a>(home: &'a DataDir, manager: Option<&'a Manager>) -> Changes<'a> {
    Changes { manager, home }
}

impl Changes<'_> {
    pub(super) fn list(&self) -> Result<Vec<Value>, Failure> {
        apps(self.home, self.manager)
    }

    /// Adds what the fields say; `input` is the same, checked.
    pub(super) fn add(&self, fields: Fields, input: AppInput) -> Result<Value, Failure> {
        match self.manager {
            Some(manager) => manager.call("POST", "/api/apps", Some(&Value::Object(fields))),
            None => Ok(self.store().add(input).map_err(of_store)?.to_json()),
        }
    }

    /// Puts it in the place of another.
    pub(super) fn replace(
        &self,
        id: &str,
        fields: Fields,
        input: AppInput,
    ) -> Result<Value, Failure> {
        match self.manager {
            Some(manager) => {
                let path = format!("/api/apps/{id}");
                manager.call("PUT", &path, Some(&Value::Object(fields)))
            }
            None => {
                let replaced = self.store().replace(id, input).map_err(of_store)?;
                Ok(replaced.to_json())
            }
        }
    }

    /// Removes one; with `release` its server gives the name of its site away, which the running manager asks for.
    pub(super) fn remove(&self, id: &str, release: bool) -> Result<Value, Failure> {
        match self.manager {
            Some(manager) => {
                let query = if release { "?release=true" } else { "" };
                manager.call("DELETE", &format!("/api/apps/{id}{query}"), None)
            }
            None if release => Err(no_manager(self.home)),
            None => Ok(self.store().remove(id).map_err(of_store)?.to_json()),
        }
    }

    /// Keeps the enrolment token that the flag gives for the server that is named.
    pub(super) fn enroll(
        &self,
        command: &Command,
        parsed: &Parsed,
        server: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(token) = parsed.value(&ENROLL_TOKEN) else {
            return Ok(());
        };
        let server = server.ok_or_else(|| command.usage("--enroll-token needs --server"))?;
        if let Some(manager) = self.manager {
            return manager.enroll(server, &token);
        }
        let url = ServerUrl::parse(server, true)
            .map_err(|why| command.usage(format!("--server: {why}")))?;
        let change = ServerChange {
            enroll_token: Some(Some(token.into())),
            ..ServerChange::default()
        };
        let kept = ServerStore::new(self.home.clone()).put(&url, change);
        kept.map(drop)
            .map_err(|error| Failure::operation(error.to_string()).hint_if(error.hint()))
    }

    fn store(&self) -> AppStore {
        AppStore::new(self.home.clone())
    }
}

/// Every application as the API shows it; without a manager all are idle.
pub(crate) fn apps(home: &DataDir, manager: Option<&Manager>) -> Result<Vec<Value>, Failure> {
    if let Some(manager) = manager {
        let answer = manager.call("GET", "/api/apps", None)?;
        return Ok(answer.as_array().cloned().unwrap_or_default());
    }
    let stored = AppStore::new(home.clone()).list().map_err(of_store)?;
    let shown = stored.iter().map(|app| {
        let mut shown = app.to_json();
        if let Some(members) = shown.as_object_mut() {
            members.insert("conn_status".into(), json!("idle"));
        }
        shown
    });
    Ok(shown.collect())
}

/// The manager, without which nothing can be connected.
pub(crate) fn manager(home: &DataDir) -> Result<Manager, Failure> {
    Manager::find(home)?.ok_or_else(|| no_manager(home))
}

pub(super) fn no_manager(home: &DataDir) -> Failure {
    Failure::operation(format!(
        "'postern start' is not running on {}",
        home.dir().display()
    ))
    .hint("run 'postern start' first")
}

/// The manager, and the one application that is meant.
pub(super) fn running(parsed: &Parsed) -> Result<(Manager, Selected), Failure> {
    let home = data_dir()?;
    let manager = manager(&home)?;
    let selected = find(&apps(&home, Some(&manager))?, parsed.operand())?;
    Ok((manager, selected))
}

/// Refuses a line that names no application, or names one beside `--all`.
pub(super) fn names_some(command: &Command, parsed: &Parsed) -> Result<(), Failure> {
    match (parsed.has(&ALL), parsed.operands()) {
        (true, [_, ..]) => Err(command.usage("--all selects every application: name none")),
        (false, []) => {
            let what = format!("'postern {}' needs {}", command.name, command.operands);
            Err(command.usage(what))
        }
        _ => Ok(()),
    }
}

/// The applications that the operands name, or all.
pub(super) fn selected(
    command: &Command,
    parsed: &Parsed,
    apps: &[Value],
) -> Result<Vec<Selected>, Failure> {
    names_some(command, parsed)?;
    let operands = parsed.operands();
    if parsed.has(&ALL) {
        return Ok(apps.iter().map(of_app).collect());
    }
    let mut found: Vec<Selected> = Vec::new();
    for typed in operands {
        let one = find(apps, typed)?;
        if !found.iter().any(|other| other.id == one.id) {
            found.push(one);
        }
    }
    Ok(found)
}

/// True if a shell takes it as one word, and no command as a flag.
pub(super) fn is_plain_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
}

/// By identifier, or by a name that only one has.
pub(crate) fn find(apps: &[Value], typed: &str) -> Result<Selected, Failure> {
    let has_id = |id: &str| apps.iter().find(|app| text(app, "/id") == id);
    let by_name = match has_id(typed) {
        Some(_) => None,
        None => named(apps, Some(typed))?,
    };
    let app = has_id(by_name.as_deref().unwrap_or(typed)).ok_or_else(|| {
        Failure::operation(format!("there is no application {}", quoted(typed)))
            .hint("see 'postern app list'")
    })?;
    let mut found = of_app(app);
    if is_plain_word(typed) {
        typed.clone_into(&mut found.name);
    }
    Ok(found)
}

/// The identifier of the one with that name.
pub(super) fn named(apps: &[Value], name: Option<&str>) -> Result<Option<String>, Failure> {
    let name = name.unwrap_or_default();
    let mut found = apps.iter().filter(|app| text(app, "/name") == name);
    let first = found.next().map(|app| text(app, "/id").to_owned());
    match found.count() {
        0 => Ok(first),
        more => Err(Failure::operation(format!(
            "{} applications are named {}",
            more + 1,
            quoted(name)
        ))
        .hint("use the ID, see 'postern app list'")),
    }
}

/// The application of an answer.
pub(super) fn of_app(app: &Value) -> Selected {
    let (id, name) = (text(app, "/id"), text(app, "/name"));
    let name = if is_plain_word(name) { name } else { id };
    Selected {
        id: id.to_owned(),
        name: name.to_owned(),
        label: printable(text(app, "/name")),
    }
}

/// The stored list cannot be read or written.
pub(crate) fn of_store(error: app_store::Error) -> Failure {
    Failure::operation(error.to_string()).hint_if(error.hint())
}
