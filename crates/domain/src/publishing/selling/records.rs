//! What the store records of the sale of an app.

use super::terms::SellingTerms;
use crate::access::Did;
use crate::shared::{Mode, PaymentLinkId, ProductId, StorageError, Timestamp};
use async_trait::async_trait;

/// The sale of an uploaded app in one mode. What is in force is what its link sells; the catalogue has the link unless the app is free.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppSale {
    pub app: Did,
    pub mode: Mode,
    /// `None`: the app never had a price.
    pub product_id: Option<ProductId>,
    pub link_id: Option<PaymentLinkId>,
    /// Come into force when the next version is published; `None`: nothing changes.
    pub proposed: Option<SellingTerms>,
    pub updated_at: Timestamp,
}

impl AppSale {
    /// The sale of an app that never had a price.
    #[must_use]
    pub const fn none(app: Did, mode: Mode, now: Timestamp) -> Self {
        Self { app, mode, product_id: None, link_id: None, proposed: None, updated_at: now }
    }
}

#[async_trait]
pub trait AppSales: Send {
    async fn find(&mut self, app: &Did, mode: Mode) -> Result<Option<AppSale>, StorageError>;
    /// The sales of an app, one for each mode in which its developer has set a price.
    async fn of_app(&mut self, app: &Did) -> Result<Vec<AppSale>, StorageError>;
    /// Inserts or replaces the sale. The caller holds the lock of the app.
    async fn put(&mut self, sale: &AppSale) -> Result<(), StorageError>;
}
