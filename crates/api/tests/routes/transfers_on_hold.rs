//! `/api/transfers`: refunds and deposits whose network moved a different amount than ordered. The reports of the network are made up, so the
//! tests do not compare the store with it.

use crate::app::{Buyer, Connect, Plans, TOKEN, TestApp, signed_claim};
use serde_json::{Value, json};
use souk_domain::checkout::{ExpireError, SubscriptionTerms, expire_session};
use souk_domain::payment::{self, AttemptContext, Outcome, Purpose, Settlement, Trigger};
use souk_domain::shared::{Amount, RefundId, SessionId};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const ON_HOLD: &str = "/api/transfers/on-hold";

fn tokens(whole: u128) -> Value {
    json!((whole * TOKEN).to_string())
}

/// A refund of 4 of 10 tokens of which the network reports `moved` as sent. Returns the id of the invoice.
async fn held_refund(app: &TestApp, buyer: &Buyer, owner: &Buyer, moved: u128) -> Value {
    let session = buyer.buy(app, &app.shop.atlas).await;
    let invoice = buyer.retrieve(&session).await["checkoutSession"]["invoice_id"].clone();
    let refund = owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "4" })).await.ok();
    let refund = Purpose::Refund(RefundId::parse(refund["id"].as_str().expect("a text")).expect("an id"));
    reports(app, &refund, moved).await;
    invoice
}

/// The network reports that the open transfer of this purpose moved `moved` tokens.
async fn reports(app: &TestApp, purpose: &Purpose, moved: u128) {
    let mut unit = app.ctx.store.begin().await.expect("begins");
    let attempt = unit.attempts().open_of(purpose).await.expect("reads").expect("an attempt");
    let method = unit.methods().find(&attempt.method_id).await.expect("reads").expect("a method");
    let currency = unit.methods().find_currency(&attempt.currency_id).await.expect("reads").expect("a currency");
    let settlement = Settlement { reference: "0xABCD".to_owned(), payer: String::new(), amount: Amount::new(moved * TOKEN), card: None };
    let context = AttemptContext { attempt, method, currency };
    payment::record(&app.ctx, unit.as_mut(), &context, &Outcome::Settled(settlement), Trigger::Reconciler).await.expect("is recorded");
    unit.commit().await.expect("commits");
}

/// A checkout of a plan with a deposit of 10 tokens of which the network reports `moved` as paid in. Returns the id of the session.
async fn held_deposit(app: &TestApp, buyer: &Buyer, moved: u128) -> String {
    let plans = Plans::put(app).await;
    let session = buyer.start_link(&plans.link(app, &[&plans.monthly], SubscriptionTerms::default()).await).await;
    buyer.submit_for_wallet(app, &session).await;
    let connect = Connect::begin(app, &buyer.browser, "subscription", &format!("&checkoutSessionId={session}")).await;
    let mut asked = connect.scan().await;
    while asked["requestedClaims"][0]["type"] != "prepareTx" {
        asked = connect.answer(&buyer.wallet, &asked, signed_claim(&buyer.wallet, &asked)).await;
    }
    app.networks.ledger_fault(json!({ "mode": "drop_request" })).await;
    connect.answer(&buyer.wallet, &asked, signed_claim(&buyer.wallet, &asked)).await;
    let mut unit = app.ctx.store.read().await.expect("reads");
    let found = unit.sessions().find(&SessionId::parse(&session).expect("an id")).await.expect("reads").expect("exists");
    drop(unit);
    reports(app, &Purpose::Stake(found.stake_id.expect("a deposit")), moved).await;
    session
}

#[tokio::test]
async fn the_store_lists_transfers_on_hold_until_they_are_resolved() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    assert_eq!(owner.browser.get(ON_HOLD).await.ok(), json!({ "count": 0, "list": [] }));
    let invoice = held_refund(&app, &alice, &owner, 3).await;
    app.browser().get(ON_HOLD).await.refused(401);
    alice.browser.get(ON_HOLD).await.refused(403);
    assert_eq!(owner.browser.live().get(ON_HOLD).await.ok()["count"], 0);
    let listed = owner.browser.get(ON_HOLD).await.ok();
    let transfer = &listed["list"][0];
    assert_eq!((&listed["count"], &transfer["type"], &transfer["invoice_id"]), (&json!(1), &json!("refund"), &invoice));
    assert_eq!((&transfer["amount"], &transfer["amount_moved"]), (&tokens(4), &tokens(3)));
    assert_eq!((&transfer["decisions"], &transfer["livemode"]), (&json!(["retry", "balance"]), &json!(false)));
    assert_eq!(transfer["customer"]["did"], json!(alice.wallet.did().to_string()));
    let detail = &transfer["payment_details"]["arcblock"];
    assert_eq!((&detail["tx_hash"], &detail["receiver"]), (&json!("0xABCD"), &json!(alice.wallet.did().as_str())));

    let path = format!("/api/transfers/{}/resolve", transfer["id"].as_str().expect("an id"));
    let decide = |decision: &'static str| json!({ "decision": decision });
    app.browser().post(&path, &decide("balance")).await.refused(401);
    alice.browser.post(&path, &decide("balance")).await.refused(403);
    owner.browser.live().post(&path, &decide("balance")).await.refused(404);
    owner.browser.post("/api/transfers/att_01234/resolve", &decide("balance")).await.refused(404);
    owner.browser.post(&path, &decide("nothing")).await.refused(400);
    assert_eq!(owner.browser.post(&path, &decide("record")).await.refused(400)["code"], "DECISION_NOT_POSSIBLE");
    let resolved = owner.browser.post(&path, &decide("balance")).await.ok();
    assert_eq!(resolved, json!({ "amount_moved": tokens(3), "amount_rest": tokens(1), "amount_excess": "0" }));
    assert_eq!(owner.browser.post(&path, &decide("balance")).await.refused(400)["code"], "TRANSFER_NOT_ON_HOLD");
    assert_eq!(owner.browser.get(ON_HOLD).await.ok(), json!({ "count": 0, "list": [] }));
    assert_eq!(alice.browser.get("/api/customers/me/balance").await.ok()["list"][0]["amount"], tokens(1));
    let log = owner.browser.get("/api/audit-log?operation=transfer.resolve").await.ok();
    assert_eq!((&log["count"], &log["list"][0]["objects"][0]), (&json!(1), &transfer["id"]), "{log}");
    app.drain().await;
    assert_eq!(app.breaches().await, [""; 0]);
    app.abandon();
}

#[tokio::test]
async fn the_rest_of_a_refund_is_sent_again_after_a_recent_sign_in_and_within_the_cap() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(HOUR).await;
    let symbol = app.shop.token_symbol(&app).await;
    app.cap_refunds(&symbol, 4).await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let invoice = held_refund(&app, &alice, &owner, 3).await;
    let id = owner.browser.get(ON_HOLD).await.ok()["list"][0]["id"].as_str().expect("an id").to_owned();
    let (path, retry) = (format!("/api/transfers/{id}/resolve"), json!({ "decision": "retry" }));
    app.advance(HOUR * 25);
    assert_eq!(owner.browser.post(&path, &retry).await.refused(403)["code"], "SIGN_IN_AGAIN");
    let sign_in_again = async || Connect::begin(&app, &owner.browser, "login", "").await.sign_in(&owner.wallet, "owner").await;
    sign_in_again().await;
    owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "4" })).await.ok();
    assert_eq!(owner.browser.post(&path, &retry).await.refused(409)["code"], "DAILY_CAP");
    app.advance(HOUR * 25);
    sign_in_again().await;
    assert_eq!(owner.browser.post(&path, &retry).await.ok()["amount_rest"], tokens(1));
    app.drain().await;
    assert_eq!(app.breaches().await, [""; 0]);
    app.abandon();
}

#[tokio::test]
async fn a_refund_of_more_than_was_ordered_is_recorded() {
    let app = TestApp::open().await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    held_refund(&app, &alice, &owner, 13).await;
    let transfer = owner.browser.get(ON_HOLD).await.ok()["list"][0].clone();
    assert_eq!(transfer["decisions"], json!(["record"]));
    let path = format!("/api/transfers/{}/resolve", transfer["id"].as_str().expect("an id"));
    let resolved = owner.browser.post(&path, &json!({ "decision": "record" })).await.ok();
    assert_eq!(resolved, json!({ "amount_moved": tokens(13), "amount_rest": "0", "amount_excess": tokens(9) }));
    app.drain().await;
    assert_eq!(app.breaches().await, [""; 0]);
    app.abandon();
}

#[tokio::test]
async fn a_checkout_goes_on_with_the_deposit_that_its_network_moved() {
    for (moved, rest, signed_later) in [(7, 3, Some(vec!["prepareTx"])), (13, 0, None)] {
        let app = TestApp::open().await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let session = held_deposit(&app, &alice, moved).await;
        let transfer = owner.browser.get(ON_HOLD).await.ok()["list"][0].clone();
        assert_eq!((&transfer["type"], &transfer["decisions"]), (&json!("stake"), &json!(["record"])));
        assert_eq!((&transfer["amount"], &transfer["amount_moved"]), (&tokens(10), &tokens(moved)));
        let status = async || alice.retrieve(&session).await["checkoutSession"]["status"].clone();
        assert_eq!(status().await, "open");
        let expired = expire_session(&app.ctx, &SessionId::parse(&session).expect("an id")).await;
        assert!(matches!(expired, Err(ExpireError::PaymentInFlight)), "it would lose its deposit: {expired:?}");
        let path = format!("/api/transfers/{}/resolve", transfer["id"].as_str().expect("an id"));
        let resolved = owner.browser.post(&path, &json!({ "decision": "record" })).await.ok();
        assert_eq!(resolved, json!({ "amount_moved": tokens(moved), "amount_rest": tokens(rest), "amount_excess": "0" }));
        app.drain().await;
        if let Some(expected) = signed_later {
            assert_eq!(status().await, "open", "the rest of the deposit is missing");
            app.advance(HOUR);
            alice.submit_for_wallet(&app, &session).await;
            let (done, signed) = alice.sign_all(&app, &session, "subscription").await;
            assert_eq!((&done["status"], signed), (&json!("ok"), expected.into_iter().map(str::to_owned).collect()), "{done}");
            app.drain().await;
        }
        assert_eq!(status().await, "complete");
        assert_eq!(app.breaches().await, [""; 0]);
        app.abandon();
    }
}
