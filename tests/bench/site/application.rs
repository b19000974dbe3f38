//! The application beside nginx: it takes uploads, answers WebSocket messages and sends events.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;

use support::process::Process;
use support::{TIMEOUT, gateway, wait_until};

/// Set in the process that is the application.
const APPLICATION: &str = "POSTERN_BENCH_APPLICATION";
/// Text before the port that it listens on.
const PORT: &str = "port ";

/// Bytes of a WebSocket message.
pub(crate) const MESSAGE: usize = 32;
/// The byte that is in each event once and nowhere else.
pub(crate) const MARK: u8 = b'!';

/// True in the process that is to be the application.
pub(crate) fn is_one() -> bool {
    std::env::var_os(APPLICATION).is_some()
}

/// Serves until it is killed.
pub(crate) fn run() {
    let port = gateway::application(|socket| drop(serve(socket)));
    println!("{PORT}{port}");
    loop {
        std::thread::park();
    }
}

/// Starts it.
pub(crate) fn start(dir: &Path) -> (Process, SocketAddr) {
    let mut own = Command::new(std::env::current_exe().unwrap());
    let process = Process::start_in(dir, "application", own.env(APPLICATION, "1"));
    let port = || process.line_after(PORT);
    wait_until(TIMEOUT, "the application", || port().is_some());
    let port: u16 = port().unwrap().parse().unwrap();
    (process, ([127, 0, 0, 1], port).into())
}

fn serve(mut socket: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::with_capacity(1 << 17, socket.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        match head.split(' ').nth(1) {
            Some("/messages") => return messages(&mut reader, socket),
            Some("/events") => return events(socket),
            _ => upload(&head, &mut reader, &mut socket)?,
        }
    }
}

/// Reads all of a body and tells its length.
fn upload(head: &str, from: &mut impl Read, to: &mut impl Write) -> std::io::Result<()> {
    let head = head.to_ascii_lowercase();
    let length = head.split_once("content-length: ");
    let length = length.and_then(|(_, rest)| rest.lines().next()?.parse().ok());
    let mut body = from.take(length.unwrap_or(0));
    let (mut read, mut buffer) = (0, vec![0; 1 << 17]);
    while let count @ 1.. = body.read(&mut buffer)? {
        read += count;
    }
    let told = read.to_string();
    let length = told.len();
    write!(
        to,
        "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{told}"
    )
}

/// Sends each message back (RFC 6455 section 5.2: a client's frame has a mask, a server's has none).
fn messages(from: &mut impl Read, mut to: TcpStream) -> std::io::Result<()> {
    to.write_all(
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
          Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
    )?;
    let mut frame = [0; 2 + 4 + MESSAGE];
    loop {
        from.read_exact(&mut frame)?;
        let (start, masked) = frame.split_at_mut(6);
        let (mask, answer) = (start[2..].to_vec(), &mut [0; 2 + MESSAGE]);
        answer[..2].copy_from_slice(&[start[0], start[1] & 0x7f]);
        for (at, byte) in masked.iter().enumerate() {
            answer[2 + at] = byte ^ mask[at % 4];
        }
        to.write_all(answer)?;
    }
}

/// Sends events as fast as they are taken, each by itself.
fn events(mut to: TcpStream) -> std::io::Result<()> {
    to.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    let event = format!("data: {:.>56}\n\n", char::from(MARK));
    let chunk = format!("{:x}\r\n{event}\r\n", event.len());
    loop {
        to.write_all(chunk.as_bytes())?;
    }
}
