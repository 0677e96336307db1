//! Manages payment links, and sessions that integrators create.

use super::start::{CheckedItems, check_items};
use super::{
    CreateSessionError, FormOptions, ItemsError, LineItem, NewSession, PaymentLink, Session, SubscriptionTerms, TermsError, create_session,
};
use crate::context::Context;
use crate::customer::PageInfo;
use crate::payment::UpdateMetadataError;
use crate::pricing::{Metadata, QUANTITY_MAX, lock_prices};
use crate::shared::{
    CurrencyId, DESCRIPTION_MAX, FindError, InputError, Mode, PaymentLinkId, SessionId, StorageError, Text, check_address, check_metadata,
    check_name, check_text,
};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// The range of an adjustable quantity is empty, or too large.
#[derive(Debug, thiserror::Error)]
#[error("adjustable_quantity must have a minimum of at least 1 and a maximum that is 0 or not below it")]
pub struct BadQuantityRange;

/// Why the fields of a link are rejected, whether it is new or changed.
#[derive(Debug, thiserror::Error)]
pub enum LinkFieldsError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Range(#[from] BadQuantityRange),
    #[error(transparent)]
    Terms(#[from] TermsError),
}

#[derive(Debug, thiserror::Error)]
pub enum CreateLinkError {
    #[error(transparent)]
    Fields(#[from] LinkFieldsError),
    #[error(transparent)]
    Items(#[from] ItemsError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

#[derive(Debug, thiserror::Error)]
pub enum ChangeLinkError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Fields(#[from] LinkFieldsError),
    #[error(transparent)]
    Items(#[from] ItemsError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Why a session of an integrator is not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenSessionError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Range(#[from] BadQuantityRange),
    #[error(transparent)]
    Terms(#[from] TermsError),
    #[error(transparent)]
    Create(#[from] CreateSessionError),
}

/// Fields of a link. Absent ones keep their value, or are empty in a new link.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LinkFields {
    pub active: Option<bool>,
    pub name: Option<String>,
    pub items: Option<Vec<LineItem>>,
    /// Absent in a new link: the first item's own currency.
    pub currency_id: Option<CurrencyId>,
    pub collect_phone: Option<bool>,
    pub require_address: Option<bool>,
    pub terms: Option<SubscriptionTerms>,
    pub requires_cross_sell: Option<bool>,
    pub custom_message: Option<Text>,
    /// `Some(None)`: removes it, so that the confirmation page is shown.
    pub redirect_url: Option<Option<String>>,
    pub metadata: Option<Metadata>,
    pub page_info: Option<PageInfo>,
}

#[tracing::instrument(skip_all)]
pub async fn create_link(ctx: &Context, mode: Mode, fields: LinkFields) -> Result<PaymentLinkId, CreateLinkError> {
    let mut unit = ctx.store.begin().await?;
    // A price that is being replaced must not get into a new link.
    unit.lock(MANAGEMENT).await?;
    let id = new_link(ctx, unit.as_mut(), mode, fields).await?;
    unit.commit().await?;
    Ok(id)
}

/// As [`create_link`], in a unit of work that holds the management lock.
pub async fn new_link(ctx: &Context, unit: &mut dyn UnitOfWork, mode: Mode, fields: LinkFields) -> Result<PaymentLinkId, CreateLinkError> {
    let now = ctx.now();
    let items = fields.items.clone().ok_or(LinkFieldsError::Input(InputError::Required("line_items")))?;
    let CheckedItems { currency_id, prices } = check_items(unit, mode, &items, fields.currency_id.clone()).await?;
    lock_prices(unit, &prices).await?;
    let blank = PaymentLink {
        id: PaymentLinkId::new(now, ctx.random.as_ref()),
        mode,
        active: true,
        name: String::new(),
        items,
        currency_id,
        form: FormOptions::default(),
        terms: SubscriptionTerms::default(),
        requires_cross_sell: false,
        custom_message: Text::default(),
        redirect_url: None,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    };
    let mut link = with_fields(blank, fields)?;
    if link.name.is_empty() {
        // As in the reference kit, a link without a name gets the name of its first product.
        let prices = unit.prices().find_all(&[link.items[0].price_id.clone()]).await?;
        let products: Vec<_> = prices.iter().map(|price| price.product_id.clone()).collect();
        link.name = unit.products().find_all(&products).await?.first().map(|product| product.name.clone()).unwrap_or_default();
    }
    unit.links().insert(&link).await?;
    Ok(link.id)
}

/// Changes a link. Sessions that were started from it stay unchanged.
#[tracing::instrument(skip_all, fields(link = %id))]
pub async fn change_link(ctx: &Context, mode: Mode, id: &PaymentLinkId, fields: LinkFields) -> Result<(), ChangeLinkError> {
    let mut unit = ctx.store.begin().await?;
    unit.lock(MANAGEMENT).await?;
    let link = find_link(unit.as_mut(), mode, id).await?;
    let changes_items = fields.items.is_some() || fields.currency_id.is_some();
    let link = with_fields(PaymentLink { updated_at: ctx.now(), ..link }, fields)?;
    if changes_items {
        let CheckedItems { prices, .. } = check_items(unit.as_mut(), mode, &link.items, Some(link.currency_id.clone())).await?;
        lock_prices(unit.as_mut(), &prices).await?;
    }
    unit.links().update(&link).await?;
    unit.commit().await?;
    Ok(())
}

pub async fn find_link(unit: &mut dyn UnitOfWork, mode: Mode, id: &PaymentLinkId) -> Result<PaymentLink, FindError> {
    unit.links().find(id).await?.filter(|link| link.mode == mode).ok_or(FindError::NotFound)
}

/// Creates a session for an integrator after checking its texts and ranges.
#[tracing::instrument(skip_all)]
pub async fn open_session(ctx: &Context, new: NewSession) -> Result<SessionId, OpenSessionError> {
    check_ranges(&new.items)?;
    check_metadata(&new.metadata)?;
    let success_url = new.success_url.as_deref().map(|url| check_address("success_url", url)).transpose()?;
    let cancel_url = new.cancel_url.as_deref().map(|url| check_address("cancel_url", url)).transpose()?;
    let terms = new.terms.clone().checked()?;
    Ok(create_session(ctx, NewSession { success_url, cancel_url, terms, ..new }).await?)
}

/// Replaces the metadata of a session, the only part that an integrator can change.
#[tracing::instrument(skip_all, fields(session = %id))]
pub async fn update_session_metadata(ctx: &Context, mode: Mode, id: &SessionId, metadata: Metadata) -> Result<(), UpdateMetadataError> {
    check_metadata(&metadata)?;
    loop {
        let mut unit = ctx.store.begin().await?;
        let session = find_session(unit.as_mut(), mode, id).await?;
        let updated = Session { metadata: metadata.clone(), updated_at: ctx.now(), ..session };
        if unit.sessions().update(&updated).await? {
            unit.commit().await?;
            return Ok(());
        }
    }
}

pub async fn find_session(unit: &mut dyn UnitOfWork, mode: Mode, id: &SessionId) -> Result<Session, FindError> {
    unit.sessions().find(id).await?.filter(|session| session.mode == mode).ok_or(FindError::NotFound)
}

fn with_fields(mut link: PaymentLink, fields: LinkFields) -> Result<PaymentLink, LinkFieldsError> {
    link.active = fields.active.unwrap_or(link.active);
    if let Some(name) = fields.name {
        link.name = check_name("name", &name)?;
    }
    if let Some(items) = fields.items {
        check_ranges(&items)?;
        link.items = items;
    }
    link.currency_id = fields.currency_id.unwrap_or(link.currency_id);
    link.form.collect_phone = fields.collect_phone.unwrap_or(link.form.collect_phone);
    link.form.require_address = fields.require_address.unwrap_or(link.form.require_address);
    link.form.page_info = fields.page_info.unwrap_or(link.form.page_info);
    if let Some(terms) = fields.terms {
        link.terms = terms.checked()?;
    }
    link.requires_cross_sell = fields.requires_cross_sell.unwrap_or(link.requires_cross_sell);
    if let Some(message) = fields.custom_message {
        let check = |text: &str| check_text("custom_message", text, DESCRIPTION_MAX);
        link.custom_message = Text { en: check(&message.en)?, zh: check(&message.zh)? };
    }
    if let Some(url) = fields.redirect_url {
        link.redirect_url = url.map(|url| check_address("redirect.url", &url)).transpose()?;
    }
    if let Some(metadata) = fields.metadata {
        check_metadata(&metadata)?;
        link.metadata = metadata;
    }
    Ok(link)
}

fn check_ranges(items: &[LineItem]) -> Result<(), BadQuantityRange> {
    let are_valid = items.iter().filter_map(|item| item.adjustable).all(|range| {
        let maximum = if range.maximum == 0 { QUANTITY_MAX } else { range.maximum };
        (1..=maximum).contains(&range.minimum) && maximum <= QUANTITY_MAX
    });
    if are_valid { Ok(()) } else { Err(BadQuantityRange) }
}
