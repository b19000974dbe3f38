//! Applications: what a client sends, what is stored, what is shown.

pub mod app;
pub mod app_input;
pub mod app_store;
pub mod fields;
mod reader;

pub use crate::api::protocol;
pub use app::{another_name, site_wish};
