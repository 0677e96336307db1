//! Refunds that fail after they succeeded, and refunds made in the processor's dashboard.

use super::bench::{ACCEPTED, Bench};
use souk_adapters::on_both;
use souk_domain::payment::{CardHint, CardRail, Decline, Outcome, ProviderRefund, ProviderRefundStatus};
use souk_domain::shared::{Amount, RefundId};
use std::time::Duration;

const SUCCEEDS_LATER: &str = "4000000000007726";
const FAILS_LATER: &str = "4000000000005126";

async fn refund(bench: &Bench, id: &str) -> ProviderRefund {
    bench.rail.find_refund(&bench.method, id).await.expect("an answer").expect("a refund")
}

fn settled(outcome: Outcome) -> String {
    match outcome {
        Outcome::Settled(settlement) => settlement.reference,
        other => panic!("not settled: {other:?}"),
    }
}

fn failure(refund: &ProviderRefund) -> &str {
    match &refund.status {
        ProviderRefundStatus::Failed(Decline { code, .. }) => code,
        other => panic!("not failed: {other:?}"),
    }
}

on_both! {
    async fn a_refund_that_succeeded_can_fail_later_and_its_amount_is_held_again(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, ACCEPTED).await;
        let id = settled(bench.refund("re_1", &payment, 3_000).await);
        let made = refund(&bench, &id).await;
        assert_eq!((made.status, made.ours), (ProviderRefundStatus::Succeeded, RefundId::parse("re_1").ok()));
        assert_eq!((made.payment.as_str(), made.amount, made.currency.as_str()), (payment.as_str(), Amount::new(3_000), "usd"));
        assert_eq!(bench.held().await, 2_000);

        bench.post_test_endpoint(&format!("refunds/{id}"), &[("failure_reason", "lost_or_stolen_card")]).await;
        assert_eq!(failure(&refund(&bench, &id).await), "lost_or_stolen_card");
        assert_eq!(bench.held().await, 5_000);
        bench.events(&["refund.failed", "charge.refund.updated"]).await;
        let hint = CardHint::Refund { provider_id: id.clone(), payment: Some(payment.clone()) };
        assert_eq!((bench.hints("refund.failed"), bench.hints("charge.refund.updated")), (vec![hint.clone()], vec![hint]));

        match bench.refund("re_1", &payment, 3_000).await {
            Outcome::Settled(_) => {}
            other => panic!("the answer to a repeated key is the first one: {other:?}"),
        }
        assert_eq!(bench.held().await, 5_000, "the repeated order moved nothing");
        let retried = settled(bench.refund_by("att_retry", "re_1", &payment, 3_000).await);
        assert_ne!(retried, id, "another attempt of the same refund is another refund at the processor");
        settled(bench.refund("re_2", &payment, 2_000).await);
        assert_eq!(bench.held().await, 0, "what came back can be refunded again");
    }

    async fn test_cards_make_refunds_succeed_or_fail_later(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let failing = bench.paid("att_1", 1_000, FAILS_LATER).await;
        let failing = settled(bench.refund("re_1", &failing, 1_000).await);
        let pending = bench.paid("att_2", 2_000, SUCCEEDS_LATER).await;
        let undecided = bench.refund("re_2", &pending, 2_000).await;
        assert!(matches!(undecided, Outcome::Pending { requires_payer: false, .. }), "{undecided:?}");
        assert_eq!(bench.held().await, 0);
        bench.clock.advance(Duration::from_secs(2));
        bench.events(&["refund.failed", "refund.updated"]).await;
        assert_eq!(failure(&refund(&bench, &failing).await), "expired_or_canceled_card");
        settled(bench.refund("re_2", &pending, 2_000).await);
        assert_eq!(bench.held().await, 1_000);
    }

    async fn a_dashboard_refund_is_reported_without_a_refund_id_of_the_store(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, ACCEPTED).await;
        let ours = settled(bench.refund("re_1", &payment, 1_000).await);
        bench.clock.advance(Duration::from_secs(1));
        let form = [("payment_intent", payment.as_str()), ("amount", "1500"), ("reason", "requested_by_customer")];
        let theirs = bench.post_test_endpoint("refunds", &form).await["id"].as_str().expect("an id").to_owned();
        bench.events(&["charge.refunded", "refund.created"]).await;
        assert_eq!(bench.hints("charge.refunded")[0], CardHint::Charge { payment: payment.clone() });

        let refunds = bench.rail.refunds_of(&bench.method, &payment).await.expect("an answer");
        let known: Vec<_> = refunds.iter().map(|refund| (refund.provider_id.as_str(), refund.ours.as_ref().map(RefundId::as_str))).collect();
        assert_eq!(known, [(theirs.as_str(), None), (ours.as_str(), Some("re_1"))], "the newest one first");
        assert_eq!((refunds[0].amount, refunds[0].reason.as_str()), (Amount::new(1_500), "requested_by_customer"));
        assert_eq!(bench.held().await, 2_500);
        match bench.refund("re_2", &payment, 2_501).await {
            Outcome::Declined(decline) => assert_eq!(decline.code, "amount_too_large"),
            other => panic!("not declined: {other:?}"),
        }
    }

    async fn many_refunds_of_one_payment_are_all_found(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, ACCEPTED).await;
        for _ in 0..105 {
            bench.post_test_endpoint("refunds", &[("payment_intent", &payment), ("amount", "1")]).await;
        }
        let refunds = bench.rail.refunds_of(&bench.method, &payment).await.expect("an answer");
        let mut ids: Vec<_> = refunds.into_iter().map(|refund| refund.provider_id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 105);
    }

    async fn an_unknown_refund_is_not_found(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for id in ["re_1", "ch_1", "../balance", ""] {
            assert_eq!(bench.rail.find_refund(&bench.method, id).await, Ok(None), "{id}");
        }
    }
}
