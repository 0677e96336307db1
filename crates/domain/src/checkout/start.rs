//! Creates sessions, from a link or for an integrator.

use super::quote::check_total;
use super::submit::{CheckAppsError, check_apps};
use super::{
    BrowserMark, FormOptions, LineItem, PaymentStatus, SESSION_LIFETIME, SESSION_LIFETIME_MAX, START_WINDOW, Session, SessionMode,
    SessionStatus, SubscriptionTerms,
};
use crate::context::Context;
use crate::operation::{NoSpace, VisitorNetwork};
use crate::payment::{SandboxOff, lacks_sandbox};
use crate::pricing::{ITEMS_MAX, Metadata, Price, QUANTITY_MAX, lock_prices};
use crate::shared::{Amount, AmountError, CurrencyId, Mode, PaymentLinkId, SessionId, StorageError, Timestamp};
use crate::store::AppUnavailable;
use std::time::Duration;

/// Who starts a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visitor {
    /// Identifies the signed-in user, or the browser.
    pub name: String,
    pub browser: Option<BrowserMark>,
    /// Counted by it if the store has more unsubmitted sessions than it keeps.
    pub network: VisitorNetwork,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("Sorry, the page you visited does not exist.")]
    NotFound,
    /// The link is archived.
    #[error("This link is no longer active")]
    Inactive,
    /// It sells an app that the store does not offer any more.
    #[error(transparent)]
    AppUnavailable(#[from] AppUnavailable),
    /// Nobody could pay the session.
    #[error(transparent)]
    SandboxOff(#[from] SandboxOff),
    #[error(transparent)]
    NoSpace(#[from] NoSpace),
    /// The total is out of range.
    #[error(transparent)]
    Amount(#[from] AmountError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why items cannot be sold together.
#[derive(Debug, thiserror::Error)]
pub enum ItemsError {
    #[error("line_items must name 1 to 20 different active prices of this mode, each with a quantity from 1 to 1000000")]
    Unsaleable,
    #[error("Currency not configured for price")]
    CurrencyNotConfigured,
    #[error("the total of line_items is out of range")]
    Total(#[from] AmountError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, thiserror::Error)]
pub enum CreateSessionError {
    #[error(transparent)]
    Items(#[from] ItemsError),
    #[error("mode does not fit the items")]
    Mode,
    #[error("expires_at must be between now and 30 days from now")]
    BadExpiry,
    /// Nobody could pay the session.
    #[error(transparent)]
    SandboxOff(#[from] SandboxOff),
    #[error(transparent)]
    NoSpace(#[from] NoSpace),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<CheckAppsError> for StartError {
    fn from(error: CheckAppsError) -> Self {
        match error {
            CheckAppsError::AppUnavailable(error) => Self::AppUnavailable(error),
            CheckAppsError::Storage(error) => Self::Storage(error),
        }
    }
}

/// A session as an integrator requests it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    pub mode: Mode,
    /// Absent: derived from the items.
    pub kind: Option<SessionMode>,
    pub items: Vec<LineItem>,
    /// Absent: the first item's own currency.
    pub currency_id: Option<CurrencyId>,
    pub form: FormOptions,
    pub terms: SubscriptionTerms,
    pub requires_cross_sell: bool,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    pub metadata: Metadata,
    pub expires_at: Option<Timestamp>,
}

/// Starts a link. Repeated starts of one link by one visitor within [`START_WINDOW`] return the same session. Refused if nobody could pay
/// it because the sandbox is off.
#[tracing::instrument(skip_all, fields(link = %link_id))]
pub async fn start(ctx: &Context, link_id: &PaymentLinkId, visitor: &Visitor) -> Result<SessionId, StartError> {
    require_space(ctx)?;
    let now = ctx.now();
    let mut unit = ctx.store.begin().await?;
    let link = unit.links().find(link_id).await?.ok_or(StartError::NotFound)?;
    if !link.active {
        return Err(StartError::Inactive);
    }
    if lacks_sandbox(ctx, unit.as_mut(), link.mode).await? {
        return Err(SandboxOff.into());
    }
    let id = SessionId::new(now, ctx.random.as_ref());
    let key = format!("{link_id}:{}", visitor.name);
    let claimed = unit.sessions().claim_start(&key, &id, now, now.minus(START_WINDOW)).await?;
    if claimed == id {
        let ids: Vec<_> = link.items.iter().map(|item| item.price_id.clone()).collect();
        let sold = unit.prices().find_with_products(&ids).await?;
        check_apps(unit.as_mut(), &sold).await?;
        let prices: Vec<_> = sold.into_iter().map(|item| item.price).collect();
        check_total(&link.items, &prices, &link.currency_id)?;
        lock_prices(unit.as_mut(), &prices).await?;
        let session = Session {
            mode: link.mode,
            kind: SessionMode::of(&prices),
            link_id: Some(link.id),
            browser: visitor.browser.clone(),
            form: link.form,
            terms: link.terms,
            requires_cross_sell: link.requires_cross_sell,
            success_url: link.redirect_url,
            metadata: link.metadata,
            ..empty_session(id, link.items, link.currency_id, now, now.plus(SESSION_LIFETIME))
        };
        unit.sessions().insert_started(&session, &visitor.network).await?;
    }
    unit.commit().await?;
    Ok(claimed)
}

/// Creates a session for an integrator. Refused like [`start`] while nobody could pay it.
#[tracing::instrument(skip_all)]
pub async fn create_session(ctx: &Context, new: NewSession) -> Result<SessionId, CreateSessionError> {
    require_space(ctx)?;
    let now = ctx.now();
    let expires_at = new.expires_at.unwrap_or(now.plus(SESSION_LIFETIME));
    if expires_at <= now || expires_at.since(now) > SESSION_LIFETIME_MAX.saturating_add(Duration::from_secs(60)) {
        return Err(CreateSessionError::BadExpiry);
    }
    let mut unit = ctx.store.begin().await?;
    if lacks_sandbox(ctx, unit.as_mut(), new.mode).await? {
        return Err(SandboxOff.into());
    }
    let CheckedItems { currency_id, prices } = check_items(unit.as_mut(), new.mode, &new.items, new.currency_id).await?;
    let kind = new.kind.unwrap_or_else(|| SessionMode::of(&prices));
    if !kind.fits(&prices) {
        return Err(CreateSessionError::Mode);
    }
    lock_prices(unit.as_mut(), &prices).await?;
    let session = Session {
        mode: new.mode,
        kind,
        form: new.form,
        terms: new.terms,
        requires_cross_sell: new.requires_cross_sell,
        success_url: new.success_url,
        cancel_url: new.cancel_url,
        metadata: new.metadata,
        ..empty_session(SessionId::new(now, ctx.random.as_ref()), new.items, currency_id, now, expires_at)
    };
    unit.sessions().insert(&session).await?;
    unit.commit().await?;
    Ok(session.id)
}

fn require_space(ctx: &Context) -> Result<(), NoSpace> {
    if ctx.disk.shortage().is_some() { Err(NoSpace) } else { Ok(()) }
}

/// Items that can be sold together.
pub struct CheckedItems {
    /// A currency in which all of them are offered.
    pub currency_id: CurrencyId,
    pub prices: Vec<Price>,
}

/// Checks that all items name distinct active prices of this mode that are offered in one currency.
pub async fn check_items(
    unit: &mut dyn crate::storage::UnitOfWork,
    mode: Mode,
    items: &[LineItem],
    currency: Option<CurrencyId>,
) -> Result<CheckedItems, ItemsError> {
    let is_valid = |item: &LineItem| (1..=QUANTITY_MAX).contains(&item.quantity);
    if items.is_empty() || items.len() > ITEMS_MAX || !items.iter().all(is_valid) {
        return Err(ItemsError::Unsaleable);
    }
    let mut ids: Vec<_> = items.iter().map(|item| item.price_id.clone()).collect();
    ids.sort();
    ids.dedup();
    let prices = unit.prices().find_all(&ids).await?;
    if ids.len() != items.len() || prices.len() != ids.len() || prices.iter().any(|price| !price.active || price.mode != mode) {
        return Err(ItemsError::Unsaleable);
    }
    let first = prices.iter().find(|price| price.id == items[0].price_id).ok_or(ItemsError::Unsaleable)?;
    let currency = currency.unwrap_or_else(|| first.currency_id.clone());
    if prices.iter().any(|price| price.unit_amount_in(&currency).is_none()) {
        return Err(ItemsError::CurrencyNotConfigured);
    }
    check_total(items, &prices, &currency)?;
    Ok(CheckedItems { currency_id: currency, prices })
}

fn empty_session(id: SessionId, items: Vec<LineItem>, currency_id: CurrencyId, now: Timestamp, expires_at: Timestamp) -> Session {
    Session {
        id,
        mode: Mode::Test,
        kind: SessionMode::default(),
        status: SessionStatus::Open,
        payment_status: PaymentStatus::Unpaid,
        link_id: None,
        items,
        currency_id,
        form: FormOptions::default(),
        terms: SubscriptionTerms::default(),
        requires_cross_sell: false,
        success_url: None,
        cancel_url: None,
        browser: None,
        payer: None,
        customer_id: None,
        contact: None,
        method_id: None,
        intent_id: None,
        invoice_id: None,
        subscription_ids: Vec::new(),
        mandate_id: None,
        stake_id: None,
        trial_end: None,
        amount_total: Amount::ZERO,
        metadata: Metadata::new(),
        expires_at,
        created_at: now,
        updated_at: now,
        version: 0,
    }
}
