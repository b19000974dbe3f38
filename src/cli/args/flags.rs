//! Flags that several commands have: what says for whom and how long something is shared.

use super::command::{Flag, Kind};

#[rustfmt::skip]
pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
    "relay server (default: POSTERN_SERVER, or the server 'postern start' uses, or this machine only)").kind(Kind::Server);
#[rustfmt::skip]
pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
    "enrolment token; visible to other users of this machine in the process list, POSTERN_ENROLL_TOKEN is not");
#[rustfmt::skip]
pub(crate) const NAME: Flag = Flag::valued("name", "NAME", "name of the share, also used for its address");
#[rustfmt::skip]
pub(crate) const SITE_NAME: Flag = Flag::valued("site-name", "NAME", "preferred first part of the address");
#[rustfmt::skip]
pub(crate) const FOR: Flag = Flag::valued("for", "TIME", "share for this long: 30s, 90m, 1h30m, 8h or 2d");
#[rustfmt::skip]
pub(crate) const UNTIL: Flag = Flag::valued("until", "TIME",
    "share until this time: 18:00 (local time) or 2030-01-31T18:00:00Z");
#[rustfmt::skip]
pub(crate) const INVISIBLE: Flag = Flag::switch("invisible", "visitors need a code (default for databases)");
#[rustfmt::skip]
pub(crate) const VISIBLE: Flag = Flag::switch("visible", "visitors need no code (default for all others)");
#[rustfmt::skip]
pub(crate) const ALLOW: Flag = Flag::valued("allow", "CIDR",
    "limit access to this network, e.g. 192.0.2.0/24 (repeatable)").repeatable();
#[rustfmt::skip]
pub(crate) const HOST: Flag = Flag::valued("host", "NAME",
    "Host header sent to the application: visitor (the public address, default), target (its own address) or a name; https://NAME if the application expects https");
#[rustfmt::skip]
pub(crate) const GUEST: Flag = Flag::valued("guest", "GRANT",
    "limit visitors of a database to these tables: 'shop.*', 'shop.customers', 'shop.customers(id,name)' \
        (repeatable). 'shop.*' means all tables and views that exist at that moment; a view shows whatever its \
        definer may read").repeatable();
#[rustfmt::skip]
pub(crate) const GROUP: Flag = Flag::valued("group", "NAME", "heading on the page");
#[rustfmt::skip]
pub(crate) const AUDIT: Flag = Flag::switch("audit", "write an audit log of all requests, or statements");
#[rustfmt::skip]
pub(crate) const RECORD_SQL: Flag = Flag::switch("record-sql",
    "include SQL texts in the audit log (they may contain data)");
#[rustfmt::skip]
pub(crate) const MAX_STREAMS: Flag = Flag::valued("max-streams", "N", "maximum number of simultaneous visitor \
    connections");
#[rustfmt::skip]
pub(crate) const QR: Flag = Flag::switch("qr", "also show the link as a QR code");
#[rustfmt::skip]
pub(crate) const JSON: Flag = Flag::switch("json", "print one JSON object per line");
#[rustfmt::skip]
pub(crate) const NO_OPEN: Flag = Flag::switch("no-open", "accepted for scripts; this command never opens a browser");
