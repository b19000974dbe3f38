//! Every command with its flags: command lines are parsed from this table, and helps are printed from it.

use super::command::{Command, Flag, Kind, Variable};

#[rustfmt::skip]
pub(crate) const VERBOSE: Flag = Flag::switch("verbose", "log what is done to stderr").alias("v").repeatable();
#[rustfmt::skip]
pub(crate) const QUIET: Flag = Flag::switch("quiet", "say only what was asked for, and what went wrong").alias("q");
#[rustfmt::skip]
pub(crate) const LOG_FORMAT: Flag = Flag::valued("log-format", "FORMAT", "how lines on stderr are written: text (default) or json")
    .kind(Kind::Choice(&["text", "json"]));
#[rustfmt::skip]
pub(crate) const NO_OPEN: Flag = Flag::switch("no-open", "do not open a browser");
#[rustfmt::skip]
pub(crate) const ALLOW_HOST: Flag = Flag::valued("allow-host", "HOST[:PORT]",
    "also serve requests made to this name, as through a proxy; may be repeated").repeatable();
#[rustfmt::skip]
pub(crate) const ALLOW_OTHER_USERS: Flag = Flag::switch("allow-other-users",
    "also serve the other users of this machine");
pub(crate) const JSON: Flag = Flag::switch("json", "print JSON");
#[rustfmt::skip]
pub(crate) const WIDE: Flag = Flag::switch("wide", "show all columns, also where they do not fit the terminal");
/// Every protocol of an application, as `Protocol` has them.
pub(crate) const PROTOCOLS: Kind = Kind::Choice(&[
    "http", "https", "tcp", "ssh", "rdp", "vnc", "telnet", "mysql", "mariadb",
]);

/// What commands read from the environment.
#[rustfmt::skip]
pub(crate) mod environment {
    use super::Variable;
    use crate::cli::args::values::{
        PASSWORD_VARIABLE, SERVER_VARIABLE, STORE_PASS_FILE_VARIABLE, STORE_PASS_VARIABLE, TOKEN_VARIABLE,
    };

    const fn variable(name: &'static str, help: &'static str) -> Variable {
        Variable { name, help }
    }
    pub(crate) const HOME: Variable = variable("POSTERN_HOME", "the per-user directory (default ~/.postern)");
    pub(crate) const SERVER: Variable = variable(SERVER_VARIABLE, "stands for --server");
    pub(crate) const TOKEN: Variable = variable(TOKEN_VARIABLE, "stands for --enroll-token, and no other user sees it");
    pub(crate) const DB_PASS: Variable = variable(PASSWORD_VARIABLE, "stands for --db-pass, and no other user sees it");
    pub(crate) const STORE_PASS: Variable = variable(STORE_PASS_VARIABLE, "the password of the account of --store");
    pub(crate) const STORE_PASS_FILE: Variable = variable(STORE_PASS_FILE_VARIABLE, "a file with that");
    pub(crate) const CERTIFICATES: Variable = variable("SSL_CERT_FILE",
        "certificate authorities to trust beside the public ones, in PEM");
    pub(crate) const PROXY: Variable = variable("HTTPS_PROXY",
        "the proxy on the way to servers by https and wss; HTTP_PROXY and ALL_PROXY likewise");
    pub(crate) const NO_PROXY: Variable = variable("NO_PROXY", "hosts that are reached without it, separated by commas");
    pub(crate) const AUTH: Variable = variable("AUTH", "stands for --auth, as chisel has it");
}

/// `postern mysql`, and the same under its other name.
#[rustfmt::skip]
pub(crate) mod mysql {
    use super::{Command, Flag, Kind, environment as env};
    use crate::cli::args::flags::{
        ALLOW, AUDIT, ENROLL_TOKEN, FOR, GUEST, JSON, NAME, QR, RECORD_SQL, SITE_NAME, UNTIL,
    };

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
         it is the host's; public authorities count too)")
        .kind(Kind::Choice(&["off", "prefer", "require", "verify-ca", "verify"]));
    pub(crate) const QUERY_TIMEOUT: Flag = Flag::valued("query-timeout", "SECONDS",
        "end statements that run longer, also as in 5m (default: no limit; 60 with --share)");
    pub(crate) const SHARE: Flag = Flag::switch("share",
        "let others reach the web client through a server: read-only, and with a code");
    pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
        "with --share: the server (default: POSTERN_SERVER, else a relay for this machine alone)").kind(Kind::Server);
    pub(crate) const READWRITE: Flag = Flag::switch("readwrite", "with --share: let visitors change the database");
    pub(crate) const VISIBLE: Flag = Flag::switch("visible", "with --share: let visitors in without a code");
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
        operand_count: 0..=1,
        brief: "open the web SQL client for a database",
        environment: &[env::HOME, env::SERVER, env::TOKEN, env::DB_PASS, env::CERTIFICATES],
        about: "Opens a web SQL client for a MySQL or MariaDB database.",
        flags: &[
            USER, PASSWORD, DATABASE, READONLY, INVISIBLE, LISTEN, NO_OPEN, ALLOW_HOST, TLS, QUERY_TIMEOUT,
            ALLOW_OTHER_USERS, SHARE, SERVER, ENROLL_TOKEN, READWRITE, VISIBLE, NAME, SITE_NAME, FOR, UNTIL, ALLOW, GUEST,
            AUDIT, RECORD_SQL, QR, JSON, VERBOSE,
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
        ..Command::EMPTY
    };
}

/// `postern start`.
#[rustfmt::skip]
pub(crate) mod start {
    use super::{Command, Flag, Kind, environment as env};

    pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
        "the remote server that applications are connected through (default: POSTERN_SERVER, else a relay within \
         this process, for this machine alone)").kind(Kind::Server);
    pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
        "enrol at the server with this token; other users of this machine can see it in the list of processes: \
         POSTERN_ENROLL_TOKEN is safer");
    pub(crate) const INSECURE: Flag = Flag::switch("insecure",
        "reach servers off this machine by http too: passwords cross the network unprotected");
    pub(crate) const RESET: Flag = Flag::switch("reset-credentials",
        "forget what the servers know this machine by, and begin afresh; the file is kept aside");
    pub(crate) const PRINT_UNIT: Flag = Flag::switch("print-systemd-unit",
        "print a hardened unit file for these options, for systemd's user manager, and end");
    pub(crate) use super::{ALLOW_HOST, ALLOW_OTHER_USERS, LOG_FORMAT, NO_OPEN, QUIET, VERBOSE};

    pub(crate) const COMMAND: Command = Command {
        name: "start",
        operands: "[port]",
        operand_count: 0..=1,
        brief: "start the manager and its page (default port 8181)",
        environment: &[
            env::HOME, env::SERVER, env::TOKEN, env::CERTIFICATES, env::PROXY, env::NO_PROXY,
        ],
        about: "Starts the manager: a page on 127.0.0.1 that shares applications through tunnels.",
        flags: &[
            SERVER, ENROLL_TOKEN, ALLOW_HOST, INSECURE, NO_OPEN, RESET, ALLOW_OTHER_USERS, PRINT_UNIT, LOG_FORMAT, QUIET,
            VERBOSE,
        ],
        notes: "The port is 8181 where none is named; 0 takes a free one.",
        ..Command::EMPTY
    };
}

/// `postern relay`.
#[rustfmt::skip]
pub(crate) mod relay {
    use super::{Command, Flag, JSON, Kind, WIDE, environment as env};

    pub(crate) const LISTEN: Flag = Flag::valued("listen", "HOST:PORT",
        "where visitors and quick-setup calls come in (default 127.0.0.1:8180)");
    pub(crate) const TUNNEL_LISTEN: Flag = Flag::valued("tunnel-listen", "HOST:PORT",
        "where tunnels come in (default: the host of --listen, port 62888)");
    pub(crate) const PORT_LISTEN: Flag = Flag::valued("port-listen", "IP",
        "where public ports of tcp, ssh, rdp, vnc and telnet are bound: an address of this machine that no site's \
         name leads to, as cookies do not know ports");
    pub(crate) const PORTS: Flag = Flag::valued("ports", "FIRST-LAST",
        "which ports those are (default 20000-29999)");
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
        "lets in any number of new connectors, beside the invites; other users of this machine can see it in the list \
         of processes: POSTERN_ENROLL_TOKEN is safer");
    pub(crate) const QUOTA_SITES: Flag = Flag::valued("quota-sites", "N",
        "applications that one connector may have (default 100, the most)");
    pub(crate) const QUOTA_MBPS: Flag = Flag::valued("quota-mbps", "N",
        "megabits a second that pass through one connector's tunnels, both ways together (default: no limit)");
    pub(crate) const TRUST_PROXY: Flag = Flag::valued("trust-proxy", "CIDR",
        "believe X-Forwarded-* from here, as from 127.0.0.1 with a TLS server on this machine; may be \
         repeated").repeatable();
    pub(crate) const PASS_HEADER: Flag = Flag::valued("pass-header", "NAME",
        "pass this identity header from a trusted proxy to applications (repeatable)").repeatable();
    pub(crate) const CONNECTIONS: Flag = Flag::valued("connections", "N",
        "connections of visitors and connectors' calls at once (default 512): half of them for the sites of one \
         connector, a quarter for one visitor");
    pub(crate) const ANSWER_TIMEOUT: Flag = Flag::valued("answer-timeout", "SECONDS",
        "how long a request may stand still before its answer begins, because the visitor or the application is slow, also \
         as in 5m (default 300)");
    pub(crate) const DRAIN: Flag = Flag::valued("drain", "SECONDS",
        "how long SIGTERM waits for requests and connections that run, also as in 1m: /health answers 503 meanwhile, and who comes is \
         served (default 0; 30 with --store)");
    pub(crate) const METRICS_LISTEN: Flag = Flag::valued("metrics-listen", "[HOST:]PORT",
        "where Prometheus finds /metrics, as 127.0.0.1:8182: an address of its own, whose every caller is answered; it \
         names no site and nobody (default: nowhere)");
    pub(crate) const DATA: Flag = Flag::valued("data", "DIR",
        "where its state is (default: relay/ in the per-user directory)").kind(Kind::Directory);
    pub(crate) const STORE: Flag = Flag::valued("store", "URL",
        "share the state with other relays, in a MariaDB or MySQL database: mysql://USER@HOST:PORT,HOST:PORT/DATABASE, \
         password in POSTERN_STORE_PASS; TLS, verified, off loopback (default: files in --data)");
    pub(crate) const PEER_LISTEN: Flag = Flag::valued("peer-listen", "HOST:PORT",
        "with --store: where the other relays link themselves, on an address that they alone reach (default: the host of \
         --tunnel-listen, port 62889)");
    pub(crate) const PRINT_UNIT: Flag = Flag::switch("print-systemd-unit",
        "print a hardened unit file for these options, and end");
    pub(crate) const ALLOW_OTHER_USERS: Flag = Flag::switch("allow-other-users",
        "on loopback, also serve the other users of this machine");
    pub(crate) use super::{LOG_FORMAT, VERBOSE};

    pub(crate) const COMMAND: Command = Command {
        name: "relay",
        brief: "the remote side: sites, tunnels, quick-setup",
        about: "Starts the remote side: sites below a domain, tunnels that lead to applications.",
        flags: &[
            LISTEN, TUNNEL_LISTEN, DOMAIN, PUBLIC_URL, EXTERNAL_IP, PORT_LISTEN, PORTS, SHARED_HOST_PORTS, ENROLL_TOKEN,
            TRUST_PROXY, PASS_HEADER, CONNECTIONS, ANSWER_TIMEOUT, DRAIN, METRICS_LISTEN, QUOTA_SITES, QUOTA_MBPS, DATA, STORE, PEER_LISTEN, PRINT_UNIT,
            ALLOW_OTHER_USERS, LOG_FORMAT, VERBOSE,
        ],
        commands: &[&LIST, &STATUS_URL, &INVITE, &INVITES, &UNINVITE, &REVOKE, &ALLOW, &RELEASE, &TRANSFER, &RECOVER, &FLEET, &COPY_STORE],
        environment: &[env::HOME, env::TOKEN, env::STORE_PASS, env::STORE_PASS_FILE, env::CERTIFICATES],
        notes: "\
Off loopback, and behind a proxy, a new connector needs an enrol token: the
first start prints one, and 'postern relay invite' makes more.
Passwords cross the network in quick-setup: give visitors and connectors a TLS
server in front, and name it with --public-url.",
        ..Command::EMPTY
    };
    pub(crate) const LIST: Command = Command {
        name: "relay list",
        brief: "show who is enrolled, from where, and what passes",
        about: "Lists the connectors that are enrolled at the relay on this machine, a line an application: LABEL (its \
            invite's, else its machine's name), NAME (for 'revoke'), STATUS, ENROLLED, URL, TARGET, MACHINE, SOURCE, VERSION, \
            INVITE (what let it in), QUOTA (what it has of what it may have), LAST VISIT, TRAFFIC. A terminal shows the columns that fit.",
        flags: &[DATA, WIDE, JSON],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const STATUS_URL: Command = Command {
        name: "relay status-url",
        brief: "print a fresh address of the operator's page",
        about: "Prints the address of the status page of the relay that runs on this machine, also of the one within \
            'postern start'. It signs its reader in once, within ten minutes.",
        flags: &[DATA],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const LABEL: Flag = Flag::valued("label", "TEXT", "whom it is for");
    pub(crate) const USES: Flag = Flag::valued("uses", "N", "how many connectors it lets in (default 1)");
    pub(crate) const FOR: Flag = Flag::valued("for", "TIME", "how long it is good, as in 12h or 30d (default 7d)");

    pub(crate) const INVITE: Command = Command {
        name: "relay invite",
        brief: "make an enrol token, which lets one new connector in",
        about: "Makes an enrol token for the relay on this machine and prints it, this once: it lets one new connector in \
            within a week, unless more is said.",
        flags: &[LABEL, USES, FOR, DATA, JSON],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const INVITES: Command = Command {
        name: "relay invites",
        brief: "show which were made, and who came by them",
        about: "Lists the invites of the relay on this machine: ID, STATUS (good, used, over, forbidden), USED, MADE, ENDS, \
            LABEL (or where it is from), BY (who came by it).",
        flags: &[DATA, JSON],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const UNINVITE: Command = Command {
        name: "relay uninvite",
        operands: "ID",
        operand_count: 1..=1,
        operand_kinds: &[Kind::Text],
        brief: "take one back: nobody new comes by it; who came stays",
        about: "Takes an invite back: nobody new comes by it. Connectors that it has let in stay.",
        flags: &[DATA],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const REVOKE: Command = Command {
        name: "relay revoke",
        operands: "NAME",
        operand_count: 1..=1,
        operand_kinds: &[Kind::Connector],
        brief: "turn a connector out at once, and forbid the invite that it came by",
        about: "Turns a connector out at once, and forbids the invite that it came by, also where that is the relay's \
            --enroll-token. Where no other is good, that token is renewed, and the new one is printed. NAME may be \
            the connector's label if only one has it.",
        flags: &[DATA],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const ALLOW: Command = Command {
        name: "relay allow",
        brief: "undo that: it comes back with its names and ports within 30 days, else it may enrol again",
        about: "Lets a revoked connector in again: with its names and ports within 30 days, else it may enrol anew. Its \
            invite is good again too, unless it is the token that all share. NAME may be the connector's label if only \
            one has it.",
        ..REVOKE
    };
    pub(crate) const FORCE: Flag = Flag::switch("force", "take the name also while its site is connected, which ends it");
    pub(crate) const RELEASE: Command = Command {
        name: "relay release",
        operands: "NAME",
        operand_count: 1..=1,
        operand_kinds: &[Kind::Text],
        brief: "release the name of a site, so that any connector can have it",
        about: "Releases the name of a site, in use or reserved, so that any connector can have it. Sign-ins end, and \
            browsers drop what they stored for the earlier site.",
        flags: &[FORCE, DATA],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const TRANSFER: Command = Command {
        name: "relay transfer",
        operands: "NAME LABEL",
        operand_count: 2..=2,
        operand_kinds: &[Kind::Text, Kind::Connector],
        brief: "transfer the name of a site to another connector",
        about: "Transfers the name of a site to the connector with this label, or this name if the label is not unique. Its \
            next connect with this name gets it. Sign-ins end, and browsers drop what they stored for the earlier site.",
        ..RELEASE
    };
    pub(crate) const FLEET: Command = Command {
        name: "relay fleet",
        brief: "show the relays that have one state with this one",
        about: "Lists the relays of a fleet (--store), as the one on this machine sees them: RELAY (its id), STATE (this one, \
            linked, leaving, away), CONNECTORS (how many have a tunnel there), TUNNELS AT (where connectors dial), LINKED AT \
            (its --peer-listen), VERSION.",
        flags: &[DATA, JSON],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const COPY_STORE: Command = Command {
        name: "relay copy-store",
        operands: "FROM TO",
        operand_count: 2..=2,
        operand_kinds: &[Kind::Directory, Kind::Directory],
        brief: "copy a relay's state from its directory to a store that relays share, or back",
        about: "Copies a relay's state, all but host keys and figures, to where there is none: from the directory of a relay \
            that does not run to a store, mysql://USER@HOST:PORT/DATABASE as of --store, or back.",
        environment: &[env::STORE_PASS, env::STORE_PASS_FILE, env::CERTIFICATES],
        ..Command::EMPTY
    };
    pub(crate) const RECOVER: Command = Command {
        name: "relay recover",
        brief: "go on with what can be read of a damaged state, which the relay does not start with",
        about: "Keeps aside what is damaged of a relay's state, goes on with what can be read of it, and says what is \
            lost. The relay does not do that by itself, as revocations may be lost: look at 'postern relay list' afterwards, \
            and revoke again.",
        flags: &[DATA],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
}

/// `postern plugin` and its subcommands.
#[rustfmt::skip]
pub(crate) mod plugin {
    use super::{Command, JSON, Kind, environment as env};

    pub(crate) const GROUP: Command = Command {
        name: "plugin",
        brief: "make built-in plugins available",
        about: "Makes built-in plugins available, and shows which are.",
        commands: &[&ADD, &REMOVE, &LIST],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const ADD: Command = Command {
        name: "plugin add",
        operands: "NAME",
        operand_count: 1..=1,
        operand_kinds: &[Kind::Choice(&["mysql"])],
        brief: "make a plugin available",
        about: "Makes a plugin available, by its name or one of its protocols.",
        environment: &[env::HOME],
        ..Command::EMPTY
    };
    pub(crate) const REMOVE: Command = Command {
        name: "plugin remove",
        brief: "take it away again",
        about: "Takes a plugin away, by its name or one of its protocols.",
        ..ADD
    };
    pub(crate) const LIST: Command = Command {
        name: "plugin list",
        brief: "show NAME, VERSION, PROTOCOLS, INSTALLED",
        about: "Lists the plugins that were added, with the time of that in UTC.",
        flags: &[JSON],
        environment: &[env::HOME],
        ..Command::EMPTY
    };
}

/// `postern tunnel-client` and `postern tunnel-server`.
#[rustfmt::skip]
pub(crate) mod tunnel {
    use super::{Command, Flag, Kind, environment as env};
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
        "users and what each may forward, as JSON: {\"user:pass\": [\"^R:0.0.0.0:7000$\"]}").kind(Kind::File);

    pub(crate) const ANYBODY: Flag = Flag::switch("anybody",
        "serve without users off loopback too: whoever reaches it can listen on any port of this machine");

    pub(crate) const CLIENT: Command = Command {
        name: "tunnel-client",
        operands: "URL REMOTE…",
        operand_count: 2..=MAX_REMOTES + 1,
        brief: "a tunnel alone, in chisel's protocol",
        environment: &[env::HOME, env::AUTH, env::CERTIFICATES, env::PROXY, env::NO_PROXY],
        about: "Keeps a tunnel to a chisel-v3 server, for reverse TCP remotes.",
        flags: &[AUTH, FINGERPRINT, KEEPALIVE, MAX_RETRY_COUNT, MAX_RETRY_INTERVAL, HEADER, PROXY, VERBOSE],
        notes: "\
REMOTE is R:[LOCAL_HOST:]LOCAL_PORT:REMOTE_HOST:REMOTE_PORT: the server listens
on the local side, and visitors come out at the remote side, reached from here.",
        ..Command::EMPTY
    };
    pub(crate) const SERVER: Command = Command {
        name: "tunnel-server",
        brief: "a tunnel server alone, in chisel's protocol",
        environment: &[env::HOME, env::AUTH],
        about: "Serves chisel-v3 clients, for reverse TCP remotes.",
        flags: &[LISTEN, SERVER_AUTH, AUTHFILE, KEEPALIVE, HOST, PORT, REVERSE, ANYBODY, VERBOSE],
        notes: "\
Without users it serves loopback alone: anybody who reaches it could listen on
any port of this machine.
An expression is compared with R:HOST:PORT; an empty one allows everything.",
        ..Command::EMPTY
    };
}
