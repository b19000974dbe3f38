//! Finds statements about accounts and about the server itself, which a shared web client never runs: those that create,
//! change, drop or grant, also within programs, everything but reading in the database `mysql`, settings of the whole
//! server, its files, and its end.
//!
//! The server of a text is not asked: each way in which some server could read it counts, with every mode that changes
//! quoting, with and without the code in executable comments, and with characters of several bytes. Statements that run a
//! text, such as `PREPARE`, are refused, since their text is not known.

use super::dialect::Dialect;
use super::lexer::{LexError, Lexer, Token, TokenKind};
use super::words::unquoted;

/// Parts of words of which a text has one if it can be about accounts or the server.
#[rustfmt::skip]
const HINTS: [&str; 43] = [
    "user", "role", "grant", "revoke", "password", "mysql", "prepare", "execute", "binlog", "call", "$", "proxy",
    "change", "clone", "install", "soname", "server", "global", "persist", "outfile", "dumpfile", "infile", "load_file",
    "shutdown", "restart", "reset", "purge", "slave", "replica", "instance", "group_replication", "flush", "backup",
    "tablespace", "directory", "federated", "connect", "spider", "resource", "logfile", "sys", "schema", "import",
];

/// Most different openings of executable comments in one text, each of which doubles the ways to read it.
const MOST_OPENINGS: usize = 4;

/// Largest text with such comments, in bytes.
const LARGEST_WITH_COMMENTS: usize = 1 << 20;

/// Words after which a statement begins within a program.
const BEFORE_STATEMENT: [&str; 9] = [
    "BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ROW", "HANDLER",
];

/// Words that begin a program without `CREATE`, or name the program that is created.
#[rustfmt::skip]
const PROGRAM: [&str; 13] = [
    "PROCEDURE", "FUNCTION", "TRIGGER", "EVENT", "PACKAGE", "BEGIN", "IF", "CASE", "LOOP", "REPEAT", "WHILE", "FOR", "DECLARE",
];

/// Statements with a list of columns behind their `SET`.
const WITH_COLUMNS: [&str; 5] = ["UPDATE", "INSERT", "REPLACE", "LOAD", "WITH"];

/// Procedures of the schema `sys` that run a text.
const RUNNING: [&str; 3] = [
    "execute_prepared_stmt",
    "create_synonym_db",
    "statement_performance_analyzer",
];

/// Pairs of words with which a statement about the server begins.
#[rustfmt::skip]
const OF_SERVER: [(&str, &str); 24] = [
    ("ALTER", "INSTANCE"), ("ALTER", "TABLESPACE"), ("BACKUP", "LOCK"), ("BACKUP", "STAGE"), ("CHANGE", "MASTER"),
    ("CHANGE", "REPLICATION"), ("CLONE", "INSTANCE"), ("CLONE", "LOCAL"), ("CREATE", "TABLESPACE"), ("DROP", "TABLESPACE"),
    ("IMPORT", "TABLE"), ("INSTALL", "COMPONENT"), ("INSTALL", "PLUGIN"), ("LOCK", "INSTANCE"), ("PURGE", "BINARY"),
    ("PURGE", "MASTER"), ("RESET", "BINARY"), ("RESET", "MASTER"), ("RESET", "PERSIST"), ("RESET", "REPLICA"),
    ("RESET", "SLAVE"), ("UNINSTALL", "COMPONENT"), ("UNINSTALL", "PLUGIN"), ("UNINSTALL", "SONAME"),
];

/// Engines of tables whose rows are files of the server, or on another one.
const ELSEWHERE: [&str; 3] = ["CONNECT", "FEDERATED", "SPIDER"];

/// Databases that the server needs.
const NEEDED: [&str; 3] = ["sys", "performance_schema", "information_schema"];

/// The server's database of accounts.
pub(crate) const OF_ACCOUNTS: &str = "mysql";

/// The statement about accounts or the server that a text contains; `None` if it has none. The text was not passed as one that only
/// reads.
pub(crate) fn about_accounts(sql: &[u8], dialect: &Dialect) -> Option<&'static str> {
    let text = String::from_utf8_lossy(sql).to_ascii_lowercase();
    if !HINTS.iter().any(|hint| text.contains(hint)) {
        return None;
    }
    drop(text);
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned().into_bytes();
    let readings: Vec<Vec<u8>> = [Some(sql.to_vec()), as_if_narrow(sql), as_if_spaced(sql)]
        .into_iter()
        .flatten()
        .map(|text| lossy(&text))
        .collect();
    let modes = [(false, false), (false, true), (true, false), (true, true)];
    modes
        .iter()
        .find_map(|(ansi_quotes, no_backslash_escapes)| {
            let dialect = Dialect {
                ansi_quotes: *ansi_quotes,
                no_backslash_escapes: *no_backslash_escapes,
                ..dialect.clone()
            };
            readings.iter().find_map(|text| found_in(text, &dialect))
        })
}

/// The text with blanks for the bytes that servers take for one in some character sets (latin1, cp852 and their kin);
/// `None` if there are none.
fn as_if_spaced(sql: &[u8]) -> Option<Vec<u8>> {
    let is_blank = |byte: &u8| matches!(*byte, 0xa0 | 0xff);
    let spaced = || {
        sql.iter()
            .map(|b| if is_blank(b) { b' ' } else { *b })
            .collect()
    };
    sql.iter().any(is_blank).then(spaced)
}

/// True if a server may take a name for a known one, a word of small letters and `_`: it ignores case and accents, and
/// more than one byte of ours may be one of its characters.
fn may_be(name: &str, known: &str) -> bool {
    if name.eq_ignore_ascii_case(known) {
        return true;
    }
    let others = name.chars().filter(|c| !c.is_ascii()).count();
    let mut left = known.chars();
    let mut plain = name
        .chars()
        .filter(|c| c.is_ascii_alphabetic() || *c == '_')
        .map(|c| c.to_ascii_lowercase());
    let taken = plain.try_fold(0, |taken, c| {
        left.any(|other| other == c).then_some(taken + 1)
    });
    others > 0 && taken.is_some_and(|taken| taken + others >= known.len())
}

/// Tables of the database `mysql` with passwords of accounts and servers, or what proves them.
const SECRET: [&str; 6] = [
    "user",
    "global_priv",
    "password_history",
    "servers",
    "slave_master_info",
    "slave_connection",
];

/// The part of a text that only reads which would show what proves an account; `None` if it has none.
pub(crate) fn shows_secrets(
    sql: &str,
    dialect: &Dialect,
    database: Option<&str>,
) -> Option<&'static str> {
    let is_there = database.is_some_and(|name| name.eq_ignore_ascii_case(OF_ACCOUNTS));
    let text = sql.to_ascii_lowercase();
    if !is_there && !text.contains(OF_ACCOUNTS) && !text.contains("user") {
        return None;
    }
    let (mut before, mut before_that) = (String::new(), String::new());
    for (token, text) in tokens(sql.as_bytes(), dialect) {
        let name = match token.kind {
            TokenKind::ExecutableOpen | TokenKind::ExecutableClose => continue,
            TokenKind::Quoted => unquoted(text),
            // A name where the session has ANSI_QUOTES.
            _ => text.trim_matches('"').to_owned(),
        }
        .to_ascii_lowercase();
        let is_in = match before.as_str() {
            "." => before_that == OF_ACCOUNTS,
            _ => is_there,
        };
        if is_in && SECRET.contains(&name.as_str()) {
            return Some("a table with passwords of accounts");
        }
        if name == "user" && before == "create" {
            return Some("SHOW CREATE USER");
        }
        before_that = std::mem::replace(&mut before, name);
    }
    None
}

/// The text with plain letters for characters of two bytes, the second of which may look like a sign (GBK, SJIS, Big5);
/// `None` if there are none.
fn as_if_narrow(sql: &[u8]) -> Option<Vec<u8>> {
    let mut narrow = sql.to_vec();
    let (mut at, mut is_changed) = (0, false);
    while let Some(pair) = narrow.get_mut(at..at + 2) {
        at += 1;
        if let [first @ 0x81..=0xfe, second @ 0x40..=0xfe] = pair {
            is_changed |= matches!(*second, b'\\' | b'`');
            (*first, *second) = (b'x', b'x');
            at += 1;
        }
    }
    is_changed.then_some(narrow)
}

fn found_in(sql: &[u8], dialect: &Dialect) -> Option<&'static str> {
    let openings = openings(sql);
    let is_large = !openings.is_empty() && sql.len() > LARGEST_WITH_COMMENTS;
    if openings.len() > MOST_OPENINGS || is_large {
        return Some("an executable comment");
    }
    let brackets: &[bool] = match dialect.mariadb && sql.contains(&b'[') {
        true => &[false, true],
        false => &[false],
    };
    let ends: &[bool] = match openings.is_empty() {
        true => &[false],
        false => &[false, true],
    };
    // Each kind of comment is code or is skipped, up to its first end or to that of what is nested in it.
    (0_u32..1 << openings.len()).find_map(|run| {
        let is_run = |opening: &[u8]| {
            let place = openings.iter().position(|known| *known == opening);
            place.is_none_or(|place| run & 1 << place != 0)
        };
        ends.iter().find_map(|nested| {
            brackets.iter().find_map(|brackets| {
                let text = without_skipped(sql, dialect, &is_run, *nested, *brackets);
                read(&text, dialect)
            })
        })
    })
}

/// The different openings of executable comments in a text, with their versions, wherever they stand.
fn openings(sql: &[u8]) -> Vec<&[u8]> {
    let mut found: Vec<&[u8]> = Vec::new();
    for (at, _) in sql
        .windows(3)
        .enumerate()
        .filter(|(_, w)| *w == b"/*!" || *w == b"/*M")
    {
        let rest = sql.get(at..).unwrap_or_default();
        let sign = if rest.get(2) == Some(&b'M') { 4 } else { 3 };
        let digits = rest
            .iter()
            .skip(sign)
            .take_while(|b| b.is_ascii_digit())
            .count();
        let opening = rest.get(..sign + digits).unwrap_or_default();
        if opening.contains(&b'!') && !found.contains(&opening) {
            found.push(opening);
        }
    }
    found
}

/// A text without the comments that are not `is_run`, and with names in brackets (MariaDB's mode `MSSQL`) in backquotes.
fn without_skipped(
    sql: &[u8],
    dialect: &Dialect,
    is_run: &dyn Fn(&[u8]) -> bool,
    nested: bool,
    brackets: bool,
) -> Vec<u8> {
    let mut read = Vec::with_capacity(sql.len());
    let mut rest = sql;
    loop {
        let next = tokens(rest, dialect).find(|(token, text)| match token.kind {
            TokenKind::ExecutableOpen => !is_run(text.as_bytes()),
            _ => brackets && rest.get(token.start) == Some(&b'['),
        });
        let Some((token, _)) = next else {
            read.extend_from_slice(rest);
            return read;
        };
        let (before, after) = rest.split_at(token.start);
        read.extend_from_slice(before);
        read.push(b' ');
        let length = if token.kind == TokenKind::ExecutableOpen {
            end_of_comment(after, nested)
        } else {
            let length = end_of_brackets(after);
            let name = after.get(1..length.saturating_sub(1)).unwrap_or_default();
            read.push(b'`');
            read.extend(name.iter().map(|b| if *b == b'`' { b'_' } else { *b }));
            read.push(b'`');
            length
        };
        rest = after.get(length..).unwrap_or_default();
    }
}

/// Length of a comment that a server skips. `nested`: comments within it are skipped as a whole.
fn end_of_comment(comment: &[u8], nested: bool) -> usize {
    let mut at = 2;
    let mut depth = 1;
    while let Some(two) = comment.get(at..at + 2) {
        match two {
            b"*/" => depth -= 1,
            b"/*" if nested => depth += 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            return at;
        }
    }
    comment.len()
}

/// Length of a name in brackets, in which `]]` stands for `]`.
fn end_of_brackets(name: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = name.get(at) {
        let is_doubled = *byte == b']' && name.get(at + 1) == Some(&b']');
        at += if is_doubled { 2 } else { 1 };
        if *byte == b']' && !is_doubled {
            return at;
        }
    }
    name.len()
}

fn tokens<'a>(sql: &'a [u8], dialect: &Dialect) -> impl Iterator<Item = (Token, &'a str)> {
    let mut lexer = Lexer::new(sql, dialect);
    std::iter::from_fn(move || {
        let token = lexer.next()?;
        Some((token, lexer.text(token)))
    })
}

/// Reads a text in which all code runs.
fn read(sql: &[u8], dialect: &Dialect) -> Option<&'static str> {
    let mut reading = Reading::default();
    for (token, text) in tokens(sql, dialect) {
        let found = match token.kind {
            TokenKind::ExecutableOpen | TokenKind::ExecutableClose => None,
            TokenKind::Bad(LexError::Dollar) if dialect.version < (8, 1, 0) => {
                Some("a name that begins with $")
            }
            _ => reading.take(token.kind, text),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// State of one reading.
struct Reading {
    /// True where a statement may begin.
    at_start: bool,
    /// First word of the statement, in upper case.
    verb: String,
    /// Second word of it that says something.
    object: String,
    /// True within a program, where a statement may begin anywhere.
    is_program: bool,
    /// True in the list of a `SET` of variables, outside parentheses.
    in_set: bool,
    depth: usize,
    /// The word or sign before, in upper case.
    before: String,
    /// The one before that.
    before_that: String,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            at_start: true,
            verb: String::new(),
            object: String::new(),
            is_program: false,
            in_set: false,
            depth: 0,
            before: String::new(),
            before_that: String::new(),
        }
    }
}

impl Reading {
    fn take(&mut self, kind: TokenKind, text: &str) -> Option<&'static str> {
        let (word, name) = match kind {
            TokenKind::Word => (text.to_ascii_uppercase(), text.to_owned()),
            TokenKind::Name | TokenKind::Variable => (String::new(), text.to_owned()),
            TokenKind::Quoted => (String::new(), unquoted(text)),
            // The name of an engine may be a text.
            _ if self.is_engine() => (String::new(), text.to_owned()),
            _ => (String::new(), String::new()),
        };
        let found = self.name(kind, &name).or_else(|| self.word(&word));
        match kind {
            TokenKind::Open => self.depth += 1,
            TokenKind::Close => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.at_start = match kind {
            TokenKind::Semicolon | TokenKind::Colon => true,
            TokenKind::Word => BEFORE_STATEMENT.contains(&word.as_str()),
            TokenKind::Open => self.at_start,
            _ => false,
        };
        if kind == TokenKind::Semicolon {
            self.in_set = false;
        }
        self.is_program |= kind == TokenKind::Colon;
        // The inner statement of MariaDB's SET STATEMENT … FOR.
        if word == "FOR" && self.verb == "SET" {
            self.at_start = true;
        }
        let sign = match kind {
            TokenKind::Word => word,
            TokenKind::Name | TokenKind::Quoted => format!("`{}", name.to_ascii_lowercase()),
            _ => text.get(..text.len().min(2)).unwrap_or_default().to_owned(),
        };
        self.before_that = std::mem::replace(&mut self.before, sign);
        found
    }

    /// Names of the server's database, procedures and variables.
    fn name(&self, kind: TokenKind, name: &str) -> Option<&'static str> {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if kind == TokenKind::Dot {
            let named = self.before.trim_start_matches('`');
            let is_first = self.before_that != ".";
            return (is_first && named.eq_ignore_ascii_case(OF_ACCOUNTS))
                .then_some("a statement about the database mysql");
        }
        let of_database = ["DATABASE", "SCHEMA", "EXISTS", "USE"];
        if is(OF_ACCOUNTS) && of_database.contains(&self.before.as_str()) {
            return Some("a statement about the database mysql");
        }
        let is_made = ["DATABASE", "SCHEMA", "EXISTS"].contains(&self.before.as_str());
        if is_made && NEEDED.iter().any(|database| is(database)) {
            return Some("a statement about a database of the server's own");
        }
        if is("LOAD_FILE") && self.before != "." {
            return Some("a file of the server");
        }
        let of_server = ["@@GLOBAL", "@@PERSIST", "@@PERSIST_ONLY"];
        if kind == TokenKind::Variable && self.is_set_here() {
            let scope = name.split('.').next().unwrap_or_default();
            if of_server
                .iter()
                .any(|word| scope.eq_ignore_ascii_case(word))
            {
                return Some("a setting of the whole server");
            }
        }
        let engine = name.trim_matches(['\'', '"', '`']);
        if self.is_engine()
            && ELSEWHERE
                .iter()
                .any(|other| engine.eq_ignore_ascii_case(other))
        {
            return Some("a table whose rows are elsewhere");
        }
        RUNNING
            .iter()
            .any(|procedure| may_be(name, procedure))
            .then_some("a procedure that runs a text")
    }

    /// True behind `ENGINE`, where its name stands.
    fn is_engine(&self) -> bool {
        self.before == "ENGINE" || self.before == "=" && self.before_that == "ENGINE"
    }

    fn word(&mut self, word: &str) -> Option<&'static str> {
        if word.is_empty() {
            return None;
        }
        let may_begin = self.at_start || self.is_program && self.before != ".";
        if self.at_start {
            self.verb = word.to_owned();
            self.object.clear();
            self.in_set = word == "SET";
        } else if self.object.is_empty() && !["OR", "REPLACE"].contains(&word) {
            self.object = word.to_owned();
        }
        let creates = ["CREATE", "ALTER"].contains(&self.verb.as_str());
        if (creates || self.at_start) && PROGRAM.contains(&word) {
            self.is_program = true;
        }
        // The SET of a program without BEGIN; that of a character set is another.
        if word == "SET" && self.is_program && !WITH_COLUMNS.contains(&self.verb.as_str()) {
            self.in_set = !["CHARACTER", "CHAR"].contains(&self.before.as_str());
        }
        match word {
            "GRANT" | "REVOKE" if may_begin => Some("GRANT and REVOKE"),
            "PREPARE" | "EXECUTE" if may_begin => Some("a statement that runs a text"),
            "BINLOG" if may_begin => Some("BINLOG"),
            "SONAME" => Some("a loadable function"),
            "OUTFILE" => Some("a file of the server"),
            "DUMPFILE" if self.before == "INTO" => Some("a file of the server"),
            "INFILE" if self.before != "LOCAL" => Some("a file of the server"),
            "DIRECTORY" if ["DATA", "INDEX"].contains(&self.before.as_str()) => {
                Some("a directory of the server")
            }
            "GLOBAL" | "PERSIST" | "PERSIST_ONLY" if self.is_set_here() => {
                Some("a setting of the whole server")
            }
            "SHUTDOWN" | "RESTART" | "FLUSH" if may_begin => Some("a statement about the server"),
            _ if self.is_of_server(word) => Some("a statement about the server"),
            "SERVER" if ["CREATE", "ALTER", "DROP", "REPLACE"].contains(&self.before.as_str()) => {
                Some("a statement about servers")
            }
            "USER" | "ROLE" => self.account(),
            "PASSWORD" if self.is_set_here() => Some("SET PASSWORD"),
            _ => None,
        }
    }

    /// True if a word and those before it change or stop the server, or hold it for a backup.
    fn is_of_server(&self, word: &str) -> bool {
        let before = |words: &[&str]| words.contains(&self.before.as_str());
        let begins = OF_SERVER.contains(&(self.before.as_str(), word))
            && (self.is_program || self.verb == self.before);
        let replicates = ["SLAVE", "SLAVES", "REPLICA", "GROUP_REPLICATION"].contains(&word)
            && before(&["START", "STOP", "ALL"]);
        let is_made = ["CREATE", "ALTER", "DROP", "SET"].contains(&self.before_that.as_str());
        let is_space = word == "TABLESPACE" && before(&["UNDO"]);
        let is_group = word == "GROUP" && before(&["RESOURCE", "LOGFILE"]);
        begins || replicates || is_made && (is_space || is_group)
    }

    /// `CREATE`, `ALTER`, `DROP` or `RENAME` of an account, and `SET ROLE`.
    fn account(&self) -> Option<&'static str> {
        let is_replaced = self.before == "REPLACE" && self.before_that == "OR";
        let of_account = ["CREATE", "ALTER", "DROP", "RENAME"].contains(&self.before.as_str());
        // DROP and RENAME of a table's column or name.
        let of_table = self.verb == "ALTER" && self.before != "ALTER" && !self.is_program_verb();
        if (of_account && !of_table) || is_replaced {
            return Some("a statement about accounts");
        }
        let is_default =
            self.before == "DEFAULT" && ["SET", ","].contains(&self.before_that.as_str());
        (self.is_set_here() || is_default && self.in_set).then_some("SET ROLE")
    }

    /// True if the statement changes a program.
    fn is_program_verb(&self) -> bool {
        PROGRAM.contains(&self.object.as_str())
    }

    /// True directly behind the `SET` of variables, or behind a comma in its list.
    fn is_set_here(&self) -> bool {
        self.in_set && self.depth == 0 && ["SET", ","].contains(&self.before.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sql: &str) -> [Option<&'static str>; 2] {
        [Dialect::mariadb((10, 11, 0)), Dialect::mysql((9, 7, 0))]
            .map(|dialect| about_accounts(sql.as_bytes(), &dialect))
    }

    #[test]
    fn statements_about_accounts_are_found() {
        for sql in [
            "CREATE USER a",
            "create or replace user a",
            "/* x */ CREATE -- y\n USER IF NOT EXISTS a@'%' IDENTIFIED BY 'x'",
            "CREATE ROLE r",
            "ALTER USER a ACCOUNT LOCK",
            "DROP USER a",
            "DROP ROLE IF EXISTS r",
            "RENAME USER a TO b",
            "GRANT ALL ON *.* TO a",
            "(((GRANT ALL ON *.* TO a",
            "REVOKE ALL ON *.* FROM a",
            "SET PASSWORD = 'x'",
            "SET PASSWORD FOR a = 'x'",
            "SET @a = 1, PASSWORD FOR a = PASSWORD('x')",
            "SET DEFAULT ROLE r FOR a",
            "SET @a = (1), DEFAULT ROLE r FOR a",
            "SET ROLE r",
            "SET STATEMENT max_statement_time = 1 FOR GRANT ALL ON *.* TO a",
            "SET GLOBAL init_connect = 'x'",
            "SET @@GLOBAL.init_connect = 'x'",
            "PREPARE s FROM @a",
            "EXECUTE IMMEDIATE 'DROP USER a'",
            "EXECUTE s",
            "BINLOG 'abc'",
            "CHANGE MASTER TO MASTER_HOST = 'evil'",
            "CLONE INSTANCE FROM 'a'@'evil':3306 IDENTIFIED BY 'x'",
            "INSTALL SONAME 'evil'",
            "UNINSTALL PLUGIN evil",
            "SET GLOBAL general_log_file = '/tmp/x'",
            "CALL sys.`éxecute_prepared_stmt`('DROP USER a')",
            "CALL execute_prepared_ſtmt('DROP USER a')",
            "CREATE PROCEDURE p() CALL creáte_synonym_db('mysql', 'm')",
            "FLUSH TABLES WITH READ LOCK",
            "BACKUP STAGE START",
            "LOCK INSTANCE FOR BACKUP",
            "CREATE PROCEDURE p() BEGIN INSTALL PLUGIN evil SONAME 'x'; END",
            "CREATE PROCEDURE p() CHANGE MASTER TO MASTER_HOST = 'evil'",
            "CREATE UNDO TABLESPACE u ADD DATAFILE 'u.ibu'",
            "CREATE TABLESPACE u ADD DATAFILE 'u.ibd'",
            "CREATE RESOURCE GROUP g TYPE = USER",
            "CREATE TABLE t (a INT) DATA DIRECTORY = '/tmp'",
            "CREATE TABLE t (a INT) ENGINE = 'CONNECT' FILE_NAME = '/etc/passwd'",
            "CREATE TABLE t (a INT) ENGINE federated",
            "DROP DATABASE IF EXISTS sys",
            "DROP SCHEMA performance_schema",
            "SET @a = 1, @@global . max_connections = 1",
            "SET @@PERSIST.max_connections = 1",
            "SET PERSIST_ONLY max_connections = 1",
            "RESET PERSIST",
            "PURGE BINARY LOGS BEFORE NOW()",
            "SHUTDOWN",
            "CREATE PROCEDURE p() SHUTDOWN",
            "ALTER INSTANCE ROTATE INNODB MASTER KEY",
            "STOP ALL SLAVES",
            "START GROUP_REPLICATION",
            "SELECT * FROM t INTO OUTFILE 'x'",
            "SELECT a INTO /*! DUMPFILE */ 'x' FROM t",
            "INSERT INTO t SELECT `LOAD_FILE`('/etc/passwd')",
            "LOAD DATA CONCURRENT INFILE '/etc/passwd' INTO TABLE t",
            "CREATE FUNCTION f RETURNS STRING SONAME 'evil.so'",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'a')",
            "SET PERSIST mandatory_roles = 'r'",
            "/*!99999 SELECT '*/GRANT SELECT ON shop.* TO victim@'%' -- '",
            "/*M!999999 SELECT `*/DROP USER a -- `",
            "/*!50701 /* ' */ ' */ DROP USER a -- '",
            "CREATE PROCEDURE p() BEGIN SELECT 1 /*M!999999 ' */ ; GRANT ALL ON *.* TO a; SELECT 1 /*M!999999 ' */ ; END",
            "UPDATE t /*!99999 , (SELECT ' */ , mysql.db SET mysql.db.user = '' WHERE 0 -- ') x SET v = v",
            "UPDATE mysql.user SET Host = '%'",
            "update `mysql` . `user` set Host = '%'",
            "UPDATE \"MySQL\".\"user\" SET Host = '%'",
            "INSERT INTO t SELECT * FROM mysql.user",
            "CREATE VIEW v AS SELECT * FROM mysql.global_priv",
            "RENAME TABLE t TO mysql.t",
            "DROP DATABASE mysql",
            "DROP SCHEMA IF EXISTS `mysql`",
            "/*! USE mysql */",
            "CALL sys.execute_prepared_stmt('DROP USER a')",
            "CALL sys.create_synonym_db('mysql', 'm')",
            "/*!50000 GRANT */ ALL ON *.* TO a",
            "CREATE /*!99999 TABLE */ USER a",
            "CREATE /*!50000 TABLE */ USER a",
            "/*!99999 SELECT 1; */ DROP USER a",
            "/*!40000 CREATE */ /*!50001 USER */ a",
            "CREATE /*M!999999 TABLE */ USER a",
            "CREATE PROCEDURE p() DROP USER a",
            "CREATE OR REPLACE PROCEDURE p() SET PASSWORD = 'x'",
            "CREATE PROCEDURE p() SQL SECURITY INVOKER GRANT ALL ON *.* TO a",
            "CREATE PROCEDURE p() BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION DROP USER a; SELECT 1; END",
            "CREATE PROCEDURE p() BEGIN IF 1 THEN SET PASSWORD = 'x'; END IF; END",
            "CREATE PROCEDURE p() BEGIN ALTER TABLE t DROP role; DROP USER a; END",
            "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO ALTER USER a ACCOUNT LOCK",
            "ALTER EVENT e DO DROP USER a",
            "CREATE PROCEDURE p(a VARCHAR(9) CHARACTER SET utf8mb4) SET @a = 1, PASSWORD = 'x'",
            "BEGIN NOT ATOMIC GRANT ALL ON *.* TO a; END",
            "l: BEGIN NOT ATOMIC REVOKE ALL ON *.* FROM a; END",
            "IF 1 THEN DROP USER a; END IF",
            "SELECT '\\'; DROP USER a; -- '",
            "SELECT 1; DROP USER a",
        ] {
            assert!(found(sql).iter().any(Option::is_some), "{sql}");
        }
        let brackets = [
            "INSERT INTO [mysql].[global_priv] (host) VALUES ('%')",
            "CREATE PROCEDURE p() BEGIN SELECT 1 AS [a'b]; GRANT ALL ON *.* TO a; SELECT 1 AS [a'b]; END",
            "SELECT '[' AS [a`]]'b]; DROP USER a; SELECT [a'b]",
        ];
        for sql in brackets {
            let mariadb = Dialect::mariadb((10, 11, 0));
            assert!(about_accounts(sql.as_bytes(), &mariadb).is_some(), "{sql}");
        }
        // A second byte that looks like a backslash.
        let bytes = b"SELECT '\xe4\xbd\xa0\\'; DROP USER a; -- '";
        assert!(about_accounts(bytes, &Dialect::mysql((9, 7, 0))).is_some());
        // A byte that is a blank in latin1, and one in cp852.
        for blank in [0xa0, 0xff] {
            let mut bytes = b"create user a".to_vec();
            bytes[6] = blank;
            assert!(about_accounts(&bytes, &Dialect::mysql((9, 7, 0))).is_some());
        }
        let accent = b"CALL \xe9xecute_prepared_stmt('x')";
        assert!(about_accounts(accent, &Dialect::mysql((9, 7, 0))).is_some());
        // A name on MySQL before 8.1, a text since.
        let dollars = b"CREATE PROCEDURE p() BEGIN DECLARE $a$ INT; DROP USER x; SET $a$ = 1; END";
        assert!(about_accounts(dollars, &Dialect::mysql((8, 0, 36))).is_some());
    }

    #[test]
    fn passwords_of_accounts_are_not_shown() {
        let dialect = Dialect::mariadb((10, 11, 0));
        let shown = |sql: &str, database| shows_secrets(sql, &dialect, database).is_some();
        for sql in [
            "SELECT authentication_string FROM mysql.user",
            "SELECT * FROM `MySQL` . `user`",
            "TABLE mysql.global_priv",
            "SELECT * FROM mysql./*!50000 user */",
            "SELECT * FROM \"mysql\".\"user\"",
            "SHOW /*!50000 CREATE */ USER root@localhost",
            "SHOW CREATE USER root@localhost",
            "EXPLAIN SELECT * FROM mysql.servers",
        ] {
            assert!(shown(sql, None), "{sql}");
        }
        assert!(shown("SELECT * FROM user", Some("mysql")));
        for sql in [
            "SELECT user FROM t",
            "SELECT * FROM shop.user",
            "SELECT Db FROM mysql.db",
            "SELECT CURRENT_USER()",
        ] {
            assert!(!shown(sql, Some("shop")), "{sql}");
        }
    }

    #[test]
    fn other_statements_pass() {
        for sql in [
            "UPDATE t SET password = 'x', role = 'admin' WHERE user = 'a'",
            "INSERT INTO t SET a = 1, password = 'x'",
            "INSERT INTO user (role, password) VALUES ('grant all', 'revoke; drop user a')",
            "INSERT INTO t VALUES ('it\\'s our grant')",
            "CREATE TABLE t (a TEXT CHARACTER SET utf8mb4, password TEXT, role INT, user INT)",
            "CREATE TABLE user (a SET('x'), password TEXT)",
            "ALTER TABLE t DROP role, DROP user",
            "ALTER TABLE t RENAME user",
            "ALTER TABLE t ADD password TEXT",
            "ALTER TABLE t CHANGE role `change` INT",
            "DROP TABLE user, role",
            "CREATE TABLE role (a INT)",
            "SET @role = 1, sql_mode = ''",
            "SET NAMES utf8mb4",
            "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
            "/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER tr BEFORE INSERT ON user FOR EACH ROW SET NEW.password = '' */",
            "CREATE PROCEDURE p(user INT) BEGIN UPDATE t SET password = 'x' WHERE role = user; END",
            "CREATE DEFINER=CURRENT_USER PROCEDURE p() BEGIN SELECT CURRENT_USER(), USER(); END",
            "CREATE VIEW v AS SELECT user, role FROM t",
            "SELECT user FROM mysql INTO @a",
            "DELETE FROM t WHERE note = 'mysql.user'",
            "SET @a = @@global.max_connections, SESSION sql_mode = @@GLOBAL.sql_mode",
            "SET @@session.sql_mode = '', @global = 1",
            "START TRANSACTION",
            "ALTER TABLE t ADD global INT, ADD persist INT, ADD restart INT, ADD reset INT, ADD slave INT, ADD reset BINARY(3)",
            "CREATE PROCEDURE p() BEGIN UPDATE t SET a = 1, reset = 2, instance = 3, global = 4; END",
            "LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
            "CALL löschen(1)",
            "CALL sys.ps_setup_show_enabled(TRUE, TRUE)",
            "ALTER TABLE t DISCARD TABLESPACE, ADD resource INT, ADD directory INT",
            "INSERT INTO t SELECT COUNT(*) FROM resource GROUP BY a",
            "CREATE TABLE t (a INT, engine INT) ENGINE = InnoDB",
            "CREATE DATABASE IF NOT EXISTS shop",
            "INSERT INTO t VALUES ('à', 'ü\u{a0}user')",
        ] {
            assert_eq!(found(sql), [None, None], "{sql}");
        }
    }
}
