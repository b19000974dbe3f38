//! An application that is picked by its name in TLS.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use super::{Way, host, ok, serve};

/// The certificate of the name that is asked for, and which names were.
#[derive(Debug)]
struct ByName {
    key: Arc<CertifiedKey>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push(name.clone());
        (name == "intranet.example").then(|| Arc::clone(&self.key))
    }
}

/// Names seen, in order.
type Seen = Arc<Mutex<Vec<String>>>;

/// A virtual host that is picked by its name in TLS, self-signed; the port, and the names that were asked for.
fn virtual_host() -> (u16, Seen, Seen) {
    let dir = tempfile::tempdir().unwrap();
    let made = std::process::Command::new("openssl")
        .current_dir(dir.path())
        .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes".split(' '))
        .args("-days 2 -subj /CN=intranet.example -keyout k.pem -out c.pem".split(' '))
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let chain = CertificateDer::pem_file_iter(dir.path().join("c.pem")).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(dir.path().join("k.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = CertifiedKey::from_der(chain, key, &provider).unwrap();
    let (asked, heads) = <(Seen, Seen)>::default();
    let resolver = ByName {
        key: Arc::new(key),
        asked: Arc::clone(&asked),
    };
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let kept = Arc::clone(&heads);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, kept) = (Arc::clone(&config), Arc::clone(&kept));
            std::thread::spawn(move || {
                let tls = ServerConnection::new(config).unwrap();
                serve(StreamOwned::new(tls, stream), &kept, |_| ok(""));
            });
        }
    });
    (port, asked, heads)
}

#[test]
fn an_https_virtual_host_is_picked_by_its_name() {
    let (way, (port, asked, heads)) = (Way::new(), virtual_host());
    let app = |name: &str, host_header: &str| json!({"protocol": "https", "port": port, "name": name, "host_header": host_header});
    let (_, result) = way.connected(&app("named", "intranet.example"));
    assert_eq!(result["health"]["state"], "ok", "{result}");
    assert!(way.get("named", "/a", "").ends_with("\r\n\r\nok"));
    assert!(
        asked
            .lock()
            .unwrap()
            .iter()
            .all(|name| name == "intranet.example")
    );
    let head = heads.lock().unwrap().pop().unwrap();
    assert_eq!(host(&head), "intranet.example");
    // The relay is told of HTTP alone: TLS is done at this end.
    let told = way.relay.status()["connectors"][0]["applications"][0]["protocol"].clone();
    assert_eq!(told, "http");
    let (_, result) = way.connected(&app("unnamed", "visitor"));
    let error = format!("127.0.0.1:{port} refuses TLS for the name unnamed.localhost");
    assert_eq!(
        (
            &result["health"]["error"],
            &result["health"]["hint"].is_string()
        ),
        (&json!(error), &true)
    );
    let page = way.get("unnamed", "/", "");
    assert!(
        page.starts_with("HTTP/1.1 502") && page.contains("It rejects the TLS name"),
        "{page}"
    );
    assert!(
        asked
            .lock()
            .unwrap()
            .contains(&"unnamed.localhost".to_owned())
    );
}
