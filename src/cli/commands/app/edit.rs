//! `postern app edit`: what the flags name is changed, and nothing else.

use serde_json::{Value, json};

use super::add::{guest_only_reads, of_its_protocol};
use super::pending;
use super::select::{changes, selected};
use super::warning;
use crate::cli::args::app::{
    ADDRESS, DB_PASS, EDIT, JSON, NO_AUDIT, NO_AUTOCONNECT, NO_RECORD_SQL,
};
use crate::cli::args::command::{Flag, Parsed};
use crate::cli::args::flags::ENROLL_TOKEN;
use crate::cli::args::values::{PASSWORD_VARIABLE, environment};
use crate::cli::failure::{Failure, warn};
use crate::cli::fields::{self, Fields};
use crate::cli::manager_client::{Manager, text};
use crate::cli::output::print;
use crate::cli::serve::data_dir;
use crate::manager::protocol::Protocol;

/// Switches that take another back, and the field of each.
const BACK: [(&Flag, &str); 3] = [
    (&NO_AUDIT, "audit"),
    (&NO_RECORD_SQL, "record_sql"),
    (&NO_AUTOCONNECT, "autoconnect"),
];

pub(super) fn edit(parsed: &Parsed) -> Result<(), Failure> {
    let home = data_dir()?;
    let manager = Manager::find(&home)?;
    let place = changes(&home, manager.as_ref());
    let apps = place.list()?;
    let selected = selected(&EDIT, parsed, &apps)?;
    let mut changed = changed_fields(parsed)?;
    if changed.is_empty() && !parsed.has(&ADDRESS) && !parsed.has(&ENROLL_TOKEN) {
        return Err(EDIT.usage("there is nothing to change: name it with a flag"));
    }
    if changed.contains_key("name") && selected.len() > 1 {
        return Err(EDIT.usage("--name is for one application"));
    }
    let server = changed.get("server").and_then(Value::as_str);
    place.enroll(&EDIT, parsed, server)?;
    let is_other = |app: &&Value, id: &str| text(app, "/id") == id;
    for one in &selected {
        let before = apps.iter().find(|app| is_other(app, &one.id));
        let mut fields = before
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        set_address(&mut changed, &fields, parsed)?;
        fields.extend(changed.clone());
        give_password(&mut fields, parsed);
        if let Some(protocol) = fields
            .get("protocol")
            .and_then(Value::as_str)
            .and_then(Protocol::named)
        {
            of_its_protocol(&EDIT, parsed, protocol)?;
        }
        guest_only_reads(&EDIT, parsed, &fields)?;
        let input = fields::checked(&EDIT, &fields)?;
        let after = place.replace(&one.id, fields, input)?;
        if let Some(warning) = warning::of(&after) {
            warn(&warning);
        }
        if let Some(warning) = pending::warning(&after, &one.name) {
            warn(&warning);
        }
        if parsed.has(&JSON) {
            print(&format!("{after}\n"))?;
        }
    }
    Ok(())
}

/// The fields that the flags change.
fn changed_fields(parsed: &Parsed) -> Result<Fields, Failure> {
    let mut fields = Fields::new();
    fields::set_flags(&mut fields, &EDIT, parsed)?;
    let back = BACK.iter().filter(|(flag, _)| parsed.has(flag));
    for (flag, field) in back {
        if fields.contains_key(*field) {
            return Err(EDIT.usage(format!("--{} contradicts another flag", flag.long)));
        }
        fields.insert((*field).to_owned(), json!(false));
    }
    let password = parsed.value(&DB_PASS);
    fields.extend(password.map(|password| ("db_pass".to_owned(), Value::from(password))));
    Ok(fields)
}

/// A saved password goes with its address: with another one comes that of the environment.
fn give_password(fields: &mut Fields, parsed: &Parsed) {
    let is_other = parsed.has(&ADDRESS);
    let has_one = fields.get("has_db_pass") == Some(&Value::Bool(true));
    let is_lacking = is_other && has_one && !fields.contains_key("db_pass");
    if let Some(password) = environment(PASSWORD_VARIABLE).filter(|_| is_lacking) {
        fields.insert("db_pass".to_owned(), password.into());
    }
}

/// A new address is read beside the protocol that the application has.
fn set_address(changed: &mut Fields, before: &Fields, parsed: &Parsed) -> Result<(), Failure> {
    let Some(address) = parsed.value(&ADDRESS) else {
        return Ok(());
    };
    let endpoint = fields::read_address(&EDIT, &address)?;
    let named = before.get("protocol").and_then(Value::as_str);
    if let Some(named) = named.and_then(Protocol::named) {
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
