//! The set of files that is served, made from those that are written: one script and one style for each page.

use std::collections::{BTreeMap, BTreeSet};

use crate::bundle::bundle;
use crate::script;

/// Paths below `html/` and contents.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Stands in HTML for the hash of the set.
pub(crate) const ASSETS: &str = "/assets/@/";

/// The relay's doors carry it within them, whoever else links it.
const CARRIED: &str = "gateway/gateway.css";

/// Puts the modules and styles of each page together. Modules and styles that nothing names any more are left out.
pub(crate) fn put_together(mut files: Files) -> Result<Files, String> {
    let mut spent = BTreeSet::new();
    let mut made = Files::new();
    let pages: Vec<String> = paths(&files, ".html");
    for path in pages {
        let page = text(&files, &path).ok_or_else(|| format!("{path} is not text"))?;
        let Some(entry) = script_of(&page) else {
            continue;
        };
        let (chunks, modules) = bundle(entry, &|path| text(&files, path))?;
        spent.extend(modules);
        for chunk in chunks {
            if made
                .insert(chunk.path.clone(), chunk.text.into_bytes())
                .is_some()
            {
                return Err(format!("two pages have a {}", chunk.path));
            }
        }
        let (page, style, styles) = one_style(&path, &page, &files)?;
        spent.extend(styles);
        made.insert(path.replace(".html", ".css"), style.into_bytes());
        made.insert(path, with_pictures(&page, &files).into_bytes());
    }
    let named = named(&files, &made);
    files.retain(|path, _| !spent.contains(path) || named.contains(path) || path == CARRIED);
    for (path, content) in &mut files {
        if path.ends_with(".js") || path.ends_with(".css") {
            let source = String::from_utf8_lossy(content);
            let short = script::strip(&source).map_err(|error| format!("{path}: {error}"))?;
            *content = short.into_bytes();
        }
    }
    files.extend(made);
    Ok(files)
}

fn paths(files: &Files, extension: &str) -> Vec<String> {
    let paths = files.keys().filter(|path| path.ends_with(extension));
    paths.cloned().collect()
}

fn text(files: &Files, path: &str) -> Option<String> {
    String::from_utf8(files.get(path)?.clone()).ok()
}

/// The module that a page begins with.
fn script_of(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("<script type=\"module\" src=\"/assets/@/")?;
    rest.split_once('"').map(|(path, _)| path)
}

/// The page with one style in place of its first, the style, and the paths that it was made of.
fn one_style(
    path: &str,
    page: &str,
    files: &Files,
) -> Result<(String, String, Vec<String>), String> {
    let mut style = String::new();
    let mut parts = Vec::new();
    let mut html = String::with_capacity(page.len());
    for line in page.split_inclusive('\n') {
        let linked = line.strip_prefix("<link rel=\"stylesheet\" href=\"/assets/@/");
        if let Some((part, _)) = linked.and_then(|rest| rest.split_once('"')) {
            let source = text(files, part).ok_or_else(|| format!("{path}: {part} is missing"))?;
            style += &script::strip(&source).map_err(|error| format!("{part}: {error}"))?;
            if parts.is_empty() {
                let own = path.replace(".html", ".css");
                html += &format!("<link rel=\"stylesheet\" href=\"{ASSETS}{own}\">\n");
            }
            parts.push(part.to_owned());
        } else if !line.starts_with("<link rel=\"modulepreload\"") {
            html += line;
        }
    }
    Ok((html, style, parts))
}

/// The page with its pictures in it, which saves two requests: the sprite with names of its own, and the tab's icon.
fn with_pictures(page: &str, files: &Files) -> String {
    let mut page = page.replace("/assets/@/common/icons.svg#", "#icon-");
    if let Some(sprite) = text(files, "common/icons.svg") {
        let sprite = sprite
            .replacen("<svg ", "<svg id=\"icons\" display=\"none\" ", 1)
            .replace("<symbol id=\"", "<symbol id=\"icon-");
        page = page.replacen("<body>\n", &format!("<body>\n{}\n", sprite.trim_end()), 1);
    }
    if let Some(icon) = text(files, "common/icon.svg") {
        let icon = icon.trim_end().replace('"', "'").replace('#', "%23");
        let icon = format!("href=\"data:image/svg+xml,{icon}\"");
        page = page.replacen("href=\"/assets/@/common/icon.svg\"", &icon, 1);
    }
    page
}

/// Files that pages still name: pages without a script are served as written.
fn named(files: &Files, made: &Files) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    for path in paths(files, ".html") {
        let page = made.get(&path).or_else(|| files.get(&path));
        let page = String::from_utf8_lossy(page.map(Vec::as_slice).unwrap_or_default());
        for (_, rest) in page
            .match_indices(ASSETS)
            .map(|(at, found)| (at, page.get(at + found.len()..)))
        {
            let end = rest.and_then(|rest| rest.split_once(['"', '#']));
            named.extend(end.map(|(path, _)| path.to_owned()));
        }
    }
    named
}
