//! Rebuilds the answer of a call whose process died after its commit. The answer is what the read of the object returns now, with the
//! caller's permissions.

use crate::problem::Problem;
use poem::http::{Method, StatusCode, header};
use poem::{Endpoint, Request, Response};
use serde_json::{Value, json};

/// How the answer of a write is rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The id prefixes of the objects that the write creates. The first prefix with an object counts. Empty: the write changes the object
    /// in its path.
    pub objects: &'static [&'static str],
    read: Read,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Read {
    /// The read of the created object, at the path of its kind.
    Object,
    /// The read at this path.
    Path(String),
    /// There is none.
    Nothing,
}

/// The answer in terms of what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Whole,
    /// One field of it.
    Field(&'static str),
    /// `count` and `list` of all created objects.
    List,
    /// A subscription as the field of that name, without the need of a stake: with it, nothing would have been committed.
    Recovered,
    /// The confirmation of a returned stake.
    Returned,
}

impl Source {
    fn created(objects: &'static [&'static str]) -> Self {
        Self { objects, read: Read::Object, shape: Shape::Whole }
    }

    fn read(path: String) -> Self {
        Self { objects: &[], read: Read::Path(path), shape: Shape::Whole }
    }

    fn shaped(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    const fn nothing() -> Self {
        Self { objects: &[], read: Read::Nothing, shape: Shape::Whole }
    }

    /// How the answer of a write to this path is rebuilt.
    pub fn of(method: &Method, path: &str) -> Self {
        let segments: Vec<_> = path.trim_start_matches("/api/").trim_end_matches('/').split('/').collect();
        let retrieve = |id: &str| Self::read(format!("/api/checkout-sessions/retrieve/{id}"));
        let object = |collection: &str, id: &str| Self::read(format!("/api/{collection}/{id}"));
        match (method.as_str(), segments.as_slice()) {
            ("POST", ["checkout-sessions", "start", _]) => {
                Self { read: Read::Path("/api/checkout-sessions/retrieve/".to_owned()), ..Self::created(&["cs_"]) }
            }
            ("PUT", ["checkout-sessions", _, "submit"]) => Self { objects: &["pi_"], ..Self::read(path.to_owned()) },
            ("POST", ["checkout-sessions", _, "fast-checkout-confirm"]) => Self::read(path.to_owned()),
            ("POST", ["checkout-sessions", id, "abort-stripe"]) => retrieve(id),
            (_, ["checkout-sessions", id, "upsell" | "downsell" | "cross-sell" | "amount" | "adjust-quantity"]) => {
                retrieve(id).shaped(Shape::Field("checkoutSession"))
            }
            ("POST", ["refunds"]) | ("PUT", ["payment-intents", _, "refund"]) => Self::created(&["re_", "cn_"]),
            ("POST", ["prices", _, "replace"]) => Self::created(&["price_"]),
            ("POST", ["customers", _, "balance", "payout"]) => Self::created(&["re_"]).shaped(Shape::List),
            ("POST", [collection]) => {
                KINDS.iter().find(|kind| kind.collection == *collection).map_or(Self::nothing(), |kind| Self::created(kind.prefix))
            }
            // The count of resumed subscriptions is gone. A second call resumes what is still on hold.
            ("PUT", ["subscriptions", "resume-billing"]) => Self::nothing(),
            ("PUT", ["apps", _, "versions", _, "review"]) => Self::read(path.to_owned()),
            ("PUT", ["developer", "apps", did, "auto-publish" | "visibility"]) => {
                Self::read(format!("/api/apps/{did}/uploads")).shaped(Shape::Field("app"))
            }
            ("PUT", ["developer", "apps", _, "price"]) => Self::read(path.to_owned()),
            ("DELETE", ["developer", "apps", did, "price", "proposal"]) => Self::read(format!("/api/developer/apps/{did}/price")),
            ("POST", ["console", "payables", beneficiary, currency, "payouts"]) => {
                object("console/payables", &format!("{beneficiary}/{currency}"))
            }
            ("PUT", ["console", "apps", did, "category"]) => object("console/apps", did),
            ("POST", ["console", "categories"]) => Self::created(&["cat_"]),
            ("POST", ["console", "categories", "default"]) => Self::read("/api/console/categories".to_owned()),
            ("PUT", ["console", "categories", _]) => Self::read(path.to_owned()),
            ("PUT", ["clock", "confirm"]) => Self::read("/api/clock".to_owned()),
            ("PUT", ["restore", "confirm"]) => Self::read("/api/restore".to_owned()),
            ("PUT", ["restore", "found-payments", "handled"]) => Self::read("/api/restore/found-payments".to_owned()),
            ("PUT", ["customers", "me"]) => object("customers", "me"),
            ("POST", ["customers", "me", "email-confirmation"]) => Self::read("/api/customers/me/email-confirmation".to_owned()),
            ("DELETE", ["session", "logins", ..]) => Self::read("/api/session/logins".to_owned()),
            // The computer that has signed out can read nothing any more.
            ("DELETE", ["devices", "current"]) => Self::nothing(),
            ("DELETE", ["devices", _]) => Self::read("/api/devices".to_owned()),
            ("POST", ["developer", "trusted-publishers"]) => Self::read("/api/developer/trusted-publishers".to_owned()),
            ("DELETE", ["developer", collection @ ("access-tokens" | "trusted-publishers"), _]) => {
                Self::read(format!("/api/developer/{collection}"))
            }
            // A digest has no read of its own. Both calls repeat safely.
            ("PUT" | "DELETE", ["console", "blocked-digests", _]) => Self::nothing(),
            ("DELETE", ["console", collection, _]) => Self::read(format!("/api/console/{collection}")),
            ("POST", ["invitations", "accept"]) => Self::read("/api/session".to_owned()),
            ("POST", ["developer-program", "agreement"]) | ("DELETE", ["developer-program", "membership"]) => {
                Self::read("/api/developer-program".to_owned())
            }
            ("DELETE", ["apps", _, "deposit"]) => Self::read(path.to_owned()),
            ("POST", ["session", "claim-owner"]) | (_, ["session", "picture"]) => Self::read("/api/session".to_owned()),
            ("DELETE", ["subscriptions", _, "overdraft-protection"]) => Self::read(path.to_owned()),
            ("PUT", ["subscriptions", id, "recover"]) => object("subscriptions", id).shaped(Shape::Recovered),
            ("PUT", ["subscriptions", id, "return-stake"]) => object("subscriptions", id).shaped(Shape::Returned),
            ("POST", ["subscriptions", ..] | ["payment-intents", ..] | ["customers", ..]) => Self::nothing(),
            ("PUT" | "DELETE", [collection, id]) => object(collection, id),
            ("PUT", [collection, id, _]) => object(collection, id),
            ("POST", [collection @ ("refunds" | "invoices" | "test-clocks"), id, _]) => object(collection, id),
            _ => Self::nothing(),
        }
    }

    /// The answer, or why there is none: the call was interrupted before it had created its object, or its answer cannot be rebuilt.
    pub async fn rebuild<E: Endpoint>(&self, inner: &E, request: &Request, objects: &[String]) -> Result<Response, Problem> {
        let Some(first) = self.path(objects.first()) else { return Err(interrupted()) };
        let mut response = read(inner, request, &first).await?;
        if self.shape == Shape::Whole || !response.status().is_success() {
            return Ok(response);
        }
        let body: Value = response.take_body().into_json().await.map_err(|_| Problem::internal())?;
        let answer = match self.shape {
            Shape::Whole => body,
            Shape::Field(name) => body.get(name).cloned().unwrap_or_default(),
            Shape::Recovered => json!({ "subscription": body, "needStake": false }),
            Shape::Returned => json!({ "success": true, "subscription_id": body.get("id") }),
            Shape::List => {
                let mut list = vec![body];
                for path in objects.iter().skip(1).filter_map(|object| self.path(Some(object))) {
                    let body = read(inner, request, &path).await?.take_body();
                    list.push(body.into_json().await.map_err(|_| Problem::internal())?);
                }
                json!({ "count": list.len(), "list": list })
            }
        };
        response.set_body(answer.to_string());
        Ok(response)
    }

    /// The path of the read; `None` if the write creates objects and has not created this one.
    fn path(&self, object: Option<&String>) -> Option<String> {
        match (&self.read, object) {
            (Read::Nothing, _) => None,
            (Read::Path(path), _) if self.objects.is_empty() => Some(path.clone()),
            (_, None) => None,
            (Read::Path(path), Some(object)) if path.ends_with('/') => Some(format!("{path}{object}")),
            (Read::Path(path), Some(_)) => Some(path.clone()),
            (Read::Object, Some(object)) => {
                let kind = KINDS.iter().find(|kind| kind.prefix.iter().any(|prefix| object.starts_with(prefix)))?;
                Some(format!("/api/{}/{object}", kind.collection))
            }
        }
    }
}

/// A kind of object that a write creates, and the collection with its read.
struct Kind {
    prefix: &'static [&'static str],
    collection: &'static str,
}

static KINDS: [Kind; 11] = [
    Kind { prefix: &["cs_"], collection: "checkout-sessions" },
    Kind { prefix: &["re_"], collection: "refunds" },
    Kind { prefix: &["cn_"], collection: "credit-notes" },
    Kind { prefix: &["prod_"], collection: "products" },
    Kind { prefix: &["price_"], collection: "prices" },
    Kind { prefix: &["plink_"], collection: "payment-links" },
    Kind { prefix: &["pm_"], collection: "payment-methods" },
    Kind { prefix: &["pc_"], collection: "payment-currencies" },
    Kind { prefix: &["ur_"], collection: "usage-records" },
    Kind { prefix: &["clock_"], collection: "test-clocks" },
    Kind { prefix: &["cat_"], collection: "console/categories" },
];

/// Reads a path with the headers, the query and the permissions of the request.
async fn read<E: Endpoint>(inner: &E, request: &Request, path: &str) -> Result<Response, Problem> {
    let address = match request.uri().query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut read = Request::builder().method(Method::GET).uri(address.parse().map_err(|_| Problem::internal())?).finish();
    *read.headers_mut() = request.headers().clone();
    for name in [header::CONTENT_LENGTH, header::CONTENT_TYPE, header::TRANSFER_ENCODING] {
        read.headers_mut().remove(name);
    }
    *read.extensions_mut() = request.extensions().clone();
    Ok(inner.get_response(read).await)
}

fn interrupted() -> Problem {
    let message = "The first request with this Idempotency-Key was interrupted. Check its effect and send the request with a new key";
    Problem::new(StatusCode::CONFLICT, message).code("IDEMPOTENCY_INTERRUPTED")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Writes without a rebuilt answer: previews write nothing; a secret is shown once; the others repeat safely with a new key, or have no
    /// caller afterwards.
    const WITHOUT: [&str; 27] = [
        "DELETE /api/console/blocked-digests/{sha256}",
        "DELETE /api/devices/current",
        "POST /api/console/invitations",
        "POST /api/console/payouts/{id}/reverse",
        "POST /api/apps/{did}/versions/{version}/checks",
        "POST /api/credit-notes/preview",
        "POST /api/customers/me/erasure",
        "POST /api/customers/me/revoke-links",
        "POST /api/customers/sync-to-space",
        "POST /api/customers/{id}/erasure",
        "POST /api/customers/{id}/revoke-links",
        "POST /api/developer/access-tokens",
        "POST /api/email-confirmations",
        "POST /api/invitations/preview",
        "POST /api/invoices/pay-stripe",
        "POST /api/payment-intents/{id}/resolve",
        "POST /api/payment-methods/{id}/stake-for-gas",
        "POST /api/session/logout",
        "POST /api/subscriptions/{id}/change-payment",
        "POST /api/subscriptions/{id}/change-plan/preview",
        "POST /api/tool-sessions/approve",
        "POST /api/tool-sessions/deny",
        "POST /api/tool-sessions/preview",
        "POST /api/transfers/{id}/resolve",
        "POST /api/trusted-publishing/token",
        "PUT /api/console/blocked-digests/{sha256}",
        "PUT /api/subscriptions/resume-billing",
    ];

    #[test]
    fn the_answer_of_each_write_is_rebuilt_from_an_existing_read() {
        let document: Value = serde_json::from_str(&crate::document()).expect("is JSON");
        let paths = document["paths"].as_object().expect("paths");
        let same_path = |left: &str, right: &str| {
            let (left, right): (Vec<_>, Vec<_>) = (left.split('/').collect(), right.split('/').collect());
            left.len() == right.len() && left.iter().zip(&right).all(|(left, right)| left == right || left.starts_with('{'))
        };
        let mut without = BTreeSet::new();
        for (path, operations) in paths {
            for method in operations.as_object().expect("operations").keys().filter(|method| *method != "get") {
                let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).expect("a method");
                let source = Source::of(&method, path);
                let example = source.objects.first().map(|prefix| format!("{prefix}1"));
                match source.path(example.as_ref()) {
                    Some(read) => {
                        let is_read = |(known, operations): (&String, &Value)| {
                            operations.get("get").is_some() && same_path(known.trim_end_matches('/'), &read)
                        };
                        assert!(paths.iter().any(is_read), "{method} {path}: {read}");
                    }
                    None => {
                        without.insert(format!("{method} {path}"));
                    }
                }
            }
        }
        assert_eq!(without, WITHOUT.map(ToOwned::to_owned).into());
    }
}
