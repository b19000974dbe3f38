//! `postern app` and its subcommands.

use super::command::{Command, Flag, Kind, QR, of_field};
use super::table::{AT_HOME, PROTOCOLS, QUIET, environment as env};
pub(crate) use super::table::{JSON, WIDE};

#[rustfmt::skip]
pub(crate) const NO_WAIT: Flag = Flag::switch("no-wait", "return at once, without waiting");
#[rustfmt::skip]
pub(crate) const TIMEOUT: Flag = Flag::valued("timeout", "SECONDS",
    "maximum waiting time, in seconds or e.g. 5m (default 180); connecting continues afterwards");
#[rustfmt::skip]
pub(crate) const YES: Flag = Flag::valued("yes", "FINGERPRINT",
    "trust only the key with this fingerprint, without asking");
pub(crate) const DISPLAY_NAME: Flag = of_field("display-name");
pub(crate) const DB_USER: Flag = of_field("db-user");
pub(crate) const DB_PASS: Flag = of_field("db-pass");
pub(crate) const READWRITE: Flag = of_field("readwrite");
#[rustfmt::skip]
pub(crate) const KEEP_AUTOCONNECT: Flag = Flag::switch("keep-autoconnect",
    "keep the file's autoconnect settings");
pub(crate) const ADDRESS: Flag = of_field("address");
#[rustfmt::skip]
pub(crate) const AND_CONNECT: Flag = Flag::switch("connect", "connect it, wait, and print its link");
#[rustfmt::skip]
pub(crate) const REPLACE: Flag = Flag::switch("replace",
    "update the application of that name if it exists");
#[rustfmt::skip]
pub(crate) const ALL: Flag = Flag::switch("all", "all applications");
#[rustfmt::skip]
pub(crate) const ALL_OPEN: Flag = Flag::switch("all", "all connected or connecting applications");
#[rustfmt::skip]
pub(crate) const NEW: Flag = Flag::switch("new", "create a new code; the old code and all sign-ins end at once");
#[rustfmt::skip]
pub(crate) const WITH_SECRETS: Flag = Flag::switch("with-secrets",
    "include passwords, sealed with a passphrase (asked for on the terminal)");

#[rustfmt::skip]
pub(crate) const GROUP: Command = Command {
    name: "app",
    brief: "manage applications from scripts",
    about: "Lists and changes the applications of 'postern start'.",
    commands: &[
        &LIST, &ADD, &EDIT, &SHOW, &CONNECT, &RECONNECT, &DISCONNECT, &CODE, &QR_CODE, &SIGN_OUT, &TRUST, &EXPORT, &IMPORT,
        &REMOVE,
    ],
    notes: "\
Name an application by its ID, or by its name if it is unique.
Exit status: 0 done, 1 failed, 2 invalid command line, 3 unreachable, 4 refused,
5 over a limit, 130 interrupted while waiting.",
    ..AT_HOME
};
#[rustfmt::skip]
pub(crate) const LIST: Command = Command {
    name: "app list",
    brief: "list applications",
    about: "Lists the applications: ID, STATUS, PROTOCOL, ADDRESS, ACCESS, HEALTH, SITE, NAME. Columns are aligned \
        on a terminal, else separated by tabs.",
    flags: &[WIDE, JSON],
    ..AT_HOME
};
#[rustfmt::skip]
pub(crate) const ADD: Command = Command {
    name: "app add",
    operands: "PROTOCOL [ADDRESS]",
    operand_kinds: &[PROTOCOLS, Kind::Text],
    brief: "add an application",
    environment: &[env::HOME, env::DB_PASS],
    about: "Adds an application and prints its ID.",
    of_fields: Some(false),
    flags: &[AND_CONNECT, REPLACE, QR, JSON],
    notes: "\
PROTOCOL is one of http, https, tcp, ssh, rdp, vnc, telnet, mysql, mariadb.
ADDRESS is PORT, HOST or HOST:PORT (default: the protocol's port on 127.0.0.1).
A whole URL such as http://127.0.0.1:3000/ can replace either or both.",
    ..Command::EMPTY
};
#[rustfmt::skip]
pub(crate) const EDIT: Command = Command {
    name: "app edit",
    operands: "ID…",
    operand_kinds: &[Kind::Application],
    brief: "change settings of applications",
    environment: &[env::HOME, env::DB_PASS],
    about: "Changes the given settings and keeps all others.",
    of_fields: Some(true),
    flags: &[JSON],
    notes: "\
An empty value removes a setting: --until '' removes the end time, --allow ''
allows every network, --guest '' ends the guest account, --name '' restores the
initial name. --max-streams 0 removes the limit. --for counts from now; the
previous end time does not matter. POSTERN_DB_PASS is used together with
--db-user, or if no other setting is given. For a connected application, code,
end time and networks apply at once; everything else applies after the next
connect ('postern app reconnect').",
    ..Command::EMPTY
};
#[rustfmt::skip]
pub(crate) const CONNECT: Command = Command {
    name: "app connect",
    operands: "ID…",
    operand_kinds: &[Kind::Application],
    brief: "connect and wait until connected",
    about: "Connects applications, waits until they are connected and prints their links.",
    flags: &[ALL, JSON, NO_WAIT, TIMEOUT, QR, QUIET],
    ..AT_HOME
};
#[rustfmt::skip]
pub(crate) const RECONNECT: Command = Command {
    name: "app reconnect",
    brief: "disconnect and connect with the saved settings",
    about: "Disconnects applications, connects them with the saved settings, and waits like 'app connect'.",
    flags: &[ALL_OPEN, JSON, NO_WAIT, TIMEOUT, QR, QUIET],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const DISCONNECT: Command = Command {
    name: "app disconnect",
    brief: "disconnect applications",
    about: "Disconnects applications.",
    flags: &[ALL, JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const SHOW: Command = Command {
    name: "app show",
    brief: "show saved and active settings",
    about: "Shows saved and active settings of applications.",
    flags: &[JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const CODE: Command = Command {
    name: "app code",
    brief: "show or renew the code of an invisible application",
    about: "Shows the code of an invisible application and the link that contains it.",
    flags: &[NEW, QR, JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const QR_CODE: Command = Command {
    name: "app qr",
    brief: "show the link as a QR code",
    about: "Shows the link of a connected application, with its code if it has one, as a QR code.",
    flags: &[JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const SIGN_OUT: Command = Command {
    name: "app signout",
    brief: "sign out and disconnect all visitors",
    about: "Signs out and disconnects all visitors. The code does not change.",
    flags: &[JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const TRUST: Command = Command {
    name: "app trust",
    operands: "ID",
    brief: "trust a changed host key",
    about: "Shows the old and the new host key of an application's relay, and asks whether to trust the new one.",
    flags: &[YES, JSON],
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const EXPORT: Command = Command {
    name: "app export",
    operands: "[ID…]",
    brief: "write applications as JSON",
    about: "Writes the given applications, or all, as JSON with their relays, without passwords and codes.",
    flags: &[WITH_SECRETS],
    notes: "\
Secrets are sealed with AES-256-GCM; the key comes from PBKDF2-HMAC-SHA-256.
Salt and iterations are in the file.",
    ..CONNECT
};
#[rustfmt::skip]
pub(crate) const IMPORT: Command = Command {
    name: "app import",
    operands: "FILE",
    operand_kinds: &[Kind::File],
    brief: "add applications from an export",
    about: "Adds the applications of a file written by 'app export', and reports skipped ones.",
    flags: &[KEEP_AUTOCONNECT, JSON],
    notes: "\
FILE is - for standard input. Applications with existing names are skipped.
Nothing is connected now, and without --keep-autoconnect nothing connects
automatically later. Each application is listed with its relay.",
    ..CONNECT
};
pub(crate) const RELEASE: Flag = Flag::switch(
    "release",
    "also release the name of its site, so that others can have it",
);
#[rustfmt::skip]
pub(crate) const REMOVE: Command = Command {
    name: "app remove",
    brief: "disconnect and remove applications",
    about: "Disconnects applications and removes them. The relay reserves the names of their sites for 30 days.",
    flags: &[RELEASE, JSON],
    ..CONNECT
};
