//! Commands for operation: status, logs, checks, relays, services, manual and completions.

use super::command::{Command, Flag, Kind};
use super::table::{AT_HOME, JSON, WIDE, environment as env};

const SHELLS: Kind = Kind::Choice(&["bash", "zsh", "fish"]);
pub(crate) const FOLLOW: Flag =
    Flag::switch("follow", "keep printing new entries until Ctrl-C").alias("f");

pub(crate) const STRICT: Flag = Flag::switch("strict", "exit with status 1 if a check fails");

/// `postern status`.
#[rustfmt::skip]
pub(crate) const STATUS: Command = Command {
    name: "status",
    brief: "show the manager, its relays and applications",
    about: "Shows whether the manager runs, its relays, and each application with its active settings.",
    flags: &[WIDE, JSON],
    notes: "Exit status: 0 the manager is running, 1 it is not.",
    ..AT_HOME
};

/// `postern logs`.
#[rustfmt::skip]
pub(crate) const LOGS: Command = Command {
    name: "logs",
    operands: "[NAME]",
    operand_kinds: &[Kind::Application],
    brief: "show recent requests or SQL statements",
    about: "Prints recent requests to an application, or SQL statements for a database. Without a name: for all \
        applications.",
    flags: &[FOLLOW, JSON],
    notes: "The manager keeps the last 500 entries of each application in memory.",
    ..AT_HOME
};

/// `postern doctor`.
#[rustfmt::skip]
pub(crate) const DOCTOR: Command = Command {
    name: "doctor",
    brief: "check the installation and suggest fixes",
    about: "Checks everything that sharing needs, one line each, and suggests fixes. It changes nothing.",
    flags: &[JSON, STRICT],
    environment: &[env::HOME, env::SERVER, env::CERTIFICATES, env::PROXY, env::NO_PROXY],
    ..Command::EMPTY
};

pub(crate) const OPEN: Flag = Flag::switch(
    "open",
    "open the page in the browser (needs a running manager)",
);

/// `postern docs`.
#[rustfmt::skip]
pub(crate) const DOCS: Command = Command {
    name: "docs",
    operands: "[TOPIC]",
    operand_kinds: &[Kind::Topic],
    brief: "show the manual",
    about: "Prints a page of the manual, or the list of pages without a topic.",
    flags: &[OPEN],
    notes: "The manager's page shows the manual at /docs.",
    ..Command::EMPTY
};

/// `postern completions`.
#[rustfmt::skip]
pub(crate) const COMPLETIONS: Command = Command {
    name: "completions",
    operands: "SHELL",
    operand_kinds: &[SHELLS],
    brief: "print completions for bash, zsh or fish",
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
    operand_kinds: &[Kind::Directory],
    brief: "write man pages",
    about: "Writes one man page per command to a directory, or all of them to standard output.",
    notes: "\
Read:                         postern man | man -l -
Install:                      postern man ~/.local/share/man/man1",
    ..Command::EMPTY
};

/// `postern version`.
pub(crate) const VERSION: Command = Command {
    name: "version",
    brief: "show version and build",
    about: "Shows version and build.",
    flags: &[JSON],
    ..Command::EMPTY
};

/// `postern help`.
pub(crate) const HELP: Command = Command {
    name: "help",
    operands: "[COMMAND]",
    operand_kinds: &[Kind::Command],
    brief: "show the help of a command",
    about: "Shows the help of a command.",
    ..Command::EMPTY
};

/// `postern server` and its subcommands.
#[rustfmt::skip]
pub(crate) mod server {
    use super::{AT_HOME, Command, Flag, JSON, Kind, env};
    use crate::cli::args::app::YES;

    pub(crate) const LABEL: Flag = Flag::valued("label", "TEXT", "your own label for it, shown in lists");
    pub(crate) use crate::cli::args::command::ENROLL_TOKEN;
    pub(crate) const DEFAULT_FLAG: Flag = Flag::switch("default", "make it the relay that 'postern start' uses");

    pub(crate) const GROUP: Command = Command {
        name: "server",
        brief: "manage the relays that you use",
        about: "Manages the relays that you use: their enrolment tokens, and the default of 'postern start'.",
        commands: &[&LIST, &ADD, &REMOVE, &DEFAULT, &TRUST],
        notes: "An application keeps its relay until you change it with 'postern app edit'.",
        ..AT_HOME
    };
    pub(crate) const LIST: Command = Command {
        name: "server list",
        brief: "show DEFAULT, URL, STATUS, APPS, TOKEN, LABEL",
        about: "Lists the relays that you use.",
        flags: &[JSON],
        ..AT_HOME
    };
    pub(crate) const ADD: Command = Command {
        name: "server add",
        operands: "URL",
        operand_kinds: &[Kind::Server],
        brief: "add or update a relay",
        about: "Adds a relay, or updates it: settings that are not given stay unchanged.",
        flags: &[LABEL, ENROLL_TOKEN, DEFAULT_FLAG, JSON],
        environment: &[env::HOME, env::TOKEN],
        notes: "\
Exit status: 0 added, 1 failed, 2 invalid command line, 3 added but unreachable,
4 not added because the token was refused, 5 over a limit.",
        ..Command::EMPTY
    };
    pub(crate) const REMOVE: Command = Command {
        name: "server remove",
        brief: "remove a relay",
        about: "Removes a relay and its enrolment token from the list.",
        flags: &[JSON],
        environment: &[env::HOME],
        notes: "",
        ..ADD
    };
    pub(crate) const DEFAULT: Command = Command {
        name: "server default",
        operands: "URL|none",
        brief: "set the relay that 'postern start' uses",
        about: "Sets the relay that 'postern start' uses without --server; 'none' selects the built-in relay.",
        flags: &[],
        ..REMOVE
    };
    pub(crate) const TRUST: Command = Command {
        name: "server trust",
        brief: "trust a changed host key",
        about: "Shows the old and the new host key of a relay, and asks whether to trust the new one.",
        flags: &[YES, JSON],
        notes: "Exit status: 0 trusted, 1 the key has not changed, 3 unreachable, 4 not trusted.",
        ..REMOVE
    };
}

/// `postern service` and its subcommands.
#[rustfmt::skip]
pub(crate) mod service {
    use super::{AT_HOME, Command, Kind, env};

    const WHICH: Kind = Kind::Choice(&["start", "relay"]);

    pub(crate) const GROUP: Command = Command {
        name: "service",
        brief: "run as a systemd user service",
        about: "Runs 'postern start' or 'postern relay' as a systemd user service.",
        commands: &[&INSTALL, &REMOVE, &STATUS],
        ..AT_HOME
    };
    pub(crate) const INSTALL: Command = Command {
        name: "service install",
        operands: "[start|relay] [-- OPTIONS…]",
        operand_kinds: &[WHICH, Kind::Text],
        brief: "write, enable and start the unit",
        about: "Writes a hardened systemd user unit, enables it and starts it.",
        environment: &[env::HOME, env::SERVER, env::TOKEN],
        notes: "\
Options after -- are passed to 'postern start' or 'postern relay':
  postern service install start -- --server https://relay.example
POSTERN_SERVER, POSTERN_ENROLL_TOKEN, POSTERN_HOME, SSL_CERT_FILE and the
variables of proxies (such as HTTPS_PROXY and NO_PROXY), if set, are saved next
to the unit in a file that only you can read. A unit or file with that name
from another source is not changed.",
        ..Command::EMPTY
    };
    pub(crate) const REMOVE: Command = Command {
        name: "service remove",
        operands: "[start|relay]",
        operand_kinds: &[WHICH],
        brief: "stop and remove the unit",
        about: "Stops and disables the unit, and removes the files that 'service install' wrote.",
        ..AT_HOME
    };
    pub(crate) const STATUS: Command = Command {
        name: "service status",
        brief: "show whether it is installed, enabled and running",
        about: "Shows whether the unit is installed, enabled and running.",
        notes: "Exit status: 0 running, 1 not running.",
        flags: &[super::JSON],
        ..REMOVE
    };
}
