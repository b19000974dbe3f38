//! The way to the application.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use crate::gateway::{Down, Events, Naming, Open, REFUSED, TlsStream};
use crate::http::proxy::ByteStream;
use crate::manager::apps::app::AppConfig;
use crate::manager::apps::protocol::Protocol;
use crate::net::keep_alive;
use crate::tunnel::target::{self, MayDial};
use crate::tunnel::ws::Tls;

/// Time to connect, all addresses of a name together: the same as for a stream that is not HTTP.
const CONNECT_WITHIN: Duration = crate::limits::CONNECT_WITHIN;
/// Silence after which the kernel asks whether the application's machine is still there, and between its questions.
const PROBE_AFTER: Duration = Duration::from_secs(60);
const PROBE_EVERY: Duration = Duration::from_secs(15);

/// Opens connections to an application for requests, under the name that `naming` has for each.
pub(super) fn open(
    app: &AppConfig,
    may_dial: MayDial,
    naming: Arc<Naming>,
    events: Arc<dyn Events>,
) -> Open {
    let (host, port) = (app.ip.clone(), app.port);
    // None for plain text. Whose certificate it is nobody can say, as the form does.
    let tls = (app.protocol == Protocol::Https).then(Tls::unverified);
    Arc::new(move |wanted| {
        let name = naming.tls_name_of(&wanted.head.headers);
        let unwanted = || wanted.visitor.has_left();
        let socket = target::connect(&host, port, CONNECT_WITHIN, Some(&may_dial), unwanted);
        let opened = socket.and_then(|socket| begin(socket, tls.as_ref(), (name, &host)));
        opened.map_err(|error| {
            log::debug!("cannot reach an application: {error}");
            events.missed();
            Down::Target(REFUSED.to_owned())
        })
    })
}

/// Begins TLS where the application speaks it.
fn begin(
    socket: TcpStream,
    tls: Option<&Tls>,
    (tls_name, host): (&str, &str),
) -> io::Result<Box<dyn ByteStream>> {
    socket.set_nodelay(true)?;
    keep_alive(&socket, PROBE_AFTER, PROBE_EVERY, None)?;
    let Some(tls) = tls else {
        return Ok(Box::new(socket));
    };
    // A visitor may send any text for a name.
    let named = tls.connection(tls_name);
    let tls = named.or_else(|_| tls.connection(host));
    let tls = tls.map_err(io::Error::other)?;
    Ok(Box::new(TlsStream::new(tls, Box::new(socket))))
}
