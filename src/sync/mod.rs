//! Tools for threads: starting them, locks without poison, permits, notice of changes, copy-on-write values, limits for
//! logging, and the amount of memory.

mod copy_on_write;
mod counted_map;
mod lock;
mod log_limiter;
mod memory;
mod permit;
mod spawn;

pub(crate) use copy_on_write::CopyOnWrite;
pub(crate) use counted_map::CountedMap;
pub(crate) use lock::Changes;
pub(crate) use lock::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use log_limiter::{LogLimiter, REFUSED};
pub(crate) use memory::part_of_memory;
pub(crate) use permit::{KeyedPermits, Permit, Permits};
pub(crate) use spawn::{Lookout, Thread, spawn, spawn_joined, spawn_scoped};
