//! Connect sessions in which a wallet signs, and the decisions of the network about what it signed.

use super::{ACCEPTED, Buyer, Connect, Plans, TestApp, claim_of, signed_claim};
use serde_json::{Value, json};
use souk_adapters::testing::TestDatabase;
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::payment::{self, Attempt, AttemptContext, Decline, Outcome, Purpose, PurposeKind, Settlement, Trigger, check_due};
use souk_domain::shared::{Amount, Mode};
use souk_domain::storage::UnitOfWork;
use souk_sandbox::ledger::Generation;
use std::time::Duration;
use tokio::time::sleep;

/// The price of a unit of gas, in base units.
pub const GAS_PRICE: u64 = 10_000_000_000_000;

/// The generation of the network's software for the tests of a database: both databases together take both.
pub fn generation_for(db: &TestDatabase) -> Generation {
    if db.address().starts_with("sqlite") { Generation::Current } else { Generation::V1_20_8 }
}

impl TestApp {
    /// Opens the service at a network that charges gas. The store has staked for it. Each database takes one generation of the network.
    pub async fn with_gas(db: &TestDatabase) -> Self {
        let app = Self::on(db).await;
        app.stake_for_gas(generation_for(db)).await;
        app
    }

    /// Lets the network charge gas, and stakes for it.
    pub async fn stake_for_gas(&self, generation: Generation) {
        self.networks.set_chain(generation, GAS_PRICE).await;
        self.networks.faucet(self.app_key.did().as_str()).await;
        payment::stake_for_gas(&self.ctx, Mode::Test, &self.shop.wallet).await.expect("stakes");
        self.advance(Duration::from_secs(1));
    }

    /// Lets the reconciler query the network about everything in flight a minute later, and runs the resulting jobs.
    pub async fn reconcile_later(&self) {
        self.advance(Duration::from_secs(60));
        check_due(&self.ctx, 10).await.expect("checks");
        self.drain().await;
    }
}

/// A connect session whose wallet has signed the payment of a new order, and the final message to the wallet.
pub async fn pay(app: &TestApp, alice: &Buyer) -> (Connect, Value) {
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(app, &session).await;
    let (connect, asked) = alice.request_payment(app, &session).await;
    let answer = connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked)).await;
    (connect, answer)
}

/// Waits until the network has decided.
pub async fn wait_for_status(connect: &Connect, status: &str) -> Value {
    loop {
        let seen = connect.status().await.ok();
        if seen["status"] == status {
            return seen;
        }
        assert_eq!(seen["status"], "scanned", "{seen}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// An order of a plan with a deposit, its connect session, and the request for the mandate.
pub async fn begin_plan(app: &TestApp, alice: &Buyer) -> (String, Connect, Value) {
    let plans = Plans::put(app).await;
    let link = plans.link(app, &[&plans.monthly], SubscriptionTerms::default()).await;
    begin_order(app, alice, &link).await
}

/// As [`begin_plan`], for a plan without a deposit.
pub async fn begin_plain_plan(app: &TestApp, alice: &Buyer) -> (String, Connect, Value) {
    let link = Plans::put(app).await.plain(app).await;
    begin_order(app, alice, &link).await
}

/// As [`begin_plan`], for the plan of a link.
pub async fn begin_order(app: &TestApp, alice: &Buyer, link: &str) -> (String, Connect, Value) {
    let session = alice.start_link(link).await;
    alice.submit_for_wallet(app, &session).await;
    let query = format!("&checkoutSessionId={session}&sessionUserDid={}", alice.wallet.did());
    let connect = Connect::begin(app, &alice.browser, "subscription", &query).await;
    let asked = connect.scan().await;
    assert_eq!(asked["requestedClaims"][0]["type"], "signature", "{asked}");
    (session, connect, asked)
}

pub async fn sign(connect: &Connect, alice: &Buyer, asked: &Value) -> Value {
    connect.answer(&alice.wallet, asked, signed_claim(&alice.wallet, asked)).await
}

/// Records that the network has declined the open mandate of a connect session.
pub async fn decline_mandate(app: &TestApp, connect: &Connect) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let transactions = unit.attempts().of_connect_session(&connect.token).await.expect("reads");
    let mandate = transactions.into_iter().find(|attempt| matches!(attempt.purpose, Purpose::Mandate(_))).expect("a mandate");
    assert!(mandate.status.is_open());
    record_decline(app, unit.as_mut(), mandate).await;
    unit.commit().await.expect("commits");
}

/// As [`decline_mandate`], in a unit of work of the caller.
pub async fn record_decline(app: &TestApp, unit: &mut dyn UnitOfWork, attempt: Attempt) {
    let decline = Decline { code: "INSUFFICIENT_GAS".to_owned(), message: "No gas".to_owned() };
    record(app, unit, attempt, Outcome::Declined(decline)).await;
}

/// Records that the network has settled an attempt with this amount.
pub async fn record_settled(app: &TestApp, unit: &mut dyn UnitOfWork, attempt: Attempt, amount: Amount) {
    let settlement = Settlement { reference: "0xab".to_owned(), payer: String::new(), amount, card: None };
    record(app, unit, attempt, Outcome::Settled(settlement)).await;
}

async fn record(app: &TestApp, unit: &mut dyn UnitOfWork, attempt: Attempt, outcome: Outcome) {
    let method = unit.methods().find(&attempt.method_id).await.expect("reads").expect("a method");
    let currency = unit.methods().find_currency(&attempt.currency_id).await.expect("reads").expect("a currency");
    let context = AttemptContext { attempt, method, currency };
    payment::record(&app.ctx, unit, &context, &outcome, Trigger::Reconciler).await.expect("records");
}

/// The purposes of the transactions of a connect session, in a fixed order: while the clock stands still, their own is unknown.
pub async fn signed_purposes(app: &TestApp, connect: &Connect) -> Vec<PurposeKind> {
    let transactions = payment::connect_transactions(&app.ctx, &connect.token).await.expect("reads");
    let mut purposes: Vec<_> = transactions.iter().map(|attempt| attempt.purpose.kind()).collect();
    purposes.sort();
    purposes
}

/// Checks that the wallet's answer is the decline that [`decline_mandate`] records.
pub fn assert_refused(answer: &Value) {
    assert_eq!((&answer["status"], &answer["errorCode"]), (&json!("error"), &json!("NETWORK_DECLINED")), "{answer}");
    assert_eq!((&answer["errorMessage"], &answer["errorParams"]), (&json!("No gas"), &json!({ "reason": "INSUFFICIENT_GAS" })));
}

/// Checks that the page shows the decline that [`decline_mandate`] records.
pub fn assert_failed(seen: &Value) {
    assert_eq!((&seen["status"], &seen["code"]), (&json!("error"), &json!("NETWORK_DECLINED")), "{seen}");
    assert_eq!((&seen["error"], &seen["params"]), (&json!("No gas"), &json!({ "reason": "INSUFFICIENT_GAS" })));
}

/// Checks that the wallet is told that its payment or authorization is being confirmed.
pub fn assert_confirming(answer: &Value) {
    assert_eq!(answer["status"], "ok", "{answer}");
    assert!(answer["successMessage"].as_str().is_some_and(|message| message.contains("being confirmed")), "{answer}");
}

/// Changes a subscription to a card, so that its deposit is returned.
pub async fn change_to_card(app: &TestApp, alice: &Buyer, id: &str) {
    let body = json!({ "payment_method": app.shop.card.as_str(), "payment_currency": app.shop.dollar.as_str() });
    let browser = alice.browser.connecting_from("192.0.2.7:1000");
    let asked = browser.post(&format!("/api/subscriptions/{id}/change-payment"), &body).await.ok();
    let of_visitors = "SELECT count(*) AS n FROM hourly_counts WHERE subject LIKE 'card:test:visitor:%'";
    assert_eq!(app.count(of_visitors).await, 1, "the form counts for the visitor who opened it");
    app.networks.confirm(asked["stripeContext"]["client_secret"].as_str().expect("a secret"), ACCEPTED).await;
    app.advance(Duration::from_secs(5));
    alice.browser.get(&format!("/api/subscriptions/{id}")).await.ok();
    app.drain().await;
    app.move_stakes().await;
    app.advance(Duration::from_secs(5));
}

/// A subscription with a deposit that is charged by card after its customer has changed from the wallet, and a connect session for the change
/// back to the wallet, which needs a delegation and a deposit.
pub async fn change_currency(app: &TestApp, alice: &Buyer) -> (String, Connect) {
    let plans = Plans::put(app).await;
    let link = plans.link(app, &[&plans.monthly], SubscriptionTerms::default()).await;
    let session = alice.subscribe(app, &link).await;
    let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
    change_to_card(app, alice, &id).await;
    let query = format!("&subscriptionId={id}&currencyId={}", app.shop.token);
    let connect = Connect::begin(app, &alice.browser, "change-payment", &query).await;
    (id, connect)
}
