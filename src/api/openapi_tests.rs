//! Writes the descriptions of the APIs: OpenAPI 3.1 (<https://spec.openapis.org/oas/v3.1.0>), from types and routes.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::generate::{Contract, SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// Members that every failed call answers.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "its schema is what is used")]
struct Failure {
    /// The HTTP status.
    code: u16,
    /// The cause, and if possible what to try.
    message: String,
    /// Advice, if the message has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Reason of a refused quick-setup: the connector has reached its limit of applications (`quota`), no public port
    /// is free (`no_port`), the relay is full (`full`), or its shared store is unavailable (`store_away`).
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A description that grows by its routes.
pub(crate) struct Description {
    generator: SchemaGenerator,
    /// Generator for the types that requests are read into.
    reader: SchemaGenerator,
    failure: Value,
    is_closed: bool,
    document: Map<String, Value>,
    paths: Map<String, Value>,
    ids: BTreeSet<String>,
}

/// One call of a route; it is part of the description when it is dropped.
pub(crate) struct Call<'a> {
    description: &'a mut Description,
    method: &'static str,
    path: &'static str,
    operation: Map<String, Value>,
    responses: Map<String, Value>,
}

impl Description {
    /// `security` has the ways to sign in, by name.
    pub(crate) fn new(title: &str, about: &str, security: Value) -> Self {
        Self::failing::<Failure>(title, about, security)
    }

    /// Description whose failed calls answer `F`.
    pub(crate) fn failing<F: JsonSchema>(title: &str, about: &str, security: Value) -> Self {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings
            .transforms
            .push(Box::new(RecursiveTransform(simplify)));
        let mut reader = settings.clone();
        reader.contract = Contract::Deserialize;
        // Readers have defaults; an answer has every member.
        let without_default = |schema: &mut Schema| drop(schema.remove("default"));
        settings
            .transforms
            .push(Box::new(RecursiveTransform(without_default)));
        let mut generator = settings.into_generator();
        let failure = generator.subschema_for::<F>().to_value();
        let content = json!({"application/json": {"schema": failure}});
        let retry = json!({"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds, if waiting helps"}});
        let responses = json!({
            "Error": {"description": "What happened and, if possible, what to try", "content": content},
            "TooMany": {"description": "Over a limit", "headers": retry, "content": content},
        });
        let info =
            json!({"title": title, "version": env!("CARGO_PKG_VERSION"), "description": about});
        let document = json!({
            "openapi": "3.1.0",
            "info": info,
            "components": {"securitySchemes": security, "responses": responses},
        });
        let Value::Object(document) = document else {
            unreachable!("it is an object")
        };
        Self {
            generator,
            reader: reader.into_generator(),
            failure,
            is_closed: false,
            document,
            paths: Map::new(),
            ids: BTreeSet::new(),
        }
    }

    /// Answers have no members besides those that are described.
    pub(crate) fn closed(mut self) -> Self {
        self.is_closed = true;
        self
    }

    /// Describes what this status means of every call that fails with it.
    pub(crate) fn means(&mut self, status: u16, about: &str) {
        let content = json!({"application/json": {"schema": self.failure}});
        self.document["components"]["responses"][format!("E{status}")] =
            json!({"description": about, "content": content});
    }

    /// Describes a call, named `id`.
    pub(crate) fn call(
        &mut self,
        method: &'static str,
        path: &'static str,
        (id, summary): (&str, &str),
    ) -> Call<'_> {
        assert!(self.ids.insert(id.to_owned()), "{id}: two calls have it");
        let mut operation = Map::new();
        operation.insert("operationId".to_owned(), id.into());
        operation.insert("summary".to_owned(), summary.into());
        let names = path.split('/').filter_map(|part| {
            let name = part.strip_prefix('{')?.strip_suffix('}')?;
            Some(
                json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
            )
        });
        operation.insert("parameters".to_owned(), names.collect());
        Call {
            description: self,
            method,
            path,
            operation,
            responses: Map::new(),
        }
    }

    /// Compares it with a file, and returns the schemas.
    pub(crate) fn compare(mut self, file: &str) -> Map<String, Value> {
        let mut schemas = self.generator.take_definitions(true);
        let mut paths = Value::Object(self.paths);
        if self.is_closed {
            schemas.values_mut().for_each(close);
            close(&mut paths);
        }
        for (name, schema) in self.reader.take_definitions(true) {
            let known = schemas.entry(name).or_insert_with(|| schema.clone());
            assert_eq!(*known, schema, "one name of two schemas");
        }
        self.document["components"]["schemas"] = schemas.clone().into();
        self.document.insert("paths".to_owned(), paths);
        let document = Value::Object(self.document);
        check_references(&document, &document);
        let now = serde_json::to_string_pretty(&document).unwrap() + "\n";
        compare(file, &now);
        schemas
    }
}

/// Compares a file below the package's root with what it should be; `make bless` writes it.
pub(crate) fn compare(file: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("POSTERN_BLESS").is_some_and(|value| !value.is_empty()) {
        std::fs::write(&path, now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(now == kept, "{file}: make bless writes it");
}

/// Every reference leads somewhere.
fn check_references(document: &Value, node: &Value) {
    match node {
        Value::Array(nodes) => nodes
            .iter()
            .for_each(|node| check_references(document, node)),
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                let path = reference.trim_start_matches('#');
                assert!(document.pointer(path).is_some(), "{reference} is missing");
            }
            members
                .values()
                .for_each(|node| check_references(document, node));
        }
        _ => {}
    }
}

/// Makes one list of the words of an enum, whose descriptions would else make a choice of each; joins the lines of
/// descriptions.
fn simplify(schema: &mut Schema) {
    if let Some(Value::String(about)) = schema.get_mut("description") {
        *about = about.replace('\n', " ");
    }
    let Some(choices) = schema.get("oneOf").and_then(Value::as_array) else {
        return;
    };
    let mut about: Vec<String> = Vec::new();
    about.extend(schema.get("description").and_then(text));
    let mut words = Vec::new();
    for choice in choices {
        let Some(word) = text(&choice["const"]) else {
            return;
        };
        about.extend(text(&choice["description"]).map(|about| format!("`{word}`: {about}")));
        words.push(word);
    }
    let listed = json!({"type": "string", "enum": words, "description": about.join(" ")});
    *schema = listed.try_into().unwrap();
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

/// Forbids further members of all objects that do not allow them, and null in place of members that may be absent.
fn close(node: &mut Value) {
    match node {
        Value::Array(nodes) => nodes.iter_mut().for_each(close),
        Value::Object(members) => {
            let required = members.get("required").cloned().unwrap_or_default();
            if let Some(Value::Object(properties)) = members.get_mut("properties") {
                let required = required.as_array().map_or(&[][..], Vec::as_slice);
                let optional = properties
                    .iter_mut()
                    .filter(|(name, _)| !required.contains(&name.as_str().into()));
                optional.for_each(|(_, member)| without_null(member));
                members
                    .entry("additionalProperties")
                    .or_insert(false.into());
            }
            members.values_mut().for_each(close);
        }
        _ => {}
    }
}

/// Takes null out of the type of a member.
fn without_null(member: &mut Value) {
    let Some(schema) = member.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        schema["type"] = kinds.swap_remove(0);
    } else if let Some(Value::Array(kinds)) = schema.get("anyOf")
        && let [Value::Object(kind), null] = kinds.as_slice()
        && null["type"] == "null"
    {
        let kind = kind.clone();
        schema.remove("anyOf");
        schema.extend(kind);
    }
}

impl Call<'_> {
    /// Adds what the summary has no room for.
    pub(crate) fn about(mut self, text: &str) -> Self {
        self.operation.insert("description".to_owned(), text.into());
        self
    }

    /// It needs one of these ways to sign in.
    pub(crate) fn by(mut self, names: &[&str]) -> Self {
        let names = names.iter().map(|name| json!({*name: []}));
        self.operation
            .insert("security".to_owned(), names.collect());
        self
    }

    /// Adds a parameter of the query.
    pub(crate) fn query<T: JsonSchema>(mut self, name: &str, about: &str) -> Self {
        let schema = self.description.generator.subschema_for::<T>();
        let parameter =
            json!({"name": name, "in": "query", "schema": schema, "description": about});
        self.parameters().push(parameter);
        self
    }

    /// Describes a parameter of the path, or adds a text that the query must have.
    pub(crate) fn needs(mut self, name: &str, about: &str) -> Self {
        let parameters = self.parameters();
        if !parameters.iter().any(|parameter| parameter["name"] == name) {
            parameters.push(json!({"name": name, "in": "query", "required": true, "schema": {"type": "string"}}));
        }
        let described = parameters
            .iter_mut()
            .filter(|parameter| parameter["name"] == name);
        described.for_each(|parameter| parameter["description"] = about.into());
        self
    }

    fn parameters(&mut self) -> &mut Vec<Value> {
        let parameters = self.operation.get_mut("parameters");
        parameters.and_then(Value::as_array_mut).unwrap()
    }

    /// Adds a header of the request.
    pub(crate) fn header<T: JsonSchema>(self, name: &str, about: &str) -> Self {
        let mut call = self.query::<T>(name, about);
        call.parameters().last_mut().unwrap()["in"] = "header".into();
        call
    }

    /// Its body may be of this media type.
    pub(crate) fn takes_as<T: JsonSchema>(mut self, media: &str) -> Self {
        let schema = self.description.reader.subschema_for::<T>();
        let body = self.operation.entry("requestBody");
        let body = body.or_insert_with(|| json!({"required": true}));
        body["content"][media] = json!({"schema": schema});
        self
    }

    /// Its body is JSON of this type.
    pub(crate) fn takes<T: JsonSchema>(self) -> Self {
        let schema = self.description.reader.subschema_for::<T>();
        self.takes_schema(&schema.to_value())
    }

    /// Its body is JSON of this schema.
    pub(crate) fn takes_schema(mut self, schema: &Value) -> Self {
        let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        self.operation.insert("requestBody".to_owned(), body);
        self
    }

    /// Succeeds with `{"code": N, "data": …}`.
    pub(crate) fn answers<T: JsonSchema>(self, status: u16, about: &str) -> Self {
        let data = self.description.generator.subschema_for::<T>();
        self.answers_schema(status, about, &data.to_value())
    }

    /// Succeeds with `{"code": N, "data": …}`, and data of this schema.
    pub(crate) fn answers_schema(self, status: u16, about: &str, data: &Value) -> Self {
        let schema = json!({
            "type": "object",
            "required": ["code", "data"],
            "properties": {"code": {"type": "integer", "const": status}, "data": data},
        });
        self.json(status, about, &schema)
    }

    /// Answers JSON of this type as it is.
    pub(crate) fn answers_bare<T: JsonSchema>(self, status: u16, about: &str) -> Self {
        let schema: Schema = self.description.generator.subschema_for::<T>();
        self.json(status, about, schema.as_value())
    }

    /// Answers JSON of this schema as it is.
    pub(crate) fn json(mut self, status: u16, about: &str, schema: &Value) -> Self {
        let content = json!({"application/json": {"schema": schema}});
        let response = json!({"description": about, "content": content});
        self.responses.insert(status.to_string(), response);
        self
    }

    /// Answers something other than JSON.
    pub(crate) fn gives(mut self, status: u16, about: &str) -> Self {
        let response = json!({"description": about});
        self.responses.insert(status.to_string(), response);
        self
    }

    /// The answer with this status may also be of this media type.
    pub(crate) fn or<T: JsonSchema>(mut self, status: u16, media: &str) -> Self {
        let schema = self.description.generator.subschema_for::<T>().to_value();
        let content = &mut self.responses[&status.to_string()]["content"][media];
        *content = match content["schema"].take() {
            Value::Null => json!({"schema": schema}),
            other => json!({"schema": {"anyOf": [other, schema]}}),
        };
        self
    }

    /// Fails with this status, which means this.
    pub(crate) fn refuses(self, status: u16, about: &str) -> Self {
        let failure = self.description.failure.clone();
        self.json(status, about, &failure)
    }

    /// Fails with these statuses.
    pub(crate) fn fails(mut self, statuses: &[u16]) -> Self {
        let known = &self.description.document["components"]["responses"];
        for status in statuses {
            let own = format!("E{status}");
            let kind = match status {
                _ if known.get(&own).is_some() => &own,
                429 | 503 => "TooMany",
                _ => "Error",
            };
            let response = json!({"$ref": format!("#/components/responses/{kind}")});
            self.responses.insert(status.to_string(), response);
        }
        self
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut operation = std::mem::take(&mut self.operation);
        let responses = std::mem::take(&mut self.responses);
        operation.insert("responses".to_owned(), responses.into());
        let paths = &mut self.description.paths;
        let of_path = paths.entry(self.path).or_insert_with(|| json!({}));
        of_path[self.method] = operation.into();
    }
}
