//! The per-user directory: atomic, locked, private files.
