//! Reads the server's answers from the socket if there is no TLS, since the driver copies every cell of a row.

mod answer;
mod text_result;

pub(crate) use answer::{Answer, LONGEST_TEXT, LastStatus};
pub(crate) use text_result::ResultSet;
