//! The messages between store and wallet inside the signed envelopes.

use crate::problem::Problem;
use crate::routes::payments::names_text;
use crate::state::App;
use serde::Deserialize;
use serde_json::{Value, json};
use souk_domain::access::{ConnectAction, ConnectSession, ConnectStep};
use souk_domain::checkout::TransferToSign;
use souk_domain::payment::{CurrencyLimit, Method, MethodSettings, PreparedMandate, PreparedStake};
use souk_domain::shared::{Language, Timestamp};

/// The universal link that opens the wallet on a phone. Wallets read the query parameter `url` and decode it once more.
const WALLET_LINK: &str = "https://abtwallet.io/i/";

/// A wallet's response. The body limit of its route bounds the number and size of its claims.
#[derive(Debug, Deserialize)]
pub struct Answer {
    #[serde(default)]
    pub action: String,
    #[serde(default)]
    pub challenge: String,
    #[serde(default, rename = "requestedClaims")]
    pub claims: Vec<AnsweredClaim>,
}

#[derive(Debug, Deserialize)]
pub struct AnsweredClaim {
    #[serde(default, rename = "type")]
    pub kind: String,
    #[serde(default, rename = "fullName")]
    pub full_name: String,
    #[serde(default)]
    pub email: String,
    #[serde(default, deserialize_with = "text_of_phone")]
    pub phone: String,
    #[serde(default, rename = "finalTx")]
    pub final_tx: String,
    #[serde(default)]
    pub sig: String,
}

/// Accepts a phone number as a string or as `{"phoneNumber": string}`, since wallets send both.
fn text_of_phone<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        Value::Object(object) => object.get("phoneNumber").and_then(Value::as_str).unwrap_or_default().to_owned(),
        _ => String::new(),
    })
}

impl Answer {
    /// The signed transaction, or the bare signature over the prepared one.
    pub fn signed(&self) -> Option<&str> {
        let transaction = self.claim("prepareTx").map(|claim| claim.final_tx.as_str());
        let signature =
            self.claim("signature").map(|claim| if claim.sig.is_empty() { claim.final_tx.as_str() } else { claim.sig.as_str() });
        transaction.or(signature)
    }

    pub fn claim(&self, kind: &str) -> Option<&AnsweredClaim> {
        self.claims.iter().find(|claim| claim.kind == kind)
    }
}

/// The description of this store that the wallet shows to its user.
pub fn app_info(app: &App, language: Language) -> Value {
    json!({
        "name": app.site.name,
        "description": app.site.description.in_language(language),
        "icon": app.site.address("/logo.svg"),
        "link": app.site.address("/"),
        "path": WALLET_LINK,
        "publisher": format!("did:abt:{}", app.did_auth_tokens.app_did()),
    })
}

/// The URL at which the wallet reads a session's request and posts its response.
pub fn auth_address(app: &App, session: &ConnectSession) -> String {
    app.site.address(&format!("/api/did/{}/auth?_t_={}", session.action.name(), session.token))
}

/// The deep link, which the page also shows as a QR code. The inner URL is encoded twice, as wallets expect.
pub fn deep_link(app: &App, session: &ConnectSession) -> String {
    let encode = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    format!("{WALLET_LINK}?action=requestAuth&url={}", encode(&encode(&auth_address(app, session))))
}

/// A signed request for claims.
pub fn request(app: &App, session: &ConnectSession, claims: Value, chain: Value, now: Timestamp) -> Value {
    signed(
        app,
        json!({
            "action": "responseAuth",
            "challenge": session.challenge,
            "appInfo": app_info(app, language_of(session)),
            "chainInfo": chain,
            "requestedClaims": claims,
            "url": auth_address(app, session),
            "version": "1.1.0",
        }),
        now,
    )
}

/// The signed final message of a successful step; the wallet may store `response`.
pub fn accepted(app: &App, session: &ConnectSession, response: Value, now: Timestamp) -> Value {
    let body =
        json!({ "status": "ok", "response": response, "cookies": {}, "storages": {}, "appInfo": app_info(app, language_of(session)) });
    signed(app, body, now)
}

/// The signed final message of a step whose transaction the network has not decided about yet. The page shows the result.
pub fn confirming(app: &App, session: &ConnectSession, response: Value, now: Timestamp) -> Value {
    let language = language_of(session);
    // A change of the payment method calls its delegation a transfer. Only its deposit moves money.
    let changes_payment = session.action == ConnectAction::ChangePayment && session.step != ConnectStep::Stake;
    let is_mandate = session.step == ConnectStep::Mandate || changes_payment;
    let text = match (is_mandate, language) {
        (true, Language::English) => "Your authorization is being confirmed. The page will show the result.",
        (true, Language::Chinese) => "授权正在确认中，结果会显示在页面上。",
        (false, Language::English) => "Your payment is being confirmed. The page will show the result.",
        (false, Language::Chinese) => "付款正在确认中，结果会显示在页面上。",
    };
    let body = json!({
        "status": "ok", "successMessage": text, "response": response, "cookies": {}, "storages": {}, "appInfo": app_info(app, language),
    });
    signed(app, body, now)
}

/// A signed error message, sent with status 200 (did-connect.md 2.2).
pub fn rejected(app: &App, problem: &Problem, now: Timestamp) -> Value {
    let mut body =
        json!({ "status": "error", "errorMessage": problem.to_string(), "response": {}, "appInfo": app_info(app, Language::default()) });
    if let Some(code) = &problem.body.code {
        body["errorCode"] = json!(code);
        body["errorParams"] = json!(problem.body.params.clone().unwrap_or_default());
    }
    signed(app, body, now)
}

fn signed(app: &App, body: Value, now: Timestamp) -> Value {
    json!({ "appPk": app.did_auth_tokens.app_key(), "authInfo": app.did_auth_tokens.sign(&body.to_string(), now) })
}

pub fn language_of(session: &ConnectSession) -> Language {
    session.params.get("locale").map(|tag| Language::from_tag(tag)).unwrap_or_default()
}

/// The chain of claims that move no money.
pub fn no_chain() -> Value {
    json!({ "id": "none", "host": "none", "type": "arcblock" })
}

pub fn principal_claim(action: ConnectAction, language: Language) -> Value {
    let text = match (action, language) {
        (ConnectAction::Recharge, Language::English) => {
            "Choose the account to send the funds from. It can't be the account that pays for the subscription."
        }
        (ConnectAction::Recharge, Language::Chinese) => "请选择转出资金的账户（不能是订阅的扣款账户）",
        (_, Language::English) => "Choose an account to continue",
        (_, Language::Chinese) => "请选择账户以继续",
    };
    json!([{ "type": "authPrincipal", "description": text, "meta": {}, "mfaCode": [], "supervised": false, "target": "" }])
}

pub fn profile_claim(language: Language) -> Value {
    let text = match language {
        Language::English => "Share your profile to fill in the checkout form",
        Language::Chinese => "请提供你的资料，用于填写结账表单",
    };
    json!([{ "type": "profile", "description": text, "items": ["fullName", "email", "phone"], "meta": {}, "mfaCode": [] }])
}

pub fn transfer_claim(transfer: &TransferToSign, language: Language) -> Value {
    let amount = transfer.intent.amount.to_decimal(transfer.currency.decimals);
    let items = names_text(&transfer.description, language);
    let text = match language {
        Language::English => format!("Pay {amount} {} for {items}", transfer.currency.symbol),
        Language::Chinese => format!("支付 {amount} {}，用于 {items}", transfer.currency.symbol),
    };
    json!([{
        "type": "prepareTx",
        "description": text,
        "partialTx": transfer.prepared.partial_tx,
        "requirement": { "tokens": [{ "address": transfer.prepared.token, "value": transfer.intent.amount.to_string() }] },
        "display": "",
        "nonce": "",
        "meta": {},
        "mfaCode": [],
    }])
}

/// The claim for a delegation: the wallet signs the prepared transaction unchanged. The description states the limits, because
/// wallets show little else.
pub fn mandate_claim(mandate: &PreparedMandate, store: &str, language: Language) -> Value {
    let text = |CurrencyLimit { currency, most }: &CurrencyLimit| format!("{} {}", most.to_decimal(currency.decimals), currency.symbol);
    let limits: Vec<_> = mandate.limits.iter().map(text).collect();
    let mut text = match language {
        Language::English => {
            format!(
                "Allow {store} to charge at most {} per payment for {} and your other subscriptions",
                limits.join(", "),
                names_text(&mandate.description, language)
            )
        }
        Language::Chinese => {
            format!("允许 {store} 每次最多扣款 {}，用于 {} 及你的其他订阅", limits.join("、"), names_text(&mandate.description, language))
        }
    };
    if mandate.by_usage {
        text.push_str(match language {
            Language::English => ". Usage is charged afterwards, and a payment never exceeds this limit",
            Language::Chinese => "。用量费用在使用后收取，单次扣款不会超过此上限",
        });
    }
    json!([{
        "type": "signature",
        "description": text,
        "typeUrl": "fg:t:transaction",
        "origin": mandate.prepared.partial_tx,
        "digest": "",
        "method": "sha3",
        "requirement": { "tokens": [], "assets": {} },
        "display": "",
        "nonce": "",
        "meta": {},
        "mfaCode": [],
    }])
}

pub fn stake_claim(stake: &PreparedStake, language: Language) -> Value {
    let amount = stake.amount.to_decimal(stake.currency.decimals);
    let items = names_text(&stake.description, language);
    let text = match language {
        Language::English => {
            format!("Refundable deposit of {amount} {} for {items}, returned after the subscription ends", stake.currency.symbol)
        }
        Language::Chinese => format!("为 {items} 支付押金 {amount} {}（可退），订阅结束后退还", stake.currency.symbol),
    };
    json!([{
        "type": "prepareTx",
        "description": text,
        "partialTx": stake.prepared.partial_tx,
        "requirement": { "tokens": [{ "address": stake.prepared.token, "value": stake.amount.to_string() }] },
        "display": "",
        "nonce": "",
        "meta": {},
        "mfaCode": [],
    }])
}

pub fn chain_of(app: &App, method: &Method) -> Value {
    match &method.settings {
        MethodSettings::Arcblock { chain_id, api_host, .. } => {
            json!({ "type": "arcblock", "id": chain_id, "host": app.site.host(api_host) })
        }
        MethodSettings::Evm { chain_id, .. } => json!({ "type": "ethereum", "id": chain_id.to_string() }),
        _ => no_chain(),
    }
}
