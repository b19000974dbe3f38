//! How many streams to targets the tunnels of this process may have open: a server opens as many as it likes, and a
//! process without open files left answers nobody, its own user least of all.

use std::sync::{LazyLock, OnceLock};

use crate::http::server::raise_open_files;
use crate::sync::{Permit, Permits};

/// Streams of all tunnels. Default 8192, an open file each; fewer where this process may not open so many.
const MOST: usize = crate::limits::STREAMS;
/// Open files that are left for the rest of the program. Default 128: pages, databases, the tunnels themselves.
const RESERVED: usize = 128;
/// Which part of the other open files streams may have. Default a half: pages and web clients have connections too.
const PART: usize = 2;
/// Streams that there is room for whatever the limit is.
const LEAST: usize = 16;
/// Which part of all streams one tunnel may have: another one's visitors must get in too. Default a half.
const SHARE_OF_TUNNEL: usize = crate::limits::STREAMS_OF_TUNNEL;

/// Open files of a stream that is served in this process: its waker, and the connection to the application.
const FILES_SERVED: usize = 2;
/// Such streams of one tunnel. Default 2048: a thread have those alone that are at work.
const MOST_SERVED: usize = crate::limits::STREAMS_OF_SITE;

/// Streams that are open.
static OPEN: LazyLock<Permits> = LazyLock::new(Permits::default);
/// How many there may be.
static ROOM: OnceLock<usize> = OnceLock::new();

/// Room for one stream of a tunnel that has `of_tunnel`, and may have `wanted` where that was said; none where that, or
/// the process, has too many. One that `is_served` in this process has the open files of two.
pub(super) fn permit(
    of_tunnel: u64,
    wanted: Option<u64>,
    is_served: bool,
) -> Option<[Option<Permit>; FILES_SERVED]> {
    if wanted.is_some_and(|wanted| of_tunnel >= wanted) {
        return None;
    }
    let room = *ROOM.get_or_init(|| within(raise_open_files(RESERVED + MOST * PART)));
    let share = room / SHARE_OF_TUNNEL;
    let most = if is_served {
        (share / FILES_SERVED).min(MOST_SERVED)
    } else {
        share
    };
    if usize::try_from(of_tunnel).map_or(true, |count| count >= most) {
        return None;
    }
    let first = OPEN.take(room)?;
    if !is_served {
        return Some([Some(first), None]);
    }
    Some([Some(first), Some(OPEN.take(room)?)])
}

/// Streams that a limit of so many open files leaves room for.
fn within(files: usize) -> usize {
    (files.saturating_sub(RESERVED) / PART).clamp(LEAST, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_low_limit_leaves_room_for_the_rest() {
        assert_eq!(within(RESERVED + 2 * MOST), MOST);
        assert_eq!(within(100_000), MOST);
        assert_eq!(within(1024), 448);
        assert_eq!(within(256), 64);
        assert_eq!(within(0), LEAST);
    }
}
