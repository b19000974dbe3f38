//! The embedded pages.

use super::Request;

/// Answers with an embedded HTML page such as `sql/index.html`.
pub fn page(_request: Request, _name: &str) {}

/// Answers a request for `/assets/{hash}/…`.
pub fn asset(_request: Request) {}

/// Answers with an embedded HTML page under a status other than 200.
pub fn page_with_status(_request: Request, _name: &str, _status: u16) {}
