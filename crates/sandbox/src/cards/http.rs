//! The processor's HTTP interface: API keys, forms, JSON.

use super::call::{Answer, ApiError, Call, CallError, Caller, Form, Verb};
use super::fault::Fault;
use super::page;
use super::processor::CardProcessor;
use crate::admission::{Admission, Write};
use poem::http::{Method, StatusCode, header};
use poem::{Body, Endpoint, Request, Response, Route};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Maximum body. A confirmation is below 2 kB; metadata may have 27 kB.
const MAX_BODY_BYTES: usize = 64 * 1024;
const METHODS: &str = "GET, POST, DELETE, OPTIONS";

/// The processor's endpoints, to be mounted at `/sandbox/stripe`.
pub fn routes(processor: Arc<CardProcessor>, admission: Admission) -> Route {
    Route::new().at("/*path", Wire(processor, admission))
}

struct Wire(Arc<CardProcessor>, Admission);

impl Endpoint for Wire {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let method = request.method().clone();
        if method == Method::OPTIONS {
            return Ok(Response::builder().status(StatusCode::NO_CONTENT).header(header::ALLOW, METHODS).finish());
        }
        let path = request.uri().path().trim_matches('/').to_owned();
        let Ok(body) = request.take_body().into_bytes_limit(MAX_BODY_BYTES).await else {
            return Ok(self.json(&ApiError::too_large().answer()));
        };
        let query = request.uri().query().unwrap_or_default();
        let segments: Vec<&str> = path.split('/').collect();
        match (method.as_str(), segments.as_slice()) {
            ("GET", ["dashboard", "payments", id]) => Ok(self.dashboard(id).await),
            ("GET", ["challenge", _, _]) => Ok(html(StatusCode::OK, page::challenge())),
            ("POST", ["challenge", kind @ ("payment_intents" | "setup_intents"), id]) => {
                self.1.check(&request, Write::CardStep)?;
                let path = format!("v1/{kind}/{id}/authenticate");
                let form = Form::parse(query, &body);
                let answer =
                    self.0.perform(&Call { caller: Caller::Publishable, verb: Verb::Post, path, form, idempotency_key: None }).await;
                let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                Ok(html(status, page::challenged(answer.status)))
            }
            ("POST", ["faults"]) if self.0.has_faults() => Ok(match self.0.faults.add(&body) {
                Ok(()) => Response::builder().status(StatusCode::NO_CONTENT).finish(),
                Err(error) => self.json(&error.answer()),
            }),
            ("DELETE", ["faults"]) if self.0.has_faults() => {
                self.0.faults.clear();
                Ok(Response::builder().status(StatusCode::NO_CONTENT).finish())
            }
            ("GET", _) => self.api(&request, Verb::Get, path, Form::parse(query, &body)).await,
            ("POST", _) => self.api(&request, Verb::Post, path, Form::parse(query, &body)).await,
            ("DELETE", _) => self.api(&request, Verb::Delete, path, Form::parse(query, &body)).await,
            _ => Ok(self.json(&ApiError::unknown_path().answer())),
        }
    }
}

impl Wire {
    async fn api(&self, request: &Request, verb: Verb, path: String, form: Form) -> poem::Result<Response> {
        let header = |name: &str| request.header(name);
        let open = self.0.has_faults() && path.starts_with("debug/");
        let caller = match self.0.caller(header("authorization").and_then(|value| value.strip_prefix("Bearer "))) {
            Ok(caller) => caller,
            Err(_) if open => Caller::Publishable,
            Err(error) => return Ok(self.json(&error.answer())),
        };
        // The store calls with the secret key.
        if caller == Caller::Publishable && verb != Verb::Get && !open {
            self.1.check(request, if path == "v1/payment_methods" { Write::Card } else { Write::CardStep })?;
        }
        let idempotency_key = header("idempotency-key").map(str::to_owned);
        let call = Call { caller, verb, path, form, idempotency_key };
        let answer = self.0.perform(&call).await;
        let answer = self.0.delay(answer, caller).await;
        let fault = if caller == Caller::Secret && !open { self.0.faults.next() } else { None };
        Ok(match fault {
            None => self.json(&answer),
            Some(Fault::Error500) => self.json(&ApiError::internal().answer()),
            Some(Fault::Delay { millis }) => {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                self.json(&answer)
            }
            Some(Fault::DropAnswer) => lost(),
        })
    }

    /// Each answer has an id of its own, a replayed one too.
    fn json(&self, answer: &Answer) -> Response {
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = Response::builder()
            .status(status)
            .content_type("application/json")
            .header(header::CACHE_CONTROL, "no-store")
            .header("request-id", self.0.request_id());
        if answer.replayed {
            response = response.header("idempotent-replayed", "true");
        }
        response.body(answer.body.to_string())
    }

    async fn dashboard(&self, id: &str) -> Response {
        let read = async {
            let mut state = self.0.state().await?;
            let page = page::payment(&mut state, id).await?;
            state.close().await?;
            Ok::<_, CallError>(page)
        };
        match read.await {
            Ok(page) => html(StatusCode::OK, page),
            Err(CallError::Api(_)) => html(StatusCode::NOT_FOUND, page::missing()),
            Err(_) => html(StatusCode::INTERNAL_SERVER_ERROR, page::missing()),
        }
    }
}

fn html(status: StatusCode, page: String) -> Response {
    Response::builder()
        .status(status)
        .content_type("text/html; charset=utf-8")
        .header(header::CACHE_CONTROL, "no-store")
        .header("x-content-type-options", "nosniff")
        .header("referrer-policy", "no-referrer")
        .header(
            "content-security-policy",
            "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'",
        )
        .body(page)
}

/// A lost answer: a length is announced, and the connection is closed before any content is sent.
fn lost() -> Response {
    let broken = futures_util::stream::once(async { Err::<Vec<u8>, _>(io::Error::other("the answer is lost")) });
    Response::builder()
        .content_type("application/json")
        .header(header::CONTENT_LENGTH, 1_024)
        .header(header::CONNECTION, "close")
        .body(Body::from_bytes_stream(broken))
}
