//! What a store answers, as far as the commands use it.

use crate::report::Check;
use serde::Deserialize;

/// `GET /api/store.json`.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreInfo {
    /// The DID of the store.
    pub id: String,
    /// A text such as `500 MB`. Other stores answer a bare number, which says nothing.
    #[serde(default)]
    pub max_bundle_size: serde_json::Value,
}

impl StoreInfo {
    /// The largest bundle in bytes, if the store says one.
    pub fn bundle_max(&self) -> Option<u64> {
        let (number, unit) = self.max_bundle_size.as_str()?.trim().split_once(' ')?;
        let shift = match unit.to_ascii_uppercase().as_str() {
            "KB" => 10,
            "MB" => 20,
            "GB" => 30,
            _ => return None,
        };
        number.parse::<u64>().ok()?.checked_mul(1 << shift)
    }
}

#[derive(Debug, Clone, Deserialize)]
pub struct UploadedVersion {
    pub version: String,
    pub status: String,
    pub changes_requested: bool,
    pub replaced_by: Option<String>,
    pub yanked_by: Option<String>,
    pub uploaded_at: String,
}

impl UploadedVersion {
    /// The status in words.
    pub fn state(&self) -> String {
        let status = match self.status.as_str() {
            "DRAFT" => "draft: its review was not requested",
            "PENDING_REVIEW" => "waiting for review",
            "IN_REVIEW" if self.changes_requested => "in review: changes are requested",
            "IN_REVIEW" => "in review",
            "APPROVED" => "approved: publish it with `souk publish`",
            "REJECTED" => "rejected: upload a higher version",
            "PUBLISHED" => "published",
            "CANCELLED" => "canceled",
            other => other,
        };
        match (&self.replaced_by, &self.yanked_by) {
            (Some(version), _) => format!("{status}: replaced by {version}"),
            (None, Some(by)) => format!("{status}, and withdrawn by the {by}"),
            (None, None) => status.to_owned(),
        }
    }
}

/// An app in the answers about its versions.
#[derive(Debug, Clone, Deserialize)]
pub struct UploadedApp {
    pub did: String,
    pub name: String,
    pub block_reason: Option<String>,
}

/// `GET /api/apps/{did}/uploads`.
#[derive(Debug, Clone, Deserialize)]
pub struct UploadsAnswer {
    pub app: UploadedApp,
    pub count: u64,
    pub list: Vec<UploadedVersion>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ReviewEntry {
    pub kind: String,
    pub actor_name: String,
    pub comment: String,
    pub at: String,
}

/// `GET /api/apps/{did}/versions/{version}/review`.
#[derive(Debug, Clone, Deserialize)]
pub struct ReviewAnswer {
    pub version: UploadedVersion,
    /// Why the version is reviewed; `None`: it can be published without a review.
    pub need: Option<String>,
    pub thread: Vec<ReviewEntry>,
}

/// `GET /api/apps/{did}/versions/{version}/checks`.
#[derive(Debug, Clone, Deserialize)]
pub struct ChecksAnswer {
    pub list: Vec<Check>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Category {
    pub id: String,
    pub slug: String,
}

/// `GET /api/categories`.
#[derive(Debug, Clone, Deserialize)]
pub struct CategoriesAnswer {
    pub list: Vec<Category>,
}

/// A refusal. Other stores send several messages as a list.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Refusal {
    #[serde(default)]
    pub error: serde_json::Value,
    #[serde(default)]
    pub code: Option<String>,
}

impl Refusal {
    /// The message of the store as it is; `None`: there is none.
    pub fn message(&self) -> Option<String> {
        match &self.error {
            serde_json::Value::String(text) if !text.is_empty() => Some(text.clone()),
            serde_json::Value::Array(list) => {
                let texts: Vec<_> = list.iter().filter_map(serde_json::Value::as_str).collect();
                (!texts.is_empty()).then(|| texts.join("\n"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_largest_bundle_is_read_from_its_text() {
        for (answered, max) in [
            (json!("500 MB"), Some(500 << 20)),
            (json!("2 GB"), Some(2 << 30)),
            (json!(500), None),
            (json!("500"), None),
            (json!("99999999999999999999 MB"), None),
            (json!(null), None),
        ] {
            let info = StoreInfo { id: String::new(), max_bundle_size: answered.clone() };
            assert_eq!(info.bundle_max(), max, "{answered}");
        }
    }

    #[test]
    fn a_refusal_is_one_message_or_several() {
        let message = |body: serde_json::Value| serde_json::from_value::<Refusal>(body).expect("reads").message();
        assert_eq!(message(json!({ "error": "No", "code": "NO" })).as_deref(), Some("No"));
        assert_eq!(message(json!({ "error": ["No", "Never"] })).as_deref(), Some("No\nNever"));
        for body in [json!({}), json!({ "error": {} }), json!({ "error": "" })] {
            assert_eq!(message(body), None);
        }
    }
}
