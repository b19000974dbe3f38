//! Whose process holds a socket, as far as the kernel tells.

/// The peer's user, as far as the kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// A process of this user holds the socket.
    User(u32),
    /// No process holds it any more (the kernel then lists user 0, which says nothing), or it
    /// is not connected yet: then it is not the one that was accepted, but a later one of the
    /// same port.
    Orphan,
}

impl Owner {
    /// From what the kernel says of a socket.
    pub(super) fn of(state: u8, uid: u32, inode: u64) -> Owner {
        /// `TCP_SYN_SENT` (net/tcp_states.h).
        const CONNECTING: u8 = 2;
        if inode == 0 || state == CONNECTING {
            Owner::Orphan
        } else {
            Owner::User(uid)
        }
    }
}
