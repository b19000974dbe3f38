//! Every command with its flags: command lines are parsed from this table, and helps are printed from it.

use super::command::{Command, Flag, Kind, Variable};

#[rustfmt::skip]
pub(crate) const VERBOSE: Flag = Flag::switch("verbose", "log details to standard error (repeat for more)").alias("v").repeatable();
#[rustfmt::skip]
pub(crate) const QUIET: Flag = Flag::switch("quiet", "print only results and errors").alias("q");
#[rustfmt::skip]
pub(crate) const LOG_FORMAT: Flag = Flag::valued("log-format", "FORMAT", "format of log lines: text (default) or \
    json")
    .kind(Kind::Choice(&["text", "json"]));
#[rustfmt::skip]
pub(crate) const NO_OPEN: Flag = Flag::switch("no-open", "do not open a browser");
#[rustfmt::skip]
pub(crate) const ALLOW_HOST: Flag = Flag::valued("allow-host", "HOST[:PORT]",
    "also accept requests for this host name, e.g. behind a proxy (repeatable)").repeatable();
#[rustfmt::skip]
pub(crate) const ALLOW_OTHER_USERS: Flag = Flag::switch("allow-other-users",
    "also allow other users of this machine");
pub(crate) const JSON: Flag = Flag::switch("json", "print JSON");
#[rustfmt::skip]
pub(crate) const WIDE: Flag = Flag::switch("wide", "show all columns, even if they do not fit the terminal");
/// Every protocol of an application, as `Protocol` has them.
pub(crate) const PROTOCOLS: Kind = Kind::Choice(&[
    "http", "https", "tcp", "ssh", "rdp", "vnc", "telnet", "mysql", "mariadb",
]);

/// Environment variables of the commands.
#[rustfmt::skip]
pub(crate) mod environment {
    use super::Variable;
    use crate::cli::args::values::{
        PASSWORD_VARIABLE, SERVER_VARIABLE, STORE_PASS_FILE_VARIABLE, STORE_PASS_VARIABLE, TOKEN_VARIABLE,
    };

    const fn variable(name: &'static str, help: &'static str) -> Variable {
        Variable { name, help }
    }
    pub(crate) const HOME: Variable = variable("POSTERN_HOME", "per-user directory (default ~/.postern)");
    pub(crate) const SERVER: Variable = variable(SERVER_VARIABLE, "same as --server");
    pub(crate) const TOKEN: Variable = variable(TOKEN_VARIABLE, "same as --enroll-token, but hidden from other \
        users");
    pub(crate) const DB_PASS: Variable = variable(PASSWORD_VARIABLE, "same as --db-pass, but hidden from other \
        users");
    pub(crate) const STORE_PASS: Variable = variable(STORE_PASS_VARIABLE, "password of the --store account");
    pub(crate) const STORE_PASS_FILE: Variable = variable(STORE_PASS_FILE_VARIABLE, "file that contains that \
        password");
    pub(crate) const CERTIFICATES: Variable = variable("SSL_CERT_FILE",
        "PEM file of additional trusted certificate authorities");
    pub(crate) const PROXY: Variable = variable("HTTPS_PROXY",
        "proxy for https and wss connections to servers, http:// or socks5h://; ALL_PROXY also works, \
        HTTP_PROXY for http and ws only");
    pub(crate) const NO_PROXY: Variable = variable("NO_PROXY", "hosts to reach without the proxy, separated by \
        commas");
    pub(crate) const AUTH: Variable = variable("AUTH", "same as --auth (chisel's variable)");
}

/// A command that works on the per-user directory.
pub(crate) const AT_HOME: Command = Command {
    environment: &[environment::HOME],
    ..Command::EMPTY
};

/// `postern mysql`, and the same under its other name.
#[rustfmt::skip]
pub(crate) mod mysql {
    use super::{Command, Flag, Kind, environment as env};
    use crate::cli::args::command::{
        ALLOW, AUDIT, ENROLL_TOKEN, FOR, GUEST, JSON, NAME, QR, RECORD_SQL, SITE_NAME, UNTIL,
    };

    pub(crate) const USER: Flag = Flag::valued("db-user", "NAME", "database user (default root)").alias("username");
    pub(crate) const PASSWORD: Flag = Flag::valued("db-pass", "PASSWORD",
        "database password. Other users can see it in the process list; set POSTERN_DB_PASS or use the prompt to hide \
            it").alias("auth-pass");
    pub(crate) const DATABASE: Flag = Flag::valued("db-name", "NAME", "initial database");
    pub(crate) const READONLY: Flag = Flag::switch("readonly",
        "refuse every statement that could write (default with --share; else read-write)");
    pub(crate) const INVISIBLE: Flag = Flag::switch("invisible",
        "visitors need the code that is printed at start");
    pub(crate) const LISTEN: Flag = Flag::valued("listen", "HOST:PORT",
        "address of the web client (default 127.0.0.1:8306, or the next free port up to 8405); an address other \
            machines can reach needs --invisible");
    pub(crate) const TLS: Flag = Flag::valued("tls", "MODE",
        "encryption to the database server: off, prefer (default; only if the server offers it), require, verify-ca \
            (also check that the authority in SSL_CERT_FILE issued the certificate), verify (also check the host name; \
            public authorities are trusted too)")
        .kind(Kind::Choice(&["off", "prefer", "require", "verify-ca", "verify"]));
    pub(crate) const QUERY_TIMEOUT: Flag = Flag::valued("query-timeout", "SECONDS",
        "stop statements after this time, in seconds or e.g. 5m (default: no limit; 60 with --share)");
    pub(crate) const SHARE: Flag = Flag::switch("share",
        "share the web client through a relay, read-only and with a code");
    pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
        "relay to share through (default: POSTERN_SERVER, or this machine only)").kind(Kind::Server);
    pub(crate) const READWRITE: Flag = Flag::switch("readwrite", "allow visitors to change the database");
    pub(crate) const VISIBLE: Flag = Flag::switch("visible", "visitors need no code");
    pub(crate) use super::{ALLOW_HOST, ALLOW_OTHER_USERS, NO_OPEN, VERBOSE};

    /// Flags that mean nothing without `--share`.
    pub(crate) const OF_SHARING: [&Flag; 14] = [
        &SERVER, &ENROLL_TOKEN, &READWRITE, &VISIBLE, &NAME, &SITE_NAME, &FOR, &UNTIL, &ALLOW, &GUEST, &AUDIT,
        &RECORD_SQL, &QR, &JSON,
    ];

    pub(crate) const COMMAND: Command = Command {
        name: "mysql",
        also: &["mariadb"],
        operands: "[target]",
        brief: "open the web SQL client for a database",
        environment: &[env::HOME, env::SERVER, env::TOKEN, env::DB_PASS, env::CERTIFICATES],
        about: "Opens a web SQL client for a MySQL or MariaDB database.",
        flags: &[
            USER, PASSWORD, DATABASE, READONLY, INVISIBLE, LISTEN, NO_OPEN, ALLOW_HOST, TLS, QUERY_TIMEOUT,
            ALLOW_OTHER_USERS, VERBOSE, SHARE, SERVER, ENROLL_TOKEN, READWRITE, VISIBLE, NAME, SITE_NAME, FOR, UNTIL,
            ALLOW, GUEST, AUDIT, RECORD_SQL, QR, JSON,
        ],
        of_last: (OF_SHARING.len(), "With --share"),
        notes: "\
Target (default 127.0.0.1:3306):
  PORT                        this port on 127.0.0.1
  HOST, HOST:PORT             a host name or address
  [IPV6], [IPV6]:PORT         an IPv6 address
  /path/to/socket             a Unix socket
  mysql://USER:PASS@HOST:PORT/DB
                              percent-encoded; only the host is required;
                              a password here is as visible as --db-pass

Missing values are asked for. If standard input is not a terminal, they are read
from it, one per line: user, password, database. With a user in a flag or the
URL, only a terminal is asked: give the password in POSTERN_DB_PASS.

Exit status: 0 done, 1 failed, 2 invalid command line; with --share also
3 unreachable, 4 refused, 5 over a limit, 130 ended by Ctrl-C before anything
was shared.",
        ..Command::EMPTY
    };
}

/// `postern start`.
#[rustfmt::skip]
pub(crate) mod start {
    use super::{Command, Flag, Kind, environment as env};

    pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
        "relay (default: POSTERN_SERVER, or the one set with 'postern server default', or the built-in relay, for this \
            machine only)").kind(Kind::Server);
    pub(crate) use crate::cli::args::command::ENROLL_TOKEN;
    pub(crate) const INSECURE: Flag = Flag::switch("insecure",
        "allow http to relays on other machines; passwords are sent unencrypted");
    pub(crate) const RESET: Flag = Flag::switch("reset-credentials",
        "create a new identity for this machine; the old file is kept as a backup");
    pub(crate) const PRINT_UNIT: Flag = Flag::switch("print-systemd-unit",
        "print a hardened systemd user unit for these options and exit");
    pub(crate) use super::{ALLOW_HOST, ALLOW_OTHER_USERS, LOG_FORMAT, NO_OPEN, QUIET, VERBOSE};

    pub(crate) const COMMAND: Command = Command {
        name: "start",
        operands: "[port]",
        brief: "start the manager and its page (default port 8181)",
        environment: &[
            env::HOME, env::SERVER, env::TOKEN, env::CERTIFICATES, env::PROXY, env::NO_PROXY,
        ],
        about: "Starts the manager: a local page that shares applications through tunnels.",
        flags: &[
            SERVER, ENROLL_TOKEN, ALLOW_HOST, INSECURE, NO_OPEN, RESET, ALLOW_OTHER_USERS, PRINT_UNIT, LOG_FORMAT, QUIET,
            VERBOSE,
        ],
        notes: "\
The default port is 8181; 0 selects a free one.
The manager stops when its terminal is closed. To keep it running, use
'postern service install', or nohup.",
        ..Command::EMPTY
    };
}

/// `postern relay`.
#[rustfmt::skip]
pub(crate) mod relay {
    use super::{AT_HOME, Command, Flag, JSON, Kind, WIDE, environment as env};

    pub(crate) const LISTEN: Flag = Flag::valued("listen", "HOST:PORT",
        "address for visitors and quick-setup calls (default 127.0.0.1:8180)");
    pub(crate) const TUNNEL_LISTEN: Flag = Flag::valued("tunnel-listen", "HOST:PORT",
        "address for tunnels (default: the host of --listen, port 62888), or none: tunnels then use --tunnel-url only");
    pub(crate) const TUNNEL_URL: Flag = Flag::valued("tunnel-url", "URL",
        "URL for tunnels through the port of --public-url (default: wss://HOST/.postern/tunnel of --public-url; in a \
            fleet each relay needs a path of its own)");
    pub(crate) const PORT_LISTEN: Flag = Flag::valued("port-listen", "IP",
        "address for public ports of tcp, ssh, rdp, vnc and telnet: an address no site name points to, because \
            browsers share cookies between ports");
    pub(crate) const PORTS: Flag = Flag::valued("ports", "FIRST-LAST",
        "range of these public ports (default 20000-29999)");
    pub(crate) const SHARED_HOST_PORTS: Flag = Flag::switch("shared-host-ports",
        "offer public ports on the host of --tunnel-listen; a member with a port can then receive cookies of every \
            site's visitors (default on loopback; elsewhere public ports need --port-listen or this flag)");
    pub(crate) const DOMAIN: Flag = Flag::valued("domain", "NAME",
        "sites are NAME.DOMAIN (default localhost); needs a wildcard DNS entry");
    pub(crate) const PUBLIC_URL: Flag = Flag::valued("public-url", "URL",
        "URL that visitors use, e.g. https://relay.example, if a server in front terminates TLS");
    pub(crate) const EXTERNAL_IP: Flag = Flag::valued("external-ip", "IP",
        "address that connectors dial (default: the host of --tunnel-listen, or of --domain if that is none)");
    pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
        "enrolment token that registers any number of connectors, in addition to invites. Other users can see it in \
            the process list; set POSTERN_ENROLL_TOKEN to hide it");
    pub(crate) const QUOTA_SITES: Flag = Flag::valued("quota-sites", "N",
        "maximum number of applications of one connector (default and upper limit 100)");
    pub(crate) const QUOTA_MBPS: Flag = Flag::valued("quota-mbps", "N",
        "bandwidth limit of one connector in Mbit/s, both directions together (default: no limit)");
    pub(crate) const TRUST_PROXY: Flag = Flag::valued("trust-proxy", "CIDR",
        "trust X-Forwarded-* headers from this network, e.g. 127.0.0.1 for a proxy on this machine (repeatable)").repeatable();
    pub(crate) const PASS_HEADER: Flag = Flag::valued("pass-header", "NAME",
        "pass this identity header from a trusted proxy to applications (repeatable)").repeatable();
    pub(crate) const CONNECTIONS: Flag = Flag::valued("connections", "N",
        "maximum number of simultaneous connections of visitors and connectors (default 512); one connector's sites \
            may use half of them, one visitor a quarter");
    pub(crate) const ANSWER_TIMEOUT: Flag = Flag::valued("answer-timeout", "SECONDS",
        "how long a request may wait for the visitor or the application before its answer begins, in seconds or e.g. \
            5m (default 300)");
    pub(crate) const DRAIN: Flag = Flag::valued("drain", "SECONDS",
        "how long to finish running requests after SIGTERM, in seconds or e.g. 1m (default 0; 30 with --store); during \
            this time /health answers 503, and new requests are still served");
    pub(crate) const METRICS_LISTEN: Flag = Flag::valued("metrics-listen", "[HOST:]PORT",
        "separate address for Prometheus' /metrics, e.g. 127.0.0.1:8182, without access control; the metrics \
            contain no site or user names (default: none)");
    pub(crate) const DATA: Flag = Flag::valued("data", "DIR",
        "directory of the relay's state (default: relay/ in the per-user directory)").kind(Kind::Directory);
    pub(crate) const STORE: Flag = Flag::valued("store", "URL",
        "share the state with other relays in a MariaDB or MySQL database: \
            mysql://USER@HOST:PORT,HOST:PORT/DATABASE, password in POSTERN_STORE_PASS; verified TLS except on \
            loopback (default: files in --data)");
    pub(crate) const PEER_LISTEN: Flag = Flag::valued("peer-listen", "HOST:PORT",
        "with --store: address where the other relays connect; only they should be able to reach it (default: the \
            host of --tunnel-listen, port 62889)");
    pub(crate) const PRINT_UNIT: Flag = Flag::switch("print-systemd-unit",
        "print a hardened systemd unit for these options and exit");
    pub(crate) const ALLOW_OTHER_USERS: Flag = Flag::switch("allow-other-users",
        "on loopback, also allow other users of this machine");
    pub(crate) use super::{LOG_FORMAT, VERBOSE};

    pub(crate) const COMMAND: Command = Command {
        name: "relay",
        brief: "run a relay",
        about: "Starts a relay: a server that gives applications public addresses and forwards visitors through tunnels.",
        flags: &[
            LISTEN, TUNNEL_LISTEN, TUNNEL_URL, DOMAIN, PUBLIC_URL, EXTERNAL_IP, PORT_LISTEN, PORTS, SHARED_HOST_PORTS, ENROLL_TOKEN,
            TRUST_PROXY, PASS_HEADER, CONNECTIONS, ANSWER_TIMEOUT, DRAIN, METRICS_LISTEN, QUOTA_SITES, QUOTA_MBPS, DATA, STORE, PEER_LISTEN, PRINT_UNIT,
            ALLOW_OTHER_USERS, LOG_FORMAT, VERBOSE,
        ],
        commands: &[&LIST, &STATUS_URL, &INVITE, &INVITES, &UNINVITE, &REVOKE, &ALLOW, &RELEASE, &TRANSFER, &RECOVER, &FLEET, &COPY_STORE],
        environment: &[env::HOME, env::TOKEN, env::STORE_PASS, env::STORE_PASS_FILE, env::CERTIFICATES],
        notes: "\
Except on loopback, a new connector needs an enrolment token: the first start
prints one, 'postern relay invite' creates more.
Connectors send passwords to --listen: put a web server that terminates TLS in
front, and give its URL as --public-url.",
        ..Command::EMPTY
    };
    pub(crate) const LIST: Command = Command {
        name: "relay list",
        brief: "list connectors and their applications",
        about: "Lists the connectors that are enrolled at the relay on this machine, one line per application.",
        flags: &[DATA, WIDE, JSON],
        notes: "\
LABEL                         label of its invite, else the machine's name
NAME                          name of the connector, for 'relay revoke'
INVITE                        the invite that it used
QUOTA                         its quotas, used and allowed
Further columns: STATUS, ENROLLED, URL, TARGET, MACHINE, SOURCE, VERSION,
LAST VISIT, TRAFFIC. A terminal shows the columns that fit. A revoked connector
is listed with the sites that are reserved for it.",
        ..AT_HOME
    };
    pub(crate) const STATUS_URL: Command = Command {
        name: "relay status-url",
        brief: "print a new link to the operator's status page",
        about: "Prints a link to the status page of the relay on this machine, also of the relay built into \
            'postern start'. The link works once, within ten minutes.",
        flags: &[DATA],
        ..AT_HOME
    };
    pub(crate) const LABEL: Flag = Flag::valued("label", "TEXT", "label of the connector that uses the token, shown in lists, e.g. a person or machine");
    pub(crate) const USES: Flag = Flag::valued("uses", "N", "how many connectors may use it (default 1)");
    pub(crate) const FOR: Flag = Flag::valued("for", "TIME", "how long it is valid, e.g. 12h or 30d (default 7d)");

    pub(crate) const INVITE: Command = Command {
        name: "relay invite",
        brief: "create an enrolment token for a new connector",
        about: "Creates an enrolment token for the relay on this machine and prints it once. It is valid for one \
            connector and one week unless changed by flags.",
        flags: &[LABEL, USES, FOR, DATA, JSON],
        ..AT_HOME
    };
    pub(crate) const INVITES: Command = Command {
        name: "relay invites",
        brief: "list invites and who used them",
        about: "Lists the invites of the relay on this machine.",
        flags: &[DATA, WIDE, JSON],
        notes: "\
STATUS                        good, used (as often as allowed), over (expired),
                              forbidden (cancelled, or its member was revoked)
LABEL                         its label, or how it was created
BY                            connectors that used it
Further columns: ID, USED, MADE, ENDS. A terminal shows the columns that fit.",
        ..AT_HOME
    };
    pub(crate) const UNINVITE: Command = Command {
        name: "relay uninvite",
        operands: "ID",
            brief: "cancel an invite; members who already used it stay",
        about: "Cancels an invite. Connectors that already used it stay.",
        flags: &[DATA],
        ..AT_HOME
    };
    pub(crate) const REVOKE: Command = Command {
        name: "relay revoke",
        operands: "NAME",
        operand_kinds: &[Kind::Connector],
        brief: "disconnect and block a connector, and disable the invite it used",
        about: "Disconnects and blocks a connector, and disables the invite it used, also if that is the relay's \
            --enroll-token.",
        flags: &[DATA],
        notes: "\
If no valid invite is left, a new enrolment token is printed.
NAME may be the connector's label, if no other connector has that label.",
        ..AT_HOME
    };
    pub(crate) const ALLOW: Command = Command {
        name: "relay allow",
        brief: "undo revoke; reserved names and ports come back within 30 days",
        about: "Allows a revoked connector again.",
        notes: "\
Within 30 days the connector gets back its names and ports, except those that
were transferred or released. Later it enrols like a new one. Its invite becomes
valid again, except a token given with --enroll-token.
NAME may be the connector's label, if no other connector has that label.",
        ..REVOKE
    };
    pub(crate) const FORCE: Flag = Flag::switch("force", "also if the site is connected now: its connection ends");
    pub(crate) const RELEASE: Command = Command {
        name: "relay release",
        operands: "NAME",
            brief: "release the name of a site, so that any connector can have it",
        about: "Releases the name of a site, in use or reserved, so that any connector can have it.",
        notes: "Sign-ins end, and browsers drop what they stored for the previous site.",
        flags: &[FORCE, DATA],
        ..AT_HOME
    };
    pub(crate) const TRANSFER: Command = Command {
        name: "relay transfer",
        operands: "NAME LABEL",
        operand_kinds: &[Kind::Text, Kind::Connector],
        brief: "transfer the name of a site to another connector",
        about: "Reserves the name of a site for another connector.",
        notes: "\
LABEL is the label of the new owner, or its NAME if the label is not unique. It
gets the site at its next connect with this site name. Sign-ins end, and
browsers drop what they stored for the previous site.",
        ..RELEASE
    };
    pub(crate) const FLEET: Command = Command {
        name: "relay fleet",
        brief: "list the relays of the fleet",
        about: "Lists the relays that share their state (--store), as seen by the relay on this machine.",
        flags: &[DATA, WIDE, JSON],
        notes: "\
RELAY                         its id
STATE                         this one, linked, leaving or away
CONNECTORS                    number of connectors with a tunnel there
TUNNELS AT                    address for connectors
LINKED AT                     address for other relays (--peer-listen)
VERSION                       its version of postern
A terminal shows the columns that fit.",
        ..AT_HOME
    };
    pub(crate) const COPY_STORE: Command = Command {
        name: "relay copy-store",
        operands: "FROM TO",
        operand_kinds: &[Kind::Directory, Kind::Directory],
        brief: "copy a relay's state to a shared store or back",
        about: "Copies the state of a stopped relay from its directory to a shared store, or back.",
        environment: &[env::STORE_PASS, env::STORE_PASS_FILE, env::CERTIFICATES],
        notes: "\
One of FROM and TO is a directory, the other a store such as
mysql://USER@HOST:PORT/DATABASE (see 'postern relay --store'). TO must be empty.
Host keys and statistics are not copied.",
        ..Command::EMPTY
    };
    pub(crate) const RECOVER: Command = Command {
        name: "relay recover",
        brief: "repair a damaged state file, keeping what can be read",
        about: "Repairs a damaged state: keeps a copy of the damaged file, keeps everything that can be read, and \
            reports what is lost. 'postern relay' never does this automatically, because revocations may be lost (the \
            built-in relay of 'postern start' does): check 'postern relay list' afterwards, and revoke again.",
        flags: &[DATA],
        ..AT_HOME
    };
}

/// `postern plugin` and its subcommands.
#[rustfmt::skip]
pub(crate) mod plugin {
    use super::{AT_HOME, Command, JSON, Kind};

    pub(crate) const GROUP: Command = Command {
        name: "plugin",
        brief: "switch built-in plugins on or off",
        about: "Switches built-in plugins on or off, and lists them.",
        commands: &[&ADD, &REMOVE, &LIST],
        ..AT_HOME
    };
    pub(crate) const ADD: Command = Command {
        name: "plugin add",
        operands: "NAME",
        operand_kinds: &[Kind::Choice(&["mysql"])],
        brief: "switch a plugin on",
        about: "Switches a plugin on, by its name or one of its protocols.",
        ..AT_HOME
    };
    pub(crate) const REMOVE: Command = Command {
        name: "plugin remove",
        brief: "switch a plugin off",
        about: "Switches a plugin off, by its name or one of its protocols.",
        ..ADD
    };
    pub(crate) const LIST: Command = Command {
        name: "plugin list",
        brief: "show NAME, VERSION, PROTOCOLS, INSTALLED",
        about: "Lists installed plugins with their installation time (UTC).",
        flags: &[JSON],
        ..AT_HOME
    };
}

/// `postern tunnel-client` and `postern tunnel-server`.
#[rustfmt::skip]
pub(crate) mod tunnel {
    use super::{Command, Flag, Kind, environment as env};

    pub(crate) const AUTH: Flag = Flag::valued("auth", "USER:PASS",
        "user to log in as (default: the environment variable AUTH)");
    pub(crate) const FINGERPRINT: Flag = Flag::valued("fingerprint", "BASE64",
        "accept only the host key with this SHA-256 (default: the first one seen)");
    pub(crate) const KEEPALIVE: Flag = Flag::valued("keepalive", "TIME",
        "time between keep-alive requests, e.g. 25s (default) or 2m; 0s for none");
    pub(crate) const MAX_RETRY_COUNT: Flag = Flag::valued("max-retry-count", "N",
        "stop after this many failed attempts in a row (default: never)");
    pub(crate) const MAX_RETRY_INTERVAL: Flag = Flag::valued("max-retry-interval", "TIME",
        "maximum time between attempts (default 10s)");
    pub(crate) const HEADER: Flag = Flag::valued("header", "'NAME: VALUE'",
        "additional HTTP header of the upgrade request (repeatable)").repeatable();
    pub(crate) const PROXY: Flag = Flag::valued("proxy", "URL",
        "HTTP or SOCKS5 proxy (default: HTTPS_PROXY, HTTP_PROXY, NO_PROXY)");
    pub(crate) const VERBOSE: Flag = Flag::switch("verbose", "log details (repeat for more)").alias("v").repeatable();
    pub(crate) const LISTEN: Flag = Flag::valued("listen", "HOST:PORT", "address for clients (default 0.0.0.0:8080)");
    pub(crate) const HOST: Flag = Flag::valued("host", "HOST", "host of --listen, for chisel's command lines");
    pub(crate) const PORT: Flag = Flag::valued("port", "PORT", "port of --listen, for chisel's command lines").alias("p");
    const REVERSE: Flag = Flag::switch("reverse", "ignored; all remotes are reverse");
    pub(crate) const SERVER_AUTH: Flag = Flag::valued("auth", "USER:PASS",
        "user with all rights (default: the environment variable AUTH)");
    pub(crate) const AUTHFILE: Flag = Flag::valued("authfile", "FILE",
        "users and what each may forward, as JSON: {\"user:pass\": [\"^R:0.0.0.0:7000$\"]}").kind(Kind::File);

    pub(crate) const ANYBODY: Flag = Flag::switch("anybody",
        "allow access without authentication from other machines: anyone can then listen on any port of this \
            machine");

    pub(crate) const CLIENT: Command = Command {
        name: "tunnel-client",
        operands: "URL REMOTE…",
        brief: "run a chisel client",
        environment: &[env::HOME, env::AUTH, env::CERTIFICATES, env::PROXY, env::NO_PROXY],
        about: "Keeps a tunnel to a chisel-v3 server, for reverse TCP remotes.",
        flags: &[AUTH, FINGERPRINT, KEEPALIVE, MAX_RETRY_COUNT, MAX_RETRY_INTERVAL, HEADER, PROXY, VERBOSE],
        notes: "\
REMOTE is R:[LOCAL_HOST:]LOCAL_PORT:REMOTE_HOST:REMOTE_PORT. The server listens
on the local host and port; this client forwards connections to the remote ones.",
        ..Command::EMPTY
    };
    pub(crate) const SERVER: Command = Command {
        name: "tunnel-server",
        brief: "run a chisel server",
        environment: &[env::HOME, env::AUTH],
        about: "Serves chisel-v3 clients, for reverse TCP remotes.",
        flags: &[LISTEN, SERVER_AUTH, AUTHFILE, KEEPALIVE, HOST, PORT, REVERSE, ANYBODY, VERBOSE],
        notes: "\
Without users it accepts only loopback connections, because every client can
listen on any port of this machine.
Expressions of --authfile are matched against R:HOST:PORT; an empty one allows
everything.",
        ..Command::EMPTY
    };
}
