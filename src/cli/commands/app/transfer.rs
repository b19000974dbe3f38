//! `postern app export` and `app import`: applications as JSON, as a backup or for another machine.
//!
//! ```json
//! {"format": "postern applications", "version": 1, "applications": [{"name": "shop", "protocol": "http", …}],
//!  "sealed": {…}}
//! ```
//!
//! `sealed` exists only with secrets: a list of the same length, of objects with the secret fields, sealed under a
//! passphrase with AES-256-GCM and a key of PBKDF2-HMAC-SHA-256 (RFC 8018):
//!
//! ```json
//! {"kdf": "PBKDF2-HMAC-SHA-256", "iterations": 600000, "salt": "…", "cipher": "AES-256-GCM", "nonce": "…", "data":
//! "…"}
//! ```
//!
//! `salt` (16 bytes), `nonce` (12 bytes) and `data` (ciphertext, then a tag of 16 bytes) are base64. The associated
//! data
//! is the text [`PURPOSE`].

use std::collections::HashMap;
use std::io::{IsTerminal, Read};
use std::num::NonZeroU32;

use aes_gcm::aead::AeadInPlace;
use aes_gcm::{Aes256Gcm, Key, KeyInit};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::pbkdf2;
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::super::mysql::prompt::{asked, new_secret};
use super::add;
use super::listing::{called, named, selected, unsaved};
use crate::api::{App, Server};
use crate::cli::args::app::{EXPORT, IMPORT, KEEP_AUTOCONNECT, WITH_SECRETS};
use crate::cli::args::command::Parsed;
use crate::cli::args::values::PASSWORD_VARIABLE;
use crate::cli::failure::{Failure, print, print_json_line, printable, quoted, warn};
use crate::cli::fields::{self, Fields};
use crate::cli::manager_client::{Manager, is_same_server};
use crate::cli::serve::data_dir;
use crate::manager::app::AppConfig;
use crate::manager::app_store::{AppStore, Error};
use crate::manager::apps::fields::{Kind, field, is_own};
use crate::manager::site_wish;
use crate::store::random;

/// Name of the format in the file.
const FORMAT: &str = "postern applications";
/// Version of the format: a newer one is refused.
const VERSION: u64 = 1;
/// Bytes of a file. Default 4 MiB, like the stored list.
const FILE_CAP: u64 = crate::limits::APP_FILE;

/// Purpose of the sealed part: content for another purpose cannot be opened as this one.
const PURPOSE: &[u8] = b"postern applications 1";
/// Number of times that the passphrase is hashed. Default 600,000: about half a second for each guess.
const ITERATIONS: u32 = 600_000;
/// Upper limit for a file: more iterations are not from this program, and would take minutes.
const ITERATIONS_CAP: u32 = 10_000_000;
/// Names of the algorithms.
const KDF: &str = "PBKDF2-HMAC-SHA-256";
const CIPHER: &str = "AES-256-GCM";
/// Lengths in bytes.
const SALT: usize = 16;
const NONCE: usize = 12;
const TAG: usize = 16;

pub(super) fn export(parsed: &Parsed) -> Result<(), Failure> {
    let unread = |error| match error {
        Error::Store(error) => Failure::from(error),
        other => Failure::operation(other.to_string()),
    };
    let home = data_dir()?;
    let mut apps = AppStore::new(home.clone()).list().map_err(unread)?;
    if !parsed.operands().is_empty() {
        let wanted = selected(parsed, Manager::open(&home)?.apps()?)?;
        if let Some(share) = wanted.iter().find(|app| app.temporary) {
            let message = "belongs to a running command: it is not saved, so it is not exported";
            let failure = Failure::operation(format!("{} {message}", quoted(&share.name)));
            return Err(failure.hint("'postern app add' saves an application"));
        }
        apps.retain(|app| wanted.iter().any(|one| one.id == app.id));
    }
    let fields: Vec<Value> = apps.iter().map(without_secrets).collect();
    let mut document = json!({"format": FORMAT, "version": VERSION, "applications": fields});
    if parsed.has(&WITH_SECRETS) {
        if !std::io::stderr().is_terminal() {
            return Err(EXPORT.usage("--with-secrets needs a terminal to ask for the passphrase"));
        }
        let passphrase = new_secret("Passphrase for the secrets: ")?;
        let secrets = apps.iter().map(|app| app.secrets().into_iter().collect());
        let secrets: Vec<HashMap<_, _>> = secrets.collect();
        let content = Zeroizing::new(json!(secrets).to_string().into_bytes());
        if let Some(document) = document.as_object_mut() {
            document.insert("sealed".to_owned(), seal(&passphrase, content));
        }
    }
    print(&format!("{document:#}\n"))
}

fn without_secrets(app: &AppConfig) -> Value {
    let mut shown = app.to_json();
    if let Some(fields) = shown.as_object_mut() {
        let server = app.server.as_ref().or(app.used_server.as_ref());
        fields.insert("server".to_owned(), json!(server));
        // Another machine would choose other words for a site without a name of its own.
        fields.insert("site_name".to_owned(), json!(site_wish(app)));
        fields.retain(|name, value| {
            let is_nothing = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            !is_nothing && !is_own(name)
        });
    }
    shown
}

pub(super) fn import(parsed: &Parsed) -> Result<(), Failure> {
    let document = read(parsed.operand())?;
    let apps = document.get("applications").and_then(Value::as_array);
    let apps = apps.ok_or_else(|| no_such_file("it has no applications"))?;
    let secrets = secrets(&document, apps.len())?;
    let manager = Manager::open(&data_dir()?)?;
    let (servers, default) = (manager.servers()?, manager.version()?.server);
    let default = default.unwrap_or_else(|| "the relay on this machine".to_owned());
    let keeps = parsed.has(&KEEP_AUTOCONNECT);
    let mut wrong = 0;
    for (number, app) in apps.iter().enumerate() {
        let name = app
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or("(unnamed)");
        match added(&manager, app, secrets.get(number), keeps) {
            Ok(Some(added)) => {
                if parsed.wants_json() {
                    print_json_line(&added)?;
                } else {
                    print(&format!("{}\t{}\n", added.id, printable(name)))?;
                }
                let would = would_do(&added, is_armed(app) && !keeps, &servers, &default);
                warn(&format!("{}: {would}", quoted(name)));
                let warning = add::of_imported(&added);
                for what in lacking(&added).into_iter().chain(warning) {
                    warn(&format!("{}: {what}", quoted(name)));
                }
            }
            Ok(None) => warn(&format!("{} already exists: skipped", quoted(name))),
            Err(why) => {
                wrong += 1;
                warn(&format!("{}: skipped: {why}", quoted(name)));
            }
        }
    }
    match wrong {
        0 => Ok(()),
        _ => Err(Failure::operation(format!(
            "{wrong} of {} applications were skipped",
            apps.len()
        ))),
    }
}

/// True if it has autoconnect.
fn is_armed(app: &Value) -> bool {
    app.get("autoconnect").and_then(Value::as_bool) == Some(true)
}

/// Describes autoconnect and server of an added application; `was_armed` is true if the file has autoconnect. `default`
/// is the server for applications that name none.
fn would_do(added: &App, was_armed: bool, servers: &[Server], default: &str) -> String {
    let by_itself = match (added.autoconnect, was_armed) {
        (true, _) => "yes",
        (false, true) => "no (yes in the file; --keep-autoconnect keeps that)",
        (false, false) => "no",
    };
    let is_known = |url| {
        let mut known = servers.iter().filter(|server| server.known);
        known.any(|server| is_same_server(&server.url, url))
    };
    let (server, unknown) = match added.server.as_deref() {
        None => (default, ""),
        Some(url) if is_known(url) => (url, ""),
        Some(url) => (url, ", not in your list of relays"),
    };
    format!(
        "autoconnect: {by_itself}; server: {}{unknown}",
        printable(server)
    )
}

/// Lists what an added application lacks.
fn lacking(added: &App) -> Vec<String> {
    let password = (added.protocol.is_database() && !added.has_db_pass).then(|| {
        let name = called(added);
        format!("has no password: run 'postern app edit {name}' with {PASSWORD_VARIABLE} set")
    });
    let code = added
        .invisible
        .then(|| "it has a new code: old links no longer work".to_owned());
    password.into_iter().chain(code).collect()
}

/// Adds an application and returns it; none if one with its name exists. The file's autoconnect setting counts only
/// with `keeps_autoconnect`.
fn added(
    manager: &Manager,
    app: &Value,
    secrets: Option<&Value>,
    keeps_autoconnect: bool,
) -> Result<Option<App>, String> {
    let mut fields: Fields = app.as_object().cloned().ok_or("not an application")?;
    if is_armed(app) && !keeps_autoconnect {
        fields.insert("autoconnect".to_owned(), Value::Bool(false));
    }
    if let Some(name) = fields.get("name").and_then(Value::as_str) {
        let apps = manager.apps().unwrap_or_default();
        if !matches!(named(&apps, name), Ok(None)) {
            return Ok(None);
        }
    }
    let secrets = secrets.and_then(Value::as_object).into_iter().flatten();
    let is_secret = |name| field(name).is_some_and(|field| field.kind == Kind::Secret);
    let known = secrets.filter(|(name, value)| is_secret(name) && value.is_string());
    fields.extend(known.map(|(name, value)| (name.clone(), value.clone())));
    fields::checked(&IMPORT, &fields).map_err(|failure| failure.message())?;
    let added = manager.add(&fields).map_err(unsaved);
    added.map(Some).map_err(|failure| failure.message())
}

fn read(file: &str) -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    let mut read = |from: &mut dyn Read| from.take(FILE_CAP + 1).read_to_end(&mut bytes);
    let read = match file {
        "-" => read(&mut std::io::stdin()),
        path => std::fs::File::open(path).and_then(|mut file| read(&mut file)),
    };
    read.map_err(|error| Failure::operation(format!("cannot read {}: {error}", quoted(file))))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > FILE_CAP) {
        return Err(no_such_file("it is larger than 4 MiB"));
    }
    let document: Map<String, Value> = serde_json::from_slice(&bytes)
        .map_err(|error| no_such_file(&format!("it is not a JSON object: {error}")))?;
    if document.get("format").and_then(Value::as_str) != Some(FORMAT) {
        return Err(no_such_file("its format is different"));
    }
    match document.get("version").and_then(Value::as_u64) {
        Some(VERSION) => Ok(Value::Object(document)),
        Some(version) if version > VERSION => Err(Failure::operation(format!(
            "the file has version {version}, this postern reads version {VERSION}"
        ))
        .hint("use a newer postern")),
        _ => Err(no_such_file("it has no version")),
    }
}

fn no_such_file(why: &str) -> Failure {
    Failure::operation(format!("not a file from 'postern app export': {why}"))
}

/// Returns the sealed secrets of the file, one per application.
fn secrets(document: &Value, count: usize) -> Result<Vec<Value>, Failure> {
    let Some(sealed) = document.get("sealed") else {
        return Ok(Vec::new());
    };
    if !std::io::stderr().is_terminal() {
        warn("passwords in the file are skipped: no terminal to ask for the passphrase");
        return Ok(Vec::new());
    }
    let passphrase = asked("Passphrase of the file: ")?;
    let content = open(&passphrase, sealed).map_err(Failure::operation)?;
    let secrets: Vec<Value> = serde_json::from_slice(&content).unwrap_or_default();
    if secrets.len() == count {
        return Ok(secrets);
    }
    Err(no_such_file(
        "its numbers of secrets and applications differ",
    ))
}

/// Seals a text.
pub(super) fn seal(passphrase: &str, mut content: Zeroizing<Vec<u8>>) -> Value {
    seal_with(passphrase, &mut content, ITERATIONS)
}

fn seal_with(passphrase: &str, content: &mut Zeroizing<Vec<u8>>, iterations: u32) -> Value {
    let (salt, nonce) = (random::bytes::<SALT>(), random::bytes::<NONCE>());
    let cipher = cipher(passphrase, &salt, iterations);
    let tag = cipher
        .encrypt_in_place_detached(&nonce.into(), PURPOSE, content)
        .expect("it is shorter than AES-GCM's 64 GiB");
    let data = [content.as_slice(), &tag].concat();
    json!({
        "kdf": KDF,
        "iterations": iterations,
        "salt": STANDARD.encode(salt),
        "cipher": CIPHER,
        "nonce": STANDARD.encode(nonce),
        "data": STANDARD.encode(data),
    })
}

/// Opens a text sealed by [`seal`]; the error is for people.
pub(super) fn open(passphrase: &str, sealed: &Value) -> Result<Zeroizing<Vec<u8>>, &'static str> {
    let damaged = "the sealed part of the file is damaged";
    let text = |name: &str| sealed.get(name).and_then(Value::as_str);
    if text("kdf") != Some(KDF) || text("cipher") != Some(CIPHER) {
        return Err("the file uses an encryption format that this version does not know");
    }
    let bytes = |name: &str| STANDARD.decode(text(name)?).ok();
    let iterations = sealed.get("iterations").and_then(Value::as_u64);
    let iterations = iterations.and_then(|number| u32::try_from(number).ok());
    let iterations = iterations.filter(|number| (1..=ITERATIONS_CAP).contains(number));
    let parts = (bytes("salt"), bytes("nonce"), bytes("data"), iterations);
    let (Some(salt), Some(nonce), Some(data), Some(iterations)) = parts else {
        return Err(damaged);
    };
    let nonce: [u8; NONCE] = nonce.try_into().map_err(|_| damaged)?;
    let (content, tag) = data.split_last_chunk::<TAG>().ok_or(damaged)?;
    let mut content = Zeroizing::new(content.to_vec());
    cipher(passphrase, &salt, iterations)
        .decrypt_in_place_detached(&nonce.into(), PURPOSE, &mut content, &(*tag).into())
        .map_err(|_| "wrong passphrase")?;
    Ok(content)
}

fn cipher(passphrase: &str, salt: &[u8], iterations: u32) -> Aes256Gcm {
    let mut key = Zeroizing::new([0; 32]);
    let iterations = NonZeroU32::new(iterations).unwrap_or(NonZeroU32::MIN);
    let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
    pbkdf2::derive(
        algorithm,
        iterations,
        salt,
        passphrase.as_bytes(),
        &mut *key,
    );
    Aes256Gcm::new(Key::<Aes256Gcm>::from_slice(&*key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_same_passphrase_opens_it_and_nothing_else_may_change() {
        let mut content = Zeroizing::new(b"hunter2".to_vec());
        let sealed = seal_with("open sesame", &mut content, 3);
        assert!(!sealed.to_string().contains("hunter2"));
        assert_eq!(open("open sesame", &sealed).unwrap().as_slice(), b"hunter2");
        assert!(
            open("open sesam", &sealed)
                .unwrap_err()
                .contains("passphrase")
        );
        for (name, value) in [
            ("iterations", json!(2)),
            ("iterations", json!(0)),
            ("iterations", json!(99_999_999)),
            ("salt", json!("AAAA")),
            ("nonce", json!("AAAA")),
            ("data", json!("AAAA")),
            ("data", json!(7)),
            ("cipher", json!("none")),
        ] {
            let mut other = sealed.clone();
            other[name] = value;
            assert!(open("open sesame", &other).is_err(), "{other}");
        }
    }
}
