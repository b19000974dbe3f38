//! Getting to a link through proxies and with TLS.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use crate::ws_fixture::*;
use postern::tunnel::ws::{
    AcceptOptions, Accepted, Cancel, CertificateProblem, ConnectStage, DialError, DialOptions,
    Endpoint, Proxy, ProxyChoice, Tls, accept, dial,
};

fn dialled(secure: bool, address: SocketAddr, options: &DialOptions) -> Result<Link, DialError> {
    dial(&endpoint(secure, address), options, &Cancel::new())
}

/// A proxy of one connection: says `answer` to CONNECT and then, when it is a success, pipes.
fn proxy(answer: &'static str) -> (Proxy, thread::JoinHandle<String>) {
    let (address, proxy) = server(move |mut visitor| {
        let request = read_head(&mut visitor);
        let target = request.split(' ').nth(1).unwrap().to_owned();
        if !answer.contains(" 200 ") {
            visitor.write_all(answer.as_bytes()).unwrap();
            return request;
        }
        let mut server = TcpStream::connect(target).unwrap();
        visitor.write_all(answer.as_bytes()).unwrap();
        let (mut from, mut to) = (visitor.try_clone().unwrap(), server.try_clone().unwrap());
        let up = thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let _ = std::io::copy(&mut server, &mut visitor);
        let _ = visitor.shutdown(Shutdown::Both);
        up.join().unwrap();
        request
    });
    (
        Proxy::parse(&format!("http://user:p%40ss@{address}")).unwrap(),
        proxy,
    )
}

#[test]
fn a_proxy_is_gone_through() {
    for secure in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = endpoint(secure, listener.local_addr().unwrap());
        let serving = thread::spawn(move || {
            let mut options = AcceptOptions::default();
            options.tls = secure.then(|| server_tls(&CERTIFICATES.good));
            accept(listener.accept().unwrap().0, &options, &Cancel::new()).unwrap()
        });
        let (fixed, proxy) = proxy("HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n");
        let mut through = options();
        through.proxy = ProxyChoice::Fixed(fixed);
        let (mut reader, writer) = dial(&target, &through, &Cancel::new()).unwrap();
        let Accepted::WebSocket(mut from_client, to_client) = serving.join().unwrap() else {
            panic!("no link");
        };
        writer.write(&mut vec![1; 1000]).unwrap();
        assert_eq!(read_exactly(&mut from_client, 1000), [1; 1000]);
        to_client.write(&mut vec![2; 1000]).unwrap();
        assert_eq!(read_exactly(&mut reader, 1000), [2; 1000]);
        drop((reader, writer, from_client, to_client));
        let request = proxy.join().unwrap();
        let authority = target.authority();
        assert!(request.starts_with(&format!(
            "CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n"
        )));
        assert_eq!(
            header_of(&request, "Proxy-Authorization").as_deref(),
            Some("Basic dXNlcjpwQHNz")
        );
    }
}

#[test]
fn a_proxy_that_refuses_is_named() {
    for (answer, text) in [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            "needs valid credentials",
        ),
        (
            "HTTP/1.1 403 Forbidden\r\n\r\n",
            "refused the connection: 403 Forbidden",
        ),
        (
            "HTTP/1.1 502 Bad Gateway\r\n\r\n",
            "refused the connection: 502",
        ),
        ("NO HTTP\r\n\r\n", "does not answer like an HTTP proxy"),
        (
            "HTTP/1.1 201 Strange\r\n\r\nmore",
            "unexpected data after its answer",
        ),
        ("", "broke during proxy CONNECT"),
    ] {
        let (fixed, proxy) = proxy(answer);
        let mut through = options();
        through.proxy = ProxyChoice::Fixed(fixed);
        let target = Endpoint::parse("ws://no-such-host.invalid:1").unwrap();
        let error = dial(&target, &through, &Cancel::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains(text) && !error.contains("p@ss"), "{error}");
        proxy.join().unwrap();
    }
}

fn tls_server(files: &(std::path::PathBuf, std::path::PathBuf)) -> SocketAddr {
    let mut accepting = AcceptOptions::default();
    accepting.tls = Some(server_tls(files));
    let (address, _) = server(move |socket| drop(accept(socket, &accepting, &Cancel::new())));
    address
}

#[test]
fn certificates_are_judged() {
    let problem = |files, options: &DialOptions| match dialled(true, tls_server(files), options) {
        Err(DialError::Certificate { problem, .. }) => Some(problem),
        Ok(_) => None,
        Err(other) => panic!("{other}"),
    };
    let known = &*CERTIFICATES;
    assert_eq!(problem(&known.good, &options()), None);
    assert_eq!(
        problem(&known.wrong_name, &options()),
        Some(CertificateProblem::WrongName)
    );
    assert_eq!(
        problem(&known.expired, &options()),
        Some(CertificateProblem::Expired)
    );
    let authority = (known.authority.clone(), known.authority_key.clone());
    assert_eq!(
        problem(&authority, &options()),
        Some(CertificateProblem::Authority)
    );
    let mut public = options();
    public.tls = Tls::verified();
    assert_eq!(
        problem(&known.good, &public),
        Some(CertificateProblem::UnknownIssuer)
    );
    let mut anybody = options();
    anybody.tls = Tls::unverified();
    for files in [&known.good, &known.wrong_name, &known.expired] {
        assert_eq!(problem(files, &anybody), None);
    }
}

#[test]
fn an_authority_that_cannot_be_read_is_named() {
    let mut missing = options();
    missing.tls = Tls::with_authority("/no/such/file.pem");
    let error = dialled(true, tls_server(&CERTIFICATES.good), &missing)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot read /no/such/file.pem: "),
        "{error}"
    );
    let mut empty = options();
    empty.tls = Tls::with_authority("/dev/null");
    let error = dialled(true, tls_server(&CERTIFICATES.good), &empty)
        .unwrap_err()
        .to_string();
    assert!(error.contains("contains no PEM certificate"), "{error}");
}

#[test]
fn a_server_without_tls_is_told_apart() {
    let (address, server) = server(|mut socket| {
        let mut hello = [0; 5];
        socket.read_exact(&mut hello).unwrap();
        socket
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let error = dialled(true, address, &options()).unwrap_err().to_string();
    assert!(
        error.contains("does not speak TLS on this port: try ws://"),
        "{error}"
    );
    server.join().unwrap();
}

/// The server's end of TLS by the library alone.
fn bare_tls(socket: TcpStream) -> rustls::StreamOwned<rustls::ServerConnection, TcpStream> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let (chain, key) = &CERTIFICATES.good;
    let chain = CertificateDer::pem_file_iter(chain)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key).unwrap())
        .unwrap();
    let connection = rustls::ServerConnection::new(std::sync::Arc::new(config)).unwrap();
    rustls::StreamOwned::new(connection, socket)
}

#[test]
fn a_goodbye_of_tls_in_place_of_an_answer_ends_the_dial() {
    let (address, server) = server(|socket| {
        let mut stream = bare_tls(socket);
        read_head(&mut stream);
        stream.conn.send_close_notify();
        // In one piece with bytes that mean nothing any more.
        let mut last = Vec::new();
        stream.conn.write_tls(&mut last).unwrap();
        last.extend([0; 100]);
        stream.sock.write_all(&last).unwrap();
        let _ = stream.sock.read_to_end(&mut Vec::new());
    });
    let error = within(TIMEOUT, "a dial", move || {
        dialled(true, address, &options()).unwrap_err()
    });
    assert!(
        matches!(
            error,
            DialError::Broken {
                stage: ConnectStage::Upgrade,
                ..
            }
        ),
        "{error}"
    );
    server.join().unwrap();
}

/// TLS has messages of its own to answer: the reading half leaves them to the ordered writer.
#[test]
fn keys_of_tls_may_change_at_any_time() {
    let (address, server) = server(|socket| {
        let mut stream = bare_tls(socket);
        let request = read_head(&mut stream);
        stream.write_all(switching(&request).as_bytes()).unwrap();
        for round in 0..100u8 {
            stream.conn.refresh_traffic_keys().unwrap();
            stream
                .write_all(&frame(0x82, None, &[round; 1000]))
                .unwrap();
            assert_eq!(read_frame(&mut stream), (0x82, vec![round; 1000]));
        }
    });
    let (mut reader, writer) = dialled(true, address, &options()).unwrap();
    for round in 0..100u8 {
        let mut payload = read_exactly(&mut reader, 1000);
        assert_eq!(payload, [round; 1000]);
        writer.write(&mut payload).unwrap();
    }
    server.join().unwrap();
}

/// A record that was changed on its way ends the link; nothing of it is delivered.
#[test]
fn damaged_records_are_an_error() {
    let (address, server) = server(|socket| {
        let mut stream = bare_tls(socket);
        let request = read_head(&mut stream);
        stream.write_all(switching(&request).as_bytes()).unwrap();
        // The upgrade is done when the client's first frame is there.
        read_frame(&mut stream);
        stream
            .conn
            .writer()
            .write_all(&frame(0x82, None, b"secret"))
            .unwrap();
        let mut record = Vec::new();
        stream.conn.write_tls(&mut record).unwrap();
        *record.last_mut().unwrap() ^= 1;
        stream.sock.write_all(&record).unwrap();
        let _ = stream.sock.read_to_end(&mut Vec::new());
    });
    let (mut reader, writer) = dialled(true, address, &options()).unwrap();
    writer.write(&mut [1]).unwrap();
    let error = reader.read(&mut [0; 9]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
    drop((reader, writer));
    server.join().unwrap();
}
