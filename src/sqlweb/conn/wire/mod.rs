//! The server's answers read straight from the socket, where there is no TLS: the driver copies every cell of a row.

mod answer;
mod text_result;

pub(crate) use answer::{Answer, LONGEST_TEXT, LastStatus};
pub(crate) use text_result::ResultSet;
