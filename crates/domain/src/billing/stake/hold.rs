//! Transfers of stakes on hold: the network moved a different amount into or out of a deposit than requested.

use super::plan_deposit::deposit_declined;
use super::posting::{post_stake, record_stake_statement};
use super::settlement::forfeited;
use super::transfer::{StakeTransfer, transfer};
use super::{ReleaseReason, Stake, StakeError, StakeStatus};
use crate::billing::clock::time_of_customer;
use crate::billing::statement::Statement;
use crate::billing::{BillingError, BillingReason, PricingFormula};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Attempt, Decline, PlannedPayment, Purpose, SettledHold};
use crate::shared::{Amount, AttemptId, EntryId, StakeId, Timestamp};
use crate::storage::UnitOfWork;

impl Stake {
    /// Returns the stake after a payment into it that is returned to its payer: what was requested and held before stays so. A deposit for
    /// something other than a subscription that is held in part is returned with it: it secures nothing, and must not count as complete.
    ///
    /// # Errors
    /// [`StakeError::Amount`] when the sum is out of range.
    pub(super) fn placed_to_return(&self, amount: Amount, reference: &str, now: Timestamp) -> Result<Self, StakeError> {
        let placed = Self {
            amount: self.amount.plus(amount)?,
            return_at: Some(self.return_at.map_or(now, |at| at.min(now))),
            reference: Some(reference.to_owned()),
            updated_at: now,
            ..self.clone()
        };
        Ok(match self.status {
            StakeStatus::Held if self.subject.subscription().is_none() && !self.is_complete() => {
                placed.released(ReleaseReason::ReturnedByStore, now, now)
            }
            // What exceeds the requested amount is returned.
            StakeStatus::Held => Self { amount_requested: self.settled_request(), ..placed },
            // Its release goes on, now with this amount.
            StakeStatus::Releasing => placed,
            StakeStatus::Pending | StakeStatus::Final => {
                Self { status: StakeStatus::Held, ..placed }.released(ReleaseReason::ReturnedByStore, now, now)
            }
        })
    }
}

/// Records a payment into a stake that is returned to its payer, outside a checkout. A plan change that needs the payment is given up.
pub(in crate::billing) async fn return_placement(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    hold: &SettledHold,
    id: &StakeId,
    error: &Decline,
) -> Result<(), BillingError> {
    let SettledHold { attempt, settlement } = hold;
    // Lock order: subscriptions, stake.
    deposit_declined(ctx, unit, attempt, error).await?;
    let before = unit.stakes().lock(id).await?.ok_or(BillingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &before.customer_id).await?;
    let after = before.placed_to_return(attempt.amount, &settlement.reference, now)?;
    if !unit.stakes().update(&before, &after).await? {
        return Err(BillingError::Contended);
    }
    post_stake(ctx, unit, attempt, &after, EntryType::StakePlaced, now).await?;
    let pricing_formula = PricingFormula::Flat { amount: attempt.amount };
    let reference = &settlement.reference;
    let description = after.payment_description();
    let statement = Statement { reason: BillingReason::Stake, description, reference, pricing_formula };
    record_stake_statement(ctx, unit, &after, statement, now).await
}

/// The amount that can be taken out of a stake by our records: the network cannot have moved more of it, so more is not recorded as moved.
pub(in crate::billing) async fn recorded_amount(unit: &mut dyn UnitOfWork, id: &StakeId) -> Result<Amount, BillingError> {
    Ok(unit.stakes().find(id).await?.ok_or(BillingError::Orphan)?.remaining())
}

/// What a forfeit on hold has brought, and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::billing) struct HeldForfeit {
    /// The part of its amount that was not ordered and goes to the customer's balance. Zero: it is revenue.
    pub to_balance: Amount,
    /// What it brought beyond the recorded deposit. It goes to suspense.
    pub excess: Amount,
}

/// Applies a forfeit whose hold has ended. Returns the attempts that must be sent after the commit.
pub(in crate::billing) async fn apply_held_forfeit(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    hold: &SettledHold,
    id: &StakeId,
    HeldForfeit { to_balance, excess }: HeldForfeit,
) -> Result<Vec<AttemptId>, BillingError> {
    let SettledHold { attempt, settlement } = hold;
    let fee = forfeited(ctx, unit, attempt, id, &settlement.reference, to_balance).await?;
    if !excess.is_zero() {
        let stake = unit.stakes().find(id).await?.ok_or(BillingError::Orphan)?;
        let now = time_of_customer(ctx, unit, &stake.customer_id).await?;
        let postings = vec![
            Posting::debit(Account::cash(&attempt.method_id), excess, &attempt.currency_id),
            Posting::credit(Account::Suspense, excess, &attempt.currency_id),
        ];
        let entry = EntryId::new(ctx.now(), ctx.random.as_ref());
        let entry = Entry::new(entry, stake.mode, EntryType::SuspenseReceived, attempt.id.as_str(), now, postings)?;
        unit.journal().post(&entry).await?;
    }
    Ok(fee.into_iter().collect())
}

/// Orders the part of a return or a forfeit that was not moved once more. The invoices of the forfeit are paid as far as they remain.
/// `None`: nothing is left to move.
pub(in crate::billing) async fn transfer_rest(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    attempt: &Attempt,
    rest: Amount,
) -> Result<Option<AttemptId>, BillingError> {
    let (Purpose::ReturnStake(id) | Purpose::Slash(id)) = &attempt.purpose else { return Ok(None) };
    let stake = unit.stakes().lock(id).await?.ok_or(BillingError::Orphan)?;
    // The fee of an overdraft is collected first.
    if stake.reservation.is_some() {
        return Ok(None);
    }
    let now = time_of_customer(ctx, unit, &stake.customer_id).await?;
    let amount = rest.min(stake.available());
    let order = match &attempt.purpose {
        Purpose::Slash(_) => StakeTransfer::paying(amount, unpaid_of(unit, &attempt.id, amount).await?),
        _ => StakeTransfer::returning(amount),
    };
    transfer(ctx, unit, &stake, order, now).await
}

/// What is still unpaid of the invoices of a forfeit, oldest first, at most `limit` in sum. Invoices that another attempt pays are left out.
async fn unpaid_of(unit: &mut dyn UnitOfWork, attempt: &AttemptId, limit: Amount) -> Result<Vec<PlannedPayment>, BillingError> {
    let ids: Vec<_> = unit.attempts().planned_by(attempt).await?.into_iter().map(|planned| planned.invoice_id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let invoices = unit.invoices().lock_all(&ids).await?;
    let in_flight = unit.attempts().in_flight(&ids).await?;
    let (mut unallocated, mut planned) = (limit, Vec::new());
    for invoice in invoices.iter().filter(|invoice| invoice.status.is_payable() && !in_flight.contains(&invoice.id)) {
        let amount = unallocated.min(invoice.remaining());
        if !amount.is_zero() {
            unallocated = unallocated.minus(amount)?;
            planned.push(PlannedPayment { invoice_id: invoice.id.clone(), amount });
        }
    }
    Ok(planned)
}

#[cfg(test)]
mod tests {
    use super::super::entity::tests::{at, held};
    use super::super::{StakePurpose, StakeSubject};
    use super::*;
    use crate::access::Did;

    #[test]
    fn a_part_of_a_developers_deposit_is_returned_with_a_payment_that_is_returned() {
        let of_app = |amount| Stake {
            purpose: StakePurpose::Publication,
            subject: StakeSubject::App(Did::from_verified("z1app")),
            amount_requested: Amount::new(100),
            ..held(amount)
        };
        let after = of_app(40).placed_to_return(Amount::new(70), "B", at(5)).expect("in range");
        assert_eq!((after.status, after.release_reason), (StakeStatus::Releasing, Some(ReleaseReason::ReturnedByStore)));
        assert_eq!((after.remaining(), after.return_at, after.is_complete()), (Amount::new(110), Some(at(5)), false));

        let after = of_app(100).placed_to_return(Amount::new(70), "B", at(5)).expect("in range");
        assert_eq!((after.is_complete(), after.amount_requested, after.return_at), (true, Amount::new(100), Some(at(5))));
        assert_eq!(after.excess(Amount::new(170)), Amount::new(70));
    }

    #[test]
    fn a_payment_that_is_returned_leaves_the_deposit_as_it_was() {
        let asked = Stake { amount_requested: Amount::new(150), ..held(100) };
        let after = asked.placed_to_return(Amount::new(70), "B", at(5)).expect("in range");
        assert_eq!((after.status, after.remaining(), after.return_at), (StakeStatus::Held, Amount::new(170), Some(at(5))));
        assert_eq!(after.excess(Amount::new(170)), Amount::new(70), "the batch of due stakes returns it");

        let pending = Stake { status: StakeStatus::Pending, amount: Amount::ZERO, ..held(100) };
        let after = pending.placed_to_return(Amount::new(70), "B", at(5)).expect("in range");
        assert_eq!((after.status, after.release_reason), (StakeStatus::Releasing, Some(ReleaseReason::ReturnedByStore)));
        assert_eq!((after.remaining(), after.return_at), (Amount::new(70), Some(at(5))));

        let revoked = held(100).revoked(at(1));
        let after = revoked.placed_to_return(Amount::new(70), "B", at(5)).expect("in range");
        assert_eq!(
            (after.release_reason, after.remaining(), after.return_at),
            (Some(ReleaseReason::Revoked), Amount::new(170), Some(at(5)))
        );
    }
}
