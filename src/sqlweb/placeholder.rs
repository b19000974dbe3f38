//! Stands in for the web client until it is merged.
#![allow(missing_docs)]

use std::fmt;

use super::{Options, Target};

pub struct Running {
    pub url: String,
    pub auth_url: Option<String>,
    _listener: std::net::TcpListener,
}

impl Running {
    pub fn stop(self) {}
}

#[derive(Debug)]
pub struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "plugin error: {}", self.0)
    }
}

pub fn start(options: Options) -> Result<Running, StartError> {
    let connected = match &options.target {
        Target::Tcp { host, port } => {
            std::net::TcpStream::connect((host.as_str(), *port)).map(|_| ())
        }
        Target::Unix(path) => std::os::unix::net::UnixStream::connect(path).map(|_| ()),
    };
    connected.map_err(|_| {
        StartError(format!(
            "cannot connect to {}: connection refused",
            options.target
        ))
    })?;
    let at = options.listen.unwrap_or(([127, 0, 0, 1], 0).into());
    let listener = std::net::TcpListener::bind(at).map_err(|e| StartError(e.to_string()))?;
    let url = format!(
        "http://{}/",
        listener
            .local_addr()
            .map_err(|e| StartError(e.to_string()))?
    );
    let auth_url = options.invisible.then(|| format!("{url}auth?code=x"));
    Ok(Running {
        url,
        auth_url,
        _listener: listener,
    })
}
