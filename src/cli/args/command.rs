//! Types of the table of commands, the parser of command lines, and the flags that several commands share.

use std::fmt::Display;

use getopts::{Fail, HasArg, Matches, Occur, Options};

use crate::cli::args::values::{guess, nearest};
use crate::cli::failure::{Failure, print, printable, quoted};
use crate::cli::target::redacted;
use crate::manager::apps::fields::{self, FIELDS, Field, FieldFlag, Sets};

/// Pairs of flags that contradict each other: only one of them may be given.
const CONTRADICTIONS: [(&str, &str); 3] = [
    ("readonly", "readwrite"),
    ("invisible", "visible"),
    ("for", "until"),
];

/// Options of other database clients with their names here; host and port are not options here.
const FOREIGN: [(&[&str], &str); 4] = [
    (&["u", "user"], "db-user"),
    (&["p", "password", "pass"], "db-pass"),
    (&["D", "database", "db"], "db-name"),
    (&["P", "port", "H", "host", "S", "socket"], ""),
];

/// Kind of a value, for completion in a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Free text, which cannot be completed.
    Text,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A file.
    File,
    /// A directory.
    Directory,
    /// The URL of a server; known ones are completed.
    Server,
    /// The ID or the name of an application of `postern start`.
    Application,
    /// The name of a connector that is enrolled at this machine's relay.
    Connector,
    /// A page of the manual.
    Topic,
    /// The name of a command.
    Command,
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flag {
    /// The name after two hyphens.
    pub(crate) long: &'static str,
    /// Another name or a letter; empty if there is none.
    pub(crate) alias: &'static str,
    /// Placeholder of the value in the help; empty for a switch.
    pub(crate) value: &'static str,
    /// Kind of the value.
    pub(crate) kind: Kind,
    /// True if it may be repeated.
    pub(crate) repeatable: bool,
    /// Help text.
    pub(crate) help: &'static str,
}

/// A variable of the environment that a command reads.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    /// Help text.
    pub(crate) help: &'static str,
}

/// A command. An entry of the table gives the fields that differ from [`Command::EMPTY`].
#[derive(Debug)]
pub(crate) struct Command {
    /// Words of the command without the program's name.
    pub(crate) name: &'static str,
    /// Other words that may replace the last one.
    pub(crate) also: &'static [&'static str],
    /// Operands as the help shows them; empty for none. Brackets mark optional ones, `…` repeats the last one.
    pub(crate) operands: &'static str,
    /// Kinds of the operands, in order; the last one applies to all further operands.
    pub(crate) operand_kinds: &'static [Kind],
    /// Short description for the list of its group.
    pub(crate) brief: &'static str,
    /// Description in one sentence.
    pub(crate) about: &'static str,
    /// The table of fields whose options it has: `false` for a new application, `true` for one that is changed.
    pub(crate) of_fields: Option<bool>,
    /// Options of its own, except `--help`.
    pub(crate) flags: &'static [Flag],
    /// Number of last options that have a heading of their own in the help, and that heading.
    pub(crate) of_last: (usize, &'static str),
    /// Subcommands.
    pub(crate) commands: &'static [&'static Command],
    /// Environment variables that it reads.
    pub(crate) environment: &'static [Variable],
    /// Notes at the end of the help, in lines of at most 80 characters.
    pub(crate) notes: &'static str,
}

/// A parsed command line.
pub(crate) struct Parsed {
    matches: Matches,
}

/// Action of a subcommand.
pub(crate) type Action = fn(&Parsed) -> Result<(), Failure>;

const HELP: Flag = Flag::switch("help", "show this help")
    .alias("h")
    .repeatable();

// Flags that several commands share.
pub(crate) const NAME: Flag = of_field("name");
pub(crate) const SITE_NAME: Flag = of_field("site-name");
pub(crate) const FOR: Flag = of_field("for");
pub(crate) const UNTIL: Flag = of_field("until");
pub(crate) const VISIBLE: Flag = of_field("visible");
pub(crate) const ALLOW: Flag = of_field("allow");
pub(crate) const HOST: Flag = of_field("host");
pub(crate) const GUEST: Flag = of_field("guest");
pub(crate) const AUDIT: Flag = of_field("audit");
pub(crate) const RECORD_SQL: Flag = of_field("record-sql");
pub(crate) const MAX_STREAMS: Flag = of_field("max-streams");
#[rustfmt::skip]
pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
    "relay to share through (default: POSTERN_SERVER, or the relay of 'postern start', or this machine only)").kind(Kind::Server);
#[rustfmt::skip]
pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
    "enrolment token, which registers this machine at the relay. Other users can see it in the process list; set \
        POSTERN_ENROLL_TOKEN to hide it");
#[rustfmt::skip]
pub(crate) const INVISIBLE_SITE: Flag = Flag::switch("invisible", "visitors need a code; the printed link contains it");
#[rustfmt::skip]
pub(crate) const VISIBLE_SITE: Flag = Flag::switch("visible", "visitors need no code (default)");
#[rustfmt::skip]
pub(crate) const VISIBLE_PORT: Flag = Flag::switch("visible",
    "open the port to everybody who can reach the relay; only the service's own sign-in protects it then. By \
        default, sharing through a relay on another machine is refused unless --allow limits access");
#[rustfmt::skip]
pub(crate) const QR: Flag = Flag::switch("qr", "also show the link as a QR code");
#[rustfmt::skip]
pub(crate) const JSON: Flag = Flag::switch("json", "print one JSON object per line");
#[rustfmt::skip]
pub(crate) const NO_OPEN: Flag = Flag::switch("no-open", "accepted for scripts; this command never opens a browser");

impl Command {
    /// Defaults for entries of the table.
    pub(crate) const EMPTY: Self = Self {
        name: "",
        also: &[],
        operands: "",
        operand_kinds: &[],
        brief: "",
        about: "",
        of_fields: None,
        flags: &[],
        of_last: (0, ""),
        commands: &[],
        environment: &[],
        notes: "",
    };

    /// Parses the arguments, and runs `action` with them unless they ask for the help.
    pub(crate) fn run(
        &self,
        arguments: &[String],
        action: impl FnOnce(&Parsed) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let parsed = self.parse(arguments)?;
        if parsed.wants_help() {
            return print(&self.help(self.name));
        }
        action(&parsed).map_err(|failure| failure.in_json(parsed.wants_json()))
    }

    /// Runs the subcommand that the first word names; without one, the help is the error.
    pub(crate) fn run_subcommand(
        &self,
        arguments: &[String],
        subcommands: &[(&Command, Action)],
    ) -> Result<(), Failure> {
        self.run_with_subcommands(arguments, subcommands, |_| {
            Err(Failure::usage_text(&self.help(self.name)))
        })
    }

    /// Like [`Self::run_subcommand`], but runs `action` if there is no subcommand.
    pub(crate) fn run_with_subcommands(
        &self,
        arguments: &[String],
        subcommands: &[(&Command, Action)],
        action: impl FnOnce(&Parsed) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(at) = self.first_word(arguments) else {
            return self.run(arguments, action);
        };
        let mut rest = arguments.to_vec();
        let word = rest.remove(at);
        let is_meant = |(command, _): &&(&Command, Action)| command.words().any(|own| own == word);
        match subcommands.iter().find(is_meant) {
            Some((command, action)) => command.run(&rest, action),
            None if rest.iter().any(|word| word == "--help" || word == "-h") => {
                print(&self.help(self.name))
            }
            None => Err(self.unknown_subcommand(&word)),
        }
    }

    fn unknown_subcommand(&self, word: &str) -> Failure {
        let names = self.commands.iter().flat_map(|command| command.words());
        let guess = guess(word, names);
        let typed = quoted(&format!("{} {}", self.name, redacted(word)));
        Failure::usage(format!("unknown command {typed}")).hint(guess + &self.see_help())
    }

    /// Index of the first argument that is neither a flag nor a flag's value.
    fn first_word(&self, arguments: &[String]) -> Option<usize> {
        let mut at = 0;
        loop {
            let argument = arguments.get(at)?;
            match argument.strip_prefix('-') {
                None => return Some(at),
                Some("-") => return None,
                Some(_) => at += 1 + usize::from(self.takes_next(argument)),
            }
        }
    }

    /// True if the argument after this one is its value.
    fn takes_next(&self, argument: &str) -> bool {
        let of_subcommands = self.commands.iter().flat_map(|command| command.all_flags());
        let name = argument.trim_start_matches('-');
        let mut flags = self.all_flags().chain(of_subcommands);
        flags.any(|flag| !flag.value.is_empty() && [flag.long, flag.alias].contains(&name))
    }

    /// The word that distinguishes it from its siblings.
    pub(crate) fn last_word(&self) -> &'static str {
        self.name.rsplit(' ').next().expect("a split has a part")
    }

    /// The words that call it among its siblings.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.last_word()]
            .into_iter()
            .chain(self.also.iter().copied())
    }

    /// Takes the arguments apart; flags may stand anywhere.
    pub(crate) fn parse(&self, arguments: &[String]) -> Result<Parsed, Failure> {
        let matches = self
            .options()
            .parse(arguments)
            .map_err(|fail| self.refusal(fail))?;
        let parsed = Parsed { matches };
        if !parsed.wants_help() {
            self.check_aliases(&parsed)?;
            self.check_contradictions(&parsed)?;
            self.check_operands(&parsed)?;
        }
        Ok(parsed)
    }

    /// Failure for wrong usage of this command.
    pub(crate) fn usage(&self, message: impl AsRef<str>) -> Failure {
        Failure::usage(message).hint(self.see_help())
    }

    /// Failure for an invalid value of a flag.
    pub(crate) fn refuse(&self, flag: &Flag, value: &str, reason: impl Display) -> Failure {
        self.usage(format!("--{} {}: {reason}", flag.long, quoted(value)))
    }

    /// Reads the value of a flag with `read`.
    pub(crate) fn read<T, E: Display>(
        &self,
        parsed: &Parsed,
        flag: &Flag,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Failure> {
        let value = parsed.value(flag);
        let read = value.map(|text| read(&text).map_err(|why| self.refuse(flag, &text, why)));
        read.transpose()
    }

    /// The second line of a message about this command's line.
    fn see_help(&self) -> String {
        match self.name {
            "" => "see 'postern --help'".to_owned(),
            name => format!("see 'postern {name} --help'"),
        }
    }

    /// Every option, `--help` last.
    pub(in crate::cli) fn all_flags(&self) -> impl Iterator<Item = Flag> {
        let (common, last) = self.flag_groups();
        common.chain(last.iter().copied())
    }

    /// The options below the common heading, `--help` last, and those below a heading of their own.
    pub(super) fn flag_groups(&self) -> (impl Iterator<Item = Flag>, &[Flag]) {
        let of_fields = self.of_fields.into_iter().flat_map(|is_edit| {
            let flags = of_fields().filter(move |(_, of, _)| is_edit || !of.is_for_edit);
            flags.map(|(.., flag)| flag)
        });
        let (common, last) = self.flags.split_at(self.flags.len() - self.of_last.0);
        (of_fields.chain(common.iter().copied()).chain([HELP]), last)
    }

    fn options(&self) -> Options {
        let mut options = Options::new();
        for flag in self.all_flags() {
            let letter = Some(flag.alias).filter(|alias| alias.len() == 1);
            for name in flag.names() {
                let letter = letter.unwrap_or_default();
                // A switch may be repeated, because an alias of the shell may contain it.
                let (value, occurrence) = match flag.value {
                    "" => (HasArg::No, Occur::Multi),
                    _ if flag.repeatable => (HasArg::Yes, Occur::Multi),
                    _ => (HasArg::Yes, Occur::Optional),
                };
                options.opt(letter, name, "", "", value, occurrence);
            }
        }
        options
    }

    fn refusal(&self, fail: Fail) -> Failure {
        let (name, what) = match fail {
            Fail::UnrecognizedOption(name) => return self.unknown_option(&name),
            Fail::ArgumentMissing(name) => (name, "needs a value"),
            Fail::OptionMissing(name) => (name, "is missing"),
            Fail::OptionDuplicated(name) => (name, "is given twice"),
            Fail::UnexpectedArgument(name) => (name, "takes no value"),
        };
        self.usage(format!("option '{}' {what}", hyphened(&name)))
    }

    fn unknown_option(&self, name: &str) -> Failure {
        let names = self.all_flags().flat_map(|flag| [flag.long, flag.alias]);
        let long_names = names.filter(|name| name.len() > 1);
        let near = nearest(name, long_names).filter(|_| name.len() > 1);
        let near = near.map(|near| format!("did you mean '--{near}'? "));
        let hint = self.translated(name).or(near).unwrap_or_default() + &self.see_help();
        Failure::usage(format!("unknown option '{}'", hyphened(name))).hint(hint)
    }

    /// Translates the name of an option of other database clients.
    fn translated(&self, name: &str) -> Option<String> {
        let is_known = |long: &str| self.all_flags().any(|flag| flag.long == long);
        let (_, own) = FOREIGN.iter().find(|(names, _)| names.contains(&name))?;
        match *own {
            "" => is_known("db-user").then(|| "give host and port as HOST:PORT; ".to_owned()),
            own => is_known(own).then(|| format!("use '--{own}'; ")),
        }
    }

    /// Refuses an option together with its alias, which getopts does not know to be the same.
    fn check_aliases(&self, parsed: &Parsed) -> Result<(), Failure> {
        let twice = |flag: &Flag| {
            let is_both = parsed.matches.opt_present(flag.long)
                && !flag.alias.is_empty()
                && parsed.matches.opt_present(flag.alias);
            is_both && flag.alias.len() > 1 && !flag.repeatable
        };
        match self.all_flags().find(twice) {
            Some(flag) => Err(self.usage(format!(
                "option '--{}' is given twice: '--{}' is the same",
                flag.long, flag.alias
            ))),
            None => Ok(()),
        }
    }

    fn check_contradictions(&self, parsed: &Parsed) -> Result<(), Failure> {
        let is_given = |name: &str| {
            let mut flags = self.all_flags();
            flags.any(|flag| flag.long == name && parsed.has(&flag))
        };
        let mut pairs = CONTRADICTIONS.iter();
        match pairs.find(|(one, other)| is_given(one) && is_given(other)) {
            Some((one, other)) => {
                Err(self.usage(format!("--{one} and --{other} contradict each other")))
            }
            None => Ok(()),
        }
    }

    /// Maximum number of operands.
    pub(in crate::cli) fn most_operands(&self) -> usize {
        match self.operands.contains('…') {
            true => usize::MAX,
            false => self.operands.split_whitespace().count(),
        }
    }

    fn check_operands(&self, parsed: &Parsed) -> Result<(), Failure> {
        let given = parsed.operands();
        let is_all = parsed.has(&Flag::switch("all", ""));
        if is_all && !given.is_empty() {
            return Err(self.usage("--all selects every application: name none"));
        }
        let words = self.operands.split_whitespace();
        let required = words.filter(|word| !word.starts_with('[') && !word.ends_with(']'));
        if !is_all && given.len() < required.count() {
            return Err(self.usage(format!("'postern {}' needs {}", self.name, self.operands)));
        }
        match given.get(self.most_operands()) {
            Some(extra) => {
                Err(self.usage(format!("unexpected argument {}", quoted(&redacted(extra)))))
            }
            None => Ok(()),
        }
    }
}

impl Parsed {
    /// True if `--help` was given.
    pub(crate) fn wants_help(&self) -> bool {
        self.has(&HELP)
    }

    /// True if the command has `--json`, and it was given.
    pub(crate) fn wants_json(&self) -> bool {
        self.has(&Flag::switch("json", ""))
    }

    /// True if the flag was given, by either name.
    pub(crate) fn has(&self, flag: &Flag) -> bool {
        self.names(flag).any(|name| self.matches.opt_present(name))
    }

    /// The flag's value.
    pub(crate) fn value(&self, flag: &Flag) -> Option<String> {
        self.names(flag).find_map(|name| self.matches.opt_str(name))
    }

    /// Every value of a repeatable flag.
    pub(crate) fn values(&self, flag: &Flag) -> Vec<String> {
        let of_name = |name| self.matches.opt_strs(name);
        self.names(flag).flat_map(of_name).collect()
    }

    /// Names of a flag; none if the command does not have the flag.
    fn names(&self, flag: &Flag) -> impl Iterator<Item = &'static str> {
        flag.names().filter(|name| self.matches.opt_defined(name))
    }

    /// The first operand of a command whose table asks for one.
    pub(crate) fn operand(&self) -> &str {
        let first = self.operands().first();
        first.expect("the command's table asks for an operand")
    }

    /// Operands.
    pub(crate) fn operands(&self) -> &[String] {
        &self.matches.free
    }
}

impl Flag {
    /// The flag of a field.
    pub(crate) const fn of(field: &Field, flag: FieldFlag) -> Self {
        let mut of = Self::valued(flag.long, flag.value, flag.help);
        of.repeatable = field.is_list();
        if matches!((field.kind, flag.sets), (fields::Kind::Server, Sets::Value)) {
            of.kind = Kind::Server;
        }
        of
    }

    /// A flag without a value.
    pub(crate) const fn switch(long: &'static str, help: &'static str) -> Self {
        Self::valued(long, "", help)
    }

    /// A flag with a value, which the help calls `value`.
    pub(crate) const fn valued(
        long: &'static str,
        value: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            long,
            alias: "",
            value,
            kind: Kind::Text,
            repeatable: false,
            help,
        }
    }

    /// Adds another name.
    pub(crate) const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = alias;
        self
    }

    /// Sets the kind of the value.
    pub(crate) const fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// Makes it repeatable.
    pub(crate) const fn repeatable(mut self) -> Self {
        self.repeatable = true;
        self
    }

    /// The names that getopts knows it by; a letter belongs to the long name's entry.
    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let is_word = self.alias.len() > 1;
        [self.long].into_iter().chain(is_word.then_some(self.alias))
    }

    /// `  -v, --verbose` or `  --db-user, --username NAME`.
    pub(super) fn spelling(&self) -> String {
        let mut text = match self.alias {
            "" => format!("  --{}", self.long),
            letter if letter.len() == 1 => format!("  -{letter}, --{}", self.long),
            word => format!("  --{}, --{word}", self.long),
        };
        if !self.value.is_empty() {
            text.push(' ');
            text.push_str(self.value);
        }
        text
    }
}

/// The flags of the table of fields.
pub(crate) fn of_fields() -> impl Iterator<Item = (&'static Field, &'static FieldFlag, Flag)> {
    FIELDS.iter().flat_map(|field| {
        let flags = field.all_flags();
        flags.map(move |of| (field, of, Flag::of(field, *of)))
    })
}

fn hyphened(name: &str) -> String {
    let hyphens = if name.chars().nth(1).is_some() {
        "--"
    } else {
        "-"
    };
    format!("{hyphens}{}", printable(name))
}

/// The flag of this name in the table of fields.
pub(super) const fn of_field(long: &str) -> Flag {
    let mut at = 0;
    while let Some(flag) = nth(at) {
        if is_same(flag.long, long) {
            return flag;
        }
        at += 1;
    }
    panic!("no field has this flag")
}

/// The flags of the table of fields, by number.
const fn nth(mut skipped: usize) -> Option<Flag> {
    let mut fields = FIELDS;
    while let [field, rest @ ..] = fields {
        let mut flags = field.flags.as_slice();
        while let [flag, others @ ..] = flags {
            match flag {
                Some(flag) if skipped == 0 => return Some(Flag::of(field, *flag)),
                Some(_) => skipped -= 1,
                None => {}
            }
            flags = others;
        }
        fields = rest;
    }
    None
}

const fn is_same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while let ([a, rest @ ..], [b, others @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (rest, others);
    }
    one.is_empty() && other.is_empty()
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
