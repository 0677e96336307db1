//! Events for open pages: within one process, or through Redis to the pages of all processes.

mod local;
mod redis_channel;

pub use local::LocalRealtime;
pub use redis_channel::RedisRealtime;
