//! The way to the application.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::gateway::{Down, Events, Naming, Open, REFUSED, TlsStream};
use crate::http::proxy::ByteStream;
use crate::net::keep_alive;
use crate::tunnel::target::{self, MayDial};
use crate::tunnel::ws::Tls;

/// Time to connect, all addresses of a name together: the same as for a stream that is not HTTP.
const CONNECT_WITHIN: Duration = crate::limits::CONNECT_WITHIN;
/// Silence after which the kernel asks whether the application's machine is still there, and between its questions.
const PROBE_AFTER: Duration = Duration::from_secs(60);
const PROBE_EVERY: Duration = Duration::from_secs(15);

/// The target of an application's streams.
pub(super) struct Target {
    host: String,
    port: u16,
    /// How it is spoken to; none for plain text. Whose certificate it is nobody can say, as the form does.
    tls: Option<Tls>,
    /// Decides whether an address may be connected to.
    may_dial: MayDial,
}

impl Target {
    pub(super) fn new((host, port): (&str, u16), is_tls: bool, may_dial: MayDial) -> Target {
        Target {
            host: host.to_owned(),
            port,
            tls: is_tls.then(Tls::unverified),
            may_dial,
        }
    }

    /// Opens connections for requests, under the name that `naming` has for each.
    pub(super) fn into_open(self, naming: Arc<Naming>, events: Arc<dyn Events>) -> Open {
        Arc::new(move |wanted| {
            let name = naming.tls_name_of(&wanted.head.headers);
            let opened = self.connect(name, || wanted.visitor.has_left());
            opened.map_err(|error| {
                log::debug!("cannot reach an application: {error}");
                events.missed();
                Down::Target(REFUSED.to_owned())
            })
        })
    }

    /// Connects, and begins TLS where the application speaks it. Given up when `unwanted` becomes true.
    fn connect(
        &self,
        tls_name: &str,
        unwanted: impl Fn() -> bool,
    ) -> io::Result<Box<dyn ByteStream>> {
        let may_dial = Some(&self.may_dial);
        let socket = target::connect(&self.host, self.port, CONNECT_WITHIN, may_dial, unwanted)?;
        socket.set_nodelay(true)?;
        keep_alive(&socket, PROBE_AFTER, PROBE_EVERY, None)?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(socket));
        };
        // A visitor may send any text for a name.
        let named = tls.connection(tls_name);
        let tls = named.or_else(|_| tls.connection(&self.host));
        let tls = tls.map_err(io::Error::other)?;
        Ok(Box::new(TlsStream::new(tls, Box::new(socket))))
    }
}
