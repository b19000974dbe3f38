//! Flags that several commands have: what says for whom and how long something is shared.

use super::command::{Flag, Kind};

#[rustfmt::skip]
pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
    "the server that others come through (default: POSTERN_SERVER, else that of 'postern start', else a relay for \
     this machine alone)").kind(Kind::Server);
#[rustfmt::skip]
pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
    "enrol at the server with this token; other users of this machine can see it in the list of processes: \
     POSTERN_ENROLL_TOKEN is safer");
#[rustfmt::skip]
pub(crate) const NAME: Flag = Flag::valued("name", "NAME", "what it is called, and its site too");
#[rustfmt::skip]
pub(crate) const SITE_NAME: Flag = Flag::valued("site-name", "NAME", "wished name of its site");
#[rustfmt::skip]
pub(crate) const FOR: Flag = Flag::valued("for", "TIME", "how long, from now on: 30s, 90m, 1h30m, 8h or 2d");
#[rustfmt::skip]
pub(crate) const UNTIL: Flag = Flag::valued("until", "TIME",
    "until when: 18:00, by the clock of this machine, or with the day as in 2030-01-31T18:00:00Z");
#[rustfmt::skip]
pub(crate) const INVISIBLE: Flag = Flag::switch("invisible", "visitors need a code (default for databases)");
#[rustfmt::skip]
pub(crate) const VISIBLE: Flag = Flag::switch("visible", "visitors need no code (default for all others)");
#[rustfmt::skip]
pub(crate) const ALLOW: Flag = Flag::valued("allow", "CIDR",
    "let visitors in from this network only, as 192.0.2.0/24; may be repeated").repeatable();
#[rustfmt::skip]
pub(crate) const HOST: Flag = Flag::valued("host", "NAME",
    "the Host that the application gets: visitor (default: the site's), target (its own), or a name");
#[rustfmt::skip]
pub(crate) const GUEST: Flag = Flag::valued("guest", "GRANT",
    "of a database, let visitors read this alone: 'shop.*', 'shop.customers', 'shop.customers(id,name)'; may be \
     repeated. 'shop.*' is the tables and views that are there then; a view shows what its definer may read").repeatable();
#[rustfmt::skip]
pub(crate) const GROUP: Flag = Flag::valued("group", "NAME", "the heading that it stands under on the page");
#[rustfmt::skip]
pub(crate) const AUDIT: Flag = Flag::switch("audit", "keep who asked for what in files");
#[rustfmt::skip]
pub(crate) const RECORD_SQL: Flag = Flag::switch("record-sql",
    "of a database, keep the statements' texts too: they may hold data");
#[rustfmt::skip]
pub(crate) const MAX_STREAMS: Flag = Flag::valued("max-streams", "N", "connections of visitors at once");
#[rustfmt::skip]
pub(crate) const QR: Flag = Flag::switch("qr", "show the link as a QR code too");
#[rustfmt::skip]
pub(crate) const JSON: Flag = Flag::switch("json", "print one JSON object a line");
#[rustfmt::skip]
pub(crate) const NO_OPEN: Flag = Flag::switch("no-open", "do not open a browser: it is never opened");
