//! What strangers may begin, by address: each begin writes a row before we know who asks.

use crate::problem::Problem;
use governor::clock::Clock as _;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use poem::Addr;
use poem::http::StatusCode;
use poem::web::RemoteAddr;
use std::net::IpAddr;
use std::num::NonZeroU32;

/// Wallet sessions that one address may begin: per second, and at once.
const CONNECTS: (u32, u32) = (20, 200);
/// Checkouts that one address may start: per second, and at once.
const STARTS: (u32, u32) = (200, 2_000);
/// When this many addresses are remembered, those that have been quiet are forgotten.
const ADDRESSES_MAX: usize = 10_000;

pub struct Limits {
    connects: DefaultKeyedRateLimiter<IpAddr>,
    starts: DefaultKeyedRateLimiter<IpAddr>,
}

impl Default for Limits {
    fn default() -> Self {
        let limiter = |(per_second, burst)| {
            let count = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
            RateLimiter::keyed(Quota::per_second(count(per_second)).allow_burst(count(burst)))
        };
        Self { connects: limiter(CONNECTS), starts: limiter(STARTS) }
    }
}

impl Limits {
    pub fn admit_connect(&self, from: &RemoteAddr) -> Result<(), Problem> {
        admit(&self.connects, from)
    }

    pub fn admit_start(&self, from: &RemoteAddr) -> Result<(), Problem> {
        admit(&self.starts, from)
    }
}

fn admit(limiter: &DefaultKeyedRateLimiter<IpAddr>, from: &RemoteAddr) -> Result<(), Problem> {
    // The connection's own address: headers of proxies can be forged. A request without one is a test's.
    let RemoteAddr(Addr::SocketAddr(address)) = from else { return Ok(()) };
    if limiter.len() > ADDRESSES_MAX {
        limiter.retain_recent();
    }
    limiter.check_key(&address.ip()).map_err(|not_until| {
        let wait = not_until.wait_time_from(governor::clock::DefaultClock::default().now()).as_secs() + 1;
        Problem::new(StatusCode::TOO_MANY_REQUESTS, format!("Too many requests, please try again in {wait} s")).code("TOO_MANY_REQUESTS")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_begin_so_much_at_once_and_others_are_not_in_its_way() {
        let limits = Limits::default();
        let from = |address: &str| RemoteAddr(Addr::SocketAddr(address.parse().expect("address")));
        let refused = (0..400).filter(|_| limits.admit_connect(&from("192.0.2.1:1000")).is_err()).count();
        assert!((150..=200).contains(&refused), "{refused} of 400 refused");
        assert!(limits.admit_connect(&from("192.0.2.2:1000")).is_ok());
        assert!(limits.admit_start(&from("192.0.2.1:1000")).is_ok());
    }
}
