//! Which address of a server took the connection of a call.

use crate::sync::Mutex;
use std::net::IpAddr;
use std::sync::Arc;

use ureq::Error;
use ureq::unversioned::transport::time::Duration;
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, NextTimeout, TcpConnector, Transport,
};

/// The address, once there is one; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached(Arc<Mutex<Option<IpAddr>>>);

impl Reached {
    pub(super) fn address(&self) -> Option<IpAddr> {
        *self.0.lock()
    }

    fn note(&self, address: IpAddr) {
        *self.0.lock() = Some(address);
    }
}

/// Connects as the library does, one address after the other, and notes which it was.
#[derive(Debug, Default)]
pub(super) struct Noting {
    tcp: TcpConnector,
    reached: Reached,
}

impl Noting {
    pub(super) fn new(reached: &Reached) -> Self {
        Self {
            tcp: TcpConnector::default(),
            reached: reached.clone(),
        }
    }
}

impl<In: Transport> Connector<In> for Noting {
    type Out = <TcpConnector as Connector<In>>::Out;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        if chained.is_some() {
            // A connection that a proxy has opened.
            return self.tcp.connect(details, chained);
        }
        let begun = std::time::Instant::now();
        let mut last = None;
        for (index, address) in details.addrs.iter().enumerate() {
            let left = details.timeout.after.saturating_sub(begun.elapsed());
            let others = u32::try_from(details.addrs.len() - index).unwrap_or(1);
            let after = Duration::from(left / others);
            let mut one = alone(
                details,
                NextTimeout {
                    after,
                    ..details.timeout
                },
            );
            one.addrs.push(*address);
            match Connector::<In>::connect(&self.tcp, &one, None) {
                Ok(connected) => {
                    self.reached.note(address.ip());
                    return Ok(connected);
                }
                Err(error @ (Error::Io(_) | Error::Timeout(_))) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or(Error::HostNotFound))
    }
}

/// Copy of the connection details, without an address.
fn alone<'a>(details: &ConnectionDetails<'a>, timeout: NextTimeout) -> ConnectionDetails<'a> {
    ConnectionDetails {
        uri: details.uri,
        addrs: details.resolver.empty(),
        config: details.config,
        request_level: details.request_level,
        resolver: details.resolver,
        now: ureq::unversioned::transport::time::Instant::now(),
        timeout,
        current_time: Arc::clone(&details.current_time),
        run_connector: Arc::clone(&details.run_connector),
        register_shutdown: Arc::clone(&details.register_shutdown),
    }
}
