//! Search for eight bytes at a time finds what a search byte by byte finds.

use super::*;

fn json(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    push_json(&mut out, Kind::Text, Some(bytes));
    String::from_utf8(out).unwrap()
}

fn csv(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    push_csv(&mut out, Kind::Text, bytes, signs(b','));
    String::from_utf8(out).unwrap()
}

fn signs(delimiter: u8) -> CsvSigns<'static> {
    CsvSigns {
        delimiter,
        null: "",
    }
}

#[test]
fn every_pair_of_bytes_is_written_as_it_must_be() {
    for pair in 0..=u16::MAX {
        let [one, other] = pair.to_be_bytes();
        let text = [b' ', one, other, b'!', 0x7f, b'[', b']', b'#', b'~'];
        let valid = String::from_utf8_lossy(&text);
        let mut expected = String::new();
        for c in valid.chars() {
            match c {
                '"' => expected += "\\\"",
                '\\' => expected += "\\\\",
                '\n' => expected += "\\n",
                '\r' => expected += "\\r",
                '\t' => expected += "\\t",
                '\0'..' ' => expected += &format!("\\u00{:02X}", u32::from(c)),
                c => expected.push(c),
            }
        }
        assert_eq!(json(&text), format!("\"{expected}\""), "{text:?}");
        let expected = if valid.contains(['"', ',', '\r', '\n']) {
            format!("\"{}\"", valid.replace('"', "\"\""))
        } else {
            valid.into_owned()
        };
        assert_eq!(csv(&text), expected, "{text:?}");
        let (mut literal, mut expected) = (Vec::new(), Vec::new());
        push_sql_escaped(&mut literal, &text);
        for byte in text {
            match byte {
                b'\'' => expected.extend(b"''"),
                b'\\' => expected.extend(b"\\\\"),
                0 => expected.extend(b"\\0"),
                b'\n' => expected.extend(b"\\n"),
                b'\r' => expected.extend(b"\\r"),
                0x1a => expected.extend(b"\\Z"),
                byte => expected.push(byte),
            }
        }
        assert_eq!(literal, expected, "{text:?}");
    }
}

#[test]
fn cells_are_found_or_the_row_is_refused() {
    let mut spans = Vec::new();
    assert!(find_cells(b"\x01a\xfb\x00\xfc\x02\x00bc", 4, &mut spans));
    assert_eq!(spans, [Some((1, 2)), None, Some((4, 4)), Some((7, 9))]);
    for (packet, count) in [
        (&b"\x01a"[..], 2),
        (b"\x01a\x01b", 1),
        (b"\x02a", 1),
        (b"\xfc\x01", 1),
        (b"\xff", 1),
        (b"\xfe\xff\xff\xff\xff\xff\xff\xff\xffx", 1),
        (b"", 1),
        (b"\xfb", 0),
    ] {
        assert!(!find_cells(packet, count, &mut spans), "{packet:?}");
    }
}

#[test]
fn what_is_no_number_in_json_is_a_text() {
    for (kind, digits) in [
        (Kind::Integer, "+1234567890123456"),
        (Kind::Integer, "-0000000000000001"),
        (Kind::Integer, "-01"),
        (Kind::Integer, "-"),
        (Kind::Integer, "1e5"),
        (Kind::Integer, "9007199254740992"),
        (Kind::Float, "-00.5"),
        (Kind::Float, "+1"),
        (Kind::Float, "1."),
    ] {
        let mut out = Vec::new();
        push_json(&mut out, kind, Some(digits.as_bytes()));
        assert_eq!(String::from_utf8(out).unwrap(), format!("\"{digits}\""));
    }
    for (kind, digits) in [
        (Kind::Integer, "-9007199254740991"),
        (Kind::Integer, "0"),
        (Kind::Float, "-0.5e-10"),
    ] {
        let mut out = Vec::new();
        push_json(&mut out, kind, Some(digits.as_bytes()));
        assert_eq!(String::from_utf8(out).unwrap(), digits);
    }
}

#[test]
fn what_other_programs_write_for_null_is_quoted_where_it_is_a_text() {
    for text in ["", r"\N", "NULL", "null"] {
        assert_eq!(csv(text.as_bytes()), format!("\"{text}\""));
    }
    assert_eq!(csv(b"nullable"), "nullable");
    assert_eq!(csv(br"\Na"), r"\Na");
}

#[test]
fn the_delimiter_decides_which_texts_are_quoted() {
    for (delimiter, text, expected) in [
        (b',', "1,5", "\"1,5\""),
        (b';', "1,5", "1,5"),
        (b';', "a long text; with one", "\"a long text; with one\""),
        (b';', "tab\tand, comma", "tab\tand, comma"),
        (b'\t', "tab\tand, comma", "\"tab\tand, comma\""),
        (b'\t', "a;b", "a;b"),
        (b'\t', "a\"b", "\"a\"\"b\""),
        (b';', "", "\"\""),
        (b';', "null", "\"null\""),
    ] {
        let mut out = Vec::new();
        push_csv(&mut out, Kind::Text, text.as_bytes(), signs(delimiter));
        assert_eq!(String::from_utf8(out).unwrap(), expected, "{text}");
        let needs_quotes = csv_needs_quotes(text.as_bytes(), signs(delimiter));
        assert_eq!(needs_quotes, expected.starts_with('"'), "{text}");
    }
}

#[test]
fn a_number_gets_a_comma_and_stays_apart_from_null() {
    for (number, null, expected) in [
        ("-1234.50", "", "x;-1234,50"),
        ("1.5e-7", "", "x;1,5e-7"),
        ("7", "7", "x;\"7\""),
        ("1.5", "1,5", "x;\"1,5\""),
    ] {
        let mut out = b"x;".to_vec();
        push_csv_with_comma(&mut out, number.as_bytes(), null);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
