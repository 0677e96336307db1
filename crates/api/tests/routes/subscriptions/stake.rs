use crate::app::plans::{SKT, week};
use crate::app::signing::{GAS_PRICE, begin_order, generation_for, sign};
use crate::app::{Buyer, Plans, TestApp, altered, wallet};
use serde_json::{Value, json};
use souk_adapters::arcblock::{Itx, transaction_hash};
use souk_adapters::identity::{delegation_address, stake_address};
use souk_adapters::on_both;
use souk_domain::billing;
use souk_domain::checkout::SubscriptionTerms;
use souk_domain::payment::{MethodKind, Outcome, STAKE_TERMS_DIFFER, SignedTransaction};
use souk_domain::shared::SubscriptionId;
use std::time::Duration;

/// Reason and total of the stake statements.
async fn statements(buyer: &Buyer) -> Vec<(Value, Value)> {
    let list = buyer.browser.get("/api/invoices?include_staking=true&include_return_staking=true").await.ok();
    let list = list["list"].as_array().expect("a list").clone();
    let of_stakes = list.iter().filter(|one| one["billing_reason"].as_str().is_some_and(|reason| reason.contains("stake")));
    let mut found: Vec<_> = of_stakes.map(|one| (one["billing_reason"].clone(), one["total"].clone())).collect();
    found.sort_by_key(|(reason, _)| reason.to_string());
    found
}

/// The payer opens the deposit of a request without the store, so that another account can forfeit it.
async fn open_for_another(app: &TestApp, payer: &Buyer, request: &Value) {
    let other = wallet("other");
    app.networks.faucet(other.did().as_str()).await;
    let claims = altered(&payer.wallet, request, |transaction| {
        // Two transactions of an account in a row have different nonces.
        transaction.nonce += 1;
        let Some(Itx::StakeTx(stake)) = &mut transaction.itx else { panic!("a deposit") };
        stake.slashers = vec![other.did().to_string()];
    });
    let text = claims[0]["finalTx"].as_str().expect("text");
    let bytes = bs58::decode(&text[1..]).into_vec().expect("base58");
    let mut unit = app.ctx.store.read().await.expect("reads");
    let method = unit.methods().find(&app.shop.wallet).await.expect("reads").expect("a method");
    let currency = unit.methods().find_currency(&app.shop.token).await.expect("reads").expect("a currency");
    drop(unit);
    let rail = app.ctx.networks.wallet(MethodKind::Arcblock).expect("a rail");
    let sent = rail.send(&method, &currency, &SignedTransaction { hash: transaction_hash(&bytes), bytes }).await;
    assert!(matches!(&sent, Outcome::Declined(decline) if decline.code == STAKE_TERMS_DIFFER), "executed, not counted: {sent:?}");
}

on_both! {
    async fn a_deposit_that_its_payer_opened_for_another_is_refused_and_a_new_order_succeeds(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let alice = app.sign_in("alice").await;
        let plans = Plans::put(&app).await;
        let link = plans.link(&app, &[&plans.monthly], SubscriptionTerms::default()).await;
        let (session, connect, asked) = begin_order(&app, &alice, &link).await;
        let asked = sign(&connect, &alice, &asked).await;
        open_for_another(&app, &alice, &asked).await;
        let refused = sign(&connect, &alice, &asked).await;
        assert_eq!((&refused["status"], &refused["errorCode"]), (&json!("error"), &json!("NETWORK_DECLINED")), "{refused}");
        assert_eq!(refused["errorParams"], json!({ "reason": STAKE_TERMS_DIFFER }));
        let seen = connect.status().await.ok();
        assert_eq!((&seen["status"], &seen["params"]["reason"]), (&json!("error"), &json!(STAKE_TERMS_DIFFER)), "{seen}");
        assert_eq!(alice.retrieve(&session).await["checkoutSession"]["status"], "open");
        assert_eq!(app.count("SELECT count(*) AS n FROM stakes WHERE status = 'held'").await, 0);
        // A visitor who starts the same link at once gets the same order.
        app.advance(Duration::from_secs(5));
        assert_ne!(alice.subscribe(&app, &link).await, session);
        app.finish().await;
    }

    async fn the_store_can_forfeit_a_part_of_a_stake_and_return_the_rest(db: &TestDatabase) {
        let app = TestApp::with_gas(db).await;
        forfeit_and_return(&app).await;
        app.finish().await;
    }

    async fn a_return_that_lacks_gas_is_among_the_failed_refunds_until_it_is_made(db: &TestDatabase) {
        let app = TestApp::on(db).await;
        let plans = Plans::put(&app).await;
        // Nothing is paid yet, so the store's account has no funds for gas.
        let link = plans.link(&app, &[&plans.weekly], SubscriptionTerms { trial: week(), ..SubscriptionTerms::default() }).await;
        let (alice, owner) = (app.sign_in("alice").await, app.owner().await);
        let session = alice.subscribe(&app, &link).await;
        let found = alice.retrieve(&session).await;
        let path = format!("/api/subscriptions/{}", found["checkoutSession"]["subscription_id"].as_str().expect("a subscription"));
        let generation = generation_for(db);
        app.networks.set_chain(generation, GAS_PRICE).await;
        owner.browser.put(&format!("{path}/cancel"), &json!({ "at": "now" })).await.ok();
        owner.browser.put(&format!("{path}/return-stake"), &json!({})).await.ok();
        app.drain().await;
        let returns = async |status: &str| alice.browser.get(&format!("/api/refunds?type=stake_return&status={status}")).await.ok();
        let failed = returns("failed").await;
        let one = &failed["list"][0];
        assert_eq!((&failed["count"], &one["status"], &one["amount"]), (&json!(1), &json!("failed"), &json!((2 * SKT).to_string())));
        assert_eq!((&one["failure_reason"], &one["payment_details"]), (&json!("INSUFFICIENT_GAS"), &json!({})), "{one}");
        assert_eq!(returns("succeeded").await["count"], 0);
        app.stake_for_gas(generation).await;
        assert_eq!(billing::retry_without_gas(&app.ctx, 10).await.expect("retries"), 1);
        app.move_stakes().await;
        assert_eq!(returns("failed").await["count"], 0);
        let succeeded = returns("succeeded").await;
        assert_eq!((&succeeded["count"], &succeeded["list"][0]["status"]), (&json!(1), &json!("succeeded")), "{succeeded}");
        app.finish().await;
    }
}

async fn forfeit_and_return(app: &TestApp) {
    let plans = Plans::put(app).await;
    let link = plans.link(app, &[&plans.weekly], SubscriptionTerms::default()).await;
    let alice = app.sign_in("alice").await;
    let owner = app.owner().await;
    let session = alice.subscribe(app, &link).await;
    let found = alice.retrieve(&session).await;
    let path = format!("/api/subscriptions/{}", found["checkoutSession"]["subscription_id"].as_str().expect("a subscription"));
    let slash = json!({ "amount": "0.5", "reason": "abuse" });
    assert_eq!(alice.browser.put(&format!("{path}/slash-stake"), &slash).await.status, 403);
    owner.browser.put(&format!("{path}/slash-stake"), &json!({ "amount": "2.5", "reason": "abuse" })).await.refused(400);
    let taken = owner.browser.put(&format!("{path}/slash-stake"), &slash).await.ok();
    assert_eq!((&taken["staking"]["status"], &taken["metadata"]["slash_reason"]), (&json!("slashing"), &json!("abuse")));
    app.drain().await;
    let staking = alice.browser.get(&path).await.ok()["staking"].clone();
    assert_eq!((&staking["status"], &staking["amount"]), (&json!("held"), &json!((3 * SKT / 2).to_string())));
    owner.browser.put(&format!("{path}/return-stake"), &json!({})).await.refused(400);

    owner.browser.put(&format!("{path}/cancel"), &json!({ "at": "now" })).await.ok();
    assert_eq!(alice.browser.get(&path).await.ok()["staking"]["status"], "waiting");
    assert_eq!(owner.browser.put(&format!("{path}/return-stake"), &json!({})).await.ok()["success"], true);
    app.drain().await;
    assert_eq!(alice.browser.get(&path).await.ok()["staking"]["status"], "returned");
    owner.browser.put(&format!("{path}/return-stake"), &json!({})).await.refused(400);
    let amount = |base: u128| json!(base.to_string());
    let expected = [("return_stake", 3 * SKT / 2), ("slash_stake", SKT / 2), ("stake", 2 * SKT)];
    assert_eq!(statements(&alice).await, expected.map(|(reason, base)| (json!(reason), amount(base))));
    let returns = alice.browser.get("/api/refunds?type=stake_return&status=succeeded").await.ok();
    assert_eq!((&returns["count"], &returns["list"][0]["type"]), (&json!(1), &json!("stake_return")));
    assert_eq!((&returns["list"][0]["amount"], &returns["list"][0]["status"]), (&amount(3 * SKT / 2), &json!("succeeded")));
    assert_eq!(app.sign_in("bob").await.browser.get("/api/refunds?type=stake_return").await.ok()["count"], 0);
    for other in ["type=refund", "type=nonsense", "type=stake_return&status=failed"] {
        assert_eq!(alice.browser.get(&format!("/api/refunds?{other}")).await.ok()["count"], 0, "{other}");
    }
    let seen = alice.browser.get(&path).await.ok();
    let details = &seen["payment_details"]["arcblock"];
    let payer = alice.wallet.did().as_str();
    assert_eq!((&details["type"], &details["payer"]), (&json!("delegate"), &json!(payer)), "{seen}");
    assert_eq!(details["staking"]["tx_hash"], seen["staking"]["tx_hash"]);
    assert!(details["tx_hash"].as_str().is_some_and(|hash| !hash.is_empty()), "{details}");
    let (wallet, store) = (alice.wallet.did(), app.app_key.did());
    let stake = app.stake_of(&SubscriptionId::parse(seen["id"].as_str().expect("an id")).expect("an id")).await;
    assert_eq!(details["staking"]["address"], stake_address(wallet, store, stake.id.as_str()).as_str(), "{details}");
    assert_eq!(details["delegation_address"], delegation_address(wallet, store).as_str(), "{details}");
    assert_eq!(details["receiver"], store.as_str(), "{details}");
    let list = alice.browser.get("/api/invoices?include_staking=true&include_return_staking=true").await.ok()["list"].clone();
    let (wallet, store) = (wallet.as_str(), store.as_str());
    let back = &returns["list"][0];
    let details = json!({ "tx_hash": back["reference"], "type": "stake_return", "payer": store, "receiver": wallet });
    assert_eq!(back["payment_details"]["arcblock"], details, "{back}");
    assert!(back["reference"].as_str().is_some_and(|hash| !hash.is_empty()), "{back}");
    for (reason, kind, payer, receiver) in
        [("stake", "stake", wallet, store), ("return_stake", "stake_return", store, wallet), ("slash_stake", "slash", wallet, store)]
    {
        let one = list.as_array().and_then(|list| list.iter().find(|one| one["billing_reason"] == reason)).expect("is documented");
        let moved = &one["metadata"]["payment_details"]["arcblock"];
        assert_eq!((&moved["type"], &moved["payer"], &moved["receiver"]), (&json!(kind), &json!(payer), &json!(receiver)), "{one}");
        let alone = alice.browser.get(&format!("/api/invoices/{}", one["id"].as_str().expect("an id"))).await.ok();
        assert_eq!(alone["metadata"]["payment_details"]["arcblock"], *moved, "a single invoice names the same accounts");
        assert!(moved["tx_hash"].as_str().is_some_and(|hash| !hash.is_empty()), "{one}");
    }
    assert_eq!(app.breaches().await, [""; 0]);
}
