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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pricing::Metadata;
    use crate::shared::{Mode, ProductId, Timestamp};

    fn named(name: &str) -> Product {
        Product {
            id: ProductId::parse("prod_1").expect("an id"),
            mode: Mode::Test,
            active: true,
            name: name.to_owned(),
            name_zh: None,
            description: String::new(),
            description_zh: None,
            images: Vec::new(),
            features: Vec::new(),
            unit_label: None,
            unit_label_zh: None,
            statement_descriptor: None,
            default_price_id: None,
            app: None,
            cross_sells_to: None,
            metadata: Metadata::new(),
            created_at: Timestamp::from_seconds(0),
            updated_at: Timestamp::from_seconds(0),
        }
    }

    #[test]
    fn the_first_product_is_named_and_the_others_are_counted() {
        assert_eq!(ProductNames::of([]), ProductNames::default());
        let [atlas, globe, compass] = ["Atlas", "Globe", "Compass"].map(named);
        let names = |first: &Product, others| ProductNames { first: first.localized_name(), others };
        assert_eq!(ProductNames::of([&atlas]), names(&atlas, 0));
        assert_eq!(ProductNames::of([&globe, &atlas, &compass]), names(&globe, 2));
    }

    #[test]
    fn each_mention_of_a_product_counts() {
        let atlas = named("Atlas");
        assert_eq!(ProductNames::of([&atlas, &atlas]), ProductNames { first: atlas.localized_name(), others: 1 });
    }
}
