//! Packets of the MySQL protocol, byte by byte.

/// Capability flags (protocol documentation, "Capabilities Flags").
pub mod capability {
    pub const LONG_PASSWORD: u32 = 1;
    pub const CONNECT_WITH_DB: u32 = 1 << 3;
    pub const LOCAL_FILES: u32 = 1 << 7;
    pub const PROTOCOL_41: u32 = 1 << 9;
    pub const SSL: u32 = 1 << 11;
    pub const TRANSACTIONS: u32 = 1 << 13;
    pub const SECURE_CONNECTION: u32 = 1 << 15;
    pub const MULTI_STATEMENTS: u32 = 1 << 16;
    pub const MULTI_RESULTS: u32 = 1 << 17;
    pub const PS_MULTI_RESULTS: u32 = 1 << 18;
    pub const PLUGIN_AUTH: u32 = 1 << 19;
    pub const CONNECT_ATTRS: u32 = 1 << 20;
    /// Relevant capabilities of MySQL 8, without TLS.
    pub const MYSQL_8: u32 = LONG_PASSWORD
        | CONNECT_WITH_DB
        | LOCAL_FILES
        | PROTOCOL_41
        | TRANSACTIONS
        | SECURE_CONNECTION
        | MULTI_STATEMENTS
        | MULTI_RESULTS
        | PS_MULTI_RESULTS
        | PLUGIN_AUTH
        | CONNECT_ATTRS;
}

/// A packet with its header.
pub fn framed(seq: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&[length[0], length[1], length[2], seq], payload].concat()
}

/// Protocol::ColumnDefinition41 of a column of a type.
pub fn column(name: &[u8], kind: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    for part in [b"def".as_slice(), b"", b"t", b"t", name, name] {
        lenenc(&mut packet, part);
    }
    packet.extend([0x0c, 45, 0, 0, 4, 0, 0, kind, 0, 0, 0, 0, 0]);
    packet
}

/// Text protocol row.
pub fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut packet = Vec::new();
    for value in values {
        match value {
            Some(bytes) => lenenc(&mut packet, bytes),
            None => packet.push(0xfb),
        }
    }
    packet
}

fn lenenc(packet: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.len() {
        short @ 0..251 => packet.push(short as u8),
        long @ 251..65536 => {
            packet.push(0xfc);
            packet.extend((long as u16).to_le_bytes());
        }
        longer => {
            packet.push(0xfe);
            packet.extend((longer as u64).to_le_bytes());
        }
    }
    packet.extend(bytes);
}

/// Protocol::HandshakeResponse41: the user's name and the authentication data.
pub fn user_and_proof(answer: &[u8]) -> (String, Vec<u8>) {
    let rest = &answer[32..];
    let end = rest.iter().position(|b| *b == 0).unwrap();
    let (user, rest) = (&rest[..end], &rest[end + 1..]);
    let length = rest[0] as usize;
    let user = String::from_utf8_lossy(user).into_owned();
    (user, rest[1..=length].to_vec())
}
