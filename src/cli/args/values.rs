//! Values of flags and operands that several commands take.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The variable that may hold the database password.
pub(crate) const PASSWORD_VARIABLE: &str = "POSTERN_DB_PASS";
/// The variable that may name the remote server.
pub(crate) const SERVER_VARIABLE: &str = "POSTERN_SERVER";
/// The variable that may hold the enrol token.
pub(crate) const TOKEN_VARIABLE: &str = "POSTERN_ENROLL_TOKEN";

/// A variable of the environment; an empty one counts as unset, as does one that is not UTF-8.
pub(crate) fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A whole number in digits alone, within `range`.
pub(crate) fn whole_number<T: FromStr + PartialOrd>(
    text: &str,
    range: &RangeInclusive<T>,
) -> Option<T> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok();
    number.filter(|number| is_number && range.contains(number))
}

/// `ADDRESS:PORT`, or `localhost:PORT`.
pub(crate) fn socket_address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse().ok(),
        None => text.parse().ok(),
    }
}
