//! Disputes: the actions of the sandbox's bank, the rail's reports, and the funds that the processor holds.

use super::bench::{ACCEPTED, Bench};
use reqwest::Method as Verb;
use souk_adapters::on_both;
use souk_domain::payment::{CardHint, CardRail, DisputeStatus, Outcome, ProviderDispute};
use souk_domain::shared::Amount;

/// The processor's fee for a chargeback, in cents.
const FEE: i64 = 1_500;
const FRAUDULENT: &str = "4000000000000259";
const NOT_RECEIVED: &str = "4000000000002685";
const INQUIRY: &str = "4000000000001976";

async fn only_dispute(bench: &Bench, payment: &str) -> ProviderDispute {
    let mut disputes = bench.rail.disputes_of(&bench.method, payment).await.expect("an answer");
    assert_eq!(disputes.len(), 1, "{disputes:?}");
    disputes.remove(0)
}

async fn dispute(bench: &Bench, id: &str) -> ProviderDispute {
    bench.rail.find_dispute(&bench.method, id).await.expect("an answer").expect("a dispute")
}

/// Returns the status, whether the funds are withdrawn, and the fee.
fn state(dispute: &ProviderDispute) -> (DisputeStatus, bool, Amount) {
    (dispute.status, dispute.funds_withdrawn, dispute.fee)
}

on_both! {
    async fn a_chargeback_withdraws_the_amount_and_a_fee_and_a_win_returns_the_amount(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, ACCEPTED).await;
        let id = bench.post_test_endpoint("disputes", &[("payment_intent", &payment), ("reason", "product_not_received")]).await["id"].as_str().expect("an id").to_owned();
        let opened = dispute(&bench, &id).await;
        assert_eq!(state(&opened), (DisputeStatus::NeedsResponse, true, Amount::new(1_500)));
        assert_eq!((opened.payment.as_str(), opened.amount, opened.currency.as_str()), (payment.as_str(), Amount::new(5_000), "usd"));
        assert_eq!((opened.reason.as_str(), opened.fee_currency.as_str()), ("product_not_received", "usd"));
        assert!(opened.respond_by.is_some_and(|at| at > opened.created));
        assert_eq!(bench.held().await, -FEE);
        bench.events(&["charge.dispute.created", "charge.dispute.funds_withdrawn"]).await;

        bench.post_test_endpoint(&format!("disputes/{id}"), &[("status", "under_review")]).await;
        assert_eq!(state(&dispute(&bench, &id).await), (DisputeStatus::UnderReview, true, Amount::new(1_500)));
        bench.post_test_endpoint(&format!("disputes/{id}"), &[("status", "won")]).await;
        assert_eq!(state(&dispute(&bench, &id).await), (DisputeStatus::Won, false, Amount::new(1_500)));
        assert_eq!(bench.held().await, 5_000 - FEE);
        bench.events(&["charge.dispute.updated", "charge.dispute.funds_reinstated", "charge.dispute.closed"]).await;
        let hint = CardHint::Dispute { provider_id: id, payment: Some(payment) };
        assert_eq!(bench.hints("charge.dispute.closed"), [hint]);
    }

    async fn a_lost_partial_dispute_keeps_the_disputed_part(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, ACCEPTED).await;
        let id = bench.post_test_endpoint("disputes", &[("payment_intent", &payment), ("amount", "2000")]).await["id"].as_str().expect("an id").to_owned();
        bench.post_test_endpoint(&format!("disputes/{id}"), &[("status", "lost")]).await;
        let lost = dispute(&bench, &id).await;
        assert_eq!((lost.status, lost.amount, lost.funds_withdrawn), (DisputeStatus::Lost, Amount::new(2_000), true));
        assert!(lost.status.is_closed());
        assert_eq!(bench.held().await, 3_000 - FEE);
        bench.events(&["charge.dispute.closed"]).await;
        assert!(bench.hints("charge.dispute.funds_reinstated").is_empty());
    }

    async fn an_inquiry_withdraws_nothing_until_it_becomes_a_chargeback(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, INQUIRY).await;
        let opened = only_dispute(&bench, &payment).await;
        assert_eq!(state(&opened), (DisputeStatus::Inquiry, false, Amount::ZERO));
        assert_eq!(bench.held().await, 5_000);
        bench.events(&["charge.dispute.created"]).await;
        assert!(bench.hints("charge.dispute.funds_withdrawn").is_empty());

        bench.post_test_endpoint(&format!("disputes/{}", opened.provider_id), &[("status", "needs_response")]).await;
        assert_eq!(state(&only_dispute(&bench, &payment).await), (DisputeStatus::NeedsResponse, true, Amount::new(1_500)));
        assert_eq!(bench.held().await, -FEE);
        bench.events(&["charge.dispute.funds_withdrawn"]).await;
    }

    async fn an_answered_inquiry_closes_without_a_chargeback(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, INQUIRY).await;
        let id = only_dispute(&bench, &payment).await.provider_id;
        let evidence = [("evidence[uncategorized_text]", "It was delivered on Monday.")];
        assert_eq!(bench.server(Verb::POST, &format!("/v1/disputes/{id}"), &evidence).await.status, 200);
        assert_eq!(dispute(&bench, &id).await.status, DisputeStatus::InquiryUnderReview);
        bench.post_test_endpoint(&format!("disputes/{id}"), &[("status", "warning_closed")]).await;
        assert_eq!(state(&dispute(&bench, &id).await), (DisputeStatus::InquiryClosed, false, Amount::ZERO));
        assert_eq!(bench.held().await, 5_000);
    }

    async fn test_cards_dispute_each_charge_with_their_reason(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for (attempt, number, reason) in [("att_1", FRAUDULENT, "fraudulent"), ("att_2", NOT_RECEIVED, "product_not_received")] {
            let payment = bench.paid(attempt, 1_000, number).await;
            let dispute = only_dispute(&bench, &payment).await;
            assert_eq!((dispute.status, dispute.reason.as_str()), (DisputeStatus::NeedsResponse, reason));
        }
        let card = bench.saved("att_3", FRAUDULENT).await;
        let charged = bench.charge("att_4", 1_000, &card).await;
        assert_eq!(only_dispute(&bench, &charged.provider_id).await.reason, "fraudulent");
    }

    async fn submitting_evidence_or_accepting_decides_a_chargeback(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for (attempt, evidence, status) in [("att_1", "winning_evidence", DisputeStatus::Won), ("att_2", "losing_evidence", DisputeStatus::Lost)] {
            let id = only_dispute(&bench, &bench.paid(attempt, 1_000, FRAUDULENT).await).await.provider_id;
            bench.server(Verb::POST, &format!("/v1/disputes/{id}"), &[("evidence[uncategorized_text]", evidence)]).await;
            assert_eq!(dispute(&bench, &id).await.status, status);
        }
        let id = only_dispute(&bench, &bench.paid("att_3", 1_000, FRAUDULENT).await).await.provider_id;
        assert_eq!(bench.server(Verb::POST, &format!("/v1/disputes/{id}/close"), &[]).await.body["status"], "lost");
        let again = bench.call("", Verb::POST, &format!("/debug/disputes/{id}"), &[("status", "won")], None).await;
        assert_eq!(again.body["error"]["code"], "dispute_unexpected_state", "what is closed stays closed");
    }

    async fn withdrawn_funds_cannot_be_refunded_and_refunded_funds_cannot_be_disputed(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, ACCEPTED).await;
        assert!(matches!(bench.refund("re_1", &payment, 3_000).await, Outcome::Settled(_)));
        let form = [("payment_intent", payment.as_str()), ("amount", "2001")];
        let refused = bench.call("", Verb::POST, "/debug/disputes", &form, None).await;
        assert_eq!(refused.body["error"]["code"], "amount_too_large");
        bench.post_test_endpoint("disputes", &[("payment_intent", &payment), ("amount", "1500")]).await;
        match bench.refund("re_2", &payment, 501).await {
            Outcome::Declined(decline) => assert_eq!(decline.code, "charge_disputed"),
            other => panic!("not declined: {other:?}"),
        }
        assert!(matches!(bench.refund("re_3", &payment, 500).await, Outcome::Settled(_)), "the rest is not disputed");
        assert_eq!(bench.held().await, -FEE);
    }

    async fn a_payment_has_one_open_dispute_at_a_time(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let payment = bench.paid("att_1", 5_000, ACCEPTED).await;
        let form = [("payment_intent", payment.as_str()), ("amount", "1000")];
        let first = bench.post_test_endpoint("disputes", &form).await["id"].as_str().expect("an id").to_owned();
        let refused = bench.call("", Verb::POST, "/debug/disputes", &form, None).await;
        assert_eq!(refused.body["error"]["code"], "charge_already_disputed");
        bench.post_test_endpoint(&format!("disputes/{first}"), &[("status", "lost")]).await;
        bench.clock.advance(std::time::Duration::from_secs(1));
        let second = bench.post_test_endpoint("disputes", &form).await["id"].as_str().expect("an id").to_owned();
        let disputes = bench.rail.disputes_of(&bench.method, &payment).await.expect("an answer");
        let ids: Vec<_> = disputes.into_iter().map(|dispute| dispute.provider_id).collect();
        assert_eq!(ids, [second, first], "the newest one first");
    }

    async fn an_unknown_dispute_is_not_found(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for id in ["du_1", "dp_1", "../balance", ""] {
            assert_eq!(bench.rail.find_dispute(&bench.method, id).await, Ok(None), "{id}");
        }
        let payment = bench.paid("att_1", 1_000, ACCEPTED).await;
        assert_eq!(bench.rail.disputes_of(&bench.method, &payment).await, Ok(Vec::new()));
        let closed = Bench::with(db, false).await;
        let form = [("payment_intent", payment.as_str())];
        assert_eq!(closed.call("", Verb::POST, "/debug/disputes", &form, None).await.status, 401, "orders are for tests only");
    }
}
