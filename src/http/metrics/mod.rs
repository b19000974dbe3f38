//! Metrics for Prometheus, as every part of the program has them: how they are counted, declared and written.

mod histogram;
mod metric;

pub(crate) use histogram::{Durations, Histogram, Tally};
pub(crate) use metric::add_process;
pub(crate) use metric::{Counts, Family, Metric, Page, Values, counter, gauge, histogram, wide};
pub(crate) use metric::{Exposition, MEDIA_TYPE};
