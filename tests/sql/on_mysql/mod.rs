//! Features that MySQL has and MariaDB lacks, on a real MySQL.

mod accounts;
mod schema;
mod signin;
mod statements;
mod values;

use support::Database;

/// A database of one's own on the shared server, with what `sql` makes in it.
fn database(name: &str, sql: &str) -> &'static Database {
    let db = Database::shared();
    db.exec(&format!(
        "DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; USE {name}; {sql}"
    ));
    db
}
