//! The tunnels that are measured, each with its two ends as processes.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use support::process::Process;
use tempfile::TempDir;

use crate::load::TIMEOUT;
use crate::targets::Targets;

/// Bore's clients find its server on this port only.
const BORE_PORT: u16 = 7835;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Visitors reach the targets directly.
    None,
    Postern,
    /// Another build of ours.
    OldPostern,
    Chisel,
    /// Our client with a chisel server.
    PosternToChisel,
    /// `ssh -R`, POSTERN_SSHD being the server's executable.
    OpenSsh,
    Rathole,
    Bore,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::None,
        Self::Postern,
        Self::Chisel,
        Self::PosternToChisel,
        Self::OpenSsh,
        Self::Rathole,
        Self::Bore,
    ];

    /// Peers whose binaries exist, "no tunnel" first.
    pub(crate) fn wanted() -> Vec<Self> {
        let named = std::env::var("BENCH_PEERS").ok();
        let wanted = |kind: &Self| match &named {
            Some(names) => *kind == Self::None || names.split(',').any(|name| name == kind.name()),
            None => true,
        };
        let is_there = |kind: &Self| match kind {
            Self::None | Self::Postern => true,
            Self::OldPostern => false,
            Self::Chisel | Self::PosternToChisel => std::env::var_os("POSTERN_CHISEL").is_some(),
            Self::OpenSsh => std::env::var_os("POSTERN_SSHD").is_some(),
            Self::Rathole => std::env::var_os("POSTERN_RATHOLE").is_some(),
            Self::Bore => std::env::var_os("POSTERN_BORE").is_some(),
        };
        let all = Self::ALL.into_iter();
        all.filter(|kind| is_there(kind) && wanted(kind)).collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "no tunnel",
            Self::Postern => "postern",
            Self::OldPostern => "old postern",
            Self::Chisel => "chisel",
            Self::PosternToChisel => "postern to chisel",
            Self::OpenSsh => "OpenSSH",
            Self::Rathole => "rathole",
            Self::Bore => "bore",
        }
    }

    /// True if its client can connect through a proxy.
    pub(crate) fn has_far_server(self) -> bool {
        self != Self::Bore
    }
}

/// A tunnel at work; its processes end with it.
pub(crate) struct Running {
    pub(crate) echo: u16,
    pub(crate) flood: u16,
    pub(crate) sink: u16,
    pub(crate) stalled: u16,
    pub(crate) clients: Vec<Process>,
    pub(crate) server: Option<Process>,
    _home: TempDir,
}

/// Leads to an address by another way.
pub(crate) type Way<'a> = &'a dyn Fn(SocketAddr) -> SocketAddr;

impl Running {
    /// Starts both ends and waits until bytes go through.
    pub(crate) fn start(kind: Kind, targets: &Targets, way: Option<Way<'_>>) -> Self {
        let home = TempDir::new().unwrap();
        let led = |to: SocketAddr| way.map_or(to, |way| way(to));
        let to = [targets.echo, targets.flood, targets.sink, targets.stalled];
        if kind == Kind::None {
            return Self::new(to.map(|target| led(target).port()), home);
        }
        let mut setup = Setup::new(kind, home.path().into(), to);
        let server = Process::start(&mut setup.server());
        wait_until(|| TcpStream::connect(setup.server).is_ok());
        setup.server = led(setup.server);
        let mut running = Self::new(setup.ports, home);
        running.server = Some(server);
        running.clients = setup.clients().iter_mut().map(Process::start).collect();
        for port in [running.flood, running.sink, running.stalled] {
            wait_until(|| TcpStream::connect(("127.0.0.1", port)).is_ok());
        }
        wait_until(|| answers(running.echo).unwrap_or(false));
        running
    }

    fn new([echo, flood, sink, stalled]: [u16; 4], home: TempDir) -> Self {
        Self {
            echo,
            flood,
            sink,
            stalled,
            clients: Vec::new(),
            server: None,
            _home: home,
        }
    }

    /// Processor time of both ends.
    pub(crate) fn cpu(&self) -> Duration {
        let all = self.clients.iter().chain(&self.server);
        all.map(Process::cpu).sum()
    }

    /// Processor time of the client's side; none where there is none.
    pub(crate) fn client_cpu(&self) -> Option<Duration> {
        let all = self.clients.iter().map(Process::cpu);
        (!self.clients.is_empty()).then(|| all.sum())
    }
}

fn answers(port: u16) -> std::io::Result<bool> {
    let mut visitor = TcpStream::connect(("127.0.0.1", port))?;
    visitor.set_read_timeout(Some(Duration::from_secs(1)))?;
    visitor.write_all(b"x")?;
    Ok(visitor.read(&mut [0])? == 1)
}

pub(crate) fn wait_until(mut condition: impl FnMut() -> bool) {
    let until = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < until, "a tunnel did not come up");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Values for the command lines.
pub(crate) struct Setup {
    kind: Kind,
    home: PathBuf,
    pub(crate) server: SocketAddr,
    ports: [u16; 4],
    targets: [SocketAddr; 4],
}

impl Setup {
    pub(crate) fn new(kind: Kind, home: PathBuf, targets: [SocketAddr; 4]) -> Self {
        // Held together, so that none comes twice.
        let held: Vec<_> = (0..5)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let free = |at: usize| held[at].local_addr().unwrap().port();
        let control = if kind == Kind::Bore {
            BORE_PORT
        } else {
            free(4)
        };
        Self {
            kind,
            home,
            server: ([127, 0, 0, 1], control).into(),
            ports: [free(0), free(1), free(2), free(3)],
            targets,
        }
    }

    pub(crate) fn server(&self) -> Command {
        let at = self.server.port().to_string();
        let words: Vec<String> = match self.kind {
            Kind::None => unreachable!("there is no server"),
            Kind::Postern | Kind::OldPostern => {
                owned(&["tunnel-server", "--listen", &self.server.to_string()])
            }
            Kind::Chisel | Kind::PosternToChisel => {
                owned(&["server", "--reverse", "--host", "127.0.0.1", "--port", &at])
            }
            Kind::OpenSsh => self.sshd(),
            Kind::Rathole => owned(&["--server", &self.rathole("server", "bind_addr")]),
            Kind::Bore => owned(&["server", "--bind-addr", "127.0.0.1"]),
        };
        let kind = match self.kind {
            Kind::PosternToChisel => Kind::Chisel,
            kind => kind,
        };
        self.command(kind, &words)
    }

    pub(crate) fn clients(&self) -> Vec<Command> {
        let pairs = || self.ports.iter().zip(&self.targets);
        let url = format!("http://{}", self.server);
        let remotes = pairs().map(|(port, target)| format!("R:127.0.0.1:{port}:{target}"));
        let of_chisel = |command: &str| {
            let words = [command.to_owned(), url.clone()];
            words.into_iter().chain(remotes.clone()).collect::<Vec<_>>()
        };
        match self.kind {
            Kind::None => Vec::new(),
            Kind::Postern | Kind::OldPostern | Kind::PosternToChisel => {
                vec![self.command(self.kind, &of_chisel("tunnel-client"))]
            }
            Kind::Chisel => vec![self.command(Kind::Chisel, &of_chisel("client"))],
            Kind::OpenSsh => {
                let mut ssh = Command::new("ssh");
                ssh.args(["-N", "-F", "/dev/null", "-o", "BatchMode=yes", "-o"])
                    .args([
                        "StrictHostKeyChecking=no",
                        "-o",
                        "UserKnownHostsFile=/dev/null",
                    ])
                    .arg("-i")
                    .arg(self.home.join("key"))
                    .args(["-p", &self.server.port().to_string(), "127.0.0.1"]);
                for (port, target) in pairs() {
                    ssh.args(["-R", &format!("127.0.0.1:{port}:{target}")]);
                }
                vec![ssh]
            }
            Kind::Rathole => {
                let words = owned(&["--client", &self.rathole("client", "local_addr")]);
                vec![self.command(Kind::Rathole, &words)]
            }
            Kind::Bore => pairs()
                .map(|(port, target)| {
                    let (from, to) = (port.to_string(), target.port().to_string());
                    let words = owned(&["local", &to, "--to", "127.0.0.1", "--port", &from]);
                    self.command(Kind::Bore, &words)
                })
                .collect(),
        }
    }

    fn command(&self, kind: Kind, words: &[String]) -> Command {
        let variable = match kind {
            Kind::Chisel => "POSTERN_CHISEL",
            Kind::OpenSsh => "POSTERN_SSHD",
            Kind::Rathole => "POSTERN_RATHOLE",
            Kind::Bore => "POSTERN_BORE",
            Kind::OldPostern => "POSTERN_OLD",
            _ => "POSTERN_BIN",
        };
        let ours = || env!("CARGO_BIN_EXE_postern").into();
        let mut command = Command::new(std::env::var_os(variable).unwrap_or_else(ours));
        command.args(words).env("POSTERN_HOME", &self.home);
        command
    }

    /// Makes keys for OpenSSH; answers its server's command line.
    fn sshd(&self) -> Vec<String> {
        for name in ["host", "key"] {
            let mut keygen = Command::new("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]);
            let made = keygen.arg(self.home.join(name)).status();
            assert!(made.unwrap().success());
        }
        let of_home = |name: &str| self.home.join(name).display().to_string();
        let options = [
            format!("HostKey={}", of_home("host")),
            format!("AuthorizedKeysFile={}", of_home("key.pub")),
            format!("ListenAddress={}", self.server),
            "StrictModes=no".to_owned(),
            "UsePAM=no".to_owned(),
            "PidFile=none".to_owned(),
        ];
        let options = options
            .into_iter()
            .flat_map(|option| ["-o".to_owned(), option]);
        let first = owned(&["-D", "-e", "-f", "/dev/null"]);
        first.into_iter().chain(options).collect()
    }

    /// Writes a configuration of rathole; answers its path.
    fn rathole(&self, side: &str, service: &str) -> String {
        let at = match side {
            "server" => "bind_addr",
            _ => "remote_addr",
        };
        let mut text = format!(
            "[{side}]\n{at} = \"{}\"\ndefault_token = \"bench\"\n",
            self.server
        );
        for (port, target) in self.ports.iter().zip(&self.targets) {
            let address = match side {
                "server" => format!("127.0.0.1:{port}"),
                _ => target.to_string(),
            };
            text += &format!("[{side}.services.of{port}]\n{service} = \"{address}\"\n");
        }
        let path = self.home.join(format!("{side}.toml"));
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
