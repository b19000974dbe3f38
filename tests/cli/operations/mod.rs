//! Commands that look after the rest: what is there, whether it works, who was here, and what belongs to the shell.

mod doctor;
mod manual;
mod servers;
mod service;
mod shell;
mod start;
mod status;

use serde_json::Value;
use support::postern::Finished;

fn json_of(said: &Finished) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}
