//! Holds answers to an OpenAPI description.

use serde_json::Value;

/// The node itself, or what it refers to.
pub fn resolve<'a>(document: &'a Value, node: &'a Value) -> &'a Value {
    match node["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap(),
        None => node,
    }
}

/// The first place where `value` does not fit `schema`: the part of JSON Schema that the description uses.
pub fn mismatch(document: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let schema = resolve(document, schema);
    if let Some(choices) = schema["anyOf"].as_array() {
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
