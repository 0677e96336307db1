//! The categories of the catalogue. Administrators create, rename, order and delete them.

use super::Category;
use crate::context::Context;
use crate::shared::{CategoryId, Language, StorageError, Text};
use crate::storage::{MANAGEMENT, UnitOfWork};

/// The longest name in each language, in characters (reference/store.md 1.5).
pub const CATEGORY_NAME_MAX: usize = 40;
/// The most categories of a store, all of which the store front shows.
pub const CATEGORIES_MAX: usize = 100;

/// The categories that a store can begin with (reference/store.md 1.5), without "All", which the store front always offers.
const DEFAULTS: [(&str, &str); 11] = [
    ("Blog", "博客"),
    ("Shopping", "购物"),
    ("Web Development", "网站开发"),
    ("Communication", "通讯"),
    ("Productivity", "效率"),
    ("Search tools", "搜索工具"),
    ("Sports", "体育"),
    ("Accessibility", "无障碍"),
    ("News", "新闻"),
    ("Fun", "娱乐"),
    ("Photos", "图片"),
];
/// The slug of a name without a letter or digit that a slug can have.
const SLUG_OF_OTHERS: &str = "category";

#[derive(Debug, thiserror::Error)]
pub enum CategoryError {
    #[error("{} is required", label(*.0))]
    NameRequired(Language),
    #[error("{} should no longer than {CATEGORY_NAME_MAX} chars", label(*.0))]
    NameTooLong(Language),
    #[error("{} can have letters, digits and spaces only", label(*.0))]
    NameCharacters(Language),
    /// Another category has this name, apart from upper and lower case.
    #[error("{name} is existed")]
    NameTaken { language: Language, name: String },
    #[error("A store has at most {CATEGORIES_MAX} categories")]
    TooMany,
    #[error("The category does not exist")]
    NotFound,
    /// This many apps are in it: uploaded ones, and those of the catalogue.
    #[error("The category has apps ({0}), so it cannot be deleted")]
    InUse(u64),
    /// The store has categories, so that the default ones cannot be created.
    #[error("The store has categories already")]
    Exists,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

const fn label(language: Language) -> &'static str {
    match language {
        Language::English => "English name",
        Language::Chinese => "Chinese name",
    }
}

/// What changes of a category. `None`: it stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CategoryChange {
    pub name: Option<Text>,
    /// Its place in the order of all categories, from 0; one after the last place is the last one.
    pub position: Option<u32>,
}

/// Creates a category, the last one in the order. Its slug comes from its English name.
///
/// # Errors
/// A name breaks a rule or is taken, or the store has [`CATEGORIES_MAX`].
#[tracing::instrument(skip_all)]
pub async fn create_category(ctx: &Context, name: &Text) -> Result<Category, CategoryError> {
    let name = check_names(name)?;
    let mut unit = ctx.store.begin().await?;
    let existing = lock_all(unit.as_mut()).await?;
    check_unique(&name, &existing)?;
    if existing.len() >= CATEGORIES_MAX {
        return Err(CategoryError::TooMany);
    }
    let category = Category {
        id: CategoryId::new(ctx.now(), ctx.random.as_ref()),
        slug: slug_of(&name.en, &existing),
        name,
        position: existing.last().map_or(0, |last| last.position + 1),
    };
    unit.apps().insert_category(&category).await?;
    unit.commit().await?;
    Ok(category)
}

/// Renames a category, or moves it. Its slug stays, because it is in addresses.
///
/// # Errors
/// The category does not exist, or a name breaks a rule or is taken.
#[tracing::instrument(skip_all, fields(category = %id))]
pub async fn change_category(ctx: &Context, id: &CategoryId, change: CategoryChange) -> Result<(), CategoryError> {
    let name = change.name.as_ref().map(check_names).transpose()?;
    let mut unit = ctx.store.begin().await?;
    let mut categories = lock_all(unit.as_mut()).await?;
    let place = categories.iter().position(|category| category.id == *id).ok_or(CategoryError::NotFound)?;
    let changed = categories.remove(place);
    if let Some(name) = name {
        check_unique(&name, &categories)?;
        unit.apps().rename_category(id, &name).await?;
    }
    if let Some(position) = change.position {
        categories.insert(categories.len().min(position as usize), changed);
        let order: Vec<_> = categories.into_iter().map(|category| category.id).collect();
        unit.apps().order_categories(&order).await?;
    }
    unit.commit().await?;
    Ok(())
}

/// Deletes a category without apps.
///
/// # Errors
/// The category does not exist, or has apps.
#[tracing::instrument(skip_all, fields(category = %id))]
pub async fn delete_category(ctx: &Context, id: &CategoryId) -> Result<(), CategoryError> {
    let mut unit = ctx.store.begin().await?;
    if !unit.apps().lock_category(id).await? {
        return Err(CategoryError::NotFound);
    }
    let categories = unit.apps().categories_with_all_apps().await?;
    match categories.iter().find(|counted| counted.category.id == *id) {
        Some(counted) if counted.apps > 0 => return Err(CategoryError::InUse(counted.apps)),
        _ => unit.apps().delete_category(id).await?,
    }
    unit.commit().await?;
    Ok(())
}

/// Creates the default categories in a store that has none.
///
/// # Errors
/// The store has a category.
#[tracing::instrument(skip_all)]
pub async fn create_default_categories(ctx: &Context) -> Result<(), CategoryError> {
    let mut unit = ctx.store.begin().await?;
    if !lock_all(unit.as_mut()).await?.is_empty() {
        return Err(CategoryError::Exists);
    }
    for (position, (en, zh)) in (0_u32..).zip(DEFAULTS) {
        let id = CategoryId::new(ctx.now(), ctx.random.as_ref());
        let category = Category { id, slug: slug_of(en, &[]), name: Text::new(en, zh), position };
        unit.apps().insert_category(&category).await?;
    }
    unit.commit().await?;
    Ok(())
}

/// All categories in their order. Until the unit of work ends, no other one changes them.
async fn lock_all(unit: &mut dyn UnitOfWork) -> Result<Vec<Category>, StorageError> {
    unit.lock(MANAGEMENT).await?;
    Ok(unit.apps().categories().await?.into_iter().map(|counted| counted.category).collect())
}

fn check_names(name: &Text) -> Result<Text, CategoryError> {
    Ok(Text { en: check_name(Language::English, &name.en)?, zh: check_name(Language::Chinese, &name.zh)? })
}

/// Checks a name by the rule of SPEC.md 5: letters and digits of any script, and spaces, of which one at a time stays.
fn check_name(language: Language, text: &str) -> Result<String, CategoryError> {
    let name = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match name.chars().count() {
        0 => Err(CategoryError::NameRequired(language)),
        length if length > CATEGORY_NAME_MAX => Err(CategoryError::NameTooLong(language)),
        _ if !name.chars().all(|c| c.is_alphanumeric() || c == ' ') => Err(CategoryError::NameCharacters(language)),
        _ => Ok(name),
    }
}

/// Checks that no other category has one of these names, in any case.
fn check_unique(name: &Text, others: &[Category]) -> Result<(), CategoryError> {
    let taken = |name: &str, of: fn(&Text) -> &String| others.iter().any(|other| of(&other.name).to_lowercase() == name.to_lowercase());
    if taken(&name.en, |text| &text.en) {
        return Err(CategoryError::NameTaken { language: Language::English, name: name.en.clone() });
    }
    if taken(&name.zh, |text| &text.zh) {
        return Err(CategoryError::NameTaken { language: Language::Chinese, name: name.zh.clone() });
    }
    Ok(())
}

/// The slug of a new category: the words of its English name, and a number if another category has that slug.
fn slug_of(name: &str, others: &[Category]) -> String {
    let name = name.to_lowercase();
    let words: Vec<_> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let slug = if words.is_empty() { SLUG_OF_OTHERS.to_owned() } else { words.join("-") };
    let is_free = |slug: &String| others.iter().all(|other| other.slug != *slug);
    let numbered = (2..=others.len() + 1).map(|number| format!("{slug}-{number}"));
    let free = std::iter::once(slug.clone()).chain(numbered).find(is_free);
    free.unwrap_or(slug)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(slug: &str, en: &str, zh: &str) -> Category {
        Category { id: CategoryId::parse("cat_1").expect("an id"), slug: slug.to_owned(), name: Text::new(en, zh), position: 0 }
    }

    fn refusal(en: &str, zh: &str) -> String {
        check_names(&Text::new(en, zh)).map_or_else(|error| error.to_string(), |name| format!("{}|{}", name.en, name.zh))
    }

    #[test]
    fn a_name_has_letters_digits_and_spaces_in_each_language() {
        let (most, more) = ("图".repeat(40), "图".repeat(41));
        for (en, zh, expected) in [
            ("Tools", "工具", "Tools|工具"),
            ("  Web \u{3000} Development 2 ", "Café", "Web Development 2|Café"),
            ("Tools", most.as_str(), &format!("Tools|{most}")),
            (" \t", "工具", "English name is required"),
            ("Tools", "", "Chinese name is required"),
            ("Tools", more.as_str(), "Chinese name should no longer than 40 chars"),
            (&"a".repeat(41), "工具", "English name should no longer than 40 chars"),
            ("Search & tools", "工具", "English name can have letters, digits and spaces only"),
            ("Tools", "工具、", "Chinese name can have letters, digits and spaces only"),
            ("<b>", "工具", "English name can have letters, digits and spaces only"),
        ] {
            assert_eq!(refusal(en, zh), expected, "{en} {zh}");
        }
    }

    #[test]
    fn a_name_is_taken_in_its_language_whatever_its_case() {
        let others = [category("tools", "Tools", "Été")];
        let error = |en: &str, zh: &str| check_unique(&Text::new(en, zh), &others).err().map(|error| error.to_string());
        assert_eq!(error("TOOLS", "a").as_deref(), Some("TOOLS is existed"));
        assert_eq!(error("a", "éTÉ").as_deref(), Some("éTÉ is existed"));
        assert_eq!(error("Été", "Tools"), None, "the other language");
    }

    #[test]
    fn a_slug_has_the_words_of_the_english_name_and_is_unique() {
        let others = [category("tools", "Instruments", "仪器"), category("tools-2", "Tools 2", "工具 2"), category("category", "图", "图")];
        for (name, expected) in
            [("Web Development", "web-development"), ("News 24", "news-24"), ("TOOLS", "tools-3"), ("工具", "category-2"), ("Café", "caf")]
        {
            assert_eq!(slug_of(name, &others), expected, "{name}");
        }
    }

    #[test]
    fn the_default_categories_keep_the_rules() {
        let mut others = Vec::new();
        for (en, zh) in DEFAULTS {
            let name = check_names(&Text::new(en, zh)).expect("keeps the rules");
            check_unique(&name, &others).expect("is unique");
            let slug = slug_of(en, &others);
            assert_eq!(slug, slug_of(en, &[]), "no number");
            others.push(category(&slug, en, zh));
        }
    }
}
