//! Descriptions on the wire: the payment kit's English text, and a code with parameters that pages translate.

use souk_domain::payment::Description;
use std::collections::BTreeMap;

/// The parameters of a description: `name` and `name_zh`, the names of the products that it is about.
#[must_use]
pub fn description_params(description: &Description) -> BTreeMap<String, String> {
    let names = |name: &souk_domain::shared::Text| [("name".to_owned(), name.en.clone()), ("name_zh".to_owned(), name.zh.clone())];
    description.name().into_iter().flat_map(names).collect()
}
