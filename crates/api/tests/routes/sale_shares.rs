//! Shares of sales: what beneficiaries earn of real purchases, and the payouts that owners record.

use crate::app::{Buyer, TOKEN, TestApp};
use poem::http::Method;
use serde_json::{Value, json};
use souk_adapters::on_both;
use souk_domain::access::Role;
use souk_domain::pricing::PriceShare;
use souk_domain::shared::PriceId;
use std::time::Duration;

/// A card that pays and is disputed as fraudulent.
const DISPUTED: &str = "4000000000000259";
/// A share in base units of the token: 4.2 tokens.
const REST: u128 = 42 * TOKEN / 10;

/// Gives a user 70 percent of each sale of Atlas.
async fn share(app: &TestApp, with: &Buyer) {
    let price = PriceId::parse(&app.shop.atlas.price).expect("an id");
    let share = PriceShare { beneficiary: with.wallet.did().clone(), millionths: 700_000 };
    let mut unit = app.ctx.store.begin().await.expect("begins");
    unit.prices().insert_shares(&price, &[share]).await.expect("inserts");
    unit.commit().await.expect("commits");
}

/// What a user has earned in each currency: earned, paid out and payable.
async fn totals(user: &Buyer) -> Vec<[Value; 3]> {
    let earnings = user.browser.get("/api/developer/earnings").await.ok();
    let total = |total: &Value| ["earned", "paid_out", "payable"].map(|field| total[field].clone());
    earnings["totals"].as_array().expect("totals").iter().map(total).collect()
}

fn units(units: [u128; 3]) -> Vec<[Value; 3]> {
    vec![units.map(|units| json!(units.to_string()))]
}

on_both! {
    async fn a_sale_is_shared_a_refund_takes_it_back_and_an_owner_records_a_payout(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        let (alice, dora, owner) = (app.sign_in("alice").await, app.sign_in("dora").await, app.owner().await);
        share(&app, &dora).await;
        assert_eq!(totals(&dora).await, Vec::<[Value; 3]>::new());
        let session = alice.buy(&app, &app.shop.atlas).await;
        assert_eq!(totals(&dora).await, units([7 * TOKEN, 0, 7 * TOKEN]));
        app.drain().await;
        let emails_to = |address: &str| app.mails().iter().filter(|mail| mail.contains(address)).count();
        assert_eq!(["dora@example.com", "owner@example.com"].map(emails_to), [1, 1], "each learns of the sale");
        let earnings = dora.browser.get("/api/developer/earnings").await.ok();
        let obstacles = async || dora.browser.get("/api/customers/me/erasure").await.ok()["obstacles"].clone();
        assert_eq!(obstacles().await, json!(["earnings"]), "the share is not paid out yet");
        let refused = dora.browser.post("/api/customers/me/erasure", &json!({})).await.refused(409);
        assert_eq!((&refused["code"], &refused["params"]), (&json!("ERASURE_OBSTACLE"), &json!({ "obstacle": "earnings" })));
        let earned = &earnings["list"][0];
        assert_eq!((&earnings["count"], &earned["app_did"], &earned["sales"]), (&json!(1), &json!(app.shop.atlas.app.as_str()), &json!(1)));
        assert_eq!(app.breaches().await, [""; 0]);

        let invoice = alice.retrieve(&session).await["checkoutSession"]["invoice_id"].clone();
        owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "4" })).await.ok();
        app.drain().await;
        assert_eq!(totals(&dora).await, units([REST, 0, REST]));
        assert_eq!(app.breaches().await, [""; 0]);

        let payables = owner.browser.get("/api/console/payables").await.ok();
        let payee = &payables["list"][0];
        assert_eq!((&payables["count"], &payee["payable"], &payee["beneficiary"]), (&json!(1), &json!(REST.to_string()), &json!(dora.wallet.did().as_str())));
        let path = format!("/api/console/payables/{}/{}/payouts", dora.wallet.did(), app.shop.token);
        let payout = |amount: u128, before: u128| json!({ "amount": amount.to_string(), "paid_before": before.to_string(), "reason": "March" });
        let paid = owner.browser.post(&path, &payout(4 * TOKEN, 0)).await.ok();
        assert_eq!((&paid["paid_out"], &paid["payable"]), (&json!((4 * TOKEN).to_string()), &json!((REST - 4 * TOKEN).to_string())));
        assert_eq!(owner.browser.post(&path, &payout(4 * TOKEN, 0)).await.refused(409)["code"], "PAYOUT_CHANGED", "sent twice");
        assert_eq!(owner.browser.post(&path, &payout(TOKEN, 4 * TOKEN)).await.refused(409)["code"], "PAYOUT_EXCEEDS_PAYABLE");
        assert_eq!(owner.browser.post(&path, &payout(0, 4 * TOKEN)).await.refused(400)["code"], "NO_AMOUNT");
        let mine = dora.browser.get("/api/developer/payouts").await.ok();
        assert_eq!((&mine["count"], &mine["list"][0]["reason"]), (&json!(1), &json!("March")));
        assert_eq!(owner.browser.get("/api/console/payouts").await.ok()["count"], 1);
        for path in ["/api/console/payables", "/api/console/payouts", path.trim_end_matches("/payouts")] {
            dora.browser.get(path).await.refused(403);
            app.browser().get(path).await.refused(401);
        }
        dora.browser.post(&path, &payout(1, 4 * TOKEN)).await.refused(403);
        let log = owner.browser.get("/api/audit-log?operation=share_payout.record").await.ok();
        assert_eq!(log["count"], 1, "{log}");
        assert_eq!(app.breaches().await, [""; 0]);

        // A payout that was recorded by mistake is taken back, once, and the right one is recorded.
        let reverse = format!("/api/console/payouts/{}/reverse", mine["list"][0]["id"].as_str().expect("an id"));
        assert_eq!(owner.browser.post(&reverse, &json!({ "reason": " " })).await.refused(400)["code"], "REVIEW_REASON_REQUIRED");
        dora.browser.post(&reverse, &json!({ "reason": "Wrong" })).await.refused(403);
        let reversal = owner.browser.post(&reverse, &json!({ "reason": "Wrong amount" })).await.ok();
        assert_eq!((&reversal["reverses"], &reversal["amount"]), (&mine["list"][0]["id"], &mine["list"][0]["amount"]));
        assert_eq!(owner.browser.post(&reverse, &json!({ "reason": "Again" })).await.refused(409)["code"], "PAYOUT_REVERSED");
        assert_eq!(totals(&dora).await, units([REST, 0, REST]));
        assert_eq!(owner.browser.post(&path, &payout(4 * TOKEN, 0)).await.refused(409)["code"], "PAYOUT_CHANGED", "sent again");
        owner.browser.post(&path, &payout(4 * TOKEN, 4 * TOKEN)).await.ok();
        let mine = dora.browser.get("/api/developer/payouts").await.ok();
        let reversed = mine["list"].as_array().expect("payouts").iter().filter(|payout| payout["reversed"] == true).count();
        assert_eq!((&mine["count"], reversed), (&json!(3), 1));
        let log = owner.browser.get("/api/audit-log?operation=share_payout.reverse").await.ok();
        assert_eq!(log["count"], 1, "{log}");
        assert_eq!(app.breaches().await, [""; 0]);

        // The rest is refunded after the payout: the beneficiary owes what was paid out for it.
        owner.browser.post("/api/refunds", &json!({ "invoice_id": invoice, "amount": "6" })).await.ok();
        app.drain().await;
        let earnings = dora.browser.get("/api/developer/earnings").await.ok();
        assert_eq!((&earnings["totals"][0]["payable"], &earnings["totals"][0]["overpaid"]), (&json!("0"), &json!((4 * TOKEN).to_string())));
        assert_eq!(app.breaches().await, [""; 0]);

        // An erasure leaves what the books need.
        assert_eq!(obstacles().await, json!([]));
        dora.browser.post("/api/customers/me/erasure", &json!({})).await.ok();
        let kept = owner.browser.get("/api/console/payables").await.ok();
        assert_eq!((&kept["count"], &kept["list"][0]["beneficiary"]), (&json!(1), &json!(dora.wallet.did().as_str())));
        assert_eq!(owner.browser.get("/api/console/payouts").await.ok()["count"], 3);
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }

    async fn a_disputed_sale_is_not_shared_until_it_is_won(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let (alice, dora) = (app.sign_in("alice").await, app.sign_in("dora").await);
        share(&app, &dora).await;
        let session = alice.start(&app.shop.atlas).await;
        let secret = alice.submit_for_card(&app, &session).await;
        assert_eq!(app.networks.confirm(&secret, DISPUTED).await.0, 200);
        app.advance(Duration::from_secs(2));
        alice.retrieve(&session).await;
        app.drain().await;
        // 70 percent of 4.99 dollars are 3.493: the store has the larger remainder.
        assert_eq!(totals(&dora).await, units([349, 0, 349]));
        let (signature, body) = app.networks.event("charge.dispute.created").await;
        let call = app.browser();
        let call = call.call(Method::POST, &format!("/api/webhooks/{}", app.shop.card)).header("stripe-signature", signature);
        assert_eq!(call.body("application/json", body).send().await.status, 200);
        app.drain().await;
        assert_eq!(totals(&dora).await, units([0, 0, 0]));
        assert_eq!(app.breaches().await, [""; 0]);
        app.finish().await;
    }
}

#[tokio::test]
async fn prices_payouts_and_automatic_publishing_need_a_recent_sign_in() {
    let mut app = TestApp::open().await;
    app.require_sign_in_within(Duration::from_secs(900)).await;
    let (developer, owner) = (app.holder_of(Role::Developer).await, app.owner().await);
    app.advance(Duration::from_secs(3_600));
    let price = developer.browser.put("/api/developer/apps/z1unknown/price", &json!({ "type": "free" })).await;
    assert_eq!(price.refused(403)["code"], "SIGN_IN_AGAIN");
    let auto_publish = developer.browser.put("/api/developer/apps/z1unknown/auto-publish", &json!({ "days": 30 })).await;
    assert_eq!(auto_publish.refused(403)["code"], "SIGN_IN_AGAIN");
    let payout = json!({ "amount": "1", "paid_before": "0", "reason": "March" });
    let payout = owner.browser.post("/api/console/payables/z1unknown/pc_1/payouts", &payout).await;
    assert_eq!(payout.refused(403)["code"], "SIGN_IN_AGAIN");
    let reversal = owner.browser.post("/api/console/payouts/po_1/reverse", &json!({ "reason": "Wrong" })).await;
    assert_eq!(reversal.refused(403)["code"], "SIGN_IN_AGAIN");
    app.finish().await;
}
