//! Tests that need MariaDB.

mod galera;
mod versions;
