//! Audit files of an application: requests and statements, one per line.

use std::sync::Arc;

use serde::Serialize;

use super::apps::app::AppConfig;
use crate::http::{Numbered, Record, Sink};
use crate::store::{AuditFiles, AuditSets};

/// The files, for one application.
pub(super) struct AppAudit {
    files: Arc<AuditFiles>,
    id: String,
    name: String,
}

#[derive(Serialize)]
struct Line<'a, T> {
    what: &'static str,
    application: &'a str,
    name: &'a str,
    #[serde(flatten)]
    record: &'a T,
}

impl AppAudit {
    /// That of `app`; none where its owner did not ask for it.
    pub(super) fn of(app: &AppConfig, files: &AuditSets) -> Option<Arc<Self>> {
        app.audit.then(|| {
            Arc::new(Self {
                files: files.of(&app.id),
                id: app.id.clone(),
                name: app.name.clone(),
            })
        })
    }
}

impl<R: Record + Serialize> Sink<R> for AppAudit {
    fn write(&self, record: &Numbered<R>) {
        self.files.write(&Line {
            what: R::NAME,
            application: &self.id,
            name: &self.name,
            record,
        });
    }
}
