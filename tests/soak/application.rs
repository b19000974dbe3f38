//! The application behind the sites: every path answers with bytes that the visitor can check, and what visitors send is
//! checked here.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use support::gateway::application;

use crate::content::{content, told_of};
use crate::ledger::Ledger;

/// Bytes that are sent at once.
const PIECE: usize = 32 * 1024;
/// Bytes of the content of a slow answer and of an event.
pub(crate) const SMALL: usize = 100;
/// Pause between two events.
const BETWEEN_EVENTS: Duration = Duration::from_millis(40);

/// Serves HTTP on a port of its own.
pub(crate) fn http(ledger: &Arc<Ledger>) -> u16 {
    let ledger = Arc::clone(ledger);
    application(move |stream| {
        // A visitor who leaves is how half of all connections end here.
        let _ = serve(&stream, &ledger);
    })
}

/// Serves `KEY LENGTH\n` with a body, on a port of its own.
pub(crate) fn raw() -> u16 {
    application(|mut stream| {
        let Ok(reading) = stream.try_clone() else {
            return;
        };
        for line in BufReader::new(reading).lines() {
            let Some((key, length)) = line.ok().as_deref().and_then(two_numbers) else {
                return;
            };
            if stream.write_all(&content(key, 0, length)).is_err() {
                return;
            }
        }
    })
}

fn two_numbers(line: &str) -> Option<(u64, usize)> {
    let (key, length) = line.split_once(' ')?;
    Some((key.parse().ok()?, length.parse().ok()?))
}

/// A request's head.
struct Head {
    method: String,
    path: Vec<String>,
    lines: Vec<(String, String)>,
}

impl Head {
    fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        if from.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next(), words.next());
        let target = target.ok_or(io::ErrorKind::InvalidData)?;
        let mut head = Self {
            method: method.ok_or(io::ErrorKind::InvalidData)?,
            path: target.split('/').skip(1).map(str::to_owned).collect(),
            lines: Vec::new(),
        };
        loop {
            let mut line = String::new();
            if from.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end().split_once(':') {
                None => return Ok(Some(head)),
                Some((name, value)) => head
                    .lines
                    .push((name.to_ascii_lowercase(), value.trim().to_owned())),
            }
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        let line = self.lines.iter().find(|(key, _)| key == name)?;
        Some(&line.1)
    }

    fn number(&self, at: usize) -> u64 {
        let word = self.path.get(at).and_then(|word| word.parse().ok());
        word.unwrap_or_default()
    }
}

fn serve(stream: &TcpStream, ledger: &Ledger) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(head) = Head::read(&mut reader)? {
        let (key, length) = (head.number(1), head.number(2) as usize);
        match head.path.first().map(String::as_str) {
            Some("body") => body(stream, &head, key, length)?,
            Some("chunked") => chunked(stream, &pieces(&content(key, 0, length)))?,
            Some("slow") => {
                std::thread::sleep(Duration::from_millis(length as u64));
                whole(stream, "200 OK", "", &content(key, 0, SMALL))?;
            }
            Some("events") => events(stream, key, length)?,
            Some("up") => up(&mut reader, stream, &head, ledger)?,
            Some("ws") => return echo_frames(&mut reader, stream, &head),
            _ => whole(stream, "200 OK", "", b"hello")?,
        }
    }
    Ok(())
}

fn whole(mut to: &TcpStream, status: &str, lines: &str, body: &[u8]) -> io::Result<()> {
    let length = body.len();
    write!(
        to,
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{lines}\r\n"
    )?;
    to.write_all(body)
}

/// `GET /body/KEY/LENGTH`, with a range or without, and HEAD.
fn body(mut to: &TcpStream, head: &Head, key: u64, length: usize) -> io::Result<()> {
    if head.method == "HEAD" {
        return write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    }
    let range = head.value("range").and_then(|range| {
        let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
        Some((from.parse().ok()?, to.parse::<usize>().ok()? + 1))
    });
    let Some((from, until)) = range else {
        return whole(
            to,
            "200 OK",
            "Accept-Ranges: bytes\r\n",
            &content(key, 0, length),
        );
    };
    let line = format!("Content-Range: bytes {from}-{}/{length}\r\n", until - 1);
    whole(to, "206 Partial Content", &line, &content(key, from, until))
}

fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.chunks(PIECE - 1).collect()
}

fn chunked(mut to: &TcpStream, pieces: &[&[u8]]) -> io::Result<()> {
    to.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    for piece in pieces {
        chunk(to, piece)?;
    }
    to.write_all(b"0\r\n\r\n")
}

fn chunk(mut to: &TcpStream, piece: &[u8]) -> io::Result<()> {
    write!(to, "{:x}\r\n", piece.len())?;
    to.write_all(piece)?;
    to.write_all(b"\r\n")
}

/// `COUNT` events, each with its number and what is told of its content.
fn events(mut to: &TcpStream, key: u64, count: usize) -> io::Result<()> {
    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    to.write_all(head.as_bytes())?;
    for number in 0..count {
        chunk(to, event(key, number).as_bytes())?;
        std::thread::sleep(BETWEEN_EVENTS);
    }
    to.write_all(b"0\r\n\r\n")
}

pub(crate) fn event(key: u64, number: usize) -> String {
    let told = told_of(&content(key + number as u64, 0, SMALL));
    format!("id: {number}\ndata: {told}\n\n")
}

/// `POST /up/NUMBER` with what its body is to be in `X-Told`. A body that ends early is thrown away.
fn up(
    reader: &mut BufReader<&TcpStream>,
    mut to: &TcpStream,
    head: &Head,
    ledger: &Ledger,
) -> io::Result<()> {
    let number = head.number(1);
    ledger.came(number);
    if head.value("expect").is_some() {
        to.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = if head.value("transfer-encoding").is_some() {
        read_chunks(reader)?
    } else {
        let length = head.value("content-length").and_then(|v| v.parse().ok());
        let mut body = vec![0; length.unwrap_or_default()];
        reader.read_exact(&mut body)?;
        body
    };
    let (wanted, told) = (head.value("x-told").unwrap_or_default(), told_of(&body));
    if told != wanted {
        ledger.wrong(format!(
            "the upload {number} came whole as {told}, and is {wanted}"
        ));
    }
    whole(to, "200 OK", "", told.as_bytes())
}

fn read_chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let size = line.trim_end().split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
        let at = body.len();
        body.resize(at + size + 2, 0);
        reader.read_exact(&mut body[at..])?;
        body.truncate(at + size);
        if size == 0 {
            return Ok(body);
        }
    }
}

/// A WebSocket that sends each frame back, unmasked (RFC 6455 section 5).
fn echo_frames(
    reader: &mut BufReader<&TcpStream>,
    mut to: &TcpStream,
    head: &Head,
) -> io::Result<()> {
    let key = head.value("sec-websocket-key").unwrap_or_default();
    let accept = tungstenite::handshake::derive_accept_key(key.as_bytes());
    write!(
        to,
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )?;
    loop {
        let (opcode, payload) = read_frame(reader)?;
        to.write_all(&frame(opcode, &payload, None))?;
        if opcode == CLOSE {
            return Ok(());
        }
    }
}

pub(crate) const BINARY: u8 = 2;
pub(crate) const CLOSE: u8 = 8;

/// One frame, unmasked where it is.
pub(crate) fn read_frame(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut start = [0; 2];
    from.read_exact(&mut start)?;
    let length = match start[1] & 0x7f {
        126 => {
            let mut length = [0; 2];
            from.read_exact(&mut length)?;
            usize::from(u16::from_be_bytes(length))
        }
        127 => {
            let mut length = [0; 8];
            from.read_exact(&mut length)?;
            usize::try_from(u64::from_be_bytes(length)).unwrap_or(usize::MAX)
        }
        short => usize::from(short),
    };
    let mut mask = [0; 4];
    if start[1] & 0x80 != 0 {
        from.read_exact(&mut mask)?;
    }
    if length > 1 << 24 {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut payload = vec![0; length];
    from.read_exact(&mut payload)?;
    for (at, byte) in payload.iter_mut().enumerate() {
        *byte ^= mask[at % 4];
    }
    Ok((start[0] & 0x0f, payload))
}

pub(crate) fn frame(opcode: u8, payload: &[u8], mask: Option<[u8; 4]>) -> Vec<u8> {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    let mut bytes = vec![0x80 | opcode];
    match u16::try_from(payload.len()) {
        Ok(length @ ..=125) => bytes.push(masked | length as u8),
        Ok(length) => {
            bytes.push(masked | 126);
            bytes.extend(length.to_be_bytes());
        }
        Err(_) => {
            bytes.push(masked | 127);
            bytes.extend((payload.len() as u64).to_be_bytes());
        }
    }
    bytes.extend(mask.into_iter().flatten());
    let mask = mask.unwrap_or_default();
    bytes.extend(
        payload
            .iter()
            .enumerate()
            .map(|(at, byte)| byte ^ mask[at % 4]),
    );
    bytes
}
