//! What threads share: locks without poison, permits, values that are copied when they are changed, and a thread that
//! looks.

mod copy_on_write;
mod lock;
mod lookout;
mod permit;

pub(crate) use copy_on_write::CopyOnWrite;
pub(crate) use lock::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use lookout::Lookout;
pub(crate) use permit::{Permit, Permits};
