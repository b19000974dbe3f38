//! Writes the descriptions of the APIs: OpenAPI 3.1 (<https://spec.openapis.org/oas/v3.1.0>), from types and routes.

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
        }
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
        let schemas = self.generator.take_definitions(true);
        self.document["components"]["schemas"] = Value::Object(schemas);
        self.document.insert("paths".to_owned(), self.paths.into());
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
    pub(crate) fn takes<T: JsonSchema>(mut self) -> Self {
        let schema = self.description.generator.subschema_for::<T>();
        let body = json!({"required": true, "content": {"application/json": {"schema": schema}}});
        self.operation.insert("requestBody".to_owned(), body);
        self
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
            let kind = match status {
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
