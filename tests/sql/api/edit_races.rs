//! Edits that meet other transactions, and such as are broken off.
