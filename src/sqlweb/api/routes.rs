//! The routes of the HTTP API, the check that a visitor may use them, sign-in, and the handlers of info and catalogue.

use std::sync::Arc;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::edit;
use super::export;
use super::query;
use super::script;
use super::search;
use crate::http::auth::{SignInFields, SignInOutcome};
use crate::http::{Handler, Method, Request, Response, Router, VisitorPresence, assets};
use crate::sqlweb::auth::Auth;
use crate::sqlweb::catalogue;
use crate::sqlweb::error::{ApiError, DbError};
use crate::sqlweb::options::Target;
use crate::sqlweb::service::Service;
use crate::sqlweb::visitors::RequestSender;

/// Path at which a code is exchanged for a cookie.
const AUTH: &str = "/auth";
/// Sign-in path in the links of sites.
const SITE_AUTH: &str = "/.postern/auth";

/// Path of the server's facts, which an open page requests all the time.
const INFO: &str = "/api/info";

/// Paths whose bodies are streamed, since they contain scripts or files.
const SCRIPT: &str = "/api/script";
const EDIT: &str = "/api/edit";

/// All routes of a web client; in invisible mode only for visitors who have signed in.
pub(crate) struct Routes {
    service: Arc<Service>,
    router: Router,
}

impl Routes {
    /// The routes of `service`.
    pub(crate) fn new(service: &Arc<Service>) -> Self {
        let on = |f: fn(&Arc<Service>, Request)| {
            let service = service.clone();
            move |request: Request| f(&service, request)
        };
        let router = Router::new()
            .on(Method::Get, "/", |request| {
                assets::page(request, "sql/index.html")
            })
            .on(Method::Get, "/assets/*", assets::asset)
            .on(Method::Get, AUTH, on(auth))
            .on(Method::Post, AUTH, on(auth))
            .on(Method::Get, SITE_AUTH, on(auth))
            .on(Method::Post, SITE_AUTH, on(auth))
            .on(Method::Get, INFO, on(info))
            .on(Method::Get, "/api/openapi.json", |request| {
                assets::description(request, "openapi/sqlweb.json");
            })
            .on(Method::Get, "/api/databases", on(databases))
            .on(Method::Get, "/api/tables", on(tables))
            .on(Method::Get, "/api/schema", on(schema))
            .on(Method::Get, "/api/search", on(search::search))
            .on(Method::Post, "/api/query", on(query::query))
            .on(Method::Post, SCRIPT, on(script::script))
            .on(Method::Post, EDIT, on(edit::edit))
            .on(Method::Post, "/api/cancel", on(query::cancel))
            .on(Method::Post, "/api/session/close", on(query::close_session))
            .on(
                Method::Post,
                "/api/session/resume",
                on(query::resume_session),
            )
            .on(Method::Post, "/api/dump", on(export::dump))
            .on(Method::Post, "/api/export", on(export::export))
            .on(Method::Get, "/api/export/{ticket}", on(export::redeem));
        Self {
            service: service.clone(),
            router,
        }
    }

    /// Counts a request of a visitor who has access; the files of a page do not count.
    fn note(&self, request: &Request) -> Option<VisitorPresence<String>> {
        let statements = self.service.statements()?;
        let path = request.path();
        let access = self.service.access.as_ref();
        let is_in = access.is_none_or(|access| access.visitor(request).is_some());
        let counts = !path.starts_with("/assets/") && !path.starts_with("/.postern/");
        let is_visitor = self.service.visitors.source(request) != RequestSender::Here;
        (counts && is_in && is_visitor).then(|| statements.visit(&self.service.counted(request)))
    }
}

impl Handler for Routes {
    fn handle(&self, mut request: Request) {
        log_request(&request);
        let _visit = self.note(&request);
        // Only with answers that no cache keeps, and not at a new sign-in.
        let is_post = *request.method() == Method::Post && request.path().starts_with("/api/");
        if is_post || request.path() == INFO {
            let access = self.service.access.as_ref();
            request.set_cookie(access.and_then(|access| access.renewed(&request)));
        }
        match &self.service.access {
            Some(access) if !may_pass(access, &request) => turn_away(request),
            _ if self.service.is_over() && request.path().starts_with("/api/") => over(request),
            _ => self.router.handle(request),
        }
    }

    fn streams(&self, method: &str, path: &str) -> bool {
        method == "POST" && (path == SCRIPT || path == EDIT)
    }
}

/// Logs a request without its query, which may contain the authorization code, and without the ticket of a download.
fn log_request(request: &Request) {
    let path = match request.path() {
        path if path.starts_with("/api/export/") => "/api/export/…",
        path => path,
    };
    log::debug!(
        "{} {path} from {}",
        request.method().as_str(),
        request.peer()
    );
}

/// True for the sign-in page, its files, and visitors who have signed in.
fn may_pass(access: &Auth, request: &Request) -> bool {
    let path = request.path();
    let of_the_page =
        path.starts_with("/assets/") && (path.contains("/common/") || path.contains("/sql/signin"));
    path == AUTH || path == SITE_AUTH || of_the_page || access.visitor(request).is_some()
}

fn turn_away(request: Request) {
    let response = if request.path() == "/" {
        Response::redirect(303, AUTH)
    } else {
        Response::error(&ApiError::unauthorized(
            "sign in with the authorization code at /auth first",
        ))
    };
    request.respond(response);
}

fn over(request: Request) {
    let over = ApiError::forbidden(
        "this access has expired, and its database account was dropped; ask its owner for more time",
    );
    request.respond(Response::error(&over));
}

/// Answers the sign-in page, or exchanges a code from the link (`?code=`), the page's form, or JSON.
fn auth(service: &Arc<Service>, request: Request) {
    let Some(access) = &service.access else {
        return request.respond(Response::redirect(303, "/"));
    };
    let by_script = request
        .header("content-type")
        .is_some_and(|t| t.starts_with("application/json"));
    let Some(code) = code_of(&request, by_script) else {
        return assets::page(request, "sql/signin.html");
    };
    let source = service.visitors.source(&request).counted_as(request.peer());
    match access.enter(&code, source, access.is_secure(&request)) {
        SignInOutcome::SignedIn(cookie) => {
            let response = if by_script {
                Response::ok(json!({"signed_in": true}))
            } else {
                Response::redirect(303, "/")
            };
            request.respond(response.header("Set-Cookie", cookie));
        }
        SignInOutcome::WrongCode => {
            turn_down(request, by_script, 401, "the authorization code is wrong")
        }
        SignInOutcome::TooMany(_) => turn_down(
            request,
            by_script,
            429,
            "too many wrong authorization codes; wait a minute",
        ),
    }
}

fn code_of(request: &Request, by_script: bool) -> Option<String> {
    if !by_script || *request.method() != Method::Post {
        return SignInFields::code_of(request);
    }
    let body: Value = request.json().ok()?;
    SignInFields::code_in(body.get("code")?.as_str().unwrap_or_default())
}

fn turn_down(request: Request, by_script: bool, status: u16, message: &str) {
    if by_script {
        request.respond(Response::error(&ApiError::new(status, message)));
    } else {
        assets::page_with_status(request, "sql/signin.html", status);
    }
}

/// The server, the account and the mode.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Info<'a> {
    /// True if the account's grants allow more than reading.
    can_write: bool,
    /// Initial database.
    database: Option<&'a str>,
    /// Its host, or the path of its socket.
    host: String,
    /// The variable of this name as last read, set on a cloud's read-only endpoints.
    innodb_read_only: Option<bool>,
    /// Another text where another server answers at the address.
    instance: &'a str,
    /// True if visitors need a code.
    invisible: bool,
    /// As `readonly`, in a word.
    mode: Mode,
    /// Its port; null for a socket.
    port: Option<u16>,
    /// The server's global variable of that name, as last read: set on a replica; null if unknown.
    read_only: Option<bool>,
    /// True in read-only mode.
    readonly: bool,
    /// True if others than its owner use it, who never change accounts.
    shared: bool,
    /// The variable of this name as last read, which only MySQL has.
    super_read_only: Option<bool>,
    /// The server's time zone.
    time_zone: &'a str,
    /// Name and version of this program.
    tool: &'static str,
    /// Login name of the account.
    user: &'a str,
    /// The server's version.
    version: &'a str,
}

/// Mode of a web client.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
enum Mode {
    ReadOnly,
    ReadWrite,
}

/// Answers from memory alone, so that it does not wait for the database.
fn info(service: &Arc<Service>, request: Request) {
    let info = service.info();
    let writes = service.connector.write_state();
    let (host, port) = match &service.options.target {
        Target::Tcp { host, port } => (host.clone(), Some(*port)),
        Target::Unix(path) => (path.display().to_string(), None),
    };
    let readonly = service.options.readonly;
    request.respond(Response::ok(Info {
        version: &info.version,
        instance: &info.instance,
        host,
        port,
        user: &service.connector.user(),
        database: service.options.database.as_deref(),
        readonly,
        shared: service.has_visitors(),
        mode: if readonly {
            Mode::ReadOnly
        } else {
            Mode::ReadWrite
        },
        can_write: info.can_write,
        read_only: writes.read_only,
        super_read_only: writes.super_read_only,
        innodb_read_only: writes.innodb_read_only,
        time_zone: &info.time_zone,
        invisible: service.access.is_some(),
        tool: concat!("postern ", env!("CARGO_PKG_VERSION")),
    }));
}

/// Query of the catalogue, with the values of at most two parameters.
type Ask = fn(&mut mysql::Conn, &str, &str) -> Result<Response, DbError>;

fn databases(service: &Arc<Service>, request: Request) {
    let ask: Ask = |conn, _, _| catalogue::databases(conn).map(Response::ok);
    catalogue_answer(service, request, ask, &[]);
}

fn tables(service: &Arc<Service>, request: Request) {
    let ask: Ask = match request.query("detail") {
        Some("1") => |conn, db, _| catalogue::tables_in_detail(conn, db).map(Response::ok),
        _ => |conn, db, _| catalogue::tables(conn, db).map(Response::ok),
    };
    catalogue_answer(service, request, ask, &["db"]);
}

fn schema(service: &Arc<Service>, request: Request) {
    let ask: Ask = |conn, db, table| catalogue::schema(conn, db, table).map(Response::ok);
    catalogue_answer(service, request, ask, &["db", "table"]);
}

/// Queries the catalogue on a thread of its own, with the named parameters, all of which are required.
fn catalogue_answer(
    service: &Arc<Service>,
    request: Request,
    ask: Ask,
    names: &'static [&'static str],
) {
    let value = |name: &&str| request.query(name).unwrap_or_default().to_owned();
    let named: Vec<String> = names.iter().map(value).collect();
    let missing: Vec<String> = names
        .iter()
        .zip(&named)
        .filter(|(_, value)| value.is_empty())
        .map(|(name, _)| format!("parameter '{name}' is missing or empty"))
        .collect();
    if !missing.is_empty() {
        return request.respond(Response::error(&ApiError::bad_request(missing.join("; "))));
    }
    if named.iter().any(|value| value.contains('\0')) {
        let wrong = format!("{} must not contain a NUL character", names.join(" and "));
        return request.respond(Response::error(&ApiError::bad_request(wrong)));
    }
    let shared = service.clone();
    service.spawn(request, move |request| {
        let (client, uses) = (request.client().clone(), shared.use_of(&request));
        let [first, second] = [0, 1].map(|i| named.get(i).map_or("", String::as_str));
        let ask = |conn: &mut mysql::Conn| ask(conn, first, second);
        let response = shared.with_spare_conn(&client, uses.as_ref(), ask);
        let failed = |error| Response::error(&found_status(error, shared.has_guest()));
        request.respond(response.unwrap_or_else(failed));
    });
}

/// Sets the status 404 for an unknown database or table, and 403 for one that the account may not see. A guest account
/// does not learn which of both it is.
fn found_status(mut error: ApiError, is_guest: bool) -> ApiError {
    if is_guest && matches!(error.errno(), Some(1044 | 1049 | 1142 | 1146)) {
        return ApiError::not_found(
            "there is no such database or table, or this account does not see it",
        );
    }
    error.status = match error.errno() {
        // ER_BAD_DB_ERROR, ER_NO_SUCH_TABLE, ER_WRONG_DB_NAME, ER_WRONG_TABLE_NAME
        Some(1049 | 1146 | 1102 | 1103) => 404,
        // ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR
        Some(1044 | 1142) => 403,
        _ => error.status,
    };
    error
}
