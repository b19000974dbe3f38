//! What threads share: locks without poison, and permits.

mod lock;
mod permit;

pub(crate) use lock::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use permit::{Permit, Permits};
