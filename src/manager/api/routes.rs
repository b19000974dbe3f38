//! The management API: which path is answered by what.

use std::sync::Arc;

use crossbeam_channel::Receiver;

use super::answer::Answer;
use super::{apps, connections, guest, listeners, metrics, plugins, qr, remotes, servers, shares};
use crate::api::{Service, Version};
use crate::http::Method::{self, Delete, Get, Post, Put};
use crate::http::{ApiError, Handler, Request, Response, Router, assets};
use crate::manager::app_state::AppState;
use crate::manager::connection::MAX_ACTIVE;
use crate::manager::server_choice::CurrentServers;
use crate::store::files_set_aside;
use crate::sync::{Permits, Thread, spawn};
use crate::tunnel::ws::network_variables;

/// Requests of a kind at once; each has a thread: a write takes milliseconds.
const MAX_APART: usize = 64;
/// Requests at once that wait for changes: one for each application that can be connected.
const MAX_WAITS: usize = MAX_ACTIVE;

/// Handler of a request.
type Answering = fn(&Arc<AppState>, &Request) -> Answer;

/// Method, pattern of the path, and what answers.
type Call = (Method, &'static str, Answering);

/// Answered at once, by the worker that read the request.
static AT_ONCE: [Call; 12] = [
    (Get, "/api/apps", apps::list),
    (Get, "/api/apps/{id}", apps::show),
    (Get, "/api/apps/{id}/requests", connections::requests),
    (Get, "/api/apps/{id}/statements", connections::statements),
    (Post, "/api/connect/{id}", connections::connect),
    (Post, "/api/disconnect/{id}", connections::disconnect),
    (Get, "/api/status/{id}", connections::status),
    (Post, "/api/retry/{id}", connections::retry),
    (Get, "/api/tunnel", remotes::tunnels),
    (Get, "/api/servers", servers::list),
    (Get, "/api/plugins", plugins::list),
    (Get, "/api/version", version),
];

/// Answered on a thread of its own, one of those for writes.
static WRITES: [Call; 13] = [
    (Post, "/api/apps", apps::add),
    (Post, "/api/shares", shares::add),
    (Put, "/api/apps/{id}", apps::replace),
    (Delete, "/api/apps/{id}", apps::remove),
    (Post, "/api/apps/{id}/code", apps::renew_code),
    (Post, "/api/apps/{id}/signout", apps::sign_out),
    (Post, "/api/trust", remotes::trust),
    (Post, "/api/reset", remotes::reset),
    (Post, "/api/servers", servers::put),
    (Delete, "/api/servers", servers::remove),
    (Get, "/api/listeners", listeners::list),
    (Post, "/api/plugins", plugins::add),
    (Post, "/api/qr", qr::draw),
];

/// Calls that ask databases: one may take long to answer, and keeps no write waiting.
static ASKS: [Call; 1] = [(Post, "/api/guest/objects", guest::objects)];

/// Calls that wait.
static WAITS: [Call; 1] = [(Get, "/api/apps/{id}/changes", connections::changes)];

/// Everything the management server answers.
pub(in crate::manager) fn routes(core: &Arc<AppState>) -> Router {
    let router = pages(core);
    let router = with(router, core, &AT_ONCE, None);
    let router = with(router, core, &WRITES, Some(MAX_APART));
    let router = with(router, core, &ASKS, Some(MAX_APART));
    with(router, core, &WAITS, Some(MAX_WAITS))
}

/// The calls alone, each answered by the thread that makes it.
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

/// With calls, each on a thread of its own where there may be so many at once.
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
            // As links in the sources have it.
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

/// Answers on a thread of its own, which ends with the answer: a write may wait for another process's.
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
