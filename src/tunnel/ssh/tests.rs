//! Whole connections over in-memory pipes.
