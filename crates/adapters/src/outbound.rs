//! HTTP to addresses that administrators, developers and strangers name. They must not reach the machine's own services or its private
//! network: each address is checked after resolution, on the address that is connected to. Redirects are not followed.

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, StatusCode};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use url::{Host, Url};

/// Whether payment networks may be in a private network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrivateNetworks {
    #[default]
    Refused,
    Allowed,
}

/// The address is not public.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the address is in a private network; --allow-private-networks permits it")]
pub struct BlockedAddress;

/// HTTP clients for the store's own sandbox and for all other hosts.
#[derive(Debug, Clone)]
pub struct Outbound {
    /// Uses the proxy settings of the environment, which some networks require. A proxy decides itself which addresses it connects to.
    external: Client,
    /// For the store's own sandbox, which a proxy cannot reach.
    own: Client,
    own_address: Url,
    private: PrivateNetworks,
}

impl Outbound {
    /// `own_address` is the address of the store itself, without a path (`http://127.0.0.1:8080/`). `configure` sets the timeouts.
    pub fn new(
        own_address: Url,
        private: PrivateNetworks,
        configure: impl Fn(ClientBuilder) -> ClientBuilder,
    ) -> Result<Self, reqwest::Error> {
        let builder = || configure(Client::builder().redirect(Policy::none()));
        Ok(Self { external: guarded(private, builder(), proxy_hosts()).build()?, own: builder().no_proxy().build()?, own_address, private })
    }

    /// The store's own address.
    #[must_use]
    pub const fn own_address(&self) -> &Url {
        &self.own_address
    }

    /// The client for an address. The store's own sandbox is exempt from the check.
    ///
    /// # Errors
    /// [`BlockedAddress`] when the host is an IP address that is not public. A name is checked when it is resolved: see [`is_blocked`].
    pub fn client(&self, address: &Url) -> Result<&Client, BlockedAddress> {
        if address.origin() == self.own_address.origin() {
            return Ok(&self.own);
        }
        check(self.private, address).map(|()| &self.external)
    }
}

/// A client that connects to the permitted addresses only, and to these proxies.
fn guarded(private: PrivateNetworks, builder: ClientBuilder, proxies: Vec<String>) -> ClientBuilder {
    match private {
        PrivateNetworks::Allowed => builder,
        PrivateNetworks::Refused => builder.dns_resolver(Arc::new(PublicResolver { proxies })),
    }
}

/// Checks a host that is written as an IP address, which is not resolved.
fn check(private: PrivateNetworks, address: &Url) -> Result<(), BlockedAddress> {
    let ip = match address.host() {
        Some(Host::Ipv4(ip)) => Some(IpAddr::V4(ip)),
        Some(Host::Ipv6(ip)) => Some(IpAddr::V6(ip)),
        _ => None,
    };
    match (private, ip) {
        (PrivateNetworks::Refused, Some(ip)) if !is_public(ip) => Err(BlockedAddress),
        _ => Ok(()),
    }
}

/// Reads documents at addresses that others name: the issuers of CI tokens, and instances of apps. Unlike [`Outbound`], it has no exemption
/// for the store itself.
#[derive(Debug, Clone)]
pub struct DocumentReader {
    client: Client,
    private: PrivateNetworks,
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error(transparent)]
    Blocked(#[from] BlockedAddress),
    #[error("the answer has the status {0}")]
    Status(u16),
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    #[error("no answer: {0}")]
    Failed(String),
}

impl DocumentReader {
    /// `timeout`: for a document as a whole. Uses the proxy settings of the environment, as [`Outbound`] does.
    pub fn new(private: PrivateNetworks, timeout: Duration) -> Result<Self, reqwest::Error> {
        Ok(Self { client: guarded(private, Self::builder(timeout), proxy_hosts()).build()?, private })
    }

    /// As [`Self::new`], without a proxy: for addresses that strangers name. A proxy resolves names itself, also to private addresses.
    pub fn without_proxy(private: PrivateNetworks, timeout: Duration) -> Result<Self, reqwest::Error> {
        Ok(Self { client: guarded(private, Self::builder(timeout).no_proxy(), Vec::new()).build()?, private })
    }

    fn builder(timeout: Duration) -> ClientBuilder {
        Client::builder().redirect(Policy::none()).connect_timeout(timeout).timeout(timeout)
    }

    /// The content of a document of at most `max` bytes.
    ///
    /// # Errors
    /// The address is not public, redirects, refuses, or does not answer in time.
    pub async fn read(&self, address: &Url, max: usize) -> Result<Vec<u8>, ReadError> {
        check(self.private, address)?;
        let mut response = self.client.get(address.clone()).send().await.map_err(failed)?;
        if response.status() != StatusCode::OK {
            return Err(ReadError::Status(response.status().as_u16()));
        }
        let mut content = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if content.len() + chunk.len() > max {
                return Err(ReadError::TooLarge(max));
            }
            content.extend_from_slice(&chunk);
        }
        Ok(content)
    }
}

fn failed(error: reqwest::Error) -> ReadError {
    match is_blocked(&error) {
        true => BlockedAddress.into(),
        false => ReadError::Failed(error.without_url().to_string()),
    }
}

/// Returns whether a request failed because its host has no public address.
#[must_use]
pub fn is_blocked(error: &reqwest::Error) -> bool {
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.is::<BlockedAddress>() {
            return true;
        }
        source = cause.source();
    }
    false
}

/// Resolves names to their public addresses only. The client connects to no other address than those returned.
struct PublicResolver {
    /// The hosts of the proxies in the environment, which the operator trusts.
    proxies: Vec<String>,
}

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let is_proxy = self.proxies.iter().any(|proxy| proxy.eq_ignore_ascii_case(name.as_str()));
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            Ok(Box::new(permitted(found, is_proxy)?.into_iter()) as Addrs)
        })
    }
}

fn permitted(found: impl Iterator<Item = SocketAddr>, is_proxy: bool) -> Result<Vec<SocketAddr>, BlockedAddress> {
    let addresses: Vec<_> = found.filter(|address| is_proxy || is_public(address.ip())).collect();
    if addresses.is_empty() { Err(BlockedAddress) } else { Ok(addresses) }
}

fn proxy_hosts() -> Vec<String> {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let values = names.iter().flat_map(|name| [std::env::var(name), std::env::var(name.to_ascii_lowercase())]).flatten();
    values.filter_map(|value| host_of(&value)).collect()
}

/// The host of a proxy, which may be written without a scheme.
fn host_of(proxy: &str) -> Option<String> {
    let address = Url::parse(proxy).ok().filter(Url::has_host).or_else(|| Url::parse(&format!("http://{proxy}")).ok())?;
    address.host_str().map(ToOwned::to_owned)
}

/// Whether an address is on the public internet, by the registries of special-purpose addresses of IANA. An address that embeds an IPv4
/// address is judged by it.
#[must_use]
pub fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    match ip.octets() {
        // This network, private networks, and loopback.
        [0 | 10 | 127, ..] | [172, 16..=31, ..] | [192, 168, ..] => false,
        // Networks behind a carrier's NAT, and link-local addresses.
        [100, 64..=127, ..] | [169, 254, ..] => false,
        // Protocol assignments, documentation, 6to4 relays, and benchmarks.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => false,
        // Multicast, reserved, and broadcast.
        [224..=255, ..] => false,
        _ => true,
    }
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match ip.segments() {
        // Mapped IPv4 addresses, and NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4.
        [0x2002, high, low, ..] => embedded(high, low),
        // Protocol assignments with Teredo, and documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Everything else that is not global unicast: unspecified, loopback, private, link-local, multicast.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SiteAnswer, site};

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        let public_addresses = "1.1.1.1 8.8.8.8 100.63.0.1 100.128.0.1 172.15.0.1 172.32.0.1 192.1.0.1 198.20.0.1 223.255.255.254 \
             2606:4700::1111 2a00:1450::1 ::ffff:1.1.1.1 64:ff9b::808:808 2002:0808:0808::1 2001:4860:4860::8888";
        for public in public_addresses.split(' ') {
            assert!(is_public(ip(public)), "{public}");
        }
        let private_addresses = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.255.0.1 169.254.169.254 172.16.0.1 \
             172.31.255.255 192.0.0.8 192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.7 203.0.113.9 \
             224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 ::ffff:127.0.0.1 \
             ::ffff:169.254.169.254 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2002:a00:1:: \
             2001::1 2001:db8::1 3fff::1 fc00::1 fd12::1 fe80::1 fec0::1 ff02::1 100::1";
        for private in private_addresses.split(' ') {
            assert!(!is_public(ip(private)), "{private}");
        }
    }

    #[test]
    fn a_name_resolves_to_its_public_addresses_only() {
        let both = || ["10.0.0.1:0", "1.1.1.1:0"].map(|address| address.parse().expect("an address")).into_iter();
        assert_eq!(permitted(both(), false).expect("one is public"), [SocketAddr::from(([1, 1, 1, 1], 0))]);
        assert_eq!(permitted(both().take(1), false), Err(BlockedAddress));
        assert_eq!(permitted(both(), true).expect("the proxy of the environment").len(), 2);
    }

    #[test]
    fn of_private_addresses_only_that_of_the_store_itself_is_exempt() {
        let own = Url::parse("http://127.0.0.1:8080/").expect("an address");
        let outbound = Outbound::new(own.clone(), PrivateNetworks::Refused, |builder| builder).expect("clients");
        // Settings name the sandbox by a path.
        let client = |address: &str| outbound.client(&own.join(address).expect("an address")).map(|_| ());
        assert_eq!(client("/sandbox/arcblock/api/"), Ok(()));
        assert_eq!(client("https://chain.example/api/"), Ok(()), "a name is checked when it is resolved");
        for address in [
            "http://127.0.0.1:5432/",
            "https://127.0.0.1:8080/",
            "//127.0.0.1:5432/",
            "/\\169.254.169.254/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://[::ffff:127.0.0.1]/",
            "http://0/",
        ] {
            assert_eq!(client(address), Err(BlockedAddress), "{address}");
        }
        let allowed = Outbound::new(own, PrivateNetworks::Allowed, |builder| builder).expect("clients");
        allowed.client(&Url::parse("http://10.0.0.1/").expect("an address")).expect("private networks are allowed");
    }

    #[tokio::test]
    async fn a_name_of_this_machine_is_blocked_when_it_is_resolved() {
        let own = Url::parse("http://127.0.0.1:1/").expect("an address");
        let outbound = Outbound::new(own, PrivateNetworks::Refused, ClientBuilder::no_proxy).expect("clients");
        let address = Url::parse("http://localhost:1/").expect("an address");
        let error = outbound.client(&address).expect("a client").get(address).send().await.expect_err("is blocked");
        assert!(is_blocked(&error), "{error:?}");
    }

    #[tokio::test]
    async fn a_document_is_read_within_its_limits_and_nowhere_else() {
        let address = site(|path| match path {
            "/small" => SiteAnswer::ok("0123456789"),
            "/large" => SiteAnswer::ok("0123456789x"),
            "/moved" => SiteAnswer::redirect("/small"),
            _ => SiteAnswer { status: 404, ..SiteAnswer::ok("0123456789") },
        })
        .await;
        let at = |path: &str| Url::parse(&format!("{address}{path}")).expect("an address");
        let reader = DocumentReader::without_proxy(PrivateNetworks::Allowed, Duration::from_secs(10)).expect("a client");
        assert_eq!(reader.read(&at("/small"), 10).await.expect("reads"), b"0123456789");
        for (path, refused) in [("/large", "larger than 10 bytes"), ("/moved", "status 302"), ("/none", "status 404")] {
            let error = reader.read(&at(path), 10).await.expect_err(path).to_string();
            assert!(error.contains(refused), "{error}");
        }
        let guarded = DocumentReader::without_proxy(PrivateNetworks::Refused, Duration::from_secs(10)).expect("a client");
        let by_name = at("/small").as_str().replace("127.0.0.1", "localhost");
        for address in [at("/small"), Url::parse(&by_name).expect("an address")] {
            let refused = guarded.read(&address, 10).await;
            assert!(matches!(refused, Err(ReadError::Blocked(_))), "{address} {refused:?}");
        }
    }

    #[tokio::test]
    async fn a_document_that_does_not_arrive_in_time_is_given_up() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = Url::parse(&format!("http://{}/", listener.local_addr().expect("an address"))).expect("an address");
        let reader = DocumentReader::without_proxy(PrivateNetworks::Allowed, Duration::from_millis(50)).expect("a client");
        assert!(matches!(reader.read(&address, 10).await, Err(ReadError::Failed(_))));
    }

    #[test]
    fn the_host_of_a_proxy_is_read_with_and_without_a_scheme() {
        for (proxy, host) in [("http://proxy.lan:3128", "proxy.lan"), ("proxy.lan:3128", "proxy.lan"), ("socks5://user@p:1", "p")] {
            assert_eq!(host_of(proxy).as_deref(), Some(host));
        }
    }
}
