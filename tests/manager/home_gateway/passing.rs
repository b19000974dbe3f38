//! Requests other than plain pages: streams, heads alone, uploads.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::json;
use support::TIMEOUT;

use super::{Way, ask, read_head, read_until};

/// Events come one by one, heads alone, interim answers and uploads as they are sent.
#[test]
fn what_is_no_plain_page_passes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (go, gone) = crossbeam_channel::bounded::<()>(0);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let gone = gone.clone();
            std::thread::spawn(move || stream_events(&mut stream, &gone));
        }
    });
    let way = Way::new();
    way.connected(&json!({"protocol": "http", "port": port, "name": "events"}));
    let host = way.host("events");
    let mut socket = TcpStream::connect(way.relay.address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(socket, "GET /events HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let head = read_head(&mut socket).unwrap();
    assert!(head.contains("Transfer-Encoding: chunked"), "{head}");
    for word in ["one", "two"] {
        go.send(()).unwrap();
        assert!(read_until(&mut socket, word).contains(word));
    }
    drop(socket);

    let answer = ask(
        way.relay.address,
        &format!("HEAD / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
    );
    assert!(
        answer.contains("Content-Length: 7\r\n") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );

    let mut socket = TcpStream::connect(way.relay.address).unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    write!(
        socket,
        "POST /up HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
    )
    .unwrap();
    let interim = read_head(&mut socket).unwrap();
    assert!(interim.starts_with("HTTP/1.1 100"), "{interim}");
    socket
        .write_all(b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        .unwrap();
    let answer = read_until(&mut socket, "abcde");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

fn stream_events(stream: &mut TcpStream, go: &crossbeam_channel::Receiver<()>) {
    let Some(head) = read_head(stream) else {
        return;
    };
    if head.starts_with("GET /events") {
        let begin = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(begin.as_bytes()).unwrap();
        for word in ["one", "two"] {
            go.recv().unwrap();
            stream
                .write_all(format!("3\r\n{word}\r\n").as_bytes())
                .unwrap();
        }
        let _ = stream.read(&mut [0; 64]);
    } else if head.starts_with("HEAD") {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
        let _ = stream.read(&mut [0; 64]);
    } else {
        assert!(head.contains("Expect: 100-continue"), "{head}");
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
        let body = read_until(stream, "0\r\n\r\n");
        let body: String = body.split("\r\n").skip(1).step_by(2).collect();
        let _ = write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.read(&mut [0; 64]);
    }
}
