//! ECMAScript as far as the pages need it: a module without comments and indentation, its imports and exports.

use std::collections::BTreeMap;

/// A module as it is written, ready to be put beside others.
pub(crate) struct Module {
    /// The text without comments, indentation, imports and the word `export`.
    pub(crate) body: String,
    pub(crate) imports: Vec<Import>,
    /// Name inside and name outside.
    pub(crate) exports: Vec<(String, String)>,
    /// `export { a } from './x.js'`: as an import whose names are exported.
    pub(crate) passed_on: Vec<Import>,
}

/// `import { a, b as c } from './x.js'`
pub(crate) struct Import {
    /// As it is written, relative to the module.
    pub(crate) from: String,
    pub(crate) names: Names,
}

pub(crate) enum Names {
    /// `import * as all`
    All(String),
    /// Name there and name here; empty for `import './x.js'`.
    Some(Vec<(String, String)>),
}

/// Reads a module. An error says what is not understood: the build fails rather than serve something else.
pub(crate) fn parse(source: &str) -> Result<Module, String> {
    let Stripped { text, statements } = strip_with_statements(source)?;
    let mut module = Module {
        body: String::with_capacity(text.len()),
        imports: Vec::new(),
        exports: Vec::new(),
        passed_on: Vec::new(),
    };
    let mut copied = 0;
    for start in statements {
        let rest = text.get(start..).unwrap_or_default();
        let left_out = if starts_with_word(rest, "import") && !rest.starts_with("import(") {
            import(rest, &mut module)?
        } else if starts_with_word(rest, "export") {
            export(rest, &mut module)?
        } else {
            continue;
        };
        module
            .body
            .push_str(text.get(copied..start).unwrap_or_default());
        copied = start + left_out;
    }
    module.body.push_str(text.get(copied..).unwrap_or_default());
    module.body.truncate(module.body.trim_end().len());
    Ok(module)
}

/// A script without the blanks that say nothing, and with short private names.
pub(crate) fn shorten(source: &str) -> Result<String, String> {
    let mut scanner = Scanner {
        rest: source,
        text: String::with_capacity(source.len()),
        statements: Vec::new(),
        private: Some(BTreeMap::new()),
    };
    scanner.code(false)?;
    Ok(scanner.text)
}

/// A script or a style without comments and indentation.
pub(crate) fn strip(source: &str) -> Result<String, String> {
    strip_with_statements(source).map(|stripped| stripped.text)
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word)
        .is_some_and(|rest| !rest.starts_with(is_of_name))
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

/// Notes an import; the bytes that it takes, with the line's end.
fn import(text: &str, module: &mut Module) -> Result<usize, String> {
    let (statement, length) = whole_statement(text)?;
    let clause = statement.trim_start_matches("import").trim();
    let (names, from) = match clause.split_once(" from ") {
        Some((names, from)) => (bindings(names.trim())?, from),
        None => (Names::Some(Vec::new()), clause),
    };
    let from = quoted(from)?;
    module.imports.push(Import { from, names });
    Ok(length)
}

fn bindings(clause: &str) -> Result<Names, String> {
    if let Some(name) = clause.strip_prefix("* as ") {
        return Ok(Names::All(name.trim().to_owned()));
    }
    list(clause).map(Names::Some)
}

/// `{ a, b as c }`
fn list(clause: &str) -> Result<Vec<(String, String)>, String> {
    let inner = clause
        .trim()
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .ok_or_else(|| format!("'{clause}' is not a list of names"))?;
    let names = inner.split(',').map(str::trim);
    let pairs = names.filter(|name| !name.is_empty()).map(|name| {
        let (there, here) = name.split_once(" as ").unwrap_or((name, name));
        (there.trim().to_owned(), here.trim().to_owned())
    });
    Ok(pairs.collect())
}

/// Notes what is exported; the bytes that are left out of the body.
fn export(text: &str, module: &mut Module) -> Result<usize, String> {
    let declaration = text.strip_prefix("export").unwrap_or(text).trim_start();
    if declaration.starts_with('{') {
        let (statement, length) = whole_statement(text)?;
        let clause = statement.trim_start_matches("export").trim();
        match clause.split_once(" from ") {
            Some((names, from)) => module.passed_on.push(Import {
                from: quoted(from)?,
                names: Names::Some(list(names)?),
            }),
            None => module.exports.extend(list(clause)?),
        }
        return Ok(length);
    }
    let name = declared(declaration).ok_or_else(|| {
        let line = declaration.lines().next().unwrap_or_default();
        format!("'export {line}' is not understood")
    })?;
    module.exports.push((name.clone(), name));
    Ok(text.len() - declaration.len())
}

/// The name of a function, a class or a constant. `export let` could change after it was read.
fn declared(declaration: &str) -> Option<String> {
    let kinds = [
        "async function*",
        "async function",
        "function*",
        "function",
        "class",
        "const",
    ];
    let rest = kinds
        .iter()
        .find_map(|kind| declaration.strip_prefix(kind))?;
    let rest = rest.strip_prefix(' ')?;
    let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
    let name = rest.get(..end).filter(|name| !name.is_empty())?;
    Some(name.to_owned())
}

/// Up to the semicolon, and the length with it and the line's end.
fn whole_statement(text: &str) -> Result<(&str, usize), String> {
    let (statement, rest) = text
        .split_once(';')
        .ok_or("an import or export without a semicolon")?;
    let rest = rest.strip_prefix('\n').unwrap_or(rest);
    Ok((statement, text.len() - rest.len()))
}

fn quoted(text: &str) -> Result<String, String> {
    let inner = text.trim().strip_prefix('\'');
    inner
        .and_then(|rest| rest.strip_suffix('\''))
        .map(str::to_owned)
        .ok_or_else(|| format!("{text} is not a path in single quotes"))
}

/// a, b, … z, aa, ba, …
fn short_name(mut number: usize) -> String {
    let mut name = String::new();
    loop {
        name.extend(('a'..='z').nth(number % 26));
        number /= 26;
        if number == 0 {
            return name;
        }
        number -= 1;
    }
}

struct Stripped {
    text: String,
    /// Offsets in `text` of lines that begin outside all braces, texts and expressions.
    statements: Vec<usize>,
}

fn strip_with_statements(source: &str) -> Result<Stripped, String> {
    let mut scanner = Scanner {
        rest: source.trim_start(),
        text: String::with_capacity(source.len()),
        statements: vec![0],
        private: None,
    };
    scanner.code(false)?;
    Ok(Stripped {
        text: scanner.text,
        statements: scanner.statements,
    })
}

/// Reads the source once, writes what stays.
struct Scanner<'a> {
    rest: &'a str,
    text: String,
    statements: Vec<usize>,
    /// Short names for private ones, where the text is to be shortened.
    private: Option<BTreeMap<String, String>>,
}

impl<'a> Scanner<'a> {
    /// Code up to the end, or up to the brace that closes a template's `${`.
    fn code(&mut self, in_template: bool) -> Result<(), String> {
        let mut depth = 0_u32;
        while let Some(c) = self.rest.chars().next() {
            match c {
                '/' if self.rest.starts_with("//") => self.skip_to("\n"),
                '/' if self.rest.starts_with("/*") => self.block_comment()?,
                '/' if self.regex_may_follow() => self.regex()?,
                '"' | '\'' => self.string(c)?,
                '`' => self.template()?,
                '\n' => self.line(depth == 0 && !in_template),
                ' ' if self.private.is_some() && self.is_idle_blank() => {
                    self.rest = self.rest.get(1..).unwrap_or_default()
                }
                '#' if self.private.is_some() => self.private_name(),
                '}' if depth == 0 && in_template => return Ok(()),
                _ => {
                    depth = match c {
                        '{' => depth + 1,
                        '}' => depth.checked_sub(1).ok_or("one '}' too many")?,
                        _ => depth,
                    };
                    self.take(c.len_utf8());
                }
            }
        }
        if depth > 0 || in_template {
            return Err("a '{' is not closed".to_owned());
        }
        Ok(())
    }

    fn take(&mut self, bytes: usize) {
        let (taken, rest) = self.rest.split_at(bytes);
        self.text.push_str(taken);
        self.rest = rest;
    }

    /// True for a blank beside a sign that ends a word by itself. Slashes and signs that can double are left alone.
    fn is_idle_blank(&self) -> bool {
        let signs = |c: char| "{}()[];,:?=<>!&|".contains(c);
        let next = self.rest.chars().nth(1);
        let is_slash = next == Some('/') || self.text.ends_with('/');
        !is_slash && (self.text.ends_with(signs) || next.is_some_and(signs))
    }

    /// Takes `#name`, which nothing but its class can mean, under the next free short name.
    fn private_name(&mut self) {
        let name = self.rest.get(1..).unwrap_or_default();
        let length = name.find(|c| !is_of_name(c)).unwrap_or(name.len());
        let (name, rest) = name.split_at(length);
        self.rest = rest;
        self.text.push('#');
        let known = self.private.get_or_insert_default();
        let next = short_name(known.len());
        self.text
            .push_str(known.entry(name.to_owned()).or_insert(next));
    }

    fn skip_to(&mut self, end: &str) {
        let at = self.rest.find(end).unwrap_or(self.rest.len());
        self.rest = self.rest.get(at..).unwrap_or_default();
    }

    /// A comment with a line's end in it counts as one.
    fn block_comment(&mut self) -> Result<(), String> {
        let (comment, rest) = self.rest.split_once("*/").ok_or("an endless comment")?;
        self.rest = rest;
        if comment.contains('\n') && !self.rest.starts_with('\n') {
            self.line(false);
        } else if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
        self.rest = self.rest.trim_start_matches(' ');
        Ok(())
    }

    /// One line's end for all that follow each other, without the spaces around.
    fn line(&mut self, statement: bool) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.rest = self.rest.trim_start();
        if statement && self.statements.last() != Some(&self.text.len()) {
            self.statements.push(self.text.len());
        }
    }

    /// After a value a slash divides.
    fn regex_may_follow(&self) -> bool {
        let before = self.text.trim_end();
        let word = before.rsplit(|c| !is_of_name(c)).next().unwrap_or_default();
        if word.is_empty() {
            return !before.ends_with([')', ']', '}', '"', '\'', '`']);
        }
        matches!(
            word,
            "return" | "typeof" | "case" | "in" | "of" | "delete" | "void" | "throw" | "else"
        )
    }

    fn regex(&mut self) -> Result<(), String> {
        let mut in_class = false;
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                '\n' => break,
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' => in_class = true,
                ']' => in_class = false,
                '/' if !in_class => {
                    self.take(at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(self.unfinished("a regular expression"))
    }

    fn string(&mut self, quote: char) -> Result<(), String> {
        let mut escaped = false;
        for (at, c) in self.rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\n' => break,
                '\\' => escaped = true,
                _ if c == quote => {
                    self.take(at + 1);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(self.unfinished("a text"))
    }

    /// A template keeps its lines as they are.
    fn template(&mut self) -> Result<(), String> {
        self.take(1);
        loop {
            let at = self
                .rest
                .find(['`', '\\', '$'])
                .ok_or_else(|| self.unfinished("a template"))?;
            self.take(at);
            if self.rest.starts_with("${") {
                self.take(2);
                self.code(true)?;
                self.take(1);
            } else if self.rest.starts_with('`') {
                self.take(1);
                return Ok(());
            } else {
                let two = self.rest.chars().take(2).map(char::len_utf8).sum();
                self.take(if self.rest.starts_with('\\') { two } else { 1 });
            }
        }
    }

    fn unfinished(&self, what: &str) -> String {
        let line = self.rest.lines().next().unwrap_or_default();
        format!("{what} does not end: {line}")
    }
}
