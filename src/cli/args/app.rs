//! `postern app` and its subcommands.

use super::command::{Command, Flag, Kind};
use super::flags::{
    ALLOW, AUDIT, ENROLL_TOKEN, FOR, GROUP as HEADING, GUEST, HOST, INVISIBLE, MAX_STREAMS, NAME,
    QR, RECORD_SQL, SERVER, SITE_NAME, UNTIL, VISIBLE,
};
pub(crate) use super::table::{JSON, WIDE};
use super::table::{PROTOCOLS, QUIET, environment as env};

#[rustfmt::skip]
pub(crate) const NO_WAIT: Flag = Flag::switch("no-wait", "do not wait");
#[rustfmt::skip]
pub(crate) const TIMEOUT: Flag = Flag::valued("timeout", "SECONDS",
    "wait no longer than this, also as in 5m (default 180); it goes on by itself");
#[rustfmt::skip]
pub(crate) const YES: Flag = Flag::valued("yes", "FINGERPRINT",
    "do not ask: trust the key with this fingerprint, and no other");
#[rustfmt::skip]
pub(crate) const TUNNEL_PORT: Flag = Flag::valued("tunnel-port", "PORT", "the tunnel server's port");
#[rustfmt::skip]
pub(crate) const DISPLAY_NAME: Flag = Flag::valued("display-name", "NAME", "what the server calls it");
#[rustfmt::skip]
pub(crate) const USERNAME: Flag = Flag::valued("app-username", "NAME", "a user name to keep with it");
#[rustfmt::skip]
pub(crate) const AUTH_PASS: Flag = Flag::valued("app-pass", "PASSWORD",
    "its password; other users of this machine can see it in the list of processes");
#[rustfmt::skip]
pub(crate) const DB_USER: Flag = Flag::valued("db-user", "NAME", "database user (default root)");
#[rustfmt::skip]
pub(crate) const DB_PASS: Flag = Flag::valued("db-pass", "PASSWORD",
    "its password; other users of this machine can see it in the list of processes: POSTERN_DB_PASS is safer");
#[rustfmt::skip]
pub(crate) const DB_NAME: Flag = Flag::valued("db-name", "NAME", "database to begin with");
#[rustfmt::skip]
pub(crate) const READONLY: Flag = Flag::switch("readonly",
    "refuse every statement that could write (default for databases)");
#[rustfmt::skip]
pub(crate) const READWRITE: Flag = Flag::switch("readwrite", "let statements write");
#[rustfmt::skip]
pub(crate) const AUTOCONNECT: Flag = Flag::switch("autoconnect", "connect it whenever 'postern start' starts");
#[rustfmt::skip]
pub(crate) const NO_AUTOCONNECT: Flag = Flag::switch("no-autoconnect", "do not");
#[rustfmt::skip]
pub(crate) const KEEP_AUTOCONNECT: Flag = Flag::switch("keep-autoconnect",
    "connect whenever 'postern start' starts what the file says so of");
#[rustfmt::skip]
pub(crate) const NO_AUDIT: Flag = Flag::switch("no-audit", "keep nothing in files");
#[rustfmt::skip]
pub(crate) const NO_RECORD_SQL: Flag = Flag::switch("no-record-sql", "keep no statements' texts");
#[rustfmt::skip]
pub(crate) const ADDRESS: Flag = Flag::valued("address", "ADDRESS", "where it is: PORT, HOST, HOST:PORT or a URL");
#[rustfmt::skip]
pub(crate) const AND_CONNECT: Flag = Flag::switch("connect", "connect it too, wait, and print its link");
#[rustfmt::skip]
pub(crate) const REPLACE: Flag = Flag::switch("replace",
    "where there is one of that name, change it in place of adding another");
#[rustfmt::skip]
pub(crate) const ALL: Flag = Flag::switch("all", "all applications");
#[rustfmt::skip]
pub(crate) const ALL_OPEN: Flag = Flag::switch("all", "all that are connected or connecting");
#[rustfmt::skip]
pub(crate) const NEW: Flag = Flag::switch("new", "make a new one: the old one and all sign-ins end at once");
#[rustfmt::skip]
pub(crate) const WITH_SECRETS: Flag = Flag::switch("with-secrets",
    "passwords too, sealed with a passphrase that is asked for on the terminal");

#[rustfmt::skip]
pub(crate) const GROUP: Command = Command {
    name: "app",
    brief: "the manager's applications, for scripts",
    about: "Lists and changes the applications of 'postern start', for scripts.",
    commands: &[
        &LIST, &ADD, &EDIT, &SHOW, &CONNECT, &RECONNECT, &DISCONNECT, &CODE, &QR_CODE, &SIGN_OUT, &TRUST, &EXPORT, &IMPORT,
        &REMOVE,
    ],
    environment: &[env::HOME],
    notes: "\
An application is meant by its ID, or by its name where only one has it.
Exit status: 0 done, 1 failed, 2 the command line is wrong, 3 not reached,
4 refused, 5 over a limit, 130 the waiting was interrupted.",
    ..Command::EMPTY
};
#[rustfmt::skip]
pub(crate) const LIST: Command = Command {
    name: "app list",
    brief: "show ID, STATUS, PROTOCOL, ADDRESS, ACCESS, HEALTH, SITE, NAME",
    about: "Lists the applications: in aligned columns on a terminal, else in columns that tabs separate.",
    flags: &[WIDE, JSON],
    environment: &[env::HOME],
    ..Command::EMPTY
};
#[rustfmt::skip]
pub(crate) const ADD: Command = Command {
    name: "app add",
    operands: "PROTOCOL [ADDRESS]",
    operand_count: 1..=2,
    operand_kinds: &[PROTOCOLS, Kind::Text],
    brief: "add an application",
    environment: &[env::HOME, env::DB_PASS],
    about: "Adds an application and prints its ID.",
    flags: &[
        NAME, SERVER, ENROLL_TOKEN, TUNNEL_PORT, SITE_NAME, DISPLAY_NAME, INVISIBLE, VISIBLE, FOR, UNTIL, ALLOW,
        HOST, MAX_STREAMS, HEADING, AUDIT, USERNAME, AUTH_PASS, DB_USER, DB_PASS, DB_NAME, READONLY, READWRITE,
        GUEST, RECORD_SQL, AUTOCONNECT, AND_CONNECT, REPLACE, QR, JSON,
    ],
    notes: "\
PROTOCOL is one of http, https, tcp, ssh, rdp, vnc, telnet, mysql, mariadb.
ADDRESS is PORT, HOST or HOST:PORT (default: the protocol's port of 127.0.0.1).
A whole URL, as http://127.0.0.1:3000/, stands for either or both.",
    ..Command::EMPTY
};
#[rustfmt::skip]
pub(crate) const EDIT: Command = Command {
    name: "app edit",
    operands: "ID…",
    operand_count: 1..=usize::MAX,
    operand_kinds: &[Kind::Application],
    brief: "change what the flags name",
    environment: &[env::HOME, env::DB_PASS],
    about: "Changes what the flags name, and leaves the rest as it is.",
    flags: &[
        NAME, ADDRESS, SERVER, ENROLL_TOKEN, TUNNEL_PORT, SITE_NAME, DISPLAY_NAME, INVISIBLE, VISIBLE, FOR, UNTIL,
        ALLOW, HOST, MAX_STREAMS, HEADING, AUDIT, NO_AUDIT, USERNAME, AUTH_PASS, DB_USER, DB_PASS, DB_NAME,
        READONLY, READWRITE, GUEST, RECORD_SQL, NO_RECORD_SQL, AUTOCONNECT, NO_AUTOCONNECT, JSON,
    ],
    notes: "\
An empty value clears: --name '' takes the name that it had at first, --until ''
lets it last, --allow '' lets everybody in, --guest '' ends the guest account,
--max-streams 0 the limit. POSTERN_DB_PASS counts with --db-user, or where
nothing else is changed. Of what is connected, the code, the end and the
networks count at once, everything else (--invisible, --address, --host,
--guest) at the next connect: 'postern app reconnect' makes one.",
    ..Command::EMPTY
};
#[rustfmt::skip]
pub(crate) const CONNECT: Command = Command {
    name: "app connect",
    operands: "ID…",
    operand_count: 0..=usize::MAX,
    operand_kinds: &[Kind::Application],
    brief: "connect it, and wait until it is connected",
    environment: &[env::HOME],
    about: "Connects applications, waits until they are connected and prints their links.",
    flags: &[ALL, JSON, NO_WAIT, TIMEOUT, QR, QUIET],
    ..Command::EMPTY
};
#[rustfmt::skip]
pub(crate) const RECONNECT: Command = Command {
    name: "app reconnect",
    brief: "disconnect and connect it, so that what is saved counts",
    about: "Disconnects applications, connects them with what is saved, and waits as 'app connect' does.",
    flags: &[ALL_OPEN, JSON, NO_WAIT, TIMEOUT, QR, QUIET],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const DISCONNECT: Command = Command {
    name: "app disconnect",
    brief: "disconnect it",
    about: "Disconnects applications.",
    flags: &[ALL, JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const SHOW: Command = Command {
    name: "app show",
    operand_count: 1..=usize::MAX,
    brief: "show its settings, and what is in force",
    about: "Shows the settings of applications, and what is in force.",
    flags: &[JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const CODE: Command = Command {
    name: "app code",
    operand_count: 1..=usize::MAX,
    brief: "show the code of an invisible one, or make a new one",
    about: "Shows the code of an invisible application and the link that carries it.",
    flags: &[NEW, QR, JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const QR_CODE: Command = Command {
    name: "app qr",
    operand_count: 1..=usize::MAX,
    brief: "show its link as a QR code",
    about: "Shows the link of a connected application as a QR code, with the code where there is one.",
    flags: &[],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const SIGN_OUT: Command = Command {
    name: "app signout",
    operand_count: 1..=usize::MAX,
    brief: "end all sign-ins and open connections of visitors",
    about: "Ends all sign-ins and open connections of visitors; the code stays.",
    flags: &[JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const TRUST: Command = Command {
    name: "app trust",
    operands: "ID",
    operand_count: 1..=1,
    brief: "accept the changed host key of its tunnel server",
    about: "Shows the changed host key of an application's tunnel server beside the known one, and asks whether to trust it.",
    flags: &[YES],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const EXPORT: Command = Command {
    name: "app export",
    operands: "[ID…]",
    brief: "write applications as JSON",
    about: "Writes applications as JSON with their servers, all where none is named, without passwords and codes.",
    flags: &[WITH_SECRETS],
    notes: "\
The secrets are sealed with AES-256-GCM under a key of PBKDF2-HMAC-SHA-256; the
file says how often and with which salt.",
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const IMPORT: Command = Command {
    name: "app import",
    operands: "FILE",
    operand_count: 1..=1,
    operand_kinds: &[Kind::File],
    brief: "add the applications of such a file",
    about: "Adds the applications of a file that 'app export' wrote, and says what it leaves out.",
    flags: &[KEEP_AUTOCONNECT, JSON],
    notes: "\
FILE is - for standard input. One whose name is there already is left out.
Nothing is connected, and without --keep-autoconnect nothing connects by
itself later: it says of each what it would do, and through which server.",
    ..CONNECT
};
pub(crate) const RELEASE: Flag = Flag::switch(
    "release",
    "also release the name of its site, so that others can have it",
);
#[rustfmt::skip]
pub(crate) const REMOVE: Command = Command {
    name: "app remove",
    operand_count: 1..=usize::MAX,
    brief: "disconnect and remove it",
    about: "Disconnects applications and removes them. Their server reserves the names of their sites for 30 days.",
    flags: &[RELEASE, JSON],
    ..CONNECT
};
