//! Applications: what a client sends, what is stored, what is shown.

pub mod app;
pub mod app_input;
pub mod app_store;
mod fields;
mod reader;
pub mod sharing;
mod sharing_fields;
mod site_words;

pub use crate::api::protocol;
pub use site_words::{another_name, site_wish};
