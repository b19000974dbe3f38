//! What only MariaDB can be made to do.

mod galera;
mod versions;
