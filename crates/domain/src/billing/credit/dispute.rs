//! Records disputes as a card network reports them.

use super::NoteError;
use super::card_payment::{CardPaymentState, find_card_payment};
use super::dispute_change::changes;
use super::dispute_posting::DisputePosting;
use super::undo::lock_paid_by;
use crate::billing::clock::time_of_customer;
use crate::billing::{Notification, PostingError, notify};
use crate::context::Context;
use crate::payment::{Dispute, Intent, Method, ProviderDispute, SettlementError};
use crate::shared::{Amount, CurrencyId, DisputeId, StorageError};
use crate::storage::UnitOfWork;

/// Attempts before giving up when another unit of work changed the same rows.
const MAX_TRIES: u32 = 8;

#[derive(Debug, thiserror::Error)]
pub enum DisputeError {
    /// The disputed payment does not belong to this store.
    #[error("no payment of this store is disputed")]
    UnknownPayment,
    /// The payment itself is not settled yet; the dispute is recorded after it.
    #[error("the disputed payment is not decided yet")]
    Undecided,
    #[error("the dispute is in {dispute}, its payment in {payment}")]
    OtherCurrency { dispute: String, payment: String },
    /// The dispute or its credit notes could not be posted.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The payment's open attempt could not be settled.
    #[error(transparent)]
    Settlement(SettlementError),
}

impl From<SettlementError> for DisputeError {
    fn from(error: SettlementError) -> Self {
        match error {
            SettlementError::Contended => Self::Note(PostingError::Contended.into()),
            SettlementError::Storage(error) => Self::Note(error.into()),
            error => Self::Settlement(error),
        }
    }
}

/// Records the current state of a dispute at its provider: status, funds and fee. Idempotent, and safe to run concurrently: recorded
/// changes are not posted again.
///
/// # Errors
/// [`DisputeError::UnknownPayment`] when the payment does not belong to this store, [`DisputeError::Undecided`] when it is not settled yet.
#[tracing::instrument(skip_all, fields(method = %method.id, dispute = provider.provider_id))]
pub async fn record_dispute(ctx: &Context, method: &Method, provider: &ProviderDispute) -> Result<(), DisputeError> {
    let (intent, currency) = match find_card_payment(ctx, method, &provider.payment).await? {
        CardPaymentState::Settled { intent, currency } => (intent, currency),
        CardPaymentState::Undecided => return Err(DisputeError::Undecided),
        CardPaymentState::Unknown => return Err(DisputeError::UnknownPayment),
    };
    if currency.contract != provider.currency {
        return Err(DisputeError::OtherCurrency { dispute: provider.currency.clone(), payment: currency.contract });
    }
    for _ in 0..MAX_TRIES {
        match try_record(ctx, method, &intent, provider).await {
            // When two callers record a new dispute at once, one of them finds the other's row on its next try.
            Err(NoteError::Posting(PostingError::Contended | PostingError::Storage(StorageError::Duplicate(_)))) => {}
            done => return Ok(done?),
        }
    }
    Err(NoteError::from(PostingError::Contended).into())
}

async fn try_record(ctx: &Context, method: &Method, intent: &Intent, provider: &ProviderDispute) -> Result<(), NoteError> {
    let mut unit = ctx.store.begin().await?;
    let recorded = unit.disputes().lock(&method.id, &provider.provider_id).await?;
    let is_new = recorded.is_none();
    let before = match recorded {
        Some(recorded) => recorded,
        None => {
            let new = new_dispute(ctx, method, intent, provider);
            unit.disputes().insert(&new).await?;
            new
        }
    };
    let changes = changes(&before, provider);
    let fee_currency_id = match &before.fee_currency_id {
        Some(currency) => Some(currency.clone()),
        None => fee_currency(unit.as_mut(), method, &provider.fee_currency).await?,
    };
    let mut after = Dispute {
        // Once funds are withdrawn, the withdrawn amount is the one that is returned or lost.
        amount: if before.funds_withdrawn { before.amount } else { provider.amount },
        fee_currency_id,
        status: provider.status,
        funds_withdrawn: provider.funds_withdrawn,
        reason: provider.reason.clone(),
        respond_by: provider.respond_by,
        ..before.clone()
    };
    if !is_new && after == before && changes.is_empty() {
        return Ok(());
    }
    after.updated_at = ctx.now();
    if !changes.is_empty() {
        let paid = lock_paid_by(unit.as_mut(), &intent.id).await?;
        let at = time_of_customer(ctx, unit.as_mut(), &intent.customer_id).await?;
        let mut posting = DisputePosting { dispute: after, paid, at };
        for change in changes {
            posting.record(ctx, unit.as_mut(), change).await?;
        }
        after = posting.dispute;
    }
    if !unit.disputes().update(&before, &after).await? {
        return Err(PostingError::Contended.into());
    }
    if is_new || before.status != after.status {
        notify(ctx, unit.as_mut(), &Notification::Disputed(after.id.clone()), ctx.now()).await?;
    }
    unit.commit().await?;
    Ok(())
}

/// Builds a dispute without any posting yet.
fn new_dispute(ctx: &Context, method: &Method, intent: &Intent, provider: &ProviderDispute) -> Dispute {
    let now = ctx.now();
    Dispute {
        id: DisputeId::new(now, ctx.random.as_ref()),
        mode: intent.mode,
        method_id: method.id.clone(),
        provider_id: provider.provider_id.clone(),
        intent_id: intent.id.clone(),
        customer_id: intent.customer_id.clone(),
        amount: provider.amount,
        currency_id: intent.currency_id.clone(),
        fee: Amount::ZERO,
        fee_currency_id: None,
        status: provider.status,
        funds_withdrawn: false,
        movements: 0,
        reason: provider.reason.clone(),
        respond_by: provider.respond_by,
        credit_note_ids: Vec::new(),
        created_at: provider.created,
        updated_at: now,
    }
}

/// The method's currency with this name at the provider.
async fn fee_currency(unit: &mut dyn UnitOfWork, method: &Method, name: &str) -> Result<Option<CurrencyId>, StorageError> {
    let currencies = unit.methods().currencies(method.mode).await?;
    let found = currencies.into_iter().find(|currency| currency.method_id == method.id && currency.contract == name);
    Ok(found.map(|currency| currency.id))
}
