//! The small web site that `make demo` shares: what it was asked, and a clock that is streamed.
//! Listens on a free port of loopback and prints it; ends with its process.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bytes of a request's head. Default 64 KiB: twice what the gateway lets through.
const MAX_HEAD: u64 = 64 * 1024;
/// Time that a visitor may take to ask. Default 30 s.
const ASK_WITHIN: Duration = Duration::from_secs(30);
/// Between two strokes of the clock.
const STROKE: Duration = Duration::from_secs(1);

const PAGE: &str = include_str!("site.html");

fn main() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    for visitor in listener.incoming() {
        // A thread because the clock never ends; it ends when its visitor has gone.
        std::thread::Builder::new()
            .name("visitor".to_owned())
            .spawn(move || visitor.and_then(serve))?;
    }
    Ok(())
}

fn serve(visitor: TcpStream) -> io::Result<()> {
    visitor.set_read_timeout(Some(ASK_WITHIN))?;
    let mut head = String::new();
    let mut reader = BufReader::new(&visitor).take(MAX_HEAD);
    while reader.read_line(&mut head)? > 2 {}
    let path = head.split(' ').nth(1).unwrap_or("/");
    match path {
        "/" => answer(
            &visitor,
            "200 OK",
            &PAGE.replace("{{request}}", &escaped(&head)),
        ),
        "/clock" => strike(&visitor),
        _ => answer(&visitor, "404 Not Found", "There is nothing here."),
    }
}

fn answer(mut visitor: &TcpStream, status: &str, page: &str) -> io::Result<()> {
    write!(
        visitor,
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{page}",
        page.len()
    )
}

/// Server-sent events (HTML, section 9.2): one a second, until the visitor has gone.
fn strike(mut visitor: &TcpStream) -> io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n";
    visitor.write_all(head.as_bytes())?;
    loop {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        write!(visitor, "data: {}\n\n", now.unwrap_or_default().as_secs())?;
        std::thread::sleep(STROKE);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
