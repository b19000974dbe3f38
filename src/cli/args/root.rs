//! The program's own entry in the table, with the order of its commands.

use super::command::{Command, Flag};
use super::table::{mysql, plugin, relay, start, tunnel};
use super::{app, operations, share};

/// The program itself: its commands in the order of their help.
#[rustfmt::skip]
pub(crate) static ROOT: Command = Command {
    brief: "share web sites, ports and databases",
    about: "Shares web sites, databases and ports of this machine through tunnels, and serves a web SQL client for \
        MySQL-protocol databases.",
    flags: &[VERSION],
    commands: &[
        &share::HTTP, &share::HTTPS, &share::TCP, &share::SSH, &share::RDP, &share::VNC, &share::TELNET,
        &mysql::COMMAND, &start::COMMAND, &app::GROUP, &operations::STATUS, &operations::LOGS, &operations::DOCTOR,
        &operations::server::GROUP, &operations::service::GROUP, &relay::COMMAND, &plugin::GROUP, &tunnel::SERVER,
        &tunnel::CLIENT, &operations::DOCS, &operations::COMPLETIONS, &operations::MAN, &operations::VERSION,
        &operations::HELP,
    ],
    notes: "\
Share a web site until Ctrl-C:                 postern http 3000
Manage all shares on a local page:             postern start
Open the SQL client for a database:            postern plugin add mysql
                                               postern mysql HOST:PORT",
    ..Command::EMPTY
};
const VERSION: Flag = Flag::switch("version", "show the version").alias("V");

/// Every command of the table, the program first, each before its subcommands.
pub(crate) fn every_command() -> Vec<&'static Command> {
    fn collect(command: &'static Command, all: &mut Vec<&'static Command>) {
        all.push(command);
        for subcommand in command.commands {
            collect(subcommand, all);
        }
    }
    let mut all = Vec::new();
    collect(&ROOT, &mut all);
    all
}
