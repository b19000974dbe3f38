//! The time zone of one statement, independent of the session's.

use crate::sqlweb::catalogue::{literal, text};
use crate::sqlweb::conn::{DbConn, rows, run_silently};
use crate::sqlweb::error::DbError;

/// An offset from UTC for servers, `+02:00`; a name would need tables that a server may lack.
pub(crate) struct TimeZone(String);

impl TimeZone {
    /// The offset in a text, if MySQL accepts it; MariaDB's limit is `+13:00`, which it reports itself.
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

    /// Assignment that sets it, for a `SET`.
    pub(crate) fn assignment(&self) -> String {
        format!("time_zone = '{}'", self.0)
    }
}

/// Does `work` in the wanted time zone and restores the session's own, unless the connection was lost.
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
