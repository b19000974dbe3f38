//! The relay's API in OpenAPI: its routes, in the order of `api::routes`.

use serde_json::json;

use crate::api::openapi::Description;
use crate::api::relay::{
    Allowed, Enrols, Health, InviteTerms, Invites, NameTaken, NameTransfer, NewInvite,
    OperatorLink, Released, Revocation, Setup, SetupCall, Status, TlsAllowed, Uninvited,
};
use crate::api::typescript;

/// The form of the sign-in page.
#[derive(schemars::JsonSchema, serde::Deserialize)]
#[expect(dead_code, reason = "its schema is what is used")]
struct SignIn {
    /// The token, or the link that has it.
    code: String,
}

/// Ways to sign in as the operator.
const OPERATOR: [&str; 2] = ["operator", "session"];

#[test]
fn the_description_is_that_of_the_routes() {
    let mut of = Description::new(
        "postern relay",
        "API of `postern relay` under its own names. Every JSON answer but `/health` is `{\"code\": N, …}` with `data` on \
         success and `message` on failure, N being the HTTP status.",
        json!({
            "connector": {"type": "http", "scheme": "basic", "description": "The connector's name and password"},
            "operator": {"type": "http", "scheme": "bearer", "description": "The token printed at start"},
            "session": {"type": "apiKey", "in": "cookie", "name": "postern-relay-PORT",
                "description": "With https its name begins with __Host-"},
        }),
    );
    of_connectors(&mut of);
    of_operator(&mut of);
    of_everybody(&mut of);
    let schemas = of.compare("src/relay/openapi.json");
    typescript::compare("html/gateway/types.d.ts", "Relay", &schemas);
}

fn of_connectors(of: &mut Description) {
    of.call("post", "/api/public/quick-setup", ("quickSetup",
        "Enrols a connector at its first call, and assigns an application its port and name"))
        .about(
            "`client_app_id`, else protocol, ip and port, identifies the application: it keeps its assignment. At most 30 \
             calls a minute per source; known connectors with a generated password are not counted. A relay that others \
             can reach refuses protocols other than http and https with 403, unless its operator has set where their ports \
             are bound. The call that enrols uses up an enrolment token; the same connector may repeat it.",
        )
        .takes::<SetupCall>()
        .answers::<Setup>(200, "Assignment")
        .fails(&[400, 401, 403, 409, 413, 415, 429, 500, 503]);
    of.call("post", "/api/public/enrolment", ("enrolment",
        "Checks whether a quick-setup call with this body would be accepted; nothing is enrolled or assigned"))
        .about("Counted like the quick-setup call.")
        .takes::<SetupCall>()
        .answers::<Enrols>(200, "It would be accepted")
        .fails(&[400, 401, 403, 413, 415, 429, 500, 503]);
    of.call("delete", "/api/public/applications/{client_app_id}", ("release",
        "Releases what an application was assigned"))
        .by(&["connector"])
        .query::<Option<String>>("name",
            "`free` also releases the name of its site for any connector; else it is reserved for 30 days")
        .answers::<Released>(200, "Released")
        .fails(&[401, 404, 429, 500, 503]);
    of.call("get", "/.postern/tunnel", ("tunnel", "Opens a tunnel"))
        .about(
            "A WebSocket with the subprotocol `chisel-v3` (RFC 6455), as on the port for tunnels. `relay --tunnel-url` \
             adds another path.",
        )
        .gives(101, "The connection is a WebSocket")
        .fails(&[400, 403, 404, 426, 503]);
}

fn of_operator(of: &mut Description) {
    of.call("get", "/api/status", ("status", "Connectors, their applications and traffic"))
        .about(
            "Without parameters every connector, by name. With `lines` a page: it ends with the connector that fills it, \
             together with its applications; `next` is the next page's `offset`.",
        )
        .by(&OPERATOR)
        .query::<Option<String>>("search",
            "Only connectors with this text in a name, a label or an address, or that share something with it")
        .query::<Option<String>>("sort",
            "`name`: by invite label, else machine name; `called`, `visit` or `traffic`: by last call, last visit or most \
             bytes first")
        .query::<Option<u32>>("offset", "Number of connectors to skip")
        .query::<Option<u32>>("lines", "Lines of a page, from 1")
        .answers::<Status>(200, "The relay's current state")
        .fails(&[400, 401]);
    of.call(
        "delete",
        "/api/connectors/{name}",
        (
            "revoke",
            "Disconnects and blocks a connector, and disables the invite it used",
        ),
    )
    .about("Its names and ports stay reserved for 30 days. Enrolled connectors need no token.")
    .by(&OPERATOR)
    .answers::<Revocation>(200, "Revoked")
    .fails(&[401, 404, 500, 503]);
    of.call("delete", "/api/revoked/{name}", ("allow", "Undoes a revocation"))
        .about(
            "Within 30 days the connector is enrolled again, with the names and ports still reserved for it; after that it \
             may enrol anew. 429 if the relay has reached its limit of connectors: nothing changes.",
        )
        .by(&OPERATOR)
        .answers::<Allowed>(200, "No longer revoked")
        .fails(&[401, 404, 429, 500, 503]);
    of.call("delete", "/api/sites/{name}", ("releaseName", "Releases the name of a site"))
        .about(
            "Sign-ins end, and browsers delete what they stored for the earlier site. 409 if the site is connected and \
             `force` is not given.",
        )
        .by(&OPERATOR)
        .query::<Option<bool>>("force", "Also if its site is connected; it then continues under another name")
        .answers::<NameTaken>(200, "New owner of the name")
        .fails(&[401, 404, 409, 500, 503]);
    of.call("put", "/api/sites/{name}", ("transferName", "Transfers the name of a site to another connector"))
        .about(
            "Its next connect with this name gets it, within 30 days. 409 if the site is connected and `force` is not \
             given, if the connector already has the name, or if several connectors have the label.",
        )
        .by(&OPERATOR)
        .takes::<NameTransfer>()
        .answers::<NameTaken>(200, "New owner of the name")
        .fails(&[400, 401, 404, 409, 500, 503]);
    of.call(
        "get",
        "/api/invites",
        ("invites", "Invites: enrolment tokens for new connectors"),
    )
    .by(&OPERATOR)
    .answers::<Invites>(200, "In order of creation")
    .fails(&[401]);
    of.call(
        "post",
        "/api/invites",
        ("invite", "Creates an enrolment token"),
    )
    .by(&OPERATOR)
    .takes::<InviteTerms>()
    .answers::<NewInvite>(200, "Created")
    .fails(&[400, 401, 429, 500, 503]);
    of.call(
        "delete",
        "/api/invites/{id}",
        ("uninvite", "Cancels an invite"),
    )
    .about("Connectors that used it stay.")
    .by(&OPERATOR)
    .answers::<Uninvited>(200, "It can no longer be used")
    .fails(&[401, 404, 500, 503]);
    of.call(
        "post",
        "/api/links",
        (
            "link",
            "Creates an address that signs the operator in, valid once and for ten minutes",
        ),
    )
    .by(&OPERATOR)
    .answers::<OperatorLink>(200, "Created")
    .fails(&[401]);
}

fn of_everybody(of: &mut Description) {
    of.call("get", "/api/public/tls-allowed", ("tlsAllowed",
        "Tells whether a web server in front may get a certificate for a host name"))
        .about(
            "200 for the domain, the relay's own names, and sites that are connected or were within 30 days. Answered only \
             to a peer in `--trust-proxy` that asks for itself: without `X-Forwarded-…`, `Forwarded`, `X-Real-IP` or \
             `Via`, and not by the host of the public URL; for Caddy's `on_demand_tls`.",
        )
        .query::<String>("domain", "Exactly once")
        .answers::<TlsAllowed>(200, "It may")
        .fails(&[400, 403, 404]);
    of.call("get", "/health", ("health", "Health"))
        .about(
            "503 while it stops (`--drain`), and while a relay of a fleet starts and is not yet linked to the others: load \
             balancers skip it.",
        )
        .answers_bare::<Health>(200, "Running")
        .fails(&[503]);
    of.call(
        "get",
        "/auth",
        (
            "signInByLink",
            "Exchanges the operator's token for a cookie; without one, the sign-in page",
        ),
    )
    .query::<Option<String>>("code", "The token")
    .gives(200, "The sign-in page")
    .gives(303, "Signed in")
    .gives(401, "A wrong token")
    .fails(&[429]);
    of.call(
        "post",
        "/auth",
        ("signIn", "Exchanges the token from the page's form"),
    )
    .takes_as::<SignIn>("application/x-www-form-urlencoded")
    .gives(303, "Signed in")
    .gives(401, "A wrong token")
    .fails(&[429]);
    of.call("get", "/", ("page", "The operator's page"))
        .gives(200, "The page")
        .gives(303, "Sign in first");
    of.call("get", "/api/openapi.json", ("description", "This document"))
        .gives(200, "OpenAPI 3.1");
}
