//! `postern logs`: requests and statements of visitors, from the running manager's memory.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use serde_json::Value;

use super::app;
use crate::api::App;
use crate::cli::args::command::Parsed;
use crate::cli::args::operations::FOLLOW;
use crate::cli::failure::{Failure, print, printable};
use crate::cli::fields::Fields;
use crate::cli::manager_client::Manager;
use crate::cli::serve::data_dir;
use crate::store::time::rfc3339;

/// Pause between two questions. 2 s, like an open panel of the page.
const POLL: Duration = Duration::from_secs(2);
/// Widths of the columns on a terminal, in characters; a longer cell shifts the rest.
const WIDTHS: [usize; 8] = [20, 12, 15, 8, 7, 8, 6, 0];

/// Prints the existing entries, and with `--follow` new ones.
pub(crate) fn show(parsed: &Parsed) -> Result<(), Failure> {
    let manager = Manager::running(&data_dir()?)?;
    let only = parsed.operands().first();
    let only = match only {
        Some(typed) => Some(app::find(&manager.apps()?, typed)?.id.clone()),
        None => None,
    };
    let mut reader = Reader {
        manager,
        only,
        is_json: parsed.wants_json(),
        seen: BTreeMap::new(),
    };
    print(&reader.news()?)?;
    if !parsed.has(&FOLLOW) {
        return reader.explain_silence();
    }
    loop {
        std::thread::sleep(POLL);
        print(&reader.news()?)?;
    }
}

/// Reader that remembers the last printed entry of each application.
struct Reader {
    manager: Manager,
    /// Identifier of the selected application; none for all.
    only: Option<String>,
    is_json: bool,
    /// Number of the last entry, by identifier.
    seen: BTreeMap<String, u64>,
}

impl Reader {
    /// Lines of the entries since the last call, by time.
    fn news(&mut self) -> Result<String, Failure> {
        let mut entries = Vec::new();
        for app in self.meant()? {
            let of = match app.protocol.is_database() {
                true => "statements",
                false => "requests",
            };
            let after = self.seen.get(&app.id).copied().unwrap_or_default();
            // A number of an earlier connection or manager returns all entries.
            let log = match self.manager.log(&app.id, of, after) {
                Ok(log) => log,
                Err(error) if self.only.is_some() => return Err(error.into()),
                // The application may have been removed meanwhile.
                Err(_) => continue,
            };
            self.seen.insert(app.id, log.last);
            for mut entry in log.entries {
                entry.insert("app".to_owned(), app.name.clone().into());
                entries.push(entry);
            }
        }
        entries.sort_by_key(|entry| entry.get("time").and_then(Value::as_str).map(str::to_owned));
        Ok(entries.into_iter().map(|entry| self.line(entry)).collect())
    }

    /// Selected applications.
    fn meant(&self) -> Result<Vec<App>, Failure> {
        let mut apps = self.manager.apps()?;
        apps.retain(|app| self.only.as_ref().is_none_or(|only| *only == app.id));
        Ok(apps)
    }

    fn line(&self, entry: Fields) -> String {
        if self.is_json {
            return format!("{}\n", Value::Object(entry));
        }
        let is_request = entry.get("path").is_some();
        let members: &[&str] = if is_request {
            &[
                "time", "app", "source", "status", "ms", "bytes", "method", "path",
            ]
        } else {
            &[
                "time", "app", "visitor", "verdict", "ms", "rows", "kind", "sql",
            ]
        };
        let more = entry.get("more").and_then(Value::as_u64).unwrap_or(0);
        let cells = members.iter().map(|name| match *name {
            "sql" if more > 0 => format!("(and {more} more)"),
            name => cell(&entry, name),
        });
        if std::io::stdout().is_terminal() {
            let padded = cells
                .zip(WIDTHS)
                .map(|(cell, width)| format!("{cell:width$}"));
            return padded.collect::<Vec<_>>().join(" ").trim_end().to_owned() + "\n";
        }
        cells.collect::<Vec<_>>().join("\t") + "\n"
    }

    /// Explains why nothing was printed, if nothing was.
    fn explain_silence(&self) -> Result<(), Failure> {
        if self.is_json || self.seen.values().any(|last| *last > 0) {
            return Ok(());
        }
        print(&self.meant()?.iter().map(silence).collect::<String>())
    }
}

/// Reason that an application has no entries: they begin with its connection.
fn silence(app: &App) -> String {
    let name = printable(&app.name);
    let since = app.connection.as_ref().and_then(|it| it.since.as_deref());
    let Some(since) = since else {
        return format!("{name}: not connected; visits are recorded while connected\n");
    };
    let since = format!("since it was connected ({})", printable(since));
    let visitors = app.connection.as_ref().and_then(|it| it.visitors.as_ref());
    let last = visitors.and_then(|visitors| visitors.last_at);
    match visitors.map_or(0, |visitors| visitors.requests) {
        visits @ 1.. if !app.protocol.is_visited_by_http() => {
            let last = last.map_or(String::new(), rfc3339);
            let counted = if visits == 1 { "visitor" } else { "visitors" };
            format!(
                "{name}: {visits} {counted} {since}, the last at {last}; ports have no details\n"
            )
        }
        _ => format!("{name}: no visitors {since}\n"),
    }
}

fn cell(entry: &Fields, name: &str) -> String {
    let with_unit = |value: &Value| match name {
        "ms" => format!("{value} ms"),
        "bytes" => format!("{value} B"),
        _ => value.to_string(),
    };
    match entry.get(name) {
        None | Some(Value::Null) => "-".to_owned(),
        Some(Value::String(text)) => printable(text),
        // A program wants the number alone.
        Some(number) if std::io::stdout().is_terminal() => with_unit(number),
        Some(number) => number.to_string(),
    }
}
