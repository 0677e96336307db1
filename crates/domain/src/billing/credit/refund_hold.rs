//! Refunds and payouts on hold: their network sent a different amount than ordered.

use super::payout::debit;
use super::refund::{RefundAttempt, move_to_balance, post_all_sent, restore_payout, send};
use crate::billing::clock::time_of_customer;
use crate::billing::{PostingError, SendRefundError};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{Decline, Moved, Refund, RefundStatus, RefundType};
use crate::shared::{Amount, EntryId, RefundId, Timestamp};
use crate::storage::UnitOfWork;

/// What happens to the part of a refund or a payout that was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::billing) enum UnsentPart {
    Retry,
    /// It is moved to the customer's balance.
    Balance,
}

/// Records a refund or a payout of which its network sent less than ordered, and ends its hold; the caller has declined its attempt. The
/// sent part becomes a refund of its own, which can fail later like any other. The rest fails, and is then retried or moved to the balance.
/// Returns the attempt that sends the rest, if it is retried.
///
/// # Errors
/// [`SendRefundError`] when the rest cannot be sent again.
pub(in crate::billing) async fn record_short_refund(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &RefundId,
    moved: &Moved,
    error: &Decline,
    rest: UnsentPart,
) -> Result<Option<RefundAttempt>, SendRefundError> {
    let refund = unit.refunds().lock(id).await?.ok_or(PostingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &refund.customer_id).await?;
    let short = ShortRefund { refund, moved, error, now };
    match short.refund.kind {
        RefundType::BalancePayout => short.record_payout(ctx, unit, rest).await,
        RefundType::Refund | RefundType::Dashboard => short.record_refund(ctx, unit, rest).await,
    }
}

struct ShortRefund<'a> {
    /// As ordered.
    refund: Refund,
    moved: &'a Moved,
    error: &'a Decline,
    /// In the customer's time.
    now: Timestamp,
}

impl ShortRefund<'_> {
    /// Splits the refund: its credit note, its payment and its intent have reserved the whole amount already.
    async fn record_refund(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        rest: UnsentPart,
    ) -> Result<Option<RefundAttempt>, SendRefundError> {
        let amount = self.refund.amount.minus(self.moved.amount).map_err(PostingError::from)?;
        let unsent = Refund { amount, ..self.failed() };
        replace(unit, &self.refund, &unsent).await?;
        if let Some(sent) = self.sent(ctx) {
            unit.refunds().insert(&sent).await?;
            post_all_sent(ctx, unit, &[&sent]).await?;
        }
        match rest {
            UnsentPart::Balance => {
                move_to_balance(ctx, unit, &unsent, self.now).await?;
                Ok(None)
            }
            UnsentPart::Retry => {
                let pending = Refund { status: RefundStatus::Pending, ordered_at: Some(ctx.now()), ..unsent.clone() };
                replace(unit, &unsent, &pending).await?;
                Ok(Some(send(ctx, unit, &pending).await?))
            }
        }
    }

    /// Restores the payout to the balance, as for a decline, and takes the sent part from it again.
    async fn record_payout(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        rest: UnsentPart,
    ) -> Result<Option<RefundAttempt>, SendRefundError> {
        replace(unit, &self.refund, &self.failed()).await?;
        restore_payout(ctx, unit, &self.refund, self.now).await?;
        if let Some(sent) = self.sent(ctx) {
            self.insert_payout(ctx, unit, &sent).await?;
            post_all_sent(ctx, unit, &[&sent]).await?;
        }
        if rest == UnsentPart::Balance {
            return Ok(None);
        }
        let amount = self.refund.amount.minus(self.moved.amount).map_err(PostingError::from)?;
        let again = Refund { amount, ordered_at: Some(ctx.now()), ..self.new_part(ctx) };
        self.insert_payout(ctx, unit, &again).await?;
        Ok(Some(send(ctx, unit, &again).await?))
    }

    async fn insert_payout(&self, ctx: &Context, unit: &mut dyn UnitOfWork, payout: &Refund) -> Result<(), PostingError> {
        // Same lock order as payouts that fail: balance before intent.
        debit(ctx, unit, std::slice::from_ref(payout), self.now).await?;
        if let Some(intent) = &payout.intent_id
            && !unit.intents().reserve_refund(intent, payout.amount, self.now).await?
        {
            return Err(PostingError::Contended);
        }
        Ok(unit.refunds().insert(payout).await?)
    }

    fn failed(&self) -> Refund {
        Refund {
            status: RefundStatus::Failed,
            failure: Some(self.error.clone()),
            failure_count: self.refund.failure_count.saturating_add(1),
            updated_at: self.now,
            ..self.refund.clone()
        }
    }

    /// The part that the network sent. `None`: it sent nothing.
    fn sent(&self, ctx: &Context) -> Option<Refund> {
        let Moved { amount, reference } = self.moved;
        let sent = || Refund { status: RefundStatus::Succeeded, amount: *amount, reference: reference.clone(), ..self.new_part(ctx) };
        (!amount.is_zero()).then(sent)
    }

    fn new_part(&self, ctx: &Context) -> Refund {
        Refund {
            id: RefundId::new(ctx.now(), ctx.random.as_ref()),
            status: RefundStatus::Pending,
            failure: None,
            failure_count: 0,
            reference: String::new(),
            created_at: self.now,
            updated_at: self.now,
            ..self.refund.clone()
        }
    }
}

async fn replace(unit: &mut dyn UnitOfWork, before: &Refund, after: &Refund) -> Result<(), PostingError> {
    if unit.refunds().update(before, after).await? { Ok(()) } else { Err(PostingError::Contended) }
}

/// Posts what a network sent beyond a refund or a payout: to suspense, like the part of a dashboard refund that no invoice line covers. As
/// far as the refunded payment has room, the excess is reserved there, so that neither a payout nor another refund asks the network for it
/// again. The caller has recorded the refund itself as sent.
pub(in crate::billing) async fn post_excess_refund(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &RefundId,
    reference: &str,
    excess: Amount,
) -> Result<(), PostingError> {
    let refund = unit.refunds().lock(id).await?.ok_or(PostingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &refund.customer_id).await?;
    let postings = vec![
        Posting::debit(Account::Suspense, excess, &refund.currency_id),
        Posting::credit(Account::cash(&refund.method_id), excess, &refund.currency_id),
    ];
    let entry = EntryId::new(ctx.now(), ctx.random.as_ref());
    unit.journal().post(&Entry::new(entry, refund.mode, EntryType::DashboardRefund, reference, now, postings)?).await?;
    let Some(intent) = &refund.intent_id else { return Ok(()) };
    let intent = unit.intents().find(intent).await?.ok_or(PostingError::Orphan)?;
    let amount = intent.amount_received.minus(intent.amount_refunded)?.min(excess);
    if amount.is_zero() {
        return Ok(());
    }
    if !unit.intents().reserve_refund(&intent.id, amount, ctx.now()).await? {
        return Err(PostingError::Contended);
    }
    let reserved = Refund {
        id: RefundId::new(ctx.now(), ctx.random.as_ref()),
        kind: RefundType::Dashboard,
        status: RefundStatus::Succeeded,
        amount,
        payment_id: None,
        credit_note_id: None,
        invoice_id: None,
        subscription_id: None,
        reference: reference.to_owned(),
        failure: None,
        failure_count: 0,
        ordered_at: None,
        created_at: now,
        updated_at: now,
        ..refund
    };
    Ok(unit.refunds().insert(&reserved).await?)
}
