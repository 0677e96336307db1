//! The ledger's wire format, as published clients use it.

use super::bench::{Bench, UNIT};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Map, Value, json};
use souk_adapters::arcblock::{
    AcquireAssetV2Tx, Format, Itx, Multisig, TokenInput, Transaction, TransactionInput, TransferV2Tx, TransferV3Tx,
};
use souk_adapters::identity::AppKey;
use souk_adapters::on_both;
use souk_domain::shared::Clock;
use souk_sandbox::ledger::{CHAIN_ID, TOKEN_NAME, TOKEN_SYMBOL, token};

/// Queries of `@ocap/client` 1.30.24 as its builders write them, without the most deeply nested parts.
const CONTEXT: &str = "{ getForgeState { code state { token { address decimal symbol } vaults { slashedStake txFee txGas } \
    txConfig { txFee { fee typeUrl } txGas { price createState updateState dataStorage minStake maxStake stakeLockPeriod } } } } }";
const CHAIN: &str = "{ getChainInfo { code info { network consensusVersion } } }";

fn account_query(address: &str) -> String {
    format!(
        "{{getAccountState(address: \"{address}\"){{code\n  state  {{address\nbalance\nissuer\nmigratedFrom\nmigratedTo\nmoniker\nnonce\npk\n  \
         context  {{genesisTime\nrenaissanceTime\n  genesisTx  {{code\nhash}}}}\ndata  {{typeUrl\nvalue}}\ntokens  {{address\ndecimal\nsymbol\nunit\nvalue}}}}}}}}"
    )
}

fn transaction_query(hash: &str) -> String {
    format!(
        "{{getTx(hash: \"{hash}\"){{code\n  info  {{code\nhash\nheight\nindex\nreceiver\nsender\ntime\n  receipts  {{address\n  changes  \
         {{action\ntarget\nvalue}}}}\ntags  {{key\nvalue}}\ntokenSymbols  {{address\ndecimal\nsymbol\nunit}}\ntx  {{chainId\ndelegator\nfrom\n\
         gasFee\ngasPaid\nitxJson\nnonce\npk\nserviceFee\nsignature\n  signatures  {{delegator\npk\nsignature\nsigner\n  data  {{typeUrl\nvalue}}}}}}}}}}}}"
    )
}

fn transfer(bench: &Bench) -> Transaction {
    let share = |owner: &str| TransactionInput {
        owner: owner.to_owned(),
        tokens: vec![TokenInput { address: token(), value: UNIT.to_string() }],
        assets: Vec::new(),
    };
    let itx = TransferV3Tx { inputs: vec![share(bench.wallet.did().as_str())], outputs: vec![share(bench.app.did().as_str())], data: None };
    transaction(bench, itx.into())
}

fn transaction(bench: &Bench, itx: Itx) -> Transaction {
    Transaction {
        from: bench.wallet.did().to_string(),
        nonce: 7,
        chain_id: CHAIN_ID.to_owned(),
        pk: bs58::decode(&bench.wallet.public_key_base58()[1..]).into_vec().expect("base58"),
        itx: Some(itx),
        ..Transaction::default()
    }
}

async fn send(bench: &Bench, transaction: &Transaction) -> String {
    let tx = URL_SAFE_NO_PAD.encode(transaction.encode(Format::Protobuf));
    let answer = bench.query(&format!("mutation{{sendTx(tx: \"{tx}\"){{code\nhash}}}}")).await;
    let code = answer["errors"][0]["code"].as_str().or(answer["data"]["sendTx"]["code"].as_str());
    code.unwrap_or_else(|| panic!("an answer: {answer}")).to_owned()
}

on_both! {
    async fn the_published_clients_queries_are_answered(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let context = bench.query(CONTEXT).await;
        let state = &context["data"]["getForgeState"]["state"];
        assert_eq!(state["token"], json!({"address": token(), "decimal": 18, "symbol": TOKEN_SYMBOL}));
        assert_eq!(state["txConfig"]["txFee"], json!([]));
        assert_eq!(bench.query(CHAIN).await["data"]["getChainInfo"]["info"]["network"], CHAIN_ID);

        let account = bench.query(&account_query(bench.wallet.did().as_str())).await;
        let account = &account["data"]["getAccountState"]["state"];
        assert_eq!((&account["balance"], &account["nonce"]), (&json!((1_000 * UNIT).to_string()), &json!("0")));
        assert_eq!(account["tokens"][0]["value"], (1_000 * UNIT).to_string());
        assert_eq!(bench.query(&account_query(AppKey::from_seed(&[9; 32]).did().as_str())).await["data"]["getAccountState"]["state"], Value::Null);
        assert!(bench.query(&account_query(bench.app.did().as_str())).await["data"]["getAccountState"]["state"].is_object());

        let signed = bench.signed("cs_1", 2, 5);
        assert_eq!(bench.query(&transaction_query(&signed.hash)).await["data"]["getTx"]["info"], Value::Null);
        bench.send(&signed).await;
        let answer = bench.query(&transaction_query(&signed.hash)).await;
        let info = &answer["data"]["getTx"]["info"];
        assert_eq!((&info["code"], &info["tx"]["nonce"]), (&json!("OK"), &json!("5")));
        assert_eq!(info["tx"]["itxJson"]["typeUrl"], "fg:t:transfer_v3");
        assert_eq!(info["tx"]["itxJson"]["data"]["value"]["reference"], "cs_1");
        let changes: Vec<&Value> = info["receipts"].as_array().expect("receipts").iter().map(|receipt| &receipt["changes"][0]["value"]).collect();
        assert!(changes.contains(&&json!((2 * UNIT).to_string())) && changes.contains(&&json!(format!("-{}", 2 * UNIT))));
        let token_state = bench.query(&format!("{{getTokenState(address: \"{}\"){{state{{name totalSupply}}}}}}", token())).await;
        assert_eq!(token_state["data"]["getTokenState"]["state"], json!({"name": TOKEN_NAME, "totalSupply": (1_000 * UNIT).to_string()}));
    }

    async fn invalid_transactions_are_rejected_with_the_reason(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        fn v3(tx: &mut Transaction) -> &mut TransferV3Tx {
            let Some(Itx::TransferV3Tx(transfer)) = &mut tx.itx else { panic!("a transfer") };
            transfer
        }
        for (code, change) in [
            ("INVALID_CHAIN_ID", (|tx: &mut Transaction| tx.chain_id = "main".to_owned()) as fn(&mut Transaction)),
            ("INVALID_SERVICE_FEE", |tx| tx.service_fee = "1".to_owned()),
            ("INVALID_TX", |tx| v3(tx).outputs[0].tokens[0].value = "1".to_owned()),
            ("INVALID_TX", |tx| v3(tx).outputs[0].owner = "zNobody".to_owned()),
            ("INVALID_TX", |tx| v3(tx).outputs[0].owner = v3(tx).inputs[0].owner.clone()),
            ("INVALID_TX", |tx| v3(tx).inputs[0].tokens[0].value = "-1".to_owned()),
            ("INVALID_TOKEN", |tx| v3(tx).inputs[0].tokens[0].address = "z35n".to_owned()),
            ("INVALID_MULTISIG", |tx| v3(tx).inputs[0].owner = AppKey::from_seed(&[9; 32]).did().to_string()),
            ("UNSUPPORTED_TX", |tx| tx.itx = Some(AcquireAssetV2Tx::default().into())),
        ] {
            let mut tx = transfer(&bench);
            change(&mut tx);
            bench.wallet.sign(&mut tx, Format::Protobuf);
            assert_eq!(send(&bench, &tx).await, code, "{tx:?}");
        }
        let mut forged = transfer(&bench);
        bench.wallet.sign(&mut forged, Format::Protobuf);
        forged.nonce += 1;
        assert_eq!(send(&bench, &forged).await, "INVALID_SIGNATURE");
        let mut unsigned = transfer(&bench);
        assert_eq!(send(&bench, &unsigned).await, "INVALID_TX");
        bench.wallet.sign(&mut unsigned, Format::Protobuf);
        assert_eq!(send(&bench, &unsigned).await, "OK");
        assert_eq!(bench.balance().await, 999);
    }

    async fn a_multi_party_transfer_cannot_be_signed_by_a_delegate(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        bench.grant_mandate(10, 1).await;
        let mut tx = transfer(&bench);
        let app = bench.app.did().to_string();
        let pk = bench.app.public_key().as_bytes().to_vec();
        let party = Multisig { signer: bench.wallet.did().to_string(), pk: pk.clone(), delegator: app.clone(), ..Multisig::default() };
        (tx.from, tx.pk, tx.signatures) = (app, pk, vec![party]);
        tx.signatures[0].signature = bench.app.sign(&tx.party_signing_bytes(Format::Protobuf)).to_vec();
        tx.signature = bench.app.sign(&tx.signing_bytes(Format::Protobuf)).to_vec();
        assert_eq!(send(&bench, &tx).await, "INVALID_DELEGATION");
        assert_eq!(bench.balance().await, 1_000);
    }

    async fn the_older_transfer_type_moves_money_too(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let tokens = vec![TokenInput { address: token(), value: UNIT.to_string() }];
        let itx = TransferV2Tx { to: bench.app.did().to_string(), tokens, ..TransferV2Tx::default() };
        let mut tx = transaction(&bench, itx.into());
        bench.wallet.sign(&mut tx, Format::Protobuf);
        tx.signatures.clear();
        assert_eq!(send(&bench, &tx).await, "OK");
        assert_eq!(send(&bench, &tx).await, "DUPLICATE_TX");
        assert_eq!(bench.balance().await, 999);
    }

    async fn a_query_that_is_not_understood_is_an_error(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        for query in ["", "{", "{getNothing{code}}", "mutation{burnAll{code}}", "subscription{getTx{code}}", "query A{a} query B{b}", "{...F} fragment F on Q{a}"] {
            let answer = bench.query(query).await;
            assert!(answer["errors"][0]["message"].is_string(), "{query}: {answer}");
        }
        let variables = json!({"query": "query($a: String){getAccountTokens(address: $a){tokens{symbol}}}", "variables": {"a": bench.app.did().as_str()}});
        assert_eq!(bench.post("/api/", &variables).await.1["data"]["getAccountTokens"]["tokens"], json!([{"symbol": TOKEN_SYMBOL}]));
        assert_eq!(bench.post("/api", &json!("x".repeat(300_000))).await.0, 413);
    }

    async fn pages_show_transactions_and_accounts(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let signed = bench.signed("<script>alert(1)</script>", 2, 5);
        bench.send(&signed).await;
        let (status, page) = bench.get(&format!("/explorer/txs/{}", signed.hash)).await;
        assert_eq!(status, 200);
        assert!(page.contains("2 SKT") && page.contains("&lt;script&gt;") && !page.contains("<script>"), "{page}");
        let (status, page) = bench.get(&format!("/explorer/accounts/{}/tokens", bench.wallet.did())).await;
        assert!(status == 200 && page.contains("998 SKT") && page.contains(&signed.hash), "{page}");
        assert_eq!(bench.get("/explorer/txs/AB").await.0, 404);
        assert_eq!(bench.get("/explorer/accounts/alice/tokens").await.0, 404);
    }

    async fn faults_and_the_list_of_transfers_are_available_only_to_tests(db: &TestDatabase) {
        let bench = Bench::with(db, false).await;
        assert_eq!(bench.post("/faults", &json!({"mode": "decline"})).await.0, 404);
        assert_eq!(bench.get("/debug/transfers").await.0, 404);
    }

    async fn an_account_pays_gas_only_for_the_hash_it_signed(db: &TestDatabase) {
        let bench = Bench::open(db).await;
        bench.faucet().await;
        let mut tx = transfer(&bench);
        bench.wallet.sign(&mut tx, Format::Protobuf);
        let tx = URL_SAFE_NO_PAD.encode(tx.encode(Format::Protobuf));
        let body = json!({"query": format!("mutation{{sendTx(tx: \"{tx}\"){{code}}}}")});
        let envelope = bench.app.sign_envelope(Map::from_iter([("txHash".to_owned(), json!("AB"))]), bench.clock.now());
        let client = reqwest::Client::builder().no_proxy().build().expect("a client");
        let request = client.post(format!("{}/api", bench.ledger)).json(&body);
        let request = request.header("x-gas-payer-pk", bench.app.public_key_base58()).header("x-gas-payer-sig", envelope);
        let answer: Value = request.send().await.expect("answers").json().await.expect("JSON");
        assert_eq!(answer["errors"][0]["code"], "INVALID_REQUEST", "{answer}");
        assert_eq!(bench.balance().await, 1_000);
    }
}
