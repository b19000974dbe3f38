//! Common parts of the command lines of shares.

use serde_json::Value;
use zeroize::Zeroizing;

use crate::cli::args::command::{Command, ENROLL_TOKEN, Parsed, SERVER};
use crate::cli::args::values::{SERVER_VARIABLE, TOKEN_VARIABLE, environment};
use crate::cli::failure::Failure;
use crate::cli::fields::Fields;
use crate::manager::ServerUrl;
use crate::manager::protocol::Protocol;
use crate::net::authority::is_loopback;

/// Names an unnamed application by protocol and port; the site's name does not contain an address of this network.
pub(in crate::cli::commands) fn name_by_target(fields: &mut Fields, protocol: Protocol) {
    let given = fields.get("port").and_then(Value::as_u64);
    let Some(port) = given.or_else(|| protocol.default_port().map(u64::from)) else {
        return;
    };
    let here = |host: &str| is_loopback(host.trim_start_matches('[').trim_end_matches(']'));
    let host = Some(fields.get("ip").and_then(Value::as_str).unwrap_or_default())
        .filter(|host| !host.is_empty() && !here(host));
    let place = host.map_or_else(|| port.to_string(), |host| format!("{host}:{port}"));
    let protocol = protocol.name();
    let called = [
        ("name", format!("{protocol} {place}")),
        ("site_name", format!("{protocol}-{port}")),
    ];
    if !fields.contains_key("name") {
        for (field, text) in called {
            fields.entry(field.to_owned()).or_insert(text.into());
        }
    }
}

/// The server given by flag or variable; without TLS only if `insecure`.
pub(in crate::cli::commands) fn server(
    command: &Command,
    parsed: &Parsed,
    insecure: bool,
) -> Result<Option<ServerUrl>, Failure> {
    let by_flag = parsed.value(&SERVER).map(|url| ("--server", url));
    let by_variable = || Some((SERVER_VARIABLE, environment(SERVER_VARIABLE)?));
    let Some((name, url)) = by_flag.or_else(by_variable) else {
        return Ok(None);
    };
    let server = ServerUrl::parse(&url, insecure);
    server
        .map(Some)
        .map_err(|why| command.usage(format!("{name}: {why}")))
}

/// The enrolment token given by flag or variable.
pub(in crate::cli::commands) fn given_token(parsed: &Parsed) -> Option<Zeroizing<String>> {
    let variable = || environment(TOKEN_VARIABLE);
    let token = parsed.value(&ENROLL_TOKEN).or_else(variable);
    token.map(Zeroizing::new)
}
