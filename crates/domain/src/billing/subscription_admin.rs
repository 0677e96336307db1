//! Changes of a subscription by the customer or the store, and why they can be rejected.

use super::{BillingError, CreditError, IllegalChange, Subscription, Threshold, Unbillable};
use crate::context::Context;
use crate::ledger::LedgerError;
use crate::payment::{CheckError, RailError};
use crate::pricing::{Metadata, QuantityError};
use crate::shared::{AmountError, DESCRIPTION_MAX, InputError, Mode, StorageError, SubscriptionId, check_metadata, check_text};
use crate::storage::UnitOfWork;

/// Who requests a change. Each use case decides what the requester may do; ownership of the subscription was checked before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requester {
    Customer,
    /// An owner, an admin or an API key.
    Store,
}

#[derive(Debug, thiserror::Error)]
pub enum ManageError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    #[error("Sorry, you are not authorized to access this page.")]
    Forbidden,
    #[error(transparent)]
    Illegal(#[from] IllegalChange),
    #[error("The time must lie in the future")]
    BadTime,
    #[error("A refund, or what becomes of the stake, is decided when the subscription ends at once")]
    DecidedAtTheEnd,
    #[error("The store has decided when this subscription ends")]
    StoreInitiated,
    #[error("This subscription cannot be resumed")]
    NotRecoverable,
    #[error("This subscription has ended")]
    Ended,
    #[error("Plan updates are not available")]
    NoPlans,
    /// The ordered quantity of the plan is not available.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error("The price of this change is another one by now, please look again")]
    PreviewChanged,
    #[error("The customer's wallet has to permit this plan first")]
    NeedsPermission,
    #[error("This payment method is not supported")]
    MethodNotSupported,
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    /// A credit note or refund that belongs to the change was rejected.
    #[error(transparent)]
    Credit(CreditError),
    /// A network or stake payment stands, and must be refunded instead.
    #[error("A part of this invoice is paid. Please refund the payment instead.")]
    PartlyPaid,
    #[error("This subscription holds no stake that could be moved")]
    NoStake,
    #[error("The stake does not hold that much")]
    StakeTooSmall,
    #[error("Nothing is overdue")]
    NothingOwed,
    /// Invoices that the stake secures are unpaid.
    #[error("Please pay your overdue invoices first")]
    UnpaidInvoices,
    /// The subscription is charged to a card, not to a wallet account.
    #[error("A card pays for this subscription. Funds can be added only where a wallet pays.")]
    CardFunds,
    #[error("No wallet permits the payments of this subscription")]
    NoPayer,
    /// The payer's account is the receiving one: networks decline such transfers.
    #[error("This account is the one that pays for the subscription. Please add funds from another account.")]
    OwnFunds,
    #[error("Please enter an amount above zero.")]
    NoFunds,
    /// `most`: a formatted amount with its currency.
    #[error("Please enter an amount of at most {most}.")]
    TooManyFunds { most: String },
    #[error("Card-based currency is not supported for overdue payment")]
    CardCurrency,
    #[error("A payment is on its way. Please wait for it.")]
    PaymentInFlight,
    /// The network declined, with its own message.
    #[error("{0}")]
    Refused(String),
    #[error("This item is not billed by usage")]
    NotMetered,
    #[error("The usage must lie in the current period, and not in the future")]
    UsageOutOfPeriod,
    #[error("This customer has a test clock already")]
    ClockTaken,
    #[error("Test clocks are for test mode only")]
    LiveClock,
    #[error(transparent)]
    Unbillable(#[from] Unbillable),
    /// Another unit of work changed the same rows.
    #[error("It was changed meanwhile, please try again")]
    Contended,
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Check(#[from] CheckError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(StorageError),
}

impl From<StorageError> for ManageError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Conflict => Self::Contended,
            error => Self::Storage(error),
        }
    }
}

impl From<BillingError> for ManageError {
    fn from(error: BillingError) -> Self {
        match error {
            BillingError::Orphan => Self::NotFound,
            // Only the engine's own batches return `Unwritable` and `Settlement`.
            BillingError::Contended | BillingError::Unwritable { .. } | BillingError::Settlement(_) => Self::Contended,
            BillingError::Credit(error) => Self::Credit(*error),
            BillingError::Amount(error) => Self::Amount(error),
            BillingError::Ledger(error) => Self::Ledger(error),
            BillingError::Rail(error) => Self::Rail(error),
            BillingError::Storage(error) => Self::Storage(error),
        }
    }
}

/// Finds a subscription of this mode; one of the other mode is not found.
pub async fn find_subscription(unit: &mut dyn UnitOfWork, mode: Mode, id: &SubscriptionId) -> Result<Subscription, ManageError> {
    let found = unit.subscriptions().find(id).await?;
    found.filter(|subscription| subscription.mode == mode).ok_or(ManageError::NotFound)
}

/// Fields of a subscription that the store can set; absent ones stay unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SubscriptionFields {
    pub description: Option<String>,
    /// Replaces all metadata.
    pub metadata: Option<Metadata>,
    /// A zero amount removes the threshold: usage is billed only at the end of its period.
    pub threshold: Option<Threshold>,
}

pub async fn update_subscription(ctx: &Context, mode: Mode, id: &SubscriptionId, fields: SubscriptionFields) -> Result<(), ManageError> {
    let SubscriptionFields { description, metadata, threshold } = fields;
    let description = description.as_deref().map(|text| check_text("description", text, DESCRIPTION_MAX)).transpose()?;
    if let Some(metadata) = &metadata {
        check_metadata(metadata)?;
    }
    let mut unit = ctx.store.begin().await?;
    let found = find_subscription(unit.as_mut(), mode, id).await?;
    let (description, metadata) = (description.unwrap_or(found.description), metadata.unwrap_or(found.metadata));
    let billing_threshold = match threshold {
        Some(threshold) => Some(threshold).filter(|threshold| !threshold.amount.is_zero()),
        None => found.billing_threshold,
    };
    save(unit.as_mut(), &Subscription { description, metadata, billing_threshold, updated_at: ctx.now(), ..found }).await?;
    unit.commit().await?;
    Ok(())
}

/// Resumes the billing of a subscription on hold. Does nothing if it is not on hold.
pub async fn resume_billing(ctx: &Context, id: &SubscriptionId) -> Result<(), ManageError> {
    let mut unit = ctx.store.begin().await?;
    let subscription = lock(unit.as_mut(), id).await?;
    if subscription.on_hold.is_some() {
        save(unit.as_mut(), &Subscription { on_hold: None, updated_at: ctx.now(), ..subscription }).await?;
        unit.commit().await?;
    }
    Ok(())
}

pub(super) async fn load(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Subscription, ManageError> {
    unit.subscriptions().find(id).await?.ok_or(ManageError::NotFound)
}

/// As [`load`], and locks the subscription until this unit of work ends.
pub(super) async fn lock(unit: &mut dyn UnitOfWork, id: &SubscriptionId) -> Result<Subscription, ManageError> {
    unit.subscriptions().lock(id).await?.ok_or(ManageError::NotFound)
}

/// Writes a changed subscription.
///
/// # Errors
/// [`ManageError::Contended`] when it was changed after it was read.
pub(super) async fn save(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<(), ManageError> {
    match unit.subscriptions().update(subscription).await? {
        true => Ok(()),
        false => Err(ManageError::Contended),
    }
}
