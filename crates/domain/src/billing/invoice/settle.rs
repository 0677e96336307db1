//! Settlement: applies settled network payments, forfeited stakes and the customer's balance to invoices.

use super::finalize::{AppliedBalance, pay_from_balances};
use super::{ChangedInvoice, ChangedPayment, Invoice, InvoicePayment, PaymentSource, book_shares, sharing};
use crate::billing::BillingError;
use crate::billing::balance::{BalanceChange, BalanceTransactionType, change_balance, change_balances};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Attempt, Currency, PlannedPayment};
use crate::shared::{Amount, AmountError, CustomerId, EntryId, InvoicePaymentId, Mode, PaymentIntentId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// Settled money that pays invoices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receipt<'a> {
    pub mode: Mode,
    pub customer_id: &'a CustomerId,
    pub attempt: &'a Attempt,
    /// `None`: the attempt forfeited a stake.
    pub intent: Option<&'a PaymentIntentId>,
    /// Of a forfeited stake: the part that was not ordered, and goes to the balance instead of revenue.
    pub to_balance: Amount,
    pub at: Timestamp,
}

/// What a receipt can pay of one invoice.
#[derive(Debug, Clone, Copy)]
struct Payable {
    planned: Amount,
    remaining: Amount,
}

/// How a receipt is distributed.
#[derive(Debug, PartialEq, Eq)]
struct Allocation {
    /// The amount for each invoice, in the order of the plan.
    paid: Vec<Amount>,
    /// Planned for invoices that no longer need it.
    overpaid: Amount,
    /// Not planned for any invoice.
    unplanned: Amount,
}

/// Gives each invoice its planned amount, at most its remaining amount.
fn allocate(amount: Amount, invoices: &[Payable]) -> Result<Allocation, AmountError> {
    let mut unplanned = amount;
    let (mut paid, mut overpaid) = (Vec::with_capacity(invoices.len()), Amount::ZERO);
    for invoice in invoices {
        let planned = invoice.planned.min(unplanned);
        unplanned = unplanned.minus(planned)?;
        let part = planned.min(invoice.remaining);
        overpaid = overpaid.plus(planned.minus(part)?)?;
        paid.push(part);
    }
    Ok(Allocation { paid, overpaid, unplanned })
}

/// Applies receipts to the invoices of their attempts, oldest first. The excess of a network payment goes to the balance; of a forfeited
/// stake, an amount that was ordered and not planned for any invoice is revenue. Returns the locked invoices; some may be unchanged.
///
/// # Errors
/// [`BillingError::Contended`] when a row changed after it was read, or when several receipts cannot be applied together: two pay the same
/// invoice, or a planned invoice is missing. The caller then applies each alone, and the excess goes to the balance.
pub(crate) async fn settle(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    receipts: &[Receipt<'_>],
) -> Result<Vec<ChangedInvoice>, BillingError> {
    let attempts: Vec<_> = receipts.iter().map(|receipt| receipt.attempt.id.clone()).collect();
    let planned = unit.attempts().planned_by_all(&attempts).await?;
    let mut ids: Vec<_> = planned.values().flatten().map(|planned| planned.invoice_id.clone()).collect();
    ids.sort();
    let locked = if ids.is_empty() { Vec::new() } else { unit.invoices().lock_all(&ids).await? };
    let mut locked: HashMap<_, _> = locked.into_iter().map(|invoice| (invoice.id.clone(), invoice)).collect();
    let mut settled = Settled::default();
    for receipt in receipts {
        let planned = planned.get(&receipt.attempt.id).map_or(&[][..], Vec::as_slice);
        let invoices: Vec<_> = planned.iter().filter_map(|one| locked.remove(&one.invoice_id)).collect();
        if receipts.len() > 1 && invoices.len() < planned.len() {
            return Err(BillingError::Contended);
        }
        settled.add(ctx, receipt, planned, invoices)?;
    }
    settled.write(ctx, unit).await
}

/// What receipts change.
#[derive(Default)]
struct Settled<'a> {
    invoices: Vec<ChangedInvoice>,
    payments: Vec<InvoicePayment>,
    entries: Vec<Entry>,
    overpayments: Vec<BalanceChange<'a>>,
}

impl<'a> Settled<'a> {
    /// Adds a receipt. `invoices`: those that it pays, locked.
    fn add(
        &mut self,
        ctx: &Context,
        receipt: &Receipt<'a>,
        planned: &[PlannedPayment],
        invoices: Vec<Invoice>,
    ) -> Result<(), BillingError> {
        let Receipt { attempt, at, .. } = *receipt;
        let amount_of = |invoice: &Invoice| planned.iter().find(|one| one.invoice_id == invoice.id).map_or(Amount::ZERO, |one| one.amount);
        let payable_of = |invoice: &Invoice| Payable { planned: amount_of(invoice), remaining: payable(invoice) };
        let all_payable: Vec<_> = invoices.iter().map(payable_of).collect();
        let Allocation { paid, overpaid, unplanned } = allocate(attempt.amount, &all_payable)?;
        let (overpaid, unplanned) = match receipt.intent {
            // A network payment that no invoice takes belongs to the customer.
            Some(_) => (overpaid.plus(unplanned)?, Amount::ZERO),
            None => {
                let to_balance = unplanned.min(receipt.to_balance);
                (overpaid.plus(to_balance)?, unplanned.minus(to_balance)?)
            }
        };
        let total = Amount::sum(paid.iter().copied())?;
        for (before, amount) in invoices.into_iter().zip(paid) {
            if amount.is_zero() {
                self.invoices.push(ChangedInvoice { after: before.clone(), before });
                continue;
            }
            let source = match receipt.intent {
                Some(intent) => PaymentSource::Network { attempt: attempt.id.clone(), intent: intent.clone() },
                None => PaymentSource::Stake(attempt.id.clone()),
            };
            let id = InvoicePaymentId::new(ctx.now(), ctx.random.as_ref());
            self.payments.push(InvoicePayment::new(id, before.id.clone(), source, amount, at));
            let after = before.with_amounts(before.amount_paid.plus(amount)?, before.amount_credited, at)?;
            let intent_id = receipt.intent.cloned().or(after.intent_id);
            self.invoices.push(ChangedInvoice { after: Invoice { intent_id, ..after }, before });
        }
        self.entries.push(entry_of(ctx, receipt, total, overpaid, unplanned)?);
        if !overpaid.is_zero() {
            self.overpayments.push(BalanceChange {
                mode: receipt.mode,
                customer_id: receipt.customer_id,
                currency_id: &attempt.currency_id,
                kind: BalanceTransactionType::Overpayment,
                amount: overpaid,
                source: attempt.id.as_str(),
                at,
            });
        }
        Ok(())
    }

    async fn write(mut self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<Vec<ChangedInvoice>, BillingError> {
        let changes: Vec<_> = self.invoices.iter().filter(|one| one.before != one.after).cloned().collect();
        if !changes.is_empty() && !unit.invoices().update_all(&changes).await? {
            return Err(BillingError::Contended);
        }
        if !self.payments.is_empty() {
            unit.invoice_payments().insert_all(&self.payments).await?;
        }
        unit.journal().post_all(&self.entries).await?;
        // In the order of the locks of balances.
        self.overpayments.sort_by_key(|change| change.customer_id);
        change_balances(ctx, unit, &self.overpayments).await?;
        if let Some(first) = self.entries.first() {
            book_shares(ctx, unit, &sharing(self.invoices.iter().map(|one| &one.after)), first.posted_at).await?;
        }
        Ok(self.invoices)
    }
}

/// The journal entry of a receipt.
fn entry_of(ctx: &Context, receipt: &Receipt<'_>, paid: Amount, overpaid: Amount, unplanned: Amount) -> Result<Entry, BillingError> {
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
    Ok(Entry::new(id, receipt.mode, kind, attempt.id.as_str(), receipt.at, postings)?)
}

/// The amount that a payment can pay of an invoice.
fn payable(invoice: &Invoice) -> Amount {
    if invoice.status.is_payable() { invoice.remaining() } else { Amount::ZERO }
}

/// Pays invoices from their customer's balance in the given order, as far as it reaches. Applies less if the remainder of an invoice would
/// fall below the network's minimum charge. The invoices are of one customer and of `currency`, locked, and have no payment in flight.
/// Returns those that changed.
pub(crate) async fn apply_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    currency: &Currency,
    invoices: Vec<Invoice>,
    now: Timestamp,
) -> Result<Vec<ChangedInvoice>, BillingError> {
    let Some(first) = invoices.first() else { return Ok(Vec::new()) };
    let method = unit.methods().find(&currency.method_id).await?.ok_or(BillingError::Orphan)?;
    let balances = unit.balances().lock(std::slice::from_ref(&first.customer_id)).await?;
    let mut balance_left = crate::billing::balance::amount_in(&balances, &first.customer_id, &currency.id);
    let (mut paid, mut amounts) = (Vec::new(), Vec::new());
    for before in invoices {
        let amount = method.kind.applied_balance(currency, payable(&before), balance_left);
        if amount.is_zero() {
            continue;
        }
        balance_left = balance_left.minus(amount)?;
        amounts.push(amount);
        let after = before.with_amounts(before.amount_paid.plus(amount)?, before.amount_credited, now)?;
        paid.push(ChangedInvoice { before, after });
    }
    if paid.is_empty() {
        return Ok(paid);
    }
    let applied: Vec<_> = paid.iter().zip(amounts).map(|(one, amount)| AppliedBalance { invoice: &one.before, amount, at: now }).collect();
    let payments = pay_from_balances(ctx, unit, &applied).await?;
    if !unit.invoices().update_all(&paid).await? {
        return Err(BillingError::Contended);
    }
    unit.invoice_payments().insert_all(&payments).await?;
    book_shares(ctx, unit, &sharing(paid.iter().map(|one| &one.after)), now).await?;
    Ok(paid)
}

/// Plans a payment of the remaining amount of each invoice, and skips invoices without one.
#[must_use]
pub(crate) fn plan_payments(invoices: &[Invoice]) -> Vec<PlannedPayment> {
    let plan = |invoice: &Invoice| PlannedPayment { invoice_id: invoice.id.clone(), amount: invoice.remaining() };
    invoices.iter().map(plan).filter(|planned| !planned.amount.is_zero()).collect()
}

/// Returns to the balance what it paid of an invoice that is being voided. The caller has already rejected voiding if other payments stand,
/// and credits the invoice next, which books its shares.
/// Returns the invoice without the balance payments.
pub(crate) async fn unapply_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    invoice: &Invoice,
    payments: &[InvoicePayment],
    now: Timestamp,
) -> Result<Invoice, BillingError> {
    let (mut amount_returned, mut changes) = (Amount::ZERO, Vec::new());
    for payment in payments.iter().filter(|payment| matches!(payment.source, PaymentSource::Balance(_))) {
        let amount = payment.room();
        if amount.is_zero() {
            continue;
        }
        changes.push(ChangedPayment { before: payment.clone(), after: payment.reverse(amount)? });
        amount_returned = amount_returned.plus(amount)?;
    }
    if amount_returned.is_zero() {
        return Ok(invoice.clone());
    }
    if !unit.invoice_payments().update_all(&changes).await? {
        return Err(BillingError::Contended);
    }
    let after = invoice.with_amounts(invoice.amount_paid.minus(amount_returned)?, invoice.amount_credited, now)?;
    if !unit.invoices().update(invoice, &after).await? {
        return Err(BillingError::Contended);
    }
    let change = BalanceChange {
        mode: invoice.mode,
        customer_id: &invoice.customer_id,
        currency_id: &invoice.currency_id,
        kind: BalanceTransactionType::UnappliedFromInvoice,
        amount: amount_returned,
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

    /// [`Allocation`] in base units.
    #[derive(Debug, PartialEq)]
    struct Units {
        paid: Vec<u128>,
        overpaid: u128,
        unplanned: u128,
    }

    const fn payable(planned: u128, remaining: u128) -> Payable {
        Payable { planned: Amount::new(planned), remaining: Amount::new(remaining) }
    }

    fn allocated(amount: u128, invoices: &[Payable]) -> Units {
        let Allocation { paid, overpaid, unplanned } = allocate(Amount::new(amount), invoices).expect("fits");
        let paid = paid.into_iter().map(Amount::base_units).collect();
        Units { paid, overpaid: overpaid.base_units(), unplanned: unplanned.base_units() }
    }

    #[test]
    fn each_invoice_takes_its_planned_amount_capped_at_its_remainder() {
        assert_eq!(allocated(300, &[payable(100, 100), payable(200, 200)]), Units { paid: vec![100, 200], overpaid: 0, unplanned: 0 });
        assert_eq!(
            allocated(300, &[payable(100, 40), payable(200, 200)]),
            Units { paid: vec![40, 200], overpaid: 60, unplanned: 0 },
            "a credit note reduced the first one"
        );
        assert_eq!(
            allocated(150, &[payable(100, 100), payable(200, 200)]),
            Units { paid: vec![100, 50], overpaid: 0, unplanned: 0 },
            "a stake that pays half of an invoice"
        );
        assert_eq!(allocated(300, &[payable(100, 100)]), Units { paid: vec![100], overpaid: 0, unplanned: 200 });
        assert_eq!(allocated(300, &[]), Units { paid: vec![], overpaid: 0, unplanned: 300 });
    }

    proptest! {
        #[test]
        fn the_parts_of_a_receipt_add_up_and_no_invoice_is_overpaid(amount in 0u128..1_000, invoices in prop::collection::vec((0u128..400, 0u128..400), 0..6)) {
            let payables: Vec<_> = invoices.iter().map(|(planned, remaining)| payable(*planned, *remaining)).collect();
            let Units { paid, overpaid, unplanned } = allocated(amount, &payables);
            prop_assert_eq!(paid.iter().sum::<u128>() + overpaid + unplanned, amount);
            for (paid, (planned, remaining)) in paid.iter().zip(&invoices) {
                prop_assert!(paid <= planned && paid <= remaining);
            }
        }
    }
}
