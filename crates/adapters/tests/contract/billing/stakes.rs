//! Deposits and overdue invoices: an invoice paid by a deposit is not charged as well, invoices are paid before the rest is returned, and
//! partial payments are recorded as such.

use super::bench::{Billing, DAY, MONTHLY, at_once, planned};
use crate::checkout_fixtures::{all_at_once, at, begin, card_attempt, id, insert_checkout, invoice, invoice_item, session};
use crate::ledger::bench::UNIT;
use crate::ledger::stakes::revoke;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::verify::verify;
use souk_adapters::{on_both, on_one};
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, BillingReason, CombineError, DocumentType, Invoice, InvoiceStatus, NewInvoice, OverdueTarget, PrepareOverduePaymentError,
    RefundChoice, ReleaseReason, Requester, ReturnStakeError, STAKE_WAITING, Stake, StakeChoice, StakeFor, StakeStatus,
    SubmitOverduePaymentError, Subscription, SubscriptionStatus,
};
use souk_domain::checkout::{Session, SubscriptionTerms};
use souk_domain::payment::{self, Attempt, Mandate, MandateDetails, Purpose, WalletSignature, check_due};
use souk_domain::shared::{Amount, Mode, StakeId, StorageError, SubscriptionId};
use std::time::Duration;

const HOURS: Duration = Duration::from_secs(6 * 3_600);

fn sub() -> SubscriptionId {
    id("sub_1")
}

fn stk() -> StakeId {
    id("stk_1")
}

/// The store cancels a subscription immediately and decides about its deposit.
async fn end(billing: &Billing, name: &str, stake: StakeChoice) -> Subscription {
    let terms = at_once(RefundChoice::None, stake);
    billing::cancel(&billing.ctx, Requester::Store, &id(name), &terms).await.expect("ends")
}

/// A customer with 1,000 tokens who staked `staked` of them and cannot pay a month of 700 with the rest.
pub async fn with_overdue_invoice(db: &souk_adapters::testing::TestDatabase, staked: u128, days_until_cancel: u32) -> Billing {
    let billing = Billing::open(db, 2_000).await;
    let price = billing.price("price_1", 700, MONTHLY).await;
    let mut one = Subscription { days_until_cancel, ..billing.subscription("sub_1", &price, DAY * 30) };
    one.stake_id = Some(billing.stake(&one, staked).await.id);
    billing.insert(&one).await;
    billing.round().await;
    assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
    billing
}

/// A customer who staked `staked` of 1,000 tokens and revoked `revoked_tokens` of them, so that the subscription ends with its period.
async fn revoked(db: &souk_adapters::testing::TestDatabase, staked: u128, revoked_tokens: u128) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut one = billing.subscription("sub_1", &price, DAY);
    one.stake_id = Some(billing.stake(&one, staked).await.id);
    billing.insert(&one).await;
    assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, "stk_1", revoked_tokens)).await.0, "OK");
    assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 1);
    assert_eq!((billing.stake_of("sub_1").await.is_revoked(), billing.find("sub_1").await.cancel_at_period_end), (true, true));
    billing.wait(billing::STAKE_CHECK_INTERVAL);
    billing
}

/// Another wallet places a deposit, so that the subscription continues. Returns the stake that the subscription names then.
async fn restaked_by(billing: &Billing, wallet: &TestWallet, tokens: u128) -> Stake {
    billing.networks.faucet_for(wallet).await;
    let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
    let prepared = billing::prepare_restake(&billing.ctx, &sub(), StakeFor::Resuming, &payer, 5).await.expect("prepares");
    assert_eq!(prepared.amount, Amount::new(tokens * UNIT));
    let signed = wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
    billing::submit_signed_restake(&billing.ctx, &sub(), StakeFor::Resuming, WalletSignature::new(&payer, 5, &signed))
        .await
        .expect("takes");
    billing.stake_of("sub_1").await
}

/// A customer with two subscriptions of one checkout that share a stake.
pub async fn two_of_one_checkout(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.sessions().insert(&Session { terms: SubscriptionTerms::default(), ..session("cs_1") }).await.expect("inserts");
    unit.commit().await.expect("commits");
    let of_order = |name| Subscription { session_id: Some(id("cs_1")), ..billing.subscription(name, &price, DAY) };
    let mut first = of_order("sub_1");
    first.stake_id = Some(billing.stake(&first, 50).await.id);
    billing.insert(&first).await;
    billing.insert(&Subscription { stake_id: first.stake_id, ..of_order("sub_2") }).await;
    billing
}

/// The customer signs a transfer that pays the overdue invoices. Returns the amount.
pub async fn pay_overdue(billing: &Billing) -> Result<u128, SubmitOverduePaymentError> {
    let wallet = &billing.networks.wallet;
    let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
    let target = OverdueTarget::OfSubscription(sub(), billing.networks.currency.id.clone());
    let prepared = match billing::prepare_overdue_payment(&billing.ctx, &target, &payer, 77).await {
        Err(PrepareOverduePaymentError::Combine(error)) => return Err(error.into()),
        prepared => prepared.expect("is prepared"),
    };
    let signed = wallet.sign_transfer(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
    billing::submit_signed_overdue_payment(&billing.ctx, &target, WalletSignature::new(&payer, 77, &signed)).await?;
    Ok(prepared.amount.base_units() / UNIT)
}

/// A customer with an ended subscription, whose deposit's return was declined once.
async fn declined_once(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut one = billing.subscription("sub_1", &price, DAY);
    one.stake_id = Some(billing.stake(&one, 50).await.id);
    billing.insert(&one).await;
    end(&billing, "sub_1", StakeChoice::None).await;
    billing.wait(STAKE_WAITING);
    billing.networks.fault("decline").await;
    billing.round().await;
    let declined = billing.stake_of("sub_1").await;
    assert_eq!((declined.status, declined.failure_count, declined.reservation), (StakeStatus::Releasing, 1, None));
    billing.wait(HOURS);
    billing
}

on_one! {
    async fn an_overdue_invoice_that_a_deposit_is_paying_is_not_charged_as_well(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 800, 15).await;
        billing.wait(DAY * 15);
        billing.retry().await;
        let slash = billing.round_unsent().await;
        assert_eq!(slash.len(), 1);
        billing.networks.faucet().await;
        assert!(matches!(pay_overdue(&billing).await, Err(SubmitOverduePaymentError::PaymentInFlight)));
        payment::charge(&billing.ctx, &slash).await.expect("charges");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert!(matches!(pay_overdue(&billing).await, Err(SubmitOverduePaymentError::Combine(CombineError::NothingOverdue))));
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (700, 700));
        billing.is_sound().await;
    }

    async fn a_stake_reserved_without_an_open_attempt_is_found(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 800, 15).await;
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(700 * UNIT)), "owed").await.expect("is ordered");
        billing.is_sound().await;
        let mut connection = billing.database().begin().await.expect("begins");
        let ended = "UPDATE attempts SET status = 'declined' WHERE purpose = 'slash'";
        assert_eq!(connection.query(ended).execute().await.expect("is carried out"), 1);
        connection.commit().await.expect("commits");
        let mut titles = Vec::new();
        verify(billing.database(), &mut |check| titles.extend((!check.breaches.is_empty()).then_some(check.title))).await.expect("reads");
        assert!(titles.iter().any(|title| title.starts_with("reserved stakes have")), "{titles:?}");
    }

    async fn an_invoice_is_not_retried_while_a_deposit_pays_it(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 800, 15).await;
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(700 * UNIT)), "owed").await.expect("is ordered");
        billing.networks.faucet().await;
        billing.wait(DAY);
        assert_eq!(billing.retry().await, 0);
        billing.send(&Purpose::Slash(stk())).await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (700, 700));
        billing.is_sound().await;
    }

    async fn the_rest_of_a_deposit_is_held_for_its_period_if_the_subscription_ends_during_a_forfeit(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 800, 15).await;
        billing.wait(DAY * 15);
        billing.retry().await;
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(750 * UNIT)), "owed").await.expect("is ordered");
        assert_eq!((billing.round().await, billing.find("sub_1").await.status), (1, SubscriptionStatus::PastDue), "it may be paid yet");
        end(&billing, "sub_1", StakeChoice::None).await;
        billing.send(&Purpose::Slash(stk())).await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!((billing.networks.staked("stk_1").await, billing.cash().await), ((50, 0), 750));
        billing.wait(STAKE_WAITING);
        assert_eq!((billing.round().await, billing.networks.staked("stk_1").await), (1, (0, 0)));
        billing.is_sound().await;
    }

    async fn a_deposit_waits_for_a_charge_in_flight_and_does_not_pay_it(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 800, 15).await;
        billing.networks.faucet().await;
        billing.wait(DAY);
        let retried = billing.retry_unsent().await;
        assert_eq!(retried.len(), 1);
        let ended = end(&billing, "sub_1", StakeChoice::Proration).await;
        assert_eq!((ended.status, billing.stake_of("sub_1").await.status), (SubscriptionStatus::Canceled, StakeStatus::Releasing));
        assert_eq!(billing.round().await, 1, "it is monitored from now on");
        assert_eq!(billing.networks.staked("stk_1").await, (800, 0));
        payment::charge(&billing.ctx, &retried).await.expect("charges");
        billing.wait(HOURS);
        assert_eq!(billing.round().await, 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!((billing.networks.staked("stk_1").await, billing.networks.store_balance().await, billing.cash().await), ((0, 0), 700, 700));
        billing.is_sound().await;
    }

    async fn overdue_invoices_are_paid_before_a_deposit_is_returned_regardless_of_who_ended_the_subscription(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 800, 15).await;
        end(&billing, "sub_1", StakeChoice::None).await;
        billing.wait(STAKE_WAITING);
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.networks.staked("stk_1").await, billing.networks.store_balance().await), ((100, 0), 700));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!(billing.round().await, 1, "the rest is due at once");
        assert_eq!((billing.networks.staked("stk_1").await, billing.networks.balance().await), ((0, 0), 300));
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Final);
        assert_eq!((billing.cash().await, billing.round().await), (700, 0));
        billing.is_sound().await;
    }

    async fn a_deposit_smaller_than_the_overdue_invoice_pays_a_part_and_the_rest_is_charged(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 400, 15).await;
        billing.wait(DAY * 15);
        billing.retry().await;
        billing.round().await;
        let [overdue] = <[Invoice; 1]>::try_from(billing.invoices().await).expect("the same invoice");
        assert_eq!(overdue.status, InvoiceStatus::Uncollectible);
        assert_eq!((overdue.amount_paid, overdue.remaining()), (Amount::new(400 * UNIT), Amount::new(300 * UNIT)));
        assert_eq!((billing.paid_by(&overdue).await, overdue.retry_at), (vec![("stake", 400 * UNIT)], None));
        let [listed] = <[Invoice; 1]>::try_from(billing.statements().await).expect("one statement");
        assert_eq!((listed.reason, listed.total, listed.number), (BillingReason::SlashStake, Amount::new(400 * UNIT), Some(1)));
        billing.is_sound().await;
        billing.networks.faucet().await;
        assert_eq!(pay_overdue(&billing).await.expect("is paid"), 300);
        assert_eq!(billing.paid_by(&overdue).await, [("stake", 400 * UNIT), ("network", 300 * UNIT)]);
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (700, 700));
        billing.is_sound().await;
    }

    async fn a_deposit_pays_the_oldest_overdue_invoices_first_until_it_is_used_up(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 900, 60).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible; 2]);
        billing.wait(DAY);
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(stk())).await;
        let left: Vec<_> = billing.invoices().await.iter().map(|one| (one.status, one.remaining().base_units() / UNIT)).collect();
        assert_eq!(left, [(InvoiceStatus::Paid, 0), (InvoiceStatus::Uncollectible, 500)]);
        assert_eq!((billing.find("sub_1").await.status, billing.stake_of("sub_1").await.status), (SubscriptionStatus::PastDue, StakeStatus::Final));
        billing.networks.faucet().await;
        billing.wait(DAY * 3);
        assert_eq!(billing.retry().await, 1, "the schedule charges the rest");
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        assert_eq!((billing.networks.store_balance().await, billing.cash().await), (1_400, 1_400));
        billing.is_sound().await;
    }

    async fn an_older_unpaid_invoice_does_not_prevent_the_refund_of_a_paid_period(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 400, 60).await;
        billing.networks.faucet().await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible, InvoiceStatus::Paid]);
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(stk())).await;
        let oldest = billing.invoices().await.remove(0);
        assert_eq!((oldest.status, oldest.remaining()), (InvoiceStatus::Uncollectible, Amount::new(300 * UNIT)));
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunded().await, [700 * UNIT]);
        billing.is_sound().await;
    }

    async fn a_deposit_whose_return_was_declined_is_returned_by_a_manual_retry(db: &TestDatabase) {
        let billing = declined_once(db).await;
        billing::return_stake(&billing.ctx, &sub()).await.expect("is tried again");
        billing.send(&Purpose::ReturnStake(stk())).await;
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Final);
        assert_eq!(billing.networks.balance().await, 1_000);
        assert!(matches!(billing::return_stake(&billing.ctx, &sub()).await, Err(ReturnStakeError::NoStake)));
        billing.is_sound().await;
    }

    async fn a_deposit_whose_return_was_declined_is_returned_by_an_automatic_retry(db: &TestDatabase) {
        let billing = declined_once(db).await;
        assert_eq!((billing.round().await, billing.networks.balance().await), (1, 1_000));
        assert_eq!((billing.stake_of("sub_1").await.status, billing.round().await), (StakeStatus::Final, 0));
        billing.is_sound().await;
    }

    async fn a_deposit_whose_forfeit_was_declined_is_held_again(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY);
        one.stake_id = Some(billing.stake(&one, 50).await.id);
        billing.insert(&one).await;
        billing.networks.fault("decline").await;
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(stk())).await;
        let seen = billing.stake_of("sub_1").await;
        assert_eq!((seen.status, seen.available(), billing.find("sub_1").await.cancel_at_period_end), (StakeStatus::Held, Amount::new(50 * UNIT), false));
        billing.is_sound().await;
    }

    async fn a_revoked_stake_can_be_forfeited_manually_during_its_waiting_period(db: &TestDatabase) {
        let billing = revoked(db, 50, 50).await;
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(stk())).await;
        assert_eq!((billing.networks.staked("stk_1").await, billing.networks.store_balance().await), ((0, 0), 50));
        assert_eq!(billing.stake_of("sub_1").await.status, StakeStatus::Final);
        billing.is_sound().await;
    }

    async fn a_partly_revoked_deposit_is_returned_at_the_end_up_to_the_held_amount(db: &TestDatabase) {
        let billing = revoked(db, 50, 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!((billing.find("sub_1").await.status, billing.stake_of("sub_1").await.is_revoked()), (SubscriptionStatus::Canceled, true));
        assert_eq!((billing.networks.staked("stk_1").await, billing.networks.balance().await), ((0, 20), 980), "nothing is owed");
        billing.wait(HOURS);
        billing.round().await;
        assert_eq!(billing.stake_of("sub_1").await.remaining(), Amount::new(20 * UNIT), "the network pays it out");
        billing.is_sound().await;
    }

    async fn a_new_deposit_that_settles_after_the_end_is_returned_with_the_old_one(db: &TestDatabase) {
        let billing = revoked(db, 10, 4).await;
        let wallet = &billing.networks.wallet;
        let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
        let prepared = billing::prepare_restake(&billing.ctx, &sub(), StakeFor::Resuming, &payer, 5).await.expect("prepares");
        assert_eq!(prepared.amount, Amount::new(4 * UNIT));
        let signed = wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount).expect("signs");
        billing.networks.fault("drop_request").await;
        billing::submit_signed_restake(&billing.ctx, &sub(), StakeFor::Resuming, WalletSignature::new(&payer, 5, &signed)).await.expect("takes");
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("looks"), 1);
        let stake = billing.stake_of("sub_1").await;
        assert_eq!((stake.status, stake.amount, stake.amount_returned), (StakeStatus::Releasing, Amount::new(14 * UNIT), Amount::new(6 * UNIT)));
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.networks.staked("stk_1").await, billing.networks.balance().await), ((0, 4), 996));
        billing.is_sound().await;
    }

    async fn a_deposit_secures_all_subscriptions_of_its_checkout(db: &TestDatabase) {
        let billing = two_of_one_checkout(db).await;
        let second = billing.find("sub_2").await;
        billing.insert_invoice(&billing.overdue_invoice("in_1", &second, 1, Amount::new(30 * UNIT))).await;
        end(&billing, "sub_2", StakeChoice::None).await;
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.networks.store_balance().await, billing.networks.staked("stk_1").await), (30, (20, 0)));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!((billing.find("sub_1").await.status, billing.stake_of("sub_1").await.status), (SubscriptionStatus::Active, StakeStatus::Held));
        billing.is_sound().await;
    }

    async fn a_deposit_is_held_until_the_last_subscription_of_its_checkout_ends(db: &TestDatabase) {
        let billing = two_of_one_checkout(db).await;
        end(&billing, "sub_1", StakeChoice::Proration).await;
        billing.wait(STAKE_WAITING);
        billing.round().await;
        assert_eq!((billing.stake_of("sub_1").await.status, billing.networks.staked("stk_1").await), (StakeStatus::Held, (50, 0)));
        end(&billing, "sub_2", StakeChoice::None).await;
        assert_eq!(billing.stake_of("sub_2").await.release_reason, Some(ReleaseReason::Ended));
        billing.wait(STAKE_WAITING);
        assert_eq!((billing.round().await, billing.networks.staked("stk_1").await), (1, (0, 0)));
        billing.is_sound().await;
    }

    async fn the_last_of_two_concurrently_ending_subscriptions_releases_their_deposit(db: &TestDatabase) {
        let billing = two_of_one_checkout(db).await;
        let (first, second) = tokio::join!(end(&billing, "sub_1", StakeChoice::None), end(&billing, "sub_2", StakeChoice::None));
        assert_eq!([first.status, second.status], [SubscriptionStatus::Canceled; 2]);
        assert_eq!(billing.stake_of("sub_1").await.release_reason, Some(ReleaseReason::Ended));
    }

    async fn a_deposit_is_forfeited_from_its_own_account_even_if_another_account_pays_now(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY);
        one.stake_id = Some(billing.stake(&one, 50).await.id);
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let first = unit.mandates().find(&id("man_1")).await.expect("reads").expect("exists");
        let payer = TestWallet::from_seed(&[77; 32]).did().clone();
        let details = Some(MandateDetails::Delegation { payer, limits: Vec::new(), reference: String::new() });
        unit.mandates().upsert(&Mandate { id: id("man_2"), details, ..first }).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.insert(&Subscription { mandate_id: Some(id("man_2")), ..one }).await;
        assert_eq!(billing::check_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        assert_eq!((billing.find("sub_1").await.cancel_at_period_end, billing.stake_of("sub_1").await.status), (false, StakeStatus::Held));
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(20 * UNIT)), "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(stk())).await;
        assert_eq!((billing.networks.staked("stk_1").await, billing.networks.store_balance().await), ((30, 0), 20));
        billing.is_sound().await;
    }

    async fn a_superseded_deposit_is_returned_even_if_its_network_declines_twice(db: &TestDatabase) {
        let billing = revoked(db, 50, 20).await;
        let other = TestWallet::from_seed(&[77; 32]);
        let placed = restaked_by(&billing, &other, 50).await;
        assert_eq!((&placed.payer, placed.amount, placed.status), (other.did(), Amount::new(50 * UNIT), StakeStatus::Held));
        assert!(!billing.find("sub_1").await.cancel_at_period_end, "it continues");
        let before = billing.find_stake("stk_1").await;
        assert_eq!((&before.payer, before.status), (billing.networks.wallet.did(), StakeStatus::Releasing));
        for hours in [6, 12] {
            billing.networks.fault("decline").await;
            assert_eq!(billing.process_due_stakes().await, 1);
            assert!(billing.find_stake("stk_1").await.reservation.is_none());
            billing.wait(Duration::from_secs(hours * 3_600 - 60));
            assert_eq!(billing.process_due_stakes().await, 0, "{hours} hours");
            billing.wait(Duration::from_secs(60));
        }
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!(billing.find_stake("stk_1").await.amount_returned, Amount::new(30 * UNIT));
        assert_eq!((billing.networks.staked("stk_1").await, billing.stake_of("sub_1").await.status), ((0, 20), StakeStatus::Held));
        billing.is_sound().await;
    }

    async fn an_invoice_settled_meanwhile_is_not_paid_again(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        for round in 0..20 {
            let (bill, paying) = (format!("in_{round}"), format!("att_{round}"));
            let mut unit = begin(db).await;
            let number = unit.invoices().allocate_numbers(Mode::Test, DocumentType::Invoice, 1).await.expect("a number");
            let overdue = Invoice { number: Some(number), status: InvoiceStatus::Uncollectible, ..invoice(&bill) };
            let line = invoice_item(&format!("ii_{round}"), &bill);
            unit.invoices().insert_final_all(&[NewInvoice { invoice: overdue.clone(), items: vec![line] }]).await.expect("inserts");
            unit.attempts().insert(&card_attempt(&paying, "pi_1"), &planned(&overdue)).await.expect("inserts");
            unit.commit().await.expect("commits");
            let raced = all_at_once(db, 2, move |db, which| {
                let (overdue, paying) = (overdue.clone(), paying.clone());
                async move {
                    let mut unit = begin(&db).await;
                    if which == 0 {
                        unit.attempts().settle_all(&[id(&paying)], at(1)).await.expect("settles");
                        let paid = overdue.with_amounts(overdue.total, Amount::ZERO, at(1)).expect("is paid");
                        assert!(unit.invoices().update(&overdue, &paid).await.expect("pays"));
                        unit.commit().await.expect("commits");
                        return true;
                    }
                    let again = Attempt { purpose: Purpose::Payment(id("pi_2")), ..card_attempt(&format!("{paying}b"), "pi_2") };
                    let answer = unit.attempts().insert(&again, &planned(&overdue)).await;
                    assert!(matches!(answer, Err(StorageError::Duplicate(_))), "{answer:?}");
                    true
                }
            });
            assert_eq!(raced.await, [true, true]);
        }
    }
}

on_both! {
    async fn attempts_list_their_invoices_and_subscriptions_their_overdue_invoices(db: &TestDatabase) {
        let billing = with_overdue_invoice(db, 800, 15).await;
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let overdue = unit.invoices().unpaid_of(&sub()).await.expect("reads");
        assert_eq!(overdue.iter().map(|one| one.status).collect::<Vec<_>>(), [InvoiceStatus::Uncollectible]);
        assert_eq!(unit.invoices().unpaid_of(&id("sub_2")).await.expect("reads"), []);
        let cycle = unit.invoices().last_start(&sub(), BillingReason::SubscriptionCycle).await.expect("reads");
        assert_eq!(cycle, overdue[0].period.map(|period| period.start));
        assert_eq!(unit.invoices().last_start(&sub(), BillingReason::SubscriptionUpdate).await.expect("reads"), None);
        drop(unit);
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let slash = unit.attempts().open_of(&Purpose::Slash(stk())).await.expect("reads").expect("exists");
        assert_eq!(unit.attempts().planned_by(&slash.id).await.expect("reads"), planned(&overdue[0]), "700 of the 800");
    }
}
