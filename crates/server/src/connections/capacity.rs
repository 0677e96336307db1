//! How many connections a listener takes, derived from the process's limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::IpAddr;

/// Descriptors for everything but clients: databases, queue, payment networks, mail, files, and the health listener.
const RESERVE: u64 = 160;
/// Below this number of connections, a store cannot work.
const CONNECTIONS_MIN: u64 = 32;
/// Above this number, a process needs more memory than another process would.
const CONNECTIONS_MAX: u64 = 8_192;
/// The share of the connections that one address may have.
const SHARE_OF_AN_ADDRESS: usize = 4;
/// Connections of the health listener.
const HEALTH_CONNECTIONS: usize = 16;

/// The limits of a listener.
#[derive(Debug, Clone)]
pub struct Capacity {
    pub total: usize,
    /// Per IPv4 address, or per /64 network of IPv6.
    pub per_address: usize,
    /// Trusted proxies, which connect for many clients. Their requests count by forwarded address (`souk_api::Limits`).
    pub exempt: Vec<IpAddr>,
}

impl Capacity {
    /// Raises the limit of open files as far as the system allows, and leaves a reserve of it to the rest of the process.
    ///
    /// # Errors
    /// The limit is too low for a store; the message says how to raise it.
    pub fn of_process(exempt: Vec<IpAddr>) -> Result<Self, String> {
        Self::of_open_files(raise_open_files(), exempt)
    }

    fn of_open_files(limit: u64, exempt: Vec<IpAddr>) -> Result<Self, String> {
        let total = limit.saturating_sub(RESERVE);
        if total < CONNECTIONS_MIN {
            let needed = RESERVE + CONNECTIONS_MIN;
            return Err(format!("the limit of open files is {limit}; souk serve needs {needed} or more: raise it with ulimit -n"));
        }
        let total = usize::try_from(total.min(CONNECTIONS_MAX)).unwrap_or(usize::MAX);
        Ok(Self { total, per_address: (total / SHARE_OF_AN_ADDRESS).max(1), exempt })
    }

    /// The limits of the listener for health checks, whose descriptors are part of the reserve.
    #[must_use]
    pub fn of_health() -> Self {
        Self { total: HEALTH_CONNECTIONS, per_address: HEALTH_CONNECTIONS, exempt: Vec::new() }
    }
}

/// The limit of open files after raising it. A system that refuses to raise it keeps its limit.
fn raise_open_files() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.unwrap_or(u64::MAX).min(RESERVE + CONNECTIONS_MAX);
    match now.current {
        Some(current) if current < wanted => match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: now.maximum }) {
            Ok(()) => wanted,
            Err(_) => current,
        },
        current => current.unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve_of_the_open_files() {
        let capacity = |limit| Capacity::of_open_files(limit, Vec::new());
        let of_256 = capacity(256).expect("enough");
        assert_eq!((of_256.total, of_256.per_address), (96, 24));
        assert_eq!(capacity(1_024).expect("enough").total, 864);
        assert_eq!(capacity(u64::MAX).expect("enough").total, 8_192);
        assert!(capacity(191).expect_err("too few").contains("ulimit -n"));
    }
}
