//! One stream of an application's tunnel, a request at a time.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::task::Waker;
use std::time::SystemTime;

use super::site_gateway::SiteGateway;
use super::stream_client::{HeadNow, StreamClient};
use crate::gateway::VisitorConnection;
use crate::http::ApiError;
use crate::http::Response;
use crate::http::h1::Refusal;
use crate::http::h1::head::Head;
use crate::http::proxy::Client;
use crate::http::server::connection_handler::{After, ConnectionHandler, Progress};
use crate::http::server::{Next, response_bytes};
use crate::http::socket::would_block;
use crate::manager::visits::Presence;
use crate::tunnel::client::StreamThreads;
use crate::tunnel::server::LocalStream;

/// One stream.
pub(super) struct StreamConnection {
    gateway: Arc<SiteGateway>,
    client: StreamClient,
    handler: VisitorConnection,
    presence: Option<Presence>,
}

/// With what a thread begins.
pub(super) enum Work {
    /// A request is to be read.
    Read,
    /// A request is to be served.
    Serve(Head),
    /// The request that was begun is to be ended.
    Finish,
    /// The last answer is sent.
    End(After),
}

// On a thread of its own.
impl StreamConnection {
    pub(super) fn new(gateway: &Arc<SiteGateway>, stream: LocalStream) -> StreamConnection {
        StreamConnection {
            gateway: Arc::clone(gateway),
            client: StreamClient::new(stream),
            handler: VisitorConnection::beside(&gateway.state),
            presence: None,
        }
    }

    /// Serves it until it ends; given back where it waits for its next request, of which nothing is there.
    pub(super) fn run(mut self, mut work: Work) -> Option<StreamConnection> {
        loop {
            let after = match work {
                Work::Read => match self.client.read_head() {
                    Ok(Some(head)) => self.serve(&head),
                    Ok(None) => return None,
                    Err(refusal) => self.refuse(refusal),
                },
                Work::Serve(head) => self.serve(&head),
                Work::Finish => self.handler.finish(&mut self.client),
                Work::End(after) => after,
            };
            match after {
                After::Keep if self.client.inbox().is_empty() => return Some(self),
                After::Keep => work = Work::Read,
                After::Close => {
                    self.client.finish();
                    return None;
                }
                After::Reset | After::Drop => return None,
            }
        }
    }

    /// Wakes `waker` from now on when there is something to read, and waits for nothing; see [`LocalStream::defer`].
    pub(super) fn defer(&mut self, waker: Option<Waker>) -> bool {
        self.client.defer(waker)
    }

    fn serve(&mut self, head: &Head) -> After {
        if head.headers.only("host").is_err() {
            return self.refuse(Refusal::new(400, "more than one Host"));
        }
        self.note_visitor(head);
        self.handler.serve(head, &mut self.client)
    }

    /// Refuses a request that cannot be passed on.
    fn refuse(&mut self, refusal: Refusal) -> After {
        let page = Response::error(&ApiError::from(refusal));
        match self.client.write_all(&response_bytes(page, false, true)) {
            Ok(()) => After::Close,
            Err(_) => After::Drop,
        }
    }

    /// The visitor is here from the first request on.
    fn note_visitor(&mut self, head: &Head) {
        let visits = &self.gateway.visits;
        let source = self.gateway.source(head);
        self.presence
            .get_or_insert_with(|| Presence::new(visits, source))
            .is_of(source);
        visits.asks(SystemTime::now());
    }
}

// Without a thread.
impl StreamConnection {
    /// Reads the next request and begins with it, as far as that goes without waiting.
    pub(super) fn read_now(&mut self) -> Next<Work> {
        let head = match self.client.head_now() {
            HeadNow::Whole(head) => head,
            HeadNow::Part => return Next::Needs(Work::Read),
            HeadNow::Nothing => return Next::Unchanged,
            HeadNow::End => return Next::Gone,
        };
        if head.headers.only("host").is_err() {
            return Next::Needs(Work::Serve(head));
        }
        self.note_visitor(&head);
        match self.handler.begin(head, &mut self.client) {
            Ok(progress) => self.after(progress),
            Err(head) => Next::Needs(Work::Serve(head)),
        }
    }

    /// Goes on with what was begun: the application has something to tell.
    pub(super) fn go_on(&mut self) -> Next<Work> {
        let progress = self.handler.go_on(&mut self.client);
        self.after(progress)
    }

    fn after(&mut self, progress: Progress) -> Next<Work> {
        match progress {
            Progress::Idle => Next::Unchanged,
            // Only one that was found to say nothing wakes its waker.
            Progress::Waits if would_block(&self.client.receive(1)) => Next::Waits,
            Progress::Waits | Progress::NeedsThread => Next::Needs(Work::Finish),
            // The next request may be there already.
            Progress::Done(After::Keep) => match self.read_now() {
                Next::Unchanged => Next::Idle,
                next => next,
            },
            Progress::Done(after) => Next::Needs(Work::End(after)),
        }
    }

    /// The kept connection has something to tell although nothing was asked.
    pub(super) fn check_kept(&mut self) {
        self.handler.check_upstream();
    }

    /// The connection to the application.
    pub(super) fn upstream(&self) -> Option<BorrowedFd<'_>> {
        self.handler.upstream()
    }

    pub(super) fn flush(&mut self) {
        self.client.flush();
    }

    pub(super) fn threads(&self) -> StreamThreads {
        self.client.threads()
    }
}
