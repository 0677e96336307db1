//! Objects and lists of the provider, read whole.

use super::charge::word;
use super::client::CallError;
use super::rail::{StripeRail, rail_error};
use reqwest::Method as Verb;
use serde::de::DeserializeOwned;
use serde_json::Value;
use souk_domain::payment::{Method, RailError};

/// The most objects of a page that the provider gives.
const PAGE: usize = 100;
/// A payment with more refunds or disputes than these pages hold is not read in part: what is missing could be what matters.
const MAX_PAGES: usize = 10;

impl StripeRail {
    /// One object; `None` where the provider knows no such id.
    pub(super) async fn object<T: DeserializeOwned>(&self, method: &Method, path: String) -> Result<Option<T>, RailError> {
        match self.call(method, Verb::GET, path, Vec::new(), None).await {
            Ok(answer) => read(answer).map(Some),
            Err(CallError::Refused { status: 404, problem }) if problem.code.as_deref() == Some("resource_missing") => Ok(None),
            Err(error) => Err(rail_error(error)),
        }
    }

    /// All objects of `folder` that belong to a payment, newest first.
    pub(super) async fn objects_of<T: DeserializeOwned>(&self, method: &Method, folder: &str, payment: &str) -> Result<Vec<T>, RailError> {
        let payment = word(payment).ok_or_else(|| unreadable("the payment's name is not one of the provider's"))?;
        let mut objects = Vec::new();
        let mut after = String::new();
        for _ in 0..MAX_PAGES {
            let path = format!("{folder}?payment_intent={payment}&limit={PAGE}{after}");
            let mut page = self.call(method, Verb::GET, path, Vec::new(), None).await.map_err(rail_error)?;
            let Value::Array(list) = page["data"].take() else { return Err(unreadable("a list is not of the expected shape")) };
            let last = list.last().and_then(|object| word(object["id"].as_str()?)).map(|id| format!("&starting_after={id}"));
            for object in list {
                objects.push(read(object)?);
            }
            match last {
                Some(last) if page["has_more"] == true => after = last,
                _ => return Ok(objects),
            }
        }
        Err(unreadable("the payment has too many objects to read all of them"))
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, RailError> {
    serde_json::from_value(value).map_err(|error| unreadable(&format!("an answer is not of the expected shape: {error}")))
}

/// The provider answered, and nothing can be concluded from it: as good as no answer.
pub(super) fn unreadable(reason: &str) -> RailError {
    RailError::Unreachable(reason.to_owned())
}
