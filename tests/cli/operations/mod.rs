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

/// One line of JSON has the members of an API's error, with the text of standard error.
#[track_caller]
fn is_also_json(said: &Finished, code: u64) {
    let shown = json_of(said);
    assert_eq!(said.stdout.lines().count(), 1, "{said:?}");
    assert_eq!(shown["code"], code, "{said:?}");
    for member in ["message", "hint"] {
        let text = shown[member].as_str().unwrap();
        assert!(said.stderr.contains(text), "{member}: {said:?}");
    }
}

fn json_of(said: &Finished) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}
