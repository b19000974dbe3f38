//! Lines as they are parsed by a command's table.

use super::*;

const USER: Flag = Flag::valued("db-user", "NAME", "who").alias("username");
const READONLY: Flag = Flag::switch(
    "readonly",
    "refuse whatever could write, in words enough that the line has to be broken into two",
);
const HOST: Flag = Flag::valued("allow-host", "HOST", "more").repeatable();
const VERBOSE: Flag = Flag::switch("verbose", "more").alias("v").repeatable();
static COMMAND: Command = Command {
    name: "try",
    operands: "[target]",
    about: "Tries.",
    flags: &[USER, READONLY, HOST, VERBOSE],
    notes: "Notes.",
    ..Command::EMPTY
};

fn parse(line: &str) -> Result<Parsed, Failure> {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    COMMAND.parse(&words)
}

#[test]
fn flags_stand_anywhere_and_an_alias_is_the_same() {
    for line in [
        "--db-user x t",
        "t --db-user x",
        "t --db-user=x",
        "--username x t",
        "--username=x -- t",
    ] {
        let parsed = parse(line).unwrap();
        assert_eq!(parsed.value(&USER).as_deref(), Some("x"), "{line}");
        assert_eq!(parsed.operands(), ["t"], "{line}");
    }
}

#[test]
fn repeated_and_empty_and_hyphened_values() {
    let parsed = parse("--allow-host a -vv --allow-host=b -v").unwrap();
    assert_eq!(parsed.values(&HOST), ["a", "b"]);
    assert!(parsed.has(&VERBOSE) && !parsed.has(&READONLY));
    assert!(parse("--readonly --readonly").unwrap().has(&READONLY));
    let empty = parse("--db-user=").unwrap();
    assert_eq!(empty.value(&USER).as_deref(), Some(""));
    let equals = parse("--db-user=a=b").unwrap();
    assert_eq!(equals.value(&USER).as_deref(), Some("a=b"));
    let hyphen = parse("--db-user -x").unwrap();
    assert_eq!(hyphen.value(&USER).as_deref(), Some("-x"));
}

#[test]
fn wrong_lines_are_refused_with_status_2() {
    for (line, message) in [
        ("--db-usr x", "unknown option '--db-usr'"),
        ("-p", "unknown option '-p'"),
        ("-psecret", "unknown option '-p'"),
        ("--db-psas=secret", "unknown option '--db-psas'"),
        ("--db-user", "option '--db-user' needs a value"),
        (
            "--db-user a --db-user b",
            "option '--db-user' is given twice",
        ),
        (
            "--db-user a --username b",
            "option '--db-user' is given twice: '--username' is the same",
        ),
        ("--readonly=yes", "option '--readonly' takes no value"),
        ("a b", "unexpected argument 'b'"),
        (
            "a mysql://u:secret@h",
            "unexpected argument 'mysql://u:***@h'",
        ),
    ] {
        let failure = parse(line).err().unwrap();
        let (status, text, hint) = failure.parts();
        assert_eq!((status, text), (2, format!("postern: {message}").as_str()));
        assert!(hint.unwrap().contains("see 'postern try --help'"));
        assert!(!format!("{failure:?}").contains("secret"));
    }
    let failure = parse("--db-usr x").err().unwrap();
    assert!(
        failure
            .parts()
            .2
            .unwrap()
            .starts_with("did you mean '--db-user'?")
    );
}

#[test]
fn help_wins_over_operands() {
    assert!(parse("a b c --help").unwrap().wants_help());
    assert!(parse("-h").unwrap().wants_help());
}
