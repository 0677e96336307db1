//! Rate limits by IP address for anonymous requests that write a row or hold a connection before the caller is known.

use crate::client_address::{Client, is_private, last_forwarded};
use crate::counted_downloads::CountedDownloads;
use crate::problem::Problem;
use crate::rates::{Rate, RateByAddress, SharedRate};
use governor::{DefaultDirectRateLimiter, RateLimiter};
use poem::http::StatusCode;
use poem::{Addr, Request};
use souk_domain::access::{Did, SignedLinks};
use souk_domain::operation::{SeenProxy, VisitorNetwork};
use souk_domain::shared::Timestamp;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Connect sessions that one address may begin: sustained rate per second, and burst.
const CONNECTS: Rate = Rate { per_second: 20, burst: 200 };
/// Checkout sessions that one address may start: sustained rate per second, and burst.
const STARTS: Rate = Rate { per_second: 20, burst: 200 };
/// Uploads that one address may begin: sustained rate per second, and burst.
const UPLOADS: Rate = Rate { per_second: 1, burst: 30 };
/// CI tokens that one address may exchange, each of which is verified: sustained rate per second, and burst.
const EXCHANGES: Rate = Rate { per_second: 1, burst: 30 };
/// Instances of apps that one address may list or remove, for which the store calls an address: sustained rate per second, and burst.
const INSTANCES: Rate = Rate { per_second: 1, burst: 10 };
/// Requests for test tokens in an hour: of one address, and of all together. Each creates an account or a transaction of the sandbox.
const FAUCET_PER_HOUR: u32 = 600;
const FAUCET_PER_HOUR_TOTAL: u32 = 6_000;
/// What is sent to the sandbox's ledger without the store in an hour, in KiB: by one address, and by all together.
const SANDBOX_KIB_PER_HOUR: u32 = 256;
const SANDBOX_KIB_PER_HOUR_TOTAL: u32 = 2_048;
/// Steps of card payments at the sandbox that one site may take: sustained rate per second, and burst.
const SANDBOX_CARD_STEPS: Rate = Rate { per_second: 20, burst: 200 };
/// Pictures that users upload in an hour: from one address, and from all together. Each is at most 1 MB on the disk of the store.
const PICTURES_PER_HOUR: u32 = 60;
const PICTURES_PER_HOUR_TOTAL: u32 = 1_200;
/// Page views that are logged: of one address, and of all together.
const PAGE_VIEWS: Rate = Rate { per_second: 5, burst: 200 };
const PAGE_VIEWS_TOTAL: Rate = Rate { per_second: 200, burst: 2_000 };
/// Joins of realtime channels, each of which may read a connect session: of one address, and of one connection.
const JOINS: Rate = Rate { per_second: 20, burst: 200 };
const JOINS_OF_CONNECTION: Rate = Rate { per_second: 1, burst: 20 };
/// Requests that one client may have in progress behind a trusted proxy. Without a proxy, its connections are limited instead.
const FORWARDED_REQUESTS_EACH: usize = 100;
/// Realtime connections that one address may hold open, and the limit for all addresses together.
const SOCKETS_EACH: usize = 50;
const SOCKETS_MAX: usize = 5_000;
/// Open connections, or requests in progress.
#[derive(Default)]
struct Open {
    by_address: HashMap<IpAddr, usize>,
    total: usize,
}

type OpenSockets = Arc<Mutex<Open>>;

pub struct Limits {
    connects: RateByAddress,
    starts: RateByAddress,
    uploads: RateByAddress,
    exchanges: RateByAddress,
    instances: RateByAddress,
    faucet: SharedRate,
    sandbox_kib: SharedRate,
    sandbox_cards: SharedRate,
    sandbox_card_steps: RateByAddress,
    pictures: SharedRate,
    page_views: SharedRate,
    downloads: CountedDownloads,
    joins: Arc<RateByAddress>,
    sockets: OpenSockets,
    sockets_max: usize,
    forwarded: OpenSockets,
    trusted_proxies: Vec<IpAddr>,
    seen_proxy: SeenProxy,
    /// How long a wallet waits for the network's decision about its transaction once everything is sent.
    pub(crate) confirmation_wait: Duration,
}

/// A wallet's call is answered after this at the latest. What the network has not decided until then is being confirmed.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(5);

impl Default for Limits {
    fn default() -> Self {
        Self::behind(Vec::new())
    }
}

impl Limits {
    /// `trusted_proxies`: addresses of proxies whose `X-Forwarded-For` header is trusted.
    #[must_use]
    pub fn behind(trusted_proxies: Vec<IpAddr>) -> Self {
        let limiter = |rate: Rate| RateByAddress::new(rate.quota());
        Self {
            connects: limiter(CONNECTS),
            starts: limiter(STARTS),
            uploads: limiter(UPLOADS),
            exchanges: limiter(EXCHANGES),
            instances: limiter(INSTANCES),
            faucet: SharedRate::per_hour(FAUCET_PER_HOUR, FAUCET_PER_HOUR_TOTAL),
            sandbox_kib: SharedRate::per_hour(SANDBOX_KIB_PER_HOUR, SANDBOX_KIB_PER_HOUR_TOTAL),
            sandbox_cards: SharedRate::per_hour(FAUCET_PER_HOUR, FAUCET_PER_HOUR_TOTAL),
            sandbox_card_steps: limiter(SANDBOX_CARD_STEPS),
            pictures: SharedRate::per_hour(PICTURES_PER_HOUR, PICTURES_PER_HOUR_TOTAL),
            page_views: SharedRate::of_rates(PAGE_VIEWS, PAGE_VIEWS_TOTAL),
            downloads: CountedDownloads::default(),
            joins: Arc::new(limiter(JOINS)),
            sockets: Arc::default(),
            sockets_max: SOCKETS_MAX,
            forwarded: Arc::default(),
            // An IPv4 address may be given in IPv6 notation; peers are compared in their canonical form.
            trusted_proxies: trusted_proxies.iter().map(IpAddr::to_canonical).collect(),
            seen_proxy: SeenProxy::default(),
            confirmation_wait: ANSWER_DEADLINE,
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

    /// Reports a proxy in front of the store that is not among the trusted ones.
    #[must_use]
    pub fn reporting_to(mut self, seen: SeenProxy) -> Self {
        self.seen_proxy = seen;
        self
    }

    /// Counts a request that a trusted proxy forwards, until the result is dropped. Requests without a proxy need no permit.
    ///
    /// # Errors
    /// 429 if the forwarded address has reached the limit.
    pub fn admit_request(&self, request: &Request) -> Result<Option<SocketPermit>, Problem> {
        let Addr::SocketAddr(peer) = &request.remote_addr().0 else { return Ok(None) };
        let peer = peer.ip().to_canonical();
        if !self.trusted_proxies.contains(&peer) {
            if is_private(peer) && request.headers().contains_key("x-forwarded-for") {
                self.seen_proxy.see(&peer.to_string());
            }
            return Ok(None);
        }
        let Some(address) = self.client_address(request) else { return Ok(None) };
        let mut open = self.forwarded.lock().unwrap_or_else(PoisonError::into_inner);
        if open.of(address) >= FORWARDED_REQUESTS_EACH {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many requests in progress").code("TOO_MANY_CONNECTIONS"));
        }
        open.add(address);
        Ok(Some(SocketPermit(Some((address, Arc::clone(&self.forwarded))))))
    }

    pub fn admit_connect(&self, request: &Request) -> Result<(), Problem> {
        self.connects.admit(self.client_address(request))
    }

    pub fn admit_start(&self, request: &Request) -> Result<(), Problem> {
        self.starts.admit(self.client_address(request))
    }

    pub fn admit_upload(&self, request: &Request) -> Result<(), Problem> {
        self.uploads.admit(self.client_address(request))
    }

    pub fn admit_exchange(&self, request: &Request) -> Result<(), Problem> {
        self.exchanges.admit(self.client_address(request))
    }

    pub fn admit_instance(&self, request: &Request) -> Result<(), Problem> {
        self.instances.admit(self.client_address(request))
    }

    /// The pseudonyms of the visitor's network and site; empty for requests without a connection.
    pub fn visitor_network(&self, request: &Request, links: &SignedLinks) -> VisitorNetwork {
        let pseudonym = |address: IpAddr| links.pseudonym(&address.to_string());
        let visitor = |client: Client| VisitorNetwork { network: pseudonym(client.network()), site: pseudonym(client.site()) };
        self.client(request).map(visitor).unwrap_or_default()
    }

    /// Counts a request for test tokens.
    ///
    /// # Errors
    /// 429 if the address, its site, or all addresses together have reached the limit of an hour.
    pub fn admit_faucet(&self, request: &Request) -> Result<(), Problem> {
        self.faucet.admit(self.client(request))
    }

    /// Counts a transaction that a visitor sends to the sandbox's ledger without the store.
    ///
    /// # Errors
    /// 429 if the address, its site, or all addresses together have reached the limit of an hour.
    pub fn admit_sandbox_transaction(&self, request: &Request, kibibytes: u32) -> Result<(), Problem> {
        self.sandbox_kib.admit_many(self.client(request), kibibytes)
    }

    /// Counts a card that a visitor creates at the sandbox.
    ///
    /// # Errors
    /// 429 if the address, its site, or all addresses together have reached the limit of an hour.
    pub fn admit_sandbox_card(&self, request: &Request) -> Result<(), Problem> {
        self.sandbox_cards.admit(self.client(request))
    }

    /// Counts a step of a card payment or set-up at the sandbox.
    ///
    /// # Errors
    /// 429 if the site has reached the limit.
    pub fn admit_sandbox_card_step(&self, request: &Request) -> Result<(), Problem> {
        self.sandbox_card_steps.admit(self.client(request).map(Client::site))
    }

    /// Counts a picture that a user uploads.
    ///
    /// # Errors
    /// 429 if the address, its site, or all addresses together have reached the limit of an hour.
    pub fn admit_picture(&self, request: &Request) -> Result<(), Problem> {
        self.pictures.admit(self.client(request))
    }

    /// Counts a page view, each of which writes a line of the log.
    ///
    /// # Errors
    /// 429 if the address, its site, or all addresses together have reached the limit.
    pub fn admit_page_view(&self, request: &Request) -> Result<(), Problem> {
        self.page_views.admit(self.client(request))
    }

    /// Whether a download is counted: the first one of an app by a network on a day. Without a connection, as in tests, each is.
    pub fn counts_download(&self, request: &Request, app: &Did, now: Timestamp) -> bool {
        self.client_address(request).is_none_or(|network| self.downloads.is_first(network, app, now))
    }

    /// The limit of joins for a new realtime connection.
    pub fn joins_of(&self, request: &Request) -> JoinLimit {
        JoinLimit {
            address: self.client_address(request),
            by_address: Arc::clone(&self.joins),
            by_connection: RateLimiter::direct(JOINS_OF_CONNECTION.quota()),
        }
    }

    /// Reserves one connection; dropping the result releases it.
    ///
    /// # Errors
    /// 429 if the address, or all addresses together, have reached the limit.
    pub fn admit_socket(&self, request: &Request) -> Result<SocketPermit, Problem> {
        let Some(address) = self.client_address(request) else { return Ok(SocketPermit(None)) };
        let mut open = self.sockets.lock().unwrap_or_else(PoisonError::into_inner);
        if open.of(address) >= SOCKETS_EACH || open.total >= self.sockets_max {
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "Too many open connections").code("TOO_MANY_CONNECTIONS"));
        }
        open.add(address);
        Ok(SocketPermit(Some((address, Arc::clone(&self.sockets)))))
    }

    #[cfg(test)]
    pub fn open_sockets(&self) -> usize {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner).total
    }

    /// The peer, because any client can send `X-Forwarded-For`. If the peer is a trusted proxy, the last address of that header, which the
    /// proxy added itself. `None` for requests without a connection, as in tests.
    fn client(&self, request: &Request) -> Option<Client> {
        let Addr::SocketAddr(peer) = &request.remote_addr().0 else { return None };
        let direct = Client::at(peer.ip());
        if !self.trusted_proxies.contains(&direct.address) {
            return Some(direct);
        }
        let forwarded = request.headers().get_all("x-forwarded-for").iter().next_back().and_then(|value| value.to_str().ok());
        Some(forwarded.and_then(last_forwarded).map_or(direct, Client::at))
    }

    /// The network of the client.
    fn client_address(&self, request: &Request) -> Option<IpAddr> {
        self.client(request).map(Client::network)
    }

    /// The whole address of the client.
    pub(crate) fn caller_address(&self, request: &Request) -> Option<IpAddr> {
        self.client(request).map(|client| client.address)
    }
}

impl Open {
    fn of(&self, address: IpAddr) -> usize {
        self.by_address.get(&address).copied().unwrap_or_default()
    }

    fn add(&mut self, address: IpAddr) {
        *self.by_address.entry(address).or_default() += 1;
        self.total += 1;
    }

    fn remove(&mut self, address: IpAddr) {
        self.total = self.total.saturating_sub(1);
        match self.by_address.get_mut(&address) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.by_address.remove(&address)),
        }
    }
}

/// Limits the joins of a realtime connection, and together with the other connections of its address.
pub struct JoinLimit {
    address: Option<IpAddr>,
    by_address: Arc<RateByAddress>,
    by_connection: DefaultDirectRateLimiter,
}

impl JoinLimit {
    /// Counts a join. Returns whether it is within the limits.
    pub fn admit(&self) -> bool {
        self.by_connection.check().is_ok() && self.by_address.admit(self.address).is_ok()
    }
}

/// One open connection, counted against the limit of its address until dropped.
pub struct SocketPermit(Option<(IpAddr, OpenSockets)>);

impl Drop for SocketPermit {
    fn drop(&mut self) {
        let Some((address, sockets)) = &self.0 else { return };
        sockets.lock().unwrap_or_else(PoisonError::into_inner).remove(*address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rates::SHARE_OF_A_SITE;
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
        // Two addresses can share a quota by chance, but not all of these.
        assert!((2..9).any(|n| limits.admit_connect(&from(&format!("192.0.2.{n}:1000"))).is_ok()));
        assert!(limits.admit_start(&from("192.0.2.1:1000")).is_ok());
    }

    #[test]
    fn test_tokens_and_page_views_are_limited_for_each_address_and_for_all_together() {
        let limits = Limits::default();
        let admitted = |of: &str, count: u32, admit: &dyn Fn(&Request) -> bool| (0..count).filter(|_| admit(&from(of))).count();
        let faucet = |request: &Request| limits.admit_faucet(request).is_ok();
        assert_eq!(admitted("192.0.2.1:1000", 1_000, &faucet), FAUCET_PER_HOUR as usize);
        let all: usize = (0..200).map(|n| admitted(&format!("198.51.100.{n}:1"), 100, &faucet)).sum();
        assert!(all <= (FAUCET_PER_HOUR_TOTAL - FAUCET_PER_HOUR) as usize + 10, "{all}");
        let view = |request: &Request| limits.admit_page_view(request).is_ok();
        assert!((200..260).contains(&admitted("192.0.2.1:1000", 1_000, &view)));
        let all: usize = (0..200).map(|n| admitted(&format!("198.51.100.{n}:1"), 150, &view)).sum();
        assert!(all < 4_000, "{all} of 30,000 views of all addresses");
    }

    #[test]
    fn one_site_cannot_use_up_what_all_addresses_together_may() {
        let limits = Limits::default();
        let all_of_site = |admit: &dyn Fn(&Request) -> bool| {
            let networks = (0..100).map(|n| from(&format!("[2001:db8:0:{n:x}::1]:1")));
            networks.map(|request| (0..100).filter(|_| admit(&request)).count()).sum::<usize>()
        };
        let faucet = |request: &Request| limits.admit_faucet(request).is_ok();
        let share = (FAUCET_PER_HOUR_TOTAL / SHARE_OF_A_SITE) as usize;
        assert!((share..share + 10).contains(&all_of_site(&faucet)));
        assert!(faucet(&from("[2001:db8:1::1]:1")), "another site");
        let view = |request: &Request| limits.admit_page_view(request).is_ok();
        assert!(all_of_site(&view) < PAGE_VIEWS_TOTAL.burst as usize / 2);
        assert!(view(&from("[2001:db8:1::1]:1")), "another site");
    }

    #[test]
    fn the_network_of_a_visitor_is_named_by_a_pseudonym() {
        let limits = Limits::default();
        let links = SignedLinks::new(Arc::new(souk_adapters::identity::HmacSigner::new(&[7; 32])));
        let name = |address: &str| limits.visitor_network(&from(address), &links).network;
        assert_eq!(name("[2001:db8::1]:1"), name("[2001:db8::2]:1"), "one network of IPv6");
        assert_ne!(name("192.0.2.1:1"), name("192.0.2.2:1"));
        assert!(!name("192.0.2.1:1").contains("192"));
        assert_eq!(limits.visitor_network(&Request::default(), &links), VisitorNetwork::default());
    }

    #[test]
    fn all_ipv6_networks_of_a_site_are_one_site() {
        let limits = Limits::default();
        let links = SignedLinks::new(Arc::new(souk_adapters::identity::HmacSigner::new(&[7; 32])));
        let name = |address: &str| limits.visitor_network(&from(address), &links).site;
        assert_eq!(name("[2001:db8:1:ff00::1]:1"), name("[2001:db8:1:1::2]:1"), "two networks of 64 bits");
        assert_ne!(name("[2001:db8:1::1]:1"), name("[2001:db8:2::1]:1"));
        assert_ne!(name("192.0.2.1:1"), name("192.0.2.2:1"));
    }

    #[test]
    fn joins_are_limited_for_each_connection_and_for_all_connections_of_an_address() {
        let limits = Limits::default();
        let admitted = |joins: &JoinLimit| (0..100).filter(|_| joins.admit()).count();
        let connections: Vec<_> = (0..12).map(|_| admitted(&limits.joins_of(&from("192.0.2.1:1000")))).collect();
        assert!((20..25).contains(&connections[0]), "{connections:?}");
        assert!(connections[11] < 20, "the address has used up its joins: {connections:?}");
        // Two addresses can share a quota by chance, but not all of these.
        assert!((2..9).any(|n| admitted(&limits.joins_of(&from(&format!("192.0.2.{n}:1000")))) >= 20), "other addresses are not affected");
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
        assert!(limits.forwarded.lock().expect("no panic").by_address.is_empty(), "addresses without a request are not remembered");
    }

    #[test]
    fn the_forwarded_address_is_used_only_behind_a_trusted_proxy() {
        let limits = Limits::behind(vec!["192.0.2.9".parse().expect("address")]);
        let origin = |request: &Request| limits.client_address(request).map(|address| address.to_string());
        assert_eq!(origin(&forwarded("192.0.2.9:1", "203.0.113.5, 198.51.100.7")).as_deref(), Some("198.51.100.7"));
        assert_eq!(origin(&forwarded("192.0.2.9:1", "nonsense")).as_deref(), Some("192.0.2.9"));
        assert_eq!(origin(&forwarded("192.0.2.1:1", "198.51.100.7")).as_deref(), Some("192.0.2.1"));
        assert_eq!(origin(&forwarded("192.0.2.9:1", "198.51.100.7:4711")).as_deref(), Some("198.51.100.7"), "with a port");
        let mapped = Limits::behind(vec!["::ffff:192.0.2.9".parse().expect("address")]);
        for peer in ["192.0.2.9:1", "[::ffff:192.0.2.9]:1"] {
            let client = mapped.client_address(&forwarded(peer, "198.51.100.7")).map(|address| address.to_string());
            assert_eq!(client.as_deref(), Some("198.51.100.7"), "a proxy that is configured in IPv6 notation connects from {peer}");
        }
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_its_limits() {
        let limits = Limits::default();
        let open: Vec<_> =
            (0..2 * SOCKETS_EACH).filter_map(|n| limits.admit_socket(&from(&format!("[2001:db8:0:1::{n:x}]:1"))).ok()).collect();
        assert_eq!(open.len(), SOCKETS_EACH);
        assert!(limits.admit_socket(&from("[2001:db8:0:2::1]:1")).is_ok(), "another network");
        let proxied = Limits::behind(vec!["192.0.2.9".parse().expect("address")]);
        let counted = |client: &str| proxied.client_address(&forwarded("192.0.2.9:1", client)).map(|address| address.to_string());
        assert_eq!(counted("2001:db8::7:1:2:3").as_deref(), Some("2001:db8::"));
        assert_eq!(counted("::ffff:198.51.100.7").as_deref(), Some("198.51.100.7"), "an IPv4 address in IPv6 notation");
    }
}
