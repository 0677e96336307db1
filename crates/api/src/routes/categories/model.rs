use crate::routes::checkout_sessions::TextModel;
use poem_openapi::Object;
use souk_domain::store::{CategoryChange, CountedCategory};

#[derive(Debug, Clone, Object)]
#[oai(rename = "ManagedCategory")]
pub struct ManagedCategoryModel {
    pub id: String,
    pub slug: String,
    pub name: TextModel,
    /// The number of all its apps, those that the store does not offer included. With any, it cannot be deleted.
    pub app_count: u64,
}

impl From<CountedCategory> for ManagedCategoryModel {
    fn from(counted: CountedCategory) -> Self {
        let category = counted.category;
        Self { id: category.id.to_string(), slug: category.slug, name: TextModel::from(&category.name), app_count: counted.apps }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ManagedCategoryList")]
pub struct ManagedCategoryListModel {
    pub count: u64,
    /// In the order in which the store shows them.
    pub list: Vec<ManagedCategoryModel>,
}

impl From<Vec<CountedCategory>> for ManagedCategoryListModel {
    fn from(categories: Vec<CountedCategory>) -> Self {
        Self { count: categories.len() as u64, list: categories.into_iter().map(ManagedCategoryModel::from).collect() }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CategoryInput")]
pub struct CategoryInputModel {
    /// Letters, digits and spaces, at most 40 characters in each language.
    pub name: TextModel,
}

/// In a change, an absent field keeps its value.
#[derive(Debug, Clone, Object)]
#[oai(rename = "CategoryChange")]
pub struct CategoryChangeModel {
    #[oai(nullable)]
    pub name: Option<TextModel>,
    /// Its place in the order of all categories, from 0.
    #[oai(nullable)]
    pub position: Option<u32>,
}

impl From<CategoryChangeModel> for CategoryChange {
    fn from(change: CategoryChangeModel) -> Self {
        Self { name: change.name.map(Into::into), position: change.position }
    }
}
