//! Grants of a guest, as a person writes them (`shop.*`, `shop.customers`, `shop.customers(id,name)`), and the guest's
//! account.
//!
//! A name with one of `` .*,()` `` or a blank in it is written in backquotes; a backquote inside is doubled.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;
use std::time::SystemTime;

use crate::limits::GUEST_LIFE;
use crate::store::expiry::{Clocks, Expiry};
use crate::store::time::parse_rfc3339;
use crate::sync::Mutex;

/// Databases that are the server's own: accounts, passwords and everybody's statements are in them.
const OF_THE_SERVER: [&str; 4] = ["information_schema", "mysql", "performance_schema", "sys"];

/// Characters of a name: MySQL and MariaDB take 64.
const LONGEST_NAME: usize = 64;

/// Characters that end a name without backquotes.
const SPECIAL: [char; 6] = ['.', '*', ',', '(', ')', '`'];

/// One thing that a guest may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The database.
    pub database: String,
    /// The table or view; `None` for the whole database.
    pub table: Option<String>,
    /// Its columns; empty for all of them.
    pub columns: Vec<String>,
}

/// Error for a text that is not a grant; `Display` names the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidGrant(String);

impl fmt::Display for InvalidGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidGrant {}

impl Grant {
    /// Reads one grant; the error says what is wrong and shows the three forms.
    pub fn parse(text: &str) -> Result<Self, InvalidGrant> {
        let mut reader = Reader(text.chars().peekable());
        let read = reader.grant().and_then(|grant| grant.checked());
        read.map_err(|why| {
            InvalidGrant(format!(
                "'{text}': {why}; write DATABASE.*, DATABASE.TABLE or DATABASE.TABLE(COLUMN,COLUMN), odd names in `backquotes`"
            ))
        })
    }

    /// True if a database is not one of the server's own.
    pub fn can_be_lent(database: &str) -> bool {
        !OF_THE_SERVER
            .iter()
            .any(|own| own.eq_ignore_ascii_case(database))
    }

    fn checked(self) -> Result<Self, String> {
        if !Self::can_be_lent(&self.database) {
            let own = self.database.to_lowercase();
            return Err(format!("{own} is a system database and cannot be shared"));
        }
        let mut names = std::iter::once(&self.database)
            .chain(&self.table)
            .chain(&self.columns);
        match names.find(|name| !is_name(name)) {
            Some(name) if name.is_empty() => Err("a name is empty".into()),
            Some(_) => Err(format!(
                "a name has at most {LONGEST_NAME} characters, no control characters and no blank at its end"
            )),
            None => Ok(self),
        }
    }
}

fn is_name(name: &str) -> bool {
    (1..=LONGEST_NAME).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && !name.ends_with(' ')
}

/// Writes names in backquotes only if they need them.
impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = written(&self.database);
        let Some(table) = &self.table else {
            return write!(f, "{database}.*");
        };
        write!(f, "{database}.{}", written(table))?;
        if self.columns.is_empty() {
            return Ok(());
        }
        let columns: Vec<String> = self.columns.iter().map(|name| written(name)).collect();
        write!(f, "({})", columns.join(","))
    }
}

fn written(name: &str) -> String {
    if name.contains(|c: char| SPECIAL.contains(&c) || c.is_whitespace()) {
        format!("`{}`", name.replace('`', "``"))
    } else {
        name.to_owned()
    }
}

struct Reader<'a>(Peekable<Chars<'a>>);

impl Reader<'_> {
    fn grant(&mut self) -> Result<Grant, String> {
        let database = self.name("a database")?;
        self.expect('.')?;
        if self.takes('*') {
            self.end()?;
            return Ok(Grant {
                database,
                table: None,
                columns: Vec::new(),
            });
        }
        let table = Some(self.name("a table, or *,")?);
        let columns = if self.takes('(') {
            self.columns()?
        } else {
            Vec::new()
        };
        self.end()?;
        Ok(Grant {
            database,
            table,
            columns,
        })
    }

    fn columns(&mut self) -> Result<Vec<String>, String> {
        let mut columns: Vec<String> = Vec::new();
        loop {
            let column = self.name("a column")?;
            if !columns.contains(&column) {
                columns.push(column);
            }
            if !self.takes(',') {
                self.expect(')')?;
                return Ok(columns);
            }
        }
    }

    /// A name with the blanks around it; `what` is expected there.
    fn name(&mut self, what: &str) -> Result<String, String> {
        self.blanks();
        if self.0.next_if_eq(&'`').is_some() {
            return self.quoted();
        }
        let mut name = String::new();
        while let Some(c) = self
            .0
            .next_if(|c| !SPECIAL.contains(c) && !c.is_whitespace())
        {
            name.push(c);
        }
        if name.is_empty() {
            return Err(format!("{what} is missing"));
        }
        Ok(name)
    }

    fn quoted(&mut self) -> Result<String, String> {
        let mut name = String::new();
        while let Some(c) = self.0.next() {
            if c == '`' && self.0.next_if_eq(&'`').is_none() {
                return Ok(name);
            }
            name.push(c);
        }
        Err("a backquote is not closed".into())
    }

    fn takes(&mut self, wanted: char) -> bool {
        self.blanks();
        self.0.next_if_eq(&wanted).is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.takes(wanted) {
            return Ok(());
        }
        Err(match self.0.peek() {
            Some(found) => format!("expected '{wanted}', found '{found}'"),
            None => format!("'{wanted}' is missing"),
        })
    }

    fn end(&mut self) -> Result<(), String> {
        self.blanks();
        match self.0.next() {
            None => Ok(()),
            Some(more) => Err(format!("unexpected '{more}'")),
        }
    }

    fn blanks(&mut self) {
        while self.0.next_if(|c| c.is_whitespace()).is_some() {}
    }
}

/// Returns the end of a guest's account: `expires` (RFC 3339), the end of the share, or by default [`GUEST_LIFE`] from
/// now.
pub fn guests_end(expires: Option<&str>) -> SystemTime {
    let end = expires.and_then(parse_rfc3339);
    end.unwrap_or_else(|| SystemTime::now() + GUEST_LIFE)
}

/// A temporary account that is to be made, which may read only what `grants` lists.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Grants; never empty.
    pub grants: Vec<Grant>,
    /// Its end.
    pub expires: SystemTime,
}

/// A guest's account that has been made.
#[derive(Debug)]
pub struct GuestInForce {
    /// Number of tables it may read.
    pub tables: u64,
    /// Number of views it may read. A view shows what its definer may read, whatever else was listed.
    pub views: u64,
    expiry: Mutex<Expiry>,
}

impl GuestInForce {
    /// An account that may read so many tables and views, until `expires`.
    pub fn new(tables: u64, views: u64, expires: SystemTime) -> Self {
        Self {
            tables,
            views,
            expiry: Mutex::new(Expiry::at(expires, Clocks::now())),
        }
    }

    /// Returns its end.
    pub fn expires(&self) -> SystemTime {
        self.expiry.lock().wall()
    }

    /// True if its time is over.
    pub fn is_over(&self) -> bool {
        self.expiry.lock().is_over(Clocks::now())
    }

    /// Sets its end.
    pub fn set_end(&self, expires: SystemTime) {
        *self.expiry.lock() = Expiry::at(expires, Clocks::now());
    }
}

/// `2 tables, 1 view; a view shows what its definer may read`.
pub fn tables_and_views(tables: u64, views: u64) -> String {
    let count = |number, word| match number {
        1 => format!("1 {word}"),
        _ => format!("{number} {word}s"),
    };
    let tables = count(tables, "table");
    match views {
        0 => tables,
        _ => format!(
            "{tables}, {}; a view shows what its definer may read",
            count(views, "view")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, Option<String>, Vec<String>) {
        let grant = Grant::parse(text).unwrap();
        assert_eq!(Grant::parse(&grant.to_string()).unwrap(), grant, "{text}");
        (grant.database, grant.table, grant.columns)
    }

    #[test]
    fn the_three_forms_and_odd_names() {
        let table = |name: &str| Some(name.to_owned());
        assert_eq!(read("shop.*"), ("shop".into(), None, vec![]));
        assert_eq!(
            read(" shop . customers "),
            ("shop".into(), table("customers"), vec![])
        );
        assert_eq!(
            read("shop.customers(id, name,id)"),
            (
                "shop".into(),
                table("customers"),
                vec!["id".into(), "name".into()]
            )
        );
        assert_eq!(
            read("`a.b`.`c``d(e)`(`f,g`,`*`,h_%)"),
            (
                "a.b".into(),
                table("c`d(e)"),
                vec!["f,g".into(), "*".into(), "h_%".into()]
            )
        );
        assert_eq!(
            read("my-db.t'; DROP".split(';').next().unwrap()),
            ("my-db".into(), table("t'"), vec![])
        );
        assert_eq!(read("`*`.`*`").1, table("*"), "a table of that name");
    }

    #[test]
    fn what_is_none_says_why() {
        for (text, why) in [
            ("", "a database is missing"),
            ("shop", "'.' is missing"),
            ("*.*", "a database is missing"),
            ("shop.", "a table, or *, is missing"),
            ("shop.*(id)", "unexpected '('"),
            ("shop.t()", "a column is missing"),
            ("shop.t(a", "')' is missing"),
            ("shop.t(a b)", "expected ')', found 'b'"),
            ("shop.t,shop.u", "unexpected ','"),
            ("`shop.t", "not closed"),
            ("``.t", "a name is empty"),
            ("shop.`a\nb`", "control character"),
            ("MySQL.user", "mysql is a system database"),
            ("sys.*", "a system database"),
        ] {
            let error = Grant::parse(text).unwrap_err().to_string();
            assert!(
                error.contains(why) && error.contains("DATABASE.*"),
                "{text}: {error}"
            );
        }
        let long = format!("{}.t", "d".repeat(65));
        assert!(Grant::parse(&long).is_err());
    }
}
