//! Time zones that a server knows by name, without the system's files: those of [`ZONES`], around some clock changes.

use super::Database;

/// Offsets of today and of half a year ago differ in the first three; the third has not changed its clocks since 2019.
pub const ZONES: [&str; 6] = [
    "Europe/Berlin",
    "Pacific/Auckland",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "+00:00",
    "-00:30",
];

const TABLES: &str = "SET time_zone = '+00:00'; USE mysql; \
    REPLACE INTO time_zone VALUES (901, 'N'), (902, 'N'), (903, 'N'), (904, 'N'); \
    REPLACE INTO time_zone_name VALUES ('Europe/Berlin', 901), ('Pacific/Auckland', 902), ('America/Sao_Paulo', 903), ('Asia/Kathmandu', 904); \
    REPLACE INTO time_zone_transition_type VALUES (901, 0, 3600, 0, 'CET'), (901, 1, 7200, 1, 'CEST'), \
      (902, 0, 43200, 0, 'NZST'), (902, 1, 46800, 1, 'NZDT'), (903, 0, -10800, 0, '-03'), (903, 1, -7200, 1, '-02'), (904, 0, 20700, 0, '+0545'); \
    REPLACE INTO time_zone_transition VALUES \
      (901, -2147483648, 0), (901, UNIX_TIMESTAMP('2026-03-29 01:00:00'), 1), (901, UNIX_TIMESTAMP('2026-10-25 01:00:00'), 0), \
      (902, -2147483648, 1), (902, UNIX_TIMESTAMP('2026-04-04 14:00:00'), 0), (902, UNIX_TIMESTAMP('2026-09-26 14:00:00'), 1), \
      (903, -2147483648, 1), (903, UNIX_TIMESTAMP('2018-02-18 02:00:00'), 0), (903, UNIX_TIMESTAMP('2018-11-04 03:00:00'), 1), \
      (903, UNIX_TIMESTAMP('2019-02-17 02:00:00'), 0), (904, -2147483648, 0)";

/// Moments in UTC on both sides of each of these changes, of which two a zone look alike, and some that are far from all.
pub const MOMENTS: [&str; 14] = [
    "2018-02-18 01:30:00",
    "2018-02-18 02:30:00",
    "2018-11-04 02:59:59",
    "2018-11-04 03:00:00",
    "2026-01-15 23:59:59",
    "2026-03-29 00:59:59",
    "2026-03-29 01:00:00",
    "2026-04-04 13:30:00",
    "2026-04-04 14:30:00",
    "2026-07-01 10:00:00",
    "2026-09-26 13:59:59",
    "2026-09-26 14:00:00",
    "2026-10-25 00:30:00",
    "2026-10-25 01:30:00",
];

impl Database {
    /// Makes the server know the zones by name.
    pub fn load_zones(&self) {
        self.exec(TABLES);
    }

    /// A table with a row a moment, numbered from 0, in database `name`; its key begins with the TIMESTAMP.
    pub fn make_moments(&self, name: &str) {
        let row = |(n, at): (usize, &&str)| format!("('{at}', {n}, 'x', '{at}')");
        let rows: Vec<String> = MOMENTS.iter().enumerate().map(row).collect();
        self.exec(&format!(
            "SET time_zone = '+00:00'; DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}; \
             CREATE TABLE {name}.t (at TIMESTAMP NOT NULL DEFAULT '2001-01-01', n INT, note VARCHAR(20), seen TIMESTAMP(3) NULL, PRIMARY KEY (at)); \
             INSERT INTO {name}.t VALUES {}",
            rows.join(", ")
        ));
    }
}
