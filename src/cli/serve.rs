//! Common parts of the commands that serve: files, listening and ending.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;

use crossbeam_channel::Receiver;

use super::failure::Failure;
use super::output::print;
use super::port_holder;
use super::signals::SignalWatch;
use crate::store::{DataDir, RunDir};
use crate::sync::{Thread, spawn};

/// How long ending may take before the process ends regardless: two seconds are promised, and the rest is for leaving
/// the process.
const STOP_TIMEOUT: Duration = Duration::from_millis(1800);

/// The per-user directory.
pub(super) fn data_dir() -> Result<DataDir, Failure> {
    Ok(DataDir::locate()?)
}

/// A directory for sockets, which a signal during the start removes too.
pub(super) fn run_dir(home: Option<&DataDir>, watch: &SignalWatch) -> Result<RunDir, Failure> {
    let run_dir = RunDir::create(home)?;
    watch.removes(run_dir.path());
    Ok(run_dir)
}

/// Listens; `hint` says what to try after an error of that kind.
pub(super) fn listen(
    address: SocketAddr,
    hint: impl FnOnce(io::ErrorKind) -> Option<String>,
) -> Result<TcpListener, Failure> {
    TcpListener::bind(address).map_err(|error| {
        let why = if error.kind() == io::ErrorKind::AddrInUse {
            format!("the port is in use{}", port_holder::by_whom(address.port()))
        } else {
            error.to_string()
        };
        Failure::operation(format!("cannot listen on {address}: {why}")).hint_if(hint(error.kind()))
    })
}

/// Prints where something is served, does what comes `then`, and waits for the first signal.
pub(super) fn until_signal(
    announcement: &str,
    stopped: &Receiver<()>,
    then: impl FnOnce(),
) -> Result<(), Failure> {
    print(announcement)?;
    then();
    // An error means that nobody can send any more; ending is right then too.
    let _ = stopped.recv();
    Ok(())
}

/// Ends what was served with `stop`, and waits for that as long as there is time.
pub(super) fn stop_in_time(stop: impl FnOnce() + Send + 'static) {
    let (sender, done) = crossbeam_channel::bounded(1);
    // A thread so that the wait has an end; it ends with its work or the process.
    let stopping = spawn(Thread::Stop, move || {
        stop();
        // The other side may have given up.
        let _ = sender.send(());
    });
    if stopping.is_err() || done.recv_timeout(STOP_TIMEOUT).is_err() {
        log::warn!("some work did not stop within {STOP_TIMEOUT:?}");
    }
}
