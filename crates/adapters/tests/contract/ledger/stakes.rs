//! Stakes are held, slashed for overdue invoices, and returned. The customer can also revoke and claim them without the store after a
//! waiting period.

use super::bench::{Bench, UNIT, WAITING, describe};
use souk_adapters::arcblock::{
    ClaimStakeTx, Evidence, ReturnStakeTx, RevokeStakeTx, SlashStakeTx, StakeTx, TestWallet, TokenInput, TransactionInput,
};
use souk_adapters::identity::stake_address;
use souk_adapters::on_both;
use souk_domain::payment::{Outcome, STAKE_TERMS_DIFFER, Settlement, SignedTransaction, StoreTransaction};
use souk_domain::shared::{Amount, Clock};
use souk_sandbox::ledger::{CHAIN_ID, token};
use std::time::Duration;

fn address(bench: &Bench, subject: &str) -> String {
    stake_address(bench.wallet.did(), bench.app.did(), subject).to_string()
}

fn signed_return(bench: &Bench, subject: &str, tokens: u128, nonce: u64) -> SignedTransaction {
    bench.signed_store_tx(StoreTransaction::ReturnStake { payer: bench.wallet.did().clone(), subject: subject.to_owned() }, tokens, nonce)
}

fn signed_slash(bench: &Bench, subject: &str, tokens: u128, nonce: u64) -> SignedTransaction {
    bench.signed_store_tx(StoreTransaction::Slash { payer: bench.wallet.did().clone(), subject: subject.to_owned() }, tokens, nonce)
}

pub fn revoke(bench: &Bench, subject: &str, tokens: u128) -> RevokeStakeTx {
    let tokens = vec![TokenInput { address: token(), value: (tokens * UNIT).to_string() }];
    let outputs = vec![TransactionInput { owner: bench.wallet.did().to_string(), tokens, assets: Vec::new() }];
    RevokeStakeTx { address: address(bench, subject), outputs, data: None }
}

pub fn claim(bench: &Bench, subject: &str, evidence: &str) -> ClaimStakeTx {
    ClaimStakeTx { address: address(bench, subject), evidence: Some(Evidence { hash: evidence.to_owned() }), data: None }
}

/// An account that is neither the store's nor the customer's.
fn stranger() -> TestWallet {
    TestWallet::from_seed(&[7; 32])
}

/// The terms of stakes that the store cannot forfeit, that somebody else can, or that their payer can take back too soon.
const FOREIGN: [fn(&mut StakeTx); 4] = [
    |stake| stake.slashers = vec![stranger().did().to_string()],
    |stake| stake.slashers.push(stranger().did().to_string()),
    |stake| stake.slashers.clear(),
    |stake| stake.revoke_waiting_period -= 1,
];

/// The terms of stakes that are as good as the store's.
const AS_GOOD: [fn(&mut StakeTx); 2] = [|_| (), |stake| stake.revoke_waiting_period += 1];

on_both! {
    async fn a_payment_into_a_stake_that_was_opened_on_foreign_terms_is_not_sent(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.faucet_for(&stranger()).await;
        for (nonce, change) in (10_u64..).step_by(10).zip(FOREIGN) {
            let subject = format!("sub_{nonce}");
            bench.stake_beside_store(&subject, nonce, change).await;
            let before = bench.balance().await;
            let signed = bench.signed_stake(&subject, 10, nonce + 1);
            assert_eq!(describe(&bench.send(&signed).await), (STAKE_TERMS_DIFFER, 0), "{subject}");
            assert_eq!(bench.find(&signed).await, Outcome::NotFound, "{subject}");
            assert_eq!((bench.staked(&subject).await, bench.balance().await), ((0, 0), before), "{subject}");
        }
    }

    async fn a_payment_that_foreign_terms_have_overtaken_is_declined_and_goes_back_to_its_payer(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.faucet_for(&stranger()).await;
        let signed = bench.signed_stake("sub_1", 10, 2);
        bench.stake_beside_store("sub_1", 1, FOREIGN[0]).await;
        // The rail asks before it sends, so only the network can lose this race.
        assert_eq!(bench.send_bytes(&signed.bytes).await.0, "OK");
        for outcome in [bench.find(&signed).await, bench.send(&signed).await] {
            assert_eq!(describe(&outcome), (STAKE_TERMS_DIFFER, 0));
        }
        assert_eq!((bench.staked("sub_1").await, bench.balance().await), ((0, 0), 989));
        let (code, evidence) = bench.wallet_sends(3, revoke(&bench, "sub_1", 11)).await;
        assert_eq!(code, "OK");
        bench.clock.advance(WAITING + Duration::from_secs(1));
        assert_eq!(bench.wallet_sends(4, claim(&bench, "sub_1", &evidence)).await.0, "OK");
        assert_eq!(bench.balance().await, 1_000);
    }

    async fn a_payment_into_a_stake_that_its_payer_opened_on_the_same_or_better_terms_settles(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        for (nonce, change) in (10_u64..).step_by(10).zip(AS_GOOD) {
            let subject = format!("sub_{nonce}");
            bench.stake_beside_store(&subject, nonce, change).await;
            let signed = bench.signed_stake(&subject, 10, nonce + 1);
            for outcome in [bench.send(&signed).await, bench.find(&signed).await] {
                assert_eq!(describe(&outcome), ("settled", 10), "{subject}");
            }
            assert_eq!(bench.staked(&subject).await, (11, 0), "{subject}");
        }
    }

    async fn a_deposit_is_held_slashed_in_part_and_the_rest_returned(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        assert_eq!(bench.staked("sub_1").await, (0, 0));
        assert_eq!(describe(&bench.stake("sub_1", 10, 1).await), ("settled", 10));
        assert_eq!((bench.staked("sub_1").await, bench.balance().await), ((10, 0), 990));
        let slash = signed_slash(&bench, "sub_1", 3, 1);
        let settled = Outcome::Settled(Settlement {
            reference: slash.hash.clone(),
            payer: bench.app.did().to_string(),
            amount: Amount::new(3 * UNIT),
            card: None,
        });
        for _ in 0..2 {
            assert_eq!(bench.send(&slash).await, settled);
        }
        assert_eq!((bench.staked("sub_1").await, bench.store_balance().await), ((7, 0), 3));
        let rest = signed_return(&bench, "sub_1", 7, 2);
        for _ in 0..2 {
            assert_eq!(describe(&bench.send(&rest).await), ("settled", 7));
        }
        assert_eq!((bench.staked("sub_1").await, bench.balance().await, bench.store_balance().await), ((0, 0), 997, 3));
        let kinds: Vec<String> = bench.transfers().await.iter().map(|moved| format!("{} {}", moved["type"], moved["amount"])).collect();
        let expected = |kind: &str, tokens: u128| format!("\"fg:t:{kind}\" \"{}\"", tokens * UNIT);
        assert_eq!(kinds.len(), 3, "{kinds:?}");
        for moved in [expected("stake", 10), expected("slash_stake", 3), expected("return_stake", 7)] {
            assert!(kinds.contains(&moved), "{moved} is not in {kinds:?}");
        }
    }

    async fn each_subject_has_its_own_stake_which_can_be_topped_up(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.stake("sub_1", 10, 1).await;
        bench.stake("sub_2", 20, 2).await;
        assert_eq!(describe(&bench.stake("sub_1", 5, 3).await), ("settled", 5));
        assert_eq!((bench.staked("sub_1").await, bench.staked("sub_2").await), ((15, 0), (20, 0)));
        assert_eq!(describe(&bench.send(&signed_return(&bench, "sub_1", 16, 4)).await), ("INSUFFICIENT_FUND", 0));
        assert_eq!(describe(&bench.send(&signed_return(&bench, "sub_3", 1, 5)).await), ("INVALID_STAKE_STATE", 0));
    }

    async fn a_deposit_that_the_customer_cannot_pay_is_declined(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        assert_eq!(describe(&bench.stake("sub_1", 1_001, 1).await), ("INSUFFICIENT_FUND", 0));
        assert_eq!((bench.staked("sub_1").await, bench.balance().await), ((0, 0), 1_000));
    }

    async fn a_customer_claims_a_deposit_after_the_waiting_period(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.stake("sub_1", 10, 1).await;
        let now = bench.clock.now();
        bench.set_customer_time(now).await;
        let (code, evidence) = bench.wallet_sends(2, revoke(&bench, "sub_1", 10)).await;
        assert_eq!((code.as_str(), bench.staked("sub_1").await), ("OK", (0, 10)));
        assert_eq!(describe(&bench.send(&signed_return(&bench, "sub_1", 1, 1)).await).0, "INSUFFICIENT_FUND");
        assert_eq!(describe(&bench.send(&signed_slash(&bench, "sub_1", 4, 2)).await), ("settled", 4));
        assert_eq!(bench.staked("sub_1").await, (0, 6));
        assert_eq!(bench.wallet_sends(3, claim(&bench, "sub_1", &evidence)).await.0, "WITHIN_WAITING_PERIOD");
        bench.set_customer_time(now.plus(WAITING)).await;
        assert_eq!(bench.wallet_sends(3, claim(&bench, "sub_1", &evidence)).await.0, "WITHIN_WAITING_PERIOD");
        bench.set_customer_time(now.plus(WAITING).plus(Duration::from_secs(1))).await;
        assert_eq!(bench.wallet_sends(4, claim(&bench, "sub_1", &evidence)).await.0, "INSUFFICIENT_FUND");
        assert_eq!((bench.balance().await, bench.store_balance().await), (990, 4));
    }

    async fn a_revoked_stake_is_claimed_once(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.stake("sub_1", 10, 1).await;
        let (_, evidence) = bench.wallet_sends(2, revoke(&bench, "sub_1", 6)).await;
        assert_eq!(bench.staked("sub_1").await, (4, 6));
        bench.clock.advance(WAITING + Duration::from_secs(1));
        assert_eq!(bench.wallet_sends(3, claim(&bench, "sub_1", &evidence)).await.0, "OK");
        assert_eq!(bench.wallet_sends(4, claim(&bench, "sub_1", &evidence)).await.0, "ALREADY_CLAIMED");
        assert_eq!((bench.staked("sub_1").await, bench.balance().await), ((4, 0), 996));
        assert_eq!(bench.wallet_sends(5, claim(&bench, "sub_1", &"0".repeat(64))).await.0, "INVALID_TX");
        assert_eq!(bench.wallet_sends(6, revoke(&bench, "sub_1", 5)).await.0, "INSUFFICIENT_FUND");
    }

    async fn only_the_parties_of_a_stake_move_it(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.stake("sub_1", 10, 1).await;
        let share = |owner: &str| {
            let tokens = vec![TokenInput { address: token(), value: UNIT.to_string() }];
            vec![TransactionInput { owner: owner.to_owned(), tokens, assets: Vec::new() }]
        };
        let stake = address(&bench, "sub_1");
        let (app, payer) = (bench.app.did().as_str(), bench.wallet.did().as_str());
        let slash = SlashStakeTx { address: stake.clone(), outputs: share(app), message: "m".to_owned(), data: None };
        let (code, message) = bench.send_bytes(&bench.wallet.send(CHAIN_ID, 2, slash.into())).await;
        assert_eq!((code.as_str(), message.contains("You are not allowed to slash from this stake")), ("INVALID_TX", true), "{message}");
        let returned = ReturnStakeTx { address: stake, outputs: share(payer), message: "m".to_owned(), data: None };
        let (code, message) = bench.send_bytes(&bench.wallet.send(CHAIN_ID, 3, returned.into())).await;
        assert_eq!((code.as_str(), message.contains("Can only return stake from receiver")), ("INVALID_TX", true), "{message}");
        assert_eq!(bench.staked("sub_1").await, (10, 0));
    }
}
