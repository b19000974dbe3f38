//! Reads a request's JSON body field by field, so that an error names every field that is wrong.

use serde_json::{Map, Value};

use crate::http::Request;
use crate::sqlweb::error::ApiError;
use crate::sqlweb::query::TimeZone;

/// The members of a JSON body and what was wrong with those read so far.
pub(crate) struct Fields {
    members: Map<String, Value>,
    /// Names of the members that were looked for.
    known: Vec<String>,
    wrong: Vec<String>,
}

impl Fields {
    /// The body of `request`, which must be a JSON object.
    pub(crate) fn of(request: &Request) -> Result<Self, ApiError> {
        match request.json::<Value>()? {
            Value::Object(members) => Ok(Self::from_members(members)),
            _ => Err(ApiError::bad_request("the body must be a JSON object")),
        }
    }

    /// Members from elsewhere, such as a query.
    pub(crate) fn from_members(members: Map<String, Value>) -> Self {
        Self {
            members,
            known: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Removes a member of any kind and returns it.
    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.members.remove(name)
    }

    fn member(&mut self, name: &str) -> Option<&Value> {
        self.known.push(name.to_owned());
        self.members.get(name)
    }

    /// A required text, which must not be empty.
    pub(crate) fn required(&mut self, name: &str) -> String {
        match self.text(name) {
            Some(text) if !text.is_empty() => return text,
            Some(_) => self.refuse_once(name, "must not be empty"),
            None => self.refuse_once(name, "is missing"),
        }
        String::new()
    }

    /// An optional text; `None` if it is absent, null or empty.
    pub(crate) fn optional(&mut self, name: &str) -> Option<String> {
        self.text(name).filter(|text| !text.is_empty())
    }

    /// A text that may be empty; `None` if it is absent or null. Servers cut off only some names at a NUL, so no text
    /// may contain one.
    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        match self.member(name) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if text.contains('\0') => {
                self.wrong
                    .push(format!("'{name}' must not contain a NUL character"));
                None
            }
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                self.wrong.push(format!("'{name}' must be a string"));
                None
            }
        }
    }

    /// An optional text with a longest length in bytes.
    pub(crate) fn short(&mut self, name: &str, most: usize) -> Option<String> {
        let text = self.optional(name)?;
        if text.len() > most {
            self.wrong
                .push(format!("'{name}' must have at most {most} bytes"));
            return None;
        }
        Some(text)
    }

    /// An optional offset from UTC.
    pub(crate) fn time_zone(&mut self, name: &str) -> Option<TimeZone> {
        let text = self.optional(name)?;
        let zone = TimeZone::offset(&text);
        if zone.is_none() {
            self.wrong.push(format!(
                "'{name}' must be an offset from UTC between -13:59 and +14:00, such as +02:00"
            ));
        }
        zone
    }

    /// A whole number of 0 or more; `None` if it is absent or null.
    pub(crate) fn count(&mut self, name: &str) -> Option<u64> {
        match self.member(name) {
            None | Some(Value::Null) => None,
            Some(value) => {
                let count = value.as_u64();
                if count.is_none() {
                    self.wrong
                        .push(format!("'{name}' must be a whole number of 0 or more"));
                }
                count
            }
        }
    }

    /// A list of texts; empty if it is absent or null.
    pub(crate) fn names(&mut self, name: &str) -> Vec<String> {
        let listed = match self.member(name) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(listed)) => listed.as_slice(),
            Some(_) => &[Value::Null],
        };
        let texts = listed.iter().map(|one| one.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().unwrap_or_else(|| {
            self.wrong
                .push(format!("'{name}' must be a list of strings"));
            Vec::new()
        })
    }

    /// True or false; `default` if it is absent or null.
    pub(crate) fn flag(&mut self, name: &str, default: bool) -> bool {
        match self.member(name) {
            None | Some(Value::Null) => default,
            Some(Value::Bool(value)) => *value,
            Some(_) => {
                self.wrong.push(format!("'{name}' must be true or false"));
                default
            }
        }
    }

    /// Records as wrong every member that was not looked for.
    pub(crate) fn refuse_others(&mut self) {
        let names = self.members.keys();
        let others = names.filter(|name| !self.known.contains(name));
        let told = others.map(|name| format!("'{name}' is not a known field"));
        self.wrong.extend(told);
    }

    /// Records an error in a sentence of its own.
    pub(crate) fn refuse(&mut self, what: &str) {
        self.wrong.push(what.to_owned());
    }

    /// Records an error of the field `name`, unless it already has one.
    pub(crate) fn refuse_once(&mut self, name: &str, what: &str) {
        let field = format!("'{name}'");
        if !self.wrong.iter().any(|wrong| wrong.starts_with(&field)) {
            self.wrong.push(format!("{field} {what}"));
        }
    }

    /// Fails with status 400 and all recorded errors, if any.
    pub(crate) fn done(self) -> Result<(), ApiError> {
        if self.wrong.is_empty() {
            Ok(())
        } else {
            Err(ApiError::bad_request(self.wrong.join("; ")))
        }
    }
}
