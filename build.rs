//! Embeds the pages: what is below `html/`, one script and one style for each page, and the descriptions of the APIs;
//! compressed, under a hash of the whole set.

#[path = "build/bundle.rs"]
mod bundle;
#[path = "build/pages.rs"]
mod pages;
#[path = "build/script.rs"]
mod script;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pages::Files;
use sha2::{Digest, Sha256};

/// Hexadecimal digits of the hash in URLs.
const HASH_DIGITS: usize = 16;

/// The descriptions of the APIs, by the room that serves each.
const DESCRIPTIONS: [(&str, &str); 3] = [
    ("openapi/manager.json", "src/manager/api/openapi.json"),
    ("openapi/relay.json", "src/relay/openapi.json"),
    ("openapi/sqlweb.json", "src/sqlweb/api/openapi.json"),
];

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=html");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    let crate_root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let root = crate_root.join("html");
    let mut files = Files::new();
    if root.is_dir() {
        collect(&root, &root, &mut files)?;
    }
    let mut files = pages::put_together(files).map_err(io::Error::other)?;
    for (name, path) in DESCRIPTIONS {
        println!("cargo:rerun-if-changed={path}");
        let text = fs::read_to_string(crate_root.join(path))?;
        // Without indentation: no string of JSON has a line break.
        let text: String = text.lines().map(str::trim_start).collect();
        files.insert(name.to_owned(), text.into_bytes());
    }
    write_table(Path::new(&variable("OUT_DIR")?), &files)
}

fn variable(name: &str) -> io::Result<String> {
    std::env::var(name).map_err(io::Error::other)
}

fn collect(root: &Path, dir: &Path, files: &mut Files) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let left_out = path.file_name().is_none_or(|name| {
            let name = name.as_encoded_bytes();
            name.starts_with(b".") || name.ends_with(b".d.ts")
        });
        if path.is_dir() && !left_out {
            collect(root, &path, files)?;
        } else if !left_out {
            let name = path.strip_prefix(root).map_err(io::Error::other)?;
            let name = name.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
            files.insert(name.replace('\\', "/"), fs::read(&path)?);
        }
    }
    Ok(())
}

/// Writes the compressed files and the table that `src/http/assets.rs` includes.
fn write_table(out: &Path, files: &Files) -> io::Result<()> {
    let hash = hash(files);
    let mut table = format!("const HASH: &str = {hash:?};\nstatic FILES: &[File] = &[\n");
    for (number, (name, content)) in files.iter().enumerate() {
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

fn hash(files: &Files) -> String {
    let mut sum = Sha256::new();
    for (name, content) in files {
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
            .replace(pages::ASSETS, &format!("/assets/{hash}/"))
            .into_bytes(),
        _ => content.to_vec(),
    }
}

fn gzip(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressed = Vec::new();
    zopfli::compress(
        Default::default(),
        zopfli::Format::Gzip,
        content,
        &mut compressed,
    )?;
    Ok(compressed)
}
