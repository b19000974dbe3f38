//! Flags that several commands have: those of an application's fields, from their table, and others for sharing.

use super::command::{Flag, Kind};
use crate::manager::apps::fields::FIELDS;

pub(crate) const NAME: Flag = of_field("name");
pub(crate) const SITE_NAME: Flag = of_field("site-name");
pub(crate) const FOR: Flag = of_field("for");
pub(crate) const UNTIL: Flag = of_field("until");
pub(crate) const VISIBLE: Flag = of_field("visible");
pub(crate) const ALLOW: Flag = of_field("allow");
pub(crate) const HOST: Flag = of_field("host");
pub(crate) const GUEST: Flag = of_field("guest");
pub(crate) const AUDIT: Flag = of_field("audit");
pub(crate) const RECORD_SQL: Flag = of_field("record-sql");
pub(crate) const MAX_STREAMS: Flag = of_field("max-streams");
#[rustfmt::skip]
pub(crate) const SERVER: Flag = Flag::valued("server", "URL",
    "relay to share through (default: POSTERN_SERVER, or the relay of 'postern start', or this machine only)").kind(Kind::Server);
#[rustfmt::skip]
pub(crate) const ENROLL_TOKEN: Flag = Flag::valued("enroll-token", "TOKEN",
    "enrolment token, which registers this machine at the relay. Other users can see it in the process list; set \
        POSTERN_ENROLL_TOKEN to hide it");
#[rustfmt::skip]
pub(crate) const INVISIBLE_SITE: Flag = Flag::switch("invisible", "visitors need a code; the printed link contains it");
#[rustfmt::skip]
pub(crate) const VISIBLE_SITE: Flag = Flag::switch("visible", "visitors need no code (default)");
#[rustfmt::skip]
pub(crate) const VISIBLE_PORT: Flag = Flag::switch("visible",
    "open the port to everybody who can reach the relay; only the service's own sign-in protects it then. By \
        default, sharing through a relay on another machine is refused unless --allow limits access");
#[rustfmt::skip]
pub(crate) const QR: Flag = Flag::switch("qr", "also show the link as a QR code");
#[rustfmt::skip]
pub(crate) const JSON: Flag = Flag::switch("json", "print one JSON object per line");
#[rustfmt::skip]
pub(crate) const NO_OPEN: Flag = Flag::switch("no-open", "accepted for scripts; this command never opens a browser");

/// The flag of this name in the table of fields.
pub(super) const fn of_field(long: &str) -> Flag {
    let mut at = 0;
    while let Some(flag) = nth(at) {
        if is_same(flag.long, long) {
            return flag;
        }
        at += 1;
    }
    panic!("no field has this flag")
}

/// The flags of the table of fields, by number.
const fn nth(mut skipped: usize) -> Option<Flag> {
    let mut fields = FIELDS;
    while let [field, rest @ ..] = fields {
        let mut flags = field.flags.as_slice();
        while let [flag, others @ ..] = flags {
            match flag {
                Some(flag) if skipped == 0 => return Some(Flag::of(field, *flag)),
                Some(_) => skipped -= 1,
                None => {}
            }
            flags = others;
        }
        fields = rest;
    }
    None
}

const fn is_same(one: &str, other: &str) -> bool {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while let ([a, rest @ ..], [b, others @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (rest, others);
    }
    one.is_empty() && other.is_empty()
}
