//! Recharges: funds go once from another account to the paying account. The store receives none of them, and its journal records none.

use super::bench::{Billing, DAY, MONTHLY};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use serde_json::json;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::testing::TestDatabase;
use souk_adapters::verify::verify;
use souk_adapters::{on_both, on_one};
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, BillingReason, HoldDecision, Invoice, InvoiceStatus, PaymentTargetError, RechargeError, RefundError, ResolveTransferError,
    Subscription, SubscriptionError, SubscriptionStatus, VoidError,
};
use souk_domain::payment::check_due;
use souk_domain::payment::{AttemptStatus, CheckError, Description, Mandate, MandateDetails, Purpose, WalletSignature};
use souk_domain::shared::{Amount, Mode, StorageError, SubscriptionId};
use std::sync::Arc;

fn sub() -> SubscriptionId {
    id("sub_1")
}

fn purpose() -> Purpose {
    Purpose::Recharge(sub())
}

fn tokens(number: u128) -> Amount {
    Amount::new(number * UNIT)
}

fn friend() -> TestWallet {
    TestWallet::from_seed(&[21; 32])
}

fn account(wallet: &TestWallet) -> Wallet {
    Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() }
}

/// A customer with 1,000 tokens whose month of `price` tokens was charged, and a friend with 1,000 tokens.
async fn charged(db: &TestDatabase, price: u128) -> Billing {
    let billing = Billing::open(db, 2_000).await;
    let price = billing.price("price_1", price, MONTHLY).await;
    billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
    billing.round().await;
    let poured = billing.networks.post("/faucet", &json!({ "address": friend().did().as_str() })).await;
    assert_eq!(poured.0, 200);
    billing
}

async fn signed(billing: &Billing, amount: Amount, nonce: u64) -> String {
    let prepared = billing::prepare_recharge(&billing.ctx, &sub(), amount, &account(&friend()), nonce).await.expect("prepares");
    friend().sign_transfer(&prepared.prepared.partial_tx, &prepared.prepared.token, amount).expect("signs")
}

/// Adds funds: the friend signs and the store sends the transaction.
async fn add(billing: &Billing, number: u128, nonce: u64) -> Result<String, RechargeError> {
    let signed = signed(billing, tokens(number), nonce).await;
    billing::submit_signed_recharge(&billing.ctx, &sub(), tokens(number), WalletSignature::new(&account(&friend()), nonce, &signed)).await
}

async fn recorded_statements(billing: &Billing) -> Vec<(InvoiceStatus, u128)> {
    let of_funds = billing.statements().await.into_iter().filter(|invoice| invoice.reason == BillingReason::Recharge);
    of_funds.map(|invoice| (invoice.status, invoice.amount_paid.base_units() / UNIT)).collect()
}

async fn is_moving(billing: &Billing) -> bool {
    let mut unit = billing.ctx.store.read().await.expect("reads");
    unit.attempts().open_of(&purpose()).await.expect("reads").is_some()
}

on_one! {
    async fn funds_arrive_at_the_account_that_pays_and_what_is_overdue_is_charged_at_once(db: &TestDatabase) {
        let billing = charged(db, 1_500).await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue);
        add(&billing, 600, 7).await.expect("adds");
        assert_eq!(billing.networks.balance().await, 1_600);
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (0, 0), "the store receives none of it");
        assert_eq!(recorded_statements(&billing).await, [(InvoiceStatus::Paid, 600)]);
        billing.send_all().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        assert_eq!((billing.networks.balance().await, billing.networks.store_balance().await, billing.cash().await), (100, 1_500, 1_500));
        billing.is_sound().await;
    }

    async fn the_statement_of_a_recharge_is_not_a_payment(db: &TestDatabase) {
        let billing = charged(db, 5).await;
        add(&billing, 60, 7).await.expect("adds");
        let [recorded_statements] = <[Invoice; 1]>::try_from(billing.statements().await).expect("one statement");
        assert_eq!((recorded_statements.description.clone(), recorded_statements.period, &recorded_statements.intent_id), (Description::TopUp, None, &None));
        assert_eq!((&recorded_statements.subscription_id, recorded_statements.number, recorded_statements.total), (&Some(sub()), Some(1), tokens(60)), "a series of its own");
        let paying = billing::paying_balance_of(&billing.ctx, &sub()).await.expect("answers");
        assert_eq!((paying.balance, paying.period), (Some(tokens(1_055)), Some(tokens(5))));
        let void = billing::void_invoice(&billing.ctx, &recorded_statements.id).await;
        assert!(matches!(void, Err(VoidError::NothingOverdue)), "the top-up remains: {void:?}");
        let refund = billing.refund(&recorded_statements, None).await;
        assert!(matches!(refund, Err(RefundError::NothingPaid)), "the store has none of it: {refund:?}");
    }

    async fn the_reconciler_finds_a_lost_response_and_records_the_funds_once(db: &TestDatabase) {
        let billing = charged(db, 5).await;
        billing.networks.fault("drop_answer").await;
        add(&billing, 60, 7).await.expect("it is on its way");
        assert_eq!((recorded_statements(&billing).await, is_moving(&billing).await), (vec![], true));
        assert!(matches!(add(&billing, 60, 8).await, Err(RechargeError::Payment(PaymentTargetError::Subscription(SubscriptionError::PaymentInFlight)))), "one at a time");
        billing.wait(DAY);
        for _ in 0..2 {
            check_due(&billing.ctx, 9).await.expect("looks");
        }
        assert_eq!((recorded_statements(&billing).await, is_moving(&billing).await), (vec![(InvoiceStatus::Paid, 60)], false));
        assert_eq!(billing.networks.balance().await, 1_055);
        billing.is_sound().await;
    }

    async fn the_reconciler_sends_the_transaction_of_a_crashed_process(db: &TestDatabase) {
        let billing = charged(db, 5).await;
        billing.networks.fault("drop_request").await;
        add(&billing, 60, 7).await.expect("nobody knows");
        assert_eq!(billing.networks.balance().await, 995);
        billing.wait(DAY);
        check_due(&billing.ctx, 9).await.expect("sends");
        billing.wait(DAY);
        check_due(&billing.ctx, 9).await.expect("looks");
        assert_eq!((recorded_statements(&billing).await, billing.networks.balance().await), (vec![(InvoiceStatus::Paid, 60)], 1_055));
        billing.is_sound().await;
    }

    async fn a_declined_transfer_has_no_effect_and_can_be_retried(db: &TestDatabase) {
        let billing = charged(db, 5).await;
        billing.networks.fault("decline").await;
        assert!(matches!(add(&billing, 60, 7).await, Err(RechargeError::Payment(PaymentTargetError::Declined(_)))));
        assert_eq!((recorded_statements(&billing).await, is_moving(&billing).await), (vec![], false));
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        let mut unit = billing.ctx.store.read().await.expect("reads");
        assert!(unit.invoices().overdue(&id("cus_1")).await.expect("reads").is_empty());
        drop(unit);
        add(&billing, 60, 8).await.expect("adds");
        assert_eq!(recorded_statements(&billing).await, [(InvoiceStatus::Paid, 60)]);
        billing.is_sound().await;
    }
}

on_both! {
    async fn a_top_up_of_another_amount_is_booked_with_what_was_moved(db: &TestDatabase) {
        let billing = charged(db, 5).await;
        for (nonce, moved, rest) in [(7, 40, 20), (8, 0, 60), (9, 75, 0)] {
            billing.networks.fault("drop_request").await;
            add(&billing, 60, nonce).await.expect("nobody knows");
            let attempt = billing.moves(&purpose(), moved * UNIT).await;
            let retry = billing::resolve_transfer(&billing.ctx, Mode::Test, &attempt, HoldDecision::Retry).await;
            assert!(matches!(retry, Err(ResolveTransferError::NotPossible)), "only its wallet can send more: {retry:?}");
            assert!(is_moving(&billing).await);
            assert_eq!(billing.resolve_hold(&attempt, HoldDecision::Record).await.expect("is resolved"), (rest, 0));
            assert!(!is_moving(&billing).await, "the next top-up can begin");
        }
        let mut documented = recorded_statements(&billing).await;
        documented.sort_by_key(|(_, amount)| *amount);
        assert_eq!(documented, [(InvoiceStatus::Paid, 40), (InvoiceStatus::Paid, 75)]);
        assert_eq!((billing.cash().await, billing.customer_balance().await), (5, 0), "the store receives none of it");
    }

    async fn concurrent_sends_of_one_signature_add_funds_once(db: &TestDatabase) {
        let billing = Arc::new(charged(db, 5).await);
        let signed = Arc::new(signed(&billing, tokens(60), 7).await);
        let takes = (0..4).map(|_| {
            let (billing, signed) = (Arc::clone(&billing), Arc::clone(&signed));
            tokio::spawn(async move {
                billing::submit_signed_recharge(&billing.ctx, &sub(), tokens(60), WalletSignature::new(&account(&friend()), 7, signed.as_str())).await.is_ok()
            })
        });
        let taken = futures_util::future::join_all(takes).await;
        assert_eq!(taken.into_iter().filter(|taken| matches!(taken, Ok(true))).count(), 1);
        assert_eq!((recorded_statements(&billing).await, billing.networks.balance().await), (vec![(InvoiceStatus::Paid, 60)], 1_055));
        billing.is_sound().await;
    }
}

on_one! {
    async fn a_signature_for_another_amount_or_account_is_not_sent(db: &TestDatabase) {
        let billing = charged(db, 5).await;
        let (ctx, from) = (&billing.ctx, account(&friend()));
        let less = signed(&billing, tokens(60), 7).await;
        let taken = billing::submit_signed_recharge(ctx, &sub(), tokens(61), WalletSignature::new(&from, 7, &less)).await;
        assert!(matches!(taken, Err(RechargeError::Payment(PaymentTargetError::Check(CheckError::Differs(_))))), "{taken:?}");
        // Another wallet became the payer between the request and the response.
        let mut unit = ctx.store.begin().await.expect("begins");
        let mandate = unit.mandates().find(&id("man_1")).await.expect("reads").expect("exists");
        let Some(MandateDetails::Delegation { limits, .. }) = mandate.details.clone() else { panic!("a delegation") };
        let payer = TestWallet::from_seed(&[22; 32]).did().clone();
        let details = Some(MandateDetails::Delegation { payer, limits, reference: String::new() });
        unit.mandates().upsert(&Mandate { details, ..mandate }).await.expect("writes");
        unit.commit().await.expect("commits");
        let taken = billing::submit_signed_recharge(ctx, &sub(), tokens(60), WalletSignature::new(&from, 7, &less)).await;
        assert!(matches!(taken, Err(RechargeError::Payment(PaymentTargetError::Check(CheckError::Differs(_))))), "{taken:?}");
        assert!(!is_moving(&billing).await);
        assert_eq!(billing.networks.balance().await, 995);
    }

    async fn an_invalid_recharge_is_rejected_with_the_reason(db: &TestDatabase) {
        let billing = charged(db, 5).await;
        let (ctx, from) = (&billing.ctx, account(&friend()));
        let request = async |amount| billing::prepare_recharge(ctx, &sub(), amount, &from, 7).await.map(drop);
        assert!(matches!(request(Amount::ZERO).await, Err(RechargeError::NoAmount)));
        let most = tokens(2_000 * u128::from(billing::RECHARGE_CHARGES));
        assert!(request(most).await.is_ok());
        let refused = request(most.plus(Amount::new(1)).expect("adds")).await.expect_err("too much");
        assert_eq!(refused.to_string(), format!("Please enter an amount of at most 200000 {}.", billing.networks.currency.symbol));
        let own = account(&billing.networks.wallet);
        let prepared = billing::prepare_recharge(ctx, &sub(), tokens(1), &own, 7).await;
        assert!(matches!(prepared, Err(RechargeError::OwnAccount)));
        let one = billing.find("sub_1").await;
        let mut unit = ctx.store.begin().await.expect("begins");
        unit.subscriptions().update(&Subscription { mandate_id: None, ..one }).await.expect("writes");
        unit.commit().await.expect("commits");
        assert!(matches!(request(tokens(1)).await, Err(RechargeError::NoPayer)));
        let one = billing.find("sub_1").await;
        let ended = Subscription { status: SubscriptionStatus::Canceled, ended_at: Some(ctx.now()), ..one };
        let mut unit = ctx.store.begin().await.expect("begins");
        unit.subscriptions().update(&ended).await.expect("writes");
        unit.commit().await.expect("commits");
        assert!(matches!(request(tokens(1)).await, Err(RechargeError::Payment(PaymentTargetError::Ended))));
    }

    async fn funds_without_a_statement_and_statements_without_funds_are_found(db: &TestDatabase) {
        let billing = charged(db, 5).await;
        add(&billing, 60, 7).await.expect("adds");
        for (sql, breach) in [
            ("UPDATE attempts SET status = 'declined' WHERE purpose = 'recharge'", "documents a top-up that did not happen"),
            ("UPDATE attempts SET status = 'settled' WHERE purpose = 'recharge'", ""),
            ("UPDATE invoices SET reason = 'stake' WHERE reason = 'recharge'", "has a different number of top-ups and top-up invoices"),
        ] {
            billing.write(sql).await;
            let mut found = Vec::new();
            verify(billing.database(), &mut |check| {
                if check.title == "every top-up has one invoice" {
                    found.extend(check.breaches);
                }
            })
            .await
            .expect("reads");
            assert!(found.is_empty() == breach.is_empty() && found.iter().all(|recorded_statements| recorded_statements.contains(breach)), "{sql}: {found:?}");
        }
    }

    async fn an_open_recharge_does_not_block_other_payments(db: &TestDatabase) {
        let billing = charged(db, 1_500).await;
        let overdue = billing.invoices().await[0].id.clone();
        billing.networks.fault("drop_request").await;
        add(&billing, 60, 7).await.expect("nobody knows");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let open = unit.attempts().open_of(&purpose()).await.expect("reads").expect("it is open");
        assert_eq!((open.status, unit.attempts().planned_by(&open.id).await.expect("reads")), (AttemptStatus::Unknown, Vec::new()));
        assert!(unit.attempts().lock_not_in_flight(&overdue).await.expect("queries"));
        assert!(matches!(unit.attempts().insert(&open, &[]).await, Err(StorageError::Duplicate(_))));
    }
}
