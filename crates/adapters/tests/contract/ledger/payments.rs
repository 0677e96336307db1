//! Payments: money moves once, regardless of network faults.

use super::bench::{Bench, UNIT, method};
use futures_util::future::join_all;
use souk_adapters::on_both;
use souk_domain::payment::{Currency, Decline, MethodSettings, Outcome, RailError, Settlement};
use souk_domain::shared::Amount;
use std::time::Duration;

fn code(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Declined(Decline { code, .. }) => code,
        Outcome::Settled(_) => "settled",
        Outcome::NotFound => "absent",
        Outcome::Pending { .. } => "pending",
        Outcome::Unknown(_) => "unknown",
    }
}

on_both! {
    async fn a_payment_that_a_wallet_signed_settles_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        assert_eq!(bench.faucet().await, 200);
        let signed = bench.signed("cs_1", 10, 1);
        assert_eq!(bench.find(&signed).await, Outcome::NotFound);
        let settled = Outcome::Settled(Settlement {
            reference: signed.hash.clone(),
            payer: bench.wallet.did().to_string(),
            amount: Amount::new(10 * UNIT),
            card: None,
        });
        assert_eq!(bench.send(&signed).await, settled);
        assert_eq!(bench.send(&signed).await, settled);
        assert_eq!(bench.find(&signed).await, settled);
        assert_eq!(bench.balance().await, 990);
        let transfers = bench.transfers().await;
        assert_eq!(transfers.len(), 1);
        assert_eq!(transfers[0]["hash"], signed.hash.as_str());
        assert_eq!(transfers[0]["reference"], "cs_1");
        assert_eq!(transfers[0]["from"], bench.wallet.did().as_str());
        assert_eq!(transfers[0]["to"], bench.app.did().as_str());
        assert_eq!(transfers[0]["amount"], (10 * UNIT).to_string());
    }

    async fn a_payment_whose_response_is_lost_is_unknown_until_the_network_is_queried(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let signed = bench.signed("cs_1", 10, 1);
        bench.fault("drop_answer").await;
        assert_eq!(code(&bench.send(&signed).await), "unknown");
        assert_eq!(code(&bench.find(&signed).await), "settled");
        assert_eq!(code(&bench.send(&signed).await), "settled");
        assert_eq!((bench.transfers().await.len(), bench.balance().await), (1, 990));
    }

    async fn a_lost_request_can_be_sent_again(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let signed = bench.signed("cs_1", 10, 1);
        bench.fault("drop_request").await;
        assert_eq!(code(&bench.send(&signed).await), "unknown");
        assert_eq!(bench.find(&signed).await, Outcome::NotFound);
        assert_eq!(code(&bench.send(&signed).await), "settled");
    }

    async fn a_payment_without_funds_is_declined_permanently(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let signed = bench.signed("cs_1", 10, 1);
        assert_eq!(code(&bench.send(&signed).await), "INSUFFICIENT_FUND");
        bench.faucet().await;
        assert_eq!(code(&bench.find(&signed).await), "INSUFFICIENT_FUND");
        assert_eq!(code(&bench.send(&signed).await), "INSUFFICIENT_FUND");
        assert_eq!(code(&bench.send(&bench.signed("cs_1", 10, 2)).await), "settled");
        assert_eq!(bench.balance().await, 990);
    }

    async fn a_rejection_that_the_chain_does_not_record_is_final_too(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        assert_eq!(code(&bench.send(&bench.signed("cs_1", 10, 1)).await), "settled");
        let same_nonce = bench.signed("cs_2", 10, 1);
        assert_eq!(code(&bench.send(&same_nonce).await), "INVALID_NONCE");
        assert_eq!(bench.find(&same_nonce).await, Outcome::NotFound);
        bench.fault("decline").await;
        assert_eq!(code(&bench.send(&bench.signed("cs_3", 10, 2)).await), "FORBIDDEN");
        assert_eq!(bench.balance().await, 990);
    }

    async fn an_account_never_spends_more_than_its_balance(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let signed: Vec<_> = (1..=10).map(|nonce| bench.signed(&format!("cs_{nonce}"), 300, nonce)).collect();
        let outcomes = join_all(signed.iter().map(|signed| bench.send(signed))).await;
        let count = |expected: &str| outcomes.iter().filter(|outcome| code(outcome) == expected).count();
        assert_eq!((count("settled"), count("INSUFFICIENT_FUND")), (3, 7), "{outcomes:?}");
        assert_eq!((bench.balance().await, bench.transfers().await.len()), (100, 3));
    }

    async fn ten_concurrent_sends_of_the_same_bytes_move_money_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let signed = bench.signed("cs_1", 10, 1);
        let outcomes = join_all((0..10).map(|_| bench.send(&signed))).await;
        assert!(outcomes.iter().all(|outcome| code(outcome) == "settled"), "{outcomes:?}");
        assert_eq!((bench.balance().await, bench.transfers().await.len()), (990, 1));
    }

    async fn the_faucet_gives_ten_times_an_hour(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let mut statuses = join_all((0..12).map(|_| bench.faucet())).await;
        statuses.sort_unstable();
        assert_eq!(statuses, [vec![200; 10], vec![429; 2]].concat());
        assert_eq!(bench.balance().await, 10_000);
        bench.clock.advance(Duration::from_secs(3_600));
        assert_eq!((bench.faucet().await, bench.balance().await), (200, 11_000));
        assert_eq!(bench.post("/faucet", &serde_json::json!({"address": "alice"})).await.0, 400);
    }

    async fn settings_are_verified_at_the_network(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let verify = |changed, currency| {
            let rail = &bench.rail;
            async move { rail.validate_settings(&changed, &[currency]).await }
        };
        assert_eq!(verify(bench.method.clone(), bench.currency.clone()).await, Ok(()));
        let mut elsewhere = method("/sandbox/arcblock/api/");
        let MethodSettings::Arcblock { chain_id, .. } = &mut elsewhere.settings else { panic!("arcblock") };
        *chain_id = "main".to_owned();
        assert!(matches!(verify(elsewhere, bench.currency.clone()).await, Err(RailError::Misconfigured(_))));
        for change in [(|currency| currency.decimals = 6) as fn(&mut Currency), |currency| currency.symbol = "ABT".to_owned(), |currency| currency.contract = "z35n".to_owned()] {
            let mut currency = bench.currency.clone();
            change(&mut currency);
            assert!(matches!(verify(bench.method.clone(), currency).await, Err(RailError::Misconfigured(_))));
        }
    }
}
