//! The management API: which path is answered by what.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::Receiver;
use qrcodegen::{QrCode, QrCodeEcc};
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::{apps, metrics, servers};
use crate::api::{Service, Version};
use crate::http::Method::{Delete, Get, Post, Put};
use crate::http::server::{ListedSocket, listening};
use crate::http::{ApiError, Handler, Method, Request, Response, Router, assets};
use crate::manager::app_state::AppState;
use crate::manager::connection::MAX_ACTIVE;
use crate::manager::server_store::CurrentServers;
use crate::plugin::{Error, Installed};
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
    (Get, "/api/apps/{id}/requests", apps::requests),
    (Get, "/api/apps/{id}/statements", apps::statements),
    (Post, "/api/connect/{id}", apps::connect),
    (Post, "/api/disconnect/{id}", apps::disconnect),
    (Get, "/api/status/{id}", apps::status),
    (Post, "/api/retry/{id}", apps::retry),
    (Get, "/api/tunnel", servers::tunnels),
    (Get, "/api/servers", servers::list),
    (Get, "/api/plugins", list),
    (Get, "/api/version", version),
];

/// Answered on a thread of its own, one of those for writes.
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
    (Post, "/api/plugins", add),
    (Post, "/api/qr", draw),
];

/// Calls that ask databases: one may take long to answer, and keeps no write waiting.
static ASKS: [Call; 1] = [(Post, "/api/guest/objects", apps::objects)];

/// Calls that wait.
static WAITS: [Call; 1] = [(Get, "/api/apps/{id}/changes", apps::changes)];

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

/// A plugin to add.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "PluginToAdd"))]
#[serde(deny_unknown_fields)]
pub(super) struct AddRequest {
    /// Its name, or one of its protocols.
    name: String,
}

pub(super) fn list(core: &Arc<AppState>, _: &Request) -> Answer {
    Ok(Response::ok(installed(core)?))
}

/// One that is there already is answered as it is.
pub(super) fn add(core: &Arc<AppState>, request: &Request) -> Answer {
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

/// Light modules around a symbol, as the standard asks.
const QUIET: i32 = 4;
/// Bytes of a text. Default 1,000: a larger symbol is hard to scan.
const LONGEST: usize = 1000;

/// A text to draw.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "QrRequest"))]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// At most 1,000 bytes.
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
pub(super) fn draw(_: &Arc<AppState>, request: &Request) -> Answer {
    let wanted: Wanted = request.json()?;
    let symbol = symbol(&wanted.text);
    symbol.map(Response::ok).ok_or_else(|| {
        ApiError::too_large(format!("text: at most {LONGEST} bytes fit into a QR code"))
    })
}

fn symbol(text: &str) -> Option<Symbol> {
    let text = Some(text).filter(|text| text.len() <= LONGEST)?;
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let mut path = String::new();
    for y in 0..code.size() {
        let mut x = 0;
        while x < code.size() {
            let end = (x..code.size()).find(|x| !code.get_module(*x, y));
            let length = end.unwrap_or(code.size()) - x;
            if length > 0 {
                let (left, top) = (x + QUIET, y + QUIET);
                // Writing to a String cannot fail.
                let _ = write!(path, "M{left} {top}h{length}v1h-{length}z");
            }
            x += length + 1;
        }
    }
    Some(Symbol {
        size: code.size() + 2 * QUIET,
        path,
    })
}

// Services on this machine that could be shared: the page suggests them. Only the user's own sockets, and none of
// postern's.

/// Listeners that are told of; the page shows the first of them.
const MAX_SHOWN: usize = 512;
/// Entries of `/proc` that are looked at.
const MAX_PROCESSES: usize = 8192;
/// Open files that are looked at, of all processes together: some 50 ms.
const MAX_FILES: usize = 50_000;

/// A TCP service on this machine.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Listener {
    /// Its port.
    port: u16,
    /// Address of the service.
    ip: IpAddr,
    /// Name of the process; empty if unknown.
    process: String,
}

pub(super) fn listeners(_: &Arc<AppState>, _: &Request) -> Answer {
    let user = rustix::process::geteuid().as_raw();
    let mut sockets = listening();
    sockets.retain(|socket| socket.user == user);
    let owners = if sockets.is_empty() {
        HashMap::new()
    } else {
        processes(user)
    };
    let ours = name_of(Path::new("/proc/self"));
    Ok(Response::ok(shown(&sockets, &owners, &ours)))
}

/// By port, without those of processes that are called `ours`.
fn shown(sockets: &[ListedSocket], owners: &HashMap<u64, String>, ours: &str) -> Vec<Listener> {
    let listeners = sockets.iter().map(|socket| Listener {
        port: socket.address.port(),
        ip: reached_at(socket.address.ip()),
        process: owners.get(&socket.inode).cloned().unwrap_or_default(),
    });
    let mut shown: Vec<Listener> = listeners
        .filter(|listener| listener.process != ours)
        .collect();
    // Of several on one port the one that most programs reach.
    shown.sort_by_key(|listener| (listener.port, listener.ip));
    shown.dedup_by_key(|listener| listener.port);
    shown.truncate(MAX_SHOWN);
    shown
}

fn reached_at(ip: IpAddr) -> IpAddr {
    match ip {
        // One for all addresses of IPv6 takes IPv4 too, but where it was told not to.
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::LOCALHOST) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    }
}

/// The names of the user's processes by the sockets that they have open.
fn processes(user: u32) -> HashMap<u64, String> {
    let mut owners = HashMap::new();
    let mut files = 0;
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for entry in entries.take(MAX_PROCESSES) {
        let path = entry.path();
        let is_process = entry
            .file_name()
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_digit);
        if !is_process || !entry.metadata().is_ok_and(|data| data.uid() == user) {
            continue;
        }
        let mut sockets = sockets_of(&path, &mut files).peekable();
        if sockets.peek().is_none() {
            continue;
        }
        let name = name_of(&path);
        owners.extend(sockets.map(|inode| (inode, name.clone())));
        if files > MAX_FILES {
            break;
        }
    }
    owners
}

fn sockets_of<'a>(process: &Path, files: &'a mut usize) -> impl Iterator<Item = u64> + use<'a> {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten();
    open.flatten().filter_map(|file| {
        *files += 1;
        let link = fs::read_link(file.path()).ok()?;
        let inode = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
        inode.parse().ok()
    })
}

/// At most 15 bytes, as the kernel keeps it.
fn name_of(process: &Path) -> String {
    let name = fs::read(process.join("comm")).unwrap_or_default();
    String::from_utf8_lossy(&name).trim_end().to_owned()
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
            covered.extend((x..x + length).map(|x| (y - QUIET, x - QUIET)));
        }
        let side = 0..code.size();
        let all = side.clone().flat_map(|y| side.clone().map(move |x| (y, x)));
        let dark: Vec<_> = all.filter(|(y, x)| code.get_module(*x, *y)).collect();
        assert_eq!(covered, dark);
        assert_eq!(drawn.size, code.size() + 8);
        assert!(symbol(&"x".repeat(LONGEST + 1)).is_none());
    }

    fn socket(address: &str, inode: u64) -> ListedSocket {
        let address = address.parse().unwrap();
        ListedSocket {
            address,
            peer: address,
            state: 10,
            user: 0,
            inode,
        }
    }

    #[test]
    fn a_port_is_shown_once_with_the_address_that_reaches_it() {
        let sockets = [
            socket("0.0.0.0:5432", 1),
            socket("[::]:5432", 2),
            socket("[::1]:3000", 3),
            socket("127.0.0.1:80", 4),
            socket("[::1]:80", 5),
            socket("192.0.2.7:81", 6),
            socket("127.0.0.1:7777", 7),
        ];
        let names = [(1, "postgres"), (3, "node"), (7, "ours")];
        let owners = names.map(|(inode, name)| (inode, name.to_owned())).into();
        let found: Vec<String> = shown(&sockets, &owners, "ours")
            .iter()
            .map(|found| format!("{} {} {}", found.port, found.ip, found.process))
            .collect();
        let expected = [
            "80 127.0.0.1 ",
            "81 192.0.2.7 ",
            "3000 ::1 node",
            "5432 127.0.0.1 postgres",
        ];
        assert_eq!(found, expected);
        let many: Vec<_> = (1..=600)
            .map(|port| socket(&format!("127.0.0.1:{port}"), 0))
            .collect();
        assert_eq!(shown(&many, &HashMap::new(), "ours").len(), MAX_SHOWN);
    }
}
