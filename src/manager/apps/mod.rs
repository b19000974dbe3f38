//! Applications: what a client sends, what is stored, what is shown.

pub mod app;
pub mod app_input;
pub mod app_store;
pub mod field;
pub mod fields;
pub mod protocol;
mod reader;
mod site_words;

pub use site_words::{another_name, site_wish};
