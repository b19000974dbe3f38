//! Statements that create a guest's account and grant it the shared tables.

use std::time::{Duration, SystemTime};

use super::account::{Account, native_hash};
use super::expand::Readable;
use super::views::{View, through};
use crate::sqlweb::catalogue::identifier;
use crate::sqlweb::gate::Dialect;

const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// Database of views in the statements for an administrator.
pub(super) const FOR_VIEWS: &str = "guest_views";

/// Form of the password in the statement that creates an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PasswordForm {
    /// The plain password; MySQL writes only `<secret>` or a hash into its logs.
    ByPassword,
    /// Its hash, since MariaDB's logs have every statement as it was sent.
    ByHash,
}

impl PasswordForm {
    /// The form that leaves no password in the server's logs.
    pub(super) fn unlogged(dialect: &Dialect) -> Self {
        if dialect.mariadb {
            Self::ByHash
        } else {
            Self::ByPassword
        }
    }

    /// The clause for a password without quotes.
    fn by(self, password: &str) -> String {
        match self {
            Self::ByPassword => format!("IDENTIFIED BY '{password}'"),
            Self::ByHash => format!("IDENTIFIED BY PASSWORD '{}'", native_hash(password)),
        }
    }
}

/// The statement that creates the account with the password. If the server can do that, the password expires some whole
/// days later, in case nobody comes back to drop the account.
pub(super) fn create(
    account: &Account,
    password: &str,
    identified: PasswordForm,
    expires: SystemTime,
    dialect: &Dialect,
) -> String {
    let by = identified.by(password);
    let created = format!("CREATE USER {} {by}", account.quoted());
    let first_with_expiry = if dialect.mariadb {
        (10, 4, 3)
    } else {
        (5, 7, 6)
    };
    if dialect.version < first_with_expiry {
        return created;
    }
    format!("{created} {}", password_expiry(expires))
}

/// The clause for a password that expires after whole days, when the account has ended.
pub(super) fn password_expiry(expires: SystemTime) -> String {
    let left = expires
        .duration_since(SystemTime::now())
        .unwrap_or_default();
    let days = left.as_secs().div_ceil(A_DAY.as_secs()).clamp(1, 65_535);
    format!("PASSWORD EXPIRE INTERVAL {days} DAY")
}

/// Grants of each table, one statement per table; in those a database's name has no wildcards.
pub(super) fn grants<'a>(
    account: &'a Account,
    readable: &'a Readable,
) -> impl Iterator<Item = String> + 'a {
    readable.tables().map(|((database, table), _)| {
        format!(
            "GRANT SELECT ON {}.{} TO {}",
            identifier(database),
            identifier(table),
            account.quoted()
        )
    })
}

/// Statements that create the account's views, and grant them and the tables that are shared whole.
pub(super) fn lending(account: &Account, readable: &Readable, views: &[View]) -> Vec<String> {
    let Some(database) = &account.views else {
        return grants(account, readable).collect();
    };
    let made = format!("CREATE DATABASE {}", identifier(database));
    let lent = through(readable, database);
    std::iter::once(made)
        .chain(views.iter().map(|view| view.create(database)))
        .chain(grants(account, &lent))
        .collect()
}

/// Statements that an administrator can run instead, with a name and password of their own.
pub(super) fn for_an_administrator(host: &str, readable: &Readable, views: &[View]) -> String {
    let account = Account {
        name: "guest".into(),
        host: host.to_owned(),
        views: (!views.is_empty()).then(|| FOR_VIEWS.to_owned()),
    };
    let created = format!("CREATE USER {} IDENTIFIED BY '…'", account.quoted());
    let all: Vec<String> = std::iter::once(created)
        .chain(lending(&account, readable, views))
        .collect();
    all.join("; ") + ";"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        Account {
            name: "g".into(),
            host: "127.0.0.1".into(),
            views: None,
        }
    }

    #[test]
    fn names_cannot_leave_their_quotes_and_wildcards_mean_nothing() {
        let mut readable = Readable::default();
        readable.add("a_%", "t", None);
        readable.add("x`y", "t`; DROP TABLE u; -- ", None);
        let all: Vec<String> = grants(&account(), &readable).collect();
        assert_eq!(
            all,
            [
                "GRANT SELECT ON `a_%`.`t` TO 'g'@'127.0.0.1'",
                "GRANT SELECT ON `x``y`.`t``; DROP TABLE u; -- ` TO 'g'@'127.0.0.1'",
            ]
        );
        let told = for_an_administrator("%", &readable, &[]);
        assert!(told.starts_with("CREATE USER 'guest'@'%' IDENTIFIED BY '…'; GRANT SELECT ON"));
    }

    #[test]
    fn the_password_expires_where_the_server_knows_how() {
        let soon = SystemTime::now() + Duration::from_secs(60);
        let made = |dialect: &Dialect, expires| {
            let by = PasswordForm::ByPassword;
            create(&account(), "p", by, expires, dialect)
        };
        let modern = made(&Dialect::mysql((9, 7, 0)), soon);
        assert!(
            modern.ends_with(" PASSWORD EXPIRE INTERVAL 1 DAY"),
            "{modern}"
        );
        let later = made(&Dialect::mariadb((11, 8, 0)), soon + 2 * A_DAY);
        assert!(later.ends_with(" INTERVAL 3 DAY"), "{later}");
        let old = made(&Dialect::mariadb((10, 3, 0)), soon);
        assert_eq!(old, "CREATE USER 'g'@'127.0.0.1' IDENTIFIED BY 'p'");
    }
}
