//! Sites of `https` applications: TLS to the target inside the stream.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use support::gateway::{Relay, application};

/// A certificate that nobody vouches for.
fn config() -> Arc<ServerConfig> {
    let dir = tempfile::tempdir().unwrap();
    let made = Command::new("openssl")
        .current_dir(dir.path())
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(' '))
        .args("-days 2 -subj /CN=intranet -keyout k.pem -out c.pem".split(' '))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let chain = CertificateDer::pem_file_iter(dir.path().join("c.pem")).unwrap();
    let chain = chain.collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.path().join("k.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    Arc::new(config)
}

fn serve(stream: TcpStream, config: &Arc<ServerConfig>, names: &Mutex<Vec<String>>) -> Option<()> {
    let tls = ServerConnection::new(Arc::clone(config)).unwrap();
    let mut stream = StreamOwned::new(tls, stream);
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).ok()?;
            head.push(byte[0]);
        }
        let name = stream.conn.server_name().unwrap_or_default().to_owned();
        names.lock().unwrap().push(name);
        let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(answer.as_bytes()).ok()?;
        stream.write_all(&body).ok()?;
        stream.flush().ok()?;
    }
}

#[test]
fn an_https_application_is_reached_whatever_its_certificate() {
    let relay = Relay::start();
    let (config, names) = (config(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&names);
    let port = application(move |stream| {
        serve(stream, &config, &seen);
    });
    let _shared = relay.share_as("shop", port, |site| site.tls = true);
    let mut client = relay.connect();
    for size in [0, 10, 5_000_000, 3] {
        let body: Vec<u8> = (0..size).map(|at: usize| (at % 251) as u8).collect();
        let lines = format!("Content-Length: {size}\r\n");
        client.send(relay.request("POST", "shop", "/", &lines).as_bytes());
        let mut sending = client.socket.try_clone().unwrap();
        let sent = body.clone();
        let sender = std::thread::spawn(move || sending.write_all(&sent).unwrap());
        let answer = client.answer(false).unwrap();
        sender.join().unwrap();
        assert_eq!(answer.status, 200);
        assert!(
            answer.body == body,
            "{size}: {} came back",
            answer.body.len()
        );
    }
    let names = names.lock().unwrap();
    assert!(names.iter().all(|name| name == "shop.localhost") && names.len() == 4);
}

#[test]
fn an_application_that_speaks_no_tls_is_told_apart() {
    let relay = Relay::start();
    let port = application(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        let _ = stream.read(&mut [0; 1024]);
    });
    let _shared = relay.share_as("shop", port, |site| site.tls = true);
    let answer = relay.get("shop", "/");
    assert_eq!(answer.status, 502);
    assert!(
        answer
            .text()
            .contains("It does not speak TLS: share it as http."),
        "{}",
        answer.text()
    );
}
