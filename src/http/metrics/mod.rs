//! Metrics for Prometheus, as every part of the program has them: how they are counted, declared and written.

mod exposition;
mod histogram;
mod metric;
mod process;

pub(crate) use exposition::{Exposition, MEDIA_TYPE};
pub(crate) use histogram::{Durations, Histogram, Tally};
pub(crate) use metric::{Counts, Family, Metric, Page, Values, counter, gauge, histogram, wide};
pub(crate) use process::add_process;
