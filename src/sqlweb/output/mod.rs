//! Output of rows: values as text, a JSON document, a file.

mod buffer;
mod cells;
mod export;
mod json_answer;
mod lazy_stream;

pub(super) use super::results::{Flow, RowSink};
pub(super) use buffer::OutputBuffer;
pub(super) use cells::{kinds, sql};
pub(super) use export::{ExportSink, Format, Layout, file_name};
#[cfg(test)]
pub(super) use json_answer::AnswerEnd;
pub(super) use json_answer::{JsonAnswer, duration};
pub(super) use lazy_stream::LazyStream;
