//! All times and sizes that affect visitors, sharers or operators, in one table. The code uses these constants, and the
//! manual's page of limits is made from them (`limits_tests`).

use std::time::Duration;

/// Makes a constant of each row, and a table of all rows for the manual.
macro_rules! limits {
    ($($section:literal { $($name:ident: $type:ty = $value:expr, $unit:ident, $what:literal;)* })*) => {
        $($(
            #[doc = $what]
            pub(crate) const $name: $type = $value;
        )*)*

        #[cfg(test)]
        fn table() -> Vec<(&'static str, Vec<[String; 2]>)> {
            vec![$(($section, vec![$([$what.to_owned(), tests::$unit($name)]),*])),*]
        }
    };
}

const fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

limits! {
    "Visitors of a site" {
        HEAD: usize = 32 * KIB, bytes, "request line and headers of a request";
        HEADERS: usize = 100, count, "header lines of a request";
        HEAD_TIME: Duration = secs(10), time, "time to send a request's line and headers";
        ANSWER_TIME: Duration = secs(300), time, "time without progress before a response begins: the visitor stops sending, or the application stops reading or does not answer (<code>relay --answer-timeout</code>)";
        ANSWER_HEAD: usize = 64 * KIB, bytes, "status line and headers of a response";
        ANSWER_HEADERS: usize = 128, count, "header lines of a response";
        ANSWER_TRAILERS: usize = 32, count, "trailer lines of a response, 4 KiB together";
        SILENCE: Duration = secs(HOUR), time, "silence of a response, an event stream, a WebSocket or another upgrade";
        WRITE_STALL: Duration = secs(120), time, "time that a visitor may stop reading a response";
        HALF_CLOSED: Duration = secs(60), time, "silence of a WebSocket after one end has closed";
        GONE_GRACE: Duration = secs(1), time, "time for the rest of a response after the browser closed its connection";
        IDLE_TIME: Duration = secs(60), time, "time that an idle connection is kept open";
        CONNECT_WITHIN: Duration = secs(10), time, "time to connect to the application";
        CONNECTIONS: usize = 512, count, "simultaneous requests and connections (<code>relay --connections</code>)";
        OF_ALL_SITES: (usize, usize) = (7, 8), part, "part of these for all sites together";
        OF_ONE_CONNECTOR: (usize, usize) = (1, 2), part, "part of these for the sites of one connector";
        OF_ONE_VISITOR: (usize, usize) = (1, 4), part, "part of these for one visitor, incomplete requests included (an IPv4 address or an IPv6 /64; behind <code>--trust-proxy</code> the one the proxy names)";
        PER_SOURCE: usize = 64, count, "connections from one address without a proxy in front";
        SLOW_AFTER: Duration = secs(2), time, "time without progress after which an incomplete request is closed when all connections are in use, before idle connections";
        WRONG_CODES: usize = 5, count, "wrong codes per minute from one address";
        SIGNED_IN_FOR: Duration = secs(12 * HOUR), time, "lifetime of a sign-in";
    }
    "Visitors of a public port" {
        PORT_VISITORS: usize = 4096, count, "simultaneous visitors of public ports, fewer if the open-file limit is low";
        PORTS_OF_ONE: usize = 2, one_of, "part of these for the ports of one connector";
        PORTS_OF_SOURCE: usize = 4, one_of, "part of these for one address";
        OPEN_WITHIN: Duration = secs(30), time, "time for the connector to open the connection";
    }
    "Sharing" {
        APPLICATIONS: usize = 500, count, "applications";
        CONNECTED: usize = 100, count, "connected applications";
        SERVERS: usize = 50, count, "relays";
        STREAMS: usize = 8192, count, "connections through all tunnels, fewer if the open-file limit is low";
        STREAMS_OF_TUNNEL: usize = 2, one_of, "part of these for one tunnel";
        STREAMS_OF_SITE: usize = 2048, count, "connections of one <code>http</code> or <code>https</code> application";
        THREADS_OF_SITE: usize = 512, count, "of these with a long request, an upgrade or an upload at once";
        MAX_STREAMS: u32 = 10_000, count, "highest <code>max_streams</code> of an application";
        NETWORKS: usize = 100, count, "networks in <code>--allow</code>";
        LONGEST_SHARE: Duration = secs(366 * DAY), time, "longest <code>--for</code>";
        APP_NAME: usize = 100, count, "characters of an application's name";
        APP_URL: usize = 2048, count, "characters of an application's URL";
        APP_FILE: u64 = 4 << 20, bytes, "size of a file for <code>app import</code>";
        GUEST_TABLES: usize = 2000, count, "tables of a guest account";
        GUEST_LIFE: Duration = secs(8 * HOUR), time, "lifetime of a guest account without <code>--for</code>";
        REQUEST_LOG: usize = 500, count, "requests of an application shown on the page";
        STATEMENT_LOG: usize = 500, count, "statements of an application shown on the page";
        STATEMENT_LINES: u64 = 120, count, "log lines per minute for one visitor's statements that changed nothing, and as many for large and for failed ones";
        AUDIT_FILES: usize = 10, count, "files of an application's audit log";
        AUDIT_FILE: u64 = 10 << 20, bytes, "size of one such file";
        AUDIT_REMOVED: usize = 500, count, "removed applications whose audit log is kept";
        AUDIT_KEPT: Duration = secs(90 * DAY), time, "retention of the audit log of a removed application";
        SETUP_CALL: Duration = secs(30), time, "time for a call to a relay";
        SETUP_ATTEMPTS: u32 = 5, count, "attempts for such a call";
        RETRY_AFTER: Duration = secs(300), time, "longest wait that a relay can request with <code>Retry-After</code>";
        RESOLVE_TIMEOUT: Duration = secs(10), time, "time to resolve a relay's address";
        CONNECT_TIMEOUT: Duration = secs(10), time, "time to connect to a relay";
        HANDSHAKE_TIMEOUT: Duration = secs(15), time, "time for the proxy, TLS and the WebSocket of a tunnel";
        HEAD_START: Duration = secs(3), time, "time for one way to a relay (tunnel port or URL) before the other one is tried too";
        TUNNEL_WAIT: Duration = secs(30), time, "time until a tunnel is ready";
        KEEPALIVE: Duration = secs(25), time, "interval of keep-alive requests of a tunnel";
        GONE_WITHIN: Duration = secs(40), time, "silence after which a tunnel counts as lost";
        TUNNEL_STALL: Duration = secs(30), time, "time that a tunnel's other end may stop reading";
        MAX_RETRY_INTERVAL: Duration = secs(10), time, "longest pause between attempts to connect a tunnel";
        REKEY_PAUSE: Duration = Duration::from_millis(20), time, "shortest time between two key exchanges of a tunnel without data between them";
        REKEY_AHEAD: Duration = secs(10), time, "total time by which such key exchanges may be early";
        PROBE_PAUSE: Duration = secs(30), time, "interval of checks of an application that does not answer";
    }
    "Web client and management page" {
        BODY: usize = 4 * MIB, bytes, "body of a request";
        BODY_PROGRESS: usize = 16 * KIB, bytes, "part of a body that must arrive within the time below";
        BODY_STALL: Duration = secs(30), time, "time for this part of a body";
        DB_CONNECTIONS: usize = 32, count, "database connections";
        DB_OF_ONE: usize = 8, count, "database connections of one visitor";
        DB_CONNECT: Duration = secs(10), time, "time to connect to a database server";
        DB_SIGN_IN: Duration = secs(20), time, "time to sign in to a database server";
        SESSION_IDLE: Duration = secs(600), time, "time that an idle session keeps its connection";
        SESSION_TURN: Duration = secs(10), time, "time that a statement waits for the previous one in its session";
        SHARED_QUERY: Duration = secs(60), time, "time for a statement when shared (<code>--query-timeout</code>)";
        ROW: usize = 256 * MIB, bytes, "size of a row";
        ROW_SHARED: usize = 64 * MIB, bytes, "size of a row in read-only and invisible mode";
        LARGE_ROWS: usize = 256 * MIB, bytes, "size of all large rows waiting for slow readers";
        LARGE_ROWS_OF_ONE: usize = LARGE_ROWS / 2, bytes, "size of these for one reader";
        CHANGES: usize = 5000, count, "changed rows in one request";
        CHANGES_SIZE: usize = 32 * MIB, bytes, "size of all changes in one request (a file of 24 MB)";
        STATEMENT_SHARED: usize = 4 * MIB, bytes, "size of a script statement when shared or read-only; otherwise the server's limit, at most the size of a row";
        STATEMENT_TIME: Duration = secs(120), time, "time to send such a statement";
        SCRIPTS: usize = 16, count, "simultaneous large scripts when shared";
        SCRIPTS_OF_ONE: usize = 4, count, "large scripts of one visitor";
        FAILURES_SHARED: u64 = 500, count, "failed statements in a script when shared or read-only";
        DOWNLOADS_OF_ONE: usize = 10, count, "waiting downloads of one visitor";
        DOWNLOAD_WAIT: Duration = secs(60), time, "time that a download waits to be started";
        SEARCH_ENTRIES: usize = 500_000, count, "databases, tables, columns and other objects that the search covers";
        SEARCH_SIZE: usize = 32 * MIB, bytes, "size of their names and comments in memory";
        SEARCH_TEXT: usize = 200, count, "characters of a search";
        SEARCH_MATCHES: usize = 500, count, "matches in one answer";
        SEARCH_IDLE: Duration = secs(600), time, "time after the last search until these names are read again";
        SEARCH_AGE: Duration = secs(60), time, "age of these names for visitors";
        OF_OWNER: usize = 8, one_of, "part of connections, requests and scripts reserved for the owner";
    }
    "Relay" {
        SETUP_CALLS: usize = 30, count, "quick-setup calls per minute from one address, without those of known connectors";
        WRONG_LOGINS: usize = 30, count, "wrong tunnel passwords per minute from one address, for passwords that a person chose (generated ones have 256 random bits and no such limit)";
        CONNECTORS: usize = 2500, count, "connectors";
        SITES_OF_ONE: usize = 100, count, "applications of one connector (<code>--quota-sites</code>)";
        TUNNELS: usize = 16_384, count, "tunnels of connectors: a main tunnel and one for each application";
        TUNNELS_OF_LOGIN: usize = 256, count, "tunnels of one connector";
        TUNNELS_OF_SOURCE: usize = 128, count, "tunnels from one address; the oldest before login gives way to a new one";
        TUNNELS_PENDING: usize = 1024, count, "tunnels before login";
        LOGIN_WITHIN: Duration = secs(30), time, "time for a tunnel to log in";
        CONFIG_WITHIN: Duration = secs(10), time, "time after login to send the list of shares";
        INVITES: usize = 1000, count, "invites";
        INVITE_USES: u32 = 2500, count, "connectors that can use one invite";
        INVITE_LIFE: Duration = secs(7 * DAY), time, "lifetime of an invite without <code>--for</code>";
        INVITE_LONGEST: Duration = secs(366 * DAY), time, "longest lifetime of an invite";
        ENROLL_TOKEN: usize = 256, bytes, "size of an enrolment token";
        RESERVED_FOR: Duration = secs(30 * DAY), time, "time that a removed application's name or port stays reserved";
        LINK_LIFE: Duration = secs(600), time, "lifetime of a link to the operator's page";
        COUNTERS_EVERY: Duration = secs(60), time, "interval at which traffic and last visits are saved; a killed relay loses the rest";
        LOG_LINES: usize = 120, count, "log lines per minute for each kind of failure; one line counts the rest";
        FLEET_DRAIN: Duration = secs(30), time, "time that a relay of a fleet drains before it stops (<code>--drain</code>)";
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
