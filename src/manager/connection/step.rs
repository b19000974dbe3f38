//! The steps of the connect sequence.

use crate::manager::apps::protocol::Protocol;

/// Step of the work that a person may wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A database's web client is being started.
    WebClient,
    /// The remote server is asked.
    QuickSetup,
    /// The credentials it gave are being saved.
    Credentials,
    /// The main tunnel is awaited.
    MainTunnel,
    /// The application's tunnel is being made.
    AppTunnel,
    /// Its connected signal is awaited.
    Signal,
    /// There is nothing left to do but to wait for the stop signal.
    Serving,
}

impl Step {
    /// The first step of an application's connection.
    pub(crate) fn first_of(protocol: Protocol) -> Self {
        if protocol.is_database() {
            Self::WebClient
        } else {
            Self::QuickSetup
        }
    }

    /// Its number in the connect sequence; a web client is made before the sequence begins.
    pub(crate) fn number(self) -> u8 {
        match self {
            Self::WebClient | Self::QuickSetup => 1,
            Self::Credentials => 2,
            Self::MainTunnel => 3,
            Self::AppTunnel => 4,
            Self::Signal => 5,
            Self::Serving => 8,
        }
    }

    /// Its name for the page.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WebClient => "web client",
            Self::QuickSetup => "quick-setup",
            Self::Credentials => "credentials",
            Self::MainTunnel => "main tunnel",
            Self::AppTunnel | Self::Signal => "app tunnel",
            Self::Serving => "serving",
        }
    }
}
