//! The management API: which path is answered by what.

use crate::sync::Permits;
use std::sync::Arc;

use serde_json::json;

use super::answer::Answer;
use super::{apps, connections, guest, listeners, metrics, plugins, remotes, servers, shares};
use crate::http::{ApiError, Method, Request, Response, Router, assets};
use crate::manager::app_state::AppState;
use crate::manager::server_choice::CurrentServers;
use crate::store::files_set_aside;

/// Requests that write files at once; each has a thread: a write takes milliseconds.
const MAX_WRITERS: usize = 16;
/// Bytes of such a thread's stack.
const STACK: usize = 256 * 1024;
/// Everything the management server answers.
pub(in crate::manager) fn routes(core: &Arc<AppState>) -> Router {
    let on = |answer: fn(&Arc<AppState>, &Request) -> Answer| {
        let core = Arc::clone(core);
        move |request: Request| {
            let answer = answer(&core, &request);
            respond(request, answer);
        }
    };
    let apart_by = |permits: &Permits, answer: fn(&Arc<AppState>, &Request) -> Answer| {
        let (core, permits) = (Arc::clone(core), permits.clone());
        move |request: Request| apart(&core, &permits, request, answer)
    };
    let writers = Permits::default();
    let writing = |answer| apart_by(&writers, answer);
    // A database may take long to answer, and keeps no write waiting.
    let of_databases = Permits::default();
    Router::new()
        .on(Method::Get, "/", |request| {
            assets::page(request, "manage/index.html")
        })
        .on(Method::Get, "/assets/*", assets::asset)
        .on(Method::Get, "/docs", |request| {
            assets::page(request, "docs/index.html")
        })
        .on(Method::Get, "/docs/", |request| {
            request.respond(Response::redirect(308, "/docs"));
        })
        .on(Method::Get, "/docs/{page}", |request| {
            let name = format!("docs/{}.html", request.param("page").unwrap_or_default());
            assets::page(request, &name)
        })
        .on(Method::Get, "/metrics", {
            let core = Arc::clone(core);
            move |request| metrics::show(&core, request)
        })
        .on(Method::Get, "/api/openapi.json", |request| {
            assets::description(request, "openapi/manager.json");
        })
        .on(Method::Get, "/api/apps", on(apps::list))
        .on(Method::Post, "/api/apps", writing(apps::add))
        .on(Method::Post, "/api/shares", writing(shares::add))
        .on(Method::Get, "/api/apps/{id}", on(apps::show))
        .on(Method::Put, "/api/apps/{id}", writing(apps::replace))
        .on(Method::Delete, "/api/apps/{id}", writing(apps::remove))
        .on(
            Method::Get,
            "/api/apps/{id}/requests",
            on(connections::requests),
        )
        .on(
            Method::Post,
            "/api/apps/{id}/code",
            writing(apps::renew_code),
        )
        .on(
            Method::Post,
            "/api/apps/{id}/signout",
            writing(apps::sign_out),
        )
        .on(
            Method::Get,
            "/api/apps/{id}/statements",
            on(connections::statements),
        )
        .on(Method::Post, "/api/connect/{id}", on(connections::connect))
        .on(
            Method::Post,
            "/api/disconnect/{id}",
            on(connections::disconnect),
        )
        .on(Method::Get, "/api/status/{id}", on(connections::status))
        .on(Method::Post, "/api/retry/{id}", on(connections::retry))
        .on(
            Method::Post,
            "/api/guest/objects",
            apart_by(&of_databases, guest::objects),
        )
        .on(Method::Post, "/api/trust", writing(remotes::trust))
        .on(Method::Post, "/api/reset", writing(remotes::reset))
        .on(Method::Get, "/api/tunnel", on(remotes::tunnels))
        .on(Method::Get, "/api/servers", on(servers::list))
        .on(Method::Post, "/api/servers", writing(servers::put))
        .on(Method::Delete, "/api/servers", writing(servers::remove))
        .on(Method::Get, "/api/listeners", writing(listeners::list))
        .on(Method::Get, "/api/plugins", on(plugins::list))
        .on(Method::Post, "/api/plugins", writing(plugins::add))
        .on(Method::Get, "/api/version", on(version))
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
    writers: &Permits,
    request: Request,
    answer: fn(&Arc<AppState>, &Request) -> Answer,
) {
    let Some(permit) = writers.take(MAX_WRITERS) else {
        let busy = ApiError::too_many(format!(
            "{MAX_WRITERS} changes are under way already, the limit; try again"
        ));
        return respond(request, Err(busy));
    };
    let core = Arc::clone(core);
    let spawned = std::thread::Builder::new()
        .name("manage".into())
        .stack_size(STACK)
        .spawn(move || {
            let _permit = permit;
            let answer = answer(&core, &request);
            respond(request, answer);
        });
    if let Err(error) = spawned {
        log::warn!("no thread for a request: {error}");
    }
}

fn version(core: &Arc<AppState>, _: &Request) -> Answer {
    let servers = core.choice.now();
    let stands_in = servers.as_ref().is_ok_and(CurrentServers::stands_in);
    let stand_in = stands_in.then_some(&core.choice.stand_in);
    let mut notices = stand_in.map_or_else(Vec::new, |stand_in| stand_in.notices.clone());
    notices.extend(core.notices.iter().cloned());
    notices.extend(core.audit.trouble());
    notices.extend(servers.as_ref().err().map(ToString::to_string));
    notices.extend(files_set_aside(&core.home).iter().map(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "{name}: this file was unreadable and is kept aside in {}",
            core.home.dir().display()
        )
    }));
    let default = servers.ok().and_then(|servers| servers.default().ok()?);
    Ok(Response::ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "server": default.map(|server| server.to_string()),
        "embedded": stand_in.is_some_and(|stand_in| stand_in.is_embedded),
        "insecure": core.insecure,
        "notices": notices,
    })))
}
