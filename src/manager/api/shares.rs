//! Applications that last as long as the command that shares them.

use std::sync::Arc;

use serde_json::Value;

use super::answer::{Answer, failed};
use super::apps;
use crate::http::{ApiError, Request, Response};
use crate::manager::app_state::AppState;
use crate::store::LeaseWatch;
use crate::sync::{Thread, spawn};

/// Hexadecimal digits of a lease, as of an identifier.
const LEASE_LENGTH: usize = 16;

/// Adds one, with its lease for its identifier: the command holds that, and the application goes when it does no more,
/// however it ended.
pub(super) fn add(core: &Arc<AppState>, request: &Request) -> Answer {
    let mut body: Value = request.json()?;
    let lease = body.as_object_mut().and_then(|body| body.remove("lease"));
    let id = lease.as_ref().and_then(Value::as_str);
    let id = id.filter(|id| id.len() == LEASE_LENGTH && id.bytes().all(|b| b.is_ascii_hexdigit()));
    let id = id.ok_or_else(|| ApiError::bad_request("lease must be 16 hexadecimal digits"))?;
    let input = apps::parsed(core, &body)?;
    let watch = LeaseWatch::of(&core.home, id);
    let watch = watch.map_err(|error| ApiError::internal(error.to_string()))?;
    let watch = watch.ok_or_else(|| ApiError::new(409, "nobody holds that lease"))?;
    if core.apps.find(id).is_ok() {
        return Err(ApiError::new(409, "that lease has an application already"));
    }
    let added = core.apps.add_temporary(input, id).map_err(failed)?;
    if let Err(error) = remove_after(core, watch, id) {
        let _ = apps::end_and_remove(core, id);
        return Err(ApiError::new(503, format!("no thread for it: {error}")));
    }
    log::info!("application '{}': added until its command ends", added.name);
    Ok(Response::data(201, added.shown()))
}

/// On a thread of its own, as the system knows no other way to wait for a lock; it ends with the command, or with this
/// process.
fn remove_after(core: &Arc<AppState>, watch: LeaseWatch, id: &str) -> std::io::Result<()> {
    let (core, id) = (Arc::clone(core), id.to_owned());
    spawn(Thread::Share, move || {
        watch.wait_for_end();
        // It may have been removed before, as a command that ends well does.
        if core.apps.find(&id).is_ok_and(|app| app.temporary)
            && let Err(error) = apps::end_and_remove(&core, &id)
        {
            log::warn!("application {id}: not removed after its command: {error}");
        }
    })
}
