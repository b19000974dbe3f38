//! postern: one small static executable with a web SQL client for MySQL-protocol databases, and tunnels that share a
//! local application.
//!
//! This page is the map: rooms, the three paths that matter, threads, locks, words, and the facts of the two protocols
//! that comments elsewhere cite.
//!
//! # Rooms
//!
//! Imports point downward in this list, and one way inside a room too (`tests/knots.py` proves it).
//!
//! | room | is |
//! |---|---|
//! | [`cli`] | one file for each command; flags, help and parsing come from one table |
//! | [`manager`] | `postern start`: applications, the state machine of each connection, an owner of each remote server |
//! | [`relay`] | `postern relay`: quick-setup, names and ports, the sites; `relay/fleet`: several relays with one store |
//! | [`api`] | the APIs of manager and relay: types, kinds of failure, one client of another process or of this one |
//! | [`gateway`] | one pipeline between visitors and sites, for both ends of a tunnel: which site, who may, what passes |
//! | [`sqlweb`] | `postern mysql`: the API of the web client, its sessions, the read-only gate |
//! | [`plugin`] | which plugins exist and are installed |
//! | [`tunnel`] | the chisel protocol from both ends: `ws` carries bytes, `ssh` is a pure state machine, `mux` runs it |
//! | [`http`] | HTTP/1.1: `h1` is pure, `server` owns the sockets, tiny_http's workers answer behind it |
//! | [`net`], `sync`, [`store`] | names and addresses, waiting and accepting; locks and permits; the per-user directory |
//! | `limits` | every time and size that people meet, in one table |
//! | `src/rows`, `src/regex` | packages of their own: loops over every byte of a row; the small part of `regex` that the driver needs |
//!
//! Synchronous throughout: a thread waits where an async runtime would have a task. No `unsafe`.
//!
//! # Where to look
//!
//! | for | look in |
//! |---|---|
//! | routes | `manager/api/routes`, `relay/api`, `sqlweb/api/routes` |
//! | the check of Host, Origin and Sec-Fetch | `http/server/policy`; for a site's name `gateway/forwarded` |
//! | codes, sign-ins, networks of visitors | `gateway/auth`, `gateway/signin`, `gateway/handler`, `http/auth` |
//! | search of names and comments | `sqlweb/search` |
//! | read-only or not | `sqlweb/gate`, then `sqlweb/conn/readonly` |
//! | pauses between attempts | `tunnel/client/tunnel`, `manager/connection/connect` |
//! | a connector that is refused | `relay/connector_auth` (its calls), `relay/policy` (its tunnels), `relay/follow` (open ones end) |
//! | an end time that is reached | `store/expiry`; then `manager/app_state`, `relay/sites` |
//! | a site at another relay of a fleet | `relay/sites` asks `relay/fleet/links`, which opens a `relay/fleet/hop` |
//! | secrets on disk | `store/seal`, `store/credentials` |
//!
//! # The path of one API request
//!
//! ```text
//! browser ─TCP─> http/server/listener      accepts, counts, one thread a connection
//!                http/server/connection    reads a head (http/h1/head), checks it (policy: Host, Origin, Sec-Fetch; peer)
//!                http/proxy                writes it afresh to a private Unix socket, passes the answer back
//!                http/upstream             tiny_http and its workers on that socket
//!                http/router               method and path to handler
//!                sqlweb/api                fields checked one by one; slow work gets a thread of its own
//!                sqlweb/query/execute      gate ─> session ─> read-only transaction ─> statement ─> warnings
//!                sqlweb/gate               a pure function from text to verdict
//!                sqlweb/conn/check_out     the connection that the tab's statements share, one at a time
//!                sqlweb/conn/wire          the answer, read from the socket where there is no TLS, else by the driver
//!                sqlweb/query/statement    rows as they come ─> sqlweb/output/json_answer ─> http/request ─> back up
//! ```
//!
//! The loops over every byte of a row are in `src/rows`, a package of its own since it is built for speed and not for size.
//! Nothing is collected: a row is written when it arrives, and a client that does not read makes the database wait. A
//! client that leaves is noticed by `http/server`, which cancels the request; that reaches `sqlweb/conn/running`, which
//! kills the statement (`sqlweb/conn/kill`).
//!
//! # The path of one request to a shared site
//!
//! ```text
//! visitor ─TCP─> http/server/connection    as above; a name that is a site's is the gateway's
//!                http/server/parking_lot   the same without a thread, for a kept connection's short requests
//!                gateway                   which site (host), who may (auth, signin), what it gets to see (request_head)
//!                http/proxy                the same loop as above, on the visitor's socket and a stream
//!                tunnel/mux/local_stream   a channel to the site's connector, opened in this process
//!                tunnel/ssh, tunnel/ws     sealed and framed: one WebSocket a connector
//!     ═══════════ the network ═══════════
//!                tunnel/ws, tunnel/ssh     opened in place
//!                tunnel/mux/stream         connects to the target that was configured, and to no other; a stream of what
//!                                          speaks HTTP stays in this process, where
//!                manager/site              reads its requests; between these a stream has no thread (streams)
//!                gateway                   the same pipeline, for the application: its own name and links (naming), the
//!                                          code where the server asks for none, events of requests (connector_side)
//!                http/proxy                the same loop once more
//!                the application
//! ```
//!
//! # The path of one byte through a tunnel
//!
//! ```text
//! socket ─> mux/carry_up ───> ssh/session ───> ssh/writer ───> ws/shared_socket ──> socket
//!           reads what the    queued under     sealed in      framed,
//!           window allows     its one lock     place          one write
//!
//! socket ─> ws/reader ──────> ssh/reader ────> mux/carry_down> stream's socket, or its queue
//!           frames opened     opened in place  by channel      when that takes no more
//! ```
//!
//! The reading thread of a tunnel never waits for a target: what a target does not take waits in its stream's queue,
//! bounded by the channel's window, which is opened again only as the target takes it (RFC 4254 section 5.2).
//!
//! # Threads
//!
//! | thread | started by | ends | joined by |
//! |---|---|---|---|
//! | main | the system | with the command | |
//! | `signals` | [`cli`], once | with the process | nobody |
//! | `http-accept` | `http::server`, one a listener | when the server stops | the server |
//! | `http-conn` | `http-accept`, one a connection; `http-parked`, for what takes longer | with the connection, or when it is parked | the server's stop waits for its table |
//! | `http-parked` | `http::server`, one a server with a gateway: carries kept connections whose requests are soon over | with the server | nobody |
//! | `log` | [`cli`], while lines of the request log wait to be written together | when none do | nobody |
//! | `http-worker` | `http::upstream`, a few a server | when the server stops | the server |
//! | `http-answer` | a worker, for an answer that streams | with the answer | nobody |
//! | `client-gone` | `http`, when a client left its request | when handlers were told | nobody |
//! | `sql` | [`sqlweb`], one a request that asks the database, and one that reads the catalogue for searches | with the answer, or the catalogue | nobody |
//! | `sql-watch` | [`sqlweb`], one a web client: time limits, idle sessions | when it is closed | the web client |
//! | `db-connect`, `db-kill`, `db-reap` | [`sqlweb`], for what the driver cannot give a deadline | with the connection made, the kill sent, the list looked at | nobody |
//! | `db-relay` | [`sqlweb`], one a connection of an account that the driver does not sign in to (`conn/sha256`) | with the connection | nobody |
//! | `db-guest` | [`sqlweb`], when a guest's account ends or is given another end | with that | the web client's stop waits a moment |
//! | `changes` | [`api`], while a command waits for a change in another process | after the change, or 10 s | nobody |
//! | `connection` | [`manager`], one a connected application: the connect sequence | after its stop signal | the manager's stop waits |
//! | `remote-server` | [`manager`], one a remote server in use: owns its credentials, calls and main tunnel | when nobody uses the server | the manager's stop waits |
//! | `quick-setup`, `release` | [`manager`], one a call | with the call, 30 s at most | nobody |
//! | `health` | [`manager`], one a question whether an application answers | with the answer | nobody |
//! | `web-client` | [`manager`], while a database's web client starts, and at the start to drop what guests have left | when it has started | nobody |
//! | `share` | [`manager`], one a temporary application: waits for the end of its command | with that | nobody |
//! | `sleep-watch` | [`manager`], one: looks at the clocks (`sync::Lookout`), and wakes what waits | a second after the manager | nobody |
//! | `manage` | [`manager`], one a change that may wait for another process | with the answer | nobody |
//! | `tunnel` | `tunnel::client`, one a tunnel: dials, then reads | when the tunnel is stopped | the tunnel's stop |
//! | `tunnel-accept`, `tunnel-listen` | `tunnel::server`, one a server and one a public port | when it is stopped, when the port is freed | whoever frees it |
//! | `tunnel-client` | `tunnel-accept`, one a client: reads | with the connection | the server's stop waits |
//! | `tunnel-writer`, `tunnel-poller` | `tunnel::mux`, one each a connection: what others left to write, what quiet streams receive | with the connection | the reading thread |
//! | `tunnel-stream` | `tunnel::mux`'s pool: connects to a target, carries a busy stream, drains a queue; serves a stream of an HTTP application for [`manager`] | after a second without work | nobody |
//! | `app-streams` | [`manager`], one an application that speaks HTTP: carries streams whose requests are soon over | with the application's tunnel | nobody |
//! | `tunnel-dial` | `tunnel`, while it connects to a server that has two ways: waits, then dials the second | when one way works, or neither | `tunnel` |
//! | `tunnel-resolve` | `tunnel::ws`, one a name | with the resolver's answer | nobody |
//! | `expiry`, `relay-expiry` | [`manager`], [`relay`], one each while something is to end by itself: looks at the clocks (`sync::Lookout`) | when nothing is | nobody |
//! | `relay-connects` | [`relay`], one while something is to be noted: when sites were connected, for certificates | a second after the last note | nobody |
//! | `relay-call` | [`relay`], one a call that may wait, for a password that is slow to compare or for the store | with the answer | nobody |
//! | `relay-stop` | [`relay`], when it stops: ends visitors' connections while tunnels are ended | with that | the relay's stop |
//! | `fleet-watch` | `relay::fleet`, one: reads the changes of other relays, and notes that this one runs | when the relay stops | the relay's stop, unless the store is silent |
//! | `probe` | `relay::fleet`, when a link to another relay may be dead: closes it if nothing comes | with the answer | nobody |
//! | `browser` | [`cli`], waits for the program that opens a browser | with that program | nobody |
//! | `doctor` | [`cli`], one an application that `postern doctor` asks | with the answer | `postern doctor` |
//! | `silence` | [`cli`], while `postern mysql` waits for the database: says that nothing answers | when it answers | nobody |
//! | `stop` | [`cli`], when the program ends: stops what was served | with that, or the process | nobody |
//! | `embedded-stop` | [`cli`], when `postern start` ends: stops its own relay while the manager stops | with that | `postern start` |
//!
//! These are the kinds of `sync::Thread`, which has their stacks: small and explicit, since a stack counts as memory once
//! it was touched. A debug build needs more. tiny_http has threads of its own on its private socket, without names.
//!
//! # Order of locks
//!
//! A lock is held for memory alone: never over a socket, a file, a resolver, a database, or a callback. Where two are held
//! at once they are taken in this order:
//!
//! - the audit files: one lock an application, held over the write of a line, so that lines are whole; nothing is taken under it;
//! - a tunnel: writer, session, streams, one stream's state; the timers' after the session's or alone; the poller's, the
//!   pool's, the buffers' and a rate's alone. The writer's is the exception to the rule above: it orders whole frames, and is held
//!   while the socket takes them, for a bounded time;
//! - a relay: the saver's mutex of its state, which is held over the save, then what is staged, then the snapshot, which
//!   readers take without waiting; ports are tried without any of them; the table of sites, then when they end;
//! - a web client: a session's slot, then the running statements, then one statement's own;
//! - the manager: the map of connections, then one connection's record, then the list of those who wait for its changes;
//!   the places of servers alone.
//!   State of a remote server has one owner thread and no lock.
//!
//! # Words
//!
//! | word | is |
//! |---|---|
//! | application | what the user shares: a protocol and an address |
//! | connector | a `postern start`, as a relay knows it: a name, a password, a tunnel |
//! | remote server | what answers quick-setup and takes tunnels: a relay of ours, or another's |
//! | main tunnel | one for each remote server; it leads to the local API service |
//! | application's tunnel | one for each connected application |
//! | remote | what a tunnel forwards: where the server listens, and where the client connects to |
//! | stream | one TCP connection through a tunnel: an SSH channel of type `chisel` |
//! | site | an application under a name of its own, `{site}.{domain}` |
//! | invisible | a site or web client that asks for a code before it shows anything |
//! | visitor | who opens a site; not a user of this program |
//! | fleet | relays that share a database and serve each other's sites |
//! | link | the tunnel from one relay of a fleet to another |
//! | invite | what lets new connectors in: a token that is good once, unless more was said, with an end |
//! | gate | the function that decides from a statement's text whether it only reads |
//! | session | the database connection that the statements of one tab share |
//!
//! # The protocol of the tunnel
//!
//! It is chisel's, version `chisel-v3`: SSH 2 (RFC 4251 to 4254) in one WebSocket (RFC 6455).
//!
//! 1. The client upgrades `GET /` with `Sec-WebSocket-Protocol: chisel-v3`. A chisel server does not repeat that value in
//!    its answer; both answers are taken. Other requests get 404, `/health` `OK`, `/version` the version.
//! 2. Binary messages carry a stream of bytes; their borders mean nothing.
//! 3. Identification lines are `SSH-chisel-v3-client` and `SSH-chisel-v3-server`, without `2.0`; what was sent is hashed.
//! 4. Key exchange is curve25519-sha256 (RFC 8731), host keys ecdsa-sha2-nistp256, ssh-ed25519 and rsa-sha2, ciphers AES-GCM
//!    (RFC 5647) and chacha20-poly1305@openssh.com, with strict key exchange (CVE-2023-48795). A new one begins after 1 GiB
//!    or an hour, from either side.
//! 5. Login is by password (RFC 4252 section 8); a server without users takes anybody. Six tries.
//! 6. The first global request is `config`, its data JSON: `{"Version": …, "Remotes": [{"LocalHost", "LocalPort",
//!    "LocalProto", "RemoteHost", "RemotePort", "RemoteProto", "Socks", "Reverse", "Stdio"}]}`, all strings but the last
//!    three. For a reverse remote, local is the server's side. A text in the answer is a refusal, also under success. The
//!    round trip is the latency of the log line `Connected (Latency 1.23ms)`. A server waits 10 s for it.
//! 7. For each connection to a remote's port the server opens a channel of type `chisel`, whose extra data is the target,
//!    `host:port`, without a length in front. A client refuses a target that it did not configure. When a target refuses,
//!    the channel is closed at once.
//! 8. Keep-alive is the global request `ping`, answered with `pong`, every 25 s. A chisel peer never answers an unknown one.
//! 9. A fingerprint is the padded base64 of SHA-256 over the host key's blob.
//!
//! A client reconnects for ever: after 100 ms, doubling to 10 s, with jitter; after a wrong password or a changed host
//! key, after 10 s or more. A connection of less than 5 s does not make the pauses short again.
//!
//! # Specification
//!
//! Comments call this section the specification. Quick-setup is `POST {server}/api/public/quick-setup` with a JSON body
//! (`protocol`, `ip`, `port`, `connector_name`, `password` and more); its answer names the connector's tunnel (address,
//! ports, user, password) and the application's (port on the server, URL of the site, code). It takes 30 s at most and five
//! attempts: after 401 the credentials are read again, after 429 it waits three seconds times the attempt, after a broken,
//! refused or silent connection a second times the attempt.
//!
//! The connect sequence:
//!
//! 1. quick-setup with the present credentials;
//! 2. the connector's part of the answer is saved, sealed, before anything is dialled;
//! 3. the main tunnel is made if there is none: `R:{api_port}:localhost:{local_port}`, the local port the saved one or
//!    the first free one of 4000 to 5000; it has 30 s to connect;
//! 4. the application's tunnel is made: `R:127.0.0.1:{port}:{ip}:{port}`;
//! 5. it has 30 s to connect, else the error is `App tunnel connect timeout`;
//! 6. the addresses for the user are made; the one with a code only in invisible mode;
//! 7. the connection is `connected`;
//! 8. it waits for its stop signal. Disconnecting closes the application's tunnel and leaves the main one.
//!
//! A connection's states are `connecting`, `connected`, `failed` and `disconnected`; without one an application is `idle`.
//! The page asks for the list every 5 s and for a connection's status every 2 s, and opens a new site 500 ms after it is
//! connected. Ports: 8181 for the page, 62888 for tunnels, 3306 for databases. Whether an application answers is asked
//! once before it is `connected` (1 s at most), and every 30 s while it does not.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod api;
pub mod cli;
pub mod gateway;
pub mod http;
mod limits;
pub mod manager;
#[cfg(test)]
mod map_tests;
pub mod net;
pub mod plugin;
pub mod relay;
pub mod sqlweb;
pub mod store;
mod sync;
pub mod tunnel;

/// The fuzz inputs are shared with targets outside, which know the crate by its name.
#[cfg(test)]
extern crate self as postern;
