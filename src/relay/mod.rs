//! The relay: the remote side of tunnels, with its gateway to the sites behind them.

pub mod gateway;
