//! Strangers who hold connections, and ask for checkout and connect sessions, at ten times the limits. They come for half of each minute.

use super::MINUTE;
use super::measures::Measures;
use crate::connections::half_open;
use serde_json::json;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// Half-open connections that strangers hold at a process: ten times its limit of 96, with the descriptors that it has.
const CONNECTIONS: usize = 960;
/// New connections per second at a process. Each is closed after ten seconds, so this replaces all of them.
const CONNECTIONS_PER_SECOND: u32 = 96;
/// Connect sessions per second of an address, of which a process admits 20.
const CONNECTS_PER_SECOND: u32 = 200;
/// Checkout sessions per second of an address, of which a process admits 20.
const STARTS_PER_SECOND: u32 = 200;
/// Requests of each kind in progress at a process. More would exceed the connections of an address.
const IN_PROGRESS: usize = 8;
const TICK: Duration = Duration::from_millis(20);
const TICKS_PER_SECOND: u32 = 50;
/// The address of the strangers who ask for sessions.
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 77));
/// What strangers have begun ends after this time, and does not count as a time without them; so do the first seconds with them.
const SETTLED: Duration = Duration::from_secs(5);

/// The numbers of what strangers did.
#[derive(Debug, Default, Clone, Copy)]
pub struct Strangers {
    pub connections: u64,
    pub sessions: u64,
    /// Sessions that the store refused.
    pub refused: u64,
}

#[derive(Default)]
struct Counters {
    connections: AtomicU64,
    sessions: AtomicU64,
    refused: AtomicU64,
}

/// Comes in the second half of each minute.
pub async fn harass(measures: Arc<Measures>, targets: [SocketAddr; 2], links: Vec<String>, begun: Instant, minutes: u64) -> Strangers {
    let (counters, links) = (Arc::new(Counters::default()), Arc::new(links));
    let http = reqwest::Client::builder().local_address(ADDRESS).timeout(SETTLED).no_proxy().build().expect("a client");
    for minute in 0..minutes {
        let start = begun + MINUTE * u32::try_from(minute).expect("few minutes");
        let (middle, end) = (start + MINUTE / 2, start + MINUTE);
        tokio::time::sleep_until(middle.into()).await;
        measures.quiet(start + SETTLED, middle);
        let mut strangers = JoinSet::new();
        for target in targets {
            strangers.spawn(hold_connections(target, Arc::clone(&counters), end));
            let connect = (CONNECTS_PER_SECOND, "api/did/login/token?livemode=false&locale=en".to_owned());
            let starts = links.iter().map(|link| format!("api/checkout-sessions/start/{link}?livemode=false"));
            let starts = starts.map(|path| (STARTS_PER_SECOND / u32::try_from(links.len()).expect("few links"), path));
            let places = [Arc::new(Semaphore::new(IN_PROGRESS)), Arc::new(Semaphore::new(IN_PROGRESS))];
            for (kind, (rate, path)) in std::iter::once(connect).chain(starts).enumerate() {
                let (http, places, url) = (http.clone(), Arc::clone(&places[kind.min(1)]), format!("http://{target}/{path}"));
                strangers.spawn(ask(http, url, rate, places, Arc::clone(&counters), end));
            }
        }
        strangers.join_all().await;
        measures.harassed(middle + SETTLED, end);
    }
    Strangers {
        connections: counters.connections.load(Ordering::Relaxed),
        sessions: counters.sessions.load(Ordering::Relaxed),
        refused: counters.refused.load(Ordering::Relaxed),
    }
}

/// Opens connections, sends half a request on each, and holds them.
async fn hold_connections(target: SocketAddr, counters: Arc<Counters>, end: Instant) {
    let mut held = VecDeque::with_capacity(CONNECTIONS);
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / CONNECTIONS_PER_SECOND);
    for number in 0.. {
        ticks.tick().await;
        if Instant::now() >= end {
            return;
        }
        // A killed process refuses connections.
        let Some(connection) = half_open(target, number).await else { continue };
        counters.connections.fetch_add(1, Ordering::Relaxed);
        if held.len() == CONNECTIONS {
            held.pop_front();
        }
        held.push_back(connection);
    }
}

/// Asks for sessions at a rate, whether they are answered or not, unless as many requests are in progress as an address may have.
async fn ask(http: reqwest::Client, url: String, rate: u32, places: Arc<Semaphore>, counters: Arc<Counters>, end: Instant) {
    let mut ticks = tokio::time::interval(TICK);
    let (mut due, mut asked) = (0, JoinSet::new());
    while Instant::now() < end {
        ticks.tick().await;
        due += rate;
        while due >= TICKS_PER_SECOND {
            due -= TICKS_PER_SECOND;
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
            let (request, counters) = (http.post(&url).json(&json!({})), Arc::clone(&counters));
            asked.spawn(async move {
                let _place = place;
                let Ok(response) = request.send().await else { return };
                let is_refused = response.status().as_u16() == 429;
                // The connection serves the next request once the body is read.
                if response.bytes().await.is_ok() {
                    counters.sessions.fetch_add(1, Ordering::Relaxed);
                    counters.refused.fetch_add(u64::from(is_refused), Ordering::Relaxed);
                }
            });
        }
        while asked.try_join_next().is_some() {}
    }
    asked.join_all().await;
}
