//! Metrics for Prometheus, for every part of the program: counting, declaring and writing them.

mod histogram;
mod metric;

pub(crate) use histogram::{Durations, Histogram, Tally};
pub(crate) use metric::{
    Counts, Exposition, Family, MEDIA_TYPE, Metric, Page, Values, add_process, counter, gauge,
    histogram, wide,
};
