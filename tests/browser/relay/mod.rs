//! The whole way as a person meets it: the management page, the relay, the tunnel and the application behind it, in
//! Chromium. Nothing is scripted but the small web site that is shared.

mod fleet;
mod looks;
mod operator;
mod outage;
mod page;
mod site;
mod story;
