//! Recovery of a damaged state: each part by itself, up to where the file is no JSON any more. Pure.

use serde_json::{Map, Value, json};

use super::state::{RelayState, VERSION};

/// Of a damaged state what can be read, and what is lost, each in a few words.
pub(super) fn salvage(bytes: &[u8]) -> (RelayState, Vec<String>) {
    let mut lost = Vec::new();
    let mut parts = parts(bytes, &mut lost);
    parts.retain(|name, part| {
        let is_kept = keep_what_fits(name, part, &mut lost);
        if !is_kept {
            lost.push(name.clone());
        }
        is_kept
    });
    parts.entry("version").or_insert(VERSION.into());
    let state = read(&parts).unwrap_or_default();
    (state.migrated(), lost)
}

/// The parts of the document, as far as it goes.
fn parts(bytes: &[u8], lost: &mut Vec<String>) -> Map<String, Value> {
    let error = match serde_json::from_slice(bytes) {
        Ok(parts) => return parts,
        Err(error) => error,
    };
    let end = offset(bytes, error.line(), error.column());
    let whole = whole(bytes.get(..end).unwrap_or(bytes));
    let found = whole.and_then(|whole| serde_json::from_slice(&whole).ok());
    lost.push(format!(
        "everything after line {}, column {}",
        error.line(),
        error.column()
    ));
    found.unwrap_or_default()
}

/// Where a line's column is, both counted from 1.
fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    before + column.saturating_sub(1)
}

/// The beginning of a document up to the last element of one of its parts that is whole, with what closes it.
fn whole(begin: &[u8]) -> Option<Vec<u8>> {
    let (mut open, mut is_text, mut is_escaped) = (Vec::new(), false, false);
    let mut last = None;
    for (at, byte) in begin.iter().enumerate() {
        let is_quoted = std::mem::take(&mut is_escaped);
        match byte {
            b'\\' if is_text => is_escaped = !is_quoted,
            b'"' if !is_quoted => is_text = !is_text,
            _ if is_text => {}
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                open.pop();
            }
            b',' if open.len() <= 2 => last = Some((at, open.clone())),
            _ => {}
        }
    }
    let (end, mut open) = last?;
    open.reverse();
    Some([begin.get(..end)?, &open].concat())
}

/// Takes out of a part what a state cannot have there; false where nothing of it is left that could be.
fn keep_what_fits(name: &str, part: &mut Value, lost: &mut Vec<String>) -> bool {
    if fits(name, part.clone()) {
        return true;
    }
    match part {
        Value::Object(elements) => elements.retain(|key, element| {
            let is_kept = fits(name, json!({key: element}));
            if !is_kept {
                lost.push(format!("{key} of {name}"));
            }
            is_kept
        }),
        Value::Array(elements) => {
            let mut number = 0;
            elements.retain(|element| {
                let is_kept = fits(name, json!([element]));
                number += 1;
                if !is_kept {
                    lost.push(format!("item {number} of {name}"));
                }
                is_kept
            });
        }
        _ => return false,
    }
    fits(name, part.clone())
}

/// True if a state may have this there.
fn fits(name: &str, part: Value) -> bool {
    let mut document = Map::from_iter([("version".to_owned(), VERSION.into())]);
    document.insert(name.to_owned(), part);
    read(&document).is_some()
}

fn read(document: &Map<String, Value>) -> Option<RelayState> {
    let bytes = serde_json::to_vec(document).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connector(port: u16) -> Value {
        json!({
            "password": {"rounds": 1, "salt": "AAAA", "hash": "AAAA"},
            "api_port": port,
            "enrolled_at": "2026-01-01T00:00:00Z",
            "called_at": "2026-01-01T00:00:00Z",
        })
    }

    fn document() -> Value {
        json!({
            "version": VERSION,
            "number": 7,
            "connectors": {"ann": connector(1), "bob \\\" }": connector(2), "carol": connector(3)},
            "revoked": ["dave", "erin"],
        })
    }

    fn pretty(document: &Value) -> Vec<u8> {
        serde_json::to_vec_pretty(document).unwrap()
    }

    fn names(state: &RelayState) -> Vec<&str> {
        state.connectors.keys().map(String::as_str).collect()
    }

    #[test]
    fn one_that_cannot_be_read_takes_no_other_with_it() {
        let mut damaged = document();
        damaged["connectors"]["ann"]["api_port"] = "x".into();
        damaged["revoked"][0] = 5.into();
        let (state, lost) = salvage(&pretty(&damaged));
        assert_eq!(names(&state), ["bob \\\" }", "carol"]);
        assert_eq!(
            (state.number, &*state.revoked),
            (7, &["erin".to_owned()][..])
        );
        assert_eq!(lost, ["ann of connectors", "item 1 of revoked"]);
        damaged["number"] = "many".into();
        let (state, lost) = salvage(&pretty(&damaged));
        assert_eq!((state.number, lost.len()), (0, 3), "{lost:?}");
    }

    #[test]
    fn what_stands_before_the_damage_is_kept_wherever_that_is() {
        let whole = pretty(&document());
        let (state, lost) = salvage(&whole);
        assert_eq!((names(&state).len(), lost.len()), (3, 0));
        let mut most = 0;
        for end in 0..whole.len() {
            for damage in [&b""[..], b"\0\0\0"] {
                let (state, lost) = salvage(&[&whole[..end], damage].concat());
                assert!(!lost.is_empty(), "{end}");
                assert!(names(&state).len() >= most, "{end}: {state:?}");
                most = names(&state).len();
            }
        }
        assert_eq!(most, 3);
    }

    #[test]
    fn what_is_no_state_at_all_leaves_nothing() {
        for bytes in [&b""[..], b"[]", b"\0\0", b"{", b"null", b"7"] {
            let (state, lost) = salvage(bytes);
            assert!(names(&state).is_empty() && !lost.is_empty(), "{bytes:?}");
        }
    }
}
