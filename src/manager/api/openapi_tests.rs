//! The management API in OpenAPI: its routes, and the types of the page.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde_json::{Value, json};

use super::apps::{Requests, Statements};
use super::listeners::Listener;
use super::routes::{AddRequest, Symbol, Wanted};
use super::servers::{Reset, ResetRequest};
use crate::api::openapi::{Call, Description};
use crate::api::{
    App, ChangeCount, ConnectResult, MainTunnel, Server, ServerUpdate, Trust, Version, typescript,
};
use crate::manager::apps::fields::tests::Draft;
use crate::plugin::Installed;

/// Members that every failed call answers.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema is what is used")]
struct Failure {
    /// The HTTP status.
    code: u16,
    /// The cause.
    message: String,
    /// Hint: what to try.
    #[schemars(with = "String")]
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Invalid fields, and why each is.
    #[schemars(with = "BTreeMap<String, String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<BTreeMap<String, String>>,
    /// Identifiers of connected applications that prevent it.
    #[schemars(with = "Vec<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    connected: Option<Vec<String>>,
    /// Names of the applications that prevent it.
    #[schemars(with = "Vec<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    applications: Option<Vec<String>>,
}

#[test]
fn the_description_is_that_of_the_routes() {
    let mut of = Description::failing::<Failure>(
        "postern management API",
        "The local HTTP API of `postern start`. Every JSON answer is `{\"code\": N, …}` with `data` on success and \
         `message` on failure, N being the HTTP status. In addition, the server answers 403 to requests of other web \
         sites, 421 to foreign Host names, 405 with Allow, 413, 431.",
        json!({}),
    )
    .closed();
    for (status, meaning) in [
        (
            400,
            "Malformed JSON, or invalid fields: all of them are named, one by one in `fields`",
        ),
        (
            404,
            "No such application, nothing to trust, or nothing to remove",
        ),
        (415, "The body is not declared as JSON"),
        (429, "Over a limit, which the message names"),
        (500, "A file cannot be read or written"),
        (502, "The database did not answer, or refused"),
        (503, "The program is stopping"),
    ] {
        of.means(status, meaning);
    }
    of_applications(&mut of);
    of_connections(&mut of);
    of_servers(&mut of);
    of_the_program(&mut of);
    let schemas = of.compare("src/manager/api/openapi.json");
    typescript::compare("html/manage/types.d.ts", "", &schemas);
}

/// A call for the application that its path names.
fn of_app<'a>(
    of: &'a mut Description,
    method: &'static str,
    path: &'static str,
    name: (&str, &str),
) -> Call<'a> {
    of.call(method, path, name)
        .needs("id", "16 hexadecimal digits")
}

/// The data of an answer that is one of these states of a connection.
fn state(states: &[&str]) -> Value {
    json!({
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"type": "string", "enum": states}},
    })
}

fn of_applications(of: &mut Description) {
    const NAME_IS_TAKEN: &str = "Another application has this name";
    let (all, one) = ("/api/apps", "/api/apps/{id}");
    of.call(
        "get",
        all,
        ("listApps", "All applications, each with its connection"),
    )
    .answers::<Vec<App>>(200, "In the order in which they were added")
    .fails(&[500]);
    of.call(
        "post",
        all,
        ("addApp", "Adds an application; no remote call is made"),
    )
    .takes::<Draft>()
    .answers::<App>(201, "The application")
    .refuses(409, NAME_IS_TAKEN)
    .fails(&[400, 415, 429, 500]);
    of_app(of, "get", one, ("showApp", "One application"))
        .answers::<App>(200, "The application")
        .fails(&[404, 500]);
    of_app(of, "put", one, ("replaceApp",
        "Changes an application: an omitted field is kept, null sets its default, an empty secret is removed. Applies at the next connect"))
        .takes::<Draft>()
        .answers::<App>(200, "The application")
        .refuses(409, NAME_IS_TAKEN)
        .fails(&[400, 404, 415, 429, 500]);
    of_app(of, "delete", one, ("removeApp", "Disconnects and removes an application"))
        .query::<bool>("release",
            "First release the name of its site for others; else the server reserves it for 30 days. 502 if that \
             fails: the application stays, disconnected")
        .answers::<App>(200, "The removed application")
        .refuses(502, "The server did not release the name")
        .fails(&[400, 404, 429, 500]);
    of_app(of, "post", "/api/apps/{id}/code", ("renewCode",
        "Creates a new code for an invisible application: visitors with the old one are signed out and disconnected. \
         Applies to a running connection at once"))
        .answers::<App>(200, "The application")
        .refuses(409, "It is not invisible, so it has no code")
        .fails(&[404, 429, 500]);
    of_app(of, "post", "/api/apps/{id}/signout", ("signOut",
        "Signs all visitors out and ends their connections. The code stays. Applies to a running connection at once"))
        .answers::<App>(200, "The application")
        .answers::<App>(202,
            "The application; the server did not receive it within 5 s, or did not answer, and is told again until \
             it does")
        .fails(&[404, 429, 500]);
    let lease = json!({
        "type": "string",
        "pattern": "^[0-9a-f]{16}$",
        "description": "The locked file run/lease-LEASE of the per-user directory; also the application's identifier",
    });
    let with_lease = json!({
        "type": "object",
        "additionalProperties": true,
        "required": ["lease"],
        "properties": {"lease": lease},
    });
    of.call("post", "/api/shares", ("addShare",
        "Adds an application for as long as a command runs: it is not saved, and ends with the command"))
        .takes_schema(&json!({"allOf": [{"$ref": "#/components/schemas/Draft"}, with_lease]}))
        .answers::<App>(201, "The application")
        .refuses(409, "Nobody holds the lease, it already has an application, or another application has this name")
        .refuses(503, "No thread is available")
        .fails(&[400, 415, 429, 500]);
    of.call("post", "/api/guest/objects", ("guestObjects",
        "Names that a database guest may be allowed to read: databases, tables of a database, or columns of a table"))
        .takes_schema(&json!({
            "type": "object",
            "additionalProperties": true,
            "properties": {
                "id": {"type": "string", "description":
                    "A saved application; without it the other fields are a Draft, with it they change it for this question"},
                "database": {"type": "string", "maxLength": 64},
                "table": {"type": "string", "maxLength": 64},
            },
        }))
        .answers::<Vec<String>>(200, "The names")
        .fails(&[400, 404, 415, 429, 500, 502]);
}

fn of_connections(of: &mut Description) {
    let begun = state(&["connecting", "connected"]);
    let mut answer = begun.clone();
    answer["required"] = json!(["code", "status", "data"]);
    answer["properties"]["code"] = json!({"type": "integer", "const": 200});
    answer["properties"]["data"] = begun;
    of_app(of, "post", "/api/connect/{id}", ("connect",
        "Starts to connect; if already connecting or connected, returns the current status"))
        .query::<Required>("site_name",
            "The first connect fails with `name-taken` instead of getting another site name than `site_name`")
        .json(200, "The status", &answer)
        .refuses(409, "The share has expired: `hint` says what to do")
        .fails(&[404, 429, 500, 503]);
    of_app(
        of,
        "post",
        "/api/disconnect/{id}",
        ("disconnect", "Disconnects, in any state"),
    )
    .answers_schema(
        200,
        "Also for an idle application",
        &state(&["disconnected"]),
    )
    .fails(&[404, 500]);
    of_app(
        of,
        "get",
        "/api/status/{id}",
        ("status", "The connection of an application"),
    )
    .answers::<ConnectResult>(200, "Its state and counters")
    .fails(&[404, 500]);
    of_app(
        of,
        "post",
        "/api/retry/{id}",
        (
            "retry",
            "Ends the current retry pause; checks a connected application that does not answer",
        ),
    )
    .answers_schema(
        200,
        "The status",
        &state(&["idle", "connecting", "connected", "failed", "disconnected"]),
    )
    .fails(&[404, 500]);
    of_app(of, "get", "/api/apps/{id}/changes", ("changes",
        "How often an application or its connection has changed. With `after`, waits up to 10 s for another number"))
        .query::<u64>("after", "The last known number")
        .answers::<ChangeCount>(200, "The number")
        .fails(&[400, 404, 429, 500]);
    of_app(of, "get", "/api/apps/{id}/requests", ("requests",
        "The last 500 visitor requests of an application since it was connected; empty for protocols other than HTTP"))
        .query::<u64>("after", "Number of the last known request; 0 for all")
        .answers::<Requests>(200, "Those after number `after`")
        .fails(&[400, 404, 500]);
    of_app(of, "get", "/api/apps/{id}/statements", ("statements",
        "The last 500 visitor statements of a database since it was connected; empty for other applications"))
        .query::<u64>("after", "Number of the last known statement; 0 for all")
        .answers::<Statements>(200, "Those after number `after`")
        .fails(&[400, 404, 500]);
}

/// The site must have the name that is wished for.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
#[expect(dead_code, reason = "its schema is what is used")]
enum Required {
    Required,
}

fn of_servers(of: &mut Description) {
    let path = "/api/servers";
    of.call(
        "get",
        path,
        (
            "servers",
            "The user's remote servers, those that applications use, and the default one",
        ),
    )
    .answers::<Vec<Server>>(200, "By origin")
    .fails(&[500]);
    of.call("post", path, ("putServer",
        "Adds a server, or changes its entry. An omitted field is kept, null removes it. A new default does not move \
         applications that were connected through another server; applications that wait for this server try again \
         at once"))
        .takes::<ServerUpdate>()
        .answers::<Server>(200, "The server")
        .fails(&[400, 415, 429, 500]);
    of.call("delete", path, ("removeServer",
        "Removes a server, with its label and enrolment token. This connector's credentials there stay"))
        .needs("url", "Its URL")
        .answers::<Server>(200, "The server as it was")
        .refuses(409, "Applications name it, or are assigned to it: `applications` has their names")
        .fails(&[400, 404, 429, 500]);
    of.call(
        "get",
        "/api/tunnel",
        ("tunnels", "Main tunnels, one per remote server"),
    )
    .answers::<Vec<MainTunnel>>(200, "By origin");
    of.call(
        "post",
        "/api/trust",
        (
            "trust",
            "Accepts a changed host key that a tunnel has just refused",
        ),
    )
    .takes::<Trust>()
    .answers::<Trust>(200, "The trusted key")
    .fails(&[400, 404, 415, 429, 500]);
    of.call("post", "/api/reset", ("reset",
        "Resets the identity at one server: deletes this connector's credentials and its main tunnel there. A copy of the \
         sealed file is kept; trusted host keys stay. Applications stay too, and get new addresses at the next \
         connect"))
        .takes::<ResetRequest>()
        .answers::<Reset>(200, "The server, and the applications that were disconnected")
        .refuses(409, "Applications are connected or connecting through it: `connected` has their identifiers")
        .fails(&[400, 404, 415, 429, 500, 503]);
}

fn of_the_program(of: &mut Description) {
    of.call(
        "get",
        "/api/listeners",
        (
            "listeners",
            "The user's TCP services on this machine that could be shared, without postern itself",
        ),
    )
    .answers::<Vec<Listener>>(200, "By port, at most 512")
    .fails(&[429]);
    of.call("get", "/api/plugins", ("plugins", "Added plugins"))
        .answers::<Vec<Installed>>(200, "In the order in which they were added")
        .fails(&[500]);
    of.call("post", "/api/plugins", ("addPlugin",
        "Adds a plugin, by its name or one of its protocols; an added one is returned unchanged"))
        .takes::<AddRequest>()
        .answers::<Installed>(200, "The plugin")
        .fails(&[400, 404, 415, 429, 500]);
    of.call(
        "post",
        "/api/qr",
        ("drawQr", "QR code of a text, such as a link"),
    )
    .takes::<Wanted>()
    .answers::<Symbol>(200, "The symbol")
    .refuses(413, "The text is too long for a QR code")
    .fails(&[400, 415, 429]);
    of.call(
        "get",
        "/api/version",
        ("version", "The program and its settings"),
    )
    .answers::<Version>(200, "Notices are for the user");
    of.call("get", "/api/openapi.json", ("description", "This document"))
        .json(200, "OpenAPI 3.1", &json!({"type": "object"}));
}
