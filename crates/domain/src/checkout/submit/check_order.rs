//! Checks an order before anything is written.

use super::choose_method::{check_method, open_attempt};
use super::sold_items::load_items;
use super::{Submission, SubmitError};
use crate::billing::{Stake, time_of};
use crate::checkout::buyer::{has_used_trial, recurring_products};
use crate::checkout::cross_sell::cross_sell_price;
use crate::checkout::stake::stake_of;
use crate::checkout::{ChosenMethod, Quote, Session, SessionMode, SessionStatus, SubmitContext};
use crate::context::Context;
use crate::customer::CustomerStatus;
use crate::payment::{Attempt, Currency, Intent, Method};
use crate::pricing::{CatalogueItem, StockReservation, UnitPricing};
use crate::shared::Timestamp;

/// Everything read before anything is written. It is read outside the unit of work, so that others do not wait. The session's version
/// guards the decisions that are based on it, and stock is reserved by conditional updates.
pub(super) struct Loaded {
    pub session: Session,
    pub method: Method,
    pub currency: Currency,
    /// In the order of the session's items.
    pub items: Vec<CatalogueItem>,
    pub reserved: Vec<StockReservation>,
    /// The intent of an earlier submit.
    pub intent: Option<Intent>,
    pub attempt: Option<Attempt>,
    pub stake: Option<Stake>,
    pub customer_status: Option<CustomerStatus>,
    /// Whether the customer has used a free trial of one of the session's subscription products.
    pub trial_used: bool,
    /// The customer's current time.
    pub customer_now: Timestamp,
}

/// Loads and checks a session before a submit. `None`: it is complete.
pub(super) async fn load(ctx: &Context, submission: &Submission, now: Timestamp) -> Result<Option<Loaded>, SubmitError> {
    let mut unit = ctx.store.read().await?;
    let (method_id, currency_id) = (&submission.method_id, &submission.currency_id);
    let context = unit.sessions().load_for_submit(&submission.session_id, method_id, currency_id, &submission.payer.did).await?;
    let SubmitContext { session, chosen, customer_status } = context.ok_or(SubmitError::NotFound)?;
    if session.payer.as_ref().is_some_and(|payer| *payer != submission.payer.did) {
        return Err(SubmitError::Forbidden);
    }
    if session.status == SessionStatus::Complete {
        return Ok(None);
    }
    if session.is_expired(now) {
        return Err(SubmitError::Expired);
    }
    let ChosenMethod { method, currency } = check_method(ctx, unit.as_mut(), &session, chosen, method_id).await?;
    let items = load_items(unit.as_mut(), &session).await?;
    let (mut reserved, mut intent, mut attempt) = (Vec::new(), None, None);
    // The first submit writes the intent together with the first stock reservation: without an intent there is neither.
    if let Some(id) = &session.intent_id {
        reserved = unit.prices().reservations(&session.id).await?;
        intent = unit.intents().find(id).await?;
        attempt = open_attempt(unit.as_mut(), &session).await?;
    }
    if session.intent_id.is_none() && session.link_id.is_some() {
        // A soft limit: submits at the same time can exceed it by their number.
        let max = ctx.limits.waiting_orders_in(session.mode);
        if unit.sessions().count_waiting_of_visitor(&session.id, max).await? >= max {
            return Err(SubmitError::TooManyWaitingOrders);
        }
    }
    let stake = stake_of(unit.as_mut(), &session).await?;
    let (mut customer_now, mut trial_used, mut has_clock) = (now, false, false);
    if let Some(CustomerStatus { customer, has_overdue, .. }) = &customer_status {
        if *has_overdue {
            return Err(SubmitError::CustomerLimited);
        }
        if session.kind != SessionMode::Payment {
            let clock = unit.clocks().of_customer(&customer.id).await?;
            has_clock = clock.is_some();
            customer_now = time_of(ctx, unit.as_mut(), clock.map(|clock| clock.id).as_ref()).await?;
            trial_used = has_used_trial(unit.as_mut(), &session, &recurring_products(&items), &customer.id).await?;
        }
    }
    if session.kind != SessionMode::Payment && !has_clock && !ctx.trust.knows_time() {
        return Err(SubmitError::ClockNotTrusted);
    }
    if session.requires_cross_sell
        && !session.items.iter().any(|item| item.cross_sell)
        && cross_sell_price(unit.as_mut(), &session, &currency.id).await?.is_some()
    {
        return Err(SubmitError::RequireCrossSell);
    }
    Ok(Some(Loaded { session, method, currency, items, reserved, intent, attempt, stake, customer_status, trial_used, customer_now }))
}

/// Compares the total that the payer saw with the quote that the submit charges.
pub(super) fn check_total(submission: &Submission, quote: &Quote, currency: &Currency) -> Result<(), SubmitError> {
    let total = quote.total()?;
    if submission.expected_total.is_none_or(|expected| expected == total) {
        return Ok(());
    }
    let text = format!("{} {}", total.to_decimal(currency.decimals), currency.symbol);
    Err(SubmitError::TotalChanged { total, text })
}

/// Checks that the buyer's custom amount, or the proposed one, is allowed in the chosen currency.
pub(super) fn check_custom(session: &Session, items: &[CatalogueItem], currency: &Currency) -> Result<(), SubmitError> {
    for (item, CatalogueItem { price, .. }) in session.items.iter().zip(items) {
        if let Some(UnitPricing::Custom(custom)) = price.pricing_in(&currency.id) {
            // The amount was chosen in another currency and means something else in this one.
            let named = item.custom_amount.filter(|_| session.currency_id == currency.id);
            if named.is_none() && item.custom_amount.is_some() {
                return Err(SubmitError::CurrencyNotConfigured);
            }
            custom.check(named.unwrap_or_else(|| custom.proposed()), currency.decimals, currency.maximum_precision)?;
        }
    }
    Ok(())
}
