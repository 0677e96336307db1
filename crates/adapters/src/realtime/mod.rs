//! Realtime events for open pages: within one process, or through Redis across processes.

mod local;
mod redis_channel;

pub use local::LocalRealtime;
pub use redis_channel::RedisRealtime;
