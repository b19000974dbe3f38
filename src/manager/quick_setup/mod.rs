//! TEMPORARY.
#![allow(missing_docs)]
mod body;
use crate::manager::ServerUrl;
use crate::vault::Credentials;
pub use body::Body;
use crossbeam_channel::Receiver;
use std::sync::Arc;
use std::time::Instant;
use zeroize::Zeroizing;
pub struct Setup {
    pub connector: Connector,
    pub app: App,
    pub api_key: ApiKey,
}
pub struct Connector {
    pub external_ip: String,
    pub api_port: u16,
    pub username: String,
    pub password: Zeroizing<String>,
    pub tunnel_port: Option<u16>,
    pub fingerprint: Option<String>,
}
pub struct App {
    pub app_id: String,
    pub site_url: String,
    pub resource: Resource,
}
pub struct Resource {
    pub ip: String,
    pub port: u16,
}
pub struct ApiKey {
    pub nhp_server: String,
    pub code: Zeroizing<String>,
    pub app_id: String,
}
impl Setup {
    pub fn auth_url(&self) -> Option<String> {
        None
    }
}
#[derive(Debug, Clone)]
pub struct Wait {
    pub attempt: u32,
    pub until: Instant,
    pub reason: String,
}
pub trait Caller {
    fn credentials(&self, reload: bool) -> Result<Credentials, String>;
    fn body(&self, c: &Credentials) -> Zeroizing<Vec<u8>>;
    fn waiting(&self, wait: Option<Wait>);
    fn accepted(&self, setup: &Setup);
}
pub enum Failure {
    Stopped,
    X(String),
}
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("x")
    }
}
pub fn run(
    _server: &ServerUrl,
    _caller: Arc<dyn Caller + Send + Sync>,
    _stop: &Receiver<()>,
    _retry: &Receiver<()>,
) -> Result<Setup, Failure> {
    Err(Failure::X("no".into()))
}
