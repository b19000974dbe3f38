//! The SQL client as a person meets it: the real page in Chromium, served by the real binary, on a real MariaDB.
//!
//! One browser and one database server serve all tests here; each has a database, a `postern` and a browser context
//! of its own.

mod accounts;
mod client;
mod columns;
mod completing;
mod daily;
mod data;
mod databases;
mod dumps;
mod edit;
mod edit_form;
mod edit_kept;
mod edit_told;
mod editor;
mod exports;
mod filters;
mod first_rows;
mod hostile;
mod import;
mod keyboard;
mod looks;
mod mode;
mod modules;
mod objects;
mod objects_drop;
mod on_mysql;
mod outage;
mod outcomes;
mod programs;
mod result_tools;
mod results;
mod running;
mod saved;
mod scripts;
mod search;
mod server;
mod sidebar;
mod states;
mod structure;
mod structure_review;
mod structure_tables;
mod tabs;
mod transaction;
mod transfer;
mod typing;
mod viewing;
mod writing;
mod zones;
