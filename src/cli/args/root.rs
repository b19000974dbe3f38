//! The program's own entry in the table, with the order of its commands; and the commands that share one protocol.

use super::command::{
    ALLOW, AUDIT, Command, ENROLL_TOKEN, FOR, Flag, HOST, INVISIBLE_SITE, JSON, MAX_STREAMS, NAME,
    NO_OPEN, QR, SERVER, SITE_NAME, UNTIL, VISIBLE_PORT, VISIBLE_SITE,
};
use super::table::{VERBOSE, environment as env, mysql, plugin, relay, start, tunnel};
use super::{app, operations};

/// The program itself: its commands in the order of their help.
#[rustfmt::skip]
pub(crate) static ROOT: Command = Command {
    brief: "share web sites, ports and databases",
    about: "Shares web sites, databases and ports of this machine through tunnels, and serves a web SQL client for \
        MySQL-protocol databases.",
    flags: &[VERSION],
    commands: &[
        &HTTP, &HTTPS, &TCP, &SSH, &RDP, &VNC, &TELNET,
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

const NOTES: &str = "\
Shares until Ctrl-C or the end time, through your 'postern start' if it is
running. The first line of standard output is the link; visitors are shown on
standard error.

Target (default: the protocol's port on 127.0.0.1):
  PORT                        this port on 127.0.0.1
  HOST, HOST:PORT             a host name or address
  [IPV6], [IPV6]:PORT         an IPv6 address
  http://HOST:PORT/           a whole URL

A path in the URL is the page the link opens; the whole site is shared.

Exit status: 0 done, 1 failed, 2 invalid command line, 3 unreachable, 4 refused,
5 over a limit, 130 ended by Ctrl-C before anything was shared.";

const TCP_NOTES: &str = "\
Shares until Ctrl-C or the end time, through your 'postern start' if it is
running. The first line of standard output is the address; visitors are shown
on standard error. A port cannot ask for a code: on a relay that others can
reach, limit access with --allow, or open the port to everybody with --visible.

Target (default: the protocol's port on 127.0.0.1):
  PORT                        this port on 127.0.0.1
  HOST, HOST:PORT             a host name or address
  [IPV6], [IPV6]:PORT         an IPv6 address

Exit status: 0 done, 1 failed, 2 invalid command line, 3 unreachable, 4 refused,
5 over a limit, 130 ended by Ctrl-C before anything was shared.";

pub(crate) const HTTP: Command = Command {
    name: "http",
    brief: "share a web site until Ctrl-C",
    operands: "[target]",
    about: "Shares a web site until Ctrl-C, and prints its link.",
    flags: &[
        SERVER,
        ENROLL_TOKEN,
        NAME,
        SITE_NAME,
        FOR,
        UNTIL,
        INVISIBLE_SITE,
        VISIBLE_SITE,
        ALLOW,
        HOST,
        MAX_STREAMS,
        AUDIT,
        QR,
        JSON,
        NO_OPEN,
        VERBOSE,
    ],
    environment: &[
        env::HOME,
        env::SERVER,
        env::TOKEN,
        env::CERTIFICATES,
        env::PROXY,
        env::NO_PROXY,
    ],
    notes: NOTES,
    ..Command::EMPTY
};
pub(crate) const HTTPS: Command = Command {
    name: "https",
    brief: "share an https web site",
    about: "Shares an https web site until Ctrl-C, and prints its link.",
    ..HTTP
};
pub(crate) const TCP: Command = Command {
    name: "tcp",
    brief: "share a port",
    about: "Shares a port until Ctrl-C, and prints the public address.",
    flags: &[
        SERVER,
        ENROLL_TOKEN,
        NAME,
        FOR,
        UNTIL,
        ALLOW,
        VISIBLE_PORT,
        MAX_STREAMS,
        AUDIT,
        QR,
        JSON,
        NO_OPEN,
        VERBOSE,
    ],
    notes: TCP_NOTES,
    ..HTTP
};
pub(crate) const SSH: Command = Command {
    name: "ssh",
    brief: "share an SSH server",
    about: "Shares an SSH server until Ctrl-C, and prints the ssh command for visitors.",
    ..TCP
};
pub(crate) const RDP: Command = Command {
    name: "rdp",
    brief: "share a remote desktop (RDP)",
    about: "Shares a remote desktop (RDP) until Ctrl-C, and prints the public address.",
    ..TCP
};
pub(crate) const VNC: Command = Command {
    name: "vnc",
    brief: "share a remote desktop (VNC)",
    about: "Shares a remote desktop (VNC) until Ctrl-C, and prints the public address.",
    ..TCP
};
pub(crate) const TELNET: Command = Command {
    name: "telnet",
    brief: "share a telnet server",
    about: "Shares a telnet server until Ctrl-C, and prints the telnet command for visitors.",
    ..TCP
};

/// Commands that share one protocol each.
pub(crate) static COMMANDS: [&Command; 7] = [&HTTP, &HTTPS, &TCP, &SSH, &RDP, &VNC, &TELNET];
