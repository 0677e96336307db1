//! Journal entries and statements of transactions of stakes.

use super::Stake;
use crate::billing::statement::{Statement, StatementOwner, record_statement};
use crate::billing::{BillingError, BillingReason, PricingFormula};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Attempt, Description};
use crate::shared::{Amount, EntryId, Timestamp};
use crate::storage::UnitOfWork;

impl Stake {
    /// What the statement of a payment into it says.
    pub(super) const fn payment_description(&self) -> Description {
        match self.subject.subscription() {
            Some(_) => Description::Deposit,
            None => Description::DeveloperDeposit,
        }
    }

    /// What the statement of its return says.
    pub(super) const fn return_description(&self) -> Description {
        match self.subject.subscription() {
            Some(_) => Description::DepositReturned,
            None => Description::DeveloperDepositReturned,
        }
    }
}

/// Posts a payment into a stake or a return. A forfeit is posted by [`settle`].
pub(crate) async fn post_stake(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    stake: &Stake,
    kind: EntryType,
    now: Timestamp,
) -> Result<(), BillingError> {
    let movement = Movement { kind, subject: attempt.id.as_str(), amount: attempt.amount };
    post_movement(ctx, unit, stake, &movement, now).await
}

/// Posts an amount that a payer claimed back at the network. `stake` is the state before it.
pub(super) async fn post_claim(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    amount: Amount,
    now: Timestamp,
) -> Result<(), BillingError> {
    // A payer can claim several parts, each with its own journal entry.
    let subject = format!("{}:{}", stake.id, stake.amount_returned.plus(amount)?);
    post_movement(ctx, unit, stake, &Movement { kind: EntryType::StakeClaimed, subject: &subject, amount }, now).await
}

/// Money that moves into or out of a stake.
struct Movement<'a> {
    kind: EntryType,
    /// The subject of the journal entry.
    subject: &'a str,
    amount: Amount,
}

async fn post_movement(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    movement: &Movement<'_>,
    now: Timestamp,
) -> Result<(), BillingError> {
    let Movement { kind, subject, amount } = *movement;
    let (held, payable) = (Account::stakes_held(&stake.method_id), Account::StakesPayable);
    let (debit, credit) = if kind == EntryType::StakePlaced { (held, payable) } else { (payable, held) };
    let postings = vec![Posting::debit(debit, amount, &stake.currency_id), Posting::credit(credit, amount, &stake.currency_id)];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    unit.journal().post(&Entry::new(id, stake.mode, kind, subject, now, postings)?).await?;
    Ok(())
}

/// Documents a transaction of a stake for its payer, and for the subscription that it was placed for. A checkout that was never completed
/// has no subscription and gets no statement.
pub(crate) async fn record_stake_statement(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    statement: Statement<'_>,
    now: Timestamp,
) -> Result<(), BillingError> {
    let Some(subject) = stake.subject.subscription() else {
        let owner = StatementOwner {
            mode: stake.mode,
            customer_id: &stake.customer_id,
            subscription_id: None,
            clock_id: None,
            method_id: &stake.method_id,
            currency_id: &stake.currency_id,
        };
        return record_statement(ctx, unit, owner, statement, now).await;
    };
    let Some(subscription) = unit.subscriptions().find(subject).await? else { return Ok(()) };
    // The subscription's method may have changed meanwhile.
    let owner = StatementOwner { method_id: &stake.method_id, currency_id: &stake.currency_id, ..StatementOwner::from(&subscription) };
    record_statement(ctx, unit, owner, statement, now).await
}

/// Documents the payment into the stake of a checkout that has completed.
pub(crate) async fn record_placement(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    stake: &Stake,
    pricing_formula: PricingFormula,
    now: Timestamp,
) -> Result<(), BillingError> {
    let reference = stake.reference.clone().unwrap_or_default();
    let description = stake.payment_description();
    let statement = Statement { reason: BillingReason::Stake, description, reference: &reference, pricing_formula };
    record_stake_statement(ctx, unit, stake, statement, now).await
}
