//! Which downloads are counted: one a day for each network and app, so that a script does not raise an app in the lists.

use souk_domain::access::Did;
use souk_domain::shared::Timestamp;
use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

/// How many downloads are remembered, in about 16 MB. After that, all are forgotten.
const REMEMBERED_MAX: usize = 1_000_000;
const SECONDS_OF_A_DAY: i64 = 86_400;

/// The downloads of a day, by hashes of network and app. Each process has its own.
#[derive(Default)]
pub struct CountedDownloads {
    seed: RandomState,
    today: Mutex<Day>,
}

#[derive(Default)]
struct Day {
    number: i64,
    downloads: HashSet<u64>,
}

impl CountedDownloads {
    /// Whether the network has not downloaded the app on the day of `now`.
    pub fn is_first(&self, network: IpAddr, app: &Did, now: Timestamp) -> bool {
        let number = now.seconds().div_euclid(SECONDS_OF_A_DAY);
        let download = self.seed.hash_one((network, app.as_str()));
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        if today.number != number || today.downloads.len() >= REMEMBERED_MAX {
            *today = Day { number, downloads: HashSet::new() };
        }
        today.downloads.insert(download)
    }
}
