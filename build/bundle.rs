//! One script for a page: its modules in the order of their imports, each in a function of its own. What is imported
//! when it is needed (`import('./x.js')`) becomes a script that is loaded then, with what only such scripts need.

use std::collections::{BTreeMap, BTreeSet};

use crate::script::{self, Import, Module, Names};

/// A script that is served, under the path of the module that is asked for.
pub(crate) struct Chunk {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The scripts of the page that begins with `entry`, the first one first. `read` has the modules by their paths.
pub(crate) fn bundle(
    entry: &str,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<(Vec<Chunk>, BTreeSet<String>), String> {
    let mut graph = Graph::default();
    graph.add(entry, read)?;
    let chunks = graph.chunks(entry);
    let written = chunks
        .iter()
        .map(|chunk| graph.write(chunk, &chunks))
        .collect::<Result<_, _>>()?;
    Ok((written, graph.modules.into_keys().collect()))
}

#[derive(Default)]
struct Graph {
    modules: BTreeMap<String, Node>,
    /// Entry module of the page, and modules loaded on demand.
    entries: BTreeSet<String>,
}

struct Node {
    module: Module,
    /// Its place in the order of evaluation: after all that it imports.
    number: usize,
}

/// Modules that are loaded together.
struct Part {
    path: String,
    /// In the order of evaluation.
    modules: Vec<String>,
}

impl Graph {
    fn add(&mut self, entry: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<(), String> {
        if !self.entries.insert(entry.to_owned()) {
            return Ok(());
        }
        self.visit(entry, read, &mut Vec::new())?;
        let mut lazy = Vec::new();
        for (path, node) in &self.modules {
            for (from, _) in calls(&node.module.body, "import('") {
                lazy.push(resolve(path, from));
            }
        }
        lazy.iter().try_for_each(|path| self.add(path, read))
    }

    fn visit(
        &mut self,
        path: &str,
        read: &dyn Fn(&str) -> Option<String>,
        above: &mut Vec<String>,
    ) -> Result<(), String> {
        if above.iter().any(|one| one == path) {
            return Err(format!("{path} imports itself by {}", above.join(", ")));
        }
        if self.modules.contains_key(path) {
            return Ok(());
        }
        let source = read(path).ok_or_else(|| format!("{path} is missing"))?;
        let module = script::parse(&source).map_err(|error| format!("{path}: {error}"))?;
        above.push(path.to_owned());
        for import in module.imports.iter().chain(&module.passed_on) {
            self.visit(&resolve(path, &import.from), read, above)?;
        }
        above.pop();
        let number = self.modules.len();
        self.modules
            .insert(path.to_owned(), Node { module, number });
        Ok(())
    }

    /// All that is loaded with a module.
    fn reach(&self, path: &str, found: &mut BTreeSet<String>) {
        if !found.insert(path.to_owned()) {
            return;
        }
        if let Some(node) = self.modules.get(path) {
            for import in node.module.imports.iter().chain(&node.module.passed_on) {
                self.reach(&resolve(path, &import.from), found);
            }
        }
    }

    /// Modules that the same entries need go together; what the page begins with takes all that it needs.
    fn chunks(&self, first: &str) -> Vec<Part> {
        let mut needed_by: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for entry in &self.entries {
            let mut found = BTreeSet::new();
            self.reach(entry, &mut found);
            for path in found {
                if let Some((path, _)) = self.modules.get_key_value(&path) {
                    needed_by.entry(path).or_default().insert(entry);
                }
            }
        }
        let mut groups: BTreeMap<BTreeSet<&str>, Vec<String>> = BTreeMap::new();
        for (path, entries) in needed_by {
            let entries = if entries.contains(first) {
                BTreeSet::from([first])
            } else {
                entries
            };
            groups.entry(entries).or_default().push(path.to_owned());
        }
        let mut parts: Vec<Part> = groups
            .into_values()
            .map(|paths| self.part(first, paths))
            .collect();
        parts.sort_by_key(|part| part.path != first);
        parts
    }

    fn part(&self, first: &str, mut modules: Vec<String>) -> Part {
        modules.sort_by_key(|path| self.modules.get(path).map(|node| node.number));
        let is_entry = |path: &&String| self.entries.contains(*path);
        let entry = modules.iter().find(|path| *path == first);
        let entry = entry.or_else(|| modules.iter().find(is_entry));
        let path = entry.or(modules.first()).cloned().unwrap_or_default();
        Part { path, modules }
    }

    fn write(&self, part: &Part, all: &[Part]) -> Result<Chunk, String> {
        let mut text = String::new();
        for other in all.iter().filter(|other| other.path != part.path) {
            let names = self.used(part, other);
            if !names.is_empty() {
                let from = relative(&part.path, &other.path);
                text += &format!("import {{ {} }} from '{from}';\n", names.join(", "));
            }
        }
        for path in &part.modules {
            let node = self.node(path)?;
            let body = self.rewritten(path, &node.module.body, &part.path, all)?;
            text += &self.function(path, node, &body)?;
        }
        let others = all.iter().filter(|other| other.path != part.path);
        let wanted: BTreeSet<String> = others.flat_map(|other| self.used(other, part)).collect();
        if !wanted.is_empty() {
            let names: Vec<String> = wanted.into_iter().collect();
            text += &format!("export {{ {} }};\n", names.join(", "));
        }
        if self.entries.contains(&part.path) {
            let node = self.node(&part.path)?;
            let names = outside(&node.module);
            if !names.is_empty() {
                text += &format!(
                    "export const {{ {} }} = m{};\n",
                    names.join(", "),
                    node.number
                );
            }
        }
        Ok(Chunk {
            path: part.path.clone(),
            text: script::shorten(&text)?,
        })
    }

    /// The modules of `other` that `part` imports, as they are called in both.
    fn used(&self, part: &Part, other: &Part) -> Vec<String> {
        let mut used = BTreeSet::new();
        for path in &part.modules {
            let Some(node) = self.modules.get(path) else {
                continue;
            };
            for import in node.module.imports.iter().chain(&node.module.passed_on) {
                let target = resolve(path, &import.from);
                if other.modules.contains(&target)
                    && let Some(node) = self.modules.get(&target)
                {
                    used.insert(node.number);
                }
            }
        }
        used.iter().map(|number| format!("m{number}")).collect()
    }

    fn node(&self, path: &str) -> Result<&Node, String> {
        self.modules
            .get(path)
            .ok_or_else(|| format!("{path} is missing"))
    }

    fn name_of(&self, path: &str, import: &Import) -> Result<String, String> {
        let node = self.node(&resolve(path, &import.from))?;
        if let Names::Some(names) = &import.names {
            let known = outside(&node.module);
            if let Some((there, _)) = names
                .iter()
                .find(|(there, _)| !known.contains(&there.as_str()))
            {
                return Err(format!("{path}: {} exports no '{there}'", import.from));
            }
        }
        Ok(format!("m{}", node.number))
    }

    fn function(&self, path: &str, node: &Node, body: &str) -> Result<String, String> {
        let mut text = format!("const m{} = (() => {{\n", node.number);
        for import in &node.module.imports {
            let from = self.name_of(path, import)?;
            match &import.names {
                Names::All(name) => text += &format!("const {name} = {from};\n"),
                Names::Some(names) if names.is_empty() => {}
                Names::Some(names) => {
                    let names: Vec<String> = names.iter().map(|(a, b)| pair(a, b)).collect();
                    text += &format!("const {{ {} }} = {from};\n", names.join(", "));
                }
            }
        }
        text += body;
        if !body.is_empty() {
            text.push('\n');
        }
        let exports = node.module.exports.iter();
        let mut names: Vec<String> = exports
            .map(|(inside, outside)| pair(outside, inside))
            .collect();
        for import in &node.module.passed_on {
            let from = self.name_of(path, import)?;
            if let Names::Some(passed) = &import.names {
                names.extend(
                    passed
                        .iter()
                        .map(|(there, here)| format!("{here}: {from}.{there}")),
                );
            }
        }
        text += &format!("return {{ {} }};\n}})();\n", names.join(", "));
        Ok(text)
    }

    /// Paths in a body are relative to the script that holds it.
    fn rewritten(
        &self,
        path: &str,
        body: &str,
        script: &str,
        all: &[Part],
    ) -> Result<String, String> {
        let mut text = String::with_capacity(body.len());
        let mut copied = 0;
        let mut found = calls(body, "import('");
        found.extend(calls(body, "new URL('"));
        found.sort_by_key(|(_, at)| *at);
        for (from, at) in found {
            let target = resolve(path, from);
            let is_module = self.modules.contains_key(&target);
            if is_module && !all.iter().any(|part| part.path == target) {
                return Err(format!(
                    "{path}: {target} is both loaded later and part of another"
                ));
            }
            text += body.get(copied..at).unwrap_or_default();
            text += &relative(script, &target);
            copied = at + from.len();
        }
        text += body.get(copied..).unwrap_or_default();
        Ok(text)
    }
}

/// The names that a module exports.
fn outside(module: &Module) -> Vec<&str> {
    let passed = module
        .passed_on
        .iter()
        .flat_map(|import| match &import.names {
            Names::Some(names) => names.as_slice(),
            Names::All(_) => &[],
        });
    let exports = module.exports.iter().chain(passed);
    exports.map(|(_, outside)| outside.as_str()).collect()
}

/// `a: b`, as it stands between braces.
fn pair(a: &str, b: &str) -> String {
    if a == b {
        a.to_owned()
    } else {
        format!("{a}: {b}")
    }
}

/// The relative paths that follow `before`, and where each begins.
fn calls<'a>(body: &'a str, before: &str) -> Vec<(&'a str, usize)> {
    let found = body.match_indices(before).filter_map(|(at, _)| {
        let start = at + before.len();
        let (path, _) = body.get(start..)?.split_once('\'')?;
        path.starts_with('.').then_some((path, start))
    });
    found.collect()
}

/// The path below the root of what a file names as `./x.js` or `../y/z.js`.
fn resolve(file: &str, relative: &str) -> String {
    let mut segments: Vec<&str> = file.split('/').collect();
    segments.pop();
    for segment in relative.split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    segments.join("/")
}

/// The way from one file to another.
fn relative(from: &str, to: &str) -> String {
    let mut above: Vec<&str> = from.split('/').collect();
    above.pop();
    let target: Vec<&str> = to.split('/').collect();
    let same = above
        .iter()
        .zip(&target)
        .take_while(|(a, b)| a == b)
        .count();
    let up = above.len() - same;
    let start = if up == 0 {
        "./".to_owned()
    } else {
        "../".repeat(up)
    };
    start + &target.get(same..).unwrap_or_default().join("/")
}
