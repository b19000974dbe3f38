//! Audit files of an application: requests and statements, one per line.

use std::sync::Arc;

use serde::Serialize;

use super::apps::app::AppConfig;
use super::visits::{RequestRecord, RequestSink};
use crate::plugin::{StatementRecord, StatementSink};
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
        app.sharing.audit.then(|| {
            Arc::new(Self {
                files: files.of(&app.id),
                id: app.id.clone(),
                name: app.name.clone(),
            })
        })
    }

    fn write(&self, what: &'static str, record: &impl Serialize) {
        self.files.write(&Line {
            what,
            application: &self.id,
            name: &self.name,
            record,
        });
    }
}

impl RequestSink for AppAudit {
    fn request(&self, record: &RequestRecord) {
        self.write("request", record);
    }
}

impl StatementSink for AppAudit {
    fn statement(&self, record: &StatementRecord) {
        self.write("statement", record);
    }
}
