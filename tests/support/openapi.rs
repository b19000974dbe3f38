//! Holds answers to an OpenAPI description, and to the answers of before.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::http::Response;

/// An API that is tried route by route. Each answer fits its description, and equals the one in
/// `tests/data/answers-NAME.json` but for numbers, names and times of a run; `make bless` writes that file.
pub struct Described {
    document: Value,
    kept: PathBuf,
    /// `METHOD path STATUS`, and the answers in their order.
    answers: Map<String, Value>,
    tried: BTreeSet<(String, String)>,
}

impl Described {
    /// `document` is the description.
    pub fn new(name: &str, document: Value) -> Self {
        assert_eq!(document["openapi"], "3.1.0");
        let kept = format!("../data/answers-{name}.json");
        Self {
            document,
            kept: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(kept),
            answers: Map::new(),
            tried: BTreeSet::new(),
        }
    }

    /// Checks the answer to a call of the route.
    pub fn check(&mut self, method: &str, route: &str, answer: &Response) {
        let method = method.to_lowercase();
        let operation = &self.document["paths"][route][&method];
        assert!(operation.is_object(), "{method} {route} is not described");
        self.tried.insert((method.clone(), route.to_owned()));
        let status = answer.status();
        let response = resolve(&self.document, &operation["responses"][status.to_string()]);
        assert!(
            response.is_object(),
            "{method} {route}: {status} is not described"
        );
        let lines = &response["content"]["application/x-ndjson"]["schema"]["contentSchema"];
        if answer.header("content-type") == Some("application/x-ndjson") && !lines.is_null() {
            let said = answer.text().lines().map(serde_json::from_str::<Value>);
            let said = said.collect::<Result<_, _>>();
            let said = Value::Array(said.expect("each line is JSON"));
            let problem = mismatch(&self.document, lines, &said, "$");
            assert_eq!(problem, None, "{method} {route}: {}", answer.text());
        }
        let schema = &response["content"]["application/json"]["schema"];
        if answer.header("content-type") != Some("application/json") {
            return;
        }
        let said = answer.json();
        let problem = mismatch(&self.document, schema, &said, "$");
        assert_eq!(problem, None, "{method} {route}: {}", answer.text());
        if route == "/api/openapi.json" {
            return;
        }
        let of_route = self
            .answers
            .entry(format!("{method} {route} {status}"))
            .or_insert_with(|| json!([]));
        let of_route = of_route.as_array_mut().unwrap();
        let said = lasting("", &said);
        if !of_route.contains(&said) {
            of_route.push(said);
        }
    }

    /// Compares the answers with those of before; every route must have been tried.
    pub fn finish(self) {
        for (path, methods) in self.document["paths"].as_object().unwrap() {
            for method in methods.as_object().unwrap().keys() {
                let tried = self.tried.contains(&(method.clone(), path.clone()));
                assert!(tried, "{method} {path} was not tried");
            }
        }
        if std::env::var_os("POSTERN_TEST_SERVER").is_some_and(|value| !value.is_empty()) {
            // Another database server says other things.
            return;
        }
        let now = serde_json::to_string_pretty(&self.answers).unwrap() + "\n";
        crate::kept::compare(&self.kept, &now);
    }
}

/// Members with a key, a code or a token, whose base64 has any characters, or with an address or the name of a process.
const RANDOM: [&str; 8] = [
    "host_key",
    "fingerprint",
    "url",
    "code",
    "token",
    "password",
    "process",
    "ip",
];

/// The value without what differs from run to run: digits and random names in texts, numbers, times.
fn lasting(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), lasting(name, value)))
            .collect(),
        // Broken views, also of other tests.
        Value::Array(_) if name == "missing" => json!("#"),
        // Databases, also of other tests.
        Value::Array(items)
            if name == "data" && !items.is_empty() && items.iter().all(Value::is_string) =>
        {
            json!(["#"])
        }
        Value::Array(items) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items.iter().map(|item| lasting(name, item)) {
                // As many of one kind as there happen to be.
                if !kept.contains(&item) {
                    kept.push(item);
                }
            }
            Value::Array(kept)
        }
        Value::Number(_) if name != "code" => json!(0),
        Value::String(_) if RANDOM.contains(&name) => json!("#"),
        Value::String(text) => json!(lasting_text(text)),
        other => other.clone(),
    }
}

/// Words with a digit, which ids, codes, addresses, times and keys have, become `#`.
fn lasting_text(text: &str) -> String {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_+=".contains(letter);
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest
            .find(|letter| is_word(letter) != is_word(first))
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        out += if word.contains(|letter: char| letter.is_ascii_digit()) {
            "#"
        } else {
            word
        };
        rest = after;
    }
    out
}

/// The node itself, or what it refers to.
fn resolve<'a>(document: &'a Value, node: &'a Value) -> &'a Value {
    match node["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => node,
    }
}

/// The first place where `value` does not fit `schema`: the part of JSON Schema that the description uses.
fn mismatch(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let schema = resolve(document, schema);
    let choices = schema["anyOf"]
        .as_array()
        .or_else(|| schema["oneOf"].as_array());
    if let Some(choices) = choices {
        let fits = choices
            .iter()
            .any(|choice| mismatch(document, choice, value, at).is_none());
        return (!fits).then(|| format!("{at}: fits none of the choices"));
    }
    if !has_type(&schema["type"], value) {
        return Some(format!("{at}: {value} is not {}", schema["type"]));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        return Some(format!("{at}: {value} is not one of {allowed:?}"));
    }
    if schema
        .get("const")
        .is_some_and(|constant| constant != value)
    {
        return Some(format!("{at}: {value} is not {}", schema["const"]));
    }
    if let Value::Array(items) = value {
        let item = |(i, item)| mismatch(document, &schema["items"], item, &format!("{at}[{i}]"));
        return items.iter().enumerate().find_map(item);
    }
    let members = value.as_object()?;
    for required in schema["required"].as_array().into_iter().flatten() {
        if !members.contains_key(required.as_str().unwrap()) {
            return Some(format!("{at}: {required} is missing"));
        }
    }
    members.iter().find_map(|(name, member)| {
        let at = format!("{at}.{name}");
        match (
            schema["properties"].get(name),
            &schema["additionalProperties"],
        ) {
            (Some(property), _) => mismatch(document, property, member, &at),
            (None, Value::Bool(false)) => Some(format!("{at} is not described")),
            (None, other @ Value::Object(_)) => mismatch(document, other, member, &at),
            _ => None,
        }
    })
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    };
    match wanted {
        Value::String(name) => is(name),
        Value::Array(names) => names.iter().any(|name| is(name.as_str().unwrap())),
        _ => true,
    }
}
