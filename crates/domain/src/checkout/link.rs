//! Payment links: what a seller publishes, and what a session is started from.

use super::SubscriptionTerms;
use crate::customer::PageInfo;
use crate::pricing::{CatalogueFilter, Metadata};
use crate::shared::{Amount, CurrencyId, Listed, Mode, Page, PaymentLinkId, PriceId, StorageError, Text, Timestamp};
use async_trait::async_trait;

/// A price in a link or a session, and how many of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineItem {
    pub price_id: PriceId,
    pub quantity: u64,
    /// Whether the buyer may change the quantity, and between which bounds.
    pub adjustable: Option<QuantityRange>,
    /// The price of a longer cycle that was chosen instead.
    pub upsell: Option<PriceId>,
    /// Whether it was offered beside the others and taken.
    pub cross_sell: bool,
    /// What the buyer chose to pay for the whole item, in the session's currency.
    pub custom_amount: Option<Amount>,
}

impl LineItem {
    #[must_use]
    pub const fn new(price_id: PriceId, quantity: u64) -> Self {
        Self { price_id, quantity, adjustable: None, upsell: None, cross_sell: false, custom_amount: None }
    }

    /// The price that is paid.
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

/// What a form asks for beyond name and mail, and what it says.
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
    /// Whether what is offered beside the items must be taken.
    pub requires_cross_sell: bool,
    /// Shown when a purchase is complete.
    pub custom_message: Text,
    /// Where the confirmation leads the buyer on to: the `success_url` of the sessions that are started from it.
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
    async fn list(&mut self, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Listed<PaymentLink>, StorageError>;
}
