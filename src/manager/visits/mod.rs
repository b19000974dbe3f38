//! Visits: the requests of an application's visitors through its gateway, and its current visitors.
//!
//! In memory and bounded: what a visitor sends can make an entry no larger than `MAX_SHOWN` allows, and the log no
//! longer than `MOST`. No query, header, cookie or code is ever a part of it.

mod log;
mod record;

pub(crate) use log::{Presence, RequestSink, Visits};
pub(crate) use record::{Counted, RequestRecord, Visitors};
