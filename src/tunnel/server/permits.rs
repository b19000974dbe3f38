//! Permits for the streams of public ports: anybody may connect there, and stay.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::http::source as source_of;
use crate::sync::Mutex;

/// Visitors of all public ports. Default 4096, a descriptor each, and a thread while one has much
/// to send; fewer where this process may not open so many files.
pub(super) const MAX_VISITORS: usize = crate::limits::PORT_VISITORS;
/// Which part of all permits the visitors of one holder's ports may have: others have ports too.
/// Default a half.
const SHARE_OF_HOLDER: usize = crate::limits::PORTS_OF_ONE;
/// Which part of all permits one source (an IPv4 address, an IPv6 /64) may have, loopback exempt.
/// Default a quarter: a proxy has many visitors.
const SHARE_OF_SOURCE: usize = crate::limits::PORTS_OF_SOURCE;

/// All permits.
#[derive(Clone)]
pub(super) struct StreamPermits {
    most: usize,
    taken: Arc<Mutex<TakenCounts>>,
}

#[derive(Default)]
struct TakenCounts {
    all: usize,
    of_holders: BTreeMap<String, usize>,
    of_sources: BTreeMap<IpAddr, usize>,
}

/// The permit of one visitor's stream; dropping it gives it back.
pub(super) struct StreamPermit {
    permits: StreamPermits,
    holder: String,
    source: IpAddr,
}

impl StreamPermits {
    /// At most `most`.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            taken: Arc::default(),
        }
    }

    /// A permit for a visitor from `address` at a port of `holder`; none where there are too many.
    pub(super) fn take(&self, holder: &str, address: IpAddr) -> Option<StreamPermit> {
        let source = source_of(address);
        let mut taken = self.taken.lock();
        let of_holder = taken.of_holders.get(holder).copied().unwrap_or_default();
        let of_source = taken.of_sources.get(&source).copied().unwrap_or_default();
        let crowded = !source.is_loopback() && of_source >= self.most / SHARE_OF_SOURCE;
        if taken.all >= self.most || of_holder >= self.most / SHARE_OF_HOLDER || crowded {
            return None;
        }
        taken.all += 1;
        taken.of_holders.insert(holder.to_owned(), of_holder + 1);
        taken.of_sources.insert(source, of_source + 1);
        Some(StreamPermit {
            permits: self.clone(),
            holder: holder.to_owned(),
            source,
        })
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut taken = self.permits.taken.lock();
        taken.all -= 1;
        count_down(&mut taken.of_holders, &self.holder);
        count_down(&mut taken.of_sources, &self.source);
    }
}

/// Removes counts that have come to nothing.
fn count_down<K: Ord>(counts: &mut BTreeMap<K, usize>, key: &K) {
    if let Some(count) = counts.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Idle visitors of one port took all descriptors of the process: its sites were gone too.
    #[test]
    fn neither_a_holder_nor_a_source_takes_every_permit() {
        let permits = StreamPermits::new(16);
        let take = |holder: &str, address: &str, count: usize| -> Vec<StreamPermit> {
            let address = address.parse().unwrap();
            let taken = (0..count).filter_map(|_| permits.take(holder, address));
            taken.collect()
        };
        let one_source = take("a", "192.0.2.1", 16);
        assert_eq!(one_source.len(), 4);
        let one_holder = take("a", "127.0.0.1", 16);
        assert_eq!(one_holder.len(), 4, "half of all with the four before");
        assert_eq!(take("b", "192.0.2.1", 1).len(), 0);
        let others = take("b", "127.0.0.1", 16);
        assert_eq!(others.len(), 8);
        assert_eq!(take("c", "192.0.2.2", 1).len(), 0, "all are taken");
        drop((one_source, one_holder, others));
        let taken = permits.taken.lock();
        assert!(taken.all == 0 && taken.of_holders.is_empty() && taken.of_sources.is_empty());
    }
}
