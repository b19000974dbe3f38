//! The call that gives back what a relay holds for an application.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use super::call::{self, NoReply};
use crate::manager::ServerUrl;
use crate::store::Credentials;

/// Time for all of it: nobody waits for it.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of the stack of the call's thread: TLS.
const STACK: usize = 512 * 1024;

/// Begins the call, and does not wait: what is not given back is the relay's to keep, and costs nobody anything. The
/// channel is closed when the call has ended.
pub(crate) fn release(
    server: ServerUrl,
    credentials: Credentials,
    client_app_id: String,
) -> Receiver<()> {
    let (calling, done) = crossbeam_channel::bounded(0);
    // Ends with the call, or the process.
    let spawned = std::thread::Builder::new()
        .name("release".into())
        .stack_size(STACK)
        .spawn(move || {
            let _calling: Sender<()> = calling;
            let account = (
                credentials.connector_name.as_str(),
                credentials.password.as_str(),
            );
            match call::release(&server, account, &client_app_id, TIMEOUT) {
                Ok(status) => log::debug!("application {client_app_id}: given back: {status}"),
                Err(NoReply::Passing(reason)) => {
                    log::debug!("application {client_app_id}: not given back: {reason}");
                }
                Err(NoReply::Lasting(failure)) => {
                    log::debug!("application {client_app_id}: not given back: {failure}");
                }
            }
        });
    if let Err(error) = spawned {
        log::debug!("no thread to give an application back: {error}");
    }
    done
}
