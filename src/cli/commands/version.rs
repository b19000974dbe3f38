//! `postern version`: the version and the kind of build.

use serde_json::json;

use crate::cli::args::command::Parsed;
use crate::cli::failure::{Failure, print, print_json};

const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// Prints the line of `--version`, and one about the build.
pub(crate) fn show(parsed: &Parsed) -> Result<(), Failure> {
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let is_static = cfg!(target_env = "musl");
    let is_optimized = !cfg!(debug_assertions);
    if parsed.wants_json() {
        return print_json(
            &json!({"version": NUMBER, "system": system, "machine": machine, "static": is_static,
            "optimized": is_optimized, "tunnel_protocol": "chisel-v3"}),
        );
    }
    let linked = if is_static { "static" } else { "dynamic" };
    let built = if is_optimized { "release" } else { "debug" };
    print(&format!(
        "postern {NUMBER}\n{system} {machine}, {linked}, {built} build; tunnels speak chisel-v3\n"
    ))
}
