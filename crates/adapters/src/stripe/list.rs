//! Reads single objects and complete lists from the provider.

use super::charge::safe_id;
use super::client::CallError;
use super::rail::{StripeRail, rail_error};
use reqwest::Method as Verb;
use serde::de::DeserializeOwned;
use serde_json::Value;
use souk_domain::payment::{Method, RailError};

/// The provider's largest page size.
const PAGE: usize = 100;
/// The most refunds or disputes of one payment, in pages.
const MAX_PAGES_OF_PAYMENT: usize = 10;

impl StripeRail {
    /// Reads one object; `None` if the provider does not know the id.
    pub(super) async fn object<T: DeserializeOwned>(&self, method: &Method, path: String) -> Result<Option<T>, RailError> {
        match self.call(method, Verb::GET, path, Vec::new(), None).await {
            Ok(answer) => read(answer).map(Some),
            Err(CallError::Rejected { status: 404, problem }) if problem.code.as_deref() == Some("resource_missing") => Ok(None),
            Err(error) => Err(rail_error(error)),
        }
    }

    /// Reads all objects of `folder` that belong to a payment, newest first.
    pub(super) async fn objects_of<T: DeserializeOwned>(&self, method: &Method, folder: &str, payment: &str) -> Result<Vec<T>, RailError> {
        let payment = safe_id(payment).ok_or_else(|| unreadable("the payment's name is not one of the provider's"))?;
        self.objects(method, &format!("{folder}?payment_intent={payment}"), MAX_PAGES_OF_PAYMENT).await
    }

    /// Reads a complete list, newest first. `list`: path and query. Fails if the list has more pages: an incomplete list could lack the
    /// relevant object.
    pub(super) async fn objects<T: DeserializeOwned>(&self, method: &Method, list: &str, max_pages: usize) -> Result<Vec<T>, RailError> {
        let mut objects = Vec::new();
        let mut after = String::new();
        for _ in 0..max_pages {
            let path = format!("{list}&limit={PAGE}{after}");
            let mut page = self.call(method, Verb::GET, path, Vec::new(), None).await.map_err(rail_error)?;
            let Value::Array(list) = page["data"].take() else { return Err(unreadable("a list is not of the expected shape")) };
            let last = list.last().and_then(|object| safe_id(object["id"].as_str()?)).map(|id| format!("&starting_after={id}"));
            for object in list {
                objects.push(read(object)?);
            }
            match last {
                Some(last) if page["has_more"] == true => after = last,
                _ => return Ok(objects),
            }
        }
        Err(unreadable("a list has too many objects to read all of them"))
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, RailError> {
    serde_json::from_value(value).map_err(|error| unreadable(&format!("an answer is not of the expected shape: {error}")))
}

/// The error for a response that cannot be interpreted. It is treated like no response.
pub(super) fn unreadable(reason: &str) -> RailError {
    RailError::Unreachable(reason.to_owned())
}
