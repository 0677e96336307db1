//! Mandates: charges stay within what the customer granted, and stop when the mandate ends.

use super::bench::{Bench, UNIT, describe};
use futures_util::future::join_all;
use souk_adapters::arcblock::{ArcblockRail, DelegateLimit, DelegateOp, DelegateTx, RateLimit, RevokeDelegateTx, TokenLimit};
use souk_adapters::identity::{AppKey, delegation_address};
use souk_adapters::on_both;
use souk_domain::payment::{Outcome, Settlement, StoreTransaction, StoreTransactionRequest, WalletRail};
use souk_domain::shared::{Amount, Clock};
use souk_sandbox::ledger::token;
use std::time::Duration;

const PULL: &str = "fg:t:transfer_v2";

fn limit(bench: &Bench) -> TokenLimit {
    TokenLimit { address: token(), to: vec![bench.app.did().to_string()], ..TokenLimit::default() }
}

/// A delegation that a wallet could grant unasked, with limits that this store never requests.
fn delegation(bench: &Bench, tokens: Vec<TokenLimit>) -> DelegateTx {
    DelegateTx {
        address: delegation_address(bench.wallet.did(), bench.app.did()).to_string(),
        to: bench.app.did().to_string(),
        ops: vec![DelegateOp { type_url: PULL.to_owned(), rules: Vec::new(), limit: Some(DelegateLimit { tokens, assets: Vec::new() }) }],
        ..DelegateTx::default()
    }
}

fn revoke(bench: &Bench) -> RevokeDelegateTx {
    let DelegateTx { address, to, .. } = delegation(bench, Vec::new());
    RevokeDelegateTx { address, to, type_urls: vec![PULL.to_owned()], data: None }
}

/// Returns the code and the message with which the ledger rejects a charge.
async fn rejection(bench: &Bench, tokens: u128, nonce: u64) -> (String, String) {
    let signed = bench.signed_store_tx(StoreTransaction::Pull { payer: bench.wallet.did().clone() }, tokens, nonce);
    let (code, message) = bench.send_bytes(&signed.bytes).await;
    (code, message.rsplit(": ").next().unwrap_or_default().to_owned())
}

on_both! {
    async fn a_charge_within_the_mandate_settles_without_the_customer(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        assert_eq!(describe(&bench.grant_mandate(10, 1).await), ("settled", 0));
        assert!(bench.mandate_allows(10).await && !bench.mandate_allows(11).await);
        let signed = bench.signed_store_tx(StoreTransaction::Pull { payer: bench.wallet.did().clone() }, 10, 2);
        assert_eq!(bench.find(&signed).await, Outcome::NotFound);
        let settled = Outcome::Settled(Settlement {
            reference: signed.hash.clone(),
            payer: bench.wallet.did().to_string(),
            amount: Amount::new(10 * UNIT),
            card: None,
        });
        assert_eq!(bench.send(&signed).await, settled);
        assert_eq!(bench.find(&signed).await, settled);
        assert_eq!(describe(&bench.pull(3, 3).await), ("settled", 3));
        assert_eq!((bench.balance().await, bench.store_balance().await), (987, 13));
        assert_eq!(bench.transfers().await.len(), 2);
    }

    async fn ten_concurrent_sends_of_one_charge_move_money_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        let signed = bench.signed_store_tx(StoreTransaction::Pull { payer: bench.wallet.did().clone() }, 10, 2);
        assert_eq!(signed, bench.signed_store_tx(StoreTransaction::Pull { payer: bench.wallet.did().clone() }, 10, 2));
        let outcomes = join_all((0..10).map(|_| bench.send(&signed))).await;
        assert!(outcomes.iter().all(|outcome| describe(outcome) == ("settled", 10)), "{outcomes:?}");
        assert_eq!((bench.balance().await, bench.transfers().await.len()), (990, 1));
    }

    async fn a_charge_whose_response_is_lost_is_unknown_until_the_network_is_queried(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        let signed = bench.signed_store_tx(StoreTransaction::Pull { payer: bench.wallet.did().clone() }, 10, 2);
        bench.fault("drop_answer").await;
        assert_eq!(describe(&bench.send(&signed).await).0, "unknown");
        assert_eq!(describe(&bench.find(&signed).await), ("settled", 10));
        assert_eq!(describe(&bench.send(&signed).await), ("settled", 10));
        let declined = bench.signed_store_tx(StoreTransaction::Pull { payer: bench.wallet.did().clone() }, 11, 3);
        bench.fault("drop_answer").await;
        assert_eq!(describe(&bench.send(&declined).await).0, "unknown");
        assert_eq!(describe(&bench.find(&declined).await).0, "INSUFFICIENT_DELEGATION");
        assert_eq!((bench.balance().await, bench.transfers().await.len()), (990, 1));
    }

    async fn a_mandate_is_only_for_the_store_that_it_names(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        let payer = bench.wallet.did().clone();
        let stranger = AppKey::from_seed(&[9; 32]);
        let other = ArcblockRail::new(stranger, bench.clock.clone(), "http://127.0.0.1:1".parse().expect("address")).expect("a rail");
        let (transaction, amount) = (StoreTransaction::Pull { payer }, Amount::new(UNIT));
        let request = StoreTransactionRequest { transaction, amount, reference: "in_1".to_owned(), period: None, nonce: 2 };
        let signed = other.sign(&bench.method, &bench.currency, &request).expect("signs");
        assert_eq!(bench.send_bytes(&signed.bytes).await.0, "INVALID_DELEGATION");
        assert_eq!(bench.balance().await, 1_000);
    }

    async fn a_charge_above_the_mandates_limit_is_rejected_permanently(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        let outcome = bench.pull(11, 2).await;
        let Outcome::Declined(decline) = &outcome else { panic!("{outcome:?}") };
        assert!(decline.is_for_mandate() && !decline.is_for_funds());
        assert_eq!(decline.code, "INSUFFICIENT_DELEGATION");
        bench.grant_mandate(20, 3).await;
        assert_eq!(bench.pull(11, 2).await, outcome);
        assert_eq!(describe(&bench.pull(11, 4).await), ("settled", 11));
        assert_eq!(bench.balance().await, 989);
    }

    async fn a_charge_without_a_mandate_is_rejected_as_such(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        assert!(!bench.mandate_allows(1).await);
        let outcome = bench.pull(1, 1).await;
        assert!(matches!(&outcome, Outcome::Declined(decline) if decline.is_for_mandate()), "{outcome:?}");
        assert_eq!(describe(&outcome).0, "INVALID_DELEGATION");
    }

    async fn a_revoked_mandate_allows_nothing_until_it_is_granted_again(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        assert_eq!(bench.wallet_sends(2, revoke(&bench)).await.0, "OK");
        assert!(!bench.mandate_allows(1).await);
        let outcome = bench.pull(1, 3).await;
        assert!(matches!(&outcome, Outcome::Declined(decline) if decline.is_for_mandate()), "{outcome:?}");
        assert_eq!(describe(&outcome).0, "INVALID_DELEGATION_TYPE_URL");
        bench.grant_mandate(10, 4).await;
        assert!(bench.mandate_allows(10).await);
        assert_eq!(describe(&bench.pull(1, 5).await), ("settled", 1));
    }

    async fn insufficient_funds_are_distinguished_from_a_missing_mandate(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.grant_mandate(10, 1).await;
        let outcome = bench.pull(10, 2).await;
        assert!(matches!(&outcome, Outcome::Declined(decline) if decline.is_for_funds() && !decline.is_for_mandate()), "{outcome:?}");
        bench.faucet().await;
        assert_eq!(bench.pull(10, 2).await, outcome);
        assert_eq!(describe(&bench.pull(10, 3).await), ("settled", 10));
    }

    async fn each_exceeded_limit_is_named(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let now = u64::try_from(bench.clock.now().seconds()).expect("after 1970");
        let elsewhere = AppKey::from_seed(&[9; 32]).did().to_string();
        let unit = |tokens: u128| (tokens * UNIT).to_string();
        let cases = [
            ("token address is not allowed", TokenLimit { address: elsewhere.clone(), ..limit(&bench) }, 0),
            ("token receiver is not allowed", TokenLimit { to: vec![elsewhere.clone()], ..limit(&bench) }, 0),
            ("tx count exceeds threshold", TokenLimit { tx_count: 2, ..limit(&bench) }, 2),
            ("delegation expired", TokenLimit { valid_until: now - 1, ..limit(&bench) }, 0),
            ("delegation rate limit exceeded", TokenLimit { rate: Some(RateLimit { interval: 60, anchor: now - 60 }), ..limit(&bench) }, 1),
            ("token amount exceeds tx allowance", TokenLimit { tx_allowance: (UNIT - 1).to_string(), ..limit(&bench) }, 0),
            ("token amount exceeds total allowance", TokenLimit { total_allowance: unit(3), ..limit(&bench) }, 3),
        ];
        let mut nonce = 10;
        for (reason, limit, passing) in cases {
            nonce += 10;
            assert_eq!(bench.wallet_sends(nonce, delegation(&bench, vec![limit])).await.0, "OK", "{reason}");
            for charge in 1..=passing {
                assert!(bench.mandate_allows(1).await, "{reason}: charge {charge}");
                assert_eq!(describe(&bench.pull(1, nonce + charge).await), ("settled", 1), "{reason}: charge {charge}");
            }
            assert!(!bench.mandate_allows(1).await, "{reason}");
            let declined = rejection(&bench, 1, nonce + 9).await;
            assert_eq!(declined, ("INSUFFICIENT_DELEGATION".to_owned(), reason.to_owned()));
        }
        for (code, delegation) in [
            ("DELEGATION_EXPIRED", DelegateTx { valid_until: now - 1, ..delegation(&bench, Vec::new()) }),
            ("DELEGATION_DENIED", DelegateTx { deny: vec!["fg:t:*".to_owned()], ..delegation(&bench, Vec::new()) }),
        ] {
            nonce += 10;
            assert_eq!(bench.wallet_sends(nonce, delegation).await.0, "OK", "{code}");
            assert!(!bench.mandate_allows(1).await, "{code}");
            assert_eq!(rejection(&bench, 1, nonce + 1).await.0, code);
        }
        nonce += 10;
        assert_eq!(bench.wallet_sends(nonce, delegation(&bench, Vec::new())).await.0, "OK");
        assert!(bench.mandate_allows(900).await);
        assert_eq!(describe(&bench.pull(900, nonce + 1).await), ("settled", 900));
    }

    async fn a_delegation_expires_by_the_customers_own_time(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let now = bench.clock.now();
        let day = Duration::from_secs(86_400);
        let until = u64::try_from(now.plus(day).seconds()).expect("after 1970");
        let limits = vec![TokenLimit { valid_until: until, rate: Some(RateLimit { interval: 3_600, anchor: 0 }), ..limit(&bench) }];
        bench.wallet_sends(1, delegation(&bench, limits)).await;
        assert_eq!(describe(&bench.pull(1, 2).await), ("settled", 1));
        assert_eq!(rejection(&bench, 1, 3).await.1, "delegation rate limit exceeded");
        bench.set_customer_time(now.plus(Duration::from_secs(3_600))).await;
        assert_eq!(describe(&bench.pull(1, 4).await), ("settled", 1));
        bench.set_customer_time(now.plus(day).plus(Duration::from_secs(1))).await;
        assert_eq!(rejection(&bench, 1, 5).await.1, "delegation expired");
        // The customer's time never goes back.
        for earlier in [now, now.minus(day)] {
            bench.time.set(bench.wallet.did(), earlier).await.expect("sets");
        }
        assert_eq!(rejection(&bench, 1, 6).await.1, "delegation expired");
        let later = now.plus(day).plus(day);
        let until = u64::try_from(later.seconds()).expect("after 1970");
        bench.wallet_sends(7, delegation(&bench, vec![TokenLimit { valid_until: until, ..limit(&bench) }])).await;
        bench.time.set(bench.wallet.did(), later).await.expect("sets");
        assert_eq!(describe(&bench.pull(1, 8).await), ("settled", 1));
        bench.time.set(bench.wallet.did(), later.plus(Duration::from_secs(1))).await.expect("sets");
        assert_eq!(rejection(&bench, 1, 9).await.1, "delegation expired");
    }

    async fn an_invalid_delegation_is_rejected_with_the_reason(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let elsewhere = AppKey::from_seed(&[9; 32]).did().to_string();
        for (code, change) in [
            ("INVALID_TX", (|tx: &mut DelegateTx| tx.address.clone_from(&tx.to)) as fn(&mut DelegateTx)),
            ("INVALID_TX", |tx| tx.ops.clear()),
            ("INVALID_TX", |tx| tx.ops.push(tx.ops[0].clone())),
            ("INVALID_TX", |tx| tx.deny = vec!["transfer".to_owned()]),
            ("INVALID_TX", |tx| tx.ops[0].limit.as_mut().expect("a limit").tokens[0].tx_allowance = "-1".to_owned()),
            ("INVALID_TX", |tx| tx.ops[0].limit.as_mut().expect("a limit").tokens[0].to = vec!["alice".to_owned()]),
            ("INVALID_TX", |tx| tx.ops[0].limit.as_mut().expect("a limit").tokens[0].rate = Some(RateLimit::default())),
            ("INVALID_DELEGATION_TYPE_URL", |tx| tx.ops[0].type_url = "transfer".to_owned()),
        ] {
            let mut delegate = delegation(&bench, vec![limit(&bench)]);
            change(&mut delegate);
            assert_eq!(bench.wallet_sends(1, delegate.clone()).await.0, code, "{delegate:?}");
        }
        let too_many = delegation(&bench, vec![TokenLimit { to: vec![elsewhere; 33], ..limit(&bench) }]);
        assert_eq!(bench.wallet_sends(1, too_many).await.0, "INVALID_TX");
        assert_eq!(bench.wallet_sends(1, revoke(&bench)).await.0, "INVALID_DELEGATION");
    }

    async fn concurrent_charges_never_exceed_the_total(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let total = TokenLimit { total_allowance: (50 * UNIT).to_string(), ..limit(&bench) };
        bench.wallet_sends(1, delegation(&bench, vec![total])).await;
        let outcomes = join_all((2..12).map(|nonce| bench.pull(10, nonce))).await;
        let settled = outcomes.iter().filter(|outcome| describe(outcome).0 == "settled").count();
        assert_eq!((settled, bench.balance().await, bench.store_balance().await), (5, 950, 50), "{outcomes:?}");
    }

    async fn a_refund_is_sent_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.send(&bench.signed("cs_1", 10, 1)).await;
        let refund = bench.signed_store_tx(StoreTransaction::Payout { to: bench.wallet.did().clone() }, 4, 1);
        for _ in 0..2 {
            assert_eq!(describe(&bench.send(&refund).await), ("settled", 4));
        }
        assert_eq!((bench.balance().await, bench.store_balance().await), (994, 6));
        let more = bench.signed_store_tx(StoreTransaction::Payout { to: bench.wallet.did().clone() }, 7, 2);
        assert_eq!(describe(&bench.send(&more).await), ("INSUFFICIENT_FUND", 0));
    }

    async fn an_accounts_time_can_be_set_only_by_tests(db: &TestDatabase) {
        let bench = Bench::with(db, false).await;
        let body = serde_json::json!({"address": bench.wallet.did().as_str(), "now": 1});
        assert_eq!(bench.post("/time", &body).await.0, 404);
        let bench = Bench::with(db, true).await;
        assert_eq!(bench.post("/time", &serde_json::json!({"address": "alice", "now": 1})).await.0, 400);
        assert_eq!(bench.post("/time", &body).await.0, 204);
    }

    async fn the_published_clients_queries_about_delegations_are_answered(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        bench.pull(4, 2).await;
        let address = delegation_address(bench.wallet.did(), bench.app.did());
        let answer = bench.query(&format!(
            "{{getDelegateState(address: \"{address}\"){{code state{{address from to deny validUntil ops{{key value{{limit{{tokens{{address to \
             txAllowance totalAllowance txSent spentAllowance lastTx}}}}}}}}}}}}}}"
        )).await;
        let state = &answer["data"]["getDelegateState"]["state"];
        assert_eq!((&state["from"], &state["to"]), (&bench.wallet.did().as_str().into(), &bench.app.did().as_str().into()));
        let limit = &state["ops"][0]["value"]["limit"]["tokens"][0];
        assert_eq!((&state["ops"][0]["key"], &limit["txSent"]), (&PULL.into(), &1.into()));
        assert_eq!((&limit["txAllowance"], &limit["spentAllowance"]), (&(10 * UNIT).to_string().into(), &(4 * UNIT).to_string().into()));
        let list = |from: &str, to: &str| format!("{{listDelegations(from: \"{from}\", to: \"{to}\"){{code delegations{{address to}} page{{total}}}}}}");
        let (payer, app) = (bench.wallet.did().as_str(), bench.app.did().as_str());
        for (from, to, total) in [(payer, "", 1), (payer, app, 1), (payer, payer, 0), (app, "", 0)] {
            let answer = bench.query(&list(from, to)).await;
            assert_eq!(answer["data"]["listDelegations"]["page"]["total"], total, "{from} {to}: {answer}");
        }
        assert!(bench.rail.validate_settings(&bench.method, std::slice::from_ref(&bench.currency)).await.is_ok());
    }
}
