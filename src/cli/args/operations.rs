//! Commands that look after the rest: what is there, whether it works, and what belongs to the shell.

use super::command::{Command, Flag, Kind};
use super::table::{JSON, WIDE, environment as env};

const SHELLS: Kind = Kind::Choice(&["bash", "zsh", "fish"]);
pub(crate) const FOLLOW: Flag =
    Flag::switch("follow", "go on: print what comes, until Ctrl-C").alias("f");

pub(crate) const STRICT: Flag =
    Flag::switch("strict", "end with status 1 where something is wrong");

/// `postern status`.
#[rustfmt::skip]
pub(crate) const STATUS: Command = Command {
    name: "status",
    brief: "what is shared now, and through which servers",
    about: "Shows whether the manager runs, its servers, and each application with what is in force.",
    flags: &[WIDE, JSON],
    environment: &[env::HOME],
    notes: "Exit status: 0 the manager runs, 1 it does not.",
    ..Command::EMPTY
};

/// `postern logs`.
#[rustfmt::skip]
pub(crate) const LOGS: Command = Command {
    name: "logs",
    operands: "[NAME]",
    operand_count: 0..=1,
    operand_kinds: &[Kind::Application],
    brief: "who was at an application, and what was asked",
    about: "Prints the last requests to an application, or the statements at a database; without a name, of all.",
    flags: &[FOLLOW, JSON],
    environment: &[env::HOME],
    notes: "The manager keeps the last 500 of each application, in memory.",
    ..Command::EMPTY
};

/// `postern doctor`.
#[rustfmt::skip]
pub(crate) const DOCTOR: Command = Command {
    name: "doctor",
    brief: "look for what is wrong, and say what to do",
    about: "Looks at everything that sharing needs, a line each, and says what to do. It changes nothing.",
    flags: &[JSON, STRICT],
    environment: &[env::HOME, env::SERVER, env::CERTIFICATES, env::PROXY, env::NO_PROXY],
    ..Command::EMPTY
};

pub(crate) const OPEN: Flag =
    Flag::switch("open", "open it in the browser, at the running manager");

/// `postern docs`.
#[rustfmt::skip]
pub(crate) const DOCS: Command = Command {
    name: "docs",
    operands: "[TOPIC]",
    operand_count: 0..=1,
    operand_kinds: &[Kind::Topic],
    brief: "the manual",
    about: "Prints a page of the manual, or without a topic the list of them.",
    flags: &[OPEN],
    notes: "The manager's page has them too, at /docs.",
    ..Command::EMPTY
};

/// `postern completions`.
#[rustfmt::skip]
pub(crate) const COMPLETIONS: Command = Command {
    name: "completions",
    operands: "SHELL",
    operand_count: 1..=1,
    operand_kinds: &[SHELLS],
    brief: "completions for bash, zsh or fish",
    about: "Prints the completions for a shell: bash, zsh or fish.",
    notes: "\
bash, in ~/.bashrc:           source <(postern completions bash)
zsh, in a directory of $fpath:
                              postern completions zsh > ~/.zfunc/_postern
fish:                         postern completions fish \\
                                > ~/.config/fish/completions/postern.fish",
    ..Command::EMPTY
};

/// `postern man`.
#[rustfmt::skip]
pub(crate) const MAN: Command = Command {
    name: "man",
    operands: "[DIR]",
    operand_count: 0..=1,
    operand_kinds: &[Kind::Directory],
    brief: "manual pages for man(1)",
    about: "Writes a manual page for each command into a directory, or all of them to standard output.",
    notes: "\
To read one:                  postern man | man -l -
To install them:              postern man ~/.local/share/man/man1",
    ..Command::EMPTY
};

/// `postern version`.
pub(crate) const VERSION: Command = Command {
    name: "version",
    brief: "the version, and what this build is",
    about: "Shows the version, and what this build is.",
    flags: &[JSON],
    ..Command::EMPTY
};

/// `postern help`.
pub(crate) const HELP: Command = Command {
    name: "help",
    operands: "[COMMAND]",
    operand_count: 0..=usize::MAX,
    operand_kinds: &[Kind::Command],
    brief: "show the help of a command",
    about: "Shows the help of a command.",
    ..Command::EMPTY
};

/// `postern server` and its subcommands.
#[rustfmt::skip]
pub(crate) mod server {
    use super::{Command, Flag, JSON, Kind, env};
    use crate::cli::args::app::YES;

    pub(crate) const LABEL: Flag = Flag::valued("label", "TEXT", "what to call it");
    pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
        "enrol there with this token; other users of this machine can see it in the list of processes: \
         POSTERN_ENROLL_TOKEN is safer");
    pub(crate) const DEFAULT_FLAG: Flag = Flag::switch("default", "and let 'postern start' use it");

    pub(crate) const GROUP: Command = Command {
        name: "server",
        brief: "the relays that you know",
        about: "The relays that you know: label, enrol token, state, and which of them 'postern start' uses.",
        commands: &[&LIST, &ADD, &REMOVE, &DEFAULT, &TRUST],
        environment: &[env::HOME],
        notes: "An application stays with its server until you move it.",
        ..Command::EMPTY
    };
    pub(crate) const LIST: Command = Command {
        name: "server list",
        brief: "show DEFAULT, URL, STATUS, APPS, TOKEN, LABEL",
        about: "Lists the relays that you know.",
        flags: &[JSON],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const ADD: Command = Command {
        name: "server add",
        operands: "URL",
        operand_count: 1..=1,
        operand_kinds: &[Kind::Server],
        brief: "add one, or change what is known of it",
        about: "Adds a relay, or changes what is known of it: what is left out stays.",
        flags: &[LABEL, ENROLL_TOKEN, DEFAULT_FLAG, JSON],
        environment: &[env::HOME, env::TOKEN],
        notes: "\
Exit status: 0 added, 1 failed, 2 the command line is wrong, 3 added, but not
reached, 4 refused with that token, and not added, 5 over a limit.",
        ..Command::EMPTY
    };
    pub(crate) const REMOVE: Command = Command {
        name: "server remove",
        brief: "forget it",
        about: "Forgets a relay and its enrol token.",
        flags: &[],
        environment: &[env::HOME],
        notes: "",
        ..ADD
    };
    pub(crate) const DEFAULT: Command = Command {
        name: "server default",
        operands: "URL|none",
        brief: "let 'postern start' use it where no --server is given",
        about: "Lets 'postern start' use this relay of the list where no --server is given; with 'none' the relay within it.",
        ..REMOVE
    };
    pub(crate) const TRUST: Command = Command {
        name: "server trust",
        brief: "accept the changed host key of its tunnel server",
        about: "Shows the changed host key of a relay's tunnel server beside the known one, and asks whether to trust it.",
        flags: &[YES],
        notes: "Exit status: 0 trusted, 1 there is no other key, 3 it is not reached,\n4 not trusted.",
        ..REMOVE
    };
}

/// `postern service` and its subcommands.
#[rustfmt::skip]
pub(crate) mod service {
    use super::{Command, Kind, env};

    const WHICH: Kind = Kind::Choice(&["start", "relay"]);

    pub(crate) const GROUP: Command = Command {
        name: "service",
        brief: "run at every login or boot, by systemd",
        about: "Lets systemd's user manager run 'postern start' or 'postern relay'.",
        commands: &[&INSTALL, &REMOVE, &STATUS],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const INSTALL: Command = Command {
        name: "service install",
        operands: "[start|relay] [-- OPTIONS…]",
        operand_count: 0..=usize::MAX,
        operand_kinds: &[WHICH, Kind::Text],
        brief: "write the unit, enable and start it",
        about: "Writes a hardened unit for systemd's user manager, enables it and starts it.",
        environment: &[env::HOME, env::SERVER, env::TOKEN],
        notes: "\
What follows -- are options of 'postern start' or 'postern relay', as in:
  postern service install start -- --server https://relay.example
POSTERN_SERVER, POSTERN_ENROLL_TOKEN and POSTERN_HOME, where they are set, are
kept in a file beside the unit that only you can read. A unit or file of that
name that was not written by this command is left as it is.",
        ..Command::EMPTY
    };
    pub(crate) const REMOVE: Command = Command {
        name: "service remove",
        operands: "[start|relay]",
        operand_count: 0..=1,
        operand_kinds: &[WHICH],
        brief: "stop it, and take the unit away again",
        about: "Stops and disables the unit, and removes what 'service install' has written.",
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const STATUS: Command = Command {
        name: "service status",
        brief: "whether it is installed, enabled and running",
        about: "Shows whether the unit is installed, enabled and running.",
        notes: "Exit status: 0 it runs, 1 it does not.",
        flags: &[super::JSON],
        ..REMOVE
    };
}
