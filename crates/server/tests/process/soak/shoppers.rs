//! Customers who buy all the time, and a store that refunds some of their purchases.

use super::Stage;
use crate::buyer::{Buyer, End, Plan, below};
use crate::crash::links;
use crate::store_client::{CallError, CallOptions, StoreClient};
use reqwest::Method;
use serde_json::json;
use souk_adapters::persistence::Database;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Maximum time of one purchase.
const DEADLINE: Duration = Duration::from_secs(60);
/// Pause of a customer between two purchases, and after a lost request.
const PAUSE: Duration = Duration::from_millis(400);
/// Purchases of a customer before another one comes.
const PURCHASES: usize = 4;
/// Products with unlimited stock come first.
const UNLIMITED: usize = 7;
/// One in so many purchases is refunded.
const REFUNDED: u32 = 3;
/// Tries of an ordered refund whose answer is lost.
const TRIES: u32 = 300;

pub struct Shop {
    client: Arc<StoreClient>,
    database: Database,
    /// The API key with which the store refunds.
    key: String,
    seed: u64,
    links: Vec<String>,
    pub closing: AtomicBool,
    pub begun: AtomicU64,
    complete: Mutex<Vec<String>>,
    refunded: Mutex<Vec<String>>,
}

impl Shop {
    pub async fn open(stage: &Stage, key: String, seed: u64) -> Self {
        let mut links = links(&stage.client).await;
        links.truncate(UNLIMITED);
        Self {
            client: Arc::clone(&stage.client),
            database: Database::clone(&stage.database),
            key,
            seed,
            links,
            closing: AtomicBool::default(),
            begun: AtomicU64::default(),
            complete: Mutex::default(),
            refunded: Mutex::default(),
        }
    }

    pub fn links(&self) -> &[String] {
        &self.links
    }

    /// The sessions that their buyers have seen complete.
    pub fn complete(&self) -> Vec<String> {
        self.complete.lock().expect("no panic").clone()
    }

    /// The sessions whose refund the store has accepted.
    pub fn refunded(&self) -> Vec<String> {
        self.refunded.lock().expect("no panic").clone()
    }

    /// Lets one customer after another buy, until the shop closes.
    pub async fn shop(self: Arc<Self>, number: u64) {
        for customer in 0.. {
            let seed = self.seed ^ (number << 32) ^ customer;
            let Ok(buyer) = tokio::time::timeout(DEADLINE, Buyer::arrive(Arc::clone(&self.client), seed)).await else { continue };
            for _ in 0..PURCHASES {
                if self.closing.load(Ordering::Relaxed) {
                    return;
                }
                self.buy(&buyer).await;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    async fn buy(&self, buyer: &Buyer) {
        let begun = self.begun.fetch_add(1, Ordering::Relaxed);
        let link = &self.links[usize::try_from(begun).expect("few") % self.links.len()];
        let plan = Plan::any(buyer.random());
        let Ok(End::Complete(session)) = tokio::time::timeout(DEADLINE, buyer.buy(link, plan)).await else { return };
        self.complete.lock().expect("no panic").push(session.clone());
        if below(buyer.random(), REFUNDED) == 0 {
            self.refund(session).await;
        }
    }

    /// Refunds a purchase. A retry after a lost response uses the same idempotency key.
    async fn refund(&self, session: String) {
        let select = "SELECT intent_id FROM checkout_sessions WHERE id = $1";
        let row = self.database.read().await.expect("reads").query(select).bind(session.as_str()).one().await.expect("reads");
        let intent: String = row.get("intent_id").expect("a paid session has an intent");
        let order = json!({ "payment_intent_id": intent, "reason": "requested_by_customer" });
        for _ in 0..TRIES {
            let options = CallOptions { bearer: Some(&self.key), key: Some(&session), json: Some(order.clone()), ..CallOptions::default() };
            match self.client.call(Method::POST, "api/refunds?livemode=false", options).await {
                Ok(_) => return self.refunded.lock().expect("no panic").push(session),
                // Lost, or the first request is still in progress, or a concurrent change: it is sent again.
                Err(CallError::Lost(_)) => {}
                Err(CallError::Rejected { status: 409 | 429 | 503, .. }) => {}
                Err(error) => panic!("a refund of {session} is rejected: {error:?}"),
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("the refund of {session} was never answered");
    }
}
