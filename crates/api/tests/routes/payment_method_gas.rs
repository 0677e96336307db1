//! `/api/payment-methods/{id}/check` and `/stake-for-gas`, and payments at networks of both generations that charge gas.

use crate::app::signing::GAS_PRICE;
use crate::app::{Buyer, Plans, TOKEN, TestApp, WEEK, claim_of};
use serde_json::json;
use souk_adapters::arcblock::{TokenInput, TransferV2Tx, transaction_hash};
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{self, StakeStatus};
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::payment::{Outcome, SignedTransaction, check_due};
use souk_domain::shared::{Amount, SubscriptionId};
use souk_sandbox::ledger::{CHAIN_ID, Generation, MIN_GAS_STAKE, token};
use std::time::Duration;

fn path(app: &TestApp, end: &str) -> String {
    format!("/api/payment-methods/{}/{end}", app.shop.wallet)
}

/// What the method says about gas before and after the store has staked for it.
async fn stake_for_gas(db: &TestDatabase, generation: Generation) {
    let app = TestApp::on(db).await;
    let owner = app.owner().await;
    let check = owner.browser.get(&path(&app, "check")).await.ok();
    assert_eq!((&check["works"], &check["gas"]["status"]), (&json!(true), &json!("free")), "{check}");
    app.networks.set_chain(generation, GAS_PRICE).await;
    let gas = owner.browser.get(&path(&app, "check")).await.ok()["gas"].clone();
    assert_eq!((&gas["status"], &gas["symbol"], &gas["decimal"]), (&json!("lacks_funds"), &json!("SKT"), &json!(18)), "{gas}");
    assert_eq!((&gas["missing"], &gas["min_stake"]), (&json!(MIN_GAS_STAKE.to_string()), &json!(MIN_GAS_STAKE.to_string())));
    assert_eq!(gas["account"], app.app_key.did().as_str());
    let network = json!({ "chain_id": CHAIN_ID, "api_host": "/sandbox/arcblock/api/", "explorer_host": "/sandbox/arcblock/explorer" });
    let second = json!({ "type": "arcblock", "name": "Second", "settings": { "arcblock": network } });
    assert_eq!(owner.browser.post("/api/payment-methods", &second).await.ok()["gas"], gas, "an added method says so at once");
    let refused = owner.browser.post(&path(&app, "stake-for-gas"), &json!({})).await.refused(400);
    assert_eq!(refused["code"], "NETWORK_REJECTED");
    app.networks.faucet(app.app_key.did().as_str()).await;
    assert_eq!(owner.browser.get(&path(&app, "check")).await.ok()["gas"]["status"], "ready_to_stake");
    for _ in 0..2 {
        let staked = owner.browser.post(&path(&app, "stake-for-gas"), &json!({})).await.ok();
        assert_eq!((&staked["status"], &staked["staked"]), (&json!("staked"), &json!(MIN_GAS_STAKE.to_string())));
    }
    assert_eq!(owner.browser.get(&path(&app, "check")).await.ok()["gas"]["status"], "staked");
    app.finish().await;
}

on_both! {
    async fn a_method_says_what_is_missing_for_gas_until_the_store_has_staked(db: &TestDatabase) {
        stake_for_gas(db, Generation::Current).await;
    }

    async fn a_method_says_what_is_missing_for_gas_until_the_store_has_staked_in_generation_1_20_8(db: &TestDatabase) {
        stake_for_gas(db, Generation::V1_20_8).await;
    }
}

/// A purchase and a refund, before and after the store has staked for gas; then plans with and without a stake, a renewal, and a purchase
/// by delegation.
async fn sell(app: &TestApp, generation: Generation) {
    app.networks.set_chain(generation, GAS_PRICE).await;
    let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
    let session = alice.buy(app, &app.shop.atlas).await;
    let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].clone();
    let refund = owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "10" })).await.ok();
    app.drain().await;
    let path_of_refund = format!("/api/refunds/{}", refund["id"].as_str().expect("an id"));
    let failed = owner.browser.get(&path_of_refund).await.ok();
    assert_eq!((&failed["status"], &failed["failure"]["code"]), (&json!("failed"), &json!("INSUFFICIENT_GAS")), "{failed}");

    app.networks.faucet(app.app_key.did().as_str()).await;
    owner.browser.post(&path(app, "stake-for-gas"), &json!({})).await.ok();
    assert_eq!(billing::retry_without_gas(&app.ctx, 10).await.expect("retries"), 1);
    app.drain().await;
    assert_eq!(owner.browser.get(&path_of_refund).await.ok()["status"], "succeeded");

    app.advance(Duration::from_secs(5));
    let plans = Plans::put(app).await;
    let link = plans.plain(app).await;
    alice.subscribe(app, &link).await;
    app.advance(Duration::from_secs(5));
    renew_with_stake(app, &alice, &plans).await;
    let next = alice.start(&app.shop.atlas).await;
    let submitted = alice.submit_for_wallet(app, &next).await;
    assert_eq!(submitted["fastPayInfo"]["type"], "delegation", "{submitted}");
    let confirm = format!("/api/checkout-sessions/{next}/fast-checkout-confirm");
    assert_eq!(alice.browser.post(&confirm, &json!({})).await.ok()["fastPaid"], true);
    assert_eq!(alice.retrieve(&next).await["checkoutSession"]["status"], "complete");
    app.drain().await;
}

/// Subscribes to a plan with a stake, and renews it once.
async fn renew_with_stake(app: &TestApp, alice: &Buyer, plans: &Plans) {
    let link = plans.link(app, &[&plans.weekly], SubscriptionTerms::default()).await;
    let session = alice.subscribe(app, &link).await;
    let id = alice.retrieve(&session).await["checkoutSession"]["subscription_id"].as_str().expect("an id").to_owned();
    let stake = app.stake_of(&SubscriptionId::parse(&id).expect("an id")).await;
    assert_eq!((stake.status, stake.amount), (StakeStatus::Held, Amount::new(2 * TOKEN)));
    app.advance_and_bill(WEEK).await;
    let seen = alice.browser.get(&format!("/api/subscriptions/{id}")).await.ok();
    assert_eq!(seen["status"], "active", "{seen}");
    let invoice = format!("/api/invoices/{}", seen["latest_invoice_id"].as_str().expect("an invoice"));
    let invoice = alice.browser.get(&invoice).await.ok();
    assert_eq!((&invoice["status"], &invoice["billing_reason"]), (&json!("paid"), &json!("subscription_cycle")), "{invoice}");
}

/// A payment that the network declines, and one that it decides about later.
async fn refuse_and_confirm(generation: Generation) {
    let app = TestApp::open().await;
    app.networks.set_chain(generation, GAS_PRICE).await;
    let alice = app.sign_in("alice").await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(&app, &session).await;
    app.networks.ledger_fault(json!({ "mode": "decline" })).await;
    let refused = alice.pay_by_wallet(&app, &session).await;
    assert_eq!((&refused["status"], &refused["errorCode"]), (&json!("error"), &json!("NETWORK_DECLINED")), "{refused}");
    app.advance(Duration::from_secs(1));
    app.networks.ledger_fault(json!({ "mode": "drop_answer" })).await;
    let (connect, asked) = alice.request_payment(&app, &session).await;
    let confirming = connect.answer(&alice.wallet, &asked, claim_of(&alice.wallet, &asked)).await;
    assert_eq!(confirming["status"], "ok", "{confirming}");
    assert!(confirming["successMessage"].as_str().is_some_and(|message| message.contains("being confirmed")), "{confirming}");
    assert_eq!(connect.status().await.ok()["status"], "scanned");
    app.advance(Duration::from_secs(60));
    check_due(&app.ctx, 10).await.expect("checks");
    app.drain().await;
    assert_eq!(connect.status().await.ok()["status"], "succeed");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
    app.finish().await;
}

#[tokio::test]
async fn a_wallet_is_told_the_truth_about_its_payment_at_a_network_of_generation_1_20_8_with_gas() {
    refuse_and_confirm(Generation::V1_20_8).await;
}

#[tokio::test]
async fn a_wallet_is_told_the_truth_about_its_payment_at_a_network_of_the_current_generation_with_gas() {
    refuse_and_confirm(Generation::Current).await;
}

#[tokio::test]
async fn every_sale_works_at_a_network_of_generation_1_20_8_with_gas() {
    let app = TestApp::open().await;
    sell(&app, Generation::V1_20_8).await;
    app.finish().await;
}

#[tokio::test]
async fn every_sale_works_at_a_network_of_the_current_generation_with_gas() {
    let app = TestApp::open().await;
    sell(&app, Generation::Current).await;
    app.finish().await;
}

/// Moves all but ten tokens out of a buyer's wallet, which the faucet gave a thousand.
async fn keep_ten_tokens(app: &TestApp, alice: &Buyer) {
    let tokens = vec![TokenInput { address: token(), value: (990 * TOKEN).to_string() }];
    // To another account than the store's, which would count it as a payment.
    let transfer = TransferV2Tx { to: app.sign_in("bob").await.wallet.did().to_string(), tokens, ..TransferV2Tx::default() };
    let bytes = alice.wallet.send(CHAIN_ID, 1, transfer.into());
    let signed = SignedTransaction { hash: transaction_hash(&bytes), bytes };
    let mut unit = app.ctx.store.read().await.expect("reads");
    let method = unit.methods().find(&app.shop.wallet).await.expect("reads").expect("a method");
    let currency = unit.methods().find_currency(&app.shop.token).await.expect("reads").expect("a currency");
    let sent = app.ctx.networks.wallet(method.kind).expect("a rail").send(&method, &currency, &signed).await;
    assert!(matches!(sent, Outcome::Settled(_)), "{sent:?}");
}

/// A payer whose wallet holds exactly the price, before and after the store has staked for gas.
async fn refuse_without_gas(app: &TestApp, generation: Generation) {
    let alice = app.sign_in("alice").await;
    keep_ten_tokens(app, &alice).await;
    app.networks.set_chain(generation, GAS_PRICE).await;
    let session = alice.start(&app.shop.atlas).await;
    alice.submit_for_wallet(app, &session).await;
    let refused = alice.pay_by_wallet(app, &session).await;
    assert_eq!((&refused["status"], &refused["errorParams"]["reason"]), (&json!("error"), &json!("INSUFFICIENT_GAS")), "{refused}");
    app.networks.faucet(app.app_key.did().as_str()).await;
    app.owner().await.browser.post(&path(app, "stake-for-gas"), &json!({})).await.ok();
    // At another time the wallet signs another transaction.
    app.advance(Duration::from_secs(1));
    let paid = alice.pay_by_wallet(app, &session).await;
    assert_eq!(paid["status"], "ok", "{paid}");
    assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "complete");
}

#[tokio::test]
async fn a_payer_who_lacks_gas_is_told_so_by_the_wallets_own_request() {
    let app = TestApp::open().await;
    refuse_without_gas(&app, Generation::Current).await;
    app.finish().await;
}

#[tokio::test]
async fn a_payer_who_lacks_gas_is_told_so_by_the_wallets_own_request_in_generation_1_20_8() {
    let app = TestApp::open().await;
    refuse_without_gas(&app, Generation::V1_20_8).await;
    app.finish().await;
}
