//! Handlers for the outcomes of attempts that pay into a stake or move a part of it.

use super::overdraft::{charge_fee, reschedule_overdraft};
use super::plan_deposit::deposit_declined;
use super::posting::{post_stake, record_stake_statement};
use super::settle_placement::placed;
use super::{Stake, StakePurpose};
use crate::billing::balance::apply_after_decline;
use crate::billing::clock::time_of_customer;
use crate::billing::invoice::{ChangedInvoice, Receipt, settle};
use crate::billing::recovery::recovered;
use crate::billing::statement::Statement;
use crate::billing::{BillingError, BillingReason, PricingFormula};
use crate::context::Context;
use crate::ledger::EntryType;
use crate::payment::{Attempt, Decline, Description, Purpose, PurposeHandler, Settlement, SettlementError};
use crate::shared::{Amount, AmountError, AttemptId, StakeId};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::BTreeSet;

/// Handles payments of customers into a stake, outside a checkout.
#[derive(Debug, Clone, Copy)]
pub struct StakePlacement;

#[async_trait]
impl PurposeHandler for StakePlacement {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Stake(stake) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        placed(ctx, unit, attempt, stake, &settlement.reference).await?;
        Ok(Vec::new())
    }

    /// The payer's wallet shows the decline. A plan change that needs the payment is given up.
    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        Ok(deposit_declined(ctx, unit, attempt, decline).await?)
    }
}

/// Handles returns of stakes to their payers.
#[derive(Debug, Clone, Copy)]
pub struct StakeReturn;

#[async_trait]
impl PurposeHandler for StakeReturn {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::ReturnStake(stake) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        returned(ctx, unit, attempt, stake, &settlement.reference).await?;
        Ok(Vec::new())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::ReturnStake(stake) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        declined(ctx, unit, attempt, stake, decline).await?;
        Ok(())
    }
}

/// Handles forfeits of stakes to the store.
#[derive(Debug, Clone, Copy)]
pub struct StakeForfeit;

#[async_trait]
impl PurposeHandler for StakeForfeit {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let Purpose::Slash(stake) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(forfeited(ctx, unit, attempt, stake, &settlement.reference, Amount::ZERO).await?.into_iter().collect())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Slash(stake) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        let stake = unit.stakes().find(stake).await?.ok_or(SettlementError::Orphan)?;
        if stake.purpose == StakePurpose::Overdraft {
            // The subscription is locked before its stake.
            reschedule_overdraft(ctx, unit, &stake).await?;
        }
        declined(ctx, unit, attempt, &stake.id, decline).await?;
        Ok(())
    }
}

/// Applies a settled return.
async fn returned(ctx: &Context, unit: &mut dyn UnitOfWork, attempt: &Attempt, id: &StakeId, reference: &str) -> Result<(), BillingError> {
    let before = unit.stakes().lock(id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &before.customer_id).await?;
    let after = Stake { return_reference: Some(reference.to_owned()), ..before.moved(&attempt.id, attempt.amount, now)? };
    if !unit.stakes().update(&before, &after).await? {
        return Err(BillingError::Contended);
    }
    post_stake(ctx, unit, attempt, &before, EntryType::StakeReturned, now).await?;
    let pricing_formula = PricingFormula::Flat { amount: attempt.amount };
    let description = before.return_description();
    let statement = Statement { reason: BillingReason::ReturnStake, description, reference, pricing_formula };
    record_stake_statement(ctx, unit, &before, statement, now).await
}

/// Applies a settled forfeit to the planned invoices, and charges the fee of an overdraft. `to_balance`: the part that was not ordered and
/// goes to the customer's balance. Returns the attempt that pays the fee.
pub(super) async fn forfeited(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &StakeId,
    reference: &str,
    to_balance: Amount,
) -> Result<Option<AttemptId>, BillingError> {
    let planned = unit.attempts().planned_by(&attempt.id).await?;
    let ids: Vec<_> = planned.iter().map(|planned| planned.invoice_id.clone()).collect();
    let invoices = unit.invoices().find_all(&ids).await?;
    // Lock order: subscriptions, stake, invoices.
    let subscriptions: BTreeSet<_> = invoices.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    unit.subscriptions().lock_all(&subscriptions.into_iter().collect::<Vec<_>>()).await?;
    let before = unit.stakes().lock(id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &before.customer_id).await?;
    let after = before.moved(&attempt.id, attempt.amount, now)?;
    if !unit.stakes().update(&before, &after).await? {
        return Err(BillingError::Contended);
    }
    let receipt = Receipt { mode: before.mode, customer_id: &before.customer_id, attempt, intent: None, to_balance, at: now };
    let settled = settle(ctx, unit, &[receipt]).await?;
    let pricing_formula = PricingFormula::Flat { amount: attempt.amount };
    let statement = Statement { reason: BillingReason::SlashStake, description: Description::DepositForfeited, reference, pricing_formula };
    record_stake_statement(ctx, unit, &before, statement, now).await?;
    // The fee is the price of a running subscription's protection.
    let paid = if before.is_held() { overdraft_paid(&after, &settled)? } else { Amount::ZERO };
    recovered(ctx, unit, &settled).await?;
    if paid.is_zero() { Ok(None) } else { charge_fee(ctx, unit, &after, paid, now).await }
}

/// The amount that an overdraft stake paid of invoices other than its own fees.
fn overdraft_paid(stake: &Stake, settled: &[ChangedInvoice]) -> Result<Amount, AmountError> {
    if stake.purpose != StakePurpose::Overdraft {
        return Ok(Amount::ZERO);
    }
    let charged = settled.iter().filter(|one| one.before.reason != BillingReason::OverdraftProtection);
    let paid: Vec<_> = charged.map(|one| one.after.amount_paid.minus(one.before.amount_paid)).collect::<Result<_, _>>()?;
    Amount::sum(paid)
}

/// Records that the network declined to move the stake; it is retried later.
async fn declined(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    id: &StakeId,
    decline: &Decline,
) -> Result<(), BillingError> {
    let before = unit.stakes().lock(id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &before.customer_id).await?;
    apply_after_decline(ctx, unit, &before.customer_id, &before.currency_id).await?;
    match unit.stakes().update(&before, &before.declined(&attempt.id, decline, now)?).await? {
        true => Ok(()),
        false => Err(BillingError::Contended),
    }
}
