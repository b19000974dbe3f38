//! The read-only gate: decides from the text of a statement whether it only reads.
