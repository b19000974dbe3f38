//! Reader of the servers' `.test` files: their statements, as far as they are sent as they stand there.
//!
//! Commands of the test program are left out and counted: blocks of `if` and `while`, `let`, `eval` with variables,
//! `source`, `send` and the like. Statements of further connections run like the others: it only matters that both sides
//! run the same.

/// Contents of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// The statements.
    pub(super) statements: Vec<Statement>,
    /// Number of commands that were left out.
    pub(super) left_out: usize,
}

/// A statement as it is sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Statement {
    /// The line where it begins.
    pub(super) line: usize,
    pub(super) sql: String,
    /// True where the file itself says that its rows, or their order, may be others each time.
    pub(super) is_volatile: bool,
}

/// Commands for the output of the test program or its expectations; the server does not see them.
const SILENT: &[&str] = &[
    "echo",
    "error",
    "enable_",
    "disable_",
    "replace_",
    "vertical_results",
    "horizontal_results",
    "lowercase_result",
    "character_set",
    "remove_file",
    "start_timer",
    "end_timer",
    "skip_if_hypergraph",
];

/// Commands behind which a statement stands.
const BEFORE_SQL: &[&str] = &["eval", "query", "query_vertical", "query_horizontal"];

/// Further commands, which may stand where a statement could.
const COMMANDS: &[&str] = &[
    "append_file",
    "assert",
    "cat_file",
    "change_user",
    "chmod",
    "connect",
    "connection",
    "copy_file",
    "copy_files_wildcard",
    "dec",
    "die",
    "diff_files",
    "dirty_close",
    "disconnect",
    "evalp",
    "exec",
    "exec_in_background",
    "execw",
    "exit",
    "expr",
    "file_exists",
    "force-cpdir",
    "force-rmdir",
    "if",
    "inc",
    "let",
    "list_files",
    "mkdir",
    "move_file",
    "output",
    "perl",
    "ping",
    "query_attributes",
    "query_get_value",
    "real_sleep",
    "reap",
    "remove_files_wildcard",
    "require",
    "reset_connection",
    "result_format",
    "rmdir",
    "save_master_pos",
    "send",
    "send_eval",
    "send_quit",
    "send_shutdown",
    "shutdown_server",
    "skip",
    "sleep",
    "source",
    "sync_slave_with_master",
    "sync_with_master",
    "system",
    "while",
    "write_file",
];

/// Reads the text of a file.
pub(super) fn read(text: &str) -> Script {
    let mut reader = Reader {
        rest: text,
        line: 1,
        delimiter: ";".to_owned(),
        is_sorted: false,
        has_no_result: false,
        script: Script::default(),
    };
    reader.commands(true);
    reader.script
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    delimiter: String,
    /// After `sorted_result`.
    is_sorted: bool,
    /// After `disable_result_log`.
    has_no_result: bool,
    script: Script,
}

impl Reader<'_> {
    /// Reads commands to the end of the file or of a block, of which none is kept.
    fn commands(&mut self, is_kept: bool) {
        loop {
            self.skip(self.rest.len() - self.rest.trim_start().len());
            match self.rest.chars().next() {
                None => return,
                Some('}') => return self.skip(1),
                Some('{') => {
                    self.skip(1);
                    self.commands(false);
                }
                Some('#') => drop(self.rest_of_line()),
                Some('-') => {
                    let line = self.rest_of_line();
                    let command = line.trim_start_matches('-').trim();
                    self.take_in(self.line - 1, command, true, is_kept);
                }
                Some(_) => {
                    let (line, text) = (self.line, self.until_delimiter());
                    self.take_in(line, text.trim(), false, is_kept);
                }
            }
        }
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }

    fn rest_of_line(&mut self) -> String {
        let end = self.rest.find('\n').map_or(self.rest.len(), |end| end + 1);
        let line = self.rest[..end].trim_end().to_owned();
        self.skip(end);
        line
    }

    /// The text up to the delimiter outside of quotes, or up to the brace that begins a block.
    fn until_delimiter(&mut self) -> String {
        let (mut quote, mut is_escaped) = (None, false);
        let is_conditional = ["if", "while"].contains(&first_word(self.rest).as_str());
        for (at, c) in self.rest.char_indices() {
            match quote {
                Some(_) if is_escaped => is_escaped = false,
                Some(_) if c == '\\' => is_escaped = true,
                Some(begun) if c == begun => quote = None,
                Some(_) => {}
                None if self.rest[at..].starts_with(&self.delimiter) => {
                    let text = self.rest[..at].to_owned();
                    self.skip(at + self.delimiter.len());
                    return text;
                }
                None if c == '{' && is_conditional => {
                    let text = self.rest[..at].to_owned();
                    self.skip(at);
                    return text;
                }
                None if is_escaped => is_escaped = false,
                None if c == '\\' => is_escaped = true,
                None if ['\'', '"', '`'].contains(&c) => quote = Some(c),
                None => {}
            }
        }
        let text = self.rest.to_owned();
        self.skip(text.len());
        text
    }

    fn take_in(&mut self, line: usize, text: &str, is_dashed: bool, is_kept: bool) {
        let word = first_word(text);
        let behind = text[word.len()..].trim();
        let has_sql = BEFORE_SQL.contains(&word.as_str());
        match word.as_str() {
            "delimiter" => behind.clone_into(&mut self.delimiter),
            "disable_result_log" | "enable_result_log" => {
                self.has_no_result = word.starts_with('d');
            }
            "sorted_result" | "partially_sorted_result" => self.is_sorted = true,
            word if SILENT.iter().any(|silent| word.starts_with(silent)) => {}
            _ if has_sql && is_kept && !behind.contains('$') => self.keep(line, behind),
            word if is_dashed || has_sql || COMMANDS.contains(&word) => {
                self.leave_out(word, behind, is_dashed);
            }
            _ if !is_kept => self.script.left_out += 1,
            _ if !text.is_empty() => self.keep(line, text),
            _ => {}
        }
    }

    fn keep(&mut self, line: usize, sql: &str) {
        self.script.statements.push(Statement {
            line,
            sql: sql.to_owned(),
            is_volatile: std::mem::take(&mut self.is_sorted) || self.has_no_result,
        });
    }

    /// Counts a command; a remark behind dashes is none. Skips lines that are for another program.
    fn leave_out(&mut self, word: &str, behind: &str, is_dashed: bool) {
        let is_command = COMMANDS.contains(&word) || BEFORE_SQL.contains(&word);
        self.script.left_out += usize::from(is_command);
        let mark = match word {
            "perl" => behind.split_whitespace().next(),
            "write_file" | "append_file" => behind.split_whitespace().nth(1),
            "exit" if is_dashed || behind.is_empty() => return self.skip(self.rest.len()),
            _ => return,
        };
        let mark = mark.unwrap_or("EOF");
        if !is_dashed {
            self.rest_of_line();
        }
        while !self.rest.is_empty() && self.rest_of_line() != mark {}
    }
}

/// Its first word, in lower case.
fn first_word(text: &str) -> String {
    let is_outside = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
    let end = text.find(is_outside).unwrap_or(text.len());
    text[..end].to_ascii_lowercase()
}

#[test]
fn statements_are_read_and_what_is_none_is_left_out() {
    let text = r#"# Remark; with 'a quote
--source include/have_innodb.inc
--error ER_DUP_ENTRY
insert into t values (';', "a\"; b"), ('it''s');
-- a remark
let $a = 1; select 2 as `x;y`;
eval select $a;
eval select 3;
if ($a)
{
  select 'in a block;';
  while ($b) { dec $b; }
}
--sorted_result
delimiter //;
create procedure p() begin select 4; end//
delimiter ;//
--delimiter |
select 5|
--delimiter ;
perl;
print "select 6;";
EOF
--write_file $file STOP
select 7;
STOP
query_vertical select 8
  # of the statement
;
connect (a,localhost,root,,);
--exit
select 9;
"#;
    let script = read(text);
    let found: Vec<_> = script
        .statements
        .iter()
        .map(|s| (s.line, s.sql.as_str(), s.is_volatile))
        .collect();
    let expected = [
        (
            4,
            "insert into t values (';', \"a\\\"; b\"), ('it''s')",
            false,
        ),
        (6, "select 2 as `x;y`", false),
        (8, "select 3", false),
        (16, "create procedure p() begin select 4; end", true),
        (19, "select 5", false),
        (27, "select 8\n  # of the statement", false),
    ];
    assert_eq!(found, expected);
    // source, let, eval, if with its select and while, dec, perl, write_file, connect, exit
    assert_eq!(script.left_out, 11);
}
