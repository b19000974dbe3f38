//! Writes the descriptions of the APIs: OpenAPI 3.1 (<https://spec.openapis.org/oas/v3.1.0>), from types and routes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use schemars::generate::{SchemaGenerator, SchemaSettings};
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
    /// Reason of a refused quick-setup: the connector has reached its limit of applications (`quota`), no public port is
    /// free (`no_port`), the relay is full (`full`), or its shared store is unavailable (`store_away`).
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

/// A description that grows by its routes.
pub(crate) struct Description {
    generator: SchemaGenerator,
    document: Map<String, Value>,
    paths: Map<String, Value>,
    /// Of the types of requests, if these are made another way.
    requests: Option<SchemaGenerator>,
    /// Names of the responses to failures, by status.
    failures: BTreeMap<u16, &'static str>,
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
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        // Readers have defaults; an answer has every member.
        let without_default = |schema: &mut Schema| drop(schema.remove("default"));
        settings
            .transforms
            .push(Box::new(RecursiveTransform(without_default)));
        let mut generator = settings.into_generator();
        let failure = generator.subschema_for::<Failure>();
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
            document,
            paths: Map::new(),
            requests: None,
            failures: BTreeMap::new(),
        }
    }

    /// Its answers have no members that are not described, its requests may leave out what is optional, with defaults, and
    /// its failures are those of [`Self::failure`].
    pub(crate) fn strict(mut self) -> Self {
        let mut settings = self.generator.settings().clone();
        settings.transforms.clear();
        self.requests = Some(settings.clone().for_deserialize().into_generator());
        self.generator = settings.into_generator();
        self.document["components"]["responses"] = json!({});
        self
    }

    /// Describes failed calls with these statuses, all as `T`.
    pub(crate) fn failure<T: JsonSchema>(
        &mut self,
        statuses: &[u16],
        name: &'static str,
        about: &str,
    ) {
        let content = json!({"application/json": {"schema": self.generator.subschema_for::<T>()}});
        self.document["components"]["responses"][name] =
            json!({"description": about, "content": content});
        let named = statuses.iter().map(|status| (*status, name));
        self.failures.extend(named);
    }

    /// Describes a call, named `id`.
    pub(crate) fn call(
        &mut self,
        method: &'static str,
        path: &'static str,
        (id, summary): (&str, &str),
    ) -> Call<'_> {
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

    /// Compares it with the file below the package's root; `POSTERN_BLESS=1` writes that.
    pub(crate) fn compare(mut self, file: &str) {
        let mut schemas = Value::Object(self.generator.take_definitions(true));
        let mut paths = Value::Object(self.paths);
        if let Some(mut requests) = self.requests {
            close(&mut schemas);
            close(&mut paths);
            let of_requests = requests.take_definitions(true);
            schemas.as_object_mut().unwrap().extend(of_requests);
        }
        self.document["components"]["schemas"] = schemas;
        self.document.insert("paths".to_owned(), paths);
        let document = Value::Object(self.document.clone());
        check(&document, &document, &mut BTreeSet::new());
        let now = serde_json::to_string_pretty(&self.document).unwrap() + "\n";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        if std::env::var_os("POSTERN_BLESS").is_some_and(|value| !value.is_empty()) {
            std::fs::write(&path, &now).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        assert!(now == kept, "{file}: POSTERN_BLESS=1 writes it");
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
        let parameters = self.operation.get_mut("parameters");
        let parameters = parameters.and_then(Value::as_array_mut).unwrap();
        parameters.push(parameter);
        self
    }

    /// Its body is JSON of this type.
    pub(crate) fn takes<T: JsonSchema>(self) -> Self {
        self.takes_as::<T>("application/json")
    }

    /// Succeeds with `{"code": N, "data": …}`.
    pub(crate) fn answers<T: JsonSchema>(self, status: u16, about: &str) -> Self {
        let data = self.description.generator.subschema_for::<T>();
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

    fn json(mut self, status: u16, about: &str, schema: &Value) -> Self {
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

    /// Fails with these statuses.
    pub(crate) fn fails(mut self, statuses: &[u16]) -> Self {
        for status in statuses {
            let kind = self.description.failures.get(status);
            let kind = kind.copied().unwrap_or(match status {
                429 | 503 => "TooMany",
                _ => "Error",
            });
            self = self.fails_as(&[*status], kind);
        }
        self
    }

    /// Fails with these statuses, described under one name.
    pub(crate) fn fails_as(mut self, statuses: &[u16], name: &str) -> Self {
        for status in statuses {
            let response = json!({"$ref": format!("#/components/responses/{name}")});
            self.responses.insert(status.to_string(), response);
        }
        self
    }

    /// Says of a part of the path what it is.
    pub(crate) fn path(mut self, name: &str, about: &str) -> Self {
        let of_name = |one: &&mut Value| one["name"] == name;
        let parameter = self.parameters().iter_mut().find(of_name).unwrap();
        parameter["description"] = about.into();
        self
    }

    /// Adds a header of the request.
    pub(crate) fn header<T: JsonSchema>(self, name: &str, about: &str) -> Self {
        let mut call = self.query::<T>(name, about);
        call.parameters().last_mut().unwrap()["in"] = "header".into();
        call
    }

    /// The parameter that was added last must be there.
    pub(crate) fn required(mut self) -> Self {
        self.parameters().last_mut().unwrap()["required"] = true.into();
        self
    }

    fn parameters(&mut self) -> &mut Vec<Value> {
        let parameters = self.operation.get_mut("parameters");
        parameters.and_then(Value::as_array_mut).unwrap()
    }

    /// Its body may also be of this media type.
    pub(crate) fn takes_as<T: JsonSchema>(mut self, media: &str) -> Self {
        let requests = self.description.requests.as_mut();
        let generator = requests.unwrap_or(&mut self.description.generator);
        let schema = generator.subschema_for::<T>();
        let body = self
            .operation
            .entry("requestBody")
            .or_insert_with(|| json!({"required": true}));
        body["content"][media] = json!({"schema": schema});
        self
    }

    /// The answer with this status may also be of this media type.
    pub(crate) fn or<T: JsonSchema>(mut self, status: u16, media: &str) -> Self {
        let schema: Value = self.description.generator.subschema_for::<T>().into();
        let content = &mut self.responses[&status.to_string()]["content"][media];
        *content = match content["schema"].take() {
            Value::Null => json!({"schema": schema}),
            other => json!({"schema": {"anyOf": [other, schema]}}),
        };
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

/// Objects whose members are described have no others, and none that is null in place of absent.
fn close(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            let required = members.get("required").cloned().unwrap_or_default();
            let is_object = members.get("type").is_some_and(|kind| kind == "object");
            if let Some(Value::Object(properties)) = members.get_mut("properties")
                && is_object
            {
                let is_there = |name: &str| {
                    required
                        .as_array()
                        .is_some_and(|all| all.contains(&name.into()))
                };
                let optional = properties.iter_mut().filter(|(name, _)| !is_there(name));
                optional.for_each(|(_, property)| without_null(property));
                members
                    .entry("additionalProperties")
                    .or_insert(false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Takes null out of the type of a member.
fn without_null(property: &mut Value) {
    let members = property.as_object_mut().unwrap();
    if let Some(Value::Array(kinds)) = members.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        members["type"] = kinds.swap_remove(0);
    } else if let Some(Value::Array(kinds)) = members.get("anyOf")
        && let [Value::Object(kind), null] = kinds.as_slice()
        && null["type"] == "null"
    {
        let kind = kind.clone();
        members.remove("anyOf");
        members.extend(kind);
    }
}

/// Each reference leads somewhere, and no two calls have one name.
fn check(document: &Value, value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                let target = document.pointer(reference.trim_start_matches('#'));
                assert!(target.is_some(), "{reference} leads nowhere");
            }
            if let Some(Value::String(name)) = members.get("operationId") {
                assert!(names.insert(name.clone()), "{name} is there twice");
            }
            for member in members.values() {
                check(document, member, names);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| check(document, item, names)),
        _ => {}
    }
}
