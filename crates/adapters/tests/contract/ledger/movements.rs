//! The list of what the chain has moved, which a restored store imports.

use super::bench::Bench;
use souk_adapters::on_both;
use souk_domain::payment::{ChargedPeriod, Outcome, StoreTransaction, StoreTransactionRequest};
use souk_domain::shared::{Amount, Clock, InvoiceId, SubscriptionId, Timestamp};
use std::time::Duration;

const UNIT: u128 = 1_000_000_000_000_000_000;

on_both! {
    async fn every_page_of_the_stores_transactions_is_read_with_what_they_are_for(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        bench.stake("stk_1", 5, 2).await;
        let before = bench.pull(1, 3).await;
        assert!(matches!(before, Outcome::Settled(_)), "{before:?}");
        bench.clock.advance(Duration::from_secs(60));
        let since = bench.clock.now();
        let payer = bench.wallet.did().clone();
        let period = ChargedPeriod {
            invoice: InvoiceId::parse("in_2").expect("an id"),
            subscription: SubscriptionId::parse("sub_2").expect("an id"),
            start: Timestamp::from_micros(1_700_000_000_123_456),
        };
        let transaction = StoreTransaction::Pull { payer: payer.clone() };
        let (amount, reference) = (Amount::new(3 * UNIT), "in_2".to_owned());
        let request = StoreTransactionRequest { transaction, amount, reference, period: Some(period.clone()), nonce: 4 };
        let charge = bench.rail.sign(&bench.method, &bench.currency, &request).expect("signs");
        assert!(matches!(bench.send(&charge).await, Outcome::Settled(_)));
        let payout = bench.signed_store_tx(StoreTransaction::Payout { to: payer.clone() }, 2, 5);
        assert!(matches!(bench.send(&payout).await, Outcome::Settled(_)));
        assert!(matches!(bench.pull(11, 6).await, Outcome::Declined(_)), "above the limit");
        // More than one page.
        for nonce in 7..107 {
            assert!(matches!(bench.pull(1, nonce).await, Outcome::Settled(_)));
        }
        let list = async |since| bench.rail.movements(&bench.method, std::slice::from_ref(&bench.currency), since).await.expect("lists");
        let movements = list(since).await;
        assert_eq!(movements.len(), 102);
        let found = |hash: &str| movements.iter().find(|movement| movement.reference == hash).expect("is listed");
        let charge = found(&charge.hash);
        assert_eq!((charge.is_incoming, charge.amount, charge.account.as_str()), (true, Amount::new(3 * UNIT), payer.as_str()));
        assert_eq!((&charge.period, charge.at, &charge.currency_id), (&Some(period), since, &bench.currency.id));
        let payout = found(&payout.hash);
        assert_eq!((payout.is_incoming, payout.amount, payout.account.as_str()), (false, Amount::new(2 * UNIT), payer.as_str()));
        assert_eq!(payout.period, None);
        assert_eq!(list(since.plus(Duration::from_secs(1))).await, []);
        // The stake is held by its own address, and is no movement of the store's account.
        assert_eq!(list(Timestamp::from_seconds(0)).await.len(), 103);
    }
}
