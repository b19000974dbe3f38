//! An answer for unit tests.

use zeroize::Zeroizing;

use crate::manager::quick_setup::{ApiKey, App, Connector, Resource, Setup};
use crate::net::AddressClass;

/// An answer that names the connector `username`.
pub(crate) fn setup(username: &str) -> Setup {
    Setup {
        connector: Connector {
            external_ip: "127.0.0.1".into(),
            tunnel_url: None,
            api_port: 1,
            username: username.into(),
            password: Zeroizing::new("secret".into()),
            tunnel_port: None,
            fingerprint: None,
            alternates: None,
        },
        app: App {
            app_id: String::new(),
            site_url: String::new(),
            in_force: None,
            site_name_taken: None,
            resource: Resource {
                ip: String::new(),
                port: 2,
            },
        },
        api_key: ApiKey::default(),
        server_class: AddressClass::Loopback,
    }
}
