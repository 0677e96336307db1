//! The addresses by which clients are counted.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The leading bits of an IPv6 address that name a visitor's network, in which the visitor can choose any address.
const IPV6_NETWORK: u128 = !0 << 64;
/// The leading bits of an IPv6 address that name a site. A site has up to 65,536 networks, and one visitor can use all of them.
const IPV6_SITE: u128 = !0 << 80;

/// Where a client connects from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Client {
    /// The whole address.
    pub address: IpAddr,
}

impl Client {
    /// An IPv4 address in IPv6 notation is that IPv4 address.
    pub fn at(address: IpAddr) -> Self {
        Self { address: address.to_canonical() }
    }

    /// The address by which a visitor is counted: an IPv4 address as it is, an IPv6 address without the 64 bits that its owner can choose.
    pub fn network(self) -> IpAddr {
        leading(self.address, IPV6_NETWORK)
    }

    /// The address by which visitors are counted for limits that nobody may use up for all.
    pub fn site(self) -> IpAddr {
        leading(self.address, IPV6_SITE)
    }
}

/// An IPv4 address as it is, and the leading bits of an IPv6 address.
fn leading(address: IpAddr, ipv6_bits: u128) -> IpAddr {
    match address {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & ipv6_bits)),
        address @ IpAddr::V4(_) => address,
    }
}

/// Whether an address is of this machine or of its own network, as that of a proxy usually is.
pub const fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}

/// The last address of an `X-Forwarded-For` header, which the nearest proxy added. Some proxies add the port as well, or put an IPv6 address
/// in brackets.
pub fn last_forwarded(header: &str) -> Option<IpAddr> {
    let text = header.rsplit(',').next()?.trim();
    let unbracketed = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    unbracketed.parse().ok().or_else(|| text.parse().ok().map(|socket: SocketAddr| socket.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_forwarded_address_is_read_with_or_without_a_port() {
        for (header, address) in [
            ("203.0.113.5, 198.51.100.7", "198.51.100.7"),
            ("198.51.100.7:4711", "198.51.100.7"),
            ("2001:db8::7", "2001:db8::7"),
            ("[2001:db8::7]", "2001:db8::7"),
            ("203.0.113.5,[2001:db8::7]:4711", "2001:db8::7"),
        ] {
            assert_eq!(last_forwarded(header).map(|address| address.to_string()).as_deref(), Some(address), "{header}");
        }
        for header in ["", "unknown", "198.51.100.7:port", "198.51.100.7,"] {
            assert_eq!(last_forwarded(header), None, "{header}");
        }
    }
}
