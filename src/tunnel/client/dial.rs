//! The two ways to a server: its port for tunnels, and the URL of its web server, for networks that let out only that.
//!
//! ```text
//! first way ──────── failed, or 3 s without `SSH-` ──> second way beside it
//!     └─ its `SSH-` line: this one is used, the other dial ends
//! ```
//!
//! After the `SSH-` line nothing leads to the other way: else who refuses a password or shows another key could choose it.

use std::thread;

use crossbeam_channel::bounded;

use super::failure::{Class, Failure};
use super::settings::Settings;
use super::state::TunnelState;
use super::way::Way;
use crate::sync::{Thread, spawn_scoped};
use crate::tunnel::ws::{self, Cancel, DialError, DialOptions, Endpoint, WsReader, WsWriter};

/// Start of the first line of an SSH server (RFC 4253 section 4.2).
pub(crate) const GREETING: &str = "SSH-";

type Ends = (WsReader, WsWriter);

/// Opens a WebSocket by the way that worked last, and soon by the other one too.
pub(super) fn dial(state: &TunnelState, settings: &Settings) -> Result<(Way, Ends), Failure> {
    let alone = |way, to| {
        let dialled = ws::dial(to, &settings.dial, &state.cancel);
        Ok((way, dialled.map_err(Failure::from)?))
    };
    let port = &settings.endpoint;
    match &settings.url {
        None => alone(Way::Port, port),
        Some(url) if url == port => alone(Way::Url, url),
        Some(url) => match settings.last_ways.of(&port.server()) {
            Some(Way::Url) => race(state, settings, [(Way::Url, url), (Way::Port, port)], true),
            last => {
                let ways = [(Way::Port, port), (Way::Url, url)];
                race(state, settings, ways, last.is_some())
            }
        },
    }
}

/// Dials the first way, and then the second beside it. Both dials are over afterwards.
fn race(
    state: &TunnelState,
    settings: &Settings,
    [first, second]: [(Way, &Endpoint); 2],
    has_worked: bool,
) -> Result<(Way, Ends), Failure> {
    let head_start = settings.timeouts.head_start;
    let options = DialOptions {
        greeting: Some(GREETING),
        ..settings.dial.clone()
    };
    let mut of_second = options.clone();
    if has_worked {
        // The next attempt begins with the one that worked: this one may lead nowhere, and must not hold that up.
        let times = &mut of_second.timeouts;
        for time in [&mut times.resolve, &mut times.connect, &mut times.handshake] {
            *time = head_start.min(*time);
        }
    }
    let cancels = [(); 2].map(|()| Cancel::new());
    let both = cancels.clone();
    let stopped = move || both.iter().for_each(Cancel::cancel);
    let _watch = state.cancel.watch(stopped);
    let [cancel_first, cancel_second] = &cancels;
    let (is_running, is_over) = bounded::<()>(0);
    let dialled = thread::scope(|scope| {
        let beside = || {
            // Until then, or until the first one is over.
            let _ = is_over.recv_timeout(head_start);
            let dialled = ws::dial(second.1, &of_second, cancel_second);
            dialled.inspect(|_| cancel_first.cancel())
        };
        let beside =
            spawn_scoped(Thread::TunnelDial, scope, beside).map_err(DialError::Resources)?;
        let dialled = ws::dial(first.1, &options, cancel_first);
        if dialled.is_ok() {
            cancel_second.cancel();
        }
        drop(is_running);
        let beside = beside.join().expect("a dial returns its error");
        Ok::<_, DialError>([(first.0, dialled), (second.0, beside)])
    });
    match dialled? {
        [(way, Ok(ends)), _] | [_, (way, Ok(ends))] => Ok((way, ends)),
        [(Way::Port, Err(of_port)), (_, Err(of_url))] => Err(of_both(of_port, of_url, second.1)),
        [(_, Err(of_url)), (_, Err(of_port))] => Err(of_both(of_port, of_url, first.1)),
    }
}

/// Both ways led nowhere: both reasons, and the kind of the port's, unless that was not dialled at all.
fn of_both(of_port: DialError, of_url: DialError, url: &Endpoint) -> Failure {
    let [of_port, of_url] = [of_port, of_url].map(Failure::from);
    let class = match of_port.class {
        Class::AddressRefused => of_url.class,
        class => class,
    };
    Failure::new(class, format!("{of_port}; through {url}: {of_url}"))
}
