//! Rate limits by IP address for anonymous requests that write a row or hold a connection before the caller is known.

use crate::problem::Problem;
use governor::clock::Clock as _;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use poem::http::StatusCode;
use poem::{Addr, Request};
use std::collections::HashMap;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Connect sessions that one address may begin: sustained rate per second, and burst.
const CONNECTS: (u32, u32) = (20, 200);
/// Checkout sessions that one address may start: sustained rate per second, and burst.
const STARTS: (u32, u32) = (200, 2_000);
/// Requests that one client may have in progress behind a trusted proxy. Without a proxy, its connections are limited instead.
const FORWARDED_REQUESTS_EACH: usize = 100;
/// Realtime connections that one address may hold open, and the limit for all addresses together.
const SOCKETS_EACH: usize = 50;
const SOCKETS_MAX: usize = 5_000;
/// Above this number of tracked addresses, those whose quota has fully recovered are dropped.
const ADDRESSES_MAX: usize = 10_000;

/// The number of open connections, or of requests in progress, by address.
type OpenSockets = Arc<Mutex<HashMap<IpAddr, usize>>>;

pub struct Limits {
    connects: DefaultKeyedRateLimiter<IpAddr>,
    starts: DefaultKeyedRateLimiter<IpAddr>,
    sockets: OpenSockets,
    sockets_max: usize,
    forwarded: OpenSockets,
    trusted_proxies: Vec<IpAddr>,
    /// How long a wallet waits for the network's decision about its transaction.
    pub(crate) confirmation_wait: Duration,
}

/// After this, a wallet is told that its payment is being confirmed.
pub const CONFIRMATION_WAIT: Duration = Duration::from_secs(5);

impl Default for Limits {
    fn default() -> Self {
        Self::behind(Vec::new())
    }
}

impl Limits {
    /// `trusted_proxies`: addresses of proxies whose `X-Forwarded-For` header is trusted.
    #[must_use]
    pub fn behind(trusted_proxies: Vec<IpAddr>) -> Self {
        let limiter = |(per_second, burst)| {
            let count = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
            RateLimiter::keyed(Quota::per_second(count(per_second)).allow_burst(count(burst)))
        };
        Self {
            connects: limiter(CONNECTS),
            starts: limiter(STARTS),
            sockets: Arc::default(),
            sockets_max: SOCKETS_MAX,
            forwarded: Arc::default(),
            trusted_proxies,
            confirmation_wait: CONFIRMATION_WAIT,
        }
    }

    /// Changes how long a wallet waits for a decision, for tests.
    #[must_use]
    pub const fn with_confirmation_wait(mut self, wait: Duration) -> Self {
        self.confirmation_wait = wait;
        self
    }

    /// Lowers the limit of realtime connections of all addresses together, because each takes one of the server's connections.
    #[must_use]
    pub fn with_sockets(mut self, max: usize) -> Self {
        self.sockets_max = SOCKETS_MAX.min(max);
        self
    }

    /// Counts a request that a trusted proxy forwards, until the result is dropped. Requests without a proxy need no permit.
    ///
    /// # Errors
    /// 429 if the forwarded address has reached the limit.
    pub fn admit_request(&self, request: &Request) -> Result<Option<SocketPermit>, Problem> {
        let Addr::SocketAddr(peer) = &request.remote_addr().0 else { return Ok(None) };
        if self.trusted_proxies.is_empty() || !self.trusted_proxies.contains(&peer.ip().to_canonical()) {
            return Ok(None);
        }
        let Some(address) = self.client_address(request) else { return Ok(None) };
        let mut open = self.forwarded.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(address).or_default();
        if *count >= FORWARDED_REQUESTS_EACH {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests in progress").code("TOO_MANY_CONNECTIONS"));
        }
        *count += 1;
        Ok(Some(SocketPermit(Some((address, Arc::clone(&self.forwarded))))))
    }

    pub fn admit_connect(&self, request: &Request) -> Result<(), Problem> {
        admit(&self.connects, self.client_address(request))
    }

    pub fn admit_start(&self, request: &Request) -> Result<(), Problem> {
        admit(&self.starts, self.client_address(request))
    }

    /// Reserves one connection; dropping the result releases it.
    ///
    /// # Errors
    /// 429 if the address, or all addresses together, have reached the limit.
    pub fn admit_socket(&self, request: &Request) -> Result<SocketPermit, Problem> {
        let Some(address) = self.client_address(request) else { return Ok(SocketPermit(None)) };
        let mut open = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.get(&address).copied().unwrap_or_default();
        if count >= SOCKETS_EACH || open.values().sum::<usize>() >= self.sockets_max {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many open connections").code("TOO_MANY_CONNECTIONS"));
        }
        open.insert(address, count + 1);
        Ok(SocketPermit(Some((address, Arc::clone(&self.sockets)))))
    }

    #[cfg(test)]
    pub fn open_sockets(&self) -> usize {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// The peer address, because any client can send `X-Forwarded-For`. If the peer is a trusted proxy, the last address of that
    /// header, which the proxy added itself. `None` for requests without a connection, as in tests.
    fn client_address(&self, request: &Request) -> Option<IpAddr> {
        let Addr::SocketAddr(address) = &request.remote_addr().0 else { return None };
        let direct = address.ip().to_canonical();
        if !self.trusted_proxies.contains(&direct) {
            return Some(direct);
        }
        let forwarded = request.headers().get_all("x-forwarded-for").iter().next_back().and_then(|value| value.to_str().ok());
        Some(forwarded.and_then(|list| list.rsplit(',').next()?.trim().parse().ok()).unwrap_or(direct))
    }
}

/// One open connection, counted against the limit of its address until dropped.
pub struct SocketPermit(Option<(IpAddr, OpenSockets)>);

impl Drop for SocketPermit {
    fn drop(&mut self) {
        let Some((address, sockets)) = &self.0 else { return };
        let mut open = sockets.lock().unwrap_or_else(PoisonError::into_inner);
        match open.get_mut(address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.remove(address)),
        }
    }
}

fn admit(limiter: &DefaultKeyedRateLimiter<IpAddr>, address: Option<IpAddr>) -> Result<(), Problem> {
    let Some(address) = address else { return Ok(()) };
    if limiter.len() > ADDRESSES_MAX {
        limiter.retain_recent();
    }
    limiter.check_key(&address).map_err(|not_until| {
        let wait = not_until.wait_time_from(governor::clock::DefaultClock::default().now()).as_secs() + 1;
        let message = format!("Too many requests, please try again in {wait} s");
        Problem::new(StatusCode::TOO_MANY_REQUESTS, message).code("TOO_MANY_REQUESTS").param("seconds", wait)
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

    fn forwarded(address: &str, header: &str) -> Request {
        let request = poem::http::Request::builder().header("x-forwarded-for", header).body(()).expect("a request");
        let from = RemoteAddr(Addr::SocketAddr(address.parse().expect("address")));
        let parts = RequestParts::from((request.into_parts().0, LocalAddr::default(), from, Scheme::HTTP));
        Request::from_parts(parts, Body::empty())
    }

    #[test]
    fn an_address_that_exhausts_its_burst_does_not_affect_other_addresses() {
        let limits = Limits::default();
        let refused = (0..400).filter(|_| limits.admit_connect(&from("192.0.2.1:1000")).is_err()).count();
        assert!((150..=200).contains(&refused), "{refused} of 400 refused");
        assert!(limits.admit_connect(&from("192.0.2.2:1000")).is_ok());
        assert!(limits.admit_start(&from("192.0.2.1:1000")).is_ok());
    }

    #[test]
    fn an_address_is_limited_in_open_sockets_and_closing_one_frees_its_place() {
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
    fn open_sockets_of_all_addresses_together_are_limited() {
        let limits = Limits::default();
        let small = Limits::default().with_sockets(2);
        let few: Vec<_> = (0..4).filter_map(|n| small.admit_socket(&from(&format!("10.0.0.{n}:1"))).ok()).collect();
        assert_eq!(few.len(), 2);
        let open: Vec<_> =
            (0..SOCKETS_MAX + 1).filter_map(|n| limits.admit_socket(&from(&format!("10.0.{}.{}:1", n / 250, n % 250))).ok()).collect();
        assert_eq!(open.len(), SOCKETS_MAX);
    }

    #[test]
    fn requests_in_progress_behind_a_proxy_are_limited_by_forwarded_address() {
        let limits = Limits::behind(vec!["192.0.2.9".parse().expect("address")]);
        let admit = |client: &str| limits.admit_request(&forwarded("192.0.2.9:1", client));
        let mut open: Vec<_> = (0..FORWARDED_REQUESTS_EACH).filter_map(|_| admit("198.51.100.7").ok()).collect();
        assert_eq!(open.len(), FORWARDED_REQUESTS_EACH);
        assert!(admit("198.51.100.7").is_err());
        assert!(admit("198.51.100.8").is_ok(), "another client of the same proxy");
        assert!(limits.admit_request(&forwarded("192.0.2.1:1", "198.51.100.7")).is_ok(), "no proxy");
        open.pop();
        assert!(admit("198.51.100.7").is_ok());
        open.clear();
        assert!(limits.forwarded.lock().expect("no panic").is_empty(), "addresses without a request are not remembered");
    }

    #[test]
    fn the_forwarded_address_is_used_only_behind_a_trusted_proxy() {
        let limits = Limits::behind(vec!["192.0.2.9".parse().expect("address")]);
        let origin = |request: &Request| limits.client_address(request).map(|address| address.to_string());
        assert_eq!(origin(&forwarded("192.0.2.9:1", "203.0.113.5, 198.51.100.7")).as_deref(), Some("198.51.100.7"));
        assert_eq!(origin(&forwarded("192.0.2.9:1", "nonsense")).as_deref(), Some("192.0.2.9"));
        assert_eq!(origin(&forwarded("192.0.2.1:1", "198.51.100.7")).as_deref(), Some("192.0.2.1"));
    }
}
