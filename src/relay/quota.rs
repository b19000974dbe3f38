//! Limits for one connector of a relay.

/// The rules for each connector alike; what is none is not limited by the operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    /// Applications, beside the hundred that one has at most.
    pub sites: Option<usize>,
    /// Megabits (1,000,000 bits) a second that pass through its tunnels, both ways together.
    pub mbps: Option<u32>,
}

impl Quota {
    /// Bytes a second that pass through its tunnels.
    pub(super) fn bytes_per_second(self) -> Option<u64> {
        self.mbps.map(|mbps| u64::from(mbps) * 1_000_000 / 8)
    }
}
