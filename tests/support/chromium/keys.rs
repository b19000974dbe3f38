//! Keys as the browser wants them: key name, physical code, Windows virtual key code, the text they type.

/// Modifier bits of `Input.dispatchKeyEvent`.
const MODIFIERS: [(&str, i64); 7] = [
    ("Alt", 1),
    ("Ctrl", 2),
    ("Control", 2),
    ("Meta", 4),
    ("Cmd", 4),
    ("Shift", 8),
    ("Mod", 2),
];

/// Keys that have names; the last column is what they type.
const NAMED: [(&str, &str, i64, &str); 19] = [
    ("Enter", "Enter", 13, "\r"),
    ("Tab", "Tab", 9, ""),
    ("Escape", "Escape", 27, ""),
    ("Backspace", "Backspace", 8, ""),
    ("Delete", "Delete", 46, ""),
    ("Insert", "Insert", 45, ""),
    ("ArrowLeft", "ArrowLeft", 37, ""),
    ("ArrowUp", "ArrowUp", 38, ""),
    ("ArrowRight", "ArrowRight", 39, ""),
    ("ArrowDown", "ArrowDown", 40, ""),
    ("Home", "Home", 36, ""),
    ("End", "End", 35, ""),
    ("PageUp", "PageUp", 33, ""),
    ("PageDown", "PageDown", 34, ""),
    ("ContextMenu", "ContextMenu", 93, ""),
    ("F1", "F1", 112, ""),
    ("F2", "F2", 113, ""),
    ("F3", "F3", 114, ""),
    ("F10", "F10", 121, ""),
];

/// Punctuation of a US keyboard: unshifted, shifted, code, virtual key code.
const PUNCTUATION: [(char, char, &str, i64); 11] = [
    (';', ':', "Semicolon", 186),
    ('=', '+', "Equal", 187),
    (',', '<', "Comma", 188),
    ('-', '_', "Minus", 189),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('`', '~', "Backquote", 192),
    ('[', '{', "BracketLeft", 219),
    ('\\', '|', "Backslash", 220),
    (']', '}', "BracketRight", 221),
    ('\'', '"', "Quote", 222),
];

/// Shifted digits of a US keyboard, from 0.
const SHIFTED_DIGITS: &str = ")!@#$%^&*(";

/// One stroke.
#[derive(Debug, PartialEq)]
pub struct Key {
    /// `KeyboardEvent.key`.
    pub key: String,
    /// `KeyboardEvent.code`.
    pub code: String,
    /// Windows virtual key code.
    pub virtual_code: i64,
    /// Text that the key types; empty for a key that types nothing or is held with Ctrl, Alt or Meta.
    pub text: String,
    /// Modifier bits.
    pub modifiers: i64,
}

/// Reads `Ctrl+Shift+ArrowLeft`, `a`, `?`, `Ctrl++`.
pub fn parse(chord: &str) -> Option<Key> {
    let mut modifiers = 0;
    let mut rest = chord;
    while let Some((head, tail)) = rest.split_once('+') {
        let Some((_, bit)) = MODIFIERS.iter().find(|(name, _)| *name == head) else {
            break;
        };
        modifiers |= bit;
        rest = tail;
    }
    let mut key = named(rest).or_else(|| printable(only_char(rest)?))?;
    key.modifiers |= modifiers;
    if key.modifiers & !8 != 0 {
        key.text.clear();
    }
    Some(key)
}

/// The stroke that types `c`; a character that is on no key is typed without a code.
pub fn typing(c: char) -> Key {
    match c {
        '\n' => named("Enter"),
        '\t' => named("Tab"),
        _ => printable(c),
    }
    .unwrap_or_else(|| key(&c.to_string(), "", 0, &c.to_string(), 0))
}

fn named(name: &str) -> Option<Key> {
    if name == "Space" {
        return printable(' ');
    }
    let (name, code, virtual_code, text) = NAMED.iter().find(|(n, ..)| *n == name)?;
    Some(key(name, code, *virtual_code, text, 0))
}

fn printable(c: char) -> Option<Key> {
    let text = c.to_string();
    let upper = c.to_ascii_uppercase();
    let shift = |shifted: bool| if shifted { 8 } else { 0 };
    if c.is_ascii_alphabetic() {
        let code = format!("Key{upper}");
        return Some(key(
            &text,
            &code,
            upper as i64,
            &text,
            shift(c.is_ascii_uppercase()),
        ));
    }
    let digit = c.to_digit(10).map(i64::from);
    let shifted_digit = || SHIFTED_DIGITS.find(c).map(|at| at as i64);
    if let Some(n) = digit.or_else(shifted_digit) {
        let code = format!("Digit{n}");
        return Some(key(&text, &code, 48 + n, &text, shift(digit.is_none())));
    }
    if c == ' ' {
        return Some(key(" ", "Space", 32, " ", 0));
    }
    let (_, shifted, code, virtual_code) = PUNCTUATION
        .iter()
        .find(|(plain, shifted, ..)| c == *plain || c == *shifted)?;
    Some(key(&text, code, *virtual_code, &text, shift(c == *shifted)))
}

fn key(key: &str, code: &str, virtual_code: i64, text: &str, modifiers: i64) -> Key {
    Key {
        key: key.to_owned(),
        code: code.to_owned(),
        virtual_code,
        text: text.to_owned(),
        modifiers,
    }
}

fn only_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    chars.next().filter(|_| chars.next().is_none())
}
