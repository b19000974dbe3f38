//! Embeds the pages: every file below `html/` but type declarations, and the descriptions of the APIs; compressed, under
//! a hash of the whole set.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

/// Stands in HTML for the hash of the set.
const PLACEHOLDER: &str = "/assets/@/";
/// Hexadecimal digits of the hash in URLs.
const HASH_DIGITS: usize = 16;

/// The descriptions of the APIs, by the room that serves each.
const DESCRIPTIONS: [(&str, &str); 3] = [
    ("openapi/manager.json", "src/manager/api/openapi.json"),
    ("openapi/relay.json", "src/relay/openapi.json"),
    ("openapi/sqlweb.json", "src/sqlweb/api/openapi.json"),
];

/// A file's path below `html/`, with forward slashes, and its content.
type Page = (String, Vec<u8>);

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=html");
    println!("cargo:rerun-if-changed=build.rs");
    let crate_root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let root = crate_root.join("html");
    let mut pages = Vec::new();
    if root.is_dir() {
        collect(&root, &root, &mut pages)?;
    }
    for (name, path) in DESCRIPTIONS {
        println!("cargo:rerun-if-changed={path}");
        pages.push((name.to_owned(), fs::read(crate_root.join(path))?));
    }
    pages.sort();
    write_table(Path::new(&variable("OUT_DIR")?), &pages)
}

fn variable(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(io::Error::other)
}

fn collect(root: &Path, dir: &Path, pages: &mut Vec<Page>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let left_out = path.file_name().is_none_or(|name| {
            let name = name.as_encoded_bytes();
            name.starts_with(b".") || name.ends_with(b".d.ts")
        });
        if path.is_dir() && !left_out {
            collect(root, &path, pages)?;
        } else if !left_out {
            let name = path.strip_prefix(root).map_err(io::Error::other)?;
            let name = name.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
            pages.push((name.replace('\\', "/"), fs::read(&path)?));
        }
    }
    Ok(())
}

/// Writes the compressed files and the table that `src/http/assets.rs` includes.
fn write_table(out: &Path, pages: &[Page]) -> io::Result<()> {
    let hash = hash(pages);
    let mut table = format!("const HASH: &str = {hash:?};\nstatic FILES: &[File] = &[\n");
    for (number, (name, content)) in pages.iter().enumerate() {
        let file = out.join(format!("page-{number}.gz"));
        fs::write(&file, gzip(&with_hash(name, content, &hash))?)?;
        writeln!(
            table,
            "    File {{ path: {name:?}, gzip: include_bytes!({file:?}) }},"
        )
        .map_err(io::Error::other)?;
    }
    table.push_str("];\n");
    fs::write(out.join("assets.rs"), table)
}

fn hash(pages: &[Page]) -> String {
    let mut sum = Sha256::new();
    for (name, content) in pages {
        sum.update(format!("{name}\0{}\0", content.len()));
        sum.update(content);
    }
    let mut digits: String = sum.finalize().iter().map(|b| format!("{b:02x}")).collect();
    digits.truncate(HASH_DIGITS);
    digits
}

fn with_hash(name: &str, content: &[u8], hash: &str) -> Vec<u8> {
    match std::str::from_utf8(content) {
        Ok(text) if name.ends_with(".html") => text
            .replace(PLACEHOLDER, &format!("/assets/{hash}/"))
            .into_bytes(),
        _ => content.to_vec(),
    }
}

fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}
