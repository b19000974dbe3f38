//! `postern man [DIR]`: the manual pages, written from the table of commands.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cli::args::command::{Command, Parsed};
use crate::cli::args::root::every_command;
use crate::cli::failure::{Failure, print, quoted};
use crate::store::write_atomic_for_all;

/// Writes the pages.
pub(crate) fn write(parsed: &Parsed) -> Result<(), Failure> {
    let pages = every_command();
    let Some(dir) = parsed.operands().first() else {
        return print(&pages.into_iter().map(page).collect::<String>());
    };
    let failed = |error: std::io::Error| {
        Failure::operation(format!("cannot write to {}: {error}", quoted(dir)))
            .hint("give a writable directory")
    };
    // A slash at its end would follow a link.
    let path = Path::new(dir).components().as_path();
    let files = pages.iter().map(|command| {
        let file = path.join(format!("{}.1", command.page_name()));
        (file, page(command))
    });
    let files: Vec<(PathBuf, String)> = files.collect();
    create(path).map_err(failed)?;
    check_directory(path).map_err(failed)?;
    for (file, _) in &files {
        check_ours(file).map_err(failed)?;
    }
    for (file, page) in &files {
        write_atomic_for_all(file, page.as_bytes()).map_err(failed)?;
    }
    print(&format!(
        "wrote {} pages to {}\n",
        pages.len(),
        path.display()
    ))
}

fn page(command: &Command) -> String {
    command.page(env!("CARGO_PKG_VERSION"))
}

/// Creates a missing directory that others can read, whatever the umask, but not write.
fn create(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    builder.create(dir)
}

/// Refuses a directory that is a link, or in which everybody could replace a page while it is written. Its group may
/// write: on many systems only the user is in it.
#[cfg(unix)]
fn check_directory(dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::symlink_metadata(dir)?;
    let owners = [rustix::process::geteuid().as_raw(), 0];
    if !found.is_dir() {
        Err(io::Error::other("it is a link, not a directory"))
    } else if !owners.contains(&found.uid()) {
        Err(io::Error::other("it belongs to another user"))
    } else if found.mode() & 0o1002 == 0o002 {
        Err(io::Error::other("all users can replace files in it"))
    } else {
        Ok(())
    }
}

#[cfg(not(unix))]
fn check_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Refuses to replace a file that is not a page of this program.
fn check_ours(file: &Path) -> io::Result<()> {
    let is_ours = match fs::symlink_metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) => found.is_file() && fs::read(file)?.starts_with(b".TH POSTERN"),
    };
    if is_ours {
        return Ok(());
    }
    let name = file.file_name().unwrap_or_default();
    let why = format!(
        "{} in it was not written by postern",
        quoted(&name.to_string_lossy())
    );
    Err(io::Error::other(why))
}
