//! The plugins: which were added, and adding one without a terminal.

use std::sync::Arc;

use serde::Deserialize;

use super::answer::Answer;
use crate::http::{ApiError, Request, Response};
use crate::manager::app_state::AppState;
use crate::plugin::{Error, Installed};

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
