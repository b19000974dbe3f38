//! One channel: its stage, what may be sent on it, and its messages.

use super::config;
use super::error::Error;
use super::names::msg;
use super::output::Output;
use super::window::Window;

/// A channel of either side.
pub(super) struct Channel {
    pub(super) stage: ChannelStage,
    /// The peer's number for it.
    pub(super) remote: u32,
    /// Bytes that may still be sent.
    pub(super) send_window: u32,
    /// Bytes of data in one packet to the peer.
    pub(super) max_data: usize,
    /// Bytes in the bulk queue.
    pub(super) queued: usize,
    pub(super) wait: WriteWait,
    pub(super) receive: Window,
    pub(super) eof_sent: bool,
    pub(super) close_sent: bool,
    pub(super) close_received: bool,
    /// This side has called `close`.
    pub(super) released: bool,
}

/// Stage of opening a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChannelStage {
    /// Opened by this side, and not confirmed yet.
    Opening,
    /// Opened by the peer, and not accepted yet.
    Offered,
    Open,
}

/// Reason that the last write was cut short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteWait {
    No,
    /// The peer's window is empty.
    Window,
    /// The output is full.
    Queue,
    /// The output was full, and the channel has been named writable since.
    Woken,
}

impl Channel {
    pub(super) fn new(stage: ChannelStage, receive: Window) -> Self {
        Self {
            stage,
            remote: 0,
            send_window: 0,
            max_data: 0,
            queued: 0,
            wait: WriteWait::No,
            receive,
            eof_sent: false,
            close_sent: false,
            close_received: false,
            released: false,
        }
    }

    /// Notes the peer's number, window and limit.
    pub(super) fn set_remote(
        &mut self,
        remote: u32,
        window: u32,
        max_data: u32,
    ) -> Result<(), Error> {
        if max_data == 0 {
            return Err(Error::Protocol("a channel takes packets of zero bytes"));
        }
        self.remote = remote;
        self.send_window = window;
        let max_data = usize::try_from(max_data).unwrap_or(usize::MAX);
        self.max_data = max_data.min(config::MAX_DATA);
        Ok(())
    }

    /// True if the peer may send data, EOF and CLOSE.
    pub(super) fn receives(&self) -> bool {
        self.stage == ChannelStage::Open && !self.close_received
    }

    pub(super) fn is_writable(&self) -> bool {
        self.stage == ChannelStage::Open
            && !self.eof_sent
            && !self.close_sent
            && !self.close_received
    }

    /// The next packet's data; none when there is none or the window is empty.
    pub(super) fn piece<'a>(&self, rest: &'a [u8]) -> Option<&'a [u8]> {
        let window = usize::try_from(self.send_window).unwrap_or(usize::MAX);
        let size = rest.len().min(self.max_data).min(window);
        rest.get(..size).filter(|piece| !piece.is_empty())
    }

    /// Queues one packet of a write of `whole` bytes, if there is room for it.
    pub(super) fn send(
        &mut self,
        id: u32,
        piece: &[u8],
        whole: usize,
        quantum: usize,
        out: &mut Output,
    ) -> bool {
        let head = self.data_head(piece.len());
        // Never ahead of this channel's own bulk data.
        let small = whole <= config::INTERACTIVE && self.queued == 0;
        if !(small && out.interactive(&head, piece)) {
            let room = config::BULK_QUEUE_OF_ONE.saturating_sub(self.queued);
            if piece.len() > room.min(out.bulk_room()).min(quantum) {
                return false;
            }
            self.queued += out.bulk(id, &[&head, piece]);
        }
        let size = u32::try_from(piece.len()).expect("a packet's data is capped");
        self.send_window = self.send_window.saturating_sub(size);
        true
    }

    /// RFC 4254 §5.2.
    fn data_head(&self, size: usize) -> [u8; 9] {
        let [a, b, c, d] = self.remote.to_be_bytes();
        let size = u32::try_from(size).expect("a packet's data is capped");
        let [e, f, g, h] = size.to_be_bytes();
        [msg::CHANNEL_DATA, a, b, c, d, e, f, g, h]
    }

    pub(super) fn send_close(&mut self, id: u32, out: &mut Output) {
        if !std::mem::replace(&mut self.close_sent, true) {
            self.send_last(id, msg::CHANNEL_CLOSE, out);
        }
    }

    /// Queues EOF or CLOSE behind this channel's data.
    pub(super) fn send_last(&mut self, id: u32, kind: u8, out: &mut Output) {
        let [a, b, c, d] = self.remote.to_be_bytes();
        let message = [kind, a, b, c, d];
        if self.queued > 0 {
            self.queued += out.bulk(id, &[&message]);
        } else {
            out.urgent(&[&message]);
        }
    }
}
