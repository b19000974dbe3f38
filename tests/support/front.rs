//! Real web servers in front of a relay, with the files of `tests/deploy`: Debian's Caddy, HAProxy and nginx.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use super::kill_on_drop::{KillOnDrop, Leashed};
use super::{TIMEOUT, free_port, holds_within};

/// One at work, ended on drop.
pub struct Front {
    process: Leashed,
    dir: PathBuf,
    /// Address for visitors.
    pub address: SocketAddr,
}

impl Front {
    /// HAProxy, without TLS.
    #[track_caller]
    pub fn haproxy(relay: SocketAddr) -> Front {
        Front::haproxy_for(relay, "%[src]")
    }

    /// HAProxy that takes a visitor's address from `X-Visitor`: all of a test are from loopback.
    #[track_caller]
    pub fn haproxy_told(relay: SocketAddr) -> Front {
        Front::haproxy_for(relay, "%[req.hdr(x-visitor)]")
    }

    #[track_caller]
    fn haproxy_for(relay: SocketAddr, visitor: &str) -> Front {
        let (dir, address) = (directory(), free_address());
        let file = deployed("haproxy.cfg")
            .replace("%[src]", visitor)
            .replace(
                "bind :443 ssl crt /etc/ssl/relay.example.pem",
                &format!("bind {address}"),
            )
            .replace("127.0.0.1:8180", &relay.to_string());
        Front::of_haproxy(&file, dir, address)
    }

    /// nginx, without TLS, that takes a visitor's address from `X-Visitor`.
    #[track_caller]
    pub fn nginx_told(relay: SocketAddr) -> Front {
        let (dir, address) = (directory(), free_address());
        let file = deployed("nginx.conf")
            .replace("listen 443 ssl;", &format!("listen {address};"))
            .replace("server_name relay.example *.relay.example;", "")
            .replace("$remote_addr", "$http_x_visitor")
            .replace("127.0.0.1:8180", &relay.to_string());
        let lines = file
            .lines()
            .filter(|line| !line.contains("ssl_certificate"));
        let file = lines.collect::<Vec<_>>().join("\n");
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let temporary = temporary.map(|name| format!("{name}_temp_path {name};"));
        let file = format!(
            "daemon off; master_process off; pid nginx.pid; worker_rlimit_nofile 8192; \
             events {{ worker_connections 4096; }} http {{ access_log off; {}\n{file}\n}}",
            temporary.join(" ")
        );
        let config = dir.path().join("nginx.conf");
        std::fs::write(&config, file).expect("a file is made");
        let path = std::env::var("PATH").unwrap_or_default();
        let program = KillOnDrop::new("nginx").env("PATH", format!("{path}:/usr/sbin"));
        let program = program.args(["-e", "stderr", "-p"]).args([dir.path()]);
        Front::of(program.args(["-c"]).args([config]), dir, address)
    }

    /// HAProxy that ends TLS with this certificate and key, and passes all of it to a port of this machine.
    #[track_caller]
    pub fn haproxy_with_tls(certificate: &Path, to: u16) -> Front {
        let (dir, address) = (directory(), free_address());
        let certificate = certificate.display();
        let file = format!(
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n\
             listen tls\n  bind {address} ssl crt {certificate}\n  server behind 127.0.0.1:{to}\n"
        );
        Front::of_haproxy(&file, dir, address)
    }

    /// HAProxy in front of a fleet, without TLS, on the port that visitors use.
    #[track_caller]
    pub fn haproxy_of_fleet(relays: &[SocketAddr], port: u16) -> Front {
        let (dir, address) = (directory(), (Ipv4Addr::LOCALHOST, port).into());
        let file = deployed("haproxy-fleet.cfg");
        let (before, _) = split(&file, "    # Each machine's own address");
        let servers: String = relays
            .iter()
            .enumerate()
            .map(|(at, relay)| {
                let path = format!("/.postern/tunnel/{at}");
                format!(
                    "    use-server relay{at} if {{ path {path} }}\n    server relay{at} {relay}\n"
                )
            })
            .collect();
        let file = before
            .replace(
                "bind :443 ssl crt /etc/ssl/relay.example.pem",
                &format!("bind {address}"),
            )
            .replace("X-Forwarded-Proto https", "X-Forwarded-Proto http")
            .replace(
                "hdr Host relay.example",
                &format!("hdr Host localhost:{port}"),
            )
            .replace("-m str relay.example", "-m str localhost");
        Front::of_haproxy(&format!("{file}{servers}"), dir, address)
    }

    #[track_caller]
    fn of_haproxy(file: &str, dir: tempfile::TempDir, address: SocketAddr) -> Front {
        let config = dir.path().join("haproxy.cfg");
        // One thread: it has one pool of connections.
        std::fs::write(&config, format!("global\n    nbthread 1\n{file}")).expect("a file is made");
        let path = std::env::var("PATH").unwrap_or_default();
        let program = KillOnDrop::new("haproxy").env("PATH", format!("{path}:/usr/sbin"));
        let program = program.args(["-db", "-f"]).args([config]);
        Front::of(program, dir, address)
    }

    /// Caddy, without TLS.
    #[track_caller]
    pub fn caddy(relay: SocketAddr) -> Front {
        let (dir, address) = (directory(), free_address());
        let site = format!("http://:{} {{\n\tbind 127.0.0.1", address.port());
        let (_, rest) = split(&deployed("Caddyfile"), "https:// {\n");
        let (_, rest) = split(&rest, "\t}\n");
        let file = format!("{{\n\tadmin off\n}}\n{site}\n{rest}");
        Front::of_caddy(
            &file.replace("127.0.0.1:8180", &relay.to_string()),
            dir,
            address,
        )
    }

    /// Caddy as it is deployed, but for the port that visitors use, which `port` is, and the authority, which is its own.
    #[track_caller]
    pub fn caddy_with_tls(relay: SocketAddr, port: u16) -> Front {
        let (dir, address) = (directory(), (Ipv4Addr::LOCALHOST, port).into());
        let global = format!(
            "{{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttps_port {port}\n\ton_demand_tls"
        );
        let file = deployed("Caddyfile");
        let (_, rest) = split(&file, "\ton_demand_tls");
        let file = format!("{global}{rest}")
            .replace("\t\ton_demand\n", "\t\tissuer internal\n\t\ton_demand\n")
            .replace("https:// {\n", "https:// {\n\tbind 127.0.0.1\n")
            .replace("127.0.0.1:8180", &relay.to_string());
        Front::of_caddy(&file, dir, address)
    }

    /// Caddy with an authority of its own and names below localhost, on the port that visitors use, which `port` is.
    #[track_caller]
    pub fn caddy_of_localhost(relay: SocketAddr, port: u16) -> Front {
        let (dir, address) = (directory(), (Ipv4Addr::LOCALHOST, port).into());
        let file = deployed("Caddyfile.localhost");
        // Another Caddy of this machine may have the port of its own API.
        let ports = format!("\tadmin off\n\thttps_port {port}\n");
        let (before, behind) = split(&file, "\thttps_port 8443\n");
        let file = format!("{before}{ports}{behind}");
        Front::of_caddy(
            &file.replace("127.0.0.1:8180", &relay.to_string()),
            dir,
            address,
        )
    }

    fn of_caddy(file: &str, dir: tempfile::TempDir, address: SocketAddr) -> Front {
        let config = dir.path().join("Caddyfile");
        std::fs::write(&config, file).expect("a file is made");
        let mut program = KillOnDrop::new("caddy")
            .args(["run", "--adapter", "caddyfile", "--config"])
            .args([config]);
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
            program = program.env(name, dir.path());
        }
        Front::of(program, dir, address)
    }

    #[track_caller]
    fn of(program: KillOnDrop, dir: tempfile::TempDir, address: SocketAddr) -> Front {
        let path = dir.path().to_owned();
        let mut process = program.owning(dir).start();
        let is_there = holds_within(TIMEOUT, || {
            process.ended().is_some() || TcpStream::connect(address).is_ok()
        });
        let is_there = is_there && process.ended().is_none();
        let front = Front {
            process,
            dir: path,
            address,
        };
        assert!(is_there, "it does not listen: {}", front.said());
        front
    }

    /// Log of the program.
    pub fn said(&self) -> String {
        self.process.stderr.text() + &self.process.stdout.text()
    }

    /// The directory that holds all of its files.
    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the server in front said:\n{}", self.said());
        }
    }
}

fn directory() -> tempfile::TempDir {
    let made = tempfile::Builder::new().prefix("postern-front-").tempdir();
    made.expect("a directory is made")
}

fn free_address() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, free_port()).into()
}

/// A file of `tests/deploy`.
fn deployed(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("deploy");
    std::fs::read_to_string(path.join(name)).expect("it is part of the repository")
}

#[track_caller]
fn split(text: &str, at: &str) -> (String, String) {
    let (before, behind) = text.split_once(at).expect("the file has this line");
    (before.to_owned(), behind.to_owned())
}

/// Passes bytes on between a server in front and a relay, and counts the connections.
pub struct Tap {
    /// Address to connect to.
    pub address: SocketAddr,
    count: Arc<AtomicUsize>,
}

impl Tap {
    /// Before a relay. It ends with the test's process.
    pub fn before(relay: SocketAddr) -> Tap {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        std::thread::spawn(move || {
            for front in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::SeqCst);
                if let Ok(relay) = TcpStream::connect(relay) {
                    super::balancer::join(front, relay);
                }
            }
        });
        Tap { address, count }
    }

    /// Number of connections so far.
    pub fn connections(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// A connection that comes from `127.0.0.{host}`.
pub fn connect_from(host: u8, to: SocketAddr) -> io::Result<TcpStream> {
    let socket = socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    bind(&socket, &SocketAddr::from(([127, 0, 0, host], 0)))?;
    connect(&socket, &to)?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    Ok(stream)
}
