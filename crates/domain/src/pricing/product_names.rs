//! What a purchase or a subscription is called by.

use super::Product;
use crate::shared::Text;

/// The first product's name, and the number of the others. The API, pages, mails and documents word it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProductNames {
    pub first: Text,
    /// 0: one product, or a text that the store wrote.
    pub others: u32,
}

impl ProductNames {
    /// The names of products in their order; empty if there are none.
    pub fn of<'p>(products: impl IntoIterator<Item = &'p Product>) -> Self {
        let mut products = products.into_iter();
        let Some(first) = products.next() else { return Self::default() };
        Self { first: first.localized_name(), others: u32::try_from(products.count()).unwrap_or(u32::MAX) }
    }
}

/// One product, or a text that the store wrote.
impl From<Text> for ProductNames {
    fn from(first: Text) -> Self {
        Self { first, others: 0 }
    }
}
