//! A connection that reads a result and throws it away: nothing that shows the rows can be quicker.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use support::Database;
use support::database::Kind;

/// An account without a password, so that there is nothing to prove.
pub(crate) const USER: &str = "drain";

/// CLIENT_LONG_PASSWORD, CLIENT_PROTOCOL_41, CLIENT_TRANSACTIONS, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH.
const CAPABILITIES: u32 = 1 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
const CLIENT_SSL: u32 = 0x800;

/// `utf8mb4_general_ci`.
const CHARACTER_SET: u8 = 45;

/// Bytes read at once.
const ROOM: usize = 256 << 10;

const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;

/// Sends `sql` and reads its rows, inside TLS perhaps; how many bytes they are.
pub(crate) fn drain(db: &Database, tls: bool, sql: &str) -> usize {
    let mut socket = TcpStream::connect((Ipv4Addr::LOCALHOST, db.port())).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut greeting = [0; 4096];
    assert!(socket.read(&mut greeting).unwrap() > 4);
    if !tls {
        return sign_in_and_read(db, socket, CAPABILITIES, 1, sql);
    }
    let capabilities = CAPABILITIES | CLIENT_SSL;
    socket.write_all(&packet(1, &head(capabilities))).unwrap();
    let stream = StreamOwned::new(client(db), socket);
    sign_in_and_read(db, stream, capabilities, 2, sql)
}

fn client(db: &Database) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(db.ca()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
    ClientConnection::new(Arc::new(config), name).unwrap()
}

/// First bytes of both the request for TLS and the answer to the greeting.
fn head(capabilities: u32) -> Vec<u8> {
    let mut head = capabilities.to_le_bytes().to_vec();
    head.extend((1_u32 << 30).to_le_bytes());
    head.push(CHARACTER_SET);
    head.extend([0; 23]);
    head
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = u32::try_from(payload.len()).unwrap().to_le_bytes().to_vec();
    packet[3] = number;
    packet.extend(payload);
    packet
}

fn sign_in_and_read(
    db: &Database,
    mut stream: impl Read + Write,
    capabilities: u32,
    number: u8,
    sql: &str,
) -> usize {
    let plugin = match db.kind() {
        Kind::MySql => "caching_sha2_password",
        Kind::MariaDb => "mysql_native_password",
    };
    let mut answer = head(capabilities);
    answer.extend(format!("{USER}\0\0{plugin}\0").as_bytes());
    stream.write_all(&packet(number, &answer)).unwrap();
    let mut said = [0; 4096];
    let length = stream.read(&mut said).unwrap();
    assert_eq!(said[4], 0, "{}", String::from_utf8_lossy(&said[..length]));
    let command = [&[3], sql.as_bytes()].concat();
    stream.write_all(&packet(0, &command)).unwrap();
    read_result(stream)
}

/// Up to the second EOF packet: the first ends the columns.
fn read_result(mut stream: impl Read) -> usize {
    let mut buffer = vec![0; ROOM];
    let (mut start, mut end, mut total, mut ends) = (0, 0, 0, 0);
    while ends < 2 {
        if end - start > 4 {
            let header = &buffer[start..start + 5];
            let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            assert_ne!(header[4], ERR, "the server refuses");
            if end - start >= 4 + length {
                ends += usize::from(header[4] == EOF && length < 9);
                start += 4 + length;
                continue;
            }
        }
        buffer.copy_within(start..end, 0);
        (start, end) = (0, end - start);
        let read = stream.read(&mut buffer[end..]).unwrap();
        assert!(read > 0, "the server left");
        (end, total) = (end + read, total + read);
    }
    total
}
