//! Routes of the management API, and the handlers for version, plugins and QR codes.

use std::fmt::Write as _;
use std::sync::Arc;

use crossbeam_channel::Receiver;
use qrcodegen::{QrCode, QrCodeEcc};
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::listeners::listeners;
use super::{apps, metrics, servers};
use crate::api::{Service, Version};
use crate::http::Method::{Delete, Get, Post, Put};
use crate::http::{ApiError, Handler, Method, Request, Response, Router, assets};
use crate::manager::app_state::AppState;
use crate::manager::connection::MAX_ACTIVE;
use crate::manager::server_store::CurrentServers;
use crate::plugin::{Error, Installed};
use crate::store::files_set_aside;
use crate::sync::{Permits, Thread, spawn};
use crate::tunnel::ws::network_variables;

/// Simultaneous requests of a kind; each has a thread: a write takes milliseconds.
const MAX_APART: usize = 64;
/// Simultaneous requests that wait for changes: one for each application that can be connected.
const MAX_WAITS: usize = MAX_ACTIVE;
/// Light modules around a QR symbol, required by the standard.
const QR_MARGIN: i32 = 4;
/// Bytes of a QR code's text. Default 1,000: a larger symbol is hard to scan.
const QR_TEXT_CAP: usize = 1000;

/// Handler of a request.
type Answering = fn(&Arc<AppState>, &Request) -> Answer;

/// Method, pattern of the path, and handler.
type Call = (Method, &'static str, Answering);

/// Calls that are answered at once, by the worker that read the request.
static AT_ONCE: [Call; 12] = [
    (Get, "/api/apps", apps::list),
    (Get, "/api/apps/{id}", apps::show),
    (Get, "/api/apps/{id}/requests", apps::requests),
    (Get, "/api/apps/{id}/statements", apps::statements),
    (Post, "/api/connect/{id}", apps::connect),
    (Post, "/api/disconnect/{id}", apps::disconnect),
    (Get, "/api/status/{id}", apps::status),
    (Post, "/api/retry/{id}", apps::retry),
    (Get, "/api/tunnel", servers::tunnels),
    (Get, "/api/servers", servers::list),
    (Get, "/api/plugins", list_plugins),
    (Get, "/api/version", version),
];

/// Calls that are answered on a thread of their own, one of those for writes.
static WRITES: [Call; 13] = [
    (Post, "/api/apps", apps::add),
    (Post, "/api/shares", apps::add_share),
    (Put, "/api/apps/{id}", apps::replace),
    (Delete, "/api/apps/{id}", apps::remove),
    (Post, "/api/apps/{id}/code", apps::renew_code),
    (Post, "/api/apps/{id}/signout", apps::sign_out),
    (Post, "/api/trust", servers::trust),
    (Post, "/api/reset", servers::reset),
    (Post, "/api/servers", servers::put),
    (Delete, "/api/servers", servers::remove),
    (Get, "/api/listeners", listeners),
    (Post, "/api/plugins", add_plugin),
    (Post, "/api/qr", draw_qr),
];

/// Calls that ask databases: their answers may take long, and must not delay writes.
static ASKS: [Call; 1] = [(Post, "/api/guest/objects", apps::objects)];

/// Calls that wait.
static WAITS: [Call; 1] = [(Get, "/api/apps/{id}/changes", apps::changes)];

/// All routes of the management server.
pub(in crate::manager) fn routes(core: &Arc<AppState>) -> Router {
    let router = pages(core);
    let router = with(router, core, &AT_ONCE, None);
    let router = with(router, core, &WRITES, Some(MAX_APART));
    let router = with(router, core, &ASKS, Some(MAX_APART));
    with(router, core, &WAITS, Some(MAX_WAITS))
}

/// The API without a server: the caller's thread answers each call.
pub(in crate::manager) struct Local {
    core: Arc<AppState>,
    calls: Router,
}

impl Local {
    pub(in crate::manager) fn of(core: &Arc<AppState>) -> Self {
        let all = AT_ONCE.iter().chain(&WRITES).chain(&ASKS).chain(&WAITS);
        Self {
            core: Arc::clone(core),
            calls: with(Router::new(), core, all, None),
        }
    }
}

impl Handler for Local {
    fn handle(&self, request: Request) {
        self.calls.handle(request);
    }
}

impl Service for Local {
    fn next_change(&self, id: &str) -> Receiver<()> {
        self.core.connections.changes(id).next()
    }
}

/// Adds calls; with a limit `most`, each is answered on a thread of its own.
fn with<'a>(
    router: Router,
    core: &Arc<AppState>,
    calls: impl IntoIterator<Item = &'a Call>,
    most: Option<usize>,
) -> Router {
    let permits = most.map(|most| (Permits::default(), most));
    calls
        .into_iter()
        .fold(router, |router, (method, path, answer)| {
            let (core, permits, answer) = (Arc::clone(core), permits.clone(), *answer);
            router.on(method.clone(), path, move |request| match &permits {
                Some((permits, most)) => apart(&core, (permits, *most), request, answer),
                None => {
                    let answer = answer(&core, &request);
                    respond(request, answer);
                }
            })
        })
}

/// Routes without JSON.
fn pages(core: &Arc<AppState>) -> Router {
    let core = Arc::clone(core);
    Router::new()
        .on(Get, "/", |request| {
            assets::page(request, "manage/index.html")
        })
        .on(Get, "/assets/*", assets::asset)
        .on(Get, "/docs", |request| {
            assets::page(request, "docs/index.html")
        })
        .on(Get, "/docs/", |request| {
            request.respond(Response::redirect(308, "/docs"));
        })
        .on(Get, "/docs/{page}", |request| {
            let page = request.param("page").unwrap_or_default();
            // Links in the sources have the suffix.
            let name = format!("docs/{}.html", page.strip_suffix(".html").unwrap_or(page));
            assets::page(request, &name)
        })
        .on(Get, "/metrics", move |request| {
            metrics::show(&core, request)
        })
        .on(Get, "/api/openapi.json", |request| {
            assets::description(request, "openapi/manager.json");
        })
}

fn respond(request: Request, answer: Answer) {
    let response = answer.unwrap_or_else(|error| Response::error(&error));
    log::debug!(
        "{} {}: {}",
        request.method().as_str(),
        request.path(),
        response.status()
    );
    request.respond(response);
}

/// Answers on a thread of its own, which ends with the answer: a write may wait for that of another process.
fn apart(
    core: &Arc<AppState>,
    (permits, most): (&Permits, usize),
    request: Request,
    answer: Answering,
) {
    let Some(permit) = permits.take(most) else {
        let busy = ApiError::too_many(format!(
            "limit of {most} such requests at a time reached; try again"
        ));
        return respond(request, Err(busy));
    };
    let core = Arc::clone(core);
    spawn(Thread::Manage, move || {
        let _permit = permit;
        let answer = answer(&core, &request);
        respond(request, answer);
    })
    .unwrap_or_else(|error| log::warn!("no thread for a request: {error}"));
}

fn version(core: &Arc<AppState>, _: &Request) -> Answer {
    let servers = core.choice.now();
    let uses_local_relay = servers.as_ref().is_ok_and(CurrentServers::uses_local_relay);
    let local_relay = uses_local_relay.then(|| core.choice.local_relay());
    let mut notices = local_relay
        .as_ref()
        .map_or_else(Vec::new, |local_relay| local_relay.notices.clone());
    notices.extend(core.notices.iter().cloned());
    notices.extend(core.audit.trouble());
    notices.extend(servers.as_ref().err().map(ToString::to_string));
    notices.extend(files_set_aside(&core.home).iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "{name}: this file was unreadable and is kept as {}",
            core.home.dir().display()
        )
    }));
    let default = servers.ok().and_then(|servers| servers.default().ok()?);
    Ok(Response::ok(Version {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        server: default.map(|server| server.to_string()),
        embedded: local_relay.is_some_and(|local_relay| local_relay.is_embedded),
        insecure: core.choice.insecure,
        notices,
        network_variables: Some(network_variables()),
    }))
}

/// A plugin to add.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PluginToAdd"))]
#[serde(deny_unknown_fields)]
pub(super) struct AddRequest {
    /// Name of the plugin, or one of its protocols.
    name: String,
}

fn list_plugins(core: &Arc<AppState>, _: &Request) -> Answer {
    Ok(Response::ok(installed(core)?))
}

/// Adds a plugin; one that was added before is answered unchanged.
fn add_plugin(core: &Arc<AppState>, request: &Request) -> Answer {
    let AddRequest { name } = request.json()?;
    let Some((name, protocols)) = core.web_clients.named(&name) else {
        return Err(ApiError::not_found("there is no such plugin"));
    };
    match core.plugins.add(name, protocols) {
        Ok(added) => {
            log::info!("plugin {name}: added");
            Ok(Response::ok(added))
        }
        Err(Error::AlreadyAdded(_)) => {
            let mut there = installed(core)?.into_iter();
            let there = there.find(|plugin| plugin.name == name);
            there
                .map(Response::ok)
                .ok_or_else(|| ApiError::internal("it has been removed"))
        }
        Err(error) => Err(ApiError::internal(error.to_string())),
    }
}

fn installed(core: &AppState) -> Result<Vec<Installed>, ApiError> {
    let installed = core.plugins.list();
    installed.map_err(|error| ApiError::internal(error.to_string()))
}

/// A text to draw.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "QrRequest"))]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Text of at most 1,000 bytes.
    text: String,
}

/// A QR code; a unit is a module.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "QrCode"))]
pub(super) struct Symbol {
    /// Modules of a side, with the light ones around it.
    size: i32,
    /// The dark modules, as the `d` of an SVG path.
    path: String,
}

/// The symbol of a text.
fn draw_qr(_: &Arc<AppState>, request: &Request) -> Answer {
    let wanted: Wanted = request.json()?;
    let symbol = symbol(&wanted.text);
    symbol.map(Response::ok).ok_or_else(|| {
        ApiError::too_large(format!(
            "text: at most {QR_TEXT_CAP} bytes fit into a QR code"
        ))
    })
}

fn symbol(text: &str) -> Option<Symbol> {
    let text = Some(text).filter(|text| text.len() <= QR_TEXT_CAP)?;
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let end = (x..code.size()).find(|x| !code.get_module(*x, y));
            let length = end.unwrap_or(code.size()) - x;
            if length > 0 {
                let (left, top) = (x + QR_MARGIN, y + QR_MARGIN);
                // Writing to a String cannot fail.
                let _ = write!(path, "M{left} {top}h{length}v1h-{length}z");
            }
            x += length + 1;
        }
    }
    Some(Symbol {
        size: code.size() + 2 * QR_MARGIN,
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_covers_the_dark_modules_and_no_others() {
        let text = "https://a.example/";
        let code = QrCode::encode_text(text, QrCodeEcc::Medium).unwrap();
        let drawn = symbol(text).unwrap();
        let mut covered = Vec::new();
        for run in drawn.path.split('z').filter(|run| !run.is_empty()) {
            let run = run.strip_prefix('M').unwrap();
            let (place, rest) = run.split_once('h').unwrap();
            let (x, y) = place.split_once(' ').unwrap();
            let (length, _) = rest.split_once('v').unwrap();
            let [x, y, length] = [x, y, length].map(|text| text.parse::<i32>().unwrap());
            covered.extend((x..x + length).map(|x| (y - QR_MARGIN, x - QR_MARGIN)));
        }
        let side = 0..code.size();
        let all = side.clone().flat_map(|y| side.clone().map(move |x| (y, x)));
        let dark: Vec<_> = all.filter(|(y, x)| code.get_module(*x, *y)).collect();
        assert_eq!(covered, dark);
        assert_eq!(drawn.size, code.size() + 8);
        assert!(symbol(&"x".repeat(QR_TEXT_CAP + 1)).is_none());
    }
}
