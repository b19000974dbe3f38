//! What threads share: locks without poison, permits, and a thread that looks.

mod lock;
mod lookout;
mod permit;

pub(crate) use lock::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use lookout::Lookout;
pub(crate) use permit::{Permit, Permits};
