//! Both generations of the chain's software, with gas prices above zero.

use super::bench::{Bench, UNIT, describe};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use souk_adapters::arcblock::{DecodedTransaction, Format, Itx, Payload, StakeTx, TokenInput, Transaction, TransactionInput};
use souk_adapters::identity::stake_address;
use souk_adapters::on_both;
use souk_domain::access::Did;
use souk_domain::payment::{GasStatus, Outcome, RailError, StoreTransaction};
use souk_domain::shared::Amount;
use souk_sandbox::ledger::{CHAIN_ID, Generation, MAX_GAS_STAKE, MIN_GAS_STAKE, token};
use std::time::Duration;

/// The price of a unit of gas, in base units.
const GAS_PRICE: u64 = 10_000_000_000_000;

async fn base_units(bench: &Bench, account: &Did) -> u128 {
    bench.rail.balance(&bench.method, &bench.currency, account).await.expect("answers").base_units()
}

fn refund(bench: &Bench) -> StoreTransaction {
    StoreTransaction::Payout { to: bench.wallet.did().clone() }
}

/// The customer forbids all charges by the mandate, with fields that only the current generation knows.
async fn deny_all(bench: &Bench, nonce: u64) {
    let request = bench.mandate(10, nonce);
    let prepared = bench.rail.prepare_mandate(&bench.method, &request).expect("prepares").partial_tx;
    let bytes = bs58::decode(&prepared[1..]).into_vec().expect("base58");
    let DecodedTransaction { mut transaction, .. } = Transaction::decode(&bytes).expect("a transaction");
    let Some(Itx::DelegateTx(delegate)) = &mut transaction.itx else { panic!("a delegation") };
    delegate.deny = vec!["fg:t:*".to_owned()];
    let itx = transaction.itx.expect("a delegation");
    assert_eq!(bench.wallet_sends(nonce, itx).await.0, "OK");
}

/// The customer stakes for gas. Returns the code of the network's answer.
async fn stake_for_own_gas(bench: &Bench, tokens: u128, nonce: u64) -> String {
    let own = bench.wallet.did().to_string();
    let pk = bs58::decode(&bench.wallet.public_key_base58()[1..]).into_vec().expect("base58");
    let tokens = vec![TokenInput { address: token(), value: (tokens * UNIT).to_string() }];
    let stake = StakeTx {
        address: stake_address(bench.wallet.did(), bench.wallet.did(), "").to_string(),
        receiver: own.clone(),
        inputs: vec![TransactionInput { owner: own.clone(), tokens, assets: Vec::new() }],
        message: "gas".to_owned(),
        ..StakeTx::default()
    };
    let mut transaction =
        Transaction { from: own, nonce, chain_id: CHAIN_ID.to_owned(), pk, itx: Some(stake.into()), ..Transaction::default() };
    bench.wallet.sign(&mut transaction, Format::Protobuf);
    bench.send_bytes(&transaction.encode(Format::Protobuf)).await.0
}

/// Gives the store's account the funds for a stake, and stakes them.
async fn stake_for_gas(bench: &Bench) {
    bench.faucet_to(bench.app.did()).await;
    assert_eq!(bench.gas().await.status(), GasStatus::ReadyToStake);
    let staked = bench.rail.stake_for_gas(&bench.method).await.expect("stakes");
    assert_eq!((staked.status(), staked.staked), (GasStatus::Staked, Amount::new(MIN_GAS_STAKE)));
}

/// A payer pays the gas beside the amount; the store cannot pay out everything that it has, until it has staked.
async fn decline_without_gas(bench: &Bench, generation: Generation) {
    bench.set_chain(generation, GAS_PRICE).await;
    bench.faucet().await;
    let paid = bench.send(&bench.signed("cs_1", 10, 1)).await;
    assert_eq!(describe(&paid), ("settled", 10), "gas is not part of the amount");
    let left = base_units(bench, bench.wallet.did()).await;
    assert!(left < 990 * UNIT && left > 989 * UNIT, "the payer paid the gas: {left}");
    let Outcome::Declined(decline) = bench.send(&bench.signed("cs_2", 990, 2)).await else { panic!("the payer lacks the funds") };
    assert!(decline.is_for_funds() && !decline.is_for_gas(), "{decline:?}");

    let refused = bench.signed_store_tx(refund(bench), 10, 7);
    let Outcome::Declined(decline) = bench.send(&refused).await else { panic!("the store has no funds for gas") };
    assert!(decline.is_for_gas() && !decline.is_for_funds() && !decline.is_hard_decline(), "{decline:?}");
    assert!(decline.message.contains("Insufficient fund to pay for tx cost"), "{decline:?}");
    assert_eq!(bench.find(&refused).await, Outcome::NotFound);

    stake_for_gas(bench).await;
    assert_eq!(describe(&bench.send(&refused).await), ("settled", 10));
}

on_both! {
    async fn a_mandate_is_checked_in_both_generations(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        for generation in Generation::ALL {
            bench.set_chain(generation, 0).await;
            assert!(bench.mandate_allows(10).await && !bench.mandate_allows(11).await, "{generation:?}");
        }
    }

    async fn an_upgraded_network_is_asked_with_the_newer_fields_again_after_an_hour(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        bench.set_chain(Generation::V1_20_8, 0).await;
        assert!(bench.mandate_allows(10).await);
        bench.set_chain(Generation::Current, 0).await;
        deny_all(&bench, 2).await;
        assert!(bench.mandate_allows(10).await, "the newer fields are not asked for");
        bench.clock.advance(Duration::from_secs(3_600));
        assert!(!bench.mandate_allows(10).await);
    }

    /// As clients write it that decode what they sign: as asked, decoded, or as a JSON text of the same bytes.
    async fn a_transfer_whose_payload_was_rewritten_settles_in_both_generations(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        for (generation, nonces) in Generation::ALL.into_iter().zip([100, 200]) {
            bench.set_chain(generation, GAS_PRICE).await;
            let data = json!({ "reference": "cs_1" });
            let bytes = data.to_string();
            for (nonce, payload) in (nonces..).zip([data, json!(bytes), json!(STANDARD.encode(&bytes))]) {
                let request = bench.request("cs_1", 1, nonce);
                let prepared = bench.rail.prepare(&bench.method, &bench.currency, &request).expect("prepares");
                let signed = bench.wallet.sign_transfer(&prepared.partial_tx, &prepared.token, request.amount).expect("signs");
                let bytes = bs58::decode(&signed[1..]).into_vec().expect("base58");
                let DecodedTransaction { mut transaction, format } = Transaction::decode(&bytes).expect("a transaction");
                let Some(Itx::TransferV3Tx(transfer)) = &mut transaction.itx else { panic!("a transfer") };
                transfer.data = Some(Payload::new(&payload));
                bench.wallet.sign(&mut transaction, format);
                let rewritten = format!("z{}", bs58::encode(transaction.encode(format)).into_string());
                let checked = bench.rail.check(&bench.method, &bench.currency, &request, &rewritten).expect("passes");
                assert_eq!(describe(&bench.send(&checked).await), ("settled", 1), "{generation:?} {payload}");
            }
        }
    }

    async fn every_flow_works_in_both_generations_once_the_store_has_staked_for_gas(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.set_chain(Generation::V1_20_8, GAS_PRICE).await;
        bench.faucet().await;
        stake_for_gas(&bench).await;
        for (nonce, generation) in [(100, Generation::V1_20_8), (200, Generation::Current)] {
            bench.set_chain(generation, GAS_PRICE).await;
            let before = (base_units(&bench, bench.wallet.did()).await, base_units(&bench, bench.app.did()).await);
            let (payer, subject) = (bench.wallet.did().clone(), format!("sub_{nonce}"));
            assert_eq!(describe(&bench.send(&bench.signed("cs_1", 10, nonce + 1)).await), ("settled", 10));
            assert_eq!(describe(&bench.grant_mandate(10, nonce + 2).await), ("settled", 0));
            assert!(bench.mandate_allows(10).await);
            assert_eq!(describe(&bench.pull(4, nonce + 3).await), ("settled", 4));
            assert_eq!(describe(&bench.stake(&subject, 5, nonce + 4).await), ("settled", 5));
            let slash = StoreTransaction::Slash { payer: payer.clone(), subject: subject.clone() };
            assert_eq!(describe(&bench.send(&bench.signed_store_tx(slash, 2, nonce + 5)).await), ("settled", 2));
            let rest = StoreTransaction::ReturnStake { payer, subject };
            assert_eq!(describe(&bench.send(&bench.signed_store_tx(rest, 3, nonce + 6)).await), ("settled", 3));
            assert_eq!(describe(&bench.send(&bench.signed_store_tx(refund(&bench), 6, nonce + 7)).await), ("settled", 6));
            let after = (base_units(&bench, bench.wallet.did()).await, base_units(&bench, bench.app.did()).await);
            assert_eq!(after, (before.0 - 10 * UNIT, before.1 + 10 * UNIT), "{generation:?}");
        }
    }

    async fn before_the_stake_a_sender_without_gas_is_declined_in_generation_1_20_8(db: &TestDatabase) {
        decline_without_gas(&Bench::open(db).await, Generation::V1_20_8).await;
    }

    async fn before_the_stake_a_sender_without_gas_is_declined_in_the_current_generation(db: &TestDatabase) {
        decline_without_gas(&Bench::open(db).await, Generation::Current).await;
    }

    async fn a_store_stakes_for_gas_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        assert_eq!(bench.gas().await.status(), GasStatus::Free);
        bench.set_chain(Generation::Current, GAS_PRICE).await;
        let gas = bench.gas().await;
        assert_eq!((gas.status(), gas.missing()), (GasStatus::LacksFunds, Amount::new(MIN_GAS_STAKE)));
        assert!(!gas.cost.is_zero() && gas.account == *bench.app.did());
        assert!(matches!(bench.rail.stake_for_gas(&bench.method).await, Err(RailError::Rejected(_))));
        bench.faucet_to(bench.app.did()).await;
        bench.fault("drop_answer").await;
        assert!(matches!(bench.rail.stake_for_gas(&bench.method).await, Err(RailError::Unreachable(_))));
        for _ in 0..2 {
            let staked = bench.rail.stake_for_gas(&bench.method).await.expect("stakes");
            assert_eq!(staked.staked, Amount::new(MIN_GAS_STAKE));
        }
        assert_eq!(base_units(&bench, bench.app.did()).await, 1_000 * UNIT - MIN_GAS_STAKE);
    }

    async fn a_stake_for_gas_has_limits(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.set_chain(Generation::Current, GAS_PRICE).await;
        bench.faucet().await;
        let (least, most) = (MIN_GAS_STAKE / UNIT, MAX_GAS_STAKE / UNIT);
        for (nonce, tokens, code) in [(1, least - 1, "INVALID_TX"), (2, most + 1, "INVALID_TX"), (3, least, "OK")] {
            assert_eq!(stake_for_own_gas(&bench, tokens, nonce).await, code, "{tokens}");
        }
        // The payer's own stake exempts the payer if nobody else offers to pay the gas.
        assert_eq!(bench.send_bytes(&bench.signed("cs_1", 968, 4).bytes).await.0, "OK");
    }
}
