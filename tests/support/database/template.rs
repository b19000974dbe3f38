//! The data directory of a fresh server, made once for each version and copied for each start, which takes the start
//! from seconds to a fraction of one.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::server::{Kind, Server};
use super::{as_root, private_dir, run};
use crate::{exclusive, target_dir};

/// Size of the log. A server and a new data directory need the same one.
pub(super) fn log_size(kind: Kind) -> &'static str {
    match kind {
        Kind::MySql => "--innodb-redo-log-capacity=8M",
        Kind::MariaDb => "--innodb-log-file-size=48M",
    }
}

/// Copies the fresh data directory of `server` to `data`.
pub(super) fn copy_to(data: &Path, server: &Server) {
    run(Command::new("cp")
        .args(["-R", "--reflink=auto", "--sparse=always"])
        .args([&template(server), data]));
}

/// The fresh data directory, made on first use.
fn template(server: &Server) -> PathBuf {
    let _lock = exclusive("database-template");
    let templates = target_dir("database");
    let finished = templates.join(server.full_name());
    if finished.is_dir() {
        return finished;
    }
    // An interrupted run must not leave half a template under the final name.
    let unfinished = templates.join(format!("unfinished-{}", server.full_name()));
    let _ = std::fs::remove_dir_all(&unfinished);
    match server.share() {
        _ if server.kind() == Kind::MySql => initialize(server, &unfinished),
        Some(share) => bootstrap(server, &share, &unfinished),
        None => install(server, &unfinished),
    }
    std::fs::rename(&unfinished, &finished).expect("same file system");
    finished
}

fn initialize(server: &Server, data: &Path) {
    run(server
        .tool("mysqld")
        .args(["--no-defaults", "--initialize-insecure"])
        .args([log_size(Kind::MySql), "--innodb-doublewrite=0"])
        .args(as_root())
        .args(server.place_arguments())
        .arg(format!("--datadir={}", data.display())));
}

fn install(server: &Server, data: &Path) {
    let temporary = private_dir();
    run(server
        .tool("mariadb-install-db")
        .env("TMPDIR", temporary.path())
        .args([
            "--no-defaults",
            "--skip-test-db",
            "--auth-root-authentication-method=normal",
        ])
        .arg(log_size(Kind::MariaDb))
        .args(as_root())
        .arg(format!("--datadir={}", data.display())));
}

/// Does the work of `mariadb-install-db`, which cannot run a server through another loader.
fn bootstrap(server: &Server, share: &Path, data: &Path) {
    let temporary = private_dir();
    let script = temporary.path().join("system.sql");
    write_system_tables(share, &script).unwrap_or_else(|e| panic!("{}: {e}", share.display()));
    std::fs::create_dir_all(data).expect("the build directory is ours");
    run(server
        .tool("mariadbd")
        .args(["--no-defaults", "--bootstrap", "--enforce-storage-engine="])
        .args(["--max-allowed-packet=8M", log_size(Kind::MariaDb)])
        .args(as_root())
        .args(server.place_arguments())
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--tmpdir={}", temporary.path().display()))
        .stdin(File::open(&script).expect("just written")));
}

fn write_system_tables(share: &Path, script: &Path) -> std::io::Result<()> {
    let mut script = File::create(script)?;
    script.write_all(b"CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n")?;
    for part in [
        "mariadb_system_tables.sql",
        "mariadb_performance_tables.sql",
        "mariadb_system_tables_data.sql",
        "fill_help_tables.sql",
        "maria_add_gis_sp_bootstrap.sql",
        "mariadb_sys_schema.sql",
    ] {
        std::io::copy(&mut File::open(share.join(part))?, &mut script)?;
        script.write_all(b"\n")?;
    }
    Ok(())
}
