//! README and documentation: their links lead somewhere, and every command in them runs.

mod commands;
mod links;
mod source;
