//! Overdraft protection: if a renewal cannot be charged, a stake pays it after a grace period, for a fee.

use super::bench::{Billing, DAY, MONTHLY};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use crate::ledger::stakes::revoke;
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, BillingReason, InvoiceStatus, OVERDRAFT_GRACE, OverdraftError, PaymentTargetError, RefundChoice, ReleaseReason,
    STAKE_RETRY_DELAY, Stake, StakeKey, StakePurpose, StakeStatus, StakeSubject, SubscriptionStatus,
};
use souk_domain::payment::{STAKE_TERMS_DIFFER, WalletSignature};
use souk_domain::shared::{Amount, SubscriptionId};

fn sub() -> SubscriptionId {
    id("sub_1")
}

fn payer(billing: &Billing) -> Wallet {
    let wallet = &billing.networks.wallet;
    Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() }
}

/// Stakes `tokens` tokens for the overdraft protection, or the missing amount. Returns the requested amount in tokens.
async fn protect(billing: &Billing, tokens: Option<u128>, nonce: u64) -> Result<u128, OverdraftError> {
    let (wallet, payer) = (&billing.networks.wallet, payer(billing));
    let amount = tokens.map(|tokens| Amount::new(tokens * UNIT));
    let prepared = billing::prepare_overdraft_stake(&billing.ctx, &sub(), amount, &payer, nonce).await?;
    let signed = wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
    billing::submit_signed_overdraft_stake(&billing.ctx, &sub(), amount, WalletSignature::new(&payer, nonce, &signed)).await?;
    Ok(prepared.amount.base_units() / UNIT)
}

/// A customer who staked 735 of 1,000 tokens (a month of 700 and the fee) and cannot pay the renewal with the remaining tokens.
async fn overdue(db: &TestDatabase) -> Billing {
    let billing = Billing::open(db, 2_000).await;
    let price = billing.price("price_1", 700, MONTHLY).await;
    billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
    assert_eq!(protect(&billing, None, 5).await.expect("is placed"), 735);
    billing.round().await;
    assert_eq!(
        (billing.statuses().await, billing.find("sub_1").await.status),
        (vec![InvoiceStatus::Uncollectible], SubscriptionStatus::PastDue)
    );
    billing
}

/// The stake of the customer's overdraft protection that waits for its payment or is held.
async fn open_stake(billing: &Billing) -> Option<Stake> {
    let key = StakeKey {
        subject: StakeSubject::Subscription(sub()),
        purpose: StakePurpose::Overdraft,
        payer: payer(billing).did,
        currency_id: billing.networks.currency.id.clone(),
    };
    let mut unit = billing.ctx.store.read().await.expect("reads");
    unit.stakes().find_open(&key).await.expect("reads")
}

async fn protection(billing: &Billing) -> billing::OverdraftProtection {
    billing::overdraft_protection(&billing.ctx, &sub()).await.expect("is read")
}

on_one! {
    async fn an_overdue_renewal_is_paid_from_the_stake_after_the_grace_period_for_a_fee(db: &TestDatabase) {
        let billing = overdue(db).await;
        billing.wait(OVERDRAFT_GRACE / 2);
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible], "the customer has time to pay");
        billing.wait(OVERDRAFT_GRACE / 2);
        billing.round().await;
        billing.send_all().await;
        let invoices = billing.invoices().await;
        let listed: Vec<_> = invoices.iter().map(|one| (one.reason, one.status, one.total.base_units() / UNIT)).collect();
        let expected = [
            (BillingReason::SubscriptionCycle, InvoiceStatus::Paid, 700),
            (BillingReason::OverdraftProtection, InvoiceStatus::Paid, 35),
        ];
        assert_eq!(listed, expected);
        assert_eq!(billing.paid_by(&invoices[0]).await, [("stake", 700 * UNIT)]);
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (735, 735));
        let found = protection(&billing).await;
        assert!(found.stake.is_none() && !found.is_sufficient, "it is used up");
        let placed = billing.statements().await.into_iter().find(|one| one.reason == BillingReason::StakeOverdraftProtection);
        assert_eq!(placed.expect("a statement").total, Amount::new(735 * UNIT));
        billing.is_sound().await;
    }

    async fn a_refund_of_the_last_payment_refunds_the_renewal_and_not_its_overdraft_fee(db: &TestDatabase) {
        let billing = overdue(db).await;
        billing.wait(OVERDRAFT_GRACE);
        billing.round().await;
        billing.send_all().await;
        let paid: Vec<_> = billing.invoices().await.iter().map(|one| (one.reason, one.status)).collect();
        let newest_last = [BillingReason::SubscriptionCycle, BillingReason::OverdraftProtection].map(|reason| (reason, InvoiceStatus::Paid));
        assert_eq!(paid, newest_last);
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!(billing.refunded().await, [700 * UNIT]);
        billing.send_all().await;
        billing.is_sound().await;
    }

    async fn nothing_is_charged_if_the_customer_pays_in_time(db: &TestDatabase) {
        let billing = overdue(db).await;
        billing.networks.faucet().await;
        billing.wait(DAY);
        assert_eq!(billing.retry().await, 1);
        assert_eq!((billing.statuses().await, billing.find("sub_1").await.overdraft_at), (vec![InvoiceStatus::Paid], None));
        billing.wait(OVERDRAFT_GRACE);
        billing.round().await;
        billing.send_all().await;
        assert_eq!((billing.networks.store_balance().await, protection(&billing).await.is_sufficient), (700, true));
        billing.is_sound().await;
    }

    async fn an_overdraft_payment_that_the_network_declines_is_retried(db: &TestDatabase) {
        let billing = overdue(db).await;
        billing.wait(OVERDRAFT_GRACE);
        billing.networks.fault("decline").await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing.wait(STAKE_RETRY_DELAY);
        billing.round().await;
        billing.send_all().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid; 2]);
        billing.is_sound().await;
    }

    async fn the_protection_is_topped_up_and_switched_off(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 100, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY)).await;
        assert!(matches!(protect(&billing, Some(104), 5).await, Err(OverdraftError::StakeTooSmall)), "less than a month and its fee");
        assert_eq!(protect(&billing, None, 6).await.expect("is placed"), 105);
        assert!(matches!(protect(&billing, None, 7).await, Err(OverdraftError::NoStake)), "nothing is missing");
        assert_eq!(protect(&billing, Some(50), 8).await.expect("is added"), 50);
        let stake = protection(&billing).await.stake.expect("a stake");
        assert_eq!((stake.purpose, stake.remaining(), stake.missing()), (StakePurpose::Overdraft, Amount::new(155 * UNIT), Amount::ZERO));
        billing::end_overdraft_protection(&billing.ctx, &sub()).await.expect("is off");
        assert_eq!(billing.process_due_stakes().await, 1);
        let returned = billing.find_stake(stake.id.as_str()).await;
        assert_eq!((returned.status, returned.release_reason), (StakeStatus::Final, Some(ReleaseReason::Requested)));
        assert_eq!((billing.networks.balance().await, protection(&billing).await.stake), (1_000, None));
        billing.is_sound().await;
    }

    async fn a_deposit_that_its_payer_opened_on_foreign_terms_protects_nothing_and_another_can_be_placed_a_day_later(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 100, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY)).await;
        billing::prepare_overdraft_stake(&billing.ctx, &sub(), None, &payer(&billing), 5).await.expect("is prepared");
        let requested = open_stake(&billing).await.expect("a stake").id;
        billing.networks.stake_beside_store(requested.as_str(), 6, |stake| stake.slashers.clear()).await;
        match protect(&billing, None, 7).await {
            Err(OverdraftError::Payment(PaymentTargetError::Declined(decline))) => assert_eq!(decline.code, STAKE_TERMS_DIFFER),
            other => panic!("{other:?}"),
        }
        assert_eq!((protection(&billing).await.stake, billing.networks.balance().await), (None, 999));
        billing.wait(DAY);
        assert_eq!((billing.process_due_stakes().await, open_stake(&billing).await), (1, None));
        assert_eq!(protect(&billing, None, 8).await.expect("is placed"), 105);
        let placed = open_stake(&billing).await.expect("a stake");
        assert!(placed.id != requested && placed.is_held() && protection(&billing).await.is_sufficient, "{placed:?}");
        billing.is_sound().await;
    }

    async fn an_end_within_the_grace_period_leaves_it_to_the_customer_and_costs_no_fee(db: &TestDatabase) {
        let billing = overdue(db).await;
        let stake = protection(&billing).await.stake.expect("a stake");
        billing.end_with(RefundChoice::None).await.expect("ends");
        assert_eq!((billing.process_due_stakes().await, billing.statuses().await), (0, vec![InvoiceStatus::Uncollectible]));
        billing.wait(OVERDRAFT_GRACE);
        billing.process_due_stakes().await;
        billing.process_due_stakes().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid], "there is no invoice of a fee");
        let returned = billing.find_stake(stake.id.as_str()).await;
        assert_eq!((returned.status, returned.amount_forfeited, returned.amount_returned), (StakeStatus::Final, Amount::new(700 * UNIT), Amount::new(35 * UNIT)));
        billing.is_sound().await;
    }

    async fn the_protection_of_an_ended_subscription_pays_invoices_in_full_or_not_at_all(db: &TestDatabase) {
        let billing = overdue(db).await;
        let stake = protection(&billing).await.stake.expect("a stake");
        let other = billing.overdue_invoice("in_other", &billing.find("sub_1").await, 1, Amount::new(100 * UNIT));
        billing.insert_invoice(&other).await;
        billing.end_with(RefundChoice::None).await.expect("ends");
        billing.wait(OVERDRAFT_GRACE);
        billing.process_due_stakes().await;
        billing.process_due_stakes().await;
        let paid = billing.find_stake(stake.id.as_str()).await;
        assert!([100, 700].map(|tokens| Amount::new(tokens * UNIT)).contains(&paid.amount_forfeited), "{paid:?}");
        assert_eq!((paid.status, paid.amount_forfeited.plus(paid.amount_returned)), (StakeStatus::Final, Ok(Amount::new(735 * UNIT))));
        billing.is_sound().await;
    }

    async fn a_partly_revoked_protection_is_off_and_the_rest_of_its_stake_is_returned(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 100, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY)).await;
        assert_eq!(protect(&billing, None, 6).await.expect("is placed"), 105);
        let stake = protection(&billing).await.stake.expect("a stake");
        assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, stake.id.as_str(), 50)).await.0, "OK");
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("checks"), 1);
        assert!(protection(&billing).await.stake.is_none(), "the protection is off");
        billing.process_due_stakes().await;
        let revoked = billing.find_stake(stake.id.as_str()).await;
        assert_eq!((revoked.release_reason, revoked.amount_returned), (Some(ReleaseReason::Revoked), Amount::new(55 * UNIT)));
        assert!(revoked.return_at.is_some(), "it waits until the network pays the rest out");
        billing.is_sound().await;
    }
}
