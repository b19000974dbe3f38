//! The manual's page of limits, made from the table and compared with the one that is there.

use std::time::Duration;

use super::{DAY, HOUR, KIB, MIB, table};

const PAGE: &str = "html/docs/limits.html";
/// The part of the page that is made begins and ends before these.
const BEGIN: &str = "<h2 id=\"visitors-of-a-site\">";
const END: &str = "<h2 id=\"notes\">";

/// `make bless` writes it.
#[test]
fn the_manual_has_every_limit_of_the_table() {
    let page = std::fs::read_to_string(PAGE).expect("the page is there");
    let (before, rest) = page.split_once(BEGIN).expect("the first table");
    let (_, after) = rest.split_once(END).expect("the text behind the tables");
    let wanted = format!("{before}{}{END}{after}", tables());
    crate::api::openapi::compare(PAGE, &wanted);
}

fn tables() -> String {
    let section = |(title, rows): (&str, Vec<[String; 2]>)| {
        let id = title.to_lowercase().replace(' ', "-");
        let rows = rows
            .iter()
            .map(|[what, limit]| format!("<tr><td>{what}</td><td>{limit}</td></tr>\n"));
        format!(
            "<h2 id=\"{id}\">{title}</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr><th \
             scope=\"col\">what</th><th scope=\"col\">limit</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
            rows.collect::<String>()
        )
    };
    table().into_iter().map(section).collect()
}

/// The largest unit of which it is a whole number.
pub(super) fn time(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0 => format!("{} ms", time.as_millis()),
        _ if seconds.is_multiple_of(DAY) => format!("{} days", seconds / DAY),
        _ if seconds.is_multiple_of(HOUR) => format!("{} h", seconds / HOUR),
        120.. if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

pub(super) fn bytes(size: impl TryInto<usize>) -> String {
    match whole(size) {
        size if size.is_multiple_of(MIB) => format!("{} MiB", size / MIB),
        size if size.is_multiple_of(KIB) => format!("{} KiB", size / KIB),
        size => format!("{size} bytes"),
    }
}

pub(super) fn count(number: impl TryInto<usize>) -> String {
    match whole(number) {
        number @ 1000.. => format!("{},{:03}", number / 1000, number % 1000),
        number => number.to_string(),
    }
}

pub(super) fn part(part: (usize, usize)) -> String {
    let words = match part {
        (1, 2) => "half",
        (1, 4) => "a quarter",
        (1, 8) => "one eighth",
        (7, 8) => "seven eighths",
        (part, of) => panic!("no words for {part} of {of}"),
    };
    words.to_owned()
}

pub(super) fn one_of(of: usize) -> String {
    part((1, of))
}

fn whole(number: impl TryInto<usize>) -> usize {
    number.try_into().ok().expect("limits are small")
}
