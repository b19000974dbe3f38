//! The changes of a request: their shape, before the table is known.

use serde_json::{Map, Value};

use crate::sqlweb::limits::MAX_CHANGES;

/// Operation on a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Update,
    Delete,
    Insert,
}

/// One change, of which members are by column name.
pub(crate) struct Change {
    pub(super) op: Op,
    /// The row's key as it was shown; empty for a new row.
    pub(super) key: Map<String, Value>,
    /// Values that were shown.
    pub(super) old: Map<String, Value>,
    /// Seconds since 1970 of its TIMESTAMP columns, which tell apart what a clock shows alike.
    pub(super) moments: Map<String, Value>,
    /// Values to write.
    pub(super) new: Map<String, Value>,
}

/// The changes of a request's member; else which one is wrong, where it is one, and why.
pub(crate) fn changes_of(member: Option<Value>) -> Result<Vec<Change>, (Option<usize>, String)> {
    let Some(Value::Array(items)) = member else {
        return Err((None, "'changes' must be an array".into()));
    };
    match items.len() {
        0 => Err((None, "'changes' is empty".into())),
        n if n > MAX_CHANGES => Err((
            None,
            format!("'changes' has {n} changes, the limit is {MAX_CHANGES}; apply fewer at once"),
        )),
        _ => {
            let one = |(i, item)| change(item).map_err(|wrong| (Some(i), wrong));
            items.into_iter().enumerate().map(one).collect()
        }
    }
}

fn change(item: Value) -> Result<Change, String> {
    let Value::Object(mut members) = item else {
        return Err("a change must be an object".into());
    };
    let op = match members.remove("op").as_ref().and_then(Value::as_str) {
        Some("update") => Op::Update,
        Some("delete") => Op::Delete,
        Some("insert") => Op::Insert,
        _ => return Err("'op' must be update, delete or insert".into()),
    };
    let mut part = |name: &str, is_wanted: bool| match members.remove(name) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(part)) if is_wanted => Ok(part),
        Some(_) => Err(format!(
            "'{name}' must be an object, and only where this 'op' needs it"
        )),
    };
    let change = Change {
        op,
        key: part("key", op != Op::Insert)?,
        old: part("old", op != Op::Insert)?,
        moments: part("moments", op != Op::Insert)?,
        new: part("new", op != Op::Delete)?,
    };
    match members.keys().next() {
        Some(unknown) => Err(format!("unknown member '{unknown}' in a change")),
        None if op != Op::Insert && change.key.is_empty() => {
            Err("'key' is missing or empty".into())
        }
        None if op == Op::Update && change.new.is_empty() => {
            Err("'new' is missing or empty".into())
        }
        None => Ok(change),
    }
}
