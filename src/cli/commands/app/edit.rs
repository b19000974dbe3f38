//! `postern app edit`: changes only the settings that the flags name.

use serde_json::{Value, json};

use super::add::{self, guest_only_reads};
use super::listing::{enroll, selected, unsaved};
use super::show;
use crate::api::App;
use crate::cli::args::app::{ADDRESS, DB_PASS, DB_USER, EDIT};
use crate::cli::args::command::{ENROLL_TOKEN, Parsed};
use crate::cli::args::values::{PASSWORD_VARIABLE, environment};
use crate::cli::failure::{Failure, print_json_line, warn};
use crate::cli::fields::{self, Fields, text};
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;

pub(super) fn edit(parsed: &Parsed) -> Result<(), Failure> {
    let manager = Manager::open(&data_dir()?)?;
    let selected = selected(parsed, manager.apps()?)?;
    let is_database = |app: &App| app.protocol.is_database();
    let mut changed = changed_fields(parsed, selected.iter().all(is_database))?;
    if changed.is_empty() && !parsed.has(&ADDRESS) && !parsed.has(&ENROLL_TOKEN) {
        return Err(EDIT.usage("nothing to change: give a flag"));
    }
    if changed.contains_key("name") && selected.len() > 1 {
        return Err(EDIT.usage("--name needs exactly one application"));
    }
    enroll(&manager, &EDIT, parsed, text(&changed, "server"))?;
    for before in &selected {
        let Value::Object(mut fields) = json!(before) else {
            continue;
        };
        // Null is the same as none, and a 'postern start' of an earlier version does not know every field.
        fields.retain(|_, value| !value.is_null());
        set_address(&mut changed, &fields, parsed)?;
        fields.extend(changed.clone());
        if let Some(protocol) = fields::protocol(&fields) {
            fields::fit_protocol(&EDIT, parsed, protocol)?;
        }
        guest_only_reads(&EDIT, parsed, &fields)?;
        fields::checked(&EDIT, &fields)?;
        let after = manager.replace(&before.id, &fields).map_err(unsaved)?;
        add::print_warning(&after);
        if let Some(warning) = show::warning(&after) {
            warn(&warning);
        }
        if parsed.wants_json() {
            print_json_line(&after)?;
        }
    }
    Ok(())
}

/// Fields that the flags change; `databases` is true if only databases are changed. The variable with the password may
/// be meant for other commands, so it counts only with the account's name, or alone.
fn changed_fields(parsed: &Parsed, databases: bool) -> Result<Fields, Failure> {
    let mut fields = Fields::new();
    fields::set_flags(&mut fields, &EDIT, parsed)?;
    let is_alone = fields.is_empty() && !parsed.has(&ADDRESS) && !parsed.has(&ENROLL_TOKEN);
    let variable = || environment(PASSWORD_VARIABLE);
    let password = parsed.value(&DB_PASS).or_else(|| {
        let counts = databases && (is_alone || parsed.has(&DB_USER));
        counts.then(variable).flatten()
    });
    fields.extend(password.map(|password| ("db_pass".to_owned(), Value::from(password))));
    Ok(fields)
}

/// Reads a new address, which must fit the application's protocol.
fn set_address(changed: &mut Fields, before: &Fields, parsed: &Parsed) -> Result<(), Failure> {
    let Some(address) = parsed.value(&ADDRESS) else {
        return Ok(());
    };
    let endpoint = fields::read_address(&EDIT, &address)?;
    if let Some(named) = fields::protocol(before) {
        let protocol = fields::agreed(&EDIT, named, endpoint.protocol)?;
        changed.insert("protocol".to_owned(), protocol.name().into());
    }
    if endpoint.host.is_none() {
        changed.insert("ip".to_owned(), Value::Null);
    }
    if endpoint.port.is_none() {
        changed.insert("port".to_owned(), Value::Null);
    }
    fields::set_address(changed, endpoint);
    Ok(())
}
