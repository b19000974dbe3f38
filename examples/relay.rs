//! A relay on loopback, as `postern start` runs it in its own process, with a site for a local application: quick-setup by
//! HTTP, then a tunnel. `cargo run --example relay -- 3000`, then open the address that it prints. The relay's state stays in
//! the directory of temporary files.

use std::time::Duration;

use postern::relay::embedded;
use postern::store::{DataDir, RunDir};
use postern::tunnel::client::{HostKeyCheck, Settings, Tunnel};
use postern::tunnel::ws::Endpoint;
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let application = std::env::args().nth(1).ok_or("usage: relay PORT")?;
    let port: u16 = application.parse()?;
    let home = DataDir::at(std::env::temp_dir().join(format!("relay-{}", std::process::id())));
    let run_dir = RunDir::create(Some(&home))?;
    let relay = embedded::start(&home, run_dir.path(), true)?;

    // The call of a connector. A real one draws its password at random and keeps it sealed.
    let password = "0123456789abcdef0123456789abcdef0123456789a";
    let call = json!({
        "protocol": "http", "ip": "127.0.0.1", "port": port,
        "connector_name": "example", "password": password, "enroll_token": &**relay.token,
        "client_app_id": "1", "display_name": "shop", "site_name": "shop",
        "invisible": false, "visable": "", "reset": true,
    });
    let url = format!("http://{}/api/public/quick-setup", relay.address());
    let mut answer = ureq::post(&url)
        .content_type("application/json")
        .send(call.to_string())?;
    let answer: Value = serde_json::from_str(&answer.body_mut().read_to_string()?)?;
    let said = |path: &str| answer.pointer(path).ok_or(format!("no {path}: {answer}"));

    let [_, (tunnels, _)] = relay.listeners();
    let remote = format!(
        "R:127.0.0.1:{}:127.0.0.1:{application}",
        said("/data/app/resource/port")?
    );
    let mut settings = Settings::new(
        Endpoint::parse(&format!("ws://{tunnels}"))?,
        vec![remote.parse()?],
    );
    (settings.user, settings.password) = ("example".into(), password.to_owned().into());
    let fingerprint = said("/data/connector/fingerprint")?
        .as_str()
        .unwrap_or_default();
    settings.host_key = HostKeyCheck::Fingerprint(fingerprint.to_owned());
    let tunnel = Tunnel::start(settings)?;
    if !tunnel.wait(Duration::from_secs(10)) {
        return Err(format!("not connected: {:?}", tunnel.snapshot()).into());
    }
    let site = said("/data/app/site_url")?.as_str().unwrap_or_default();
    println!("{site} leads to port {application}; Ctrl-C ends it");
    loop {
        std::thread::park();
    }
}
