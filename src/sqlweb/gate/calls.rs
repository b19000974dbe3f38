//! Recognizes calls, `name (`, and decides whether the function is harmless; with the table of harmless functions of
//! `sys`.
//!
//! Two forms that look like calls are none, whatever the name:
//! - `name (a, b) AS (`, a common table expression: nothing else has `AS (` behind a list of names.
//! - `AS name (a, b)` and `) name (a, b)`, the columns of a derived table. No call can follow there: in a cast a type
//!   follows `AS`, and an operator or an alias follows a closing parenthesis.

use super::dialect::Dialect;
use super::functions::{FunctionStatus, status_of};
use super::lexer::{Lexer, Token, TokenKind};
use super::verdict::Refusal;
use super::words::{self, RESERVED, unquoted};

/// Constructor whose arguments are counted.
pub(super) const POINT: &str = "POINT";

/// First MySQL that was seen to accept `GROUP BY ROLLUP (a, b)`.
const ROLLUP_LISTS: (u16, u16, u16) = (9, 7, 0);

/// Functions whose second argument is a path. MariaDB's parser of paths recurses at each sign, up to a stack overflow,
/// so the path must be a literal.
pub(super) const XPATH: &[&str] = &["EXTRACTVALUE", "UPDATEXML"];

/// Longest path, in bytes; 3,600 signs crash the server.
const MAX_PATH: usize = 1_000;

/// Context before a name.
#[derive(Clone, Copy)]
pub(super) struct Preceding {
    pub(super) token: Option<Token>,
    /// True if only options of `SELECT` are between that word and the name.
    pub(super) select_options: bool,
    /// True if only names and commas are between `MATCH`, a reserved word, and the name.
    pub(super) match_list: bool,
    /// True if `sys` and a dot precede the name.
    pub(super) in_sys: bool,
}

/// Function that a server may see in a name before a parenthesis.
pub(super) enum Called {
    /// A built-in function, or a keyword that could be a function's name; in upper case.
    BuiltIn(&'static str),
    /// A function of a component, in upper case.
    Supplied(&'static str),
    /// A function of the `sys` schema.
    Sys(&'static SysFunction),
}

/// Checks the name `token`, behind which `lexer` is. Returns the called function, if a server could take the name for
/// one.
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

/// Checks a call of `sys.name`, behind which `lexer` is.
fn of_sys(lexer: &Lexer<'_>, token: Token) -> Result<&'static SysFunction, Refusal> {
    let name = unquoted(lexer.text(token));
    let refuse = |reason: &str| Err(refusal(&format!("sys.{name}"), reason, token.start));
    let Some(function) = find(&name) else {
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

/// Refusal of a call of `sys` with missing arguments, whose defaults may write (MariaDB 11.8).
pub(super) fn sys_arguments(offset: usize) -> Refusal {
    Refusal {
        statement: "function of sys".into(),
        reason: "it is only known to be harmless with all its arguments; write them all".into(),
        offset,
    }
}

/// Refusal of `POINT` without exactly two arguments, for which MariaDB looks for a stored function.
pub(super) fn point_arguments(offset: usize) -> Refusal {
    refusal(
        POINT,
        "without exactly two arguments MariaDB treats it as a stored function; write POINT(x, y), or use ST_GeomFromText",
        offset,
    )
}

/// True if a keyword that is not reserved, and so may be a function's name, is in a place where it is the keyword.
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

/// True if `(names)` follows as columns of a table, not as arguments.
fn is_column_list(lexer: &Lexer<'_>, previous: Option<Token>) -> bool {
    let mut ahead = lexer.clone();
    if !take_name_list(&mut ahead) {
        return false;
    }
    let after_as = previous.is_some_and(|p| p.kind == TokenKind::Word && is_as(lexer.text(p)));
    let after_close = previous.is_some_and(|p| p.kind == TokenKind::Close);
    after_as || after_close || defines_table(&mut ahead)
}

/// False for a constructor without arguments, for which MariaDB looks for a stored function; see also
/// [`point_arguments`].
fn is_constructor_call(lexer: &Lexer<'_>, name: &str) -> bool {
    let mut ahead = lexer.clone();
    ahead.next();
    let constructor = words::contains(CONSTRUCTORS, name);
    !constructor
        || ahead
            .next()
            .is_some_and(|token| token.kind != TokenKind::Close)
}

/// True if a short text follows as a whole argument.
pub(super) fn is_short_path(lexer: &Lexer<'_>) -> bool {
    let mut ahead = lexer.clone();
    let (path, end) = (ahead.next(), ahead.next());
    path.is_some_and(|p| p.kind == TokenKind::Text && p.end - p.start <= MAX_PATH)
        && end.is_some_and(|e| matches!(e.kind, TokenKind::Comma | TokenKind::Close))
}

/// Name of a table and not a call, but only with `COLUMNS` in its parentheses.
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

/// Takes `(name, name)`. The list contains no parenthesis, so no text is walked twice.
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

/// A function of `sys` whose text is known to be harmless.
///
/// It is a stored function, which an administrator can replace, so its name proves nothing: layer 3 compares the
/// server's text with the digest of a reviewed text (MySQL 9.7; MariaDB 10.11 and 11.8 as created by
/// `mariadb-install-db`, and by a client in an upgrade, with or without comments). Each text only computes or reads
/// `performance_schema`, `information_schema` and `sys.sys_config`; `format_statement` keeps a length in a user
/// variable. `ps_thread_stack` (an `UPDATE`) and `ps_thread_trx_info` (a `SET`) are excluded.
pub(crate) struct SysFunction {
    /// Name in lower case.
    pub(crate) name: &'static str,
    /// Number of parameters; a further one could have a default that writes (MariaDB 11.8).
    pub(crate) parameters: usize,
    /// Other functions of `sys` that its text calls.
    pub(crate) uses: &'static [&'static str],
    /// Digests like `texts`, but only for MySQL since [`BUILT_IN`]: elsewhere such a text may call stored functions.
    pub(crate) of_mysql: &'static [&'static str],
    /// SHA-256 of `ROUTINE_DEFINITION`, in hexadecimal.
    pub(crate) texts: &'static [&'static str],
}

/// First MySQL with `FORMAT_BYTES`, `PS_THREAD_ID` and `PS_CURRENT_THREAD_ID` built in, which its texts call.
const BUILT_IN: (u16, u16, u16) = (8, 0, 16);

impl SysFunction {
    /// Trusted digests on a server of that dialect.
    pub(crate) fn digests(&self, dialect: &Dialect) -> impl Iterator<Item = &'static str> {
        let has_them = !dialect.mariadb && dialect.version >= BUILT_IN;
        let of_mysql = if has_them { self.of_mysql } else { &[] };
        self.texts.iter().chain(of_mysql).copied()
    }
}

/// The function of that name, in any case, that a statement may call.
pub(super) fn find(name: &str) -> Option<&'static SysFunction> {
    let mut all = HARMLESS.iter();
    all.find(|function| function.name.eq_ignore_ascii_case(name))
}

/// The function of that name, in lower case, that a statement or another known function may call.
pub(crate) fn known(name: &str) -> Option<&'static SysFunction> {
    let mut all = HARMLESS.iter().chain(USED);
    all.find(|function| function.name == name)
}

#[rustfmt::skip]
const HARMLESS: &[SysFunction] = &[
    SysFunction { name: "extract_schema_from_file_name", parameters: 1, uses: &[], of_mysql: &[], texts: &[
        "1bf884bbb5a5b05b7f2569db655ed7397b40cbdb696fd6c4367c7b6c339a8e3a",
    ] },
    SysFunction { name: "extract_table_from_file_name", parameters: 1, uses: &[], of_mysql: &[], texts: &[
        "36bd4dbb2c74163062317200ec63c88ec3ef25a51b08e2f1997c0fbb6e29da03",
    ] },
    SysFunction { name: "format_bytes", parameters: 1, uses: &[], of_mysql: &[
        "d314ba7521f2fa1b8548568ba28d9dac97143916f1d34a1fa1d5b889b5dae779",
    ], texts: &[
        "7ff98d9186caed381b37775e519edaec5f5161b837568119d51533187bb1f727",
    ] },
    SysFunction { name: "format_path", parameters: 1, uses: &[], of_mysql: &[
        "a5101f2f2b5b04c8f6c50d336765f3567178ed0c3e98ffc4c9545e229cd11fa3",
    ], texts: &[
        "013bf5cbdf22500d364ef0abfacd29d4eb28bfd14322015548dce47f2fb5f7cb",
        "8842dd0f51ff0cb5d8a59f20e1d2ae3a31c7786077b1b86275fe3852bb463505",
        "a49a384e904f5e62c70c72158f52b4134724478d05a6054e075ebbe53456401c",
    ] },
    SysFunction { name: "format_statement", parameters: 1, uses: &["sys_get_config"], of_mysql: &[
        "140aa35280db307e93d25301ed85a5c0ac38f36b93589fdb966c69ac3d4383dd",
    ], texts: &[
        "3044e20453ea277e8f0e2d6ec0103fbf1715869b9dc49dae9a1f2ebba1563bad",
        "a96c4dcc2a36d21c87cd2901c7715b97129e2a6a2e9747a8597d50a0747cee04",
        "edef5f54486ca99a6478fb158cfb7a424129f35f3c8bd567a172b3607e39de03",
    ] },
    SysFunction { name: "format_time", parameters: 1, uses: &[], of_mysql: &[], texts: &[
        "1f6e75fa9e644a34d3328e620f4b29fca9c316318b0768927846f22f2f5ee22d",
    ] },
    SysFunction { name: "list_add", parameters: 2, uses: &[], of_mysql: &[
        "95eed16c837c312068d39f6e8d3dda48d9bf8bdcc23e60d6c2618bbf0a48ac34",
    ], texts: &[
        "16f5937bab308ff208e6388c55326c0461b018e360e87bfaf85cc9984bf97354",
        "31ceb84dd445c028632372ec42244a7a30b7a4ef8e8a7eefd7fa657b1853d1c9",
        "441d91d34f3ac39d2634737c0271af8fe0e16ab4216c04eb144133e12fe0f3ee",
    ] },
    SysFunction { name: "list_drop", parameters: 2, uses: &[], of_mysql: &[
        "f53af56e5b1fe43b0c303e4893d96b44d5da4b5d33a533da3701ce1099ac3092",
    ], texts: &[
        "25c906d50b1d61ce68a3b1b2d5f19958ce8be6300b8756389dc7ebba60bf2e11",
        "6ae3cc514d394c97b562bf909ebdfe936243db6420ce7a9c6c6961e4e2c07bf8",
        "ce62cf044cd076af220cf78846c529bfbcff73ea06c39ce161b809aab0bb56c6",
    ] },
    SysFunction { name: "ps_is_account_enabled", parameters: 2, uses: &[], of_mysql: &[
        "97ff6625d90b8298900781ed3454e7d9482be23bf837f11d27a9c9dacba9fe4d",
    ], texts: &[
        "64691029c89b0d1b795e056aebe282939ef96c1a250f6b9b775419f7a8f00575",
    ] },
    SysFunction { name: "ps_is_consumer_enabled", parameters: 1, uses: &[], of_mysql: &[
        "ea186296c5bbd08ce24060b1d418f7e3f1d287a4020f2bbd6daec25c5bc206ba",
    ], texts: &[
        "169a9c764dbe739352d38729ae8b4a5339b95bc68dc3e1f09c9e3f74531a32f8",
    ] },
    SysFunction { name: "ps_is_instrument_default_enabled", parameters: 1, uses: &[], of_mysql: &[
        "a0c4ec927b0af739d4a9a58c46fd165a66f7a5b34c23c54347005845dba922c9",
    ], texts: &[
        "15a46a5f2bf67401c84690d8c2b7fbe20a41e852270b1e6ab6787e051e77f44e",
        "47e33baca992fe40b66d2d49536898800638c9300fb668a7a5aed754d207e58a",
        "678f96a507d8bea33caed4e2c2ae852c98ff0d8c416ea212175f665549e1357e",
    ] },
    SysFunction { name: "ps_is_instrument_default_timed", parameters: 1, uses: &[], of_mysql: &[
        "d7faad6559c9124e4b3fd0c4019e485010db656ebca5725a3fecf9736850a4b1",
    ], texts: &[
        "4575c7041c6571f22dec3e1c99be5bd8e8ea2c504e177df656ce39fe951aba50",
        "768891b9f21f4b57204dc34bd9f043843170dad26b653233888fba29125fc5f1",
        "daceb1e6b6fc098b63ec195bbaf56499789c90ab4736f561b793dd502d87598d",
    ] },
    SysFunction { name: "ps_is_thread_instrumented", parameters: 1, uses: &[], of_mysql: &[
        "239966488aaec3f8720f897583cbd8475c27e31dc30e2c50d08020ffa6bf8978",
    ], texts: &[
        "012f5dbc9e3e3a51a650b553a7575c99ebecb987a78e02a43ef2d4bf9d8f7fc0",
        "fe167b971ec7a8da267cde39a7b3f359454936114d253329d59f254ca26b481b",
    ] },
    SysFunction { name: "ps_thread_account", parameters: 1, uses: &[], of_mysql: &[], texts: &[
        "246db4f6e735635de6bbc70a6ce50e425d394d6ffca31d9ac669da00de24659d",
    ] },
    SysFunction { name: "ps_thread_id", parameters: 1, uses: &[], of_mysql: &[
        "2d6e229ce36168e2e685c6df3fa30317c5beeff85f6809c5de4d1486f6ad2436",
    ], texts: &[
        "98e2c63730d23fbb7ca19cd0d114176904155a552665213ee25294e5a766b9eb",
    ] },
    SysFunction { name: "quote_identifier", parameters: 1, uses: &[], of_mysql: &[], texts: &[
        "e9c1f6602be528b18d0a588048245ccf439f25859e7818f0ee9672a83aa212c7",
    ] },
    SysFunction { name: "version_major", parameters: 0, uses: &[], of_mysql: &[], texts: &[
        "6a49c1edbc210ea66fc643643fb8cfe03bcd041b45724fb46a928bfc2459ca26",
    ] },
    SysFunction { name: "version_minor", parameters: 0, uses: &[], of_mysql: &[], texts: &[
        "ff7748d7347a993d326b07785f035900014ee7ec512d96f77a5b09ce83d4647f",
    ] },
    SysFunction { name: "version_patch", parameters: 0, uses: &[], of_mysql: &[], texts: &[
        "df95870448cc40c5d698a84d2f630e9ef3fc7f32e1654c4829cdfaaef98f1035",
    ] },
];

/// Functions that only other known functions call.
#[rustfmt::skip]
const USED: &[SysFunction] = &[
    SysFunction { name: "sys_get_config", parameters: 2, uses: &[], of_mysql: &[
        "200359a616cd0e34917c3d1fb46cf9aa57f1c241183377e27c82320ab1cfd5ca",
    ], texts: &[
        "655ccbbb631e379d4d007a21a7fe7422f8b3d9fb0ac2334993677ed69c3c365b",
        "b138416c9b2e0d1a0d727620ccf75ab2849dfda1fc2fc09a1bcc8906fea96dfd",
        "d57022503f1b8e5dcddd9b1ee962c6da2031bbe1857b4e174945ae8bb028523d",
    ] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_known() {
        for function in HARMLESS.iter().chain(USED) {
            assert!(
                function.uses.iter().all(|name| known(name).is_some()),
                "{}",
                function.name
            );
            let is_digest =
                |text: &&str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
            let mut texts = function.texts.iter().chain(function.of_mysql);
            assert!(texts.all(is_digest), "{}", function.name);
            assert_eq!(function.name, function.name.to_ascii_lowercase());
        }
    }
}
