//! Figures for Prometheus, as every part of the program has them: how they are counted, and how they are told.

mod exposition;
mod histogram;
mod process;

pub(crate) use exposition::{Exposition, Labels, MEDIA_TYPE};
pub(crate) use histogram::{Durations, Histogram, Tally};
pub(crate) use process::add_process;
