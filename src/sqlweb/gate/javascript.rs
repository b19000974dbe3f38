//! The lists as the page has them, in a JavaScript module that is generated.

use std::fmt::Write as _;

use super::group::Since;
use super::{functions, geometry, words};

/// The list as a JavaScript module.
pub(super) fn module() -> String {
    let mut out = String::from(HEADER);
    for group in functions::groups() {
        let (mariadb, mysql) = (version(group.mariadb), version(group.mysql));
        let until = version(group.until);
        let adjacent = group.adjacent;
        let names = group.names.join(" ");
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "  {{ mariadb: {mariadb}, mysql: {mysql}, until: {until}, adjacent: {adjacent}, names: \"{names}\" }},"
        );
    }
    out.push_str(
        "];\n\n/** Built-in functions that are refused, and why. */\nexport const REFUSED = {\n",
    );
    for (name, reason) in functions::REFUSED {
        let _ = writeln!(out, "  {name}: {reason:?},");
    }
    out.push_str("};\n");
    let spatial = geometry::spatial_names();
    let lists = [
        ("SPATIAL", spatial.as_slice()),
        ("BESIDE_SPATIAL", geometry::BESIDE),
        ("RESERVED", words::RESERVED),
        ("DENIED", words::DENIED),
        ("SELECT_OPTIONS", words::SELECT_OPTIONS),
        ("OPERATORS", words::OPERATORS),
        ("CLAUSES", words::CLAUSES),
        ("RESETTING", words::RESETTING),
        ("SHOWN", words::SHOWN),
        ("SHOWN_CREATE", words::SHOWN_CREATE),
    ];
    for (name, list) in lists {
        let _ = write!(
            out,
            "\n/** See src/sqlweb/gate. */\nexport const {name} = {:?};\n",
            list.join(" ")
        );
    }
    out
}

const HEADER: &str = "\
// Generated from src/sqlweb/gate; `POSTERN_BLESS=1 cargo test --test gate_vectors` writes it.

/** Names that may stand before a parenthesis, with the versions that have them built in. */
export const GROUPS = [
";

fn version(version: Since) -> String {
    version.map_or_else(|| "null".into(), |(a, b, c)| format!("[{a}, {b}, {c}]"))
}
