//! `postern http` and the like, a command a protocol.

use super::command::{Command, Kind};
use super::flags::{
    ALLOW, AUDIT, ENROLL_TOKEN, FOR, HOST, INVISIBLE, JSON, MAX_STREAMS, NAME, NO_OPEN, QR, SERVER,
    SITE_NAME, UNTIL, VISIBLE,
};
use super::table::{VERBOSE, environment as env};

const NOTES: &str = "\
It is shared until Ctrl-C, or until its time is over, through the running
'postern start' of yours where there is one. The link is the first line on
standard output, visitors follow on standard error.

Target (default: the protocol's port of 127.0.0.1):
  PORT                        that port of 127.0.0.1
  HOST, HOST:PORT             a host, by name or address
  [IPV6], [IPV6]:PORT         an IPv6 address
  http://HOST:PORT/           a whole URL

A path in the URL is where the link opens the site; all of it is shared.

Exit status: 0 done, 1 failed, 2 the command line is wrong, 3 not reached,
4 refused, 5 over a limit, 130 ended by Ctrl-C before anything was shared.";

const TCP_NOTES: &str = "\
It is shared until Ctrl-C, or until its time is over, through the running
'postern start' of yours where there is one. The address is the first line on
standard output, visitors follow on standard error. Such programs cannot be
asked for a code: through a server that others reach, say with --allow who may
connect, or with --visible that everybody may.

Target (default: the protocol's port of 127.0.0.1):
  PORT                        that port of 127.0.0.1
  HOST, HOST:PORT             a host, by name or address
  [IPV6], [IPV6]:PORT         an IPv6 address

Exit status: 0 done, 1 failed, 2 the command line is wrong, 3 not reached,
4 refused, 5 over a limit, 130 ended by Ctrl-C before anything was shared.";

pub(crate) const HTTP: Command = Command {
    name: "http",
    brief: "share a web site until Ctrl-C",
    operands: "[target]",
    operand_count: 0..=1,
    operand_kinds: &[Kind::Text],
    about: "Shares a web site until Ctrl-C, and prints its link.",
    flags: &[
        SERVER,
        ENROLL_TOKEN,
        NAME,
        SITE_NAME,
        FOR,
        UNTIL,
        INVISIBLE,
        VISIBLE,
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
    brief: "share a web site that speaks TLS",
    about: "Shares a web site that speaks TLS until Ctrl-C, and prints its link.",
    ..HTTP
};
pub(crate) const TCP: Command = Command {
    name: "tcp",
    brief: "share a port",
    about: "Shares a port until Ctrl-C, and prints where others reach it.",
    flags: &[
        SERVER,
        ENROLL_TOKEN,
        NAME,
        FOR,
        UNTIL,
        ALLOW,
        VISIBLE,
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
    about: "Shares an SSH server until Ctrl-C, and prints how others reach it.",
    ..TCP
};
pub(crate) const RDP: Command = Command {
    name: "rdp",
    brief: "share a remote desktop (RDP)",
    about: "Shares a remote desktop (RDP) until Ctrl-C, and prints where others reach it.",
    ..TCP
};
pub(crate) const VNC: Command = Command {
    name: "vnc",
    brief: "share a remote desktop (VNC)",
    about: "Shares a remote desktop (VNC) until Ctrl-C, and prints where others reach it.",
    ..TCP
};
pub(crate) const TELNET: Command = Command {
    name: "telnet",
    brief: "share a telnet server",
    about: "Shares a telnet server until Ctrl-C, and prints how others reach it.",
    ..TCP
};

/// Every protocol that is shared by one word of its own.
pub(crate) static COMMANDS: [&Command; 7] = [&HTTP, &HTTPS, &TCP, &SSH, &RDP, &VNC, &TELNET];
