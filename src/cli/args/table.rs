//! Every command with its flags: command lines are parsed from this table, and helps are printed from it.

use super::command::{Command, Flag};

#[rustfmt::skip]
pub(crate) const VERBOSE: Flag = Flag::switch("verbose", "log what is done to stderr").alias("v").repeatable();
#[rustfmt::skip]
pub(crate) const NO_OPEN: Flag = Flag::switch("no-open", "do not open a browser");
#[rustfmt::skip]
pub(crate) const ALLOW_HOST: Flag = Flag::valued("allow-host", "HOST[:PORT]",
    "also serve requests made to this name, as through a proxy; may be repeated").repeatable();
#[rustfmt::skip]
pub(crate) const ALLOW_OTHER_USERS: Flag = Flag::switch("allow-other-users",
    "also serve the other users of this machine");

/// `postern mysql`, and the same under its other name.
#[rustfmt::skip]
pub(crate) mod mysql {
    use super::{Command, Flag};

    pub(crate) const USER: Flag = Flag::valued("db-user", "NAME", "database user (default root)").alias("username");
    pub(crate) const PASSWORD: Flag = Flag::valued("db-pass", "PASSWORD",
        "its password; other users of this machine can see it in the list of processes: \
         POSTERN_DB_PASS or the prompt is safer").alias("auth-pass");
    pub(crate) const DATABASE: Flag = Flag::valued("db-name", "NAME", "database to begin with");
    pub(crate) const READONLY: Flag = Flag::switch("readonly",
        "refuse every statement that could write (default: read-write)");
    pub(crate) const INVISIBLE: Flag = Flag::switch("invisible",
        "ask visitors for the authorization code that is printed at the start");
    pub(crate) const LISTEN: Flag = Flag::valued("listen", "HOST:PORT",
        "address of the web client (default 127.0.0.1:8306, or the next free port up to 8405); one that other \
         machines reach needs --invisible");
    pub(crate) const TLS: Flag = Flag::valued("tls", "MODE",
        "encryption to the database: off, prefer (default: where the server offers it), require, \
         verify-ca (require, and check that the certificate is from the authority in SSL_CERT_FILE), verify (and that \
         it is the host's; public authorities count too)");
    pub(crate) const QUERY_TIMEOUT: Flag = Flag::valued("query-timeout", "SECONDS",
        "end statements that run longer (default: no limit)");
    pub(crate) const SHARE: Flag = Flag::switch("share",
        "let others reach the web client through a server: read-only, and with a code");
    pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
        "with --share: the server (default: POSTERN_SERVER, else a relay for this machine alone)");
    pub(crate) const READWRITE: Flag = Flag::switch("readwrite", "with --share: let visitors change the database");
    pub(crate) const VISIBLE: Flag = Flag::switch("visible", "with --share: let visitors in without a code");
    pub(crate) use super::{ALLOW_HOST, ALLOW_OTHER_USERS, NO_OPEN, VERBOSE};

    pub(crate) const COMMAND: Command = Command {
        name: "mysql",
        operands: "[target]",
        operand_count: 0..=1,
        about: "Opens a web SQL client for a MySQL or MariaDB database.",
        flags: &[
            USER, PASSWORD, DATABASE, READONLY, INVISIBLE, LISTEN, NO_OPEN, ALLOW_HOST, TLS, QUERY_TIMEOUT,
            ALLOW_OTHER_USERS, SHARE, SERVER, READWRITE, VISIBLE, VERBOSE,
        ],
        notes: "\
Target (default 127.0.0.1:3306):
  PORT                        that port of 127.0.0.1
  HOST, HOST:PORT             a host, by name or address
  [IPV6], [IPV6]:PORT         an IPv6 address
  /path/to/socket             a Unix socket
  mysql://USER:PASS@HOST:PORT/DB
                              all but the host optional, percent-encoded;
                              a password here is as visible as --db-pass

What neither flags, URL nor POSTERN_DB_PASS say is asked for. Where standard
input is no terminal, its lines answer: user, password, database.",
    };
}

/// `postern start`.
#[rustfmt::skip]
pub(crate) mod start {
    use super::{Command, Flag};

    pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
        "the remote server that applications are connected through (default: POSTERN_SERVER, else a relay within \
         this process, for this machine alone)");
    pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
        "enrol at the server with this token; other users of this machine can see it in the list of processes: \
         POSTERN_ENROLL_TOKEN is safer");
    pub(crate) const INSECURE: Flag = Flag::switch("insecure",
        "reach servers off this machine by http too: passwords cross the network unprotected");
    pub(crate) const RESET: Flag = Flag::switch("reset-credentials",
        "forget what the servers know this machine by, and begin afresh; the file is kept aside");
    pub(crate) const PRINT_UNIT: Flag = Flag::switch("print-systemd-unit",
        "print a hardened unit file for these options, for systemd's user manager, and end");
    pub(crate) use super::{ALLOW_HOST, ALLOW_OTHER_USERS, NO_OPEN, VERBOSE};

    pub(crate) const COMMAND: Command = Command {
        name: "start",
        operands: "[port]",
        operand_count: 0..=1,
        about: "Starts the manager: a page on 127.0.0.1 that shares applications through tunnels.",
        flags: &[SERVER, ENROLL_TOKEN, ALLOW_HOST, INSECURE, NO_OPEN, RESET, ALLOW_OTHER_USERS, PRINT_UNIT, VERBOSE],
        notes: "The port is 8181 where none is named; 0 takes a free one.",
    };
}

/// `postern app` and its subcommands.
#[rustfmt::skip]
pub(crate) mod app {
    use super::{Command, Flag};
    use crate::cli::args::flags::{
        ALLOW, AUDIT, ENROLL_TOKEN, FOR, GROUP as HEADING, GUEST, HOST, INVISIBLE, MAX_STREAMS, NAME, QR, RECORD_SQL,
        SERVER, SITE_NAME, UNTIL, VISIBLE,
    };

    pub(crate) const JSON: Flag = Flag::switch("json", "print JSON");
    pub(crate) const NO_WAIT: Flag = Flag::switch("no-wait", "do not wait");
    pub(crate) const YES: Flag = Flag::valued("yes", "FINGERPRINT",
        "do not ask: trust the key with this fingerprint, and no other");
    pub(crate) const TUNNEL_PORT: Flag = Flag::valued("tunnel-port", "PORT", "the tunnel server's port");
    pub(crate) const DISPLAY_NAME: Flag = Flag::valued("display-name", "NAME", "what the server calls it");
    pub(crate) const USERNAME: Flag = Flag::valued("app-username", "NAME", "a user name to keep with it");
    pub(crate) const AUTH_PASS: Flag = Flag::valued("app-pass", "PASSWORD",
        "its password; other users of this machine can see it in the list of processes");
    pub(crate) const DB_USER: Flag = Flag::valued("db-user", "NAME", "database user (default root)");
    pub(crate) const DB_PASS: Flag = Flag::valued("db-pass", "PASSWORD",
        "its password; other users of this machine can see it in the list of processes: POSTERN_DB_PASS is safer");
    pub(crate) const DB_NAME: Flag = Flag::valued("db-name", "NAME", "database to begin with");
    pub(crate) const READONLY: Flag = Flag::switch("readonly",
        "refuse every statement that could write (default for databases)");
    pub(crate) const READWRITE: Flag = Flag::switch("readwrite", "let statements write");
    pub(crate) const AUTOCONNECT: Flag = Flag::switch("autoconnect", "connect it whenever 'postern start' starts");
    pub(crate) const NO_AUTOCONNECT: Flag = Flag::switch("no-autoconnect", "do not");
    pub(crate) const NO_AUDIT: Flag = Flag::switch("no-audit", "keep nothing in files");
    pub(crate) const NO_RECORD_SQL: Flag = Flag::switch("no-record-sql", "keep no statements' texts");
    pub(crate) const ADDRESS: Flag = Flag::valued("address", "ADDRESS", "where it is: PORT, HOST, HOST:PORT or a URL");
    pub(crate) const AND_CONNECT: Flag = Flag::switch("connect", "connect it too, wait, and print its link");
    pub(crate) const REPLACE: Flag = Flag::switch("replace",
        "where there is one of that name, change it in place of adding another");
    pub(crate) const ALL: Flag = Flag::switch("all", "all applications");
    pub(crate) const NEW: Flag = Flag::switch("new", "make a new one: the old one and all sign-ins end at once");
    pub(crate) const WITH_SECRETS: Flag = Flag::switch("with-secrets",
        "passwords too, sealed with a passphrase that is asked for on the terminal");

    pub(crate) const GROUP: Command = Command {
        name: "app",
        operands: "list|add|edit|show|connect|…",
        operand_count: 0..=usize::MAX,
        about: "Lists and changes the applications of 'postern start', for scripts.",
        flags: &[],
        notes: "\
Commands:
  list                        show ID, STATUS, PROTOCOL, ADDRESS, ACCESS, HEALTH,
                              SITE, NAME
  add PROTOCOL [ADDRESS]      add an application
  edit ID…                    change what the flags name
  show ID…                    show its settings and what is in force
  connect ID…|--all           connect it, and wait until it is connected
  disconnect ID…|--all        disconnect it
  code ID…                    show the code of an invisible one, or make a new one
  qr ID…                      show its link as a QR code
  signout ID…                 end all sign-ins and open connections of visitors
  trust ID                    accept the changed host key of its tunnel server
  export [ID…]                write applications as JSON
  import FILE                 add applications of such a file
  remove ID…                  disconnect and remove it
An application is meant by its ID, or by its name where only one has it.
Exit status: 0 done, 1 failed, 2 the command line is wrong, 3 not reached, 4 refused,
5 over a limit, 130 the waiting was interrupted.",
    };
    pub(crate) const LIST: Command = Command {
        name: "app list",
        operands: "",
        operand_count: 0..=0,
        about: "Lists the applications, in columns that tabs separate.",
        flags: &[JSON],
        notes: "",
    };
    pub(crate) const ADD: Command = Command {
        name: "app add",
        operands: "PROTOCOL [ADDRESS]",
        operand_count: 1..=2,
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
    };
    pub(crate) const EDIT: Command = Command {
        name: "app edit",
        operands: "ID…",
        operand_count: 1..=usize::MAX,
        about: "Changes what the flags name, and leaves the rest as it is.",
        flags: &[
            NAME, ADDRESS, SERVER, ENROLL_TOKEN, TUNNEL_PORT, SITE_NAME, DISPLAY_NAME, INVISIBLE, VISIBLE, FOR, UNTIL,
            ALLOW, HOST, MAX_STREAMS, HEADING, AUDIT, NO_AUDIT, USERNAME, AUTH_PASS, DB_USER, DB_PASS, DB_NAME,
            READONLY, READWRITE, GUEST, RECORD_SQL, NO_RECORD_SQL, AUTOCONNECT, NO_AUTOCONNECT, JSON,
        ],
        notes: "\
An empty value clears: --name '' takes the name that it had at first, --until ''
lets it last, --allow '' lets everybody in, --guest '' ends the guest account,
--max-streams 0 the limit. What is connected keeps what it has until it is
connected again, but for the time, the networks and the code: those count at once.",
    };
    pub(crate) const CONNECT: Command = Command {
        name: "app connect",
        operands: "ID…",
        operand_count: 0..=usize::MAX,
        about: "Connects applications, waits until they are connected and prints their links.",
        flags: &[ALL, JSON, NO_WAIT, QR],
        notes: "",
    };
    pub(crate) const DISCONNECT: Command = Command {
        name: "app disconnect",
        about: "Disconnects applications.",
        flags: &[ALL, JSON],
        ..CONNECT
    };
    pub(crate) const SHOW: Command = Command {
        name: "app show",
        operand_count: 1..=usize::MAX,
        about: "Shows the settings of applications, and what is in force.",
        flags: &[JSON],
        ..CONNECT
    };
    pub(crate) const CODE: Command = Command {
        name: "app code",
        operand_count: 1..=usize::MAX,
        about: "Shows the code of an invisible application and the link that carries it.",
        flags: &[NEW, QR, JSON],
        ..CONNECT
    };
    pub(crate) const QR_CODE: Command = Command {
        name: "app qr",
        operand_count: 1..=usize::MAX,
        about: "Shows the link of a connected application as a QR code, with the code where there is one.",
        flags: &[],
        ..CONNECT
    };
    pub(crate) const SIGN_OUT: Command = Command {
        name: "app signout",
        operand_count: 1..=usize::MAX,
        about: "Ends all sign-ins and open connections of visitors; the code stays.",
        flags: &[JSON],
        ..CONNECT
    };
    pub(crate) const TRUST: Command = Command {
        name: "app trust",
        operands: "ID",
        operand_count: 1..=1,
        about: "Shows the changed host key of an application's tunnel server beside the known one, and asks whether to trust it.",
        flags: &[YES],
        ..CONNECT
    };
    pub(crate) const EXPORT: Command = Command {
        name: "app export",
        about: "Writes applications as JSON, all where none is named, without passwords and codes.",
        flags: &[WITH_SECRETS],
        notes: "\
The secrets are sealed with AES-256-GCM under a key of PBKDF2-HMAC-SHA-256; the
file says how often and with which salt.",
        ..CONNECT
    };
    pub(crate) const IMPORT: Command = Command {
        name: "app import",
        operands: "FILE",
        operand_count: 1..=1,
        about: "Adds the applications of a file that 'app export' wrote, and says what it leaves out.",
        flags: &[JSON],
        notes: "FILE is - for standard input. One whose name is there already is left out.",
    };
    pub(crate) const REMOVE: Command = Command {
        name: "app remove",
        operand_count: 1..=usize::MAX,
        about: "Disconnects applications and removes them.",
        flags: &[JSON],
        ..CONNECT
    };
}

/// `postern relay`.
#[rustfmt::skip]
pub(crate) mod relay {
    use super::{Command, Flag};

    pub(crate) const LISTEN: Flag = Flag::valued("listen", "HOST:PORT",
        "where visitors and quick-setup calls come in (default 127.0.0.1:8180)");
    pub(crate) const TUNNEL_LISTEN: Flag = Flag::valued("tunnel-listen", "HOST:PORT",
        "where tunnels come in (default: the host of --listen, port 62888)");
    pub(crate) const PORT_LISTEN: Flag = Flag::valued("port-listen", "IP",
        "where public ports of tcp, ssh, rdp, vnc and telnet are bound: an address of this machine that no site's \
         name leads to, as cookies do not know ports");
    pub(crate) const SHARED_HOST_PORTS: Flag = Flag::switch("shared-host-ports",
        "bind them on the host of --tunnel-listen: whoever has one then is a server under every site's name, and may \
         get the cookies of its visitors (default on loopback; else, without either, they are refused)");
    pub(crate) const DOMAIN: Flag = Flag::valued("domain", "NAME",
        "sites are NAME.DOMAIN (default localhost); a wildcard DNS entry leads them here");
    pub(crate) const PUBLIC_URL: Flag = Flag::valued("public-url", "URL",
        "what visitors use, as https://relay.example, where a TLS server stands in front");
    pub(crate) const EXTERNAL_IP: Flag = Flag::valued("external-ip", "IP",
        "the address that connectors dial (default: the host of --tunnel-listen)");
    pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
        "what lets a new connector in; other users of this machine can see it in the list of processes: \
         POSTERN_ENROLL_TOKEN is safer (default: one is made and printed at the first start)");
    pub(crate) const TRUST_PROXY: Flag = Flag::valued("trust-proxy", "CIDR",
        "believe X-Forwarded-* from here, as from 127.0.0.1 with a TLS server on this machine; may be \
         repeated").repeatable();
    pub(crate) const CONNECTIONS: Flag = Flag::valued("connections", "N",
        "connections of visitors and connectors' calls at once (default 512): half of them for the sites of one \
         connector, a quarter for one visitor");
    pub(crate) const ANSWER_TIMEOUT: Flag = Flag::valued("answer-timeout", "SECONDS",
        "how long an application may take to begin its answer (default 300)");
    pub(crate) const DATA: Flag = Flag::valued("data", "DIR",
        "where its state is (default: relay/ in the per-user directory)");
    pub(crate) const PRINT_UNIT: Flag = Flag::switch("print-systemd-unit",
        "print a hardened unit file for these options, and end");
    pub(crate) const ALLOW_OTHER_USERS: Flag = Flag::switch("allow-other-users",
        "on loopback, also serve the other users of this machine");
    pub(crate) use super::VERBOSE;

    pub(crate) const COMMAND: Command = Command {
        name: "relay",
        operands: "[list | revoke NAME | allow NAME]",
        operand_count: 0..=2,
        about: "Starts the remote side: sites below a domain, tunnels that lead to applications.",
        flags: &[
            LISTEN, TUNNEL_LISTEN, DOMAIN, PUBLIC_URL, EXTERNAL_IP, PORT_LISTEN, SHARED_HOST_PORTS, ENROLL_TOKEN,
            TRUST_PROXY, CONNECTIONS, ANSWER_TIMEOUT, DATA, PRINT_UNIT, ALLOW_OTHER_USERS, VERBOSE,
        ],
        notes: "\
  relay list                  show NAME, STATUS, ENROLLED, URL, TARGET
  relay revoke NAME           turn a connector out at once, and renew the enrol
                              token, which it knows: the new one is printed
  relay allow NAME            undo that: it comes back with its names and ports
                              within 30 days, else it may enrol again

Off loopback, and behind a proxy, a new connector needs the enrol token.
Passwords cross the network in quick-setup: give visitors and connectors a TLS
server in front, and name it with --public-url.",
    };
}

/// `postern plugin` and its subcommands.
#[rustfmt::skip]
pub(crate) mod plugin {
    use super::Command;

    pub(crate) const GROUP: Command = Command {
        name: "plugin",
        operands: "add|remove|list",
        operand_count: 0..=usize::MAX,
        about: "Makes built-in plugins available, and shows which are.",
        flags: &[],
        notes: "\
Commands:
  add NAME                    make a plugin available
  remove NAME                 take it away again
  list                        show NAME, VERSION, PROTOCOLS, INSTALLED",
    };
    pub(crate) const ADD: Command = Command {
        name: "plugin add",
        operands: "NAME",
        operand_count: 1..=1,
        about: "Makes a plugin available, by its name or one of its protocols.",
        flags: &[],
        notes: "",
    };
    pub(crate) const REMOVE: Command = Command {
        name: "plugin remove",
        about: "Takes a plugin away, by its name or one of its protocols.",
        ..ADD
    };
    pub(crate) const LIST: Command = Command {
        name: "plugin list",
        operands: "",
        operand_count: 0..=0,
        about: "Lists the plugins that were added, with the time of that in UTC.",
        ..ADD
    };
}

/// `postern tunnel-client` and `postern tunnel-server`.
#[rustfmt::skip]
pub(crate) mod tunnel {
    use super::{Command, Flag};
    use crate::tunnel::remote::MAX_REMOTES;

    pub(crate) const AUTH: Flag = Flag::valued("auth", "USER:PASS",
        "log in as this user (default: the environment variable AUTH)");
    pub(crate) const FINGERPRINT: Flag = Flag::valued("fingerprint", "BASE64",
        "accept the host key with this SHA-256 only (default: the one seen first)");
    pub(crate) const KEEPALIVE: Flag = Flag::valued("keepalive", "TIME",
        "pause between keep-alive requests, as in 25s (default) or 2m; 0s for none");
    pub(crate) const MAX_RETRY_COUNT: Flag = Flag::valued("max-retry-count", "N",
        "give up after so many attempts in a row (default: never)");
    pub(crate) const MAX_RETRY_INTERVAL: Flag = Flag::valued("max-retry-interval", "TIME",
        "longest pause before another attempt (default 10s)");
    pub(crate) const HEADER: Flag = Flag::valued("header", "'NAME: VALUE'",
        "send this HTTP header along with the upgrade").repeatable();
    pub(crate) const PROXY: Flag = Flag::valued("proxy", "URL",
        "go through this HTTP proxy (default: HTTPS_PROXY, HTTP_PROXY, NO_PROXY)");
    pub(crate) const VERBOSE: Flag = Flag::switch("verbose", "log what is done").alias("v").repeatable();
    pub(crate) const LISTEN: Flag = Flag::valued("listen", "HOST:PORT", "where clients connect (default 0.0.0.0:8080)");
    pub(crate) const HOST: Flag = Flag::valued("host", "HOST", "with --port, another way to say --listen: chisel's");
    pub(crate) const PORT: Flag = Flag::valued("port", "PORT", "see --host").alias("p");
    const REVERSE: Flag = Flag::switch("reverse", "changes nothing: reverse remotes are what there is");
    pub(crate) const SERVER_AUTH: Flag = Flag::valued("auth", "USER:PASS",
        "a user who may do everything (default: the environment variable AUTH)");
    pub(crate) const AUTHFILE: Flag = Flag::valued("authfile", "FILE",
        "users and what each may forward, as JSON: {\"user:pass\": [\"^R:0.0.0.0:7000$\"]}");

    pub(crate) const CLIENT: Command = Command {
        name: "tunnel-client",
        operands: "URL REMOTE…",
        operand_count: 2..=MAX_REMOTES + 1,
        about: "Keeps a tunnel to a chisel-v3 server, for reverse TCP remotes.",
        flags: &[AUTH, FINGERPRINT, KEEPALIVE, MAX_RETRY_COUNT, MAX_RETRY_INTERVAL, HEADER, PROXY, VERBOSE],
        notes: "\
REMOTE is R:[LOCAL_HOST:]LOCAL_PORT:REMOTE_HOST:REMOTE_PORT: the server listens on
the local side, and visitors come out at the remote side, reached from here.",
    };
    pub(crate) const SERVER: Command = Command {
        name: "tunnel-server",
        operands: "",
        operand_count: 0..=0,
        about: "Serves chisel-v3 clients, for reverse TCP remotes.",
        flags: &[LISTEN, SERVER_AUTH, AUTHFILE, KEEPALIVE, HOST, PORT, REVERSE, VERBOSE],
        notes: "\
Without users anybody may connect and listen on any port of this machine.
An expression is compared with R:HOST:PORT; an empty one allows everything.",
    };
}
