//! Host name for requests to an application, and the way back from it to the site. Text in, text out.

mod head;
mod host_header;
mod links;

pub(super) use head::head;
pub(crate) use head::head_of_visitor;
pub(crate) use host_header::{Naming, ServerKind};
pub use host_header::{TARGETS_HOST, VISITORS_HOST};
