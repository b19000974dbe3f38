//! Applications: what a client sends, what is stored, what is shown.

pub mod app;
pub mod app_input;
pub mod app_store;
pub mod field;
pub mod fields;
mod reader;
mod site_words;

pub use crate::api::protocol;
pub use site_words::{another_name, site_wish};
