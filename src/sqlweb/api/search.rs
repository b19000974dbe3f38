//! `GET /api/search`.

use std::sync::Arc;
use std::time::SystemTime;

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{Request, Response};
use crate::limits::{SEARCH_MATCHES, SEARCH_TEXT};
use crate::sqlweb::error::ApiError;
use crate::sqlweb::search::{Kind, Match, Missing, Query, Wanted};
use crate::sqlweb::service::Service;
use crate::sqlweb::visitors::RequestSender;
use crate::store::time::serialize_rfc3339;

/// Matches that are listed unless another number is asked for.
const LIMIT: usize = 50;

/// Result of a search.
#[derive(Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct SearchAnswer<'a> {
    /// The best matches, best first.
    matches: Vec<Match<'a>>,
    /// Number of all matches.
    total: usize,
    /// True if `limit` cut the list.
    truncated: bool,
    /// Parts that are not searched, at most 500.
    missing: &'a [Missing],
    /// Time at which names and comments began to be read.
    #[serde(serialize_with = "serialize_rfc3339")]
    #[cfg_attr(test, schemars(with = "String"))]
    loaded_at: SystemTime,
}

/// Parameters of a search.
struct Asked {
    text: String,
    kind: Option<Kind>,
    db: Option<String>,
    near: Option<String>,
    limit: usize,
    refresh: bool,
}

/// Answers from memory, once the catalogue is there.
pub(super) fn search(service: &Arc<Service>, request: Request) {
    let asked = match asked(&request) {
        Ok(asked) => asked,
        Err(error) => return request.respond(Response::error(&error)),
    };
    let shared = service.clone();
    service.spawn(request, move |request| {
        let response = answer(&shared, &request, &asked);
        request.respond(response.unwrap_or_else(|error| Response::error(&error)));
    });
}

fn answer(service: &Arc<Service>, request: &Request, asked: &Asked) -> Result<Response, ApiError> {
    let wanted = Wanted {
        client: request.client(),
        is_visitor: service.has_guest() || service.visitors.source(request) != RequestSender::Here,
        refresh: asked.refresh,
    };
    let catalogue = service.search.catalogue(service, &wanted)?;
    if let Some(db) = &asked.db {
        let unknown = || {
            let text = format!(
                "database '{db}' is unknown, or the account does not see it; refresh=1 reads the list again"
            );
            ApiError::new(404, text)
        };
        catalogue.index.database(db).ok_or_else(unknown)?;
    }
    let found = catalogue.index.find(&Query {
        text: &asked.text,
        kind: asked.kind,
        db: asked.db.as_deref(),
        near: asked.near.as_deref(),
        limit: asked.limit,
    });
    Ok(Response::ok(SearchAnswer {
        truncated: found.total > found.matches.len(),
        total: found.total,
        matches: found.matches,
        missing: &catalogue.missing,
        loaded_at: catalogue.loaded_at,
    }))
}

fn asked(request: &Request) -> Result<Asked, ApiError> {
    let given = |name: &str| request.query(name).filter(|value| !value.is_empty());
    let mut wrong = Vec::new();
    let text = given("q").unwrap_or_default();
    if text.chars().count() > SEARCH_TEXT {
        wrong.push(format!("'q' must have at most {SEARCH_TEXT} characters"));
    }
    let kind = given("kind").and_then(|name| {
        let known = Kind::NAMES.iter().find(|(known, _)| *known == name);
        if known.is_none() {
            let all: Vec<&str> = Kind::NAMES.iter().map(|(name, _)| *name).collect();
            wrong.push(format!("'kind' must be one of {}", all.join(", ")));
        }
        known.map(|(_, kind)| *kind)
    });
    let limit = given("limit").map_or(Some(LIMIT), |limit| limit.parse().ok());
    let limit = limit.filter(|limit| (1..=SEARCH_MATCHES).contains(limit));
    if limit.is_none() {
        wrong.push(format!(
            "'limit' must be a whole number from 1 to {SEARCH_MATCHES}"
        ));
    }
    let refresh = given("refresh");
    if !matches!(refresh, None | Some("0" | "1")) {
        wrong.push("'refresh' must be 0 or 1".into());
    }
    match limit {
        Some(limit) if wrong.is_empty() => Ok(Asked {
            text: text.to_owned(),
            kind,
            db: given("db").map(str::to_owned),
            near: given("near").map(str::to_owned),
            limit,
            refresh: refresh == Some("1"),
        }),
        _ => Err(ApiError::bad_request(wrong.join("; "))),
    }
}
