//! What threads share: locks without poison, permits, values that are copied when they are changed, a thread that
//! looks, how much they may log, and how much memory there is.

mod changes;
mod copy_on_write;
mod counted_map;
mod lock;
mod log_limiter;
mod lookout;
mod memory;
mod permit;
mod spawn;

pub(crate) use changes::Changes;
pub(crate) use copy_on_write::CopyOnWrite;
pub(crate) use counted_map::CountedMap;
pub(crate) use lock::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use log_limiter::{LogLimiter, REFUSED};
pub(crate) use lookout::Lookout;
pub(crate) use memory::part_of_memory;
pub(crate) use permit::{KeyedPermits, Permit, Permits};
pub(crate) use spawn::spawn;
