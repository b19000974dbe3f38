//! Content of README and of the pages below `html/docs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The repository.
pub(super) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|dir| dir.join("html/docs").is_dir())
        .expect("the tests run within the repository")
}

/// README, whole.
pub(super) fn readme() -> String {
    read(&root().join("README.md"))
}

/// Each page of the documentation by its name.
pub(super) fn pages() -> BTreeMap<String, String> {
    let dir = root().join("html/docs");
    let files = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let html = files.filter(|path| path.extension().is_some_and(|end| end == "html"));
    html.map(|path| (stem(&path), read(&path))).collect()
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of the code blocks of README.
pub(super) fn readme_lines() -> Vec<String> {
    let readme = readme();
    let blocks = readme.split("```").skip(1).step_by(2);
    lines(&blocks.collect::<Vec<_>>().join("\n"))
}

/// The lines of a page's code blocks.
pub(super) fn page_lines(html: &str) -> Vec<String> {
    let blocks = html.split("<pre").skip(1).map(|rest| {
        let from = rest.find("<code>").unwrap() + "<code>".len();
        let to = rest.find("</code>").unwrap();
        plain(&rest[from..to])
    });
    lines(&blocks.collect::<Vec<_>>().join("\n"))
}

/// A text of HTML as it is read.
pub(super) fn plain(html: &str) -> String {
    html.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.trim_end().to_owned())
        .collect()
}
