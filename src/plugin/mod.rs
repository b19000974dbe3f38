//! The registry of plugins and the trait they fulfil.
