//! Responses that are lost after the call took effect: a retry has no second effect.

use super::bench::{ACCEPTED, Bench, SECRET_KEY};
use super::processor::customer_with;
use reqwest::Method as Verb;
use serde_json::json;
use souk_adapters::on_both;
use souk_domain::payment::{CardRail, Outcome, RailError};

on_both! {
    /// Invariants 1 and 4.
    async fn a_lost_response_and_a_retry_make_one_intent_and_one_charge(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for (attempt, mode) in [("att_1", "drop_answer"), ("att_2", "error_500")] {
            bench.fault(json!({ "mode": mode })).await;
            let lost = bench.try_open(attempt, 1_000).await;
            assert!(matches!(lost, Err(RailError::Unreachable(_))), "{mode}: {lost:?}");
            let intent = bench.open_intent(attempt, 1_000).await;
            assert_eq!(bench.confirm(&intent, ACCEPTED).await.status, 200);

            bench.fault(json!({ "mode": mode })).await;
            let unseen = bench.find(&intent).await;
            assert!(matches!(unseen, Outcome::Unknown(_)), "{mode}: {unseen:?}");
            assert!(matches!(bench.find(&intent).await, Outcome::Settled(_)));
        }
        let events = bench.server(Verb::GET, "/v1/events", &[("type", "payment_intent.created")]).await.body;
        assert_eq!(events["data"].as_array().expect("a list").len(), 2, "one intent per attempt");
        assert_eq!(bench.charged().await, ["att_1", "att_2"]);
    }

    async fn a_charge_whose_response_is_lost_is_replayed_and_not_repeated(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let customer = customer_with(&bench, ACCEPTED).await;
        let form = [
            ("amount", "700"), ("currency", "usd"), ("customer", customer.id.as_str()), ("payment_method", customer.method.as_str()),
            ("confirm", "true"), ("off_session", "true"), ("metadata[attempt]", "att_1"),
        ];
        bench.fault(json!({ "mode": "error_500", "count": 2 })).await;
        for _ in 0..2 {
            assert_eq!(bench.call(SECRET_KEY, Verb::POST, "/v1/payment_intents", &form, Some("att_1")).await.status, 500);
        }
        let seen = bench.call(SECRET_KEY, Verb::POST, "/v1/payment_intents", &form, Some("att_1")).await;
        assert_eq!((seen.status, seen.replayed, &seen.body["status"]), (200, true, &"succeeded".into()));
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn a_cancellation_whose_response_is_lost_is_found_by_a_query(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        bench.fault(json!({ "mode": "drop_answer" })).await;
        let outcome = bench.rail.cancel(&bench.method, &bench.currency, &intent.provider_id).await;
        assert!(matches!(outcome, Outcome::Declined(_)), "{outcome:?}");
    }

    async fn a_delayed_response_counts(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.fault(json!({ "mode": "delay_ms", "value": 30 })).await;
        bench.open_intent("att_1", 1_000).await;
    }

    async fn the_fault_and_debug_endpoints_exist_only_if_enabled(db: &TestDatabase) {
        let bench = Bench::with(db, false).await;
        assert_eq!(bench.server(Verb::POST, "/faults", &[]).await.status, 404);
        assert_eq!(bench.call("", Verb::POST, "/faults", &[], None).await.status, 401);
        assert_eq!(bench.call("", Verb::GET, "/debug/charges", &[], None).await.status, 401);
        assert_eq!(bench.server(Verb::GET, "/debug/charges", &[]).await.status, 404);
    }
}
