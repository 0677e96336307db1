//! Remembers which networks run an older generation of the chain's software, so that they are asked without the fields that they do not
//! know.

use souk_domain::shared::Timestamp;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// How long a network counts as older. Then it is asked with the newer fields again, because it may have been upgraded.
const REMEMBERED: Duration = Duration::from_secs(3_600);

/// The networks that rejected newer fields, with the time of the rejection.
#[derive(Debug, Default)]
pub struct OlderNetworks(Mutex<HashMap<Url, Timestamp>>);

impl OlderNetworks {
    pub fn contains(&self, network: &Url, now: Timestamp) -> bool {
        let networks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        networks.get(network).is_some_and(|rejected_at| now.since(*rejected_at) < REMEMBERED)
    }

    pub fn insert(&self, network: Url, now: Timestamp) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(network, now);
    }
}
