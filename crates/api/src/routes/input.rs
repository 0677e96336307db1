//! Parsing of query parameters and body fields that several resources share.

use crate::problem::Problem;
use crate::routes::checkout_sessions::{PageInfoModel, TextModel};
use poem::Request;
use poem_openapi::types::ParseFromJSON;
use serde_json::Value;
use souk_domain::customer::{Field, FieldPattern, PageInfo};
use souk_domain::pricing::Metadata;
use souk_domain::shared::{Id, IdError, Page, check_metadata};

/// Search texts are truncated to this many characters.
const QUERY_MAX: usize = 200;
/// The metadata key that holds the settings of the checkout form.
const PAGE_INFO: &str = "page_info";

/// A page by its number, or by the last id of the previous page.
pub fn page<I: Id>(number: Option<u32>, size: Option<u32>, starting_after: Option<String>) -> Result<Page, Problem> {
    let after = starting_after
        .map(|id| I::parse(&id))
        .transpose()
        .map_err(|_| Problem::invalid_value("starting_after", "starting_after is not valid"))?;
    Ok(Page { starting_after: after.map(|id| id.to_string()), ..Page::new(number, size) })
}

/// The text of a search, truncated to [`QUERY_MAX`] characters.
#[must_use]
pub fn words(query: Option<String>) -> String {
    query.unwrap_or_default().chars().take(QUERY_MAX).collect()
}

/// Parses the id that filters a list; an empty text means no filter.
pub fn id_filter<I: Id>(named: Option<String>) -> Result<Option<I>, IdError> {
    named.filter(|named| !named.is_empty()).map(|named| I::parse(&named)).transpose()
}

/// Parses an id of an update; an empty text clears the stored value (`None`).
pub fn clearable_id<I: Id>(text: &str) -> Result<Option<I>, IdError> {
    if text.is_empty() { Ok(None) } else { I::parse(text).map(Some) }
}

/// The filters `metadata.{name}={value}` of a list's query.
pub fn metadata_filter(request: &Request) -> Result<Metadata, Problem> {
    let query = request.uri().query().unwrap_or_default();
    let pairs = url::form_urlencoded::parse(query.as_bytes());
    let filter: Metadata =
        pairs.filter_map(|(name, value)| Some((name.strip_prefix("metadata.")?.to_owned(), value.into_owned()))).collect();
    check_metadata(&filter)?;
    Ok(filter)
}

/// The parts of a body's `metadata`.
#[derive(Debug, Clone, Default)]
pub struct MetadataInput {
    pub metadata: Metadata,
    pub page_info: Option<PageInfo>,
}

/// Reads `metadata` of a body. Strings, numbers and booleans are stored as strings, `null` entries are dropped, and `page_info` is
/// parsed separately.
pub fn read_metadata(value: Value) -> Result<MetadataInput, Problem> {
    let Value::Object(entries) = value else { return Err(Problem::invalid_value("metadata", "metadata must be an object")) };
    let MetadataInput { mut metadata, mut page_info } = MetadataInput::default();
    for (name, value) in entries {
        match value {
            Value::Null => {}
            Value::Object(_) if name == PAGE_INFO => page_info = Some(read_page_info(value)?),
            Value::String(text) => drop(metadata.insert(name, text)),
            Value::Number(_) | Value::Bool(_) => drop(metadata.insert(name, value.to_string())),
            Value::Array(_) | Value::Object(_) => {
                return Err(Problem::invalid_value("metadata", "metadata values must be strings, numbers or booleans"));
            }
        }
    }
    Ok(MetadataInput { metadata, page_info })
}

fn read_page_info(value: Value) -> Result<PageInfo, Problem> {
    let model =
        PageInfoModel::parse_from_json(Some(value)).map_err(|error| Problem::invalid_value("metadata.page_info", error.into_message()))?;
    let mut info = PageInfo { purpose: text(model.form_purpose_description)?, ..PageInfo::default() };
    for (name, validation) in model.field_validation {
        let bad = |what: &str| Problem::invalid_value("metadata.page_info", format!("page_info.field_validation: {what}"));
        let field = Field::from_name(&name).ok_or_else(|| bad("this field is not known"))?;
        let pattern = FieldPattern::new(&validation.pattern, text(validation.pattern_message)?);
        info.patterns.insert(field, pattern.ok_or_else(|| bad("this pattern is not valid"))?);
    }
    Ok(info)
}

fn text(model: TextModel) -> Result<souk_domain::shared::Text, Problem> {
    let check = |text: &str| souk_domain::shared::check_text("page_info", text, souk_domain::shared::DESCRIPTION_MAX);
    Ok(souk_domain::shared::Text { en: check(&model.en)?, zh: check(&model.zh)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn metadata_values_become_strings_and_page_info_is_parsed() {
        let body = json!({"a": "x", "n": 5, "t": true, "gone": null, "page_info": {
            "field_validation": {"customer_name": {"pattern": "^[a-z]+$", "pattern_message": {"en": "letters"}}},
            "form_purpose_description": {"en": "Why", "zh": "为何"}}});
        let MetadataInput { metadata, page_info: info } = read_metadata(body).expect("reads");
        assert_eq!(metadata, [("a", "x"), ("n", "5"), ("t", "true")].map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let info = info.expect("is there");
        assert_eq!(info.purpose.zh, "为何");
        assert_eq!(info.patterns[&Field::Name].message.en, "letters");
    }

    #[test]
    fn invalid_patterns_and_unknown_fields_are_rejected() {
        let with = |name: &str, pattern: &str| json!({"page_info": {"field_validation": {name: {"pattern": pattern}}}});
        assert!(read_metadata(with("customer_name", "(")).is_err());
        assert!(read_metadata(with("shoe_size", "1")).is_err());
        assert!(read_metadata(json!({"a": {"b": 1}})).is_err());
        assert!(read_metadata(json!([])).is_err());
    }

    #[test]
    fn metadata_filters_are_read_from_the_query() {
        let uri = "/api/products?livemode=false&metadata.team=a%20b&metadata.x.y=1".parse().expect("an address");
        let request = Request::builder().uri(uri).finish();
        let filter = metadata_filter(&request).expect("reads");
        assert_eq!(filter, [("team", "a b"), ("x.y", "1")].map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }
}
