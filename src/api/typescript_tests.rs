//! Writes the types of the pages from the schemas of an API.

use serde_json::{Map, Value};

/// Columns of a line.
const WIDTH: usize = 120;

/// Compares a file with the types of these schemas, whose names begin with `prefix`; `make bless` writes it.
pub(crate) fn compare(file: &str, prefix: &str, schemas: &Map<String, Value>) {
    let mut text =
        "// Made from the types of the API: make bless writes it. For the type check alone; it is \
                    not embedded.\n"
            .to_owned();
    for (name, schema) in schemas {
        text += "\n";
        text += &comment(schema, "");
        if schema["properties"].is_object() {
            text += &format!("interface {prefix}{name} {{\n");
            for (member, schema) in members(schema, prefix) {
                text += &comment(schema, "  ");
                text += &wrapped(&format!("  {member}\n"), "\n    ");
            }
            text += "}\n";
        } else {
            let of = written(schema, prefix);
            text += &wrapped(&format!("type {prefix}{name} = {of};\n"), "\n  ");
        }
    }
    super::openapi::compare(file, &text);
}

/// The members of an object as they are written, each with its schema.
fn members<'a>(schema: &'a Value, prefix: &str) -> Vec<(String, &'a Value)> {
    let required = schema["required"].as_array();
    let members = schema["properties"].as_object().into_iter().flatten();
    let written = |(name, member): (&String, &'a Value)| {
        let is_required = required.is_some_and(|names| names.iter().any(|one| one == name));
        let mark = if is_required { "" } else { "?" };
        (
            format!("{name}{mark}: {};", written(member, prefix)),
            member,
        )
    };
    members.map(written).collect()
}

/// The type of a schema.
fn written(schema: &Value, prefix: &str) -> String {
    let choice = |choices: &[Value], of: &dyn Fn(&Value) -> String| {
        let choices: Vec<String> = choices.iter().map(of).collect();
        choices.join(" | ")
    };
    if let Some(reference) = schema["$ref"].as_str() {
        return format!("{prefix}{}", reference.rsplit('/').next().unwrap());
    }
    let choices = schema["anyOf"].as_array().or(schema["oneOf"].as_array());
    if let Some(choices) = choices {
        return choice(choices, &|schema| written(schema, prefix));
    }
    if let Some(words) = schema["enum"].as_array() {
        return choice(words, &literal);
    }
    if let Some(word) = schema.get("const") {
        return literal(word);
    }
    let one = |kind: &Value| match kind.as_str() {
        Some("integer" | "number") => "number".to_owned(),
        Some("array") => match written(&schema["items"], prefix) {
            item if item.contains(' ') => format!("({item})[]"),
            item => item + "[]",
        },
        Some("object") => object(schema, prefix),
        Some(name) => name.to_owned(),
        None => "any".to_owned(),
    };
    match &schema["type"] {
        Value::Array(kinds) => choice(kinds, &one),
        kind => one(kind),
    }
}

fn literal(word: &Value) -> String {
    match word {
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

fn object(schema: &Value, prefix: &str) -> String {
    let members = members(schema, prefix);
    if members.is_empty() {
        return match &schema["additionalProperties"] {
            of @ Value::Object(_) => format!("Record<string, {}>", written(of, prefix)),
            _ => "Record<string, any>".to_owned(),
        };
    }
    let members: Vec<String> = members.into_iter().map(|(member, _)| member).collect();
    format!("{{ {} }}", members.join(" "))
}

/// The description above a type or a member.
fn comment(schema: &Value, indent: &str) -> String {
    let Some(about) = schema["description"].as_str() else {
        return String::new();
    };
    let line = format!("{indent}/** {about} */\n");
    if line.chars().count() <= WIDTH {
        return line;
    }
    let lines = wrapped(&format!("{indent} * {about}"), &format!("\n{indent} * "));
    format!("{indent}/**\n{lines}\n{indent} */\n")
}

/// A text with line breaks where it is longer than a line.
fn wrapped(text: &str, between: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_inclusive(' ') {
        if column > 0 && column + word.trim_end().chars().count() > WIDTH {
            lines.truncate(lines.trim_end().len());
            lines += between;
            column = between.chars().count() - 1;
        }
        lines += word;
        column += word.chars().count();
    }
    lines
}
