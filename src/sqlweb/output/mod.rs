//! Rows as they are sent: values as text, a JSON document, a file.

pub(super) mod buffer;
pub(super) mod cells;
pub(super) mod export;
pub(super) mod json_answer;
pub(super) mod lazy_stream;
pub(super) mod row_sink;
