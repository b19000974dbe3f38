//! Which `name (` is a call, and whether the function is harmless.
//!
//! Two shapes that look like calls are none, whatever the name:
//! - `name (a, b) AS (`, a common table expression: nothing else has `AS (`
//!   behind a list of names.
//! - `AS name (a, b)` and `) name (a, b)`, the columns of a derived table: a
//!   call can follow neither, since a type follows `AS` in a cast and an
//!   operator or an alias follows a closing parenthesis.

use super::dialect::Dialect;
use super::functions::{FunctionStatus, status_of};
use super::lexer::{Lexer, Token, TokenKind};
use super::sys::{self, SysFunction};
use super::verdict::Refusal;
use super::words::{self, RESERVED, unquoted};

/// Context before a name.
#[derive(Clone, Copy)]
pub(super) struct Preceding {
    pub(super) token: Option<Token>,
    /// True if only options of `SELECT` stand between that word and here.
    pub(super) select_options: bool,
    /// True if only names and commas stand between `MATCH`, a reserved word, and here.
    pub(super) match_list: bool,
    /// True if it is `sys` and a dot.
    pub(super) in_sys: bool,
}

/// Kind of function that a server sees in a name before a parenthesis.
pub(super) enum Called {
    /// A built-in function, or a keyword that could be a function's name; in upper case.
    BuiltIn(&'static str),
    /// A function of a component, in upper case.
    Supplied(&'static str),
    /// A function of the `sys` schema.
    Sys(&'static SysFunction),
}

/// Checks the name `token`, behind which `lexer` stands. Returns what is called, where a server could take the name for
/// a function's.
pub(super) fn check(
    lexer: &Lexer<'_>,
    token: Token,
    before: Preceding,
    dialect: &Dialect,
) -> Result<Option<Called>, Refusal> {
    let Some(open) = lexer.peek().filter(|next| next.kind == TokenKind::Open) else {
        return Ok(None);
    };
    let previous = before.token;
    let name = lexer.text(token);
    let refuse = |reason: &str| Err(refusal(name, reason, token.start));
    if before.in_sys {
        return of_sys(lexer, token).map(|function| Some(Called::Sys(function)));
    }
    if previous.is_some_and(|p| p.kind == TokenKind::Dot) {
        return refuse(
            "a qualified name is a stored function, which may write; call built-in functions without the database",
        );
    }
    if is_column_list(lexer, previous) {
        return Ok(None);
    }
    if token.kind != TokenKind::Word {
        return refuse(
            "a quoted name may be a stored function; write a built-in one without quotes",
        );
    }
    if dialect.mariadb && !is_constructor_call(lexer, name) {
        return refuse(
            "without arguments MariaDB treats it as a stored function; use ST_GeomFromText",
        );
    }
    if !is_in_place(lexer, name, before, dialect) {
        return refuse(
            "here it is not a keyword, so it may be a stored function, which may write; remove the parenthesis",
        );
    }
    let adjacent = open.start == token.end || dialect.ignore_space;
    match status_of(name, dialect) {
        FunctionStatus::Harmless(name) if words::contains(RESERVED, name) => Ok(None),
        FunctionStatus::Harmless(name) => Ok(Some(Called::BuiltIn(name))),
        FunctionStatus::HarmlessWhenAdjacent(name) if adjacent => Ok(Some(Called::BuiltIn(name))),
        FunctionStatus::Supplied(name) => Ok(Some(Called::Supplied(name))),
        FunctionStatus::HarmlessWhenAdjacent(_) => {
            refuse("with a space before ( it is a stored function; remove the space")
        }
        FunctionStatus::NotOnThisServer => refuse(
            "not built into this server, so it may be a stored function, which may write; try a function that this server has",
        ),
        FunctionStatus::Refused(reason) => refuse(&format!("{reason}; remove it")),
        FunctionStatus::Unknown => refuse(
            "not a built-in function known to be harmless; call only those, or read the columns and compute elsewhere",
        ),
    }
}

/// Checks a call of `sys.name`, behind which `lexer` stands.
fn of_sys(lexer: &Lexer<'_>, token: Token) -> Result<&'static SysFunction, Refusal> {
    let name = unquoted(lexer.text(token));
    let refuse = |reason: &str| Err(refusal(&format!("sys.{name}"), reason, token.start));
    let Some(function) = sys::find(&name) else {
        return refuse(
            "it is a stored function that is not known to be harmless; of sys only formatting functions are allowed",
        );
    };
    let mut ahead = lexer.clone();
    ahead.next();
    let is_empty = ahead
        .next()
        .is_none_or(|token| token.kind == TokenKind::Close);
    if is_empty && function.parameters > 0 {
        return Err(sys_arguments(token.start));
    }
    Ok(function)
}

/// A parameter that is left out may have a default that writes (MariaDB 11.8).
pub(super) fn sys_arguments(offset: usize) -> Refusal {
    Refusal {
        statement: "function of sys".into(),
        reason: "it is only known to be harmless with all its arguments; write them all".into(),
        offset,
    }
}

/// MariaDB looks for a stored function `point` where the arguments are not two.
pub(super) fn point_arguments(offset: usize) -> Refusal {
    refusal(
        POINT,
        "without exactly two arguments MariaDB treats it as a stored function; write POINT(x, y), or use ST_GeomFromText",
        offset,
    )
}

/// The constructor whose arguments are counted.
pub(super) const POINT: &str = "POINT";

/// A MySQL that was seen to take `GROUP BY ROLLUP (a, b)`.
const ROLLUP_LISTS: (u16, u16, u16) = (9, 7, 0);

/// True if a keyword that is not reserved, and so may be a function's name, stands where it is the keyword.
fn is_in_place(lexer: &Lexer<'_>, name: &str, before: Preceding, dialect: &Dialect) -> bool {
    let after = |list: &[&str]| {
        let word = before.token.filter(|token| token.kind == TokenKind::Word);
        word.is_some_and(|word| words::contains(list, lexer.text(word)))
    };
    let kind = before.token.map(|token| token.kind);
    match name.to_ascii_uppercase().as_str() {
        "AGAINST" if before.match_list && kind == Some(TokenKind::Word) => !after(&["MATCH"]),
        "AGAINST" => matches!(
            kind,
            Some(TokenKind::Close | TokenKind::Name | TokenKind::Quoted)
        ),
        "COLUMNS" => kind == Some(TokenKind::Text),
        "ESCAPE" => matches!(
            kind,
            Some(
                TokenKind::Close
                    | TokenKind::Name
                    | TokenKind::Quoted
                    | TokenKind::Text
                    | TokenKind::Number
                    | TokenKind::Variable
            )
        ),
        "BERNOULLI" | "SYSTEM" => after(&["TABLESAMPLE"]),
        "CUBE" => after(&["BY"]),
        "DAY_SECOND" => after(&["INTERVAL"]),
        "OF" => after(&["AS", "MEMBER"]),
        "SETS" => after(&["GROUPING"]),
        "ROLLUP" if dialect.mariadb || dialect.version < ROLLUP_LISTS => after(&["WITH"]),
        "ROLLUP" => after(&["BY", "WITH"]),
        option if option.starts_with("SQL_") => before.select_options,
        _ => true,
    }
}

fn refusal(name: &str, reason: &str, offset: usize) -> Refusal {
    let shown: String = name.chars().take(64).collect();
    Refusal {
        statement: format!("function {}", shown.to_lowercase()),
        reason: reason.into(),
        offset,
    }
}

/// True if `(names)` follows as the columns of a table, not as arguments.
fn is_column_list(lexer: &Lexer<'_>, previous: Option<Token>) -> bool {
    let mut ahead = lexer.clone();
    if !take_name_list(&mut ahead) {
        return false;
    }
    let after_as = previous.is_some_and(|p| p.kind == TokenKind::Word && is_as(lexer.text(p)));
    let after_close = previous.is_some_and(|p| p.kind == TokenKind::Close);
    after_as || after_close || defines_table(&mut ahead)
}

/// MariaDB looks for a stored function of that name when there are no arguments; [`point_arguments`] is the other case.
fn is_constructor_call(lexer: &Lexer<'_>, name: &str) -> bool {
    let mut ahead = lexer.clone();
    ahead.next();
    let constructor = words::contains(CONSTRUCTORS, name);
    !constructor
        || ahead
            .next()
            .is_some_and(|token| token.kind != TokenKind::Close)
}

/// Functions whose second argument is a path. MariaDB's parser of paths goes deeper with each sign, up to a stack
/// overflow, so the path must be there to be seen.
pub(super) const XPATH: &[&str] = &["EXTRACTVALUE", "UPDATEXML"];

/// Longest path, in bytes; 3,600 signs end the server.
const MAX_PATH: usize = 1_000;

/// True if a short text follows as a whole argument.
pub(super) fn is_short_path(lexer: &Lexer<'_>) -> bool {
    let mut ahead = lexer.clone();
    let (path, end) = (ahead.next(), ahead.next());
    path.is_some_and(|p| p.kind == TokenKind::Text && p.end - p.start <= MAX_PATH)
        && end.is_some_and(|e| matches!(e.kind, TokenKind::Comma | TokenKind::Close))
}

/// A table, and not a call, only with `COLUMNS` in its parentheses.
pub(super) const JSON_TABLE: &str = "JSON_TABLE";

#[rustfmt::skip]
const CONSTRUCTORS: &[&str] = &[
    "GEOMETRYCOLLECTION", "LINESTRING", "MULTILINESTRING", "MULTIPOINT", "MULTIPOLYGON", "POLYGON",
];

fn defines_table(ahead: &mut Lexer<'_>) -> bool {
    let (word, open) = (ahead.next(), ahead.next());
    word.is_some_and(|w| w.kind == TokenKind::Word && is_as(ahead.text(w)))
        && open.is_some_and(|o| o.kind == TokenKind::Open)
}

fn is_as(word: &str) -> bool {
    word.eq_ignore_ascii_case("AS")
}

/// Takes `(name, name)`. The list holds no parenthesis, so no text is walked twice.
fn take_name_list(ahead: &mut Lexer<'_>) -> bool {
    ahead.next();
    loop {
        let name = ahead.next().map(|token| token.kind);
        if !matches!(
            name,
            Some(TokenKind::Word | TokenKind::Name | TokenKind::Quoted)
        ) {
            return false;
        }
        match ahead.next().map(|token| token.kind) {
            Some(TokenKind::Comma) => {}
            Some(TokenKind::Close) => return true,
            _ => return false,
        }
    }
}
