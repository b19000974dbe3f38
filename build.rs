//! Embeds the pages.

fn main() {}
