//! Splits bytes into tokens, as the server's own lexer does.
//!
//! The rules for the start of a word matter most, since a keyword that only the server sees would pass the gate:
//! `1e1into`, `1.into` and `'a'into` contain the keyword `INTO`; `t.into`, `1into` and `@a.into` do not.

use super::dialect::{Dialect, contains_ignoring_case};

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// An unquoted word: a keyword or an identifier.
    Word,
    /// An unquoted word that cannot be a keyword: it touches a dot or starts with a digit.
    Name,
    /// `` `name` ``, and `"name"` under `ANSI_QUOTES`.
    Quoted,
    /// A string, with its prefix `N`, `x` or `b`.
    Text,
    /// A number.
    Number,
    /// `@name`, `@'name'`, `@@name`.
    Variable,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `.` between names.
    Dot,
    /// `;`
    Semicolon,
    /// `/*!50000` or `/*M!`, which begins code on some servers.
    ExecutableOpen,
    /// The `*/` that ends such code.
    ExecutableClose,
    /// `:` other than in `:=`: a label or a placeholder.
    Colon,
    /// Any other sign.
    Operator,
    /// Text that the server would reject, or whose meaning is doubtful.
    Bad(LexError),
}

/// Fault of a [`TokenKind::Bad`] token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LexError {
    Comment,
    Text,
    Identifier,
    Hint,
    Number,
    Literal,
    Variable,
    Placeholder,
    Dollar,
    Character,
}

impl LexError {
    /// Name of the refused part.
    pub(super) fn statement(self) -> &'static str {
        match self {
            Self::Hint => "optimizer hint",
            _ => "malformed text",
        }
    }

    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Comment => "the comment is not closed; end it with */",
            Self::Text => "the string is not closed; a quote is missing",
            Self::Identifier => "the quoted identifier is not closed; a ` is missing",
            Self::Hint => {
                "it may contain no SET_VAR, and no quotes except backquotes around letters, digits, _ and $; remove it"
            }
            Self::Number => "a number ends in the middle of its exponent",
            Self::Literal => "a hexadecimal or bit literal has invalid characters",
            Self::Variable => "a name must follow @ directly",
            Self::Placeholder => "placeholders are not supported here; write the value",
            Self::Dollar => "an unquoted name may not start with $; put it in backquotes",
            Self::Character => "this character is not allowed outside quotes",
        }
    }
}

/// A token and its place in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The tokens of a text, without comments and space. A clone is cheap, for looking ahead.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    sql: &'a [u8],
    /// Number of bytes taken.
    at: usize,
    ansi_quotes: bool,
    backslash_escapes: bool,
    /// True for MySQL, which since 8.1 reads $tag$ … $tag$ as a string.
    is_mysql: bool,
    /// True to read like a console: on MySQL `/*M!` begins an ordinary comment, and `\g` ends a statement.
    is_script: bool,
    in_executable: bool,
    /// End of the last unquoted word; a dot there separates names, even before a digit.
    word_end: Option<usize>,
    /// End of the last separating dot; a word there is a name.
    dot_end: Option<usize>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(sql: &'a (impl AsRef<[u8]> + ?Sized), dialect: &Dialect) -> Self {
        Self {
            sql: sql.as_ref(),
            at: 0,
            ansi_quotes: dialect.ansi_quotes,
            backslash_escapes: !dialect.no_backslash_escapes,
            is_mysql: !dialect.mariadb,
            is_script: false,
            in_executable: false,
            word_end: None,
            dot_end: None,
        }
    }

    /// A lexer that reads a script as the server's console does.
    pub(super) fn of_script(sql: &'a (impl AsRef<[u8]> + ?Sized), dialect: &Dialect) -> Self {
        let mut lexer = Self::new(sql, dialect);
        lexer.is_script = true;
        lexer
    }

    /// The text of a token; empty if it is not UTF-8.
    pub(super) fn text(&self, token: Token) -> &'a str {
        let text = self.sql.get(token.start..token.end);
        let text = text.expect("a token lies within the text");
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// The next token, without taking it.
    pub(super) fn peek(&self) -> Option<Token> {
        self.clone().next()
    }

    /// Number of bytes taken.
    pub(super) fn taken(&self) -> usize {
        self.at
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.sql.get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a [u8] {
        let rest = self.sql.get(self.at..);
        rest.expect("no more is taken than there is")
    }

    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) {
        let rest = self.rest();
        self.at += rest.iter().position(|&b| !wanted(b)).unwrap_or(rest.len());
    }

    /// Skips space and comments; the error is for a comment that must not be skipped, with its length.
    fn skip_blank(&mut self) -> Result<(), (LexError, usize)> {
        loop {
            self.skip_while(is_space);
            match (self.byte(0), self.byte(1)) {
                (Some(b'#'), _) => self.skip_line(),
                (Some(b'-'), Some(b'-')) if self.byte(2).is_none_or(ends_dashes) => {
                    self.skip_line()
                }
                (Some(b'/'), Some(b'*')) if !self.at_executable() => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Skips a line comment, which ends only at a line feed, not at a carriage return.
    fn skip_line(&mut self) {
        self.skip_while(|b| b != b'\n');
    }

    fn at_executable(&self) -> bool {
        let rest = self.rest();
        rest.starts_with(b"/*!") || !(self.is_script && self.is_mysql) && rest.starts_with(b"/*M!")
    }

    fn skip_comment(&mut self) -> Result<(), (LexError, usize)> {
        let body = self.rest().get(2..).unwrap_or_default();
        let Some(length) = body.windows(2).position(|two| two == b"*/") else {
            return Err((LexError::Comment, self.rest().len()));
        };
        let whole = 2 + length + 2;
        let body = body.get(..length).unwrap_or_default();
        if body.starts_with(b"+") && std::str::from_utf8(body).map_or(true, is_doubtful_hint) {
            return Err((LexError::Hint, whole));
        }
        self.at += whole;
        Ok(())
    }

    fn take(&mut self, bytes: usize, kind: TokenKind) -> TokenKind {
        self.at += bytes;
        kind
    }

    fn kind_at(&mut self, first: u8) -> TokenKind {
        match first {
            b'(' => self.take(1, TokenKind::Open),
            b')' => self.take(1, TokenKind::Close),
            b',' => self.take(1, TokenKind::Comma),
            b';' => self.take(1, TokenKind::Semicolon),
            b'.' => self.dot(),
            b'\'' => self.quoted(b'\''),
            b'"' => self.quoted(b'"'),
            b'`' => self.quoted(b'`'),
            b'@' => self.variable(),
            b'0'..=b'9' => self.number_or_name(),
            _ if is_word(first) => self.word(first),
            _ => self.sign(first),
        }
    }

    fn sign(&mut self, first: u8) -> TokenKind {
        match (first, self.byte(1)) {
            (b'/', Some(b'*')) => self.executable(),
            (b'*', Some(b'/')) if self.in_executable => {
                self.in_executable = false;
                self.take(2, TokenKind::ExecutableClose)
            }
            (b':', Some(b'=')) | (b'\\', Some(b'N')) => self.take(2, TokenKind::Operator),
            (b':', _) => self.take(1, TokenKind::Colon),
            (b'?', _) => self.take(1, TokenKind::Bad(LexError::Placeholder)),
            (b'!' | b'%' | b'&' | b'*' | b'+' | b'-' | b'/', _) => {
                self.take(1, TokenKind::Operator)
            }
            (b'<' | b'=' | b'>' | b'^' | b'|' | b'~' | b'{' | b'}', _) => {
                self.take(1, TokenKind::Operator)
            }
            // They end a statement in a console; a server rejects them.
            (b'\\', Some(b'g' | b'G')) if self.is_script => self.take(2, TokenKind::Semicolon),
            // In a console a quote behind a backslash begins nothing.
            (b'\\', Some(b'\'' | b'"' | b'`')) => self.take(2, TokenKind::Bad(LexError::Character)),
            _ => self.take(1, TokenKind::Bad(LexError::Character)),
        }
    }

    /// Takes the opening with its version number; the rest is lexed as code.
    fn executable(&mut self) -> TokenKind {
        self.in_executable = true;
        self.skip_while(|b| b != b'!');
        self.at += 1;
        self.skip_while(|b| b.is_ascii_digit());
        TokenKind::ExecutableOpen
    }

    fn dot(&mut self) -> TokenKind {
        let after_word = self.word_end == Some(self.at) && self.byte(1).is_some_and(is_word);
        if !after_word && self.byte(1).is_some_and(|b| b.is_ascii_digit()) {
            return self.fraction();
        }
        self.at += 1;
        self.dot_end = Some(self.at);
        TokenKind::Dot
    }

    fn word(&mut self, first: u8) -> TokenKind {
        if self.byte(1) == Some(b'\'') && self.dot_end != Some(self.at) {
            match first {
                b'n' | b'N' => {
                    self.at += 1;
                    return self.quoted(b'\'');
                }
                b'x' | b'X' => return self.literal(|b| b.is_ascii_hexdigit()),
                b'b' | b'B' => return self.literal(|b| matches!(b, b'0' | b'1')),
                _ => {}
            }
        }
        if first == b'$' && self.is_mysql {
            return self.dollar();
        }
        self.name_from(self.at)
    }

    /// Takes `$tag$ … $tag$`, or a name.
    fn dollar(&mut self) -> TokenKind {
        let rest = self.rest();
        let tag = 1
            + (rest.iter().skip(1))
                .take_while(|&&b| is_word(b) && b != b'$')
                .count();
        match rest.split_at_checked(tag + 1) {
            Some((tag, text)) if tag.ends_with(b"$") => {
                let length = text.windows(tag.len()).position(|part| part == tag);
                self.at += length.map_or(rest.len(), |length| length + 2 * tag.len());
            }
            _ => {
                self.name_from(self.at);
            }
        }
        TokenKind::Bad(LexError::Dollar)
    }

    /// Takes the rest of an unquoted word that started at `start`.
    fn name_from(&mut self, start: usize) -> TokenKind {
        self.skip_while(is_word);
        self.word_end = Some(self.at);
        let before_dot = self.byte(0) == Some(b'.') && self.byte(1).is_some_and(is_word);
        if before_dot || self.dot_end == Some(start) {
            TokenKind::Name
        } else {
            TokenKind::Word
        }
    }

    fn literal(&mut self, digit: fn(u8) -> bool) -> TokenKind {
        let start = self.at + 1;
        self.at += 2;
        self.skip_while(digit);
        if self.byte(0) != Some(b'\'') {
            self.at = start;
            self.skip_quoted(b'\'', false);
            return TokenKind::Bad(LexError::Literal);
        }
        self.take(1, TokenKind::Text)
    }

    fn number_or_name(&mut self) -> TokenKind {
        let start = self.at;
        if self.dot_end == Some(start) {
            return self.name_from(start);
        }
        if self.prefixed_number() {
            return TokenKind::Number;
        }
        self.skip_while(|b| b.is_ascii_digit());
        match self.byte(0) {
            Some(b'.') => self.fraction(),
            Some(b'e' | b'E') if self.exponent() => TokenKind::Number,
            Some(b) if is_word(b) => {
                self.name_from(start);
                TokenKind::Name
            }
            _ => TokenKind::Number,
        }
    }

    /// Takes `0x1F` or `0b01`; with an upper-case prefix, or followed by other letters, it would be a name.
    fn prefixed_number(&mut self) -> bool {
        let digit: fn(u8) -> bool = match (self.byte(0), self.byte(1)) {
            (Some(b'0'), Some(b'x')) => |b| b.is_ascii_hexdigit(),
            (Some(b'0'), Some(b'b')) => |b| matches!(b, b'0' | b'1'),
            _ => return false,
        };
        let digits = self
            .rest()
            .iter()
            .skip(2)
            .take_while(|&&b| digit(b))
            .count();
        if digits == 0 || self.byte(2 + digits).is_some_and(is_word) {
            return false;
        }
        self.at += 2 + digits;
        true
    }

    /// Takes `e10`, `e+10` or `e-10`, if that follows.
    fn exponent(&mut self) -> bool {
        let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
        if !self.byte(1 + sign).is_some_and(|b| b.is_ascii_digit()) {
            return false;
        }
        self.at += 1 + sign;
        self.skip_while(|b| b.is_ascii_digit());
        true
    }

    /// Takes `.5`, `.5e3` and the bare `.` of `1.`.
    fn fraction(&mut self) -> TokenKind {
        self.at += 1;
        self.skip_while(|b| b.is_ascii_digit());
        if matches!(self.byte(0), Some(b'e' | b'E')) && !self.exponent() {
            return self.take(1, TokenKind::Bad(LexError::Number));
        }
        TokenKind::Number
    }

    fn quoted(&mut self, quote: u8) -> TokenKind {
        let identifier = quote == b'`' || (quote == b'"' && self.ansi_quotes);
        let escapes = !identifier && self.backslash_escapes;
        if self.skip_quoted(quote, escapes) {
            if identifier {
                TokenKind::Quoted
            } else {
                TokenKind::Text
            }
        } else if identifier {
            TokenKind::Bad(LexError::Identifier)
        } else {
            TokenKind::Bad(LexError::Text)
        }
    }

    /// Skips a quoted text with its closing quote; returns false if there is none.
    fn skip_quoted(&mut self, quote: u8, escapes: bool) -> bool {
        self.at += 1;
        loop {
            self.skip_while(|b| b != quote && !(escapes && b == b'\\'));
            match self.byte(0) {
                None => return false,
                // An escape at the very end of a text escapes nothing.
                Some(b'\\') if escapes => self.at = (self.at + 2).min(self.sql.len()),
                Some(_) if self.byte(1) == Some(quote) => self.at += 2,
                Some(_) => {
                    self.at += 1;
                    return true;
                }
            }
        }
    }

    fn variable(&mut self) -> TokenKind {
        match (self.byte(1), self.byte(2)) {
            (Some(quote @ (b'\'' | b'"' | b'`')), _) => self.quoted_variable(1, quote),
            (Some(b'@'), Some(b'`')) => self.quoted_variable(2, b'`'),
            (Some(b'@'), Some(b)) if is_word(b) => {
                self.at += 2;
                self.system_variable()
            }
            (Some(b), _) if is_variable(b) => {
                self.at += 1;
                self.skip_while(is_variable);
                TokenKind::Variable
            }
            _ => self.take(1, TokenKind::Bad(LexError::Variable)),
        }
    }

    fn quoted_variable(&mut self, signs: usize, quote: u8) -> TokenKind {
        self.at += signs;
        match self.quoted(quote) {
            TokenKind::Bad(fault) => TokenKind::Bad(fault),
            _ => TokenKind::Variable,
        }
    }

    /// Takes `@@x`, `@@global.x` or `@@global.cache.x`: names joined by dots without space.
    fn system_variable(&mut self) -> TokenKind {
        loop {
            self.skip_while(is_word);
            if self.byte(0) != Some(b'.') || !self.byte(1).is_some_and(is_word) {
                return TokenKind::Variable;
            }
            self.at += 1;
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let blank = self.skip_blank();
        let start = self.at;
        let first = self.byte(0)?;
        let kind = match blank {
            Ok(()) => self.kind_at(first),
            Err((fault, length)) => self.take(length, TokenKind::Bad(fault)),
        };
        Some(Token {
            kind,
            start,
            end: self.at,
        })
    }
}

pub(super) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// True for bytes behind `--` that make it a comment, as the end of the text does.
fn ends_dashes(b: u8) -> bool {
    is_space(b) || b.is_ascii_control()
}

/// True for bytes of unquoted identifiers, and of every character beyond ASCII, even a no-break space or a byte-order
/// mark.
fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$') || b >= 0x80
}

fn is_variable(b: u8) -> bool {
    is_word(b) || b == b'.'
}

/// True for an optimizer hint with quotes whose end could be doubtful, or with `SET_VAR`, which changes settings. MySQL
/// reads quotes inside `/*+ … */`, so only plain names may be quoted, which end before the comment in any reading.
fn is_doubtful_hint(hint: &str) -> bool {
    let is_plain = |name: &str| {
        name.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_$".contains(&b))
    };
    let mut parts = hint.split('`');
    // The part before the first quote; then parts are inside and outside in turn.
    parts.next();
    let is_quoted_well = loop {
        match (parts.next(), parts.next()) {
            (None, _) => break true,
            (Some(name), Some(_)) if is_plain(name) => {}
            _ => break false,
        }
    };
    !is_quoted_well || hint.contains(['\'', '"', '\\']) || contains_ignoring_case(hint, "set_var")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(sql: &str) -> Vec<(TokenKind, &str)> {
        let lexer = Lexer::new(sql, &Dialect::mariadb((10, 11, 0)));
        lexer
            .clone()
            .map(|token| (token.kind, lexer.text(token)))
            .collect()
    }

    fn words(sql: &str) -> Vec<&str> {
        let words = lex(sql)
            .into_iter()
            .filter(|(kind, _)| *kind == TokenKind::Word);
        words.map(|(_, text)| text).collect()
    }

    #[test]
    fn keywords_hide_behind_numbers_and_strings() {
        assert_eq!(words("1e1into"), ["into"]);
        assert_eq!(words("1.into"), ["into"]);
        assert_eq!(words("1.5into"), ["into"]);
        assert_eq!(words(".5into"), ["into"]);
        assert_eq!(words("`t`.5into"), ["into"]);
        assert_eq!(words("'a'into"), ["into"]);
        assert_eq!(words("@`a`into"), ["into"]);
        assert_eq!(words("t. into"), ["t", "into"]);
        assert_eq!(words("@@a. into"), ["into"]);
    }

    #[test]
    fn names_are_no_keywords() {
        for sql in [
            "t.into",
            "1into",
            "1--1into",
            "@a.into",
            "@@global.into",
            "`into`",
            "t.1into",
            "0x1into",
            "0X1",
        ] {
            assert!(words(sql).is_empty(), "{sql}");
        }
        assert_eq!(lex("into.x").first(), Some(&(TokenKind::Name, "into")));
        assert_eq!(lex("t.1e1into").last(), Some(&(TokenKind::Name, "1e1into")));
    }

    #[test]
    fn comments_are_dropped_as_the_server_does() {
        assert_eq!(words("a -- x\nb"), ["a", "b"]);
        assert_eq!(words("a --x\nb"), ["a", "x", "b"]);
        assert_eq!(words("a --\x01x\nb"), ["a", "b"]);
        assert_eq!(words("a --"), ["a"]);
        assert_eq!(words("a #x\rc\nb"), ["a", "b"]);
        assert_eq!(words("a/*/b*/c"), ["a", "c"]);
        assert_eq!(words("a/* /* b */c"), ["a", "c"]);
        assert_eq!(words("a/**/b"), ["a", "b"]);
        assert_eq!(
            lex("/* x").first().map(|t| t.0),
            Some(TokenKind::Bad(LexError::Comment))
        );
    }

    #[test]
    fn executable_comments_hold_code() {
        let kinds: Vec<_> = lex("/*!50000 a*/b").into_iter().map(|t| t.0).collect();
        assert_eq!(
            kinds,
            [
                TokenKind::ExecutableOpen,
                TokenKind::Word,
                TokenKind::ExecutableClose,
                TokenKind::Word
            ]
        );
        assert_eq!(
            lex("/*M!100000 a").first(),
            Some(&(TokenKind::ExecutableOpen, "/*M!100000"))
        );
    }

    #[test]
    fn strings_and_quotes() {
        for sql in [
            r"'a\'b'",
            "'a''b'",
            r#""a\"b""#,
            "N'x'",
            "x'0aF'",
            "b'01'",
            r"'a\\'",
        ] {
            assert_eq!(lex(sql), [(TokenKind::Text, sql)]);
        }
        assert_eq!(lex("`a``b`"), [(TokenKind::Quoted, "`a``b`")]);
        for sql in [
            "'a", r"'a\", r"'a\'", "`a", "\"a", "x'0", "x'zz'", "@'a", "?", "[", "\\x", "@ a",
            "1.e", "\u{1}",
        ] {
            assert!(
                matches!(lex(sql).first(), Some((TokenKind::Bad(_), _))),
                "{sql}"
            );
        }
    }

    #[test]
    fn what_means_nothing_is_one_token() {
        let behind = |sql: &str| {
            lex(sql)
                .iter()
                .skip(1)
                .map(|token| token.1)
                .collect::<String>()
        };
        for sql in [
            "\\ a;b",
            "\\' a;b",
            "? a;b",
            "[ a;b",
            "@ a;b",
            "1.e a;b",
            "x'zz' a;b",
            "/*+ 'x */ a;b",
            "\u{1} a;b",
        ] {
            assert_eq!(behind(sql), "a;b", "{sql}");
        }
        let bytes = b"'\xe4;' \xe4;\xff";
        let kinds = Lexer::new(bytes, &Dialect::mariadb((10, 11, 0))).map(|token| token.kind);
        assert_eq!(
            kinds.collect::<Vec<_>>(),
            [
                TokenKind::Text,
                TokenKind::Word,
                TokenKind::Semicolon,
                TokenKind::Word
            ]
        );
    }

    #[test]
    fn settings_change_quotes() {
        let mut dialect = Dialect::mysql((8, 0, 36));
        dialect.ansi_quotes = true;
        dialect.no_backslash_escapes = true;
        let kinds: Vec<_> = Lexer::new(r#""a" 'b\'"#, &dialect)
            .map(|t| t.kind)
            .collect();
        assert_eq!(kinds, [TokenKind::Quoted, TokenKind::Text]);
        let kinds: Vec<_> = Lexer::new("$$ a $$", &dialect).map(|t| t.kind).collect();
        assert_eq!(kinds, [TokenKind::Bad(LexError::Dollar)]);
    }
}
