//! Refunds of payments: sending, declines, retries, moves to the balance, and failures after success.

use super::daily_cap::{OrderedBy, publish_refunds};
use super::{CreditNote, NoteError, SendRefundError};
use crate::access::Did;
use crate::billing::balance::{BalanceChange, BalanceTransactionType, change_balance};
use crate::billing::clock::time_of_customer;
use crate::billing::errors::convert_through;
use crate::billing::notifications::notify_all;
use crate::billing::{InvoicePayment, Notification, PostingError, nonce, notify};
use crate::context::Context;
use crate::ledger::{Account, Entry, EntryType, Posting};
use crate::payment::{
    Attempt, AttemptKind, Currency, Decline, Intent, Method, MethodAmount, MethodKind, NewAttempt, Purpose, Refund, RefundPart,
    RefundStatus, RefundType, StoreTransaction, StoreTransactionRequest,
};
use crate::shared::{Amount, AttemptId, CurrencyId, EntryId, MethodId, Mode, PaymentIntentId, RefundId, StorageError, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// A part of a credit note that is refunded over a network.
#[derive(Clone, Copy)]
pub(super) struct NewRefund<'a> {
    pub note: &'a CreditNote,
    pub payment: &'a InvoicePayment,
    pub intent: Option<&'a Intent>,
    pub amount: Amount,
    /// The provider's id of the refund, if the provider has sent it already.
    pub reference: Option<&'a str>,
}

/// A refund that was written.
pub(super) struct WrittenRefund {
    pub refund: Refund,
    /// The attempt that sends it; `None` if the provider has sent it already.
    pub attempt: Option<RefundAttempt>,
}

/// An attempt that sends a refund. Only [`publish_refunds`] can publish it, so that no order of refunds forgets the daily cap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefundAttempt {
    pub(super) id: AttemptId,
    pub(super) mode: Mode,
    pub(super) currency_id: CurrencyId,
    pub(super) amount: Amount,
}

/// Writes refunds and the attempts that send them. Reserves their amounts on the payment intents; the caller reserves them on the invoice
/// payments. A refund with a `reference` has succeeded already and needs no attempt.
///
/// # Errors
/// [`NoteError::OverRefund`] when a payment intent has less left to refund.
pub(super) async fn write_refunds(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    new: &[NewRefund<'_>],
) -> Result<Vec<WrittenRefund>, NoteError> {
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let parts = new.iter().filter_map(|new| Some(RefundPart { intent: &new.intent?.id, amount: new.amount }));
    let parts: Vec<_> = parts.collect();
    if !unit.intents().reserve_refunds(&parts, ctx.now()).await? {
        return Err(NoteError::OverRefund);
    }
    let stakes = stake_attempts(unit, new.iter().map(|new| new.payment)).await?;
    let refunds = new.iter().map(|new| refund_of(ctx, new, &stakes)).collect::<Result<Vec<_>, _>>()?;
    unit.refunds().insert_all(&refunds).await?;
    let (sent, pending): (Vec<_>, Vec<_>) = refunds.iter().partition(|refund| refund.status == RefundStatus::Succeeded);
    post_all_sent(ctx, unit, &sent).await?;
    let attempts = send_all(ctx, unit, &pending).await?;
    let mut attempts: HashMap<_, _> = pending.iter().map(|refund| refund.id.clone()).zip(attempts).collect();
    let written = |refund: Refund| WrittenRefund { attempt: attempts.remove(&refund.id), refund };
    Ok(refunds.into_iter().map(written).collect())
}

fn refund_of(ctx: &Context, new: &NewRefund<'_>, stakes: &HashMap<AttemptId, Attempt>) -> Result<Refund, PostingError> {
    let NewRefund { note, payment, intent, amount, reference } = *new;
    let stake = payment.source.stake().and_then(|attempt| stakes.get(attempt));
    let method_id = intent.map(|intent| &intent.method_id).or(stake.map(|attempt| &attempt.method_id)).ok_or(PostingError::Orphan)?;
    Ok(Refund {
        id: RefundId::new(ctx.now(), ctx.random.as_ref()),
        mode: note.mode,
        kind: RefundType::Refund,
        status: if reference.is_some() { RefundStatus::Succeeded } else { RefundStatus::Pending },
        amount,
        currency_id: note.currency_id.clone(),
        method_id: method_id.clone(),
        customer_id: note.customer_id.clone(),
        intent_id: intent.map(|intent| intent.id.clone()),
        payment_id: Some(payment.id.clone()),
        credit_note_id: Some(note.id.clone()),
        invoice_id: Some(note.invoice_id.clone()),
        subscription_id: note.subscription_id.clone(),
        reason: note.reason.name().to_owned(),
        description: note.memo.clone(),
        reference: reference.unwrap_or_default().to_owned(),
        failure: None,
        failure_count: 0,
        ordered_at: reference.is_none().then(|| ctx.now()),
        created_at: note.created_at,
        updated_at: note.created_at,
    })
}

/// Records refunds that the provider has sent already, such as those made in its dashboard.
pub(super) async fn post_all_sent(ctx: &Context, unit: &mut dyn UnitOfWork, sent: &[&Refund]) -> Result<(), PostingError> {
    if sent.is_empty() {
        return Ok(());
    }
    let entries = sent.iter().map(|refund| sent_entry(ctx, refund, refund.id.as_str(), refund.created_at));
    unit.journal().post_all(&entries.collect::<Result<Vec<_>, _>>()?).await?;
    let refunded: Vec<_> = sent.iter().map(|refund| Notification::Refunded(refund.id.clone())).collect();
    Ok(notify_all(ctx, unit, &refunded).await?)
}

/// The attempts that forfeited the stakes from which invoice payments were made.
async fn stake_attempts<'a>(
    unit: &mut dyn UnitOfWork,
    payments: impl Iterator<Item = &'a InvoicePayment> + Send,
) -> Result<HashMap<AttemptId, Attempt>, StorageError> {
    let ids: Vec<_> = payments.filter_map(|payment| payment.source.stake().cloned()).collect();
    let found = if ids.is_empty() { Vec::new() } else { unit.attempts().find_all(&ids).await? };
    Ok(found.into_iter().map(|attempt| (attempt.id.clone(), attempt)).collect())
}

/// As [`send_all`], for one refund.
pub(super) async fn send(ctx: &Context, unit: &mut dyn UnitOfWork, refund: &Refund) -> Result<RefundAttempt, SendRefundError> {
    let sent = send_all(ctx, unit, &[refund]).await?.pop();
    sent.ok_or(SendRefundError::Posting(PostingError::Orphan))
}

/// Inserts the attempts that send pending refunds, in their order; the caller publishes them. The money goes to the card or account that
/// paid; for a stake, to the account that staked.
pub(super) async fn send_all(ctx: &Context, unit: &mut dyn UnitOfWork, refunds: &[&Refund]) -> Result<Vec<RefundAttempt>, SendRefundError> {
    if refunds.is_empty() {
        return Ok(Vec::new());
    }
    let routes = Routes::read(unit, refunds).await?;
    let wall = ctx.now();
    let (mut attempts, mut sent) = (Vec::with_capacity(refunds.len()), Vec::with_capacity(refunds.len()));
    for refund in refunds {
        let (method, currency) = routes.method_of(refund)?;
        let intent = refund.intent_id.as_ref().map(|intent| routes.intents.get(intent).ok_or(PostingError::Orphan)).transpose()?;
        let kind = match intent {
            Some(intent) if method.kind == MethodKind::Stripe => AttemptKind::CardRefund { payment: intent.reference.clone() },
            Some(intent) => transfer(ctx, method, currency, refund, Did::from_verified(intent.payer.clone()))?,
            None => {
                let to = routes.account_of(unit, refund).await?.ok_or(SendRefundError::NoPayoutRoute)?;
                transfer(ctx, method, currency, refund, to)?
            }
        };
        let id = AttemptId::new(wall, ctx.random.as_ref());
        let of = MethodAmount { method_id: method.id.clone(), currency_id: currency.id.clone(), amount: refund.amount };
        let attempt = Attempt::begin(id, Purpose::Refund(refund.id.clone()), kind, of, wall);
        let (mode, currency_id, amount) = (refund.mode, currency.id.clone(), refund.amount);
        sent.push(RefundAttempt { id: attempt.id.clone(), mode, currency_id, amount });
        attempts.push(NewAttempt { attempt, planned: Vec::new() });
    }
    unit.attempts().insert_all(&attempts).await?;
    Ok(sent)
}

/// What determines where refunds go. Read for all of them at once.
struct Routes {
    methods: HashMap<MethodId, Method>,
    currencies: HashMap<CurrencyId, Currency>,
    intents: HashMap<PaymentIntentId, Intent>,
    /// The payments of invoices that are refunded without an intent.
    payments: Vec<InvoicePayment>,
    stakes: HashMap<AttemptId, Attempt>,
}

impl Routes {
    async fn read(unit: &mut dyn UnitOfWork, refunds: &[&Refund]) -> Result<Self, StorageError> {
        let (mut methods, mut currencies) = (HashMap::new(), HashMap::new());
        // The refunds of one unit of work are of few methods.
        for refund in refunds {
            if !methods.contains_key(&refund.method_id)
                && let Some(method) = unit.methods().find(&refund.method_id).await?
            {
                methods.insert(method.id.clone(), method);
            }
            if !currencies.contains_key(&refund.currency_id)
                && let Some(currency) = unit.methods().find_currency(&refund.currency_id).await?
            {
                currencies.insert(currency.id.clone(), currency);
            }
        }
        let ids: Vec<_> = refunds.iter().filter_map(|refund| refund.intent_id.clone()).collect();
        let intents = if ids.is_empty() { Vec::new() } else { unit.intents().find_all(&ids).await? };
        let intents = intents.into_iter().map(|intent| (intent.id.clone(), intent)).collect();
        let without_intent = refunds.iter().filter(|refund| refund.intent_id.is_none());
        let ids: Vec<_> = without_intent.filter_map(|refund| refund.invoice_id.clone()).collect();
        let payments = if ids.is_empty() { Vec::new() } else { unit.invoice_payments().of_invoices(&ids).await? };
        let stakes = stake_attempts(unit, payments.iter()).await?;
        Ok(Self { methods, currencies, intents, payments, stakes })
    }

    fn method_of(&self, refund: &Refund) -> Result<(&Method, &Currency), PostingError> {
        let method = self.methods.get(&refund.method_id).ok_or(PostingError::Orphan)?;
        Ok((method, self.currencies.get(&refund.currency_id).ok_or(PostingError::Orphan)?))
    }

    /// The destination of a refund without a payment intent: for a stake, the account that staked; for a payout, the account that paid last.
    async fn account_of(&self, unit: &mut dyn UnitOfWork, refund: &Refund) -> Result<Option<Did>, StorageError> {
        if refund.invoice_id.is_some() {
            let payment = self.payments.iter().find(|payment| Some(&payment.id) == refund.payment_id.as_ref());
            let attempt = payment.and_then(|payment| self.stakes.get(payment.source.stake()?));
            return Ok(attempt.and_then(|attempt| match &attempt.kind {
                AttemptKind::Wallet { payer, .. } => Some(payer.clone()),
                _ => None,
            }));
        }
        let last = unit.intents().last_paid(&refund.customer_id, &refund.currency_id).await?;
        Ok(last.filter(|intent| !intent.payer.is_empty()).map(|intent| Did::from_verified(intent.payer)))
    }
}

fn transfer(ctx: &Context, method: &Method, currency: &Currency, refund: &Refund, to: Did) -> Result<AttemptKind, SendRefundError> {
    let rail = ctx.networks.wallet(method.kind).ok_or(SendRefundError::MethodNotSupported)?;
    let request = StoreTransactionRequest {
        transaction: StoreTransaction::Payout { to: to.clone() },
        amount: refund.amount,
        reference: refund.id.to_string(),
        period: None,
        nonce: nonce(ctx),
    };
    let signed = rail.sign(method, currency, &request)?;
    Ok(AttemptKind::Wallet { payer: to, bytes: signed.bytes, hash: signed.hash })
}

/// Records that the network has sent a refund or a payout.
pub(crate) async fn refund_settled(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &RefundId,
    attempt: &Attempt,
    reference: &str,
) -> Result<(), PostingError> {
    let refund = unit.refunds().lock(id).await?.ok_or(PostingError::Orphan)?;
    let now = time_of_customer(ctx, unit, &refund.customer_id).await?;
    let settled =
        Refund { status: RefundStatus::Succeeded, reference: reference.to_owned(), failure: None, updated_at: now, ..refund.clone() };
    if !unit.refunds().update(&refund, &settled).await? {
        return Err(PostingError::Contended);
    }
    post_sent(ctx, unit, &settled, attempt.id.as_str(), now).await?;
    notify(ctx, unit, &Notification::Refunded(id.clone()), ctx.now()).await?;
    Ok(())
}

async fn post_sent(ctx: &Context, unit: &mut dyn UnitOfWork, refund: &Refund, subject: &str, now: Timestamp) -> Result<(), PostingError> {
    Ok(unit.journal().post(&sent_entry(ctx, refund, subject, now)?).await?)
}

fn sent_entry(ctx: &Context, refund: &Refund, subject: &str, now: Timestamp) -> Result<Entry, PostingError> {
    let sent =
        RefundEntry { kind: EntryType::RefundSent, subject, debit: Account::RefundsPayable, credit: Account::cash(&refund.method_id) };
    entry_of(ctx, refund, sent, now)
}

/// A journal entry over the amount of a refund.
struct RefundEntry<'a> {
    kind: EntryType,
    subject: &'a str,
    debit: Account,
    credit: Account,
}

async fn post(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    refund: &Refund,
    entry: RefundEntry<'_>,
    now: Timestamp,
) -> Result<(), PostingError> {
    Ok(unit.journal().post(&entry_of(ctx, refund, entry, now)?).await?)
}

fn entry_of(ctx: &Context, refund: &Refund, entry: RefundEntry<'_>, now: Timestamp) -> Result<Entry, PostingError> {
    let RefundEntry { kind, subject, debit, credit } = entry;
    let postings =
        vec![Posting::debit(debit, refund.amount, &refund.currency_id), Posting::credit(credit, refund.amount, &refund.currency_id)];
    let id = EntryId::new(ctx.now(), ctx.random.as_ref());
    Ok(Entry::new(id, refund.mode, kind, subject, now, postings)?)
}

/// Records that the network declined a refund. The reservation stays until the owner retries the refund or moves it to the balance. A
/// declined payout returns to the balance.
pub(crate) async fn refund_declined(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &RefundId,
    decline: &Decline,
) -> Result<(), PostingError> {
    let refund = unit.refunds().lock(id).await?.ok_or(PostingError::Orphan)?;
    fail(ctx, unit, refund, decline).await
}

async fn fail(ctx: &Context, unit: &mut dyn UnitOfWork, refund: Refund, decline: &Decline) -> Result<(), PostingError> {
    let now = time_of_customer(ctx, unit, &refund.customer_id).await?;
    let failed = Refund {
        status: RefundStatus::Failed,
        failure: Some(decline.clone()),
        failure_count: refund.failure_count.saturating_add(1),
        updated_at: now,
        ..refund.clone()
    };
    if !unit.refunds().update(&refund, &failed).await? {
        return Err(PostingError::Contended);
    }
    if failed.kind == RefundType::BalancePayout {
        restore_payout(ctx, unit, &failed, now).await?;
    }
    // It is retried automatically; the owner is notified once.
    let is_known = decline.is_for_gas() && refund.failure.as_ref().is_some_and(Decline::is_for_gas);
    if !is_known {
        notify(ctx, unit, &Notification::RefundFailed { refund: failed.id, failures: failed.failure_count }, ctx.now()).await?;
    }
    Ok(())
}

pub(super) async fn restore_payout(ctx: &Context, unit: &mut dyn UnitOfWork, refund: &Refund, now: Timestamp) -> Result<(), PostingError> {
    // Same lock order as payouts and credit notes (balance before intent), to avoid a deadlock.
    to_balance(ctx, unit, refund, BalanceTransactionType::PayoutRestored, now).await?;
    if let Some(intent) = &refund.intent_id {
        unit.intents().release_refund(intent, refund.amount, now).await?;
    }
    let (debit, credit) = (Account::RefundsPayable, Account::CustomerBalance);
    let entry = RefundEntry { kind: EntryType::BalancePayoutRestored, subject: refund.id.as_str(), debit, credit };
    post(ctx, unit, refund, entry, now).await
}

async fn to_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    refund: &Refund,
    kind: BalanceTransactionType,
    now: Timestamp,
) -> Result<(), PostingError> {
    let change = BalanceChange {
        mode: refund.mode,
        customer_id: &refund.customer_id,
        currency_id: &refund.currency_id,
        kind,
        amount: refund.amount,
        source: refund.id.as_str(),
        at: now,
    };
    change_balance(ctx, unit, &change).await.map(drop)
}

/// Records that a refund failed after it had succeeded: the money is back in the store's account, and the owner decides as for a declined
/// refund. `reference`: the network's reference of the failed try. False: this was recorded before, or a later try has succeeded.
pub async fn refund_failed_later(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    id: &RefundId,
    reference: &str,
    decline: &Decline,
) -> Result<bool, PostingError> {
    let refund = unit.refunds().lock(id).await?.ok_or(PostingError::Orphan)?;
    // The caller found the refund before it was locked. A retry may have settled since then.
    if refund.status != RefundStatus::Succeeded || refund.reference != reference {
        return Ok(false);
    }
    if refund.kind == RefundType::Dashboard {
        return release_dashboard_refund(ctx, unit, &refund, decline).await;
    }
    let now = time_of_customer(ctx, unit, &refund.customer_id).await?;
    let subject = format!("{}/{}", refund.id, refund.failure_count.saturating_add(1));
    let (debit, credit) = (Account::cash(&refund.method_id), Account::RefundsPayable);
    post(ctx, unit, &refund, RefundEntry { kind: EntryType::RefundFailed, subject: &subject, debit, credit }, now).await?;
    fail(ctx, unit, refund, decline).await?;
    Ok(true)
}

/// Records that a dashboard refund failed: its payment can be refunded again. The owner has nothing to decide.
async fn release_dashboard_refund(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    refund: &Refund,
    decline: &Decline,
) -> Result<bool, PostingError> {
    let now = time_of_customer(ctx, unit, &refund.customer_id).await?;
    let failure_count = refund.failure_count.saturating_add(1);
    let failed = Refund { status: RefundStatus::Failed, failure: Some(decline.clone()), failure_count, updated_at: now, ..refund.clone() };
    if !unit.refunds().update(refund, &failed).await? {
        return Err(PostingError::Contended);
    }
    if let Some(intent) = &refund.intent_id {
        unit.intents().release_refund(intent, refund.amount, now).await?;
    }
    Ok(true)
}

/// Why an owner's decision about a failed refund is rejected.
#[derive(Debug, thiserror::Error)]
pub enum RefundDecisionError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// Only a failed refund can be retried or moved to the balance. A failed payout has returned to the balance already.
    #[error("This refund has not failed")]
    NotFailed,
    #[error(transparent)]
    Posting(#[from] PostingError),
}

convert_through!(RefundDecisionError::Posting, StorageError);

/// Why a failed refund is not sent again.
#[derive(Debug, thiserror::Error)]
pub enum RetryRefundError {
    #[error(transparent)]
    Decision(#[from] RefundDecisionError),
    #[error(transparent)]
    Send(SendRefundError),
}

convert_through!(RetryRefundError::Decision, PostingError, StorageError);

impl From<SendRefundError> for RetryRefundError {
    fn from(error: SendRefundError) -> Self {
        match error {
            SendRefundError::Posting(error) => error.into(),
            error => Self::Send(error),
        }
    }
}

/// Sends a failed refund again over its network. It counts towards the daily cap from now on.
///
/// # Errors
/// [`SendRefundError::CapExceeded`] if the refunds and payouts of the last 24 hours would exceed the cap of its currency.
pub async fn retry_refund(ctx: &Context, mode: Mode, id: &RefundId) -> Result<Refund, RetryRefundError> {
    retry_refund_as(ctx, OrderedBy::Store, mode, id).await
}

/// As [`retry_refund`]; `by` says which cap applies.
#[tracing::instrument(skip_all, fields(refund = %id))]
pub(crate) async fn retry_refund_as(ctx: &Context, by: OrderedBy, mode: Mode, id: &RefundId) -> Result<Refund, RetryRefundError> {
    let mut unit = ctx.store.begin().await?;
    let refund = load_failed(unit.as_mut(), mode, id).await?;
    let now = time_of_customer(ctx, unit.as_mut(), &refund.customer_id).await?;
    let pending = Refund { status: RefundStatus::Pending, ordered_at: Some(ctx.now()), updated_at: now, ..refund.clone() };
    if !unit.refunds().update(&refund, &pending).await? {
        return Err(PostingError::Contended.into());
    }
    let attempt = send(ctx, unit.as_mut(), &pending).await?;
    publish_refunds(ctx, unit.as_mut(), by, std::slice::from_ref(&attempt)).await?;
    unit.commit().await?;
    Ok(pending)
}

/// Moves a failed refund to the customer's balance. The payment intent can again be refunded by that amount, for a payout.
#[tracing::instrument(skip_all, fields(refund = %id))]
pub async fn move_refund_to_balance(ctx: &Context, mode: Mode, id: &RefundId) -> Result<Refund, RefundDecisionError> {
    let mut unit = ctx.store.begin().await?;
    let refund = load_failed(unit.as_mut(), mode, id).await?;
    let now = time_of_customer(ctx, unit.as_mut(), &refund.customer_id).await?;
    let moved = move_to_balance(ctx, unit.as_mut(), &refund, now).await?;
    unit.commit().await?;
    Ok(moved)
}

/// As [`move_refund_to_balance`], in a unit of work that has locked the failed refund.
pub(super) async fn move_to_balance(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    refund: &Refund,
    now: Timestamp,
) -> Result<Refund, PostingError> {
    let moved = Refund { status: RefundStatus::Canceled, updated_at: now, ..refund.clone() };
    if !unit.refunds().update(refund, &moved).await? {
        return Err(PostingError::Contended);
    }
    to_balance(ctx, unit, &moved, BalanceTransactionType::RefundMoved, now).await?;
    if let Some(intent) = &moved.intent_id {
        unit.intents().release_refund(intent, moved.amount, now).await?;
    }
    let (debit, credit) = (Account::RefundsPayable, Account::CustomerBalance);
    let entry = RefundEntry { kind: EntryType::RefundMovedToBalance, subject: moved.id.as_str(), debit, credit };
    post(ctx, unit, &moved, entry, now).await?;
    Ok(moved)
}

async fn load_failed(unit: &mut dyn UnitOfWork, mode: Mode, id: &RefundId) -> Result<Refund, RefundDecisionError> {
    let refund = unit.refunds().lock(id).await?.filter(|refund| refund.mode == mode).ok_or(RefundDecisionError::NotFound)?;
    match (refund.status, refund.kind) {
        (RefundStatus::Failed, RefundType::Refund) => Ok(refund),
        _ => Err(RefundDecisionError::NotFailed),
    }
}
