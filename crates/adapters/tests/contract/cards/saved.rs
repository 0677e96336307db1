//! Saved cards: saved by a setup or a payment, then charged off-session and refunded.

use super::bench::{
    ACCEPTED, ALWAYS_SECOND_STEP, Bench, DECLINED, DECLINES_LATER, EXPIRED, INSUFFICIENT, SECOND_STEP, SECRET_KEY, SILENT, SLOW, holder,
    until,
};
use reqwest::Method as Verb;
use serde_json::json;
use souk_adapters::on_both;
use souk_domain::customer::ProviderCustomer;
use souk_domain::payment::{
    CardExpiry, CardHolder, CardRail, CardRefundRequest, CardRequest, ChargeRequest, Decline, Outcome, RailError, SavedCard, Settlement,
    SetupOutcome, SetupRequest,
};
use souk_domain::shared::{Amount, AttemptId, CustomerId, RefundId};
use std::time::Duration;

fn settled(reference: &str, cents: u128, card: Option<&SavedCard>) -> Outcome {
    Outcome::Settled(Settlement { reference: reference.to_owned(), payer: String::new(), amount: Amount::new(cents), card: card.cloned() })
}

fn known(provider_id: &str) -> ProviderCustomer {
    ProviderCustomer { provider_id: provider_id.to_owned(), is_erased: false }
}

fn decline_code(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Declined(Decline { code, .. }) => code,
        other => panic!("not declined: {other:?}"),
    }
}

async fn status_of(bench: &Bench, intent: &str) -> String {
    let seen = bench.call(SECRET_KEY, Verb::GET, &format!("/v1/payment_intents/{intent}"), &[], None).await;
    seen.body["status"].as_str().expect("a status").to_owned()
}

async fn open_saving_intent(bench: &Bench, attempt: &str, name: &str) -> souk_domain::payment::CardIntent {
    let request = CardRequest {
        attempt: AttemptId::parse(attempt).expect("an id"),
        amount: Amount::new(1_000),
        description: "in_1".to_owned(),
        receipt_email: None,
        setup_future_usage: Some(holder(name)),
    };
    bench.rail.open(&bench.method, &bench.currency, &request).await.expect("opens")
}

on_both! {
    async fn a_card_saved_by_a_setup_is_charged_off_session(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let setup = bench.open_setup("att_1").await;
        assert_eq!(setup.outcome, SetupOutcome::Pending { requires_payer: true, last_error: None });
        assert_eq!(bench.confirm_setup(&setup, ACCEPTED).await.status, 200);
        let SetupOutcome::Saved(card) = bench.find_setup(&setup).await else { panic!("saved") };
        assert_eq!((card.brand.as_str(), card.last4.as_str(), card.expiry), ("visa", "4242", CardExpiry::new(12, 2030)));
        assert!(bench.charged().await.is_empty(), "saving a card costs nothing");

        let charge = bench.charge("att_2", 900, &card).await;
        assert_eq!(charge.outcome, settled(&charge.provider_id, 900, Some(&card)));
        assert_eq!(bench.find(&charge).await, charge.outcome);
        assert_eq!(bench.charged().await, ["att_2"]);
    }

    async fn creating_a_setup_twice_with_one_attempt_makes_one_setup_of_one_customer(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let first = bench.open_setup("att_1").await;
        assert_eq!(bench.open_setup("att_1").await, first);
        let renamed = SetupRequest { attempt: AttemptId::parse("att_1").expect("an id"), holder: holder("Ada Lovelace") };
        assert_eq!(bench.rail.open_setup(&bench.method, &renamed).await, Ok(first.clone()), "a customer may change their name between two tries");
        let seen = bench.server(Verb::GET, &format!("/v1/setup_intents/{}", first.provider_id), &[]).await.body;
        let customer = bench.server(Verb::GET, &format!("/v1/customers/{}", seen["customer"].as_str().expect("a customer")), &[]).await.body;
        assert_eq!((&customer["name"], &customer["email"]), (&"Ada Lovelace".into(), &"ada@example.org".into()));
        assert_eq!(customer["metadata"], json!({ "customer": "cus_1", "method": bench.method.id.as_str() }));
        assert_ne!(bench.open_setup("att_2").await.provider_id, first.provider_id);
        let made = bench.server(Verb::GET, "/v1/events", &[("type", "customer.created")]).await.body;
        assert_eq!(made["data"].as_array().expect("a list").len(), 1, "one customer at the provider for each of the store's");
    }

    async fn a_known_customer_is_kept_and_one_that_the_provider_has_lost_is_replaced(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let opened = bench.rail.open_customer(&bench.method, None, &holder("Ada")).await.expect("opens");
        assert_eq!(bench.rail.open_customer(&bench.method, Some(&known(&opened)), &holder("Ada Lovelace")).await, Ok(opened.clone()));
        let renamed = bench.server(Verb::GET, &format!("/v1/customers/{opened}"), &[]).await.body;
        assert_eq!(renamed["name"], "Ada Lovelace");
        let replaced = bench.rail.open_customer(&bench.method, Some(&known("cus_unknown")), &holder("Ada")).await.expect("opens");
        assert!(replaced != opened && replaced != "cus_unknown", "{replaced}");
    }

    async fn a_deleted_customer_loses_its_cards_and_is_replaced_while_its_payments_can_be_refunded(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = open_saving_intent(&bench, "att_1", "Ada").await;
        bench.confirm(&intent, ACCEPTED).await;
        let Outcome::Settled(Settlement { card: Some(card), .. }) = bench.find(&intent).await else { panic!("a saved card") };
        bench.fault(json!({ "mode": "drop_answer" })).await;
        let lost = bench.rail.delete_customer(&bench.method, &card.customer).await;
        assert!(matches!(lost, Err(RailError::Unreachable(_))), "{lost:?}");
        for _ in 0..2 {
            assert_eq!(bench.rail.delete_customer(&bench.method, &card.customer).await, Ok(()), "it is deleted already");
        }
        assert_eq!(bench.rail.delete_customer(&bench.method, "cus_unknown").await, Ok(()));
        assert!(bench.rail.delete_customer(&bench.method, "../balance").await.is_err());
        let left = bench.server(Verb::GET, &format!("/v1/customers/{}", card.customer), &[]).await.body;
        assert_eq!(left, json!({ "id": card.customer, "object": "customer", "deleted": true }));
        let refused = bench.charge("att_2", 100, &card).await;
        assert!(matches!(refused.outcome, Outcome::Declined(_)), "{:?}", refused.outcome);
        assert_eq!(bench.charged().await, ["att_1"]);
        // Also within the time in which the provider repeats its answer to the creation.
        let erased = ProviderCustomer { provider_id: card.customer.clone(), is_erased: true };
        let replaced = bench.rail.open_customer(&bench.method, Some(&erased), &holder("Ada")).await.expect("opens");
        assert_ne!(replaced, card.customer);
        let request = CardRefundRequest {
            attempt: AttemptId::parse("att_3").expect("an id"),
            refund: RefundId::parse("re_1").expect("an id"),
            provider_id: intent.provider_id.clone(),
            amount: Amount::new(400),
            is_late: false,
        };
        let refunded = bench.rail.refund(&bench.method, &bench.currency, &request).await;
        assert!(matches!(&refunded, Outcome::Settled(settlement) if settlement.amount == Amount::new(400)), "{refunded:?}");
    }

    async fn a_setup_whose_response_is_lost_is_found_by_a_retry(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.fault(json!({ "mode": "error_500" })).await;
        let request = SetupRequest { attempt: AttemptId::parse("att_1").expect("an id"), holder: holder("Ada") };
        assert!(bench.rail.open_setup(&bench.method, &request).await.is_err());
        let setup = bench.open_setup("att_1").await;
        bench.confirm_setup(&setup, ACCEPTED).await;
        bench.fault(json!({ "mode": "drop_answer" })).await;
        assert!(matches!(bench.find_setup(&setup).await, SetupOutcome::Unknown(_)));
        assert!(matches!(bench.find_setup(&setup).await, SetupOutcome::Saved(_)));
    }

    async fn a_failed_setup_gives_the_reason(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let setup = bench.open_setup("att_1").await;
        for (number, code) in [(DECLINED, "generic_decline"), (INSUFFICIENT, "insufficient_funds"), (EXPIRED, "expired_card")] {
            assert_eq!(bench.confirm_setup(&setup, number).await.status, 402);
            let SetupOutcome::Pending { requires_payer: true, last_error: Some(error) } = bench.find_setup(&setup).await else { panic!("waits") };
            assert_eq!(error.code, code);
        }
        assert_eq!(bench.confirm_setup(&setup, SECOND_STEP).await.body["status"], "requires_action");
        assert_eq!(bench.answer_setup(&setup, "false").await.body["error"]["code"], "setup_intent_authentication_failure");
        bench.confirm_setup(&setup, ACCEPTED).await;
        assert!(matches!(bench.find_setup(&setup).await, SetupOutcome::Saved(_)));
    }

    async fn a_canceled_setup_saves_nothing(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let (open, done) = (bench.open_setup("att_1").await, bench.open_setup("att_2").await);
        let abandoned = Decline { code: "abandoned".to_owned(), message: "Saving the card was canceled.".to_owned() };
        for _ in 0..2 {
            assert_eq!(bench.rail.cancel_setup(&bench.method, &open.provider_id).await, SetupOutcome::Declined(abandoned.clone()));
        }
        assert_eq!(bench.confirm_setup(&open, ACCEPTED).await.status, 400);
        bench.confirm_setup(&done, ACCEPTED).await;
        let too_late = bench.rail.cancel_setup(&bench.method, &done.provider_id).await;
        assert!(matches!(too_late, SetupOutcome::Saved(_)), "{too_late:?}");
        assert_eq!(bench.rail.cancel_setup(&bench.method, "seti_none").await, SetupOutcome::NotFound);
        assert_eq!(bench.rail.find_setup(&bench.method, "pi_1").await, SetupOutcome::NotFound);
    }

    async fn a_payment_can_save_its_card(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = open_saving_intent(&bench, "att_1", "Ada").await;
        assert_eq!(open_saving_intent(&bench, "att_1", "Ada Lovelace").await, intent);
        bench.confirm(&intent, SECOND_STEP).await;
        bench.answer_second_step(&intent, "true").await;
        let Outcome::Settled(Settlement { card: Some(card), .. }) = bench.find(&intent).await else { panic!("a kept card") };
        assert_eq!(card.last4, "3155");
        let too_late = bench.rail.cancel(&bench.method, &bench.currency, &intent.provider_id).await;
        assert_eq!(too_late, settled(&intent.provider_id, 1_000, Some(&card)), "the card is reported here too");

        let charge = bench.charge("att_2", 500, &card).await;
        assert_eq!(charge.outcome, settled(&charge.provider_id, 500, Some(&card)), "the second step was taken when it was kept");
        assert_eq!(bench.charged().await, ["att_1", "att_2"]);
    }

    async fn a_payment_without_setup_future_usage_saves_no_card(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let intent = bench.open_intent("att_1", 1_000).await;
        bench.confirm(&intent, ACCEPTED).await;
        assert_eq!(bench.find(&intent).await, settled(&intent.provider_id, 1_000, None));
    }

    /// Invariant 1.
    async fn charging_twice_with_one_attempt_moves_money_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", ACCEPTED).await;
        let first = bench.charge("att_2", 900, &card).await;
        assert_eq!(bench.charge("att_2", 900, &card).await, first);
        let race = futures_util::future::join_all((0..6).map(|_| bench.charge("att_3", 900, &card))).await;
        assert!(race.iter().all(|charge| *charge == race[0] && matches!(charge.outcome, Outcome::Settled(_))), "{race:?}");
        let other = bench.charge("att_2", 901, &card).await;
        assert!(matches!(other.outcome, Outcome::Unknown(_)), "the attempt was charged, with another amount: {other:?}");
        assert_eq!(bench.charged().await, ["att_2", "att_3"]);
    }

    /// Invariant 1: the provider forgets idempotency keys after a day, and the store may have been down for longer.
    async fn a_charge_or_refund_retried_days_later_moves_money_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", ACCEPTED).await;
        let first = bench.charge("att_2", 900, &card).await;
        let refunded = bench.refund("re_1", &first.provider_id, 300).await;
        bench.charge("att_probe", 1_000, &card).await;
        bench.clock.advance(Duration::from_secs(3 * 86_400));
        // The provider rejects another amount for as long as it remembers the key.
        until("keys are forgotten", async || matches!(bench.charge("att_probe", 1_001, &card).await.outcome, Outcome::Settled(_))).await;
        let request = |attempt: &str| ChargeRequest {
            attempt: AttemptId::parse(attempt).expect("an id"),
            amount: Amount::new(900),
            description: "in_1".to_owned(),
            card: card.clone(),
            period: None,
            is_late: true,
        };
        assert_eq!(bench.rail.charge(&bench.method, &bench.currency, &request("att_2")).await, Ok(first.clone()));
        let refund = RefundId::parse("re_1").expect("an id");
        let attempt = AttemptId::parse("att_of_1").expect("an id");
        let again = CardRefundRequest { attempt, refund, provider_id: first.provider_id.clone(), amount: Amount::new(300), is_late: true };
        assert_eq!(bench.rail.refund(&bench.method, &bench.currency, &again).await, refunded);
        assert_eq!(bench.charged().await, ["att_2", "att_probe", "att_probe"]);
        let never_arrived = bench.rail.charge(&bench.method, &bench.currency, &request("att_3")).await.expect("charges");
        assert!(matches!(never_arrived.outcome, Outcome::Settled(_)), "{never_arrived:?}");
    }

    /// Invariants 1 and 4.
    async fn a_charge_whose_response_is_lost_is_unknown_until_it_is_retried(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", ACCEPTED).await;
        for (attempt, mode) in [("att_2", "drop_answer"), ("att_3", "error_500")] {
            bench.fault(json!({ "mode": mode })).await;
            let lost = bench.charge(attempt, 900, &card).await;
            assert!(matches!(lost.outcome, Outcome::Unknown(_)) && lost.provider_id.is_empty(), "{mode}: {lost:?}");
            let seen = bench.charge(attempt, 900, &card).await;
            assert_eq!(seen.outcome, settled(&seen.provider_id, 900, Some(&card)));
        }
        assert_eq!(bench.charged().await, ["att_2", "att_3"]);
    }

    async fn a_declined_charge_gives_the_reason_and_can_never_settle(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", ACCEPTED).await;
        for (attempt, code, is_hard_decline) in [
            ("att_2", "insufficient_funds", false),
            ("att_3", "do_not_honor", false),
            ("att_4", "stolen_card", true),
            ("att_5", "lost_card", true),
            ("att_6", "expired_card", true),
        ] {
            bench.set_bank_decline(&card, code).await;
            let charge = bench.charge(attempt, 900, &card).await;
            let Outcome::Declined(decline) = &charge.outcome else { panic!("{charge:?}") };
            assert_eq!((decline.code.as_str(), decline.is_hard_decline()), (code, is_hard_decline));
            assert_eq!(status_of(&bench, &charge.provider_id).await, "canceled");
            assert_eq!(bench.find(&charge).await, charge.outcome, "the provider says the same afterwards");
            bench.set_bank_decline(&card, "").await;
            assert_eq!(bench.charge(attempt, 900, &card).await, charge, "a declined attempt stays declined");
        }
        assert!(bench.charged().await.is_empty());
        assert!(matches!(bench.charge("att_7", 900, &card).await.outcome, Outcome::Settled(_)), "the card has recovered");
    }

    async fn a_declined_charge_that_could_not_be_canceled_is_unknown(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", DECLINES_LATER).await;
        // The response to the charge arrives. The responses to the cancellation and to the query after it do not.
        bench.fault(json!({ "mode": "delay_ms", "value": 1 })).await;
        bench.fault(json!({ "mode": "error_500", "count": 2 })).await;
        let charge = bench.charge("att_2", 900, &card).await;
        assert!(matches!(charge.outcome, Outcome::Unknown(_)) && !charge.provider_id.is_empty(), "{charge:?}");
        assert_eq!(decline_code(&bench.charge("att_2", 900, &card).await.outcome), "insufficient_funds");
    }

    async fn a_declined_charge_that_was_not_canceled_is_canceled_when_found(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", DECLINES_LATER).await;
        // The process that charged ended before it sent the cancellation.
        let form = [
            ("amount", "900"),
            ("currency", "usd"),
            ("payment_method_types[]", "card"),
            ("customer", card.customer.as_str()),
            ("payment_method", card.card.as_str()),
            ("confirm", "true"),
            ("off_session", "true"),
        ];
        let declined = bench.server(Verb::POST, "/v1/payment_intents", &form).await.body;
        let intent = declined["error"]["payment_intent"]["id"].as_str().expect("an intent").to_owned();
        assert_eq!(status_of(&bench, &intent).await, "requires_payment_method");
        let found = bench.rail.find_charge(&bench.method, &bench.currency, &intent).await;
        assert_eq!(decline_code(&found), "insufficient_funds");
        assert_eq!(status_of(&bench, &intent).await, "canceled");
        let again = bench.rail.find_charge(&bench.method, &bench.currency, &intent).await;
        assert!(matches!(again, Outcome::Declined(_)), "{again:?}");
    }

    async fn a_card_that_can_be_saved_may_decline_every_charge(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", DECLINES_LATER).await;
        for attempt in ["att_2", "att_3"] {
            assert_eq!(decline_code(&bench.charge(attempt, 900, &card).await.outcome), "insufficient_funds");
        }
        assert!(bench.charged().await.is_empty());
    }

    async fn a_charge_that_requires_authentication_is_declined_and_its_intent_canceled(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", ALWAYS_SECOND_STEP).await;
        let charge = bench.charge("att_2", 900, &card).await;
        assert_eq!(decline_code(&charge.outcome), "authentication_required");
        assert_eq!(status_of(&bench, &charge.provider_id).await, "canceled");
        let once = bench.saved("att_3", SECOND_STEP).await;
        assert!(matches!(bench.charge("att_4", 900, &once).await.outcome, Outcome::Settled(_)), "verification was required only at setup");
        assert_eq!(bench.charged().await, ["att_4"]);
    }

    async fn a_deleted_or_foreign_card_is_declined_without_an_intent(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let mine = bench.saved("att_1", ACCEPTED).await;
        let other = CardHolder { customer: CustomerId::parse("cus_2").expect("an id"), ..holder("Bob") };
        let theirs = bench.rail.open_customer(&bench.method, None, &other).await.expect("opens");
        for (attempt, card, code) in [
            ("att_3", SavedCard { card: "pm_none".to_owned(), ..mine.clone() }, "resource_missing"),
            ("att_4", SavedCard { customer: theirs, ..mine }, "payment_method_unexpected_state"),
        ] {
            let charge = bench.charge(attempt, 900, &card).await;
            assert_eq!((decline_code(&charge.outcome), charge.provider_id.as_str()), (code, ""));
        }
        assert!(bench.charged().await.is_empty());
    }

    async fn a_charge_may_be_pending_before_it_settles(db: &TestDatabase) {
        let bench = std::sync::Arc::new(Bench::open(db).await);
        let card = bench.saved("att_1", SLOW).await;
        let charging = tokio::spawn({
            let (bench, card) = (bench.clone(), card.clone());
            async move { bench.charge("att_2", 900, &card).await }
        });
        until("it is processing", async || bench.kinds().iter().any(|kind| kind == "payment_intent.processing")).await;
        bench.clock.advance(Duration::from_secs(6));
        let charge = charging.await.expect("charges");
        assert_eq!(charge.outcome, settled(&charge.provider_id, 900, Some(&card)));
        assert_eq!(bench.charged().await, ["att_2"]);
    }

    async fn a_delayed_answer_expands_the_charge_that_was_made_meanwhile(db: &TestDatabase) {
        let bench = std::sync::Arc::new(Bench::open(db).await);
        let card = bench.saved("att_1", SLOW).await;
        let charging = tokio::spawn({
            let bench = bench.clone();
            async move {
                let form = [
                    ("amount", "900"),
                    ("currency", "usd"),
                    ("customer", card.customer.as_str()),
                    ("payment_method", card.card.as_str()),
                    ("off_session", "true"),
                    ("confirm", "true"),
                    ("expand[]", "latest_charge"),
                ];
                bench.server(Verb::POST, "/v1/payment_intents", &form).await
            }
        });
        until("it is processing", async || bench.kinds().iter().any(|kind| kind == "payment_intent.processing")).await;
        bench.clock.advance(Duration::from_secs(6));
        let answer = charging.await.expect("answers").body;
        assert_eq!((&answer["status"], &answer["latest_charge"]["object"]), (&"succeeded".into(), &"charge".into()), "{answer}");
        assert_eq!(answer["latest_charge"]["amount"], 900);
    }

    async fn a_retried_charge_of_a_silent_card_is_pending(db: &TestDatabase) {
        let bench = std::sync::Arc::new(Bench::open(db).await);
        let card = bench.saved("att_1", SILENT).await;
        let charging = tokio::spawn({
            let (bench, card) = (bench.clone(), card.clone());
            async move { bench.charge("att_2", 900, &card).await }
        });
        until("it is processing", async || bench.kinds().iter().any(|kind| kind == "payment_intent.processing")).await;
        bench.clock.advance(Duration::from_secs(60));
        assert!(matches!(charging.await.expect("charges").outcome, Outcome::Unknown(_)));
        let again = bench.charge("att_2", 900, &card).await;
        assert_eq!(again.outcome, Outcome::Pending { requires_payer: false, last_error: None });
        assert_eq!(bench.find(&again).await, again.outcome);
    }

    async fn a_refund_moves_money_once_and_never_exceeds_the_payment(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let card = bench.saved("att_1", ACCEPTED).await;
        let paid = bench.charge("att_2", 900, &card).await.provider_id;
        assert_eq!(decline_code(&bench.refund("re_1", &paid, 901).await), "amount_too_large");
        let part = bench.refund("re_2", &paid, 300).await;
        let Outcome::Settled(Settlement { reference, amount, .. }) = &part else { panic!("{part:?}") };
        assert_eq!((reference.starts_with("re_"), *amount), (true, Amount::new(300)));
        assert_eq!(bench.refund("re_2", &paid, 300).await, part, "the same refund");
        assert_eq!(decline_code(&bench.refund("re_3", &paid, 601).await), "amount_too_large");

        bench.fault(json!({ "mode": "drop_answer" })).await;
        assert!(matches!(bench.refund("re_4", &paid, 600).await, Outcome::Unknown(_)));
        assert!(matches!(bench.refund("re_4", &paid, 600).await, Outcome::Settled(_)));
        assert_eq!(decline_code(&bench.refund("re_5", &paid, 1).await), "charge_already_refunded");
        assert!(matches!(bench.refund("re_4", &paid, 1).await, Outcome::Unknown(_)), "this refund was another amount");
        assert_eq!(decline_code(&bench.refund("re_6", "pi_none", 1).await), "resource_missing");
        let balance = bench.server(Verb::GET, "/v1/balance", &[]).await.body;
        assert_eq!(balance["available"], json!([{ "amount": 0, "currency": "usd" }]));
    }

    async fn events_name_their_setup_or_payment(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let setup = bench.open_setup("att_1").await;
        bench.confirm_setup(&setup, ACCEPTED).await;
        let SetupOutcome::Saved(card) = bench.find_setup(&setup).await else { panic!("saved") };
        let charge = bench.charge("att_2", 900, &card).await;
        bench.refund("re_1", &charge.provider_id, 900).await;
        until("the refund was told", async || bench.kinds().iter().any(|kind| kind == "charge.refunded")).await;
        until("the setup was told", async || bench.kinds().iter().any(|kind| kind == "setup_intent.succeeded")).await;
        for (signature, body) in bench.inbox.delivered.lock().expect("inbox").iter() {
            let event = bench.rail.read_event(&bench.method, body, signature, souk_domain::shared::Clock::now(&*bench.clock)).expect("reads");
            let expected = match event.kind.split('.').next() {
                Some("setup_intent") => Some(setup.provider_id.as_str()),
                Some("payment_intent" | "charge" | "refund") => Some(charge.provider_id.as_str()),
                _ => None,
            };
            assert_eq!(event.intent(), expected, "{}", event.kind);
        }
    }

    async fn only_a_card_can_be_expanded_and_only_for_the_server(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let setup = bench.open_setup("att_1").await;
        bench.confirm_setup(&setup, ACCEPTED).await;
        let path = format!("/v1/setup_intents/{}", setup.provider_id);
        let seen = bench.server(Verb::GET, &path, &[("expand[]", "payment_method")]).await;
        assert_eq!(seen.body["payment_method"]["card"]["last4"], "4242");
        let other = bench.server(Verb::GET, &path, &[("expand[]", "latest_attempt")]).await;
        assert_eq!((other.status, &other.body["error"]["code"]), (400, &"parameter_invalid".into()));
        let form = [("expand[]", "payment_method"), ("client_secret", setup.client_secret.as_str())];
        assert!(bench.browser(Verb::GET, &path, &form).await.body["payment_method"].is_string());
    }
}
