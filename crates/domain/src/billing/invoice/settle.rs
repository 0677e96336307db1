//! Settling: money that a network moved, a forfeited stake, or the customer's balance pays invoices.

use super::finalize::pay_from_balance;
use super::{Invoice, InvoicePayment, PaymentSource};
use crate::billing::BillingError;
use crate::billing::balance::{BalanceChange, BalanceTransactionType, change_balance};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Attempt, Currency, PlannedPayment};
use crate::shared::{Amount, AmountError, CustomerId, EntryId, InvoicePaymentId, Mode, PaymentIntentId, Timestamp};
use crate::storage::UnitOfWork;

/// Money that has settled and pays invoices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt<'a> {
    pub mode: Mode,
    pub customer_id: &'a CustomerId,
    pub attempt: &'a Attempt,
    /// `None`: the attempt forfeited a stake.
    pub intent: Option<&'a PaymentIntentId>,
    pub at: Timestamp,
}

/// An invoice before and after a payment.
#[derive(Debug, Clone)]
pub(crate) struct PaidInvoice {
    pub before: Invoice,
    pub after: Invoice,
}

/// What one receipt pays.
#[derive(Debug, PartialEq, Eq)]
struct Allocation {
    /// For each invoice, in the order in which they were planned.
    paid: Vec<Amount>,
    /// What was planned for invoices and does not remain there any more.
    overpaid: Amount,
    /// What was not planned for any invoice.
    unplanned: Amount,
}

/// Each invoice takes what was planned, and no more than remains.
fn allocate(amount: Amount, invoices: &[(Amount, Amount)]) -> Result<Allocation, AmountError> {
    let mut left = amount;
    let (mut paid, mut overpaid) = (Vec::with_capacity(invoices.len()), Amount::ZERO);
    for (planned, remaining) in invoices {
        let planned = (*planned).min(left);
        left = left.minus(planned)?;
        let part = planned.min(*remaining);
        overpaid = overpaid.plus(planned.minus(part)?)?;
        paid.push(part);
    }
    Ok(Allocation { paid, overpaid, unplanned: left })
}

/// Applies a receipt to the invoices that its attempt planned for, oldest first. What they do not take any more goes to the balance. What
/// a forfeit took beyond the invoices is revenue. Answers the invoices, locked; one of [`PaidInvoice::before`] may be unchanged.
///
/// # Errors
/// [`BillingError::Contended`] when a row changed since it was read.
pub(crate) async fn settle(ctx: &Context, unit: &mut dyn UnitOfWork, receipt: &Receipt<'_>) -> Result<Vec<PaidInvoice>, BillingError> {
    let Receipt { attempt, at, .. } = *receipt;
    let planned = unit.attempts().planned_by(&attempt.id).await?;
    let ids: Vec<_> = planned.iter().map(|planned| planned.invoice_id.clone()).collect();
    let locked = if ids.is_empty() { Vec::new() } else { unit.invoices().lock_all(&ids).await? };
    let amount_of = |invoice: &Invoice| planned.iter().find(|one| one.invoice_id == invoice.id).map_or(Amount::ZERO, |one| one.amount);
    let asked: Vec<_> = locked.iter().map(|invoice| (amount_of(invoice), payable(invoice))).collect();
    let Allocation { paid, overpaid, unplanned } = allocate(attempt.amount, &asked)?;
    let (overpaid, unplanned) = match receipt.intent {
        // A network payment that no invoice asked for belongs to the customer.
        Some(_) => (overpaid.plus(unplanned)?, Amount::ZERO),
        None => (overpaid, unplanned),
    };
    let mut payments = Vec::with_capacity(locked.len());
    let mut settled = Vec::with_capacity(locked.len());
    for (before, amount) in locked.into_iter().zip(paid) {
        if amount.is_zero() {
            settled.push(PaidInvoice { after: before.clone(), before });
            continue;
        }
        let source = match receipt.intent {
            Some(intent) => PaymentSource::Network { attempt: attempt.id.clone(), intent: intent.clone() },
            None => PaymentSource::Stake(attempt.id.clone()),
        };
        let id = InvoicePaymentId::new(ctx.now(), ctx.random.as_ref());
        payments.push(InvoicePayment::new(id, before.id.clone(), source, amount, at));
        let after = before.with_amounts(before.amount_paid.plus(amount)?, before.amount_credited, at)?;
        let intent_id = receipt.intent.cloned().or(after.intent_id);
        settled.push(PaidInvoice { after: Invoice { intent_id, ..after }, before });
    }
    let changes: Vec<_> = settled.iter().map(|one| (one.before.clone(), one.after.clone())).filter(|(a, b)| a != b).collect();
    if !changes.is_empty() && !unit.invoices().update_all(&changes).await? {
        return Err(BillingError::Contended);
    }
    if !payments.is_empty() {
        unit.invoice_payments().insert_all(&payments).await?;
    }
    let paid = Amount::sum(payments.iter().map(|payment| payment.amount))?;
    post_receipt(ctx, unit, receipt, paid, overpaid, unplanned).await?;
    if !overpaid.is_zero() {
        let change = BalanceChange {
            mode: receipt.mode,
            customer_id: receipt.customer_id,
            currency_id: &attempt.currency_id,
            kind: BalanceTransactionType::Overpayment,
            amount: overpaid,
            source: attempt.id.as_str(),
            at,
        };
        change_balance(ctx, unit, &change).await?;
    }
    Ok(settled)
}

/// What a payment can pay of an invoice.
fn payable(invoice: &Invoice) -> Amount {
    if invoice.status.is_payable() { invoice.remaining() } else { Amount::ZERO }
}

async fn post_receipt(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    receipt: &Receipt<'_>,
    paid: Amount,
    overpaid: Amount,
    unplanned: Amount,
) -> Result<(), BillingError> {
    let Receipt { attempt, .. } = receipt;
    let currency = &attempt.currency_id;
    let mut postings = vec![
        Posting::debit(Account::cash(&attempt.method_id), attempt.amount, currency),
        Posting::credit(Account::Receivable, paid, currency),
        Posting::credit(Account::CustomerBalance, overpaid, currency),
    ];
    let kind = if receipt.intent.is_some() { EntryType::Payment } else { EntryType::StakeForfeited };
    if kind == EntryType::StakeForfeited {
        postings.push(Posting::credit(Account::Revenue, unplanned, currency));
        postings.push(Posting::debit(Account::StakesPayable, attempt.amount, currency));
        postings.push(Posting::credit(Account::stakes_held(&attempt.method_id), attempt.amount, currency));
    }
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    let entry = Entry::new(id, receipt.mode, kind, attempt.id.as_str(), receipt.at, postings)?;
    unit.journal().post(&entry).await?;
    Ok(())
}

/// Pays invoices from their customer's balance, as far as it reaches, in the order in which they are given. Less is applied where the rest
/// of an invoice would fall below what the network charges at least. The invoices are of one customer and of `currency`, locked, and nobody
/// is paying them. Answers those that changed.
pub(crate) async fn apply_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    currency: &Currency,
    invoices: Vec<Invoice>,
    now: Timestamp,
) -> Result<Vec<PaidInvoice>, BillingError> {
    let Some(first) = invoices.first() else { return Ok(Vec::new()) };
    let method = unit.methods().find(&currency.method_id).await?.ok_or(BillingError::Orphan)?;
    let balances = unit.balances().lock(std::slice::from_ref(&first.customer_id)).await?;
    let mut left = crate::billing::balance::amount_in(&balances, &first.customer_id, &currency.id);
    let (mut paid, mut payments) = (Vec::new(), Vec::new());
    for before in invoices {
        let amount = currency.applied_balance(method.kind, payable(&before), left);
        if amount.is_zero() {
            continue;
        }
        left = left.minus(amount)?;
        payments.push(pay_from_balance(ctx, unit, &before, amount, now).await?);
        let after = before.with_amounts(before.amount_paid.plus(amount)?, before.amount_credited, now)?;
        paid.push(PaidInvoice { before, after });
    }
    let changes: Vec<_> = paid.iter().map(|one| (one.before.clone(), one.after.clone())).collect();
    if changes.is_empty() {
        return Ok(paid);
    }
    if !unit.invoices().update_all(&changes).await? {
        return Err(BillingError::Contended);
    }
    unit.invoice_payments().insert_all(&payments).await?;
    Ok(paid)
}

/// What a payment plans for invoices: all that remains of each. Nothing is planned where nothing remains.
#[must_use]
pub(crate) fn plan_payments(invoices: &[Invoice]) -> Vec<PlannedPayment> {
    let plan = |invoice: &Invoice| PlannedPayment { invoice_id: invoice.id.clone(), amount: invoice.remaining() };
    invoices.iter().map(plan).filter(|planned| !planned.amount.is_zero()).collect()
}

/// The balance that pays a void invoice's part returns to the customer. Other payments stand in the way of voiding: the caller has
/// refused that. Answers what is left of the payments.
pub(crate) async fn unapply_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    payments: &[InvoicePayment],
    now: Timestamp,
) -> Result<Invoice, BillingError> {
    let mut returned = Amount::ZERO;
    for payment in payments.iter().filter(|payment| matches!(payment.source, PaymentSource::Balance(_))) {
        let amount = payment.room();
        if amount.is_zero() {
            continue;
        }
        if !unit.invoice_payments().update(payment, &payment.reverse(amount)?).await? {
            return Err(BillingError::Contended);
        }
        returned = returned.plus(amount)?;
    }
    if returned.is_zero() {
        return Ok(invoice.clone());
    }
    let after = invoice.with_amounts(invoice.amount_paid.minus(returned)?, invoice.amount_credited, now)?;
    if !unit.invoices().update(invoice, &after).await? {
        return Err(BillingError::Contended);
    }
    let change = BalanceChange {
        mode: invoice.mode,
        customer_id: &invoice.customer_id,
        currency_id: &invoice.currency_id,
        kind: BalanceTransactionType::UnappliedFromInvoice,
        amount: returned,
        source: invoice.id.as_str(),
        at: now,
    };
    change_balance(ctx, unit, &change).await?;
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn allocated(amount: u128, invoices: &[(u128, u128)]) -> (Vec<u128>, u128, u128) {
        let invoices: Vec<_> = invoices.iter().map(|(planned, remaining)| (Amount::new(*planned), Amount::new(*remaining))).collect();
        let Allocation { paid, overpaid, unplanned } = allocate(Amount::new(amount), &invoices).expect("fits");
        (paid.into_iter().map(Amount::base_units).collect(), overpaid.base_units(), unplanned.base_units())
    }

    #[test]
    fn each_invoice_takes_what_was_planned_and_no_more_than_remains() {
        assert_eq!(allocated(300, &[(100, 100), (200, 200)]), (vec![100, 200], 0, 0));
        assert_eq!(allocated(300, &[(100, 40), (200, 200)]), (vec![40, 200], 60, 0), "a credit note reduced the first one");
        assert_eq!(allocated(150, &[(100, 100), (200, 200)]), (vec![100, 50], 0, 0), "a stake that covers half of a debt");
        assert_eq!(allocated(300, &[(100, 100)]), (vec![100], 0, 200));
        assert_eq!(allocated(300, &[]), (vec![], 0, 300));
    }

    proptest! {
        #[test]
        fn nothing_of_a_receipt_is_lost_and_no_invoice_gets_too_much(amount in 0u128..1_000, invoices in prop::collection::vec((0u128..400, 0u128..400), 0..6)) {
            let (paid, overpaid, unplanned) = allocated(amount, &invoices);
            prop_assert_eq!(paid.iter().sum::<u128>() + overpaid + unplanned, amount);
            for (paid, (planned, remaining)) in paid.iter().zip(&invoices) {
                prop_assert!(paid <= planned && paid <= remaining);
            }
        }
    }
}
