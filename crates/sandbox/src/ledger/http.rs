//! The ledger's HTTP interface.

use super::answers::hash_of;
use super::chain::ChainConfig;
use super::faults::{Fault, Faults};
use super::query::RootField;
use super::rules::LedgerError;
use super::state::{Entry, SendError};
use super::{FAUCET_AMOUNT, FAUCET_LIMIT, Ledger, TOKEN_SYMBOL, pages, query};
use crate::admission::{Admission, Write};
use crate::did::{self, Address};
use crate::gas_payer;
use crate::store::SandboxDbError;
use crate::time::Timestamp;
use futures_util::stream;
use poem::http::{HeaderMap, Method, StatusCode, header};
use poem::{Body, Endpoint, Request, Response, Route};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Maximum body. A transaction has at most 64 kB before its base64 encoding.
const MAX_BODY_BYTES: usize = 256 * 1024;
const MAX_LISTED: i64 = 50;

/// The ledger's endpoints, to be mounted at `/sandbox/arcblock`.
pub fn routes(ledger: Arc<Ledger>, admission: Admission) -> Route {
    Route::new().at("/*path", Wire(ledger, admission))
}

struct Wire(Arc<Ledger>, Admission);

impl Endpoint for Wire {
    type Output = Response;

    async fn call(&self, mut request: Request) -> poem::Result<Response> {
        let path = request.uri().path().trim_matches('/').to_owned();
        let Ok(body) = request.take_body().into_bytes_limit(MAX_BODY_BYTES).await else {
            return Ok(json(StatusCode::PAYLOAD_TOO_LARGE, &json!({"error": "the request is too large"})));
        };
        let segments: Vec<&str> = path.split('/').collect();
        Ok(match (request.method(), segments.as_slice()) {
            (&Method::OPTIONS, _) => empty(),
            (&Method::POST, ["api"]) => self.api(&request, &body).await?,
            (&Method::POST, ["faucet"]) => {
                self.1.check(&request, Write::TestTokens)?;
                self.faucet(&body).await
            }
            (&Method::GET, ["explorer", "txs", hash]) => self.transaction_page(hash).await,
            (&Method::GET, ["explorer", "accounts", address, "tokens"]) => self.account_page(address).await,
            (&Method::GET, ["debug", "transfers"]) if self.0.faults.is_some() => self.transfers().await,
            (&Method::POST, ["debug", "forget", hash]) if self.0.faults.is_some() => self.forget(hash).await,
            (&Method::POST, ["faults"]) => self.add_fault(&body),
            (&Method::DELETE, ["faults"]) => self.clear_faults(),
            (&Method::POST, ["time"]) => self.set_time(&body).await,
            (&Method::PUT, ["chain"]) => self.set_chain(&body),
            _ => not_found(),
        })
    }
}

#[derive(Deserialize)]
struct GraphRequest {
    query: String,
    #[serde(default)]
    variables: Option<Map<String, Value>>,
}

impl Wire {
    async fn api(&self, request: &Request, body: &[u8]) -> poem::Result<Response> {
        let Ok(read) = serde_json::from_slice::<GraphRequest>(body) else {
            return Ok(json(StatusCode::BAD_REQUEST, &graphql_error("GRAPHQL_PARSE_FAILED", "the body is not {\"query\": …}")));
        };
        let query = match query::read(&read.query, &read.variables.unwrap_or_default()) {
            Ok(query) => query,
            Err(error) => return Ok(json(StatusCode::BAD_REQUEST, &graphql_error(error.code(), &error.to_string()))),
        };
        if let Err(error) = self.0.schema.check(self.0.chain().generation, query.root(), &query.selection) {
            return Ok(json(StatusCode::BAD_REQUEST, &json!({"errors": [{"message": error.message}]})));
        }
        let fault = if query.is_mutation { self.0.faults.as_ref().and_then(Faults::next) } else { None };
        match fault {
            Some(Fault::DropRequest) => return Ok(lost()),
            Some(Fault::Decline) => return Ok(json(StatusCode::OK, &graphql_error("FORBIDDEN", "declined on demand"))),
            _ => {}
        }
        let mut data = Map::new();
        for field in &query.fields {
            let answer = if query.is_mutation { self.send(request, field, fault).await? } else { self.0.answer(field).await };
            match answer {
                Ok(answer) => data.insert(field.alias.clone(), field.select(answer)),
                Err(SendError::Rejected(LedgerError { code, message, .. })) if fault != Some(Fault::DropAnswer) => {
                    return Ok(json(StatusCode::OK, &graphql_error(code, &message)));
                }
                Err(SendError::Rejected(_)) => return Ok(lost()),
                Err(SendError::Storage(error)) => {
                    tracing::error!(%error, "the sandbox's ledger failed");
                    return Ok(json(StatusCode::INTERNAL_SERVER_ERROR, &graphql_error("INTERNAL", "the ledger's storage failed")));
                }
            };
        }
        match fault {
            Some(Fault::DropAnswer) => return Ok(lost()),
            Some(Fault::Delay { millis }) => tokio::time::sleep(Duration::from_millis(millis)).await,
            _ => {}
        }
        Ok(json(StatusCode::OK, &json!({"data": data})))
    }

    /// Sends a transaction, which is limited unless it comes from the store. The outer error is that of the admission.
    async fn send(&self, request: &Request, field: &RootField, fault: Option<Fault>) -> poem::Result<Result<Value, SendError>> {
        let tx = field.text("tx");
        let gas_payer = match self.gas_payer(request.headers(), tx) {
            Ok(gas_payer) => gas_payer,
            Err(error) => return Ok(Err(error.into())),
        };
        if !self.0.is_store(gas_payer.as_ref()) {
            let kibibytes = u32::try_from(tx.len().div_ceil(1_024)).unwrap_or(u32::MAX);
            self.1.check(request, Write::Transaction { kibibytes })?;
        }
        Ok(self.0.execute(field, gas_payer.as_ref(), fault == Some(Fault::RecordRejection)).await)
    }

    /// The account that offers to pay the gas, if there is one and it has signed for this transaction.
    fn gas_payer(&self, headers: &HeaderMap, tx: &str) -> Result<Option<Address>, LedgerError> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let (Some(pk), Some(signature)) = (header("x-gas-payer-pk"), header("x-gas-payer-sig")) else { return Ok(None) };
        let hash = hash_of(tx).unwrap_or_default();
        let key = did::public_key(pk).unwrap_or_default();
        gas_payer::check(signature, &key, &hash, self.0.clock.now())
            .map(Some)
            .map_err(|reason| LedgerError::new("INVALID_REQUEST", format!("the gas payer's signature: {reason}")))
    }

    async fn faucet(&self, body: &[u8]) -> Response {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        let Some(address) = Address::parse(request["address"].as_str().unwrap_or_default()) else {
            return json(StatusCode::BAD_REQUEST, &json!({"error": "address is not a DID"}));
        };
        match self.0.faucet(address.as_str()).await {
            Ok(Some(hash)) => json(StatusCode::OK, &json!({"hash": hash, "amount": FAUCET_AMOUNT.to_string(), "symbol": TOKEN_SYMBOL})),
            Ok(None) => {
                let message = format!("The faucet gives to an address at most {FAUCET_LIMIT} times in an hour.");
                json(StatusCode::TOO_MANY_REQUESTS, &json!({"error": message}))
            }
            Err(error) => storage_failed(&error),
        }
    }

    async fn transaction_page(&self, hash: &str) -> Response {
        match self.0.entry(&hash.to_uppercase()).await {
            Ok(Some(entry)) => html(StatusCode::OK, pages::transaction(&entry)),
            Ok(None) => html(StatusCode::NOT_FOUND, pages::missing("transaction")),
            Err(error) => storage_failed(&error),
        }
    }

    async fn account_page(&self, address: &str) -> Response {
        let missing = || html(StatusCode::NOT_FOUND, pages::missing("account"));
        let Some(did) = Address::parse(address) else { return missing() };
        let account = match self.0.account(did.as_str()).await {
            Ok(Some(account)) => account,
            Ok(None) => return missing(),
            Err(error) => return storage_failed(&error),
        };
        match self.0.entries_of(did.as_str(), MAX_LISTED).await {
            Ok(entries) => html(StatusCode::OK, pages::account(&account, &entries)),
            Err(error) => storage_failed(&error),
        }
    }

    async fn transfers(&self) -> Response {
        match self.0.settled().await {
            Ok(entries) => json(StatusCode::OK, &entries.iter().map(transfer).collect()),
            Err(error) => storage_failed(&error),
        }
    }

    /// Removes a transaction, like a chain that was reorganized. Balances stay.
    async fn forget(&self, hash: &str) -> Response {
        match self.0.forget(hash).await {
            Ok(true) => empty(),
            Ok(false) => not_found(),
            Err(error) => storage_failed(&error),
        }
    }

    fn add_fault(&self, body: &[u8]) -> Response {
        let Some(faults) = &self.0.faults else { return not_found() };
        let added = serde_json::from_slice(body).map_err(|error| error.to_string());
        match added.and_then(|order| faults.add(order).map_err(str::to_owned)) {
            Ok(()) => empty(),
            Err(error) => json(StatusCode::BAD_REQUEST, &json!({"error": error})),
        }
    }

    async fn set_time(&self, body: &[u8]) -> Response {
        if self.0.faults.is_none() {
            return not_found();
        }
        let order: Result<AccountTime, _> = serde_json::from_slice(body);
        let known = order.ok().and_then(|order| Some((Address::parse(&order.address)?, Timestamp::from_seconds(order.now))));
        let Some((address, now)) = known else { return json(StatusCode::BAD_REQUEST, &json!({"error": "{address, now} is expected"})) };
        match self.0.set_time(address.as_str(), now).await {
            Ok(()) => empty(),
            Err(error) => storage_failed(&error),
        }
    }

    /// Changes the generation and the gas price.
    fn set_chain(&self, body: &[u8]) -> Response {
        if self.0.faults.is_none() {
            return not_found();
        }
        match serde_json::from_slice::<ChainConfig>(body) {
            Ok(chain) => {
                self.0.set_chain(chain);
                empty()
            }
            Err(error) => json(StatusCode::BAD_REQUEST, &json!({"error": error.to_string()})),
        }
    }

    fn clear_faults(&self) -> Response {
        let Some(faults) = &self.0.faults else { return not_found() };
        faults.clear();
        empty()
    }
}

/// `{address, now}`, the body of `POST /time`: the current time of an account in unix seconds.
#[derive(Deserialize)]
struct AccountTime {
    address: String,
    now: i64,
}

/// A transfer for counting in tests: the amount that its receiver got, and its JSON data.
fn transfer(entry: &Entry) -> Value {
    let credited = entry.receipts.as_array().into_iter().flatten().filter(|receipt| receipt["address"] == entry.receiver.as_str());
    let changes = credited.flat_map(|receipt| receipt["changes"].as_array().into_iter().flatten());
    let amount: u128 = changes.filter_map(|change| change["value"].as_str()?.parse::<u128>().ok()).sum();
    let data = &entry.tx["itxJson"]["data"]["value"];
    json!({
        "hash": entry.hash, "type": entry.type_url, "reference": data["reference"], "data": data,
        "from": entry.sender, "to": entry.receiver, "amount": amount.to_string(),
    })
}

fn graphql_error(code: &str, message: &str) -> Value {
    json!({"errors": [{"code": code, "message": format!("{code}: {message}")}]})
}

fn not_found() -> Response {
    json(StatusCode::NOT_FOUND, &json!({"error": "not found"}))
}

fn storage_failed(error: &SandboxDbError) -> Response {
    tracing::error!(%error, "the sandbox's ledger failed");
    json(StatusCode::INTERNAL_SERVER_ERROR, &json!({"error": "the ledger's storage failed"}))
}

fn json(status: StatusCode, body: &Value) -> Response {
    open(Response::builder().status(status).content_type("application/json").header(header::CACHE_CONTROL, "no-store"))
        .body(body.to_string())
}

fn html(status: StatusCode, page: String) -> Response {
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    Response::builder().status(status).content_type("text/html; charset=utf-8").header(header::CONTENT_SECURITY_POLICY, policy).body(page)
}

fn empty() -> Response {
    open(Response::builder().status(StatusCode::NO_CONTENT)).finish()
}

/// Allows requests from any origin, because wallets call the chain directly and it uses no cookies.
fn open(response: poem::ResponseBuilder) -> poem::ResponseBuilder {
    response
        .header(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")
        .header(header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, OPTIONS")
        .header(header::ACCESS_CONTROL_ALLOW_HEADERS, "content-type, x-gas-payer-pk, x-gas-payer-sig")
}

/// A lost answer: it ends before its announced length, so that clients cannot take it for complete or reuse the connection.
fn lost() -> Response {
    let broken = stream::once(async { Err::<Vec<u8>, _>(io::Error::from(io::ErrorKind::ConnectionReset)) });
    let response = Response::builder().content_type("application/json").header(header::CONTENT_LENGTH, "2");
    response.body(Body::from_bytes_stream(broken))
}
