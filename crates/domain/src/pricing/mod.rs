//! Products, prices, what a cart costs and how much of it there is.

mod cart;
mod custom;
mod display;
mod manage;
mod recurring;
mod stake;
mod tiers;
mod unit_pricing;
mod upsell;

pub use cart::*;
pub use custom::*;
pub use display::*;
pub use manage::*;
pub use recurring::*;
pub use stake::*;
pub use tiers::*;
pub use unit_pricing::*;
pub use upsell::*;

use crate::access::Did;
use crate::shared::{Amount, CurrencyId, Listed, Mode, Page, PriceId, ProductId, SessionId, StorageError, Text, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// Names and values an integrator attaches; at most [`crate::shared::METADATA_MAX`] of them.
pub type Metadata = BTreeMap<String, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    pub id: ProductId,
    pub mode: Mode,
    pub active: bool,
    pub name: String,
    /// The Chinese name; absent: `name` in every language. The same holds for the two below.
    pub name_zh: Option<String>,
    pub description: String,
    pub description_zh: Option<String>,
    pub images: Vec<String>,
    pub features: Vec<String>,
    pub unit_label: Option<String>,
    pub unit_label_zh: Option<String>,
    pub statement_descriptor: Option<String>,
    pub default_price_id: Option<PriceId>,
    /// The app that a purchase entitles to.
    pub app: Option<Did>,
    /// Offered beside it at checkout.
    pub cross_sells_to: Option<ProductId>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Product {
    /// What it is called wherever an item is named.
    #[must_use]
    pub fn localized_name(&self) -> Text {
        Text::with_fallback(&self.name, self.name_zh.as_deref())
    }

    #[must_use]
    pub fn localized_description(&self) -> Text {
        Text::with_fallback(&self.description, self.description_zh.as_deref())
    }

    /// What one of it is called; `None`: nothing in particular.
    #[must_use]
    pub fn localized_unit_label(&self) -> Option<Text> {
        self.unit_label.as_ref().map(|label| Text::with_fallback(label, self.unit_label_zh.as_deref()))
    }
}

/// What a price asks for in one further currency, in the manner of the price's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrencyOption {
    pub currency_id: CurrencyId,
    pub unit_amount: Amount,
    pub tiers: Vec<Tier>,
    pub custom: Option<CustomAmount>,
}

impl CurrencyOption {
    /// By the unit.
    #[must_use]
    pub const fn per_unit(currency_id: CurrencyId, unit_amount: Amount) -> Self {
        Self { currency_id, unit_amount, tiers: Vec::new(), custom: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    pub id: PriceId,
    pub mode: Mode,
    pub product_id: ProductId,
    pub active: bool,
    pub nickname: String,
    pub lookup_key: Option<String>,
    pub currency_id: CurrencyId,
    pub unit_amount: Amount,
    /// Further currencies. The price's own may stand among them.
    pub currency_options: Vec<CurrencyOption>,
    /// `None`: paid once.
    pub recurring: Option<Recurring>,
    /// Set exactly where there are tiers.
    pub tiers_mode: Option<TiersMode>,
    pub tiers: Vec<Tier>,
    /// Set where the buyer names the amount.
    pub custom: Option<CustomAmount>,
    /// The price of a longer cycle that is offered instead.
    pub upsells_to: Option<PriceId>,
    /// 0: without limit.
    pub quantity_available: u64,
    /// Sold, or held by a checkout that is being paid. It counts sales: a refund does not lessen it, nor does the end of a subscription;
    /// only a change of plan exchanges what was sold of one price for another.
    pub quantity_sold: u64,
    /// 0: without limit.
    pub quantity_limit_per_checkout: u64,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Price {
    /// What it asks for in a currency: the option with that id, else the price's own (payment-kit.md 5).
    #[must_use]
    pub fn rate_in(&self, currency: &CurrencyId) -> Option<UnitPricing<'_>> {
        let option = self.currency_options.iter().find(|option| option.currency_id == *currency);
        let (unit, tiers, custom) = match option {
            Some(option) => (option.unit_amount, &option.tiers, option.custom.as_ref()),
            None if self.currency_id == *currency => (self.unit_amount, &self.tiers, self.custom.as_ref()),
            None => return None,
        };
        Some(match (custom, self.tiers_mode) {
            (Some(custom), _) => UnitPricing::Custom(custom),
            (None, Some(mode)) if !tiers.is_empty() => UnitPricing::Tiered { mode, tiers },
            (None, _) => UnitPricing::PerUnit(unit),
        })
    }

    /// What one unit costs in a currency; a custom amount: its preset.
    #[must_use]
    pub fn unit_amount_in(&self, currency: &CurrencyId) -> Option<Amount> {
        match self.rate_in(currency)? {
            UnitPricing::PerUnit(unit) => Some(unit),
            rate => rate.charge(1).ok(),
        }
    }

    #[must_use]
    pub fn is_recurring(&self) -> bool {
        self.recurring.is_some()
    }

    #[must_use]
    pub fn is_metered(&self) -> bool {
        self.recurring.is_some_and(|recurring| recurring.is_metered())
    }

    /// Whether the buyer names the amount.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.custom.is_some() || self.currency_options.iter().any(|option| option.custom.is_some())
    }

    /// The currencies it can be paid in, its own first.
    pub fn currencies(&self) -> impl Iterator<Item = &CurrencyId> {
        std::iter::once(&self.currency_id)
            .chain(self.currency_options.iter().map(|option| &option.currency_id).filter(|id| **id != self.currency_id))
    }
}

/// What a list of products, prices or links is narrowed by.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CatalogueFilter {
    pub active: Option<bool>,
    /// Matched as a substring of the name (nickname, lookup key).
    pub query: String,
    pub product: Option<ProductId>,
    pub metadata: Metadata,
}

/// Stock that a checkout holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StockReservation {
    pub price_id: PriceId,
    pub quantity: u64,
}

#[async_trait]
pub trait Products: Send {
    async fn insert(&mut self, product: &Product) -> Result<(), StorageError>;
    async fn update(&mut self, product: &Product) -> Result<(), StorageError>;
    async fn find(&mut self, id: &ProductId) -> Result<Option<Product>, StorageError>;
    async fn find_all(&mut self, ids: &[ProductId]) -> Result<Vec<Product>, StorageError>;
    async fn list(&mut self, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Listed<Product>, StorageError>;
    /// False when a price refers to it.
    async fn delete(&mut self, id: &ProductId) -> Result<bool, StorageError>;
}

#[async_trait]
pub trait Prices: Send {
    async fn insert(&mut self, price: &Price) -> Result<(), StorageError>;
    /// Writes all but the stock: `quantity_sold`, which only holds and sales move, and `quantity_available`.
    /// [`StorageError::Duplicate`] when another price of the mode has its lookup key; the same for an insert.
    async fn update(&mut self, price: &Price) -> Result<(), StorageError>;
    /// False when a hold, a session, a link or a product refers to it.
    async fn delete(&mut self, id: &PriceId) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &PriceId) -> Result<Option<Price>, StorageError>;
    async fn find_by_lookup_key(&mut self, mode: Mode, key: &str) -> Result<Option<Price>, StorageError>;
    async fn find_all(&mut self, ids: &[PriceId]) -> Result<Vec<Price>, StorageError>;
    /// Prices in the order of their ids, each with what it is the price of.
    async fn find_with_products(&mut self, ids: &[PriceId]) -> Result<Vec<(Price, Product)>, StorageError>;
    async fn of_products(&mut self, ids: &[ProductId]) -> Result<Vec<Price>, StorageError>;
    async fn list(&mut self, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Listed<Price>, StorageError>;
    /// Takes `quantity` out of stock for a session, by one conditional update (invariant 8). Where not that many are left, or the
    /// session has bought it, the unit of work fails with [`StorageError::Conflict`], at the latest when it commits.
    async fn hold(&mut self, session: &SessionId, hold: &StockReservation, now: Timestamp) -> Result<(), StorageError>;
    /// What the session holds now.
    async fn holds(&mut self, session: &SessionId) -> Result<Vec<StockReservation>, StorageError>;
    /// Puts back whatever the session still holds. Doing it again changes nothing.
    async fn release(&mut self, session: &SessionId) -> Result<(), StorageError>;
    /// Turns what the session holds into sales: it can no longer be released.
    async fn sell(&mut self, session: &SessionId) -> Result<(), StorageError>;
    /// A subscription that the session began has another plan: `from` goes back into stock, `to` is sold, by a conditional update.
    /// False: not that many are left, and the unit of work must be dropped.
    async fn exchange(
        &mut self,
        session: &SessionId,
        from: &StockReservation,
        to: &StockReservation,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Sets `quantity_available`. False when more than that is sold already.
    async fn set_stock(&mut self, id: &PriceId, available: u64, now: Timestamp) -> Result<bool, StorageError>;
    /// Changes `quantity_available` by a signed step, never below what is sold nor to 0, which would mean no limit.
    /// False when that is refused.
    async fn restock(&mut self, id: &PriceId, step: i64, now: Timestamp) -> Result<bool, StorageError>;
}
