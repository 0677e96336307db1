//! What strangers may begin, by address: each begin writes a row, or keeps a socket or a poll, before we know who asks.

use crate::problem::Problem;
use governor::clock::Clock as _;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use poem::http::StatusCode;
use poem::{Addr, Request};
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

/// Wallet sessions that one address may begin: per second, and at once.
const CONNECTS: (u32, u32) = (20, 200);
/// Checkouts that one address may start: per second, and at once.
const STARTS: (u32, u32) = (200, 2_000);
/// Sockets that one address may keep open, and that all of them may.
const SOCKETS_EACH: usize = 50;
const SOCKETS_MAX: usize = 5_000;
/// When this many addresses are remembered, those that have been quiet are forgotten.
const ADDRESSES_MAX: usize = 10_000;

/// How many sockets each address keeps open.
type OpenSockets = Arc<Mutex<HashMap<IpAddr, usize>>>;

pub struct Limits {
    connects: DefaultKeyedRateLimiter<IpAddr>,
    starts: DefaultKeyedRateLimiter<IpAddr>,
    sockets: OpenSockets,
    trusted_proxies: Vec<IpAddr>,
}

impl Default for Limits {
    fn default() -> Self {
        Self::behind(Vec::new())
    }
}

impl Limits {
    /// `trusted_proxies`: what they say about where a call comes from is believed.
    #[must_use]
    pub fn behind(trusted_proxies: Vec<IpAddr>) -> Self {
        let limiter = |(per_second, burst)| {
            let count = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
            RateLimiter::keyed(Quota::per_second(count(per_second)).allow_burst(count(burst)))
        };
        Self { connects: limiter(CONNECTS), starts: limiter(STARTS), sockets: Arc::default(), trusted_proxies }
    }

    pub fn admit_connect(&self, request: &Request) -> Result<(), Problem> {
        admit(&self.connects, self.origin_of(request))
    }

    pub fn admit_start(&self, request: &Request) -> Result<(), Problem> {
        admit(&self.starts, self.origin_of(request))
    }

    /// A place for one socket; it is free again when it is dropped.
    pub fn admit_socket(&self, request: &Request) -> Result<SocketPlace, Problem> {
        let Some(address) = self.origin_of(request) else { return Ok(SocketPlace(None)) };
        let mut open = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        let own = open.get(&address).copied().unwrap_or_default();
        if own >= SOCKETS_EACH || open.values().sum::<usize>() >= SOCKETS_MAX {
            return Err(too_many("Too many open connections".to_owned()));
        }
        open.insert(address, own + 1);
        Ok(SocketPlace(Some((address, Arc::clone(&self.sockets)))))
    }

    #[cfg(test)]
    pub fn open_sockets(&self) -> usize {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// The connection's own address: anybody can write `X-Forwarded-For`. When the connection is a trusted proxy's, the
    /// last address there, which that proxy added itself. A request without a connection is a test's.
    fn origin_of(&self, request: &Request) -> Option<IpAddr> {
        let Addr::SocketAddr(address) = &request.remote_addr().0 else { return None };
        let direct = address.ip().to_canonical();
        if !self.trusted_proxies.contains(&direct) {
            return Some(direct);
        }
        let told = request.headers().get_all("x-forwarded-for").iter().next_back().and_then(|value| value.to_str().ok());
        Some(told.and_then(|told| told.rsplit(',').next()?.trim().parse().ok()).unwrap_or(direct))
    }
}

/// One open socket, counted for where it comes from.
pub struct SocketPlace(Option<(IpAddr, OpenSockets)>);

impl Drop for SocketPlace {
    fn drop(&mut self) {
        let Some((address, sockets)) = &self.0 else { return };
        let mut open = sockets.lock().unwrap_or_else(PoisonError::into_inner);
        match open.get_mut(address) {
            Some(own) if *own > 1 => *own -= 1,
            _ => drop(open.remove(address)),
        }
    }
}

fn too_many(told: String) -> Problem {
    Problem::new(StatusCode::TOO_MANY_REQUESTS, told).code("TOO_MANY_REQUESTS")
}

fn admit(limiter: &DefaultKeyedRateLimiter<IpAddr>, from: Option<IpAddr>) -> Result<(), Problem> {
    let Some(address) = from else { return Ok(()) };
    if limiter.len() > ADDRESSES_MAX {
        limiter.retain_recent();
    }
    limiter.check_key(&address).map_err(|not_until| {
        let wait = not_until.wait_time_from(governor::clock::DefaultClock::default().now()).as_secs() + 1;
        too_many(format!("Too many requests, please try again in {wait} s")).param("seconds", wait)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use poem::http::uri::Scheme;
    use poem::web::{LocalAddr, RemoteAddr};
    use poem::{Body, RequestParts};

    fn from(address: &str) -> Request {
        forwarded(address, "")
    }

    fn forwarded(address: &str, told: &str) -> Request {
        let request = poem::http::Request::builder().header("x-forwarded-for", told).body(()).expect("a request");
        let from = RemoteAddr(Addr::SocketAddr(address.parse().expect("address")));
        let parts = RequestParts::from((request.into_parts().0, LocalAddr::default(), from, Scheme::HTTP));
        Request::from_parts(parts, Body::empty())
    }

    #[test]
    fn an_address_may_begin_so_much_at_once_and_others_are_not_in_its_way() {
        let limits = Limits::default();
        let refused = (0..400).filter(|_| limits.admit_connect(&from("192.0.2.1:1000")).is_err()).count();
        assert!((150..=200).contains(&refused), "{refused} of 400 refused");
        assert!(limits.admit_connect(&from("192.0.2.2:1000")).is_ok());
        assert!(limits.admit_start(&from("192.0.2.1:1000")).is_ok());
    }

    #[test]
    fn an_address_keeps_so_many_sockets_and_a_closed_one_makes_room() {
        let limits = Limits::default();
        let mut open: Vec<_> = (0..SOCKETS_EACH).filter_map(|_| limits.admit_socket(&from("192.0.2.1:1000")).ok()).collect();
        assert_eq!(open.len(), SOCKETS_EACH);
        assert!(limits.admit_socket(&from("192.0.2.1:1001")).is_err());
        assert!(limits.admit_socket(&from("192.0.2.2:1000")).is_ok());
        open.pop();
        assert!(limits.admit_socket(&from("192.0.2.1:1001")).is_ok());
        open.clear();
        assert_eq!(limits.open_sockets(), 0);
    }

    #[test]
    fn all_addresses_together_keep_no_more_sockets_than_the_store_bears() {
        let limits = Limits::default();
        let open: Vec<_> =
            (0..SOCKETS_MAX + 1).filter_map(|n| limits.admit_socket(&from(&format!("10.0.{}.{}:1", n / 250, n % 250))).ok()).collect();
        assert_eq!(open.len(), SOCKETS_MAX);
    }

    #[test]
    fn only_a_trusted_proxy_is_believed_about_where_a_call_comes_from() {
        let limits = Limits::behind(vec!["192.0.2.9".parse().expect("address")]);
        let origin = |request: &Request| limits.origin_of(request).map(|address| address.to_string());
        assert_eq!(origin(&forwarded("192.0.2.9:1", "203.0.113.5, 198.51.100.7")).as_deref(), Some("198.51.100.7"));
        assert_eq!(origin(&forwarded("192.0.2.9:1", "nonsense")).as_deref(), Some("192.0.2.9"));
        assert_eq!(origin(&forwarded("192.0.2.1:1", "198.51.100.7")).as_deref(), Some("192.0.2.1"));
    }
}
