//! Paying by wallet what is overdue: one invoice (`collect`), or all of a currency (`collect-batch`).

use super::claims;
use crate::auth::{Caller, Opener, resources};
use crate::problem::Problem;
use crate::state::App;
use serde_json::{Value, json};
use souk_domain::access::{ConnectAction, ConnectSession, Wallet};
use souk_domain::billing::{self, AskedCollection, Debt, ManageError};
use souk_domain::customer::Customer;
use souk_domain::shared::{CurrencyId, CustomerId, InvoiceId, Language, Mode, SubscriptionId};
use std::collections::BTreeMap;

const NO_DEBTOR: &str = "Either subscriptionId or customerId must be provided";

/// What the page asks to pay, if whoever opened it may.
pub struct Opened {
    /// The parameters, with a customer by id where the page named a DID.
    pub params: BTreeMap<String, String>,
}

/// Checks the parameters of a page, and that whoever opened it may see this debt.
pub async fn open(
    app: &App,
    action: ConnectAction,
    params: BTreeMap<String, String>,
    mode: Mode,
    opener: &Opener<resources::Invoices>,
    caller: Option<&Caller>,
) -> Result<Opened, Problem> {
    let mut params = params;
    let mut unit = app.ctx.store.read().await?;
    let (customer, ids): (CustomerId, Vec<String>) = match (action, params.get("subscriptionId"), params.get("customerId")) {
        (ConnectAction::Collect, ..) => {
            let id = InvoiceId::parse(params.get("invoiceId").map(String::as_str).unwrap_or_default())?;
            let invoice = unit.invoices().find(&id).await?.ok_or_else(Problem::not_found)?;
            let subscription = invoice.subscription_id.map(|id| id.to_string());
            (invoice.customer_id, [Some(id.to_string()), subscription].into_iter().flatten().collect())
        }
        (_, Some(id), _) => {
            let subscription = unit.subscriptions().find(&SubscriptionId::parse(id)?).await?.ok_or_else(Problem::not_found)?;
            (subscription.customer_id, vec![id.clone()])
        }
        (_, None, Some(named)) => {
            let customer: Option<Customer> = match (CustomerId::parse(named), app.envelopes.parse_did(named)) {
                (Ok(id), _) => unit.customers().find(&id).await?,
                (Err(_), Some(did)) => unit.customers().find_by_did(mode, &did).await?,
                (Err(_), None) => None,
            };
            let id = customer.ok_or_else(Problem::not_found)?.id;
            params.insert("customerId".to_owned(), id.to_string());
            (id, Vec::new())
        }
        (_, None, None) => return Err(Problem::bad(NO_DEBTOR)),
    };
    if action == ConnectAction::CollectBatch {
        CurrencyId::parse(params.get("currencyId").map(String::as_str).unwrap_or_default())
            .map_err(|_| Problem::bad("currencyId is required"))?;
    }
    let customer = unit.customers().find(&customer).await?.ok_or_else(Problem::not_found)?;
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    // Somebody else's account may not pay: their wallet would be asked for a stranger's debt.
    let is_own = caller.is_none_or(|caller| caller.user.did == customer.did);
    match opener.may_open(&ids, &customer.did, customer.mode) && (is_own || opener.has_link(&ids)) {
        true => Ok(Opened { params }),
        false => Err(Problem::not_found()),
    }
}

/// The debt that a session is about; `None` for sessions of other actions.
pub fn debt_of(session: &ConnectSession) -> Option<Debt> {
    let param = |name: &str| session.params.get(name).map(String::as_str).unwrap_or_default();
    match session.action {
        ConnectAction::Collect => InvoiceId::parse(param("invoiceId")).ok().map(Debt::Invoice),
        ConnectAction::CollectBatch => {
            let currency = CurrencyId::parse(param("currencyId")).ok()?;
            match SubscriptionId::parse(param("subscriptionId")) {
                Ok(subscription) => Some(Debt::OfSubscription(subscription, currency)),
                Err(_) => Some(Debt::OfCustomer(CustomerId::parse(param("customerId")).ok()?, currency)),
            }
        }
        _ => None,
    }
}

/// The claim that asks for the transfer, and its chain.
pub async fn ask(app: &App, session: &ConnectSession, debt: &Debt, wallet: &Wallet) -> Result<(Value, Value), ManageError> {
    let asked = billing::ask_to_collect(&app.ctx, debt, wallet, session.nonce).await?;
    Ok((claim(&asked, claims::language_of(session)), claims::chain_of(app, &asked.method)))
}

fn claim(asked: &AskedCollection, language: Language) -> Value {
    let AskedCollection { prepared, currency, amount, invoices, .. } = asked;
    let sum = amount.to_decimal(currency.decimals);
    let text = match (language, invoices.len()) {
        (Language::English, 1) => format!("Pay an overdue invoice: {sum} {}", currency.symbol),
        (Language::English, number) => format!("Pay {number} overdue invoices: {sum} {}", currency.symbol),
        (Language::Chinese, number) => format!("支付 {number} 张逾期账单：{sum} {}", currency.symbol),
    };
    json!([{
        "type": "prepareTx",
        "description": text,
        "partialTx": prepared.partial_tx,
        "requirement": { "tokens": [{ "address": prepared.token, "value": amount.to_string() }] },
        "display": "",
        "nonce": "",
        "meta": {},
        "mfaCode": [],
    }])
}
