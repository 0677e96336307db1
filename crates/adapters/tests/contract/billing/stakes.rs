//! Deposits and debts: what is taken is not collected as well, what is owed is taken before the rest goes back, and a part is a part.

use super::bench::{Billing, DAY, MONTHLY, at_once, planned};
use crate::checkout_fixtures::{all_at_once, at, begin, card_attempt, id, insert_checkout, invoice, invoice_item, session, wallet_attempt};
use crate::ledger::bench::UNIT;
use crate::ledger::stakes::revoke;
use souk_adapters::arcblock::TestWallet;
use souk_adapters::verify::verify;
use souk_adapters::{on_both, on_one};
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, BillingReason, Debt, DocumentType, Invoice, InvoiceStatus, ManageError, RefundChoice, Requester, STAKE_WAITING, Stake,
    StakeChoice, StakeFor, StakeStatus, Subscription, SubscriptionStatus,
};
use souk_domain::checkout::{Session, SubscriptionTerms};
use souk_domain::ledger::{Account, Entry, EntryType, Posting};
use souk_domain::payment::{self, Attempt, AttemptKind, AttemptStatus, Currency, Mandate, MandateDetails, Method, Purpose, check_due};
use souk_domain::shared::{Amount, Mode, StorageError, SubscriptionId};
use std::time::Duration;

const HOURS: Duration = Duration::from_secs(6 * 3_600);

fn sub() -> SubscriptionId {
    id("sub_1")
}

/// The store ends a subscription now, and decides what becomes of its deposit.
async fn end(billing: &Billing, name: &str, stake: StakeChoice) -> Subscription {
    let terms = at_once(RefundChoice::None, stake);
    billing::cancel(&billing.ctx, Requester::Store, &id(name), &terms).await.expect("ends")
}

/// Somebody with 1,000 tokens who staked so many, and cannot pay the 700 of a month from the rest.
async fn in_debt(db: &souk_adapters::testing::TestDatabase, staked: u128, days_until_cancel: u32) -> Billing {
    let billing = Billing::open(db, 2_000).await;
    let price = billing.price("price_1", 700, MONTHLY).await;
    let mut one = Subscription { days_until_cancel, ..billing.subscription("sub_1", &price, DAY * 30) };
    one.stake = Some(billing.posted_stake(&one, staked).await);
    billing.insert(&one).await;
    billing.round().await;
    assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
    billing
}

/// As if a permission at another network had been given: the subscription is charged there from now on.
async fn leave_network(billing: &Billing) {
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    let (method, currency) = (&billing.networks.method, &billing.networks.currency);
    unit.methods().insert(&Method { id: id("pm_2"), ..method.clone() }).await.expect("inserts");
    let other = Currency { id: id("pc_2"), method_id: id("pm_2"), ..currency.clone() };
    unit.methods().insert_currency(&other).await.expect("inserts");
    let found = unit.subscriptions().find(&sub()).await.expect("reads").expect("stands");
    let left = Subscription { method_id: other.method_id, currency_id: other.id, ..found };
    assert!(unit.subscriptions().update(&left).await.expect("writes"));
    unit.commit().await.expect("commits");
}

/// Somebody who staked so many of 1,000 tokens, and revoked so many of these: the subscription ends with its period.
async fn revoked(db: &souk_adapters::testing::TestDatabase, staked: u128, taken_back: u128) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut one = billing.subscription("sub_1", &price, DAY);
    one.stake = Some(billing.posted_stake(&one, staked).await);
    billing.insert(&one).await;
    assert_eq!(billing.networks.wallet_sends(2, revoke(&billing.networks, "sub_1", taken_back)).await.0, "OK");
    assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
    let seen = billing.find("sub_1").await;
    assert_eq!((seen.stake.expect("a deposit").status, seen.cancel_at_period_end), (StakeStatus::Revoked, true));
    billing.wait(billing::STAKE_LOOK);
    billing
}

/// Another wallet leaves a deposit, so that the subscription goes on. Answers what is known of the deposits then.
async fn restaked_by(billing: &Billing, wallet: &TestWallet, tokens: u128) -> Stake {
    billing.networks.faucet_for(wallet).await;
    let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
    let asked = billing::ask_to_restake(&billing.ctx, &sub(), StakeFor::Resuming, &payer, 5).await.expect("asks");
    assert_eq!(asked.amount, Amount::new(tokens * UNIT));
    let signed = wallet.sign_stake(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount).expect("signs");
    billing::take_restake(&billing.ctx, &sub(), StakeFor::Resuming, &payer, (5, &signed)).await.expect("takes");
    billing.find("sub_1").await.stake.expect("a deposit")
}

/// Two subscriptions of one checkout; the first holds the deposit of both.
pub async fn two_of_one_order(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.sessions().insert(&Session { terms: SubscriptionTerms::default(), ..session("cs_1") }).await.expect("inserts");
    unit.commit().await.expect("commits");
    let of_order = |name| Subscription { session_id: Some(id("cs_1")), ..billing.subscription(name, &price, DAY) };
    let mut first = of_order("sub_1");
    first.stake = Some(billing.posted_stake(&first, 50).await);
    billing.insert(&first).await;
    billing.insert(&of_order("sub_2")).await;
    billing
}

/// The customer signs a transfer of what is owed.
async fn collect(billing: &Billing) -> Result<u128, ManageError> {
    let wallet = &billing.networks.wallet;
    let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
    let debt = Debt::OfSubscription(sub(), billing.networks.currency.id.clone());
    let asked = billing::ask_to_collect(&billing.ctx, &debt, &payer, 77).await?;
    let signed = wallet.sign_transfer(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount).expect("signs");
    billing::take_collection(&billing.ctx, &debt, &payer, 77, &signed).await?;
    Ok(asked.amount.base_units() / UNIT)
}

/// One that ended, whose deposit's return the network has refused once.
async fn refused_once(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut one = billing.subscription("sub_1", &price, DAY);
    one.stake = Some(billing.posted_stake(&one, 50).await);
    billing.insert(&one).await;
    end(&billing, "sub_1", StakeChoice::None).await;
    billing.wait(STAKE_WAITING);
    billing.networks.fault("refuse").await;
    billing.round().await;
    assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Revoked);
    billing.wait(HOURS);
    billing
}

on_one! {
    async fn what_a_deposit_is_being_taken_for_is_not_collected_as_well(db: &TestDatabase) {
        let billing = in_debt(db, 800, 15).await;
        billing.wait(DAY * 15);
        billing.retry().await;
        let slash = billing.round_unsent().await;
        assert_eq!(slash.len(), 1);
        billing.networks.faucet().await;
        assert!(matches!(collect(&billing).await, Err(ManageError::PaymentInFlight)));
        payment::charge(&billing.ctx, &slash).await.expect("charges");
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert!(matches!(collect(&billing).await, Err(ManageError::NothingOwed)));
        assert_eq!((billing.networks.earned().await, billing.cash().await), (700, 700));
        billing.is_sound().await;
    }

    async fn a_deposit_that_is_said_to_move_and_that_nobody_moves_is_found(db: &TestDatabase) {
        let billing = in_debt(db, 800, 15).await;
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(700 * UNIT)), "owed").await.expect("is ordered");
        billing.is_sound().await;
        let mut session = billing.database().begin().await.expect("begins");
        let ended = "UPDATE attempts SET status = 'refused' WHERE purpose = 'slash'";
        assert_eq!(session.query(ended).execute().await.expect("is carried out"), 1);
        session.commit().await.expect("commits");
        let mut titles = Vec::new();
        verify(billing.database(), &mut |check| titles.extend((!check.breaches.is_empty()).then_some(check.title))).await.expect("reads");
        assert!(titles.contains(&"a stake on its way has an open attempt"), "{titles:?}");
    }

    async fn nothing_is_retried_while_a_deposit_is_taken_for_it(db: &TestDatabase) {
        let billing = in_debt(db, 800, 15).await;
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(700 * UNIT)), "owed").await.expect("is ordered");
        billing.networks.faucet().await;
        billing.wait(DAY);
        assert_eq!(billing.retry().await, 0);
        billing.send(&Purpose::Slash(sub())).await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        assert_eq!((billing.networks.earned().await, billing.cash().await), (700, 700));
        billing.is_sound().await;
    }

    async fn a_subscription_that_ends_while_its_deposit_is_being_taken_keeps_the_rest_of_it_for_its_time(db: &TestDatabase) {
        let billing = in_debt(db, 800, 15).await;
        billing.wait(DAY * 15);
        billing.retry().await;
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(750 * UNIT)), "owed").await.expect("is ordered");
        assert_eq!((billing.round().await, billing.find("sub_1").await.status), (1, SubscriptionStatus::PastDue), "it may be paid yet");
        end(&billing, "sub_1", StakeChoice::None).await;
        billing.send(&Purpose::Slash(sub())).await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!((billing.networks.staked("sub_1").await, billing.cash().await), ((50, 0), 750));
        billing.wait(STAKE_WAITING);
        assert_eq!((billing.round().await, billing.networks.staked("sub_1").await), (1, (0, 0)));
        billing.is_sound().await;
    }

    async fn a_charge_on_its_way_is_not_taken_from_the_deposit_and_the_deposit_waits_for_it(db: &TestDatabase) {
        let billing = in_debt(db, 800, 15).await;
        billing.networks.faucet().await;
        billing.wait(DAY);
        let retried = billing.retry_unsent().await;
        assert_eq!(retried.len(), 1);
        let ended = end(&billing, "sub_1", StakeChoice::Proration).await;
        assert_eq!(ended.stake.expect("a deposit").status, StakeStatus::Waiting);
        assert_eq!(billing.round().await, 1, "it is looked at from now on");
        assert_eq!(billing.networks.staked("sub_1").await, (800, 0));
        payment::charge(&billing.ctx, &retried).await.expect("charges");
        billing.wait(HOURS);
        assert_eq!(billing.round().await, 1);
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!((billing.networks.staked("sub_1").await, billing.networks.earned().await, billing.cash().await), ((0, 0), 700, 700));
        billing.is_sound().await;
    }

    async fn what_is_owed_is_taken_before_a_deposit_goes_back_whoever_ended_it(db: &TestDatabase) {
        let billing = in_debt(db, 800, 15).await;
        end(&billing, "sub_1", StakeChoice::None).await;
        billing.wait(STAKE_WAITING);
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.networks.staked("sub_1").await, billing.networks.earned().await), ((100, 0), 700));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!(billing.round().await, 1, "the rest is due at once");
        assert_eq!((billing.networks.staked("sub_1").await, billing.networks.balance().await), ((0, 0), 300));
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Returned);
        assert_eq!((billing.cash().await, billing.round().await), (700, 0));
        billing.is_sound().await;
    }

    async fn a_deposit_that_does_not_reach_settles_a_part_and_the_rest_is_asked_for(db: &TestDatabase) {
        let billing = in_debt(db, 400, 15).await;
        billing.wait(DAY * 15);
        billing.retry().await;
        billing.round().await;
        let [owed] = <[Invoice; 1]>::try_from(billing.invoices().await).expect("the same invoice");
        assert_eq!((owed.status, owed.amount_paid, owed.remaining()), (InvoiceStatus::Uncollectible, Amount::new(400 * UNIT), Amount::new(300 * UNIT)));
        assert_eq!((billing.paid_by(&owed).await, owed.retry_at), (vec![("stake", 400 * UNIT)], None));
        let [told] = <[Invoice; 1]>::try_from(billing.statements().await).expect("one statement");
        assert_eq!((told.reason, told.total, told.number), (BillingReason::SlashStake, Amount::new(400 * UNIT), Some(1)));
        billing.is_sound().await;
        billing.networks.faucet().await;
        assert_eq!(collect(&billing).await.expect("is paid"), 300);
        assert_eq!(billing.paid_by(&owed).await, [("stake", 400 * UNIT), ("network", 300 * UNIT)]);
        assert_eq!((billing.networks.earned().await, billing.cash().await), (700, 700));
        billing.is_sound().await;
    }

    async fn a_deposit_pays_the_oldest_debts_first_to_the_last_bit_of_it(db: &TestDatabase) {
        let billing = in_debt(db, 900, 60).await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible; 2]);
        billing.wait(DAY);
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(sub())).await;
        let left: Vec<_> = billing.invoices().await.iter().map(|one| (one.status, one.remaining().base_units() / UNIT)).collect();
        assert_eq!(left, [(InvoiceStatus::Paid, 0), (InvoiceStatus::Uncollectible, 500)]);
        let one = billing.find("sub_1").await;
        assert_eq!((one.status, one.stake.expect("a deposit").status), (SubscriptionStatus::PastDue, StakeStatus::Slashed));
        billing.networks.faucet().await;
        billing.wait(DAY * 3);
        assert_eq!(billing.retry().await, 1, "the schedule asks for the rest");
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        assert_eq!((billing.networks.earned().await, billing.cash().await), (1_400, 1_400));
        billing.is_sound().await;
    }

    async fn the_rest_of_an_older_invoice_does_not_keep_the_period_that_is_paid_from_being_refunded(db: &TestDatabase) {
        let billing = in_debt(db, 400, 60).await;
        billing.networks.faucet().await;
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible, InvoiceStatus::Paid]);
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(sub())).await;
        let oldest = billing.invoices().await.remove(0);
        assert_eq!((oldest.status, oldest.remaining()), (InvoiceStatus::Uncollectible, Amount::new(300 * UNIT)));
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunded().await, [700 * UNIT]);
        billing.is_sound().await;
    }

    async fn a_deposit_whose_return_was_refused_once_goes_back_at_another_try(db: &TestDatabase) {
        let billing = refused_once(db).await;
        billing::return_stake(&billing.ctx, &sub()).await.expect("is tried again");
        billing.send(&Purpose::ReturnStake(sub())).await;
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Returned);
        assert_eq!(billing.networks.balance().await, 1_000);
        assert!(matches!(billing::return_stake(&billing.ctx, &sub()).await, Err(ManageError::NoStake)));
        billing.is_sound().await;
    }

    async fn a_deposit_whose_return_was_refused_once_goes_back_by_itself(db: &TestDatabase) {
        let billing = refused_once(db).await;
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Waiting);
        assert_eq!((billing.round().await, billing.networks.balance().await), (1, 1_000));
        billing.wait(billing::STAKE_LOOK);
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 0);
        billing.is_sound().await;
    }

    async fn a_deposit_whose_taking_was_refused_once_secures_again(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY);
        one.stake = Some(billing.posted_stake(&one, 50).await);
        billing.insert(&one).await;
        billing.networks.fault("refuse").await;
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(sub())).await;
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Revoked);
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        let seen = billing.find("sub_1").await;
        assert_eq!((seen.stake.expect("a deposit").status, seen.cancel_at_period_end), (StakeStatus::Held, false));
        billing.is_sound().await;
    }

    async fn what_was_revoked_is_taken_by_hand_while_it_is_there(db: &TestDatabase) {
        let billing = revoked(db, 50, 50).await;
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(sub())).await;
        assert_eq!((billing.networks.staked("sub_1").await, billing.networks.earned().await), ((0, 0), 50));
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Slashed);
        billing.is_sound().await;
    }

    async fn what_is_taken_back_of_a_deposit_goes_back_at_the_end_as_far_as_it_is_there(db: &TestDatabase) {
        let billing = revoked(db, 50, 20).await;
        billing.wait(DAY * 30);
        billing.round().await;
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.stake.expect("a deposit").status), (SubscriptionStatus::Canceled, StakeStatus::Revoked));
        billing::follow_stakes(&billing.ctx, 9).await.expect("looks");
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Revoked);
        billing.wait(STAKE_WAITING);
        billing::follow_stakes(&billing.ctx, 9).await.expect("looks");
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.networks.staked("sub_1").await, billing.networks.balance().await), ((0, 20), 980));
        billing.is_sound().await;
    }

    async fn a_deposit_left_anew_that_arrives_after_the_end_goes_back_with_what_was_there(db: &TestDatabase) {
        let billing = revoked(db, 10, 4).await;
        let wallet = &billing.networks.wallet;
        let payer = Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() };
        let asked = billing::ask_to_restake(&billing.ctx, &sub(), StakeFor::Resuming, &payer, 5).await.expect("asks");
        assert_eq!(asked.amount, Amount::new(4 * UNIT));
        let signed = wallet.sign_stake(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount).expect("signs");
        billing.networks.fault("drop_request").await;
        billing::take_restake(&billing.ctx, &sub(), StakeFor::Resuming, &payer, (5, &signed)).await.expect("takes");
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
        assert_eq!(check_due(&billing.ctx, 9).await.expect("looks"), 1);
        let stake = billing.find("sub_1").await.stake.expect("a deposit");
        assert_eq!((stake.status, stake.amount), (StakeStatus::Waiting, Amount::new(10 * UNIT)));
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.networks.staked("sub_1").await, billing.networks.balance().await), ((0, 4), 996));
        billing.is_sound().await;
    }

    async fn an_end_for_which_a_deposit_that_somebody_moves_would_be_taken_comes_a_minute_later(db: &TestDatabase) {
        let billing = in_debt(db, 800, 15).await;
        let price = billing.price("price_2", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_2", &price, DAY * 20)).await;
        billing.wait(DAY * 15);
        billing.retry().await;
        let found = billing.find("sub_1").await;
        let moving = Attempt {
            purpose: Purpose::Slash(sub()),
            session_id: None,
            method_id: found.method_id,
            currency_id: found.currency_id,
            ..wallet_attempt("att_other", "pi_1", "0x0")
        };
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.attempts().insert(&moving, &[]).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert_eq!(billing.round().await, 2);
        let seen = billing.find("sub_1").await;
        assert_eq!((seen.status, seen.parked), (SubscriptionStatus::PastDue, None));
        assert_eq!(billing.find("sub_2").await.index, Some(1), "the others are not kept waiting");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.attempts().finish(&moving.id, AttemptStatus::Declined, None, billing.ctx.now()).await.expect("finishes");
        unit.commit().await.expect("commits");
        assert_eq!(billing.round().await, 0);
        billing.wait(Duration::from_secs(60));
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.find("sub_1").await.status, billing.networks.earned().await), (SubscriptionStatus::Canceled, 705));
    }

    async fn a_deposit_secures_all_that_was_bought_with_it(db: &TestDatabase) {
        let billing = two_of_one_order(db).await;
        let second = billing.find("sub_2").await;
        billing.insert_invoice(&billing.debt("in_1", &second, 1, Amount::new(30 * UNIT))).await;
        end(&billing, "sub_2", StakeChoice::None).await;
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        billing.send(&Purpose::Slash(sub())).await;
        assert_eq!((billing.networks.earned().await, billing.networks.staked("sub_1").await), (30, (20, 0)));
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        let first = billing.find("sub_1").await;
        assert_eq!((first.status, first.stake.expect("a deposit").status), (SubscriptionStatus::Active, StakeStatus::Held));
        billing.is_sound().await;
    }

    async fn a_deposit_stays_until_the_last_of_what_was_bought_with_it_has_ended(db: &TestDatabase) {
        let billing = two_of_one_order(db).await;
        end(&billing, "sub_1", StakeChoice::Proration).await;
        assert_eq!(billing.round().await, 1);
        billing.wait(STAKE_WAITING);
        assert_eq!((billing.round().await, billing.networks.staked("sub_1").await), (1, (50, 0)));
        end(&billing, "sub_2", StakeChoice::None).await;
        billing.wait(HOURS);
        assert_eq!((billing.round().await, billing.networks.staked("sub_1").await), (1, (0, 0)));
        billing.is_sound().await;
    }

    async fn a_deposit_that_is_gone_cannot_be_moved(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let stake = billing.stake_as(1, StakeStatus::Revoked);
        billing.insert(&Subscription { stake: Some(stake), ..billing.subscription("sub_1", &price, DAY) }).await;
        assert!(matches!(billing::slash_stake(&billing.ctx, &sub(), None, "owed").await, Err(ManageError::NoStake)));
        end(&billing, "sub_1", StakeChoice::None).await;
        assert!(matches!(billing::return_stake(&billing.ctx, &sub()).await, Err(ManageError::NoStake)));
    }

    async fn a_deposit_is_looked_for_and_taken_where_it_was_left_whoever_is_charged_since(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY);
        one.stake = Some(billing.posted_stake(&one, 50).await);
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let first = unit.mandates().find(&id("man_1")).await.expect("reads").expect("stands");
        let payer = TestWallet::from_seed(&[77; 32]).did().clone();
        let grant = Some(MandateDetails::Delegation { payer, limits: Vec::new(), reference: String::new() });
        unit.mandates().put(&Mandate { id: id("man_2"), grant, ..first }).await.expect("writes");
        unit.commit().await.expect("commits");
        billing.insert(&Subscription { mandate_id: Some(id("man_2")), ..one }).await;
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        let seen = billing.find("sub_1").await;
        assert_eq!((seen.cancel_at_period_end, seen.stake.expect("a deposit").status), (false, StakeStatus::Held));
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(20 * UNIT)), "owed").await.expect("is ordered");
        billing.send(&Purpose::Slash(sub())).await;
        assert_eq!((billing.networks.staked("sub_1").await, billing.networks.earned().await), ((30, 0), 20));
        billing.is_sound().await;
    }

    async fn what_is_left_of_a_deposit_at_a_network_that_was_left_meanwhile_goes_back(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut one = billing.subscription("sub_1", &price, DAY);
        one.stake = Some(billing.posted_stake(&one, 50).await);
        billing.insert(&one).await;
        billing::slash_stake(&billing.ctx, &sub(), Some(Amount::new(20 * UNIT)), "owed").await.expect("is ordered");
        // A permission at another network was on its way, and settles first.
        leave_network(&billing).await;
        billing.send(&Purpose::Slash(sub())).await;
        let returning = billing.find("sub_1").await.stake.expect("a deposit");
        assert_eq!((returning.status, returning.amount), (StakeStatus::Returning, Amount::new(30 * UNIT)));
        billing.send(&Purpose::ReturnStake(sub())).await;
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Returned);
        assert_eq!((billing.networks.staked("sub_1").await, billing.networks.balance().await), ((0, 0), 980));
        billing.is_sound().await;
    }

    async fn who_left_the_network_of_a_deposit_needs_none_to_go_on(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        for (name, status, needs_stake) in
            [("sub_1", StakeStatus::Returned, false), ("sub_2", StakeStatus::Returning, false), ("sub_3", StakeStatus::Revoked, true)]
        {
            let one = Subscription { stake: Some(billing.stake_as(1, status)), cancel_at_period_end: true, ..billing.subscription(name, &price, DAY) };
            billing.insert(&one).await;
            assert_eq!(billing::recovery(&billing.ctx, Requester::Customer, &one.id).await.expect("may go on").needs_stake, needs_stake, "{status:?}");
        }
    }

    async fn a_deposit_that_another_wallets_takes_the_place_of_is_remembered_and_goes_back(db: &TestDatabase) {
        let billing = revoked(db, 50, 20).await;
        let other = TestWallet::from_seed(&[77; 32]);
        let left = restaked_by(&billing, &other, 50).await;
        assert_eq!((&left.payer, left.amount, left.status), (other.did(), Amount::new(50 * UNIT), StakeStatus::Held));
        let before = &left.earlier[0];
        assert_eq!((&before.payer, before.amount, before.status), (billing.networks.wallet.did(), Amount::new(50 * UNIT), StakeStatus::Waiting));
        assert!(!billing.find("sub_1").await.cancel_at_period_end, "it goes on");
        let own = Wallet { did: billing.networks.wallet.did().clone(), public_key: billing.networks.wallet.public_key_base58() };
        let both = billing::ask_to_restake(&billing.ctx, &sub(), StakeFor::ChangedPayment, &own, 9).await;
        assert!(matches!(both, Err(ManageError::PaymentInFlight)), "at the network both would be one: {}", both.is_ok());
        billing.wait(billing::STAKE_LOOK);
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        // The network refuses: it is tried again later and later.
        for hours in [6, 12] {
            billing.networks.fault("refuse").await;
            billing.send(&Purpose::ReturnStake(sub())).await;
            assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").earlier[0].status, StakeStatus::Waiting);
            for is_tried in [false, true] {
                billing.wait(Duration::from_secs(hours * 3_600 - 60) / 2 + Duration::from_secs(60) * u32::from(is_tried));
                assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
                let open = begin(billing.database()).await.attempts().open_of(&Purpose::ReturnStake(sub())).await.expect("reads");
                assert_eq!(open.is_some(), is_tried, "{hours} hours");
            }
        }
        billing.send(&Purpose::ReturnStake(sub())).await;
        let stake = billing.find("sub_1").await.stake.expect("a deposit");
        assert_eq!((stake.status, stake.amount), (StakeStatus::Held, Amount::new(50 * UNIT)));
        assert_eq!((stake.earlier[0].status, stake.earlier[0].amount), (StakeStatus::Returned, Amount::new(30 * UNIT)));
        assert_eq!(billing.networks.staked("sub_1").await, (0, 20));
        billing.is_sound().await;
    }

    async fn an_earlier_deposit_goes_back_though_the_subscription_has_ended_and_its_deposit_waits(db: &TestDatabase) {
        let billing = revoked(db, 50, 20).await;
        restaked_by(&billing, &TestWallet::from_seed(&[77; 32]), 50).await;
        end(&billing, "sub_1", StakeChoice::None).await;
        billing.wait(billing::STAKE_LOOK);
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        billing.send(&Purpose::ReturnStake(sub())).await;
        let stake = billing.find("sub_1").await.stake.expect("a deposit");
        assert_eq!((stake.status, stake.earlier[0].status), (StakeStatus::Waiting, StakeStatus::Returned));
        billing.wait(billing::STAKE_LOOK);
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 0, "nothing is left to look for");
        billing.wait(STAKE_WAITING);
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").status, StakeStatus::Returned);
        billing.is_sound().await;
    }

    async fn an_earlier_deposit_of_which_nothing_is_left_is_looked_for_once(db: &TestDatabase) {
        let billing = revoked(db, 50, 50).await;
        restaked_by(&billing, &TestWallet::from_seed(&[77; 32]), 50).await;
        billing.wait(billing::STAKE_LOOK);
        assert_eq!(billing::follow_stakes(&billing.ctx, 9).await.expect("looks"), 1);
        assert_eq!(billing.find("sub_1").await.stake.expect("a deposit").earlier[0].status, StakeStatus::Revoked);
    }

    async fn what_was_settled_meanwhile_is_not_paid_again(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2"]).await;
        for round in 0..20 {
            let (bill, paying) = (format!("in_{round}"), format!("att_{round}"));
            let mut unit = begin(db).await;
            let number = unit.invoices().take_numbers(Mode::Test, DocumentType::Invoice, 1).await.expect("a number");
            let owed = Invoice { number: Some(number), status: InvoiceStatus::Uncollectible, ..invoice(&bill) };
            let line = invoice_item(&format!("ii_{round}"), &bill);
            unit.invoices().insert_final_all(&[(owed.clone(), vec![line])]).await.expect("inserts");
            unit.attempts().insert(&card_attempt(&paying, "pi_1"), &planned(&owed)).await.expect("inserts");
            unit.commit().await.expect("commits");
            let raced = all_at_once(db, 2, move |db, which| {
                let (owed, paying) = (owed.clone(), paying.clone());
                async move {
                    let mut unit = begin(&db).await;
                    if which == 0 {
                        unit.attempts().finish(&id(&paying), AttemptStatus::Settled, None, at(1)).await.expect("finishes");
                        let paid = owed.with_amounts(owed.total, Amount::ZERO, at(1)).expect("is paid");
                        assert!(unit.invoices().update(&owed, &paid).await.expect("pays"));
                        unit.commit().await.expect("commits");
                        return true;
                    }
                    let again = Attempt { purpose: Purpose::Payment(id("pi_2")), ..card_attempt(&format!("{paying}b"), "pi_2") };
                    let answer = unit.attempts().insert(&again, &planned(&owed)).await;
                    assert!(matches!(answer, Err(StorageError::Duplicate(_))), "{answer:?}");
                    true
                }
            });
            assert_eq!(raced.await, [true, true]);
        }
    }
}

on_both! {
    async fn an_attempt_knows_what_it_pays_and_a_subscription_what_it_owes(db: &TestDatabase) {
        let billing = in_debt(db, 800, 15).await;
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let owed = unit.invoices().unpaid_of(&sub()).await.expect("reads");
        assert_eq!(owed.iter().map(|one| one.status).collect::<Vec<_>>(), [InvoiceStatus::Uncollectible]);
        assert_eq!(unit.invoices().unpaid_of(&id("sub_2")).await.expect("reads"), []);
        let cycle = unit.invoices().last_start(&sub(), BillingReason::SubscriptionCycle).await.expect("reads");
        assert_eq!(cycle, owed[0].period.map(|period| period.start));
        assert_eq!(unit.invoices().last_start(&sub(), BillingReason::SubscriptionUpdate).await.expect("reads"), None);
        drop(unit);
        billing::slash_stake(&billing.ctx, &sub(), None, "owed").await.expect("is ordered");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let slash = unit.attempts().open_of(&Purpose::Slash(sub())).await.expect("reads").expect("stands");
        assert_eq!(unit.attempts().planned_by(&slash.id).await.expect("reads"), planned(&owed[0]), "700 of the 800");
    }
}

impl Billing {
    /// A deposit as a checkout leaves it: made, settled, and posted.
    pub async fn posted_stake(&self, subscription: &Subscription, tokens: u128) -> Stake {
        let stake = self.stake(subscription, tokens).await;
        let (method_id, currency_id) = (subscription.method_id.clone(), subscription.currency_id.clone());
        let payer = self.networks.wallet.did().clone();
        let attempt = Attempt {
            purpose: Purpose::Stake(subscription.id.clone()),
            session_id: None,
            method_id,
            currency_id,
            amount: stake.amount,
            status: AttemptStatus::Settled,
            kind: AttemptKind::Wallet { payer, bytes: vec![1], hash: stake.reference.clone() },
            ..card_attempt("att_stake", "pi_1")
        };
        let mut unit = self.ctx.store.begin().await.expect("begins");
        unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        let held = Posting::debit(Account::stakes_held(&attempt.method_id), stake.amount, &attempt.currency_id);
        let owed = Posting::credit(Account::StakesPayable, stake.amount, &attempt.currency_id);
        let entry = Entry::new(id("je_stake"), Mode::Test, EntryType::StakePlaced, attempt.id.as_str(), self.start, vec![held, owed]);
        unit.journal().post(&entry.expect("balances")).await.expect("posts");
        unit.commit().await.expect("commits");
        stake
    }
}
