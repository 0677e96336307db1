//! What strangers can make the ledger do and keep.

use super::bench::{Bench, UNIT, describe};
use poem::http::StatusCode;
use serde_json::{Value, json};
use souk_adapters::arcblock::{TestWallet, TokenInput, TransferV2Tx};
use souk_adapters::on_both;
use souk_sandbox::ledger::{FAUCET_LIMIT, Retention, token};
use souk_sandbox::{Admission, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const A_MONTH: Duration = Duration::from_secs(31 * 24 * 3_600);

/// A transfer of one token to the store, which the wallet sends without the store.
async fn direct(bench: &Bench, nonce: u64) -> (String, String) {
    let tokens = vec![TokenInput { address: token(), value: UNIT.to_string() }];
    bench.wallet_sends(nonce, TransferV2Tx { to: bench.app.did().to_string(), tokens, ..TransferV2Tx::default() }).await
}

async fn is_known(bench: &Bench, hash: &str) -> bool {
    bench.query(&format!("{{getTx(hash: \"{hash}\"){{info{{hash}}}}}}")).await["data"]["getTx"]["info"].is_object()
}

async fn account(bench: &Bench, address: &str) -> Value {
    bench.query(&format!("{{getAccountState(address: \"{address}\"){{state{{balance}}}}}}")).await["data"]["getAccountState"]["state"]
        .clone()
}

async fn supply(bench: &Bench) -> Value {
    let answer = bench.query(&format!("{{getTokenState(address: \"{}\"){{state{{totalSupply}}}}}}", token())).await;
    answer["data"]["getTokenState"]["state"]["totalSupply"].clone()
}

on_both! {
    async fn old_transactions_of_strangers_are_deleted_and_those_of_the_store_are_kept(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        assert_eq!(bench.faucet().await, 200);
        let signed = bench.signed("cs_1", 2, 1);
        bench.send(&signed).await;
        let (code, hash) = direct(&bench, 2).await;
        assert_eq!(code, "OK");
        // A transaction that a stranger sends before the store does is the store's as well.
        let hurried = bench.signed("cs_2", 3, 3);
        assert_eq!(bench.send_bytes(&hurried.bytes).await.0, "OK");
        assert_eq!(describe(&bench.send(&hurried).await), ("settled", 3));
        let supply_before = supply(&bench).await;

        assert_eq!(bench.state.prune(&Retention::default()).await.expect("prunes"), 0, "nothing is old");
        bench.clock.advance(A_MONTH);
        assert_eq!(bench.state.prune(&Retention::default()).await.expect("prunes"), 2, "one of a stranger and one of the faucet");
        assert!(!is_known(&bench, &hash).await);
        assert_eq!(describe(&bench.find(&signed).await), ("settled", 2));
        assert_eq!(describe(&bench.find(&hurried).await), ("settled", 3));
        assert_eq!((bench.balance().await, bench.store_balance().await), (1_000 - 6, 6), "balances stay");
        assert_eq!(supply(&bench).await, supply_before);
    }

    async fn the_newest_transactions_of_strangers_are_kept_and_accounts_in_use(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        assert_eq!(bench.faucet().await, 200);
        let mut sent = Vec::new();
        for nonce in 1..=4 {
            bench.clock.advance(Duration::from_secs(1));
            sent.push(direct(&bench, nonce).await.1);
        }
        let unused: Vec<_> = (10..14).map(|seed| TestWallet::from_seed(&[seed; 32])).collect();
        for wallet in &unused {
            bench.clock.advance(Duration::from_secs(1));
            assert_eq!(bench.faucet_for(wallet).await, 200);
        }
        let retention = Retention { transactions: 2, unused_accounts: 1, ..Retention::default() };
        bench.state.prune(&retention).await.expect("prunes");
        let mut kept = Vec::new();
        for hash in &sent {
            kept.push(is_known(&bench, hash).await);
        }
        assert_eq!(kept, [false, false, true, true]);
        let mut accounts = Vec::new();
        for wallet in &unused {
            accounts.push(account(&bench, wallet.did().as_str()).await.is_object());
        }
        assert_eq!(accounts, [false, false, false, true], "the newest of those that have never sent anything");
        assert_eq!((bench.balance().await, bench.store_balance().await), (1_000 - 4, 4), "accounts in use stay");
        assert_eq!(supply(&bench).await, json!((5_000 * UNIT).to_string()));
    }

    async fn the_faucet_counts_for_an_account_whose_transactions_were_deleted(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for _ in 0..FAUCET_LIMIT {
            assert_eq!(bench.faucet().await, 200);
            bench.state.prune(&Retention { transactions: 0, ..Retention::default() }).await.expect("prunes");
        }
        assert_eq!(bench.faucet().await, 429);
        assert_eq!(bench.balance().await, 10_000);
    }

    async fn a_request_has_a_limited_number_of_fields(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        let fields = |count: usize| (0..count).map(|n| format!("a{n}: getChainInfo{{code}}")).collect::<Vec<_>>().join(" ");
        assert_eq!(bench.query(&format!("{{{}}}", fields(10))).await["data"]["a9"]["code"], "OK");
        let (status, refused) = bench.post("/api", &json!({ "query": format!("{{{}}}", fields(11)) })).await;
        assert_eq!((status, &refused["errors"][0]["code"]), (400, &json!("TOO_MANY_FIELDS")));
    }

    async fn only_what_does_not_come_from_the_store_is_limited(db: &TestDatabase) {
        let counted = Arc::new(AtomicU32::new(0));
        let admission = {
            let counted = Arc::clone(&counted);
            Admission::new(move |_, write| match write {
                Write::Transaction { kibibytes: 1 } if counted.fetch_add(1, Ordering::SeqCst) == 0 => Ok(()),
                Write::Transaction { .. } => Err(poem::Error::from_status(StatusCode::TOO_MANY_REQUESTS)),
                _ => Ok(()),
            })
        };
        let bench = Bench::admitting(db, true, admission).await;
        assert_eq!(bench.faucet().await, 200);
        assert_eq!(direct(&bench, 1).await.0, "OK");
        let query = json!({ "query": "mutation{sendTx(tx: \"AAAA\"){code}}" });
        assert_eq!(bench.post("/api", &query).await.0, 429);
        for nonce in 2..5 {
            let sent = bench.send(&bench.signed(&format!("cs_{nonce}"), 1, nonce)).await;
            assert_eq!(describe(&sent), ("settled", 1), "the store's rail");
        }
        assert_eq!(counted.load(Ordering::SeqCst), 2);
    }
}
