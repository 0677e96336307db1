//! Products, prices, carts and stock.

mod cart;
mod change_price;
mod custom;
mod locked;
mod price_admin;
mod price_fields;
mod product_admin;
mod product_names;
mod recurring;
mod replace;
mod shares;
mod stake;
mod tiers;
mod unit_pricing;

pub use cart::*;
pub use change_price::*;
pub use custom::*;
pub use locked::*;
pub use price_admin::*;
pub use price_fields::*;
pub use product_admin::*;
pub use product_names::*;
pub use recurring::*;
pub use replace::*;
pub use shares::*;
pub use stake::*;
pub use tiers::*;
pub use unit_pricing::*;

use crate::access::Did;
use crate::shared::{Amount, CurrencyId, Listed, Mode, Page, PriceId, ProductId, SessionId, StorageError, Text, Timestamp};
use async_trait::async_trait;
use std::collections::BTreeMap;

/// Keys and values that an integrator attaches; at most [`crate::shared::METADATA_MAX`].
pub type Metadata = BTreeMap<String, String>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    pub id: ProductId,
    pub mode: Mode,
    pub active: bool,
    pub name: String,
    /// The Chinese name; absent: `name` applies to every language. The other `_zh` fields work alike.
    pub name_zh: Option<String>,
    pub description: String,
    pub description_zh: Option<String>,
    pub images: Vec<String>,
    pub features: Vec<String>,
    pub unit_label: Option<String>,
    pub unit_label_zh: Option<String>,
    pub statement_descriptor: Option<String>,
    pub default_price_id: Option<PriceId>,
    /// The app that a purchase grants.
    pub app: Option<Did>,
    /// The product that checkout offers as a cross-sell.
    pub cross_sells_to: Option<ProductId>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Product {
    /// The name in both languages.
    #[must_use]
    pub fn localized_name(&self) -> Text {
        Text::with_fallback(&self.name, self.name_zh.as_deref())
    }

    #[must_use]
    pub fn localized_description(&self) -> Text {
        Text::with_fallback(&self.description, self.description_zh.as_deref())
    }

    /// The unit label in both languages, if there is one.
    #[must_use]
    pub fn localized_unit_label(&self) -> Option<Text> {
        self.unit_label.as_ref().map(|label| Text::with_fallback(label, self.unit_label_zh.as_deref()))
    }
}

/// The amounts of a price in a further currency, of the same pricing type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrencyOption {
    pub currency_id: CurrencyId,
    pub unit_amount: Amount,
    pub tiers: Vec<Tier>,
    pub custom: Option<CustomAmount>,
}

impl CurrencyOption {
    /// An option with a per-unit amount.
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
    /// Whether something has referred to it. From then on its amounts are fixed ([`fixed_field_changed`]).
    pub locked: bool,
    /// The price that replaced it. Only sessions that were opened before can still sell this one.
    pub replaced_by: Option<PriceId>,
    pub nickname: String,
    pub lookup_key: Option<String>,
    pub currency_id: CurrencyId,
    pub unit_amount: Amount,
    /// Amounts by currency. May contain the price's own currency.
    pub currency_options: Vec<CurrencyOption>,
    /// `None`: a one-time price.
    pub recurring: Option<Recurring>,
    /// Set if and only if there are tiers.
    pub tiers_mode: Option<TiersMode>,
    pub tiers: Vec<Tier>,
    /// Set if the buyer chooses the amount.
    pub custom: Option<CustomAmount>,
    /// The price with a longer cycle that is offered as an upsell.
    pub upsells_to: Option<PriceId>,
    /// The price whose stock it shares, because it replaced that price. `None`: it has its own. Never changes.
    pub stock_of: Option<PriceId>,
    /// Of the stock. 0: unlimited.
    pub quantity_available: u64,
    /// The quantity of the stock that is sold or reserved by a checkout. Refunds and ended subscriptions do not reduce it. A plan change
    /// moves the quantity of one price to another.
    pub quantity_sold: u64,
    /// 0: unlimited.
    pub quantity_limit_per_checkout: u64,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

impl Price {
    /// The pricing in a currency: its option, else the price's own amounts (payment-kit.md 5).
    #[must_use]
    pub fn pricing_in(&self, currency: &CurrencyId) -> Option<UnitPricing<'_>> {
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

    /// The amount of one unit in a currency. For custom amounts, the default.
    #[must_use]
    pub fn unit_amount_in(&self, currency: &CurrencyId) -> Option<Amount> {
        match self.pricing_in(currency)? {
            UnitPricing::PerUnit(unit) => Some(unit),
            pricing => pricing.amount_for(1).ok(),
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

    /// Whether the buyer chooses the amount.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.custom.is_some() || self.currency_options.iter().any(|option| option.custom.is_some())
    }

    /// Whether it has the same amounts as another price, in all currencies.
    #[must_use]
    pub fn has_amounts_of(&self, other: &Self) -> bool {
        self.currency_id == other.currency_id
            && self.unit_amount == other.unit_amount
            && self.currency_options == other.currency_options
            && (self.tiers_mode, &self.tiers) == (other.tiers_mode, &other.tiers)
            && self.custom == other.custom
    }

    /// Whether an open session that contains it can be paid. New sessions need an active price.
    #[must_use]
    pub const fn is_payable(&self) -> bool {
        self.active || self.replaced_by.is_some()
    }

    /// The price that owns its stock.
    #[must_use]
    pub fn stock_id(&self) -> &PriceId {
        self.stock_of.as_ref().unwrap_or(&self.id)
    }

    /// The currencies in which it can be paid, its own first.
    pub fn currencies(&self) -> impl Iterator<Item = &CurrencyId> {
        std::iter::once(&self.currency_id)
            .chain(self.currency_options.iter().map(|option| &option.currency_id).filter(|id| **id != self.currency_id))
    }
}

/// A price with its product.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueItem {
    pub price: Price,
    pub product: Product,
}

/// Filters lists of products, prices and payment links.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CatalogueFilter {
    pub active: Option<bool>,
    /// Matches a part of the name (for prices, of the nickname or lookup key).
    pub query: String,
    pub product: Option<ProductId>,
    pub metadata: Metadata,
}

/// Stock that a checkout has reserved.
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
    /// Deletes a product. False: a price refers to it.
    async fn delete(&mut self, id: &ProductId) -> Result<bool, StorageError>;
}

#[async_trait]
pub trait Prices: Send {
    async fn insert(&mut self, price: &Price) -> Result<(), StorageError>;
    /// Writes everything except the amounts ([`Prices::set_amounts`]), `locked` and the stock: `quantity_sold` (changed only by
    /// reservations and sales) and `quantity_available`.
    /// [`StorageError::Duplicate`] when another price of the mode has its lookup key; the same applies to an insert.
    async fn update(&mut self, price: &Price) -> Result<(), StorageError>;
    /// Writes the currency and the amounts in all currencies, if the row still has the price's `locked`, by one conditional update.
    /// `unit_amount`, tiers and currency of a locked row are never changed, whatever the caller believes. False: nothing was written.
    async fn set_amounts(&mut self, price: &Price) -> Result<bool, StorageError>;
    /// Sets `locked`, for ever, on these prices and on the prices that they upsell to, by conditional updates under the rows' locks.
    /// Called in the unit of work that refers to the prices: an edit of amounts that has not committed before it finds a locked row.
    async fn lock(&mut self, ids: &[PriceId]) -> Result<(), StorageError>;
    /// Whether a locked price has an amount in this currency.
    async fn has_locked_in(&mut self, currency: &CurrencyId) -> Result<bool, StorageError>;
    /// Deletes a price. False: a reservation, a session, a link or a product refers to it.
    async fn delete(&mut self, id: &PriceId) -> Result<bool, StorageError>;
    async fn find(&mut self, id: &PriceId) -> Result<Option<Price>, StorageError>;
    async fn find_by_lookup_key(&mut self, mode: Mode, key: &str) -> Result<Option<Price>, StorageError>;
    async fn find_all(&mut self, ids: &[PriceId]) -> Result<Vec<Price>, StorageError>;
    /// Prices with their products, in id order.
    async fn find_with_products(&mut self, ids: &[PriceId]) -> Result<Vec<CatalogueItem>, StorageError>;
    async fn of_products(&mut self, ids: &[ProductId]) -> Result<Vec<Price>, StorageError>;
    async fn list(&mut self, mode: Mode, filter: &CatalogueFilter, page: &Page) -> Result<Listed<Price>, StorageError>;
    /// Reserves stock for a session, by one conditional update (invariant 8). A reservation names the price that is sold; the stock is that
    /// of the price or of the price that it replaced ([`Price::stock_of`]). If too few units are left or the session's reservation was
    /// sold already, the unit of work fails with [`StorageError::Conflict`], at the latest on commit.
    async fn reserve(&mut self, session: &SessionId, reservation: &StockReservation, now: Timestamp) -> Result<(), StorageError>;
    /// The session's reservations.
    async fn reservations(&mut self, session: &SessionId) -> Result<Vec<StockReservation>, StorageError>;
    /// Releases all of the session's reservations. Idempotent.
    async fn release(&mut self, session: &SessionId) -> Result<(), StorageError>;
    /// Turns the session's reservations into sales, which cannot be released.
    async fn commit(&mut self, session: &SessionId) -> Result<(), StorageError>;
    /// Changes the sold quantity for a plan change of the session's subscription: `from` returns to stock and `to` is sold, by a
    /// conditional update. False: too few units are left, and the caller must drop the unit of work.
    async fn swap(
        &mut self,
        session: &SessionId,
        from: &StockReservation,
        to: &StockReservation,
        now: Timestamp,
    ) -> Result<bool, StorageError>;
    /// Inserts the shares of a new price. They never change.
    async fn insert_shares(&mut self, price: &PriceId, shares: &[PriceShare]) -> Result<(), StorageError>;
    /// The shares of these prices, as their developers have ordered them; prices without any are left out.
    async fn shares_of(&mut self, prices: &[PriceId]) -> Result<BTreeMap<PriceId, Vec<PriceShare>>, StorageError>;
    /// Sets `quantity_available`. False: more than that is sold already.
    async fn set_stock(&mut self, id: &PriceId, available: u64, now: Timestamp) -> Result<bool, StorageError>;
    /// Changes `quantity_available` by a signed step. False: the result would be below the sold quantity, or 0, which would mean unlimited.
    async fn restock(&mut self, id: &PriceId, step: i64, now: Timestamp) -> Result<bool, StorageError>;
}
