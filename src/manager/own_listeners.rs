//! Listening addresses of this process. As an application's target they would open the user's own pages to visitors, so
//! they are refused when an application is connected and at each dial: a name may lead here later, and so may an
//! address where nobody listened.

use crate::api::ErrorClass;
use crate::net::authority::resolve;
use crate::sync::{Mutex, MutexGuard};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;

use super::apps::app::AppConfig;
use super::connection::ConnectError;
use crate::tunnel::target::MayDial;

/// All own listeners, each with its name.
#[derive(Clone, Default)]
pub(crate) struct OwnListeners(Arc<Mutex<Vec<FixedListener>>>);

type FixedListener = (SocketAddr, &'static str);

/// Registration of a listener; to be dropped after the listener was closed.
pub(crate) struct RegisteredListener {
    all: OwnListeners,
    address: SocketAddr,
}

impl OwnListeners {
    /// Listeners that stay to the end.
    pub(super) fn new(fixed: Vec<FixedListener>) -> Self {
        Self(Arc::new(Mutex::new(fixed)))
    }

    /// Adds listeners that stay to the end.
    pub(super) fn add(&self, fixed: &[FixedListener]) {
        self.all().extend_from_slice(fixed);
    }

    /// Listens on `address`. Nobody connects to it from here before it is registered.
    pub(super) fn bind(
        &self,
        address: SocketAddr,
        what: &'static str,
    ) -> io::Result<(TcpListener, RegisteredListener)> {
        // Locked during the bind, so that checks wait.
        let mut all = self.all();
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        all.push((address, what));
        drop(all);
        let registered = RegisteredListener {
            all: self.clone(),
            address,
        };
        Ok((listener, registered))
    }

    /// Filter for a tunnel or a health check: allows any address except these; `own` is allowed all the same.
    pub(super) fn dial_filter(&self, own: Option<SocketAddr>) -> MayDial {
        let all = self.clone();
        Arc::new(move |address| own == Some(address) || all.at(address).is_none())
    }

    /// Refuses an application that leads to one of them.
    pub(super) fn check(&self, app: &AppConfig) -> Result<(), ConnectError> {
        // A name is resolved only if a listener has the same port.
        if !self.all().iter().any(|(own, _)| own.port() == app.port) {
            return Ok(());
        }
        // A name that cannot be resolved now is checked when it is dialled.
        let targets = resolve(&app.ip, app.port);
        let mut targets = targets.into_iter().flatten();
        match targets.find_map(|target| self.at(target)) {
            None => Ok(()),
            Some(what) => Err(ConnectError::new(
                ErrorClass::OwnListener,
                format!(
                    "{} is {what} of this 'postern start' and cannot be shared: give another address",
                    app.address()
                ),
            )),
        }
    }

    /// Returns the own listener that a connection to `address` reaches.
    fn at(&self, address: SocketAddr) -> Option<&'static str> {
        let all = self.all();
        let found = all.iter().find(|(own, _)| leads_to(address, *own));
        found.map(|(_, what)| *what)
    }

    fn all(&self) -> MutexGuard<'_, Vec<FixedListener>> {
        self.0.lock()
    }
}

impl Drop for RegisteredListener {
    fn drop(&mut self) {
        let mut all = self.all.all();
        let found = all.iter().position(|(own, _)| *own == self.address);
        if let Some(index) = found {
            all.swap_remove(index);
        }
    }
}

/// True if a connection to `dialled` reaches the listener on `own`.
fn leads_to(dialled: SocketAddr, own: SocketAddr) -> bool {
    if dialled.port() != own.port() {
        return false;
    }
    let (dialled, own) = (reached(dialled), own.ip().to_canonical());
    if own.is_unspecified() {
        is_of_this_machine(dialled)
    } else {
        dialled.ip() == own
    }
}

/// True if a socket can bind the address; nothing is sent.
fn is_of_this_machine(mut address: SocketAddr) -> bool {
    address.set_port(0);
    address.ip().is_loopback() || UdpSocket::bind(address).is_ok()
}

/// The address that a connection to this one reaches: an unspecified one is this machine's.
fn reached(mut address: SocketAddr) -> SocketAddr {
    address.set_ip(match address.ip().to_canonical() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    });
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn each_spelling_of_this_machine_is_one_address() {
        for (spelled, expected) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::ffff:0.0.0.0]:1", "127.0.0.1:1"),
            ("[::ffff:127.0.0.1]:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("127.0.0.2:1", "127.0.0.2:1"),
        ] {
            assert_eq!(reached(address(spelled)), address(expected), "{spelled}");
        }
    }

    #[test]
    fn a_listener_is_reached_by_its_address_and_on_a_wildcard_by_each_of_this_machine() {
        for (dialled, own, is_reached) in [
            ("127.0.0.1:1", "127.0.0.1:1", true),
            ("[::ffff:127.0.0.1]:1", "127.0.0.1:1", true),
            ("0.0.0.0:1", "127.0.0.1:1", true),
            ("127.0.0.1:2", "127.0.0.1:1", false),
            ("127.0.0.2:1", "127.0.0.1:1", false),
            ("[::1]:1", "127.0.0.1:1", false),
            ("127.0.0.2:1", "0.0.0.0:1", true),
            ("127.0.0.2:1", "[::]:1", true),
            ("[::1]:1", "[::]:1", true),
            ("[::]:1", "[::]:1", true),
            ("127.0.0.2:2", "0.0.0.0:1", false),
            ("192.0.2.1:1", "0.0.0.0:1", false),
        ] {
            let found = leads_to(address(dialled), address(own));
            assert_eq!(found, is_reached, "{dialled} and {own}");
        }
    }

    #[test]
    fn what_listens_is_no_target_until_it_is_closed() {
        let all = OwnListeners::new(vec![(address("127.0.0.1:1"), "fixed")]);
        let may_dial = all.dial_filter(None);
        assert!(!may_dial(address("127.0.0.1:1")));
        let (listener, registered) = all.bind(address("127.0.0.1:0"), "ours").unwrap();
        let own = listener.local_addr().unwrap();
        assert!(!may_dial(own) && all.dial_filter(Some(own))(own));
        assert_eq!(all.at(own), Some("ours"));
        drop((listener, registered));
        assert!(may_dial(own) && !may_dial(address("127.0.0.1:1")));
    }
}
