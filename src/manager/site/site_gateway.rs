//! Gateway of an application: its names, its events, the connections to the application, and access to its site.

use std::io;
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::Sender;

use crate::gateway::{
    Code, ConnectorSide, CookieKey, GatewayState, Naming, OpenStream, REFUSED, RequestEvents,
    RequestStats, Served, ServerKind, Site, SiteAuth, Sites, TlsStream, Unreachable, path,
};
use crate::http::h1::head::Head;
use crate::http::proxy::ByteStream;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::protocol::Protocol;
use crate::manager::quick_setup::Setup;
use crate::manager::request_log::{RequestLog, RequestRecord};
use crate::net::authority::authority;
use crate::net::keep_alive;
use crate::sync::Mutex;
use crate::tunnel::target::{self, MayDial};
use crate::tunnel::ws::Tls;

/// Time for which an answer that could not be passed on shows on the application's card. Default 60 s: health is
/// checked every 30 s.
const RECENT: Duration = Duration::from_secs(60);
/// Logged characters of a path. Default 100.
const SHOWN_PATH: usize = 100;

/// Time to connect, all addresses of a name together: the same as for a stream that is not HTTP.
const CONNECT_WITHIN: Duration = crate::limits::CONNECT_WITHIN;
/// Silence after which the kernel asks whether the application's machine is still there, and between its questions.
const PROBE_AFTER: Duration = Duration::from_secs(60);
const PROBE_EVERY: Duration = Duration::from_secs(15);

/// Gateway of an application.
pub(crate) struct SiteGateway {
    pub(super) state: Arc<GatewayState>,
    pub(super) requests: Arc<RequestLog>,
}

impl SiteGateway {
    /// `missed` gets a message when nobody was found at the target.
    pub(crate) fn new(
        app: &AppConfig,
        names: Arc<SiteNames>,
        access: &Arc<SiteAccess>,
        requests: Arc<RequestLog>,
        may_dial: MayDial,
        missed: Sender<()>,
    ) -> SiteGateway {
        let naming = Arc::clone(&names.naming);
        let events = Arc::new(AppEvents {
            target: authority(&app.ip, app.port),
            names,
            requests: Arc::clone(&requests),
            missed,
        });
        let open = open(app, may_dial, Arc::clone(&naming), events.clone());
        access.set_upstream(open);
        let stats: Arc<RequestStats> = Arc::clone(&requests.stats);
        let connector_side = ConnectorSide { naming, events };
        let state = GatewayState::for_connector(
            connector_side,
            access.clone(),
            Arc::clone(&access.auth),
            stats,
        );
        SiteGateway {
            state: Arc::new(state),
            requests,
        }
    }
}

/// Names of an application, and problems with them.
pub(crate) struct SiteNames {
    pub(crate) naming: Arc<Naming>,
    /// True if it has sent a visitor to its own address, which visitors cannot reach.
    is_self_named: AtomicBool,
    /// Time and reason of the last answer that could not be passed on.
    refused: Mutex<Option<(Instant, String)>>,
}

impl SiteNames {
    /// Names of an application, as its server has set it up.
    pub(crate) fn of(app: &AppConfig, setup: &Setup) -> SiteNames {
        let is_tls = app.protocol == Protocol::Https;
        let server = if setup.is_of_relay() {
            ServerKind::Ours
        } else {
            ServerKind::Foreign
        };
        let target = (app.ip.as_str(), app.port);
        let naming = Naming::new(
            &app.host_header,
            target,
            is_tls,
            &setup.app.site_url,
            server,
        );
        SiteNames {
            naming: Arc::new(naming),
            is_self_named: AtomicBool::new(false),
            refused: Mutex::default(),
        }
    }

    /// True if it has sent a visitor to its own address.
    pub(crate) fn has_named_itself(&self) -> bool {
        self.is_self_named.load(Ordering::Relaxed)
    }

    /// Reason that an answer of the last [`RECENT`] could not be passed on, if one could not.
    pub(crate) fn refused_answer(&self) -> Option<String> {
        let refused = self.refused.lock();
        let recent = refused.as_ref().filter(|(at, _)| at.elapsed() < RECENT);
        recent.map(|(_, why)| why.clone())
    }

    /// Notes such an answer; true if the same reason was not noted within [`RECENT`].
    fn note_refused_answer(&self, why: &str) -> bool {
        let mut refused = self.refused.lock();
        let is_known = |(at, known): &(Instant, String)| at.elapsed() < RECENT && known == why;
        let is_new = !refused.as_ref().is_some_and(is_known);
        *refused = Some((Instant::now(), why.to_owned()));
        is_new
    }
}

/// Receiver of the events of one application's requests.
struct AppEvents {
    /// Host and port of the application.
    target: String,
    names: Arc<SiteNames>,
    requests: Arc<RequestLog>,
    /// Gets a message, as far as there is room, when nobody was found at the target.
    missed: Sender<()>,
}

impl RequestEvents for AppEvents {
    fn on_answered(&self, head: &Head, source: Option<IpAddr>, took: Duration, served: &Served) {
        self.requests.note(RequestRecord::new(
            &head.method,
            path(head),
            source,
            SystemTime::now() - took,
            took,
            served.status,
            served.bytes,
        ));
    }

    fn on_unreachable(&self) {
        // One message is enough.
        let _ = self.missed.try_send(());
    }

    fn on_invalid_answer(&self, path: &str, why: &str) {
        if self.names.note_refused_answer(why) {
            let path: String = path.chars().take(SHOWN_PATH).collect();
            log::warn!(
                "the answer of {} at {path} is not valid HTTP: {why}",
                self.target
            );
        }
        self.on_unreachable();
    }

    fn on_named_itself(&self) {
        if !self.names.is_self_named.swap(true, Ordering::Relaxed) {
            self.on_unreachable();
        }
    }
}

/// Opens connections to an application for requests, under the name that `naming` has for each.
fn open(
    app: &AppConfig,
    may_dial: MayDial,
    naming: Arc<Naming>,
    events: Arc<dyn RequestEvents>,
) -> OpenStream {
    let (host, port) = (app.ip.clone(), app.port);
    // None for plain text. The certificate is not verified, as the page's form says.
    let tls = (app.protocol == Protocol::Https).then(Tls::unverified);
    Arc::new(move |wanted| {
        let name = naming.tls_name_of(&wanted.head.headers);
        let unwanted = || wanted.visitor.has_left();
        let socket = target::connect(&host, port, CONNECT_WITHIN, Some(&may_dial), unwanted);
        let opened = socket.and_then(|socket| begin(socket, tls.as_ref(), name, &host));
        opened.map_err(|error| {
            log::debug!("cannot reach an application: {error}");
            events.on_unreachable();
            Unreachable::Target(REFUSED.to_owned())
        })
    })
}

/// Begins TLS if the application speaks it.
fn begin(
    socket: TcpStream,
    tls: Option<&Tls>,
    tls_name: &str,
    host: &str,
) -> io::Result<Box<dyn ByteStream>> {
    socket.set_nodelay(true)?;
    keep_alive(&socket, PROBE_AFTER, PROBE_EVERY, None)?;
    let Some(tls) = tls else {
        return Ok(Box::new(socket));
    };
    // A visitor may send any text as a name.
    let named = tls.connection(tls_name);
    let tls = named.or_else(|_| tls.connection(host));
    let tls = tls.map_err(io::Error::other)?;
    Ok(Box::new(TlsStream::new(tls, Box::new(socket))))
}

/// Access to the site of one application. Changes apply from the next request on.
pub(crate) struct SiteAccess {
    site: Mutex<Arc<Site>>,
    /// Sign-ins and attempts of its visitors.
    pub(super) auth: Arc<SiteAuth>,
}

impl Default for SiteAccess {
    fn default() -> SiteAccess {
        let nowhere: OpenStream = Arc::new(|_| Err(Unreachable::Tunnel));
        SiteAccess {
            site: Mutex::new(Arc::new(Site::new("", "", nowhere))),
            auth: Arc::new(SiteAuth::new(CookieKey::random())),
        }
    }
}

impl Sites for SiteAccess {
    fn find(&self, _: &str) -> Option<Arc<Site>> {
        Some(Arc::clone(&self.site.lock()))
    }
}

impl SiteAccess {
    /// Requires this code from now on. `app_id` is the server's ID of the application, `name` is for visitors. Sign-ins
    /// with another code or `generation` end.
    pub(crate) fn require_code(&self, name: &str, app_id: &str, code: Code, generation: u64) {
        let mut site = self.site.lock();
        let digest = |code: &Code| *code.digest();
        let is_same = (&*site.name, &*site.app_id, site.generation) == (name, app_id, generation)
            && site.code.as_ref().map(digest) == Some(digest(&code));
        if !is_same {
            let mut next = Site::new(name, app_id, Arc::clone(&site.open));
            (next.code, next.generation) = (Some(code), generation);
            next.epoch = site.epoch + 1;
            replace(&mut site, next);
        }
    }

    /// Admits everybody from now on.
    pub(crate) fn open_to_all(&self) {
        let mut site = self.site.lock();
        if site.code.is_some() {
            let mut next = Site::new("", "", Arc::clone(&site.open));
            next.epoch = site.epoch + 1;
            replace(&mut site, next);
        }
    }

    /// Sets the way to the application; sign-ins stay valid.
    pub(super) fn set_upstream(&self, open: OpenStream) {
        let mut site = self.site.lock();
        let mut next = Site::new(&*site.name, &*site.app_id, open);
        (next.generation, next.epoch) = (site.generation, site.epoch);
        next.code = (site.code.as_ref()).map(|code| Code::of_digest(*code.digest()));
        replace(&mut site, next);
    }
}

fn replace(site: &mut Arc<Site>, next: Site) {
    site.is_replaced.store(true, Ordering::SeqCst);
    *site = Arc::new(next);
}
