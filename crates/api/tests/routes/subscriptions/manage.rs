use crate::app::{Buyer, Subscriber, TOKEN, Terms, TestApp, WEEK};
use serde_json::{Value, json};
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

async fn put(buyer: &Buyer, one: &Subscriber, what: &str, body: Value) -> (u16, Value) {
    let answer = buyer.browser.put(&format!("/api/subscriptions/{}/{what}", one.id), &body).await;
    (answer.status, answer.json())
}

async fn seen(one: &Subscriber) -> Value {
    one.buyer.browser.get(&format!("/api/subscriptions/{}", one.id)).await.ok()
}

#[tokio::test]
async fn a_customer_can_cancel_at_period_end_and_undo_it_until_then() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let terms = json!({ "at": "current_period_end", "feedback": "too_expensive", "comment": "sorry" });
    let (status, body) = put(&alice.buyer, &alice, "cancel", terms).await;
    assert_eq!((status, &body["status"], &body["cancel_at_period_end"]), (200, &json!("active"), &json!(true)));
    let details = json!({ "reason": "cancellation_requested", "feedback": "too_expensive", "comment": "sorry" });
    assert_eq!(body["cancelation_details"], details);
    assert_eq!((&body["cancel_at"], &body["next_invoice"]), (&body["current_period_end"], &Value::Null));
    let info = alice.buyer.browser.get(&format!("/api/subscriptions/{}/recover-info", alice.id)).await.ok();
    assert_eq!(info["needStake"], false);
    let (status, body) = put(&alice.buyer, &alice, "recover", json!({})).await;
    assert_eq!((status, &body["subscription"]["cancel_at_period_end"]), (200, &json!(false)));
    assert_eq!(put(&alice.buyer, &alice, "recover", json!({})).await.0, 400, "there is nothing to take back");
    put(&alice.buyer, &alice, "cancel", json!({})).await;
    app.advance_and_bill(WEEK).await;
    let ended = seen(&alice).await;
    assert_eq!((&ended["status"], &ended["ended_at"]), (&json!("canceled"), &ended["current_period_end"]));
    let (status, body) = put(&alice.buyer, &alice, "recover", json!({})).await;
    assert_eq!((status, body["error"].as_str()), (400, Some("This subscription cannot be resumed")));
    app.finish().await;
}

#[tokio::test]
async fn a_canceled_trial_ends_immediately_and_is_never_charged() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms { trial: Some(7 * DAY), ..Terms::default() }).await;
    assert_eq!(seen(&alice).await["status"], "trialing");
    let (status, body) = put(&alice.buyer, &alice, "cancel", json!({ "at": "current_period_end" })).await;
    assert_eq!((status, &body["status"]), (200, &json!("canceled")));
    app.advance_and_bill(8 * DAY).await;
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices").await, 0);
    app.finish().await;
}

#[tokio::test]
async fn requests_reserved_to_the_store_are_rejected_for_customers() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let mallory = app.sign_in("mallory").await;
    for terms in [
        json!({ "at": "now" }),
        json!({ "at": "custom", "time": 4_000_000_000i64 }),
        json!({ "refund": "last" }),
        json!({ "staking": "slash" }),
    ] {
        assert_eq!(put(&alice.buyer, &alice, "cancel", terms.clone()).await.0, 403, "{terms}");
    }
    assert_eq!(put(&alice.buyer, &alice, "cancel", json!({ "feedback": "bored" })).await.0, 400);
    assert_eq!(put(&mallory, &alice, "cancel", json!({})).await.0, 404);
    for what in ["pause", "resume", "return-stake"] {
        assert_eq!(put(&alice.buyer, &alice, what, json!({})).await.0, 403, "{what}");
    }
    assert_eq!(seen(&alice).await["status"], "active");
    app.finish().await;
}

#[tokio::test]
async fn the_store_can_cancel_now_and_refund_the_unused_time() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    app.advance_and_bill(WEEK).await;
    app.advance(2 * DAY);
    let (status, body) = put(&owner, &alice, "cancel", json!({ "at": "now", "refund": "proration" })).await;
    assert_eq!((status, &body["status"]), (200, &json!("canceled")), "{body}");
    app.drain().await;
    let refunds = app.count("SELECT count(*) AS n FROM refunds WHERE status = 'succeeded'").await;
    assert_eq!(refunds, 1);
    let back = app.networks.transfers_to(alice.buyer.wallet.did().as_str()).await;
    let five_sevenths = (10 * TOKEN * 5 / 7).to_string();
    assert_eq!(back.len(), 1);
    assert_eq!(back[0]["amount"], five_sevenths, "{back:?}");
    app.finish().await;
}

#[tokio::test]
async fn a_cancellation_by_the_store_at_a_time_cannot_be_undone_by_the_customer() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    let at = app.ctx.now().plus(3 * DAY).seconds();
    let late = json!({ "at": "custom", "time": at, "refund": "last" });
    assert_eq!(put(&owner, &alice, "cancel", late).await.0, 400, "money is decided at the end");
    assert_eq!(put(&owner, &alice, "cancel", json!({ "at": "custom", "time": 5 })).await.0, 400);
    let (status, body) = put(&owner, &alice, "cancel", json!({ "at": "custom", "time": at })).await;
    assert_eq!((status, &body["cancel_at"]), (200, &json!(at)));
    assert_eq!(put(&alice.buyer, &alice, "recover", json!({})).await.0, 400);
    let (status, body) = put(&alice.buyer, &alice, "cancel", json!({ "at": "current_period_end" })).await;
    assert_eq!((status, body["error"].as_str()), (400, Some("The store has set the end date of this subscription")));
    let still = seen(&alice).await;
    assert_eq!((&still["cancel_at"], &still["cancel_at_period_end"]), (&json!(at), &json!(false)));
    app.advance_and_bill(3 * DAY).await;
    assert_eq!(seen(&alice).await["status"], "canceled");
    app.finish().await;
}

#[tokio::test]
async fn a_paused_subscription_is_not_charged_and_starts_a_new_period_after_resuming() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let owner = app.owner().await;
    assert_eq!(put(&owner, &alice, "resume", json!({})).await.0, 400);
    assert_eq!(put(&owner, &alice, "pause", json!({})).await.1["status"], "paused");
    app.advance_and_bill(WEEK + WEEK).await;
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices").await, 0);
    let (status, body) = put(&owner, &alice, "resume", json!({})).await;
    assert_eq!((status, &body["status"]), (200, &json!("active")), "{body}");
    assert_eq!(body["current_period_start"], app.ctx.now().seconds());
    app.drain().await;
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices WHERE status = 'paid'").await, 1);
    put(&owner, &alice, "pause", json!({})).await;
    app.advance_and_bill(DAY).await;
    let (_, body) = put(&owner, &alice, "resume", json!({})).await;
    assert_eq!(body["status"], "active", "within the period nothing is charged again");
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices").await, 1);
    app.advance_and_bill(WEEK).await;
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices WHERE status = 'paid'").await, 2);
    app.finish().await;
}

#[tokio::test]
async fn the_store_can_resume_billing_of_a_subscription_on_hold() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    app.execute("UPDATE subscriptions SET on_hold = 'price_missing', due_at = NULL").await;
    let body = seen(&alice).await;
    assert_eq!((&body["on_hold"], &body["on_hold_reason"]), (&json!(true), &json!("price_missing")));
    assert_eq!(put(&alice.buyer, &alice, "resume-billing", json!({})).await.0, 403);
    let owner = app.owner().await;
    let (status, body) = put(&owner, &alice, "resume-billing", json!({})).await;
    assert_eq!((status, &body["on_hold"], &body["on_hold_reason"]), (200, &json!(false), &json!(null)));
    let before = body["current_period_end"].clone();
    app.advance_and_bill(WEEK).await;
    assert_ne!(seen(&alice).await["current_period_end"], before, "it is renewed");
    app.finish().await;
}

#[tokio::test]
async fn the_store_chooses_what_happens_to_unbilled_periods_one_by_one_or_for_all() {
    let app = TestApp::open().await;
    let alice = app.subscribe("alice", Terms::default()).await;
    let bob = app.subscribe("bob", Terms::default()).await;
    let carol = app.subscribe("carol", Terms::default()).await;
    app.advance_and_bill(6 * WEEK).await;
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices").await, 0, "nothing is billed without a decision");
    // The logins from before have expired.
    let (owner, mallory) = (app.owner().await, app.sign_in("mallory").await);
    let shown = async |one: &Subscriber| owner.browser.get(&format!("/api/subscriptions/{}", one.id)).await.ok();
    let body = shown(&alice).await;
    assert_eq!((&body["on_hold_reason"], &body["status"]), (&json!("unbilled_periods"), &json!("active")));
    let unbilled = body["unbilled_periods"].as_u64().expect("a number");
    assert!(unbilled >= 5, "{body}");
    let held = || async { owner.browser.get("/api/subscriptions?customer_id=all&on_hold=true").await.ok()["count"].clone() };
    assert_eq!(held().await, 3);
    let (status, body) = put(&owner, &alice, "resume-billing", json!({})).await;
    assert_eq!((status, &body["code"]), (400, &json!("CHOICE_REQUIRED")));
    assert_eq!(put(&owner, &alice, "resume-billing", json!({ "mode": "later" })).await.0, 400);
    assert_eq!(put(&mallory, &alice, "resume-billing", json!({ "mode": "skip" })).await.0, 403);
    assert_eq!(mallory.browser.put("/api/subscriptions/resume-billing", &json!({ "mode": "skip" })).await.status, 403);

    assert!(shown(&alice).await["next_period_start"].as_i64() > shown(&alice).await["current_period_end"].as_i64());
    let (status, body) = put(&owner, &alice, "pause", json!({})).await;
    assert_eq!((status, &body["code"]), (409, &json!("UNBILLED_PERIODS")));

    let (status, body) = put(&owner, &alice, "resume-billing", json!({ "mode": "every_period" })).await;
    assert_eq!((status, &body["on_hold"]), (200, &json!(false)), "{body}");
    let (status, body) = put(&owner, &alice, "resume-billing", json!({ "mode": "every_period" })).await;
    assert_eq!((status, &body["code"]), (409, &json!("BILLING_NOT_ON_HOLD")));
    for _ in 0..unbilled {
        app.run_billing().await;
    }
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices WHERE status = 'paid'").await, unbilled);
    assert_eq!((held().await, shown(&alice).await["unbilled_periods"].as_u64()), (json!(2), Some(0)));

    assert_eq!(owner.browser.put("/api/subscriptions/resume-billing", &json!({})).await.status, 400);
    let answer = owner.browser.put("/api/subscriptions/resume-billing", &json!({ "mode": "current_period" })).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "resumed": 2 })));
    app.run_billing().await;
    app.run_billing().await;
    assert_eq!(app.count("SELECT count(*) AS n FROM invoices WHERE status = 'paid'").await, unbilled + 2);
    assert_eq!((held().await, &shown(&bob).await["on_hold"], &shown(&carol).await["on_hold"]), (json!(0), &json!(false), &json!(false)));
    app.finish().await;
}
