//! The kinds of statement that may pass, and the allowed parts of each.

use super::dialect::Dialect;
use super::lexer::{Token, TokenKind};
use super::verdict::{ReadOnlyStatement, Refusal, StatementKind};
use super::walk::{Walk, excerpt, refusal};
use super::words::{self, DENIED, SHOWN, SHOWN_CREATE, unquoted};

pub(super) fn check(sql: &str, dialect: &Dialect) -> Result<ReadOnlyStatement, Refusal> {
    if let Some(offset) = sql.find('\0') {
        return Err(refusal("NUL byte", "not allowed in a statement", offset));
    }
    let mut walk = Walk::new(sql, dialect);
    let kind = walk.statement()?;
    walk.nothing_left_open()?;
    if let Some(fault) = walk.geometry.fault() {
        return Err(fault);
    }
    Ok(ReadOnlyStatement {
        kind,
        calls: walk.calls,
        rebuilt: walk.rebuilt,
    })
}

impl Walk<'_> {
    fn statement(&mut self) -> Result<StatementKind, Refusal> {
        let first = self.first_word()?;
        let word = self.lexer.text(first).to_ascii_uppercase();
        let bare = self.depth == 0;
        self.select_options = word == "SELECT";
        match word.as_str() {
            "SELECT" => {
                self.count_variable();
                self.query(StatementKind::Select)
            }
            "VALUES" => self.query(StatementKind::Values),
            "TABLE" => self.query(StatementKind::Table),
            "WITH" => self.with(StatementKind::With),
            "SHOW" if bare => self.show(),
            "DESC" | "DESCRIBE" | "EXPLAIN" if bare => self.explain(),
            "USE" if bare => self.use_database(),
            "HELP" if bare => self.help(),
            "ANALYZE" if bare && self.dialect.mariadb => self.analyze("ANALYZE"),
            _ => Err(self.not_a_reader(first, &word)),
        }
    }

    /// Takes the first word, behind opening parentheses.
    fn first_word(&mut self) -> Result<Token, Refusal> {
        loop {
            let Some(token) = self.next()? else {
                return Err(refusal(
                    "empty statement",
                    "there is nothing to run",
                    self.end,
                ));
            };
            match token.kind {
                TokenKind::Open => {}
                TokenKind::Word => return Ok(token),
                _ => return Err(self.not_a_reader(token, &excerpt(self.lexer.text(token)))),
            }
        }
    }

    fn not_a_reader(&self, token: Token, word: &str) -> Refusal {
        let reason = match (word, self.lexer.peek().map(|next| next.kind)) {
            ("DELIMITER", _) => {
                "it is a command of client programs; send the statements one by one"
            }
            (_, Some(TokenKind::Colon)) => {
                "a label starts a compound statement; only queries may run"
            }
            _ if word.starts_with('\u{feff}') => {
                "the text starts with a byte-order mark; remove it"
            }
            _ => "only SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE, EXPLAIN, USE and HELP may run",
        };
        refusal(&excerpt(word), reason, token.start)
    }

    fn show(&mut self) -> Result<StatementKind, Refusal> {
        let Some(token) = self.next()? else {
            return Err(refusal("SHOW", "it does not say what to show", self.end));
        };
        let word = self.lexer.text(token);
        if token.kind != TokenKind::Word || !words::contains(SHOWN, word) {
            let what = format!("SHOW {}", excerpt(word).to_ascii_uppercase());
            return Err(refusal(
                &what,
                "not known to only read; try information_schema",
                token.start,
            ));
        }
        self.previous = Some(token);
        match word.to_ascii_uppercase().as_str() {
            "ANALYZE" => return self.show_analysis(),
            "BINLOG" | "RELAYLOG" => self.show_log_events(word, token.start)?,
            "CREATE" => self.show_create()?,
            "COUNT" => return self.count_of_diagnostics(),
            "EXPLAIN" => return self.query(StatementKind::PlanOfOther),
            what @ ("ERRORS" | "WARNINGS") => return self.diagnostics(what),
            _ => {}
        }
        self.query(StatementKind::Show)
    }

    /// Refuses MariaDB's log events: it holds the log's lock until the last one is read, so a slow reader would block
    /// every commit.
    fn show_log_events(&mut self, log: &str, offset: usize) -> Result<(), Refusal> {
        // A name may be between RELAYLOG and EVENTS.
        let is_relay_log = log.eq_ignore_ascii_case("RELAYLOG");
        if self.dialect.mariadb && (is_relay_log || self.take("EVENTS")?) {
            let what = format!("SHOW {} EVENTS", log.to_ascii_uppercase());
            let reason = "the server cannot write until all of it is read; use mariadb-binlog";
            return Err(refusal(&what, reason, offset));
        }
        Ok(())
    }

    /// Takes the kind of object, whose word may be denied elsewhere.
    fn show_create(&mut self) -> Result<(), Refusal> {
        let token = self.next()?;
        let word = token.map_or("", |token| self.lexer.text(token));
        if !words::contains(SHOWN_CREATE, word) {
            let offset = token.map_or(self.end, |token| token.start);
            let what = format!("SHOW CREATE {}", excerpt(word).to_ascii_uppercase());
            return Err(refusal(
                &what,
                "not known to only read; try information_schema",
                offset,
            ));
        }
        self.previous = token;
        Ok(())
    }

    fn explain(&mut self) -> Result<StatementKind, Refusal> {
        if self.is_described_table() {
            self.query(StatementKind::Describe)?;
            return Ok(StatementKind::Describe);
        }
        if !self.dialect.mariadb && self.take("ANALYZE")? {
            return self.analyze("EXPLAIN ANALYZE");
        }
        let mut format = None;
        while self.explain_option(&mut format)? {}
        if self.take("FOR")? {
            if self.take("CONNECTION")? {
                return self.explain_connection(format);
            }
            self.explain_database()?;
        }
        let first = self.first_word()?;
        let word = self.lexer.text(first).to_ascii_uppercase();
        self.pass(first);
        match word.as_str() {
            "SELECT" | "VALUES" | "TABLE" => self.query(StatementKind::Explain),
            "WITH" => self.with(StatementKind::Explain),
            "ANALYZE" => {
                let reason = if self.dialect.mariadb {
                    "in MariaDB write ANALYZE SELECT, without EXPLAIN"
                } else {
                    "only EXPLAIN may precede ANALYZE"
                };
                Err(refusal("EXPLAIN ANALYZE", reason, first.start))
            }
            _ => {
                let what = format!("EXPLAIN {}", excerpt(&word));
                let reason = "only SELECT, WITH, VALUES and TABLE may be explained";
                Err(refusal(&what, reason, first.start))
            }
        }
    }

    /// Checks the rest of `EXPLAIN ANALYZE` (MySQL) or `ANALYZE` (MariaDB): a `SELECT`, which runs for its plan and is
    /// checked like one that runs for its rows.
    fn analyze(&mut self, statement: &str) -> Result<StatementKind, Refusal> {
        self.explain_option(&mut None)?;
        let first = self.first_word()?;
        let word = self.lexer.text(first).to_ascii_uppercase();
        self.pass(first);
        match word.as_str() {
            "SELECT" => self.query(StatementKind::Analyze),
            "WITH" => self.with(StatementKind::Analyze),
            _ => {
                let reason =
                    "it runs the statement, or stores its findings: only SELECT may follow";
                Err(refusal(statement, reason, first.start))
            }
        }
    }

    /// True if only `table`, `table column` or `table 'pattern'` follows.
    fn is_described_table(&self) -> bool {
        let mut ahead = self.lexer.clone();
        let mut next = || {
            ahead
                .next()
                .filter(|token| token.kind != TokenKind::Semicolon)
        };
        let mut token = match next() {
            Some(name) if self.is_name(name) => next(),
            _ => return false,
        };
        // At most `catalog.database.table`, so that an endless name is not walked.
        for _ in 0..2 {
            if token.is_some_and(|t| t.kind == TokenKind::Dot) {
                if !next().is_some_and(|t| self.is_name(t)) {
                    return false;
                }
                token = next();
            }
        }
        match token {
            None => true,
            Some(t) => (t.kind == TokenKind::Text || self.is_name(t)) && next().is_none(),
        }
    }

    /// True for a name that does not start a statement.
    fn is_name(&self, token: Token) -> bool {
        let text = self.lexer.text(token);
        match token.kind {
            TokenKind::Name | TokenKind::Quoted => true,
            TokenKind::Word => !words::contains(DENIED, text) && !self.is_any(Some(token), QUERIES),
            _ => false,
        }
    }

    /// Takes the database of tables and functions behind `FOR` (MySQL).
    fn explain_database(&mut self) -> Result<(), Refusal> {
        let is_database = self.take("SCHEMA")? || self.take("DATABASE")?;
        let name = self.next()?;
        self.calls.database = name.and_then(|token| self.database(token));
        if is_database && self.calls.database.is_some() {
            return Ok(());
        }
        let offset = name.map_or(self.end, |token| token.start);
        let reason = "only FOR CONNECTION and its number, or FOR SCHEMA and its name, may follow";
        Err(refusal("EXPLAIN FOR", reason, offset))
    }

    /// A database's name, unquoted.
    fn database(&self, token: Token) -> Option<String> {
        let is_name = matches!(
            token.kind,
            TokenKind::Word | TokenKind::Name | TokenKind::Quoted
        );
        is_name.then(|| unquoted(self.lexer.text(token)))
    }

    /// Takes `EXTENDED`, `PARTITIONS` or `FORMAT=name`, whose name it puts into `format`.
    pub(super) fn explain_option(&mut self, format: &mut Option<Token>) -> Result<bool, Refusal> {
        if self.take("EXTENDED")? || self.take("PARTITIONS")? {
            return Ok(true);
        }
        if !self.take("FORMAT")? {
            return Ok(false);
        }
        let (equals, name) = (self.next()?, self.next()?);
        let named = name.is_some_and(|t| matches!(t.kind, TokenKind::Word | TokenKind::Text));
        if equals.is_some_and(|t| self.lexer.text(t) == "=") && named {
            *format = name;
            return Ok(true);
        }
        let offset = equals.map_or(self.end, |t| t.start);
        Err(refusal(
            "EXPLAIN FORMAT",
            "write FORMAT=JSON or FORMAT=TREE",
            offset,
        ))
    }

    fn use_database(&mut self) -> Result<StatementKind, Refusal> {
        let token = self.next()?;
        match token.and_then(|token| self.database(token)) {
            Some(name) => {
                self.complete()?;
                Ok(StatementKind::Use(name))
            }
            None => {
                let offset = token.map_or(self.end, |t| t.start);
                Err(refusal("USE", "it must name one database", offset))
            }
        }
    }
}

/// First words of queries.
const QUERIES: &[&str] = &["SELECT", "WITH", "VALUES", "TABLE"];
