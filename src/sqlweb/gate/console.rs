//! Commands of the servers' consoles (`client/mysql.cc` of both) in scripts: between statements, a word at the
//! beginning of a line, or a backslash and a letter.

use super::lexer::is_space;

/// Longest delimiter, in bytes.
pub(crate) const MAX_DELIMITER: usize = 32;

/// Effect on the script of a command that is not for the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConsoleCommand {
    /// It is skipped, with this warning.
    Skipped(&'static str),
    /// It counts as a failed statement, since later ones would rely on it.
    Failed(&'static str),
    /// It ends the script.
    Exit,
}

/// A command at the beginning of a text.
pub(super) enum Command {
    /// Sets the delimiter of statements.
    Delimiter(String),
    /// Is sent to the server as this statement.
    Sql(String),
    /// Is not sent to the server; `None` for a command without any effect.
    Own(Option<ConsoleCommand>),
}

const NO_SIGN: &str = "DELIMITER needs a sign, for example DELIMITER //; statements end as before";
const BACKSLASH: &str = "a delimiter may not contain a backslash; statements end as before: choose another one, such as //";
const TOO_LONG: &str =
    "a delimiter has at most 32 bytes; statements end as before: choose a shorter one, such as //";
const OF_CONSOLE: &str = "this is a command of the console and does nothing here";
const OTHER_FILE: &str = "'source' cannot be run here: the other file is not part of this script; run that file by itself at this point";
const OTHER_SESSION: &str =
    "'connect' cannot be run here: a script has one session; remove it, or run each part by itself";

/// Words of commands, their letters behind a backslash, and true if an argument may follow.
#[rustfmt::skip]
const COMMANDS: &[(&str, u8, bool)] = &[
    ("?", b'?', true), ("charset", b'C', true), ("clear", b'c', false), ("connect", b'r', true), ("delimiter", b'd', true),
    ("edit", b'e', false), ("ego", b'G', false), ("exit", b'q', false), ("go", b'g', false), ("help", b'h', true),
    ("nopager", b'n', false), ("notee", b't', false), ("nowarning", b'w', false), ("pager", b'P', true),
    ("print", b'p', false), ("prompt", b'R', true), ("quit", b'q', false), ("rehash", b'#', false),
    ("resetconnection", b'x', false), ("sandbox", b'-', false), ("source", b'.', true), ("status", b's', false),
    ("system", b'!', true), ("tee", b'T', true), ("use", b'u', true), ("warnings", b'W', false),
];

/// Bytes of the longest word.
const LONGEST: usize = "resetconnection".len();

/// The command at the beginning of `text` and its bytes; `Err` if more must be read to decide.
pub(super) fn command(
    text: &[u8],
    delimiter: &[u8],
    is_ended: bool,
) -> Result<Option<(Command, usize)>, ()> {
    let Some((name, word)) = name_of(text) else {
        return Ok(None);
    };
    let behind = text.get(word..).unwrap_or_default();
    let end = behind.iter().position(|&byte| byte == b'\n');
    if end.is_none() && !is_ended {
        return Err(());
    }
    let line = behind.get(..end.unwrap_or(behind.len()));
    let line = line.unwrap_or_default();
    let is_letter = text.first() == Some(&b'\\');
    let (argument, taken) = match (name, is_letter) {
        (("delimiter", ..), false) => (line, line.len()),
        ((.., false), true) => (&[][..], 0),
        // The argument ends at the delimiter or with the line.
        (("use" | "source" | "exit" | "quit", ..), _) | (_, true) => match place(line, delimiter) {
            Some(end) => (line.get(..end).unwrap_or_default(), end + delimiter.len()),
            None => (line, line.len()),
        },
        // A line with a delimiter is a statement.
        _ if [delimiter, b"\\g", b"\\G"]
            .iter()
            .any(|sign| place(line, sign).is_some()) =>
        {
            return Ok(None);
        }
        _ => (line, line.len()),
    };
    let argument = argument.trim_ascii();
    if !is_letter && (!name.2 && !argument.is_empty() || name.0 == "use" && argument.is_empty()) {
        return Ok(None);
    }
    Ok(Some((meaning(name.0, argument), word + taken)))
}

/// Entry of the command at the beginning of `text`, and the bytes of its word.
fn name_of(text: &[u8]) -> Option<(&'static (&'static str, u8, bool), usize)> {
    if let [b'\\', letter, ..] = text {
        let found = COMMANDS.iter().find(|(_, own, _)| own == letter);
        return found.map(|name| (name, 2));
    }
    let ends = |&byte: &u8| is_space(byte) || byte == b';';
    let word = text.iter().take(LONGEST + 1).take_while(|byte| !ends(byte));
    let word = word.count();
    let text = text.get(..word)?;
    let found = (COMMANDS.iter()).find(|(name, ..)| name.as_bytes().eq_ignore_ascii_case(text));
    found.map(|name| (name, word))
}

fn meaning(name: &str, argument: &[u8]) -> Command {
    let told = |command| Command::Own(Some(command));
    match name {
        "delimiter" => delimiter_of(argument),
        "use" => Command::Sql(format!("USE `{}`", unquoted(argument).replace('`', "``"))),
        "charset" => Command::Sql(format!(
            "SET NAMES '{}'",
            unquoted(argument).replace(['\'', '\\'], "")
        )),
        "source" => told(ConsoleCommand::Failed(OTHER_FILE)),
        "connect" | "resetconnection" => told(ConsoleCommand::Failed(OTHER_SESSION)),
        "exit" | "quit" => told(ConsoleCommand::Exit),
        "clear" | "go" | "ego" | "sandbox" => Command::Own(None),
        _ => told(ConsoleCommand::Skipped(OF_CONSOLE)),
    }
}

fn delimiter_of(argument: &[u8]) -> Command {
    let sign = unquoted(argument);
    let refused = |why| Command::Own(Some(ConsoleCommand::Skipped(why)));
    match &*sign {
        "" => refused(NO_SIGN),
        sign if sign.contains('\\') => refused(BACKSLASH),
        sign if sign.len() > MAX_DELIMITER => refused(TOO_LONG),
        sign => Command::Delimiter(sign.to_owned()),
    }
}

/// The first word of an argument, without quotes around it; the rest is ignored.
fn unquoted(argument: &[u8]) -> String {
    let word = match argument {
        [quote @ (b'\'' | b'"' | b'`'), rest @ ..] => rest.split(|byte| byte == quote).next(),
        _ => argument.split(|&byte| is_space(byte)).next(),
    };
    String::from_utf8_lossy(word.unwrap_or_default()).into_owned()
}

/// Position of the first `sign`.
pub(super) fn place(text: &[u8], sign: &[u8]) -> Option<usize> {
    text.windows(sign.len()).position(|part| part == sign)
}
