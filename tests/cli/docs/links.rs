//! Links, the length of README, and files that a page shows.

use super::source;

/// Texts from each `before` to the next `end`.
fn after<'a>(text: &'a str, before: &'a str, end: char) -> impl Iterator<Item = &'a str> {
    let rests = text.split(before).skip(1);
    rests.map(move |rest| rest.split(end).next().unwrap_or_default())
}

#[test]
fn every_link_of_a_page_leads_to_a_page_and_a_heading() {
    let pages = source::pages();
    assert!(pages.contains_key("index") && pages.len() > 5);
    for (name, html) in &pages {
        let back = "<header><a href=\"/\">";
        assert!(html.contains(back), "{name} leads back to the applications");
        let is_page = |link: &&str| !link.starts_with("/assets/@/") && *link != "/";
        for link in after(html, "href=\"", '"').filter(is_page) {
            let target = link
                .strip_prefix("/docs")
                .unwrap_or_else(|| panic!("{name}: {link} leads elsewhere"));
            let (page, heading) = target.split_once('#').unwrap_or((target, ""));
            let page = page.trim_start_matches('/');
            let page = if page.is_empty() { "index" } else { page };
            let text = pages
                .get(page)
                .unwrap_or_else(|| panic!("{name}: {link}: no such page"));
            let has = heading.is_empty() || text.contains(&format!("id=\"{heading}\""));
            assert!(has, "{name}: {link}: no such heading");
        }
    }
}

#[test]
fn every_page_is_named_by_the_first() {
    let pages = source::pages();
    for name in pages.keys().filter(|name| *name != "index") {
        assert!(
            pages["index"].contains(&format!("href=\"/docs/{name}\"")),
            "{name}"
        );
    }
}

#[test]
fn what_a_page_refers_to_is_embedded() {
    for (name, html) in source::pages() {
        for asset in after(&html, "/assets/@/", '"') {
            assert!(
                source::root().join("html").join(asset).is_file(),
                "{name}: {asset}"
            );
        }
    }
}

#[test]
fn the_readme_is_short_and_its_links_lead_to_files() {
    let readme = source::readme();
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    let words = readme.split_whitespace().filter(is_word).count();
    assert!(words <= 1200, "{words} words");
    for link in after(&readme, "](", ')') {
        let file = link.split('#').next().unwrap_or_default();
        assert!(source::root().join(file).is_file(), "{link}");
    }
}

/// But for their comments, and with blanks where they have tabs.
#[test]
fn the_page_of_the_relay_shows_the_caddyfiles_as_they_are_deployed() {
    for name in ["Caddyfile", "Caddyfile.localhost"] {
        let path = source::root().join("tests/deploy").join(name);
        let file = std::fs::read_to_string(path).unwrap();
        let is_comment = |line: &&str| line.trim_start().starts_with('#');
        let lines = file.lines().filter(|line| !is_comment(line));
        let shown = lines.map(|line| line.replace('\t', "    "));
        let shown = format!("<code>{}</code>", shown.collect::<Vec<_>>().join("\n"));
        assert!(source::pages()["relay"].contains(&shown), "{shown}");
    }
}

/// A reader looks for words in a list of headings, not for sentences.
#[test]
fn headings_are_short() {
    for (name, html) in source::pages() {
        for heading in html.split("<h2 id=\"").skip(1) {
            let (_, text) = heading.split_once('>').unwrap();
            let (text, _) = text.split_once("</h2>").unwrap();
            let words = text.split_whitespace().count();
            assert!(words <= 7, "{name}: {text}");
        }
    }
}
