//! Recognition of protocols other than HTTP, by an application's first bytes.

/// First bytes, and what is said of them.
const KNOWN: [(&[u8], &str); 8] = [
    (b"SSH-", "it speaks SSH: share it as ssh"),
    (b"RFB ", "it speaks VNC: share it as vnc"),
    // A record of TLS: an alert, or a handshake (RFC 8446 section 5.1).
    (b"\x15\x03", "it speaks TLS: share it as https"),
    (b"\x16\x03", "it speaks TLS: share it as https"),
    // IAC, which begins each command of Telnet (RFC 854).
    (b"\xff", "it speaks Telnet: share it as telnet"),
    (b"220", "it speaks SMTP or FTP: share it as tcp"),
    (b"-ERR", "it speaks Redis or POP3: share it as tcp"),
    // A frame of SETTINGS (RFC 9113 section 6.5): HTTP/2 without its beginning.
    (b"\x00\x00", "it speaks only HTTP/2, not HTTP/1.1"),
];

/// Names the protocol of an answer that is not HTTP.
pub(crate) fn name_protocol(input: &[u8]) -> &'static str {
    // A packet of MySQL's protocol: three bytes of length, number 0, version 10 or an error.
    if let [_, _, 0, 0, 10 | 0xff, ..] = input {
        return "it speaks MySQL's protocol: share it as mysql";
    }
    let mut known = KNOWN.iter();
    let found = known.find(|(begin, _)| input.starts_with(begin));
    found.map_or("it is not HTTP", |(_, said)| said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_named() {
        for (begin, named) in [
            (&b"SSH-2.0-OpenSSH_9.2p1\r\n"[..], "SSH"),
            (b"RFB 003.008\n", "VNC"),
            (b"\x15\x03\x01\x00\x02\x02\x46", "https"),
            (b"\xff\xfd\x18\xff\xfd\x20", "Telnet"),
            (b"\x4a\x00\x00\x00\x0a8.0.36\x00", "MySQL"),
            (b"\x6a\x00\x00\x00\xff\x6a\x04Host", "MySQL"),
            (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", "HTTP/2"),
            (b"hello\r\n", "is not HTTP"),
        ] {
            assert!(
                name_protocol(begin).contains(named),
                "{named}: {}",
                name_protocol(begin)
            );
        }
    }
}
