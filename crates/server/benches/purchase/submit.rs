//! Measures submits of the checkout form against the baseline and against idempotent replays.

use crate::baseline::SERVE;
use crate::buyer::Buyer;
use crate::report::Figure;
use crate::server::BaselineServer;
use crate::souk::Settings;
use crate::store_client::{CallOptions, StoreClient};
use reqwest::{Client, Method};
use serde_json::{Value, json};
use souk_adapters::testing::TestDatabase;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use url::Url;

const CONNECTIONS: usize = 16;
/// Number of submits per connection and round.
const SUBMITS: usize = 60;
/// Number of rounds of the baseline and of the store, which alternate.
const ROUNDS: usize = 5;
/// Number of first requests whose replay is measured.
const REPLAYS: usize = 200;

pub async fn on_sqlite() -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings = Settings::sqlite(folder.path());
    let baseline = format!("sqlite://{}", folder.path().join("baseline.db").display());
    println!("an fsync takes {:.2} ms on this disk", fsync(folder.path()));
    measure(&settings, &baseline, "").await
}

pub async fn on_postgres() -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = TestDatabase::postgres().await;
    let settings = Settings { database: Some(database.address().to_owned()), ..Settings::sqlite(folder.path()) };
    measure(&settings, database.address(), "_postgres").await
}

async fn measure(settings: &Settings, baseline: &str, engine: &str) -> Vec<Figure> {
    let made = settings.command(&["key", "create", "--name", "bench", "--scope", "*"]).output().await.expect("makes a key");
    let made = String::from_utf8(made.stdout).expect("text");
    let key = made.split_whitespace().nth(1).expect("a secret").to_owned();
    let souk = settings.start().await;
    let baseline = BaselineServer::start(&[SERVE, baseline]).await;
    let store = Store::open(&souk.address, key).await;

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut medians = [Vec::new(), Vec::new()];
    round(&baseline.address, Round::Baseline).await;
    round(&souk.address, Round::Submit(store.sessions(CONNECTIONS * 8).await)).await;
    for _ in 0..ROUNDS {
        let times = round(&baseline.address, Round::Baseline).await;
        medians[1].push(percentile(times.clone(), 50));
        theirs.push(percentile(times, 99));
        let sessions = store.sessions(CONNECTIONS * SUBMITS).await;
        let times = round(&souk.address, Round::Submit(sessions)).await;
        medians[0].push(percentile(times.clone(), 50));
        ours.push(percentile(times, 99));
    }
    println!("submit{engine}: p99 in ms, ours {ours:.2?}, the baseline {theirs:.2?}");
    println!("submit{engine}: p50 in ms, ours {:.2?}, the baseline {:.2?}", medians[0], medians[1]);
    let (first, replayed) = replays(&souk.address, store.sessions(REPLAYS).await).await;
    souk.kill().await;
    let [our_medians, their_medians] = medians.map(median);
    // On PostgreSQL a submit is a dozen round trips against one insert, and its 99th percentile depends mostly on other load of the
    // machine.
    let (p50_aim, p99_aim) = if engine.is_empty() { (f64::INFINITY, 2.0) } else { (8.0, f64::INFINITY) };
    let figure =
        |name: &str, unit, value, baseline, aim| Figure { name: format!("{name}{engine}"), value, unit, baseline: Some(baseline), aim };
    vec![
        figure("submit_p50", "ms", our_medians, their_medians, p50_aim),
        figure("submit_p99", "ms", median(ours), median(theirs), p99_aim),
        figure("replay_p50", "ms", replayed, first, 0.5),
    ]
}

/// A session to submit, and the cookie of its payer.
struct Open {
    path: String,
    cookies: Arc<str>,
}

struct Store {
    client: StoreClient,
    key: String,
    prices: Vec<String>,
    buyers: Vec<Arc<str>>,
}

impl Store {
    async fn open(address: &Url, key: String) -> Self {
        let client = Arc::new(StoreClient::new());
        client.move_to(vec![address.clone()]);
        let mut buyers = Vec::new();
        for number in 0..CONNECTIONS {
            buyers.push(Buyer::arrive(Arc::clone(&client), number as u64).await.cookies.into());
        }
        // Use apps without a stock limit whose form requires only name and email. Several, because buyers of one price wait for each other.
        let mut prices = Vec::new();
        for app in ["hushwave", "pixel-press", "regex-bench", "ledgerleaf", "plainboard", "cipherpost"] {
            let found = client.get(&format!("api/apps?livemode=false&price=paid&keyword={app}"), None).await.expect("lists");
            let link = found["list"][0]["payment_link_id"].as_str().expect("a link");
            let started =
                client.post(&format!("api/checkout-sessions/start/{link}?livemode=false"), None, json!({})).await.expect("starts");
            prices.push(started["checkoutSession"]["line_items"][0]["price_id"].as_str().expect("a price").to_owned());
        }
        let client = Arc::into_inner(client).expect("nobody else holds it");
        Self { client, key, prices, buyers }
    }

    /// Creates sessions as an integrator.
    async fn sessions(&self, count: usize) -> Vec<Open> {
        let mut sessions = Vec::new();
        for number in 0..count {
            let json = json!({ "line_items": [{ "price_id": self.prices[number % self.prices.len()], "quantity": 1 }] });
            let options = CallOptions { json: Some(json), bearer: Some(&self.key), ..CallOptions::default() };
            let made = self.client.call(Method::POST, "api/checkout-sessions", options).await.expect("makes a session");
            let id = made.body["id"].as_str().expect("an id").to_owned();
            let path = format!("api/checkout-sessions/{id}/submit?livemode=false");
            sessions.push(Open { path, cookies: Arc::clone(&self.buyers[number % CONNECTIONS]) });
        }
        sessions
    }
}

enum Round {
    Baseline,
    Submit(Vec<Open>),
}

/// Sends requests over [`CONNECTIONS`] connections and returns their durations in milliseconds. The clients are created beforehand,
/// because creating them would otherwise determine the 99th percentile.
async fn round(address: &Url, round: Round) -> Vec<f64> {
    let clients: Vec<_> = (0..CONNECTIONS).map(|_| client()).collect();
    let mut lanes: Vec<Vec<Option<Open>>> = (0..CONNECTIONS).map(|_| Vec::new()).collect();
    match round {
        Round::Baseline => lanes.iter_mut().for_each(|lane| lane.extend((0..SUBMITS).map(|_| None))),
        Round::Submit(sessions) => sessions.into_iter().enumerate().for_each(|(n, open)| lanes[n % CONNECTIONS].push(Some(open))),
    }
    let lanes: Vec<_> = lanes
        .into_iter()
        .zip(clients)
        .map(|(lane, client)| {
            let address = address.clone();
            tokio::spawn(async move {
                let mut times = Vec::with_capacity(lane.len());
                for open in lane {
                    let begun = Instant::now();
                    match open {
                        Some(open) => submit(&client, &address, &open, None).await,
                        None => {
                            let answer = client.post(address.clone()).json(&form()).send().await.expect("answers");
                            assert!(answer.status().is_success());
                        }
                    }
                    times.push(milliseconds(begun));
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for lane in lanes {
        times.extend(lane.await.expect("a connection's own code does not fail"));
    }
    times
}

/// Sends one request at a time. Returns the medians of first requests with an idempotency key and of their replays.
async fn replays(address: &Url, sessions: Vec<Open>) -> (f64, f64) {
    let client = client();
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for (number, open) in sessions.iter().enumerate() {
        let key = format!("bench-{number}");
        for times in [&mut first, &mut again] {
            let begun = Instant::now();
            submit(&client, address, open, Some(&key)).await;
            times.push(milliseconds(begun));
        }
    }
    (percentile(first, 50), percentile(again, 50))
}

async fn submit(client: &Client, address: &Url, open: &Open, key: Option<&str>) {
    let url = address.join(&open.path).expect("a path");
    let mut request = client.put(url).header("cookie", &*open.cookies).json(&form());
    if let Some(key) = key {
        request = request.header("idempotency-key", key);
    }
    let answer = request.send().await.expect("answers");
    let status = answer.status();
    let body = answer.bytes().await.expect("answers whole");
    assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
}

/// The duration of writing and syncing a page to disk, in milliseconds. The slower the disk, the smaller the store's share of a submit.
fn fsync(folder: &Path) -> f64 {
    let mut file = tempfile::tempfile_in(folder).expect("a file");
    let keep = |_| {
        file.write_all(&[0; 4096]).expect("writes");
        let begun = Instant::now();
        file.sync_all().expect("keeps");
        milliseconds(begun)
    };
    median((0..100).map(keep).collect())
}

fn form() -> Value {
    json!({
        "payment_method": "pm_sandbox_1_wallet", "payment_currency": "pc_sandbox_1_token",
        "customer_name": "A buyer", "customer_email": "buyer@souk.example",
        "billing_address": { "country": "us", "state": "CA", "postal_code": "94105" },
    })
}

fn client() -> Client {
    Client::builder().timeout(Duration::from_secs(30)).no_proxy().build().expect("a client")
}

fn milliseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1_000.0
}

fn percentile(mut times: Vec<f64>, percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn median(times: Vec<f64>) -> f64 {
    percentile(times, 50)
}
