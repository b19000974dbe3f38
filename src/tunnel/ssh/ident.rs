//! The identification lines (RFC 4253 §4.2).

use super::error::Error;
use super::limits;
use super::role::Role;

/// A line of the input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Not complete yet.
    Partial,
    /// Text before the identification, this long with its end.
    Preface(usize),
    /// The identification without its end, and how long it is with it.
    Ident(&'a [u8], usize),
}

/// Looks at the first line. Only a server may send others before its identification.
pub(super) fn line(input: &[u8], role: Role) -> Result<Line<'_>, Error> {
    let head = input.get(..limits::MAX_IDENT).unwrap_or(input);
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        let is_other = role == Role::Server && !could_be_ident(head);
        if is_other || head.len() == limits::MAX_IDENT {
            return Err(Error::NotSsh);
        }
        return Ok(Line::Partial);
    };
    let text = head.get(..end).expect("a position in it");
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.starts_with(PREFIX) {
        return Ok(Line::Ident(text, end + 1));
    }
    match role {
        Role::Client => Ok(Line::Preface(end + 1)),
        Role::Server => Err(Error::NotSsh),
    }
}

/// A chisel peer leaves the version out, so that nothing more can be asked for.
const PREFIX: &[u8] = b"SSH-";

fn could_be_ident(head: &[u8]) -> bool {
    head.iter().zip(PREFIX).all(|(have, want)| have == want)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_kept_as_sent_without_its_end() {
        for (input, text) in [
            ("SSH-chisel-v3-server\r\nrest", "SSH-chisel-v3-server"),
            ("SSH-2.0-x comment \n", "SSH-2.0-x comment "),
            ("SSH-2.0-x\r\r\n", "SSH-2.0-x\r"),
        ] {
            let found = line(input.as_bytes(), Role::Client).unwrap();
            let end = input.find('\n').unwrap() + 1;
            assert_eq!(found, Line::Ident(text.as_bytes(), end));
        }
    }

    #[test]
    fn a_client_skips_lines_and_a_server_does_not() {
        assert_eq!(line(b"hello\r\nSSH-", Role::Client), Ok(Line::Preface(7)));
        assert_eq!(line(b"hello\r\nSSH-", Role::Server), Err(Error::NotSsh));
        assert_eq!(line(b"G", Role::Server), Err(Error::NotSsh));
        assert_eq!(line(b"SS", Role::Server), Ok(Line::Partial));
    }

    #[test]
    fn a_line_has_at_most_255_bytes() {
        let longest = [b"SSH-".as_slice(), &[b'x'; 249], b"\r\n"].concat();
        assert!(matches!(
            line(&longest, Role::Server),
            Ok(Line::Ident(_, 255))
        ));
        let longer = [b"SSH-".as_slice(), &[b'x'; 250], b"\r\n"].concat();
        assert_eq!(line(&longer, Role::Server), Err(Error::NotSsh));
        assert_eq!(line(&longer[..254], Role::Client), Ok(Line::Partial));
    }
}
