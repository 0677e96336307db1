//! Signed webhook deliveries: the rail reads them, and the processor retries them up to a limit.

use super::bench::{ACCEPTED, Bench, DECLINES_LATER, until};
use reqwest::Method as Verb;
use souk_adapters::on_both;
use souk_domain::payment::{CardHint, CardRail, EventError, EventRange};
use souk_domain::shared::Clock;
use std::time::Duration;

on_both! {
    async fn events_are_delivered_signed_and_the_rail_reads_them(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        bench.confirm(&intent, ACCEPTED).await;
        until("three events arrived", async || bench.kinds().len() == 3).await;
        let mut kinds = bench.kinds();
        kinds.sort();
        assert_eq!(kinds, ["charge.succeeded", "payment_intent.created", "payment_intent.succeeded"]);

        let delivered = bench.inbox.delivered.lock().expect("inbox").clone();
        for (signature, body) in &delivered {
            let event = bench.rail.read_event(&bench.method, body, signature, bench.clock.now()).expect("reads");
            assert_eq!(event.intent(), Some(intent.provider_id.as_str()), "{}", event.kind);
            let mut altered = body.clone();
            let last = altered.len() - 2;
            altered[last] ^= 1;
            assert_eq!(bench.rail.read_event(&bench.method, &altered, signature, bench.clock.now()), Err(EventError::BadSignature));
            let late = bench.clock.now().plus(Duration::from_secs(301));
            assert_eq!(bench.rail.read_event(&bench.method, body, signature, late), Err(EventError::BadSignature));
        }
    }

    async fn delayed_changes_are_delivered_as_events_too(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        bench.confirm(&intent, DECLINES_LATER).await;
        bench.clock.advance(Duration::from_secs(2));
        until("the decline arrived", async || bench.kinds().iter().any(|kind| kind == "payment_intent.payment_failed")).await;
    }

    async fn changes_of_settled_payments_are_listed_over_several_pages(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 10_000).await;
        bench.confirm(&intent, ACCEPTED).await;
        bench.clock.advance(Duration::from_secs(10));
        let since = bench.clock.now();
        // Each refund causes two events.
        for number in 0..60 {
            let form = [("payment_intent", intent.provider_id.as_str()), ("amount", "100")];
            let refunded = bench.server(Verb::POST, "/v1/refunds", &form).await;
            assert_eq!(refunded.status, 200, "refund {number}: {}", refunded.body);
            bench.clock.advance(Duration::from_secs(1));
        }
        bench.clock.advance(Duration::from_secs(10));
        let until = bench.clock.now();
        bench.post_test_endpoint("disputes", &[("payment_intent", &intent.provider_id), ("amount", "100")]).await;
        let list = async |since, until| bench.rail.list_changes(&bench.method, &EventRange { since, until }).await.expect("lists");
        let events = list(since, until.minus(Duration::from_secs(1))).await;
        assert_eq!(events.len(), 120, "the dispute is younger, the payment older");
        let first = bench.rail.refunds_of(&bench.method, &intent.provider_id).await.expect("lists").pop().expect("a refund");
        let payment = Some(intent.provider_id.clone());
        let oldest = events.iter().find_map(|event| event.hint.clone().filter(|hint| matches!(hint, CardHint::Refund { .. })));
        assert_eq!(oldest, Some(CardHint::Refund { provider_id: first.provider_id, payment }), "oldest first");
        let disputes = list(until, until).await;
        assert!(!disputes.is_empty() && disputes.iter().all(|event| event.kind.starts_with("charge.dispute.")), "{disputes:?}");
    }

    async fn a_rejected_delivery_is_retried_later(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.inbox.failures.lock().expect("inbox").extend([500, 302]);
        bench.open_intent("att_1", 1_000).await;
        for (arrived, wait) in [(1, 1), (2, 5)] {
            until("the next try", async || bench.kinds().len() == arrived).await;
            // The outcome of a try is written after the delivery. Advance the clock only then.
            advance_until(&bench, Duration::from_secs(wait), arrived + 1).await;
        }
        assert_eq!(bench.kinds(), ["payment_intent.created"; 3]);
    }

    async fn a_delivery_is_abandoned_after_five_tries(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.inbox.failures.lock().expect("inbox").extend([500; 5]);
        bench.open_intent("att_1", 1_000).await;
        for arrived in 2..=5 {
            advance_until(&bench, Duration::from_secs(121), arrived).await;
        }
        // Another event is delivered later; the abandoned one is not.
        bench.clock.advance(Duration::from_secs(24 * 60 * 60));
        bench.open_intent("att_2", 1_000).await;
        until("the other event", async || bench.kinds().len() == 6).await;
        let delivered = bench.inbox.delivered.lock().expect("inbox");
        assert_eq!(delivered.iter().filter(|(_, body)| *body == delivered[0].1).count(), 5);
    }
}

/// Advances the clock in steps until `arrived` deliveries arrived. Repeats because the outcome of a try is written a moment after it
/// arrives.
async fn advance_until(bench: &Bench, step: Duration, arrived: usize) {
    until("a delivery", async || {
        if bench.kinds().len() < arrived {
            bench.clock.advance(step);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        bench.kinds().len() >= arrived
    })
    .await;
    assert_eq!(bench.kinds().len(), arrived);
}
