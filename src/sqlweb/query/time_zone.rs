//! The time zone that one statement runs with, whatever the session has.

use crate::sqlweb::catalogue::{literal, text};
use crate::sqlweb::conn::{DbConn, rows, run_silently};
use crate::sqlweb::error::DbError;

/// An offset from UTC as servers take it, `+02:00`; a name would need tables that a server may lack.
pub(crate) struct TimeZone(String);

impl TimeZone {
    /// The offset of a text, if it is one that MySQL takes; MariaDB has up to `+13:00` and says so itself.
    pub(crate) fn offset(text: &str) -> Option<Self> {
        let [sign @ (b'+' | b'-'), digits @ ..] = text.as_bytes() else {
            return None;
        };
        let &[
            h1 @ b'0'..=b'1',
            h2 @ b'0'..=b'9',
            b':',
            m1 @ b'0'..=b'5',
            m2 @ b'0'..=b'9',
        ] = digits
        else {
            return None;
        };
        let most = if *sign == b'+' { *b"1400" } else { *b"1359" };
        ([h1, h2, m1, m2] <= most).then(|| Self(text.to_owned()))
    }

    /// Assignment that sets it, to stand among others in a `SET`.
    pub(crate) fn assignment(&self) -> String {
        format!("time_zone = '{}'", self.0)
    }
}

/// Does `work` with the session's time zone as wanted and gives the session its own back. A connection that was lost has
/// none any more.
pub(crate) fn with_time_zone<T>(
    conn: &mut DbConn,
    wanted: Option<&TimeZone>,
    work: impl FnOnce(&mut DbConn) -> Result<T, DbError>,
) -> Result<T, DbError> {
    let Some(zone) = wanted else {
        return work(conn);
    };
    let asked = rows(&mut conn.driver, "SELECT @@session.time_zone")?;
    let own = asked
        .first()
        .and_then(|row| text(row, 0))
        .unwrap_or_default();
    run_silently(&mut conn.driver, &format!("SET {}", zone.assignment()))?;
    let outcome = work(conn);
    if outcome
        .as_ref()
        .err()
        .is_none_or(DbError::leaves_connection_usable)
    {
        let restored = format!("SET time_zone = {}", literal(&own));
        run_silently(&mut conn.driver, &restored)?;
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::TimeZone;

    #[test]
    fn a_time_zone_is_an_offset_and_nothing_else() {
        for good in ["+00:00", "-00:00", "+02:00", "-13:59", "+14:00", "+05:45"] {
            let zone = TimeZone::offset(good).map(|zone| zone.assignment());
            assert_eq!(zone, Some(format!("time_zone = '{good}'")));
        }
        for bad in [
            "",
            "+",
            "02:00",
            "+2:00",
            "+02:60",
            "+14:01",
            "-14:00",
            "+20:00",
            "SYSTEM",
            "+02:00'",
            "+02:0\u{660}",
            "Europe/Berlin",
            " +02:00",
            "+02-00",
        ] {
            assert!(TimeZone::offset(bad).is_none(), "{bad}");
        }
    }
}
