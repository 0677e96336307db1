//! The outcome that the rail reports for each test card, and that no payment is charged twice.

use super::bench::{
    ACCEPTED, Bench, DECLINED, DECLINES_LATER, EXPIRED, INCORRECT_CVC, INSUFFICIENT, LOST, PROCESSING_ERROR, SECOND_STEP, SILENT, SLOW,
    STOLEN, until,
};
use souk_adapters::on_both;
use souk_domain::payment::{CardRail, Decline, MethodSettings, Outcome, RailError, Secret, Settlement};
use souk_domain::shared::{Amount, Mode};
use std::sync::Arc;
use std::time::Duration;

fn settled(provider_id: &str, cents: u128) -> Outcome {
    Outcome::Settled(Settlement { reference: provider_id.to_owned(), payer: String::new(), amount: Amount::new(cents), card: None })
}

fn waiting(error: Option<(&str, &str)>) -> Outcome {
    let last_error = error.map(|(code, message)| Decline { code: code.to_owned(), message: message.to_owned() });
    Outcome::Pending { requires_payer: true, last_error }
}

const PROCESSING: Outcome = Outcome::Pending { requires_payer: false, last_error: None };

on_both! {
    /// Invariant 1: a retry sends the same key.
    async fn creating_twice_with_one_attempt_makes_one_intent(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let first = bench.open_intent("att_1", 1_000).await;
        assert_eq!(first.outcome, waiting(None));
        assert_eq!(bench.open_intent("att_1", 1_000).await, first);
        assert_ne!(bench.open_intent("att_2", 1_000).await.provider_id, first.provider_id);
        let other = bench.try_open("att_1", 2_000).await;
        assert!(matches!(other, Err(RailError::Rejected(_))), "the same key with another amount: {other:?}");
    }

    async fn concurrent_creations_with_one_attempt_make_one_intent(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let opened = futures_util::future::join_all((0..8).map(|_| bench.open_intent("att_1", 1_000))).await;
        assert!(opened.iter().all(|intent| *intent == opened[0]), "{opened:?}");
    }

    async fn an_accepted_card_settles(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_050).await;
        let answer = bench.confirm(&intent, ACCEPTED).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &"succeeded".into()));
        assert_eq!(bench.find(&intent).await, settled(&intent.provider_id, 1_050));
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn a_payment_can_succeed_after_a_declined_card(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        for (number, code, reason, message) in [
            (DECLINED, "card_declined", "generic_decline", "Your card was declined."),
            (INSUFFICIENT, "card_declined", "insufficient_funds", "Your card has insufficient funds."),
            (LOST, "card_declined", "lost_card", "Your card was declined."),
            (STOLEN, "card_declined", "stolen_card", "Your card was declined."),
            (EXPIRED, "expired_card", "expired_card", "Your card has expired."),
            (INCORRECT_CVC, "incorrect_cvc", "incorrect_cvc", "Your card's security code is incorrect."),
            (
                PROCESSING_ERROR,
                "processing_error",
                "processing_error",
                "An error occurred while processing your card. Try again in a little bit.",
            ),
        ] {
            let answer = bench.confirm(&intent, number).await;
            let error = &answer.body["error"];
            assert_eq!((answer.status, &error["type"]), (402, &"card_error".into()));
            assert_eq!((&error["code"], &error["decline_code"]), (&code.into(), &reason.into()));
            assert_eq!(error["payment_intent"]["status"], "requires_payment_method");
            assert_eq!(bench.find(&intent).await, waiting(Some((reason, message))));
        }
        assert!(bench.charged().await.is_empty());
        assert_eq!(bench.confirm(&intent, ACCEPTED).await.status, 200);
        assert_eq!(bench.find(&intent).await, settled(&intent.provider_id, 1_000));
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn the_verification_step_decides_the_outcome(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        let answer = bench.confirm(&intent, SECOND_STEP).await;
        assert_eq!((answer.status, &answer.body["status"]), (200, &"requires_action".into()));
        assert_eq!(answer.body["next_action"]["type"], "use_sandbox_challenge");
        assert_eq!(bench.find(&intent).await, waiting(None));

        let failed = bench.answer_second_step(&intent, "false").await;
        assert_eq!((failed.status, &failed.body["error"]["code"]), (402, &"payment_intent_authentication_failure".into()));
        assert!(matches!(bench.find(&intent).await, Outcome::Pending { requires_payer: true, last_error: Some(_) }));
        assert!(bench.charged().await.is_empty());

        bench.confirm(&intent, SECOND_STEP).await;
        assert_eq!(bench.answer_second_step(&intent, "true").await.body["status"], "succeeded");
        assert_eq!(bench.find(&intent).await, settled(&intent.provider_id, 1_000));
        assert_eq!(bench.answer_second_step(&intent, "true").await.status, 400, "it has been answered");
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn a_card_may_decline_later(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        assert_eq!(bench.confirm(&intent, DECLINES_LATER).await.body["status"], "processing");
        assert_eq!(bench.find(&intent).await, PROCESSING);
        bench.clock.advance(Duration::from_secs(2));
        assert_eq!(bench.find(&intent).await, waiting(Some(("generic_decline", "Your card was declined."))));
        assert!(bench.charged().await.is_empty());
    }

    async fn a_slow_card_responds_after_the_money_has_moved(db: &TestDatabase) {
        let bench = Arc::new(Bench::open(db).await);
        let intent = bench.open_intent("att_1", 1_000).await;
        let confirming = tokio::spawn({
            let (bench, intent) = (bench.clone(), intent.clone());
            async move { bench.confirm(&intent, SLOW).await }
        });
        until("it is processing", async || bench.find(&intent).await == PROCESSING).await;
        assert!(!confirming.is_finished());
        bench.clock.advance(Duration::from_secs(6));
        assert_eq!(confirming.await.expect("confirms").body["status"], "succeeded");
        assert_eq!(bench.find(&intent).await, settled(&intent.provider_id, 1_000));
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn a_silent_card_leaves_the_payment_in_processing_permanently(db: &TestDatabase) {
        let bench = Arc::new(Bench::open(db).await);
        let intent = bench.open_intent("att_1", 1_000).await;
        let confirming = tokio::spawn({
            let (bench, intent) = (bench.clone(), intent.clone());
            async move { bench.confirm(&intent, SILENT).await }
        });
        until("it is processing", async || bench.find(&intent).await == PROCESSING).await;
        bench.clock.advance(Duration::from_secs(60));
        assert_eq!(confirming.await.expect("is answered").status, 504);
        assert_eq!(bench.rail.cancel(&bench.method, &bench.currency, &intent.provider_id).await, PROCESSING, "too late to cancel");
        bench.clock.advance(Duration::from_secs(7 * 24 * 60 * 60));
        assert_eq!(bench.find(&intent).await, PROCESSING);
        assert!(bench.charged().await.is_empty());
    }

    /// Invariant 1 at the provider: a second confirmation returns the current state.
    async fn concurrent_confirmations_charge_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        let answers = futures_util::future::join_all((0..8).map(|_| bench.confirm(&intent, ACCEPTED))).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        for late in answers.iter().filter(|answer| answer.status != 200) {
            let error = &late.body["error"];
            assert_eq!((late.status, &error["code"]), (400, &"payment_intent_unexpected_state".into()), "{error}");
            assert_eq!(error["payment_intent"]["status"], "succeeded");
        }
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn concurrent_queries_settle_a_due_payment_once(db: &TestDatabase) {
        let bench = Arc::new(Bench::open(db).await);
        let intent = bench.open_intent("att_1", 1_000).await;
        let confirming = tokio::spawn({
            let (bench, intent) = (bench.clone(), intent.clone());
            async move { bench.confirm(&intent, SLOW).await }
        });
        until("it is processing", async || bench.find(&intent).await == PROCESSING).await;
        bench.clock.advance(Duration::from_secs(6));
        let found = futures_util::future::join_all((0..8).map(|_| bench.find(&intent))).await;
        assert!(found.iter().all(|outcome| *outcome == settled(&intent.provider_id, 1_000)), "{found:?}");
        confirming.await.expect("confirms");
        assert_eq!(bench.charged().await, ["att_1"]);
    }

    async fn cancelling_ends_an_open_intent_and_reports_an_ended_one(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let (open, paid) = (bench.open_intent("att_1", 1_000).await, bench.open_intent("att_2", 1_000).await);
        let abandoned = Decline { code: "abandoned".to_owned(), message: "The payment was canceled.".to_owned() };
        for _ in 0..2 {
            let canceled = bench.rail.cancel(&bench.method, &bench.currency, &open.provider_id).await;
            assert_eq!(canceled, Outcome::Declined(abandoned.clone()));
        }
        assert_eq!(bench.confirm(&open, ACCEPTED).await.status, 400);
        bench.confirm(&paid, ACCEPTED).await;
        let too_late = bench.rail.cancel(&bench.method, &bench.currency, &paid.provider_id).await;
        assert_eq!(too_late, settled(&paid.provider_id, 1_000));
        assert_eq!(bench.charged().await, ["att_2"]);
    }

    async fn an_unknown_intent_is_not_found(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        assert_eq!(bench.rail.find(&bench.method, &bench.currency, "pi_none").await, Outcome::NotFound);
        assert_eq!(bench.rail.cancel(&bench.method, &bench.currency, "pi_none").await, Outcome::NotFound);
    }

    async fn settings_are_verified(db: &TestDatabase) {
        let mut bench = Bench::open(db).await;
        let currencies = [bench.currency.clone()];
        assert_eq!(bench.rail.validate_settings(&bench.method, &currencies).await, Ok(()));
        let mut live = bench.method.clone();
        live.mode = Mode::Live;
        assert!(matches!(bench.rail.validate_settings(&live, &currencies).await, Err(RailError::Misconfigured(_))), "the sandbox is for test mode");
        if let MethodSettings::Stripe { secret_key, .. } = &mut bench.method.settings {
            *secret_key = Secret::new("sk_wrong");
        }
        assert!(matches!(bench.rail.validate_settings(&bench.method, &currencies).await, Err(RailError::Misconfigured(_))));
        let opened = bench.try_open("att_1", 1_000).await;
        assert!(matches!(opened, Err(RailError::Misconfigured(_))), "{opened:?}");
    }
}
