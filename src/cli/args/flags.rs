//! Flags that several commands have: what says for whom and how long something is shared.

use super::command::{Flag, Kind};

#[rustfmt::skip]
pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
    "relay to share through (default: POSTERN_SERVER, or the relay of 'postern start', or this machine only)").kind(Kind::Server);
#[rustfmt::skip]
pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
    "enrolment token, which registers this machine at the relay. Other users can see it in the process list; set \
        POSTERN_ENROLL_TOKEN to hide it");
#[rustfmt::skip]
pub(crate) const NAME: Flag = Flag::valued("name", "NAME", "name of the share, also used for its address");
#[rustfmt::skip]
pub(crate) const SITE_NAME: Flag = Flag::valued("site-name", "NAME",
    "preferred first part of the address, such as shop in https://shop.relay.example/");
#[rustfmt::skip]
pub(crate) const FOR: Flag = Flag::valued("for", "TIME",
    "share for this long, counted from now: 30s, 90m, 1h30m, 8h or 2d");
#[rustfmt::skip]
pub(crate) const UNTIL: Flag = Flag::valued("until", "TIME",
    "share until this time: 18:00 (local time) or 2030-01-31T18:00:00Z");
#[rustfmt::skip]
pub(crate) const INVISIBLE: Flag = Flag::switch("invisible", "visitors need a code (default for databases)");
#[rustfmt::skip]
pub(crate) const VISIBLE: Flag = Flag::switch("visible", "visitors need no code (default except for databases)");
#[rustfmt::skip]
pub(crate) const INVISIBLE_SITE: Flag = Flag::switch("invisible", "visitors need a code; the printed link contains it");
#[rustfmt::skip]
pub(crate) const VISIBLE_SITE: Flag = Flag::switch("visible", "visitors need no code (default)");
#[rustfmt::skip]
pub(crate) const VISIBLE_PORT: Flag = Flag::switch("visible",
    "open the port to everybody who can reach the relay; only the service's own sign-in protects it then. By \
        default, sharing through a relay on another machine is refused unless --allow limits access");
#[rustfmt::skip]
pub(crate) const ALLOW: Flag = Flag::valued("allow", "CIDR",
    "limit access to this network, e.g. 192.0.2.0/24 (repeatable)").repeatable();
#[rustfmt::skip]
pub(crate) const HOST: Flag = Flag::valued("host", "NAME",
    "Host header sent to the application: visitor (the public address, default), target (its own address) or a name; https://NAME if the application expects https");
#[rustfmt::skip]
pub(crate) const GUEST: Flag = Flag::valued("guest", "GRANT",
    "create a read-only database account for visitors that is limited to these tables: 'shop.*', 'shop.customers' or \
        'shop.customers(id,name)' (repeatable). 'shop.*' means all tables and views that exist when it connects; a \
        view shows whatever its definer may read").repeatable();
#[rustfmt::skip]
pub(crate) const GROUP: Flag = Flag::valued("group", "NAME", "heading on the page");
#[rustfmt::skip]
pub(crate) const AUDIT: Flag = Flag::switch("audit", "write an audit log of all requests (for databases: statements)");
#[rustfmt::skip]
pub(crate) const RECORD_SQL: Flag = Flag::switch("record-sql",
    "include the texts of SQL statements in logs (they may contain data)");
#[rustfmt::skip]
pub(crate) const MAX_STREAMS: Flag = Flag::valued("max-streams", "N", "maximum number of simultaneous visitor \
    connections (0: no limit)");
#[rustfmt::skip]
pub(crate) const QR: Flag = Flag::switch("qr", "also show the link as a QR code");
#[rustfmt::skip]
pub(crate) const JSON: Flag = Flag::switch("json", "print one JSON object per line");
#[rustfmt::skip]
pub(crate) const NO_OPEN: Flag = Flag::switch("no-open", "accepted for scripts; this command never opens a browser");
