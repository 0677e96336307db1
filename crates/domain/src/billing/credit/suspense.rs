//! Money in suspense: a network moved an amount that differs from the requested one. An owner moves it to the customer's balance, pays the
//! invoices of the payment with it, or refunds it.

use super::CreditNoteReason;
use super::daily_cap::{OrderedBy, publish_refunds};
use super::refund::{WrittenRefund, send};
use super::undo::subscriptions_of;
use crate::billing::balance::{BalanceChange, BalanceTransaction, BalanceTransactionType, change_balance};
use crate::billing::clock::time_of_customer;
use crate::billing::errors::{convert_send_error, convert_through};
use crate::billing::invoice::{book_shares, sharing};
use crate::billing::recovery::recovered;
use crate::billing::{ChangedInvoice, Invoice, InvoicePayment, PaymentSource, PostingError, SendRefundError};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, LedgerError, Posting};
use crate::payment::{Attempt, DisputeFilter, Intent, Purpose, Refund, RefundStatus, RefundType, SettlementError, end_hold, release_held};
use crate::shared::{
    Amount, AmountError, AttemptId, EntryId, InvoiceId, InvoicePaymentId, MAX_PAGE_SIZE, Mode, Page, RefundId, StorageError, Timestamp,
};
use crate::storage::UnitOfWork;

#[derive(Debug, thiserror::Error)]
pub enum SuspenseError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The settled amount equaled the requested one, or the hold is resolved already.
    #[error("This payment is not on hold")]
    NotOnHold,
    /// None of the payment's invoices can be paid: they are drafts, or nothing remains of them.
    #[error("No invoice of this payment is unpaid")]
    NothingOwed,
    /// The payment could not be declined.
    #[error(transparent)]
    Settlement(SettlementError),
    /// The refund could not be written.
    #[error(transparent)]
    Send(SendRefundError),
    #[error(transparent)]
    Posting(#[from] PostingError),
}

convert_through!(SuspenseError::Posting, AmountError, LedgerError, StorageError);
convert_send_error!(SuspenseError);

impl From<SettlementError> for SuspenseError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Contended => PostingError::Contended.into(),
            SettlementError::Storage(error) => error.into(),
            error => Self::Settlement(error),
        }
    }
}

/// Where the money of a payment on hold goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SuspenseTo {
    /// The customer's balance.
    #[default]
    Balance,
    /// The invoices that the payment was for, oldest first and as far as they remain; the rest goes to the balance.
    Invoices,
    /// Back to the payer, over the same payment.
    Refund,
}

impl SuspenseTo {
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "balance" => Self::Balance,
            "invoice" => Self::Invoices,
            "refund" => Self::Refund,
            _ => return None,
        })
    }
}

/// What became of the money of a payment on hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedSuspense {
    /// The amount that was in suspense: what the network moved, less what was refunded in the provider's dashboard or disputed since.
    pub amount: Amount,
    /// The increase of the customer's balance.
    pub transaction: Option<BalanceTransaction>,
    pub refund: Option<Refund>,
    /// The invoices that it paid, or paid a part of.
    pub invoices: Vec<InvoiceId>,
}

impl ResolvedSuspense {
    /// No money was in suspense.
    const fn nothing() -> Self {
        Self { amount: Amount::ZERO, transaction: None, refund: None, invoices: Vec::new() }
    }
}

/// Resolves a payment on hold. The attempt is declined, so that what is still unpaid of its invoices can be paid again, from the balance
/// first.
///
/// # Errors
/// [`SuspenseError::NotOnHold`] when the attempt is not on hold; [`SuspenseError::NothingOwed`] when the money is to pay invoices and none
/// of them can be paid.
#[tracing::instrument(skip_all, fields(attempt = %id))]
pub async fn resolve_suspense(ctx: &Context, mode: Mode, id: &AttemptId, to: SuspenseTo) -> Result<ResolvedSuspense, SuspenseError> {
    let mut unit = ctx.store.begin().await?;
    let attempt = unit.attempts().find(id).await?.ok_or(SuspenseError::NotFound)?;
    let method = unit.methods().find(&attempt.method_id).await?;
    if method.is_none_or(|method| method.mode != mode) {
        return Err(SuspenseError::NotFound);
    }
    if !matches!(attempt.purpose, Purpose::Payment(_)) || !end_hold(ctx, unit.as_mut(), &attempt).await? {
        return Err(SuspenseError::NotOnHold);
    }
    let Some(held) = unit.intents().find_held(id).await? else {
        // The network moved nothing, so no intent has received anything.
        release_held(ctx, unit.as_mut(), &attempt).await?;
        unit.commit().await?;
        return Ok(ResolvedSuspense::nothing());
    };
    let at = time_of_customer(ctx, unit.as_mut(), &held.customer_id).await?;
    let amount = available(unit.as_mut(), &held).await?;
    let resolution = Resolution { attempt: &attempt, held: &held, amount, at };
    let mut sent = Vec::new();
    let resolved = match to {
        // Everything was refunded in the provider's dashboard, or disputed.
        _ if amount.is_zero() => ResolvedSuspense::nothing(),
        SuspenseTo::Balance => resolution.to_balance(ctx, unit.as_mut()).await?,
        SuspenseTo::Invoices => resolution.to_invoices(ctx, unit.as_mut()).await?,
        SuspenseTo::Refund => {
            let WrittenRefund { refund, attempt } = resolution.refund(ctx, unit.as_mut()).await?;
            sent.extend(attempt);
            ResolvedSuspense { amount, transaction: None, refund: Some(refund), invoices: Vec::new() }
        }
    };
    release_held(ctx, unit.as_mut(), &attempt).await?;
    publish_refunds(ctx, unit.as_mut(), OrderedBy::Store, &sent).await?;
    unit.commit().await?;
    Ok(resolved)
}

/// The money of a held payment that is still in suspense.
async fn available(unit: &mut dyn UnitOfWork, held: &Intent) -> Result<Amount, SuspenseError> {
    let filter = DisputeFilter { intent_id: Some(held.id.clone()), ..DisputeFilter::default() };
    let disputes = unit.disputes().list(held.mode, &filter, &Page::new(None, Some(MAX_PAGE_SIZE))).await?.list;
    let withdrawn = disputes.iter().filter(|dispute| dispute.funds_withdrawn);
    let withdrawn = Amount::sum(withdrawn.map(|dispute| dispute.amount))?;
    Ok(held.amount_received.minus(held.amount_refunded)?.minus(withdrawn).unwrap_or_default())
}

/// A hold that is being resolved.
struct Resolution<'a> {
    attempt: &'a Attempt,
    /// The intent that received the money.
    held: &'a Intent,
    /// Above zero.
    amount: Amount,
    /// In the customer's time.
    at: Timestamp,
}

impl Resolution<'_> {
    async fn to_balance(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<ResolvedSuspense, SuspenseError> {
        self.claim(ctx, unit).await?;
        let transaction = self.credit_balance(ctx, unit, self.amount).await?;
        self.post(ctx, unit, vec![self.credit(Account::CustomerBalance, self.amount)]).await?;
        Ok(ResolvedSuspense { amount: self.amount, transaction: Some(transaction), refund: None, invoices: Vec::new() })
    }

    async fn to_invoices(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<ResolvedSuspense, SuspenseError> {
        let planned: Vec<_> = unit.attempts().planned_by(&self.attempt.id).await?.into_iter().map(|one| one.invoice_id).collect();
        let found = if planned.is_empty() { Vec::new() } else { unit.invoices().find_all(&planned).await? };
        unit.subscriptions().lock_all(&subscriptions_of(&found)).await?;
        let locked = if planned.is_empty() { Vec::new() } else { unit.invoices().lock_all(&planned).await? };
        self.claim(ctx, unit).await?;
        let (mut unallocated, mut paid, mut payments) = (self.amount, Vec::new(), Vec::new());
        for before in locked.into_iter().filter(|invoice| invoice.status.is_payable()) {
            let part = unallocated.min(before.remaining());
            if part.is_zero() {
                continue;
            }
            unallocated = unallocated.minus(part)?;
            let source = PaymentSource::Network { attempt: self.attempt.id.clone(), intent: self.held.id.clone() };
            let id = InvoicePaymentId::new(ctx.now(), ctx.random.as_ref());
            payments.push(InvoicePayment::new(id, before.id.clone(), source, part, self.at));
            let after = before.with_amounts(before.amount_paid.plus(part)?, before.amount_credited, self.at)?;
            paid.push(ChangedInvoice { after: Invoice { intent_id: Some(self.held.id.clone()), ..after }, before });
        }
        if payments.is_empty() {
            return Err(SuspenseError::NothingOwed);
        }
        if !unit.invoices().update_all(&paid).await? {
            return Err(PostingError::Contended.into());
        }
        unit.invoice_payments().insert_all(&payments).await?;
        let transaction = if unallocated.is_zero() { None } else { Some(self.credit_balance(ctx, unit, unallocated).await?) };
        let receivable = self.amount.minus(unallocated)?;
        let credits = vec![self.credit(Account::Receivable, receivable), self.credit(Account::CustomerBalance, unallocated)];
        self.post(ctx, unit, credits).await?;
        book_shares(ctx, unit, &sharing(paid.iter().map(|one| &one.after)), self.at).await?;
        recovered(ctx, unit, &paid).await?;
        let invoices = paid.into_iter().map(|one| one.after.id).collect();
        Ok(ResolvedSuspense { amount: self.amount, transaction, refund: None, invoices })
    }

    async fn refund(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<WrittenRefund, SuspenseError> {
        if !unit.intents().reserve_refund(&self.held.id, self.amount, ctx.now()).await? {
            return Err(PostingError::Contended.into());
        }
        let refund = Refund {
            id: RefundId::new(ctx.now(), ctx.random.as_ref()),
            mode: self.held.mode,
            kind: RefundType::Refund,
            status: RefundStatus::Pending,
            amount: self.amount,
            currency_id: self.held.currency_id.clone(),
            method_id: self.held.method_id.clone(),
            customer_id: self.held.customer_id.clone(),
            intent_id: Some(self.held.id.clone()),
            payment_id: None,
            credit_note_id: None,
            invoice_id: None,
            subscription_id: None,
            reason: CreditNoteReason::Other.name().to_owned(),
            description: String::new(),
            reference: String::new(),
            failure: None,
            failure_count: 0,
            ordered_at: Some(ctx.now()),
            created_at: self.at,
            updated_at: self.at,
        };
        unit.refunds().insert(&refund).await?;
        let attempt = send(ctx, unit, &refund).await?;
        self.post(ctx, unit, vec![self.credit(Account::RefundsPayable, self.amount)]).await?;
        Ok(WrittenRefund { refund, attempt: Some(attempt) })
    }

    /// Checks that no dashboard refund has taken the money meanwhile, and locks the intent until the unit of work ends: a dashboard refund
    /// that is recorded later finds the money outside of suspense.
    async fn claim(&self, ctx: &Context, unit: &mut dyn UnitOfWork) -> Result<(), SuspenseError> {
        if !unit.intents().reserve_refund(&self.held.id, self.amount, ctx.now()).await? {
            return Err(PostingError::Contended.into());
        }
        Ok(unit.intents().release_refund(&self.held.id, self.amount, ctx.now()).await?)
    }

    async fn credit_balance(&self, ctx: &Context, unit: &mut dyn UnitOfWork, amount: Amount) -> Result<BalanceTransaction, SuspenseError> {
        let change = BalanceChange {
            mode: self.held.mode,
            customer_id: &self.held.customer_id,
            currency_id: &self.held.currency_id,
            kind: BalanceTransactionType::SuspenseResolved,
            amount,
            source: self.attempt.id.as_str(),
            at: self.at,
        };
        Ok(change_balance(ctx, unit, &change).await?)
    }

    /// A posting that moves a part of the money out of suspense.
    fn credit(&self, account: Account, amount: Amount) -> Posting {
        Posting::credit(account, amount, &self.held.currency_id)
    }

    async fn post(&self, ctx: &Context, unit: &mut dyn UnitOfWork, credits: Vec<Posting>) -> Result<(), PostingError> {
        let mut postings = vec![Posting::debit(Account::Suspense, self.amount, &self.held.currency_id)];
        postings.extend(credits);
        let id = EntryId::new(ctx.now(), ctx.random.as_ref());
        let subject = self.attempt.id.as_str();
        unit.journal().post(&Entry::new(id, self.held.mode, EntryType::SuspenseResolved, subject, self.at, postings)?).await?;
        Ok(())
    }
}
