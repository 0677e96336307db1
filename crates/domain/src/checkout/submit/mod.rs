//! Submits the checkout form: checks the contact, reserves stock, drafts invoices and begins the payment.

mod check_order;
mod choose_method;
mod sold_items;
mod write_order;

pub(super) use choose_method::open_attempt;
pub(super) use sold_items::{CheckAppsError, SoldItemsError, check_apps, group_names, load_items, load_sold, names_of};

use super::card::{CardForm, OpenCardError, UndecidedPaymentError, end_card, open_card};
use super::reserve_stock::reserved_of;
use super::{BrowserMark, Expanded, QuoteRequest, SessionMode, expand, quote};
use crate::access::User;
use crate::context::Context;
use crate::customer::{ContactForm, ContactRequirements, ValidationErrors, check_contact};
use crate::operation::VisitorNetwork;
use crate::payment::{CardFormError, RailError, SettlementError};
use crate::pricing::{CartError, CatalogueItem, CustomAmountError, QuantityError, check_quantity};
use crate::shared::{Address, Amount, AmountError, AttemptId, CurrencyId, MethodId, SessionId, StorageError};
use crate::store::AppUnavailable;
use check_order::{Loaded, check_custom, check_total, load};
use choose_method::{OpenAttempt, compare_open_attempt};
use write_order::write_order;

/// Attempts before giving up when other units of work change the session.
const MAX_TRIES: u32 = 8;

/// A submitted form and its sender.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub session_id: SessionId,
    pub payer: User,
    pub browser: Option<BrowserMark>,
    pub network: VisitorNetwork,
    pub form: ContactForm,
    pub method_id: MethodId,
    pub currency_id: CurrencyId,
    /// The total that the payer saw, in base units of the currency, deposit included. A different total rejects the submit.
    pub expected_total: Option<Amount>,
}

/// The session after a submit, and what the page does next. For a one-time payment that was just written, the session contains only what
/// the submit loaded: no link, and only the chosen method and currency.
#[derive(Debug, Clone)]
pub struct Submitted {
    pub session: Expanded,
    pub card: Option<CardForm>,
    /// Whether calling [`super::fast_pay`] can succeed.
    pub may_pay_fast: bool,
}

/// Why a submit is rejected.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The session belongs to another user.
    #[error("Sorry, you are not authorized to access this page.")]
    Forbidden,
    #[error("This link has expired...")]
    Expired,
    #[error("Seems this checkoutSession is not configured properly")]
    Misconfigured,
    /// The order grants an app that the store does not offer any more.
    #[error(transparent)]
    AppUnavailable(#[from] AppUnavailable),
    /// The first period of a subscription would begin at a time that may be wrong.
    #[error("The server's clock may be wrong. The store has to correct or confirm it.")]
    ClockNotTrusted,
    #[error("This payment method is not supported")]
    MethodNotSupported,
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    #[error("Multiple items with custom unit amount are not supported")]
    SeveralCustomAmounts,
    #[error(transparent)]
    CustomAmount(#[from] CustomAmountError),
    /// The customer has overdue invoices.
    #[error("Please pay your overdue invoices first")]
    CustomerLimited,
    /// The payer's other open orders reserve as much limited stock as one payer can.
    #[error("You have {0} open orders that reserve limited items. Please complete one of them, or try again in half an hour.")]
    TooManyReservedOrders(u32),
    /// As many submitted orders from the visitor's network as one visitor may have wait for their payment.
    #[error("Too many orders from your network are waiting for payment. Please complete one of them, or try again later.")]
    TooManyWaitingOrders,
    /// The offered cross-sell must be added.
    #[error("Please add the required item to your order")]
    RequireCrossSell,
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// Not what the payer saw. `text` is the new total with the currency's symbol.
    #[error("The total of this order is now {text}. Please check it and confirm again.")]
    TotalChanged { total: Amount, text: String },
    #[error("Validate failed")]
    Fields(ValidationErrors),
    /// Another payment for the same order is undecided.
    #[error("A payment for this order is being processed. Please wait.")]
    PaymentInFlight,
    #[error("amount is out of range")]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Rail(#[from] RailError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<CartError> for SubmitError {
    fn from(error: CartError) -> Self {
        match error {
            CartError::CurrencyNotConfigured => Self::CurrencyNotConfigured,
            CartError::SeveralCustomAmounts => Self::SeveralCustomAmounts,
            CartError::Amount(error) => Self::Amount(error),
        }
    }
}

impl From<CardFormError> for SubmitError {
    fn from(error: CardFormError) -> Self {
        match error {
            CardFormError::Rail(error) => Self::Rail(error),
            CardFormError::Storage(error) => Self::Storage(error),
        }
    }
}

impl From<SettlementError> for SubmitError {
    fn from(error: SettlementError) -> Self {
        UndecidedPaymentError::from(error).into()
    }
}

impl From<UndecidedPaymentError> for SubmitError {
    fn from(error: UndecidedPaymentError) -> Self {
        match error {
            UndecidedPaymentError::PaymentInFlight => Self::PaymentInFlight,
            UndecidedPaymentError::Storage(error) => Self::Storage(error),
        }
    }
}

impl From<OpenCardError> for SubmitError {
    fn from(error: OpenCardError) -> Self {
        match error {
            OpenCardError::MethodNotSupported => Self::MethodNotSupported,
            OpenCardError::Rail(error) => Self::Rail(error),
            OpenCardError::Undecided(error) => error.into(),
        }
    }
}

impl From<SoldItemsError> for SubmitError {
    fn from(error: SoldItemsError) -> Self {
        match error {
            SoldItemsError::Misconfigured => Self::Misconfigured,
            SoldItemsError::AppUnavailable(error) => Self::AppUnavailable(error),
            SoldItemsError::Storage(error) => Self::Storage(error),
        }
    }
}

/// The result of one try.
enum Step {
    /// It is paid already, or there is nothing to pay.
    Complete,
    /// Written. If there is an attempt, a card form is opened for it.
    Open { session: Box<Expanded>, may_pay_fast: bool },
    /// A card attempt for a different order is open and must be canceled first.
    Replace(AttemptId),
    /// There is not enough stock, unless the session changed while it was read.
    InsufficientStock { error: QuantityError, read_version: u64 },
    /// Another unit of work changed the session.
    Raced,
}

/// Submits a session. A repeated submit, from another tab or after a lost response, leads to the same intent and attempt.
#[tracing::instrument(skip_all, fields(session = %submission.session_id))]
pub async fn submit(ctx: &Context, submission: &Submission) -> Result<Submitted, SubmitError> {
    for _ in 0..MAX_TRIES {
        let step = match try_submit(ctx, submission).await {
            // The database resolved a deadlock, or a concurrent settlement changed the rows.
            Err(SubmitError::Storage(StorageError::Conflict)) => Step::Raced,
            step => step?,
        };
        match step {
            Step::Complete => {
                let mut unit = ctx.store.read().await?;
                let session =
                    expand(ctx, unit.as_mut(), &submission.session_id, Some(&submission.payer.did)).await?.ok_or(SubmitError::NotFound)?;
                return Ok(Submitted { session, card: None, may_pay_fast: false });
            }
            Step::Open { session, may_pay_fast } => {
                let card = match (&session.attempt, &session.methods[..], &session.currencies[..]) {
                    (Some(attempt), [method], [currency]) => Some(open_card(ctx, method, currency, attempt).await?),
                    _ => None,
                };
                if session.session.kind == SessionMode::Payment {
                    return Ok(Submitted { session: *session, card, may_pay_fast });
                }
                let mut unit = ctx.store.read().await?;
                let session =
                    expand(ctx, unit.as_mut(), &submission.session_id, Some(&submission.payer.did)).await?.ok_or(SubmitError::NotFound)?;
                return Ok(Submitted { session, card, may_pay_fast });
            }
            Step::Replace(attempt) => end_card(ctx, &attempt).await?,
            Step::InsufficientStock { error, read_version } => {
                // The session's own reservation may just have become a sale, which then looks like stock taken by another session.
                let now = ctx.store.read().await?.sessions().find(&submission.session_id).await?;
                if now.is_none_or(|session| session.version == read_version) {
                    return Err(error.into());
                }
            }
            Step::Raced => {}
        }
    }
    Err(SubmitError::PaymentInFlight)
}

/// One try: checks what is loaded, and writes everything in one unit of work before any network call.
async fn try_submit(ctx: &Context, submission: &Submission) -> Result<Step, SubmitError> {
    let now = ctx.now();
    let Some(loaded) = load(ctx, submission, now).await? else { return Ok(Step::Complete) };
    let Loaded { session, method, currency, items, reserved, customer_now, .. } = &loaded;
    for (item, CatalogueItem { price, .. }) in session.items.iter().zip(items) {
        if let Err(error) = check_quantity(price, item.quantity, reserved_of(reserved, &price.id)) {
            return Ok(Step::InsufficientStock { error, read_version: session.version });
        }
    }
    let requirements =
        ContactRequirements { phone: session.form.collect_phone, address: session.form.require_address, card: method.kind.is_card() };
    let mut contact = check_contact(&submission.form, requirements, &session.form.page_info).map_err(SubmitError::Fields)?;
    // A wallet's form shows the address only if the session requires one; a country alone is the page's preset.
    if !requirements.address && !requirements.card && contact.address.has_only_country() {
        contact.address = Address::default();
    }
    check_custom(session, items, currency)?;
    let without_trial = loaded.trial_used.then(|| session.terms.without_trial());
    let terms = without_trial.as_ref().unwrap_or(&session.terms);
    let quote = quote(&QuoteRequest { terms, ..QuoteRequest::of(session, items, !method.kind.is_card()) }, currency, *customer_now)?;
    check_total(submission, &quote, currency)?;
    match compare_open_attempt(&loaded, &quote)? {
        OpenAttempt::Kept => {}
        OpenAttempt::Replaced(attempt) => return Ok(Step::Replace(attempt)),
    }
    write_order(ctx, submission, loaded, contact, quote, now).await
}
