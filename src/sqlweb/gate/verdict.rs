//! Tokens to a verdict.

use std::collections::BTreeSet;

use super::calls::{self, Before, JSON_TABLE};
use super::geometry::Geometry;
use super::lexer::{Kind, Lexer, Token};
use super::nesting::Nesting;
use super::rollup::Rollups;
use super::words::{self, DENIED, SELECT_OPTIONS, SHOWN, SHOWN_CREATE};
use super::{Dialect, Passed, Refusal, StatementKind};

/// Longest piece of a statement that an error names, in characters: enough to find it again.
const EXCERPT: usize = 40;

pub(super) fn check(sql: &str, dialect: &Dialect) -> Result<Passed, Refusal> {
    if let Some(offset) = sql.find('\0') {
        return Err(refusal("NUL byte", "a statement may not hold one", offset));
    }
    let mut checker = Checker::new(sql, dialect);
    let kind = checker.statement()?;
    checker.nothing_left_open()?;
    if let Some(fault) = checker.geometry.fault() {
        return Err(fault);
    }
    let calls = checker.calls.into_iter().collect();
    Ok(Passed { kind, calls })
}

fn refusal(statement: &str, reason: &str, offset: usize) -> Refusal {
    Refusal {
        statement: statement.into(),
        reason: reason.into(),
        offset,
    }
}

/// Walks over one statement with one token behind it.
struct Checker<'a> {
    lexer: Lexer<'a>,
    dialect: &'a Dialect,
    previous: Option<Token>,
    depth: usize,
    nesting: Nesting,
    geometry: Geometry,
    rollups: Rollups,
    /// Whether only options of `SELECT` stand between that word and here.
    select_options: bool,
    /// Parentheses around each call whose second argument must be a short path.
    paths: Vec<usize>,
    /// Each `JSON_TABLE` whose parenthesis is open.
    json_tables: Vec<JsonTable>,
    calls: BTreeSet<&'static str>,
    end: usize,
}

/// A `JSON_TABLE (`, as many within each other as [`Nesting`] allows.
struct JsonTable {
    /// Where the word stands.
    start: usize,
    /// Parentheses around it.
    depth: usize,
    /// Whether its `COLUMNS` has come.
    has_columns: bool,
}

impl<'a> Checker<'a> {
    fn new(sql: &'a str, dialect: &'a Dialect) -> Self {
        Self {
            lexer: Lexer::new(sql, dialect),
            dialect,
            previous: None,
            depth: 0,
            nesting: Nesting::new(),
            geometry: Geometry::default(),
            rollups: Rollups::default(),
            select_options: false,
            paths: Vec::new(),
            json_tables: Vec::new(),
            calls: BTreeSet::new(),
            end: sql.len(),
        }
    }

    fn statement(&mut self) -> Result<StatementKind, Refusal> {
        let first = self.first_word()?;
        let word = self.lexer.text(first).to_ascii_uppercase();
        let bare = self.depth == 0;
        self.select_options = word == "SELECT";
        match word.as_str() {
            "SELECT" => self.query(StatementKind::Select),
            "VALUES" => self.query(StatementKind::Values),
            "TABLE" => self.query(StatementKind::Table),
            "WITH" => self.with(StatementKind::With),
            "SHOW" if bare => self.show(),
            "DESC" | "DESCRIBE" | "EXPLAIN" if bare => self.explain(),
            "USE" if bare => self.use_database(),
            "HELP" if bare => self.help(),
            _ => Err(self.not_a_reader(first, &word)),
        }
    }

    /// The first word, behind opening parentheses.
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
                Kind::Open => {}
                Kind::Word => return Ok(token),
                _ => return Err(self.not_a_reader(token, &excerpt(self.lexer.text(token)))),
            }
        }
    }

    fn not_a_reader(&self, token: Token, word: &str) -> Refusal {
        let reason = match (word, self.lexer.peek().map(|next| next.kind)) {
            ("DELIMITER", _) => "it is a word of client programs; send the statements one by one",
            (_, Some(Kind::Colon)) => "a label starts a compound statement; only queries may run",
            _ if word.starts_with('\u{feff}') => {
                "the text starts with a byte-order mark; remove it"
            }
            _ => "only SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE, EXPLAIN, USE and HELP may run",
        };
        refusal(&excerpt(word), reason, token.start)
    }

    // Tokens

    /// Takes the next token; refuses what no statement may hold.
    fn next(&mut self) -> Result<Option<Token>, Refusal> {
        let Some(token) = self.lexer.next() else {
            return Ok(None);
        };
        match token.kind {
            Kind::Bad(fault) => return Err(refusal("malformed text", fault.reason(), token.start)),
            Kind::ExecutableOpen => return Err(executable(token.start)),
            Kind::Colon => return Err(placeholder(token.start)),
            Kind::Open => self.depth += 1,
            Kind::Close => self.close()?,
            Kind::Comma => self.path(token)?,
            _ => {}
        }
        let opens = token.kind == Kind::Word
            && (self.lexer.peek()).is_some_and(|next| next.kind == Kind::Open);
        let text = self.lexer.text(token);
        if !self.rollups.take(token, text, self.depth, opens) {
            let reason = "more than 64 expressions take hours, and the server cannot interrupt it; group by fewer";
            return Err(refusal("ROLLUP", reason, token.start));
        }
        if self.dialect.mariadb {
            self.geometry.take(token, text, self.depth, opens);
        }
        if !self.nesting.take(token, text) {
            let reason = "so deep an expression can end the server; write it with fewer parentheses or operators";
            return Err(refusal("nesting", reason, token.start));
        }
        Ok(Some(token))
    }

    fn close(&mut self) -> Result<(), Refusal> {
        self.depth = self.depth.saturating_sub(1);
        self.paths.pop_if(|depth| *depth >= self.depth);
        match self.json_tables.pop_if(|table| table.depth >= self.depth) {
            Some(table) if !table.has_columns => Err(no_json_table(&table)),
            _ => Ok(()),
        }
    }

    /// Behind the first comma of a call that takes a path.
    fn path(&mut self, comma: Token) -> Result<(), Refusal> {
        let is_path = self
            .paths
            .pop_if(|depth| *depth + 1 == self.depth)
            .is_some();
        if is_path && !calls::is_short_path(&self.lexer) {
            let reason = "a path made for that ends a MariaDB server; write it as one text, at most 1,000 bytes long";
            return Err(refusal("XPath", reason, comma.end));
        }
        Ok(())
    }

    /// A `JSON_TABLE` whose end has not come may be a call.
    fn nothing_left_open(&self) -> Result<(), Refusal> {
        let bare = self.json_tables.iter().find(|table| !table.has_columns);
        bare.map_or(Ok(()), |table| Err(no_json_table(table)))
    }

    fn is(&self, token: Option<Token>, word: &str) -> bool {
        token.is_some_and(|t| t.kind == Kind::Word && self.lexer.text(t).eq_ignore_ascii_case(word))
    }

    fn is_any(&self, token: Option<Token>, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(token, word))
    }

    /// Takes the next token when it is that word.
    fn take(&mut self, word: &str) -> Result<bool, Refusal> {
        let found = self.is(self.lexer.peek(), word);
        if found {
            self.previous = self.next()?;
        }
        Ok(found)
    }

    /// The statement is complete: a semicolon may follow, and nothing behind it.
    fn complete(&mut self) -> Result<(), Refusal> {
        match self.next()? {
            Some(token) if token.kind != Kind::Semicolon => {
                let what = excerpt(self.lexer.text(token));
                Err(refusal(
                    &what,
                    "the statement should have ended before this",
                    token.start,
                ))
            }
            _ => self.nothing_more(),
        }
    }

    /// Nothing but semicolons may follow the one that ends the statement.
    fn nothing_more(&mut self) -> Result<(), Refusal> {
        while let Some(token) = self.next()? {
            if token.kind != Kind::Semicolon {
                let reason = "one statement at a time; send them one by one";
                return Err(refusal("several statements", reason, token.start));
            }
        }
        Ok(())
    }

    // Queries

    /// Scans the rest of a query, or of `SHOW`, word by word.
    fn query(&mut self, kind: StatementKind) -> Result<StatementKind, Refusal> {
        while let Some(token) = self.next()? {
            if token.kind == Kind::Semicolon {
                self.nothing_more()?;
                break;
            }
            self.part(token, kind.name())?;
            self.pass(token);
        }
        Ok(kind)
    }

    /// Leaves `token` behind.
    fn pass(&mut self, token: Token) {
        let is_option =
            token.kind == Kind::Word && words::contains(SELECT_OPTIONS, self.lexer.text(token));
        self.select_options = self.is(Some(token), "SELECT") || self.select_options && is_option;
        self.previous = Some(token);
    }

    /// The list of common table expressions must be followed by a query:
    /// MySQL also takes `WITH … DELETE`.
    fn with(&mut self, kind: StatementKind) -> Result<StatementKind, Refusal> {
        let outer = self.depth;
        while let Some(token) = self.next()? {
            if token.kind == Kind::Semicolon {
                break;
            }
            self.part(token, kind.name())?;
            let here = self.depth == outer;
            if here && self.is_any(Some(token), &["SELECT", "VALUES", "TABLE"]) {
                return self.query_after(token, kind);
            }
            if token.kind == Kind::Open && self.depth == outer + 1 && self.main_query_opens() {
                return self.query_after(token, kind);
            }
            self.pass(token);
        }
        Err(refusal(
            "WITH",
            "no SELECT follows the common table expressions",
            self.end,
        ))
    }

    fn query_after(&mut self, token: Token, kind: StatementKind) -> Result<StatementKind, Refusal> {
        self.pass(token);
        self.query(kind)
    }

    /// `) (`: the main query stands in parentheses.
    fn main_query_opens(&self) -> bool {
        self.previous.is_some_and(|token| token.kind == Kind::Close)
    }

    /// One token of a query.
    fn part(&mut self, token: Token, statement: &str) -> Result<(), Refusal> {
        if token.kind == Kind::Word {
            self.keyword(token, statement)?;
        }
        if !matches!(token.kind, Kind::Word | Kind::Name | Kind::Quoted) {
            return Ok(());
        }
        self.table(token)?;
        let before = Before {
            token: self.previous,
            select_options: self.select_options,
        };
        if let Some(name) = calls::check(&self.lexer, token, before, self.dialect)? {
            self.call(token, name);
        }
        Ok(())
    }

    /// A name that may be a table's.
    fn table(&self, token: Token) -> Result<(), Refusal> {
        let name = unquoted(self.lexer.text(token));
        match words::resets(&name) {
            true => Err(refusal(
                &format!("table {}", excerpt(&name).to_ascii_lowercase()),
                "reading it sets counters of the whole server to zero; read the one without RESET in its name",
                token.start,
            )),
            false => Ok(()),
        }
    }

    fn call(&mut self, token: Token, name: &'static str) {
        if name == JSON_TABLE {
            self.json_tables.push(JsonTable {
                start: token.start,
                depth: self.depth,
                has_columns: false,
            });
        }
        if self.dialect.mariadb && calls::XPATH.contains(&name) {
            self.paths.push(self.depth);
        }
        if name == "COLUMNS" {
            let inner = self.json_tables.last_mut();
            if let Some(table) = inner.filter(|table| table.depth + 1 == self.depth) {
                table.has_columns = true;
            }
        }
        self.calls.insert(name);
    }

    fn keyword(&self, token: Token, statement: &str) -> Result<(), Refusal> {
        let word = self.lexer.text(token);
        let refuse = |what: &str, reason: &str| {
            Err(refusal(
                &format!("{statement} … {what}"),
                reason,
                token.start,
            ))
        };
        if words::contains(DENIED, word) && !self.is_function(token) {
            let what = self.denied_name(word);
            return refuse(&what, denied_reason(&what));
        }
        if self.is(Some(token), "SHARE") && self.is(self.previous, "FOR") {
            return refuse("FOR SHARE", "it locks rows");
        }
        if self.is(Some(token), "SET") && !self.is_any(self.previous, &["CHARACTER", "CHAR"]) {
            return refuse("SET", "a query may not set anything");
        }
        if self.is(Some(token), "VALUE") && self.is_any(self.previous, &["NEXT", "PREVIOUS"]) {
            return self.sequence_value(statement, token);
        }
        Ok(())
    }

    /// `INSERT(` and `REPLACE(` are string functions.
    fn is_function(&self, token: Token) -> bool {
        self.is_any(Some(token), &["INSERT", "REPLACE"])
            && self
                .lexer
                .peek()
                .is_some_and(|next| next.kind == Kind::Open)
    }

    fn denied_name(&self, word: &str) -> String {
        let word = word.to_ascii_uppercase();
        match word.as_str() {
            "UPDATE" if self.is(self.previous, "FOR") => "FOR UPDATE".into(),
            "LOCK" if self.is(self.lexer.peek(), "IN") => "LOCK IN SHARE MODE".into(),
            _ => word,
        }
    }

    /// `NEXT VALUE FOR s`; a column `next` under the alias `value` is fine.
    fn sequence_value(&self, statement: &str, token: Token) -> Result<(), Refusal> {
        if !self.is(self.lexer.peek(), "FOR") {
            return Ok(());
        }
        let which = self
            .previous
            .map_or("NEXT", |previous| self.lexer.text(previous));
        let what = format!("{statement} … {} VALUE FOR", which.to_ascii_uppercase());
        Err(refusal(&what, "it reads or moves a sequence", token.start))
    }

    // The other statements

    fn show(&mut self) -> Result<StatementKind, Refusal> {
        let Some(token) = self.next()? else {
            return Err(refusal("SHOW", "it does not say what to show", self.end));
        };
        let word = self.lexer.text(token);
        if token.kind != Kind::Word || !words::contains(SHOWN, word) {
            let what = format!("SHOW {}", excerpt(word).to_ascii_uppercase());
            return Err(refusal(&what, "not known to only read", token.start));
        }
        self.previous = Some(token);
        if self.is(Some(token), "CREATE") {
            self.show_create()?;
        } else if self.is(Some(token), "COUNT") {
            self.part(token, "SHOW")?;
        }
        self.query(StatementKind::Show)
    }

    /// Takes the kind of object, which may be a word that is denied elsewhere.
    fn show_create(&mut self) -> Result<(), Refusal> {
        let token = self.next()?;
        let word = token.map_or("", |token| self.lexer.text(token));
        if !words::contains(SHOWN_CREATE, word) {
            let offset = token.map_or(self.end, |token| token.start);
            let what = format!("SHOW CREATE {}", excerpt(word).to_ascii_uppercase());
            return Err(refusal(&what, "not known to only read", offset));
        }
        self.previous = token;
        Ok(())
    }

    fn explain(&mut self) -> Result<StatementKind, Refusal> {
        if self.is_described_table() {
            self.query(StatementKind::Describe)?;
            return Ok(StatementKind::Describe);
        }
        while self.explain_option()? {}
        if self.take("FOR")? {
            return self.explain_connection();
        }
        let first = self.first_word()?;
        let word = self.lexer.text(first).to_ascii_uppercase();
        self.pass(first);
        match word.as_str() {
            "SELECT" | "VALUES" | "TABLE" => self.query(StatementKind::Explain),
            "WITH" => self.with(StatementKind::Explain),
            "ANALYZE" => Err(refusal(
                "EXPLAIN ANALYZE",
                "it runs the statement",
                first.start,
            )),
            _ => {
                let what = format!("EXPLAIN {}", excerpt(&word));
                let reason = "only SELECT, WITH, VALUES and TABLE may be explained";
                Err(refusal(&what, reason, first.start))
            }
        }
    }

    /// Whether `table`, `table column` or `table 'pattern'` follows, and nothing else.
    fn is_described_table(&self) -> bool {
        let mut ahead = self.lexer.clone();
        let mut next = || ahead.next().filter(|token| token.kind != Kind::Semicolon);
        let mut token = match next() {
            Some(name) if self.is_name(name) => next(),
            _ => return false,
        };
        // At most `catalog.database.table`, so that an endless name is not walked.
        for _ in 0..2 {
            if token.is_some_and(|t| t.kind == Kind::Dot) {
                if !next().is_some_and(|t| self.is_name(t)) {
                    return false;
                }
                token = next();
            }
        }
        match token {
            None => true,
            Some(t) => (t.kind == Kind::Text || self.is_name(t)) && next().is_none(),
        }
    }

    /// A name that is not the start of a statement.
    fn is_name(&self, token: Token) -> bool {
        let text = self.lexer.text(token);
        match token.kind {
            Kind::Name | Kind::Quoted => true,
            Kind::Word => !words::contains(DENIED, text) && !self.is_any(Some(token), QUERIES),
            _ => false,
        }
    }

    /// Takes `EXTENDED`, `PARTITIONS` or `FORMAT=name`.
    fn explain_option(&mut self) -> Result<bool, Refusal> {
        if self.take("EXTENDED")? || self.take("PARTITIONS")? {
            return Ok(true);
        }
        if !self.take("FORMAT")? {
            return Ok(false);
        }
        let (equals, name) = (self.next()?, self.next()?);
        let named = name.is_some_and(|t| matches!(t.kind, Kind::Word | Kind::Text));
        if equals.is_some_and(|t| self.lexer.text(t) == "=") && named {
            return Ok(true);
        }
        let offset = equals.map_or(self.end, |t| t.start);
        Err(refusal(
            "EXPLAIN FORMAT",
            "write FORMAT=JSON or FORMAT=TREE",
            offset,
        ))
    }

    /// Shows the plan of what another connection runs; that statement goes on unharmed.
    fn explain_connection(&mut self) -> Result<StatementKind, Refusal> {
        let connection = self.take("CONNECTION")?;
        let number = self.next()?;
        if !connection || !number.is_some_and(|t| t.kind == Kind::Number) {
            let offset = number.map_or(self.end, |t| t.start);
            return Err(refusal(
                "EXPLAIN FOR",
                "only FOR CONNECTION and its number may follow",
                offset,
            ));
        }
        self.complete()?;
        Ok(StatementKind::Explain)
    }

    fn use_database(&mut self) -> Result<StatementKind, Refusal> {
        match self.next()? {
            Some(token) if matches!(token.kind, Kind::Word | Kind::Name | Kind::Quoted) => {
                self.complete()?;
                Ok(StatementKind::Use(unquoted(self.lexer.text(token))))
            }
            token => {
                let offset = token.map_or(self.end, |t| t.start);
                Err(refusal("USE", "it must name one database", offset))
            }
        }
    }

    fn help(&mut self) -> Result<StatementKind, Refusal> {
        match self.next()? {
            Some(token) if matches!(token.kind, Kind::Word | Kind::Quoted | Kind::Text) => {
                self.complete()?;
                Ok(StatementKind::Help)
            }
            token => {
                let offset = token.map_or(self.end, |t| t.start);
                Err(refusal("HELP", "it must name one topic, in quotes", offset))
            }
        }
    }
}

const QUERIES: &[&str] = &["SELECT", "WITH", "VALUES", "TABLE"];

fn no_json_table(table: &JsonTable) -> Refusal {
    let reason = "without COLUMNS it may be a stored function, which may write";
    refusal("function json_table", reason, table.start)
}

fn executable(offset: usize) -> Refusal {
    let reason = "whether the server runs what is inside depends on its version; write it out or leave it out";
    refusal("executable comment", reason, offset)
}

fn placeholder(offset: usize) -> Refusal {
    let reason = "nothing fills in a placeholder here, and labels start compound statements";
    refusal("placeholder", reason, offset)
}

fn denied_reason(what: &str) -> &'static str {
    match what {
        "INTO" => "it writes to a file or a variable; a column of that name needs backquotes",
        "FOR UPDATE" | "LOCK" | "LOCK IN SHARE MODE" => "it locks rows",
        "PROCEDURE" => "it runs a procedure over the result",
        _ => "this word may not stand in a query; a column of that name needs backquotes",
    }
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.into(),
    }
}

/// The name inside quotes, doubled quotes made single.
fn unquoted(text: &str) -> String {
    let quote = text.chars().next().filter(|c| matches!(c, '`' | '"'));
    let Some(quote) = quote else {
        return text.into();
    };
    let inner = text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
    inner
        .unwrap_or_default()
        .replace(&format!("{quote}{quote}"), &quote.to_string())
}
