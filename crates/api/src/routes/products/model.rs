//! The input of products.

use crate::problem::Problem;
use crate::routes::input::{clearable_id, read_metadata};
use crate::routes::prices::{CrossSellModel, FeatureModel, PriceInputModel, ProductModel};
use crate::state::App;
use poem_openapi::Object;
use souk_domain::pricing::{PriceFields, ProductFields};
use souk_domain::shared::PriceId;

/// Fields of a product. In an update an absent field keeps its value, and an empty string clears it.
#[derive(Debug, Clone, Object)]
#[oai(rename = "ProductInput")]
pub struct ProductInputModel {
    pub active: Option<bool>,
    pub name: Option<String>,
    /// The Chinese name; without one, `name` is used in every language. This also applies to `description_zh` and `unit_label_zh`.
    pub name_zh: Option<String>,
    pub description: Option<String>,
    pub description_zh: Option<String>,
    pub images: Option<Vec<String>>,
    pub features: Option<Vec<FeatureModel>>,
    pub unit_label: Option<String>,
    pub unit_label_zh: Option<String>,
    pub statement_descriptor: Option<String>,
    pub default_price_id: Option<String>,
    /// The app that a purchase grants access to.
    pub app_did: Option<String>,
    /// The product that checkout offers together with this one.
    pub cross_sell: Option<CrossSellModel>,
    pub metadata: Option<serde_json::Value>,
    /// Created together with a new product; ignored in an update.
    pub prices: Option<Vec<PriceInputModel>>,
}

/// The fields of a product, and the prices that are created together with a new one.
pub struct ProductInput {
    pub fields: ProductFields,
    pub prices: Vec<PriceFields>,
}

impl ProductInputModel {
    pub fn read(self, app: &App) -> Result<ProductInput, Problem> {
        let price_id = self.default_price_id.map(|id| PriceId::parse(&id)).transpose();
        let did = self
            .app_did
            .map(|did| app.did_auth_tokens.parse_did(&did).ok_or_else(|| Problem::invalid_value("app_did", "app_did is not an address")));
        let other = self.cross_sell.map(|cross_sell| clearable_id(&cross_sell.cross_sells_to_id)).transpose();
        let fields = ProductFields {
            active: self.active,
            name: self.name,
            name_zh: self.name_zh,
            description: self.description,
            description_zh: self.description_zh,
            images: self.images,
            features: self.features.map(|features| features.into_iter().map(|feature| feature.name).collect()),
            unit_label: self.unit_label,
            unit_label_zh: self.unit_label_zh,
            statement_descriptor: self.statement_descriptor,
            default_price_id: price_id
                .map_err(|_| Problem::invalid_value("default_price_id", "default_price_id is not the id of a price"))?,
            app: did.transpose()?,
            cross_sells_to: other
                .map_err(|_| Problem::invalid_value("cross_sells_to_id", "cross_sells_to_id is not the id of a product"))?,
            metadata: self.metadata.map(read_metadata).transpose()?.map(|input| input.metadata),
        };
        let prices = self.prices.unwrap_or_default().into_iter().map(|price| price.read(true)).collect::<Result<_, _>>()?;
        Ok(ProductInput { fields, prices })
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ProductList")]
pub struct ProductListModel {
    pub count: u64,
    pub list: Vec<ProductModel>,
}
