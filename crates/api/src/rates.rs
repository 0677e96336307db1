//! Rates by address, by site and in total.

use crate::client_address::Client;
use crate::problem::Problem;
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, DefaultKeyedRateLimiter, NotUntil, Quota, RateLimiter};
use poem::http::StatusCode;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::num::NonZeroU32;

/// The share of a total that one site may use.
pub const SHARE_OF_A_SITE: u32 = 8;

/// A rate of calls, and how many may come at once.
#[derive(Clone, Copy)]
pub struct Rate {
    pub per_second: u32,
    pub burst: u32,
}

impl Rate {
    pub fn quota(self) -> Quota {
        Quota::per_second(positive(self.per_second)).allow_burst(positive(self.burst))
    }

    const fn of_site(self) -> Self {
        Self { per_second: self.per_second / SHARE_OF_A_SITE, burst: self.burst / SHARE_OF_A_SITE }
    }
}

fn positive(count: u32) -> NonZeroU32 {
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}

/// A rate limit by address. Its memory does not grow with the number of addresses, and no call scans it: each address belongs to one of
/// 65,536 quotas. Two addresses seldom share one, and nobody can choose to share another's, because the hash is seeded for each process.
pub struct RateByAddress {
    quotas: DefaultKeyedRateLimiter<u16>,
    seed: RandomState,
}

impl RateByAddress {
    pub fn new(quota: Quota) -> Self {
        Self { quotas: RateLimiter::keyed(quota), seed: RandomState::new() }
    }

    pub fn admit(&self, address: Option<IpAddr>) -> Result<(), Problem> {
        self.admit_many(address, NonZeroU32::MIN)
    }

    fn admit_many(&self, address: Option<IpAddr>, count: NonZeroU32) -> Result<(), Problem> {
        let Some(address) = address else { return Ok(()) };
        let [low, high, ..] = self.seed.hash_one(address).to_le_bytes();
        let admitted = self.quotas.check_key_n(&u16::from_le_bytes([low, high]), count);
        admitted.map_err(|_| Problem::body_too_large())?.map_err(|not_until| too_many(&not_until))
    }
}

/// Limits of an address and of all together, of which no site can use up more than its share.
pub struct SharedRate {
    by_address: RateByAddress,
    by_site: RateByAddress,
    total: DefaultDirectRateLimiter,
}

impl SharedRate {
    pub fn per_hour(of_address: u32, total: u32) -> Self {
        let per_hour = |count| Quota::per_hour(positive(count));
        Self::of_quotas(per_hour(of_address), per_hour(total / SHARE_OF_A_SITE), per_hour(total))
    }

    pub fn of_rates(of_address: Rate, total: Rate) -> Self {
        Self::of_quotas(of_address.quota(), total.of_site().quota(), total.quota())
    }

    fn of_quotas(of_address: Quota, of_site: Quota, total: Quota) -> Self {
        Self { by_address: RateByAddress::new(of_address), by_site: RateByAddress::new(of_site), total: RateLimiter::direct(total) }
    }

    pub fn admit(&self, client: Option<Client>) -> Result<(), Problem> {
        self.admit_many(client, 1)
    }

    /// Counts `count` at once, of what is not counted by calls.
    pub fn admit_many(&self, client: Option<Client>, count: u32) -> Result<(), Problem> {
        let count = positive(count);
        // The site is checked first, so that its rejected calls do not use up quotas that other addresses share.
        self.by_site.admit_many(client.map(Client::site), count)?;
        self.by_address.admit_many(client.map(Client::network), count)?;
        self.total.check_n(count).map_err(|_| Problem::body_too_large())?.map_err(|not_until| too_many(&not_until))
    }
}

fn too_many(not_until: &NotUntil<<DefaultClock as governor::clock::Clock>::Instant>) -> Problem {
    let wait = not_until.wait_time_from(DefaultClock::default().now()).as_secs() + 1;
    let message = format!("Too many requests, please try again in {wait} s");
    Problem::new(StatusCode::TOO_MANY_REQUESTS, message).code("TOO_MANY_REQUESTS").param("seconds", wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_rate_limit_does_not_grow_with_the_number_of_addresses() {
        let limit = RateByAddress::new(Rate { per_second: 20, burst: 200 }.quota());
        for n in 0..200_000_u32 {
            limit.admit(Some(IpAddr::V4(n.into()))).expect("seldom more than a few addresses share a quota");
        }
        assert!(limit.quotas.len() <= 1 << 16);
    }
}
