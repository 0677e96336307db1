//! Payment links: published by a seller, and the templates of sessions.

use super::SubscriptionTerms;
use crate::customer::PageInfo;
use crate::pricing::{CatalogueFilter, Metadata};
use crate::shared::{Amount, CurrencyId, Listed, Mode, Page, PaymentLinkId, PriceId, StorageError, Text, Timestamp};
use async_trait::async_trait;

/// A price with a quantity, in a link or a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineItem {
    pub price_id: PriceId,
    pub quantity: u64,
    /// The range in which the buyer can change the quantity. `None`: it is fixed.
    pub adjustable: Option<QuantityRange>,
    /// The upsell price that was chosen instead of `price_id`.
    pub upsell: Option<PriceId>,
    /// Whether it was added as a cross-sell.
    pub cross_sell: bool,
    /// The amount that the buyer chose for the whole item, in the session's currency.
    pub custom_amount: Option<Amount>,
}

impl LineItem {
    #[must_use]
    pub const fn new(price_id: PriceId, quantity: u64) -> Self {
        Self { price_id, quantity, adjustable: None, upsell: None, cross_sell: false, custom_amount: None }
    }

    /// The price that is sold: the upsell if chosen, else `price_id`.
    #[must_use]
    pub fn sold(&self) -> &PriceId {
        self.upsell.as_ref().unwrap_or(&self.price_id)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuantityRange {
    pub minimum: u64,
    pub maximum: u64,
}

/// Fields that the form requires beyond name and email, and its texts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FormOptions {
    pub collect_phone: bool,
    pub require_address: bool,
    pub page_info: PageInfo,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PaymentLink {
    pub id: PaymentLinkId,
    pub mode: Mode,
    pub active: bool,
    pub name: String,
    pub items: Vec<LineItem>,
    pub currency_id: CurrencyId,
    pub form: FormOptions,
    pub terms: SubscriptionTerms,
    /// Whether the offered cross-sell must be added.
    pub requires_cross_sell: bool,
    /// Shown when a purchase is complete.
    pub custom_message: Text,
    /// The `success_url` of sessions that are started from this link.
    pub redirect_url: Option<String>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[async_trait]
pub trait PaymentLinks: Send {
    async fn insert(&mut self, link: &PaymentLink) -> Result<(), StorageError>;
    async fn update(&mut self, link: &PaymentLink) -> Result<(), StorageError>;
    async fn find(&mut self, id: &PaymentLinkId) -> Result<Option<PaymentLink>, StorageError>;
    async fn find_all(&mut self, ids: &[PaymentLinkId]) -> Result<Vec<PaymentLink>, StorageError>;
    /// The links that sell a price, archived ones included, in id order.
    async fn of_price(&mut self, price: &PriceId) -> Result<Vec<PaymentLink>, StorageError>;
    async fn list(&mut self, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Listed<PaymentLink>, StorageError>;
}
