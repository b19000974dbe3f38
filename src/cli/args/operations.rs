//! Commands that look after the rest: what is there, whether it works, and what belongs to the shell.

use super::command::{Command, Kind};
use super::table::JSON;

const SHELLS: Kind = Kind::Choice(&["bash", "zsh", "fish"]);
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
