//! Built-in functions that came with the same versions.

use super::dialect::Dialect;

/// The first version of a server that has something; `None` where none has.
pub(super) type Since = Option<(u16, u16, u16)>;

/// Names that came with the same versions.
pub(super) struct Group {
    pub(super) mariadb: Since,
    pub(super) mysql: Since,
    /// The first MySQL without them; a stored function can have the name there.
    pub(super) until: Since,
    /// A keyword only where the parenthesis follows without space; with space
    /// between, the server looks for a stored function of that name.
    pub(super) adjacent: bool,
    /// Sorted, in upper case.
    pub(super) names: &'static [&'static str],
}

impl Group {
    /// True if that server has its names.
    pub(super) fn on(&self, dialect: &Dialect) -> bool {
        let (since, until) = if dialect.mariadb {
            (self.mariadb, None)
        } else {
            (self.mysql, self.until)
        };
        since.is_some_and(|since| dialect.version >= since)
            && until.is_none_or(|until| dialect.version < until)
    }
}
