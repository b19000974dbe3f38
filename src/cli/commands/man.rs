//! `postern man [DIR]`: the manual pages, written from the table of commands.

use std::fs;
use std::path::Path;

use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::operations::MAN;
use crate::cli::args::root::every_command;
use crate::cli::failure::{Failure, quoted};
use crate::cli::output::print;

/// Writes the pages.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    MAN.run(arguments, write)
}

fn write(parsed: &Parsed) -> Result<(), Failure> {
    let pages = every_command();
    let Some(dir) = parsed.operands().first() else {
        return print(&pages.into_iter().map(page).collect::<String>());
    };
    let failed = |error: std::io::Error| {
        Failure::operation(format!("cannot write to {}: {error}", quoted(dir)))
            .hint("name a directory that you may write in")
    };
    let path = Path::new(dir);
    fs::create_dir_all(path).map_err(failed)?;
    for command in &pages {
        let file = path.join(format!("{}.1", command.page_name()));
        fs::write(file, page(command)).map_err(failed)?;
    }
    print(&format!(
        "{} pages are in {}\n",
        pages.len(),
        path.display()
    ))
}

fn page(command: &Command) -> String {
    command.page(env!("CARGO_PKG_VERSION"))
}
