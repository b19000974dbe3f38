//! The strict HTTP/1.1 front that every listener shares.

pub mod limits;
pub mod policy;
