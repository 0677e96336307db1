//! What a wallet signs for a subscription that stands: it pays what is overdue, one invoice (`collect`) or all of a currency
//! (`collect-batch`), gives another permission (`change-payment`), leaves a stake anew (`re-stake`), adds funds to the account that
//! pays (`recharge`), or stakes for its overdraft protection (`overdraft-protection`).

use super::claims;
use crate::auth::{Caller, LinkHolder, resources};
use crate::problem::Problem;
use crate::routes::customers::named_customer;
use crate::state::App;
use serde_json::{Value, json};
use souk_domain::access::{ConnectAction, ConnectSession, ConnectStep, Wallet};
use souk_domain::billing::{self, Debt, ManageError, PlanChoice, PlanOrder, PreparedOverduePayment, PreparedRecharge, StakeFor};
use souk_domain::payment::UnsignedTransaction;
use souk_domain::shared::{
    Amount, AmountError, CurrencyId, CustomerId, InvoiceId, Language, Mode, PriceId, SubscriptionId, SubscriptionItemId, Timestamp,
};
use std::collections::BTreeMap;

const NO_DEBTOR: &str = "Either subscriptionId or customerId must be provided";

/// Whether an action is about a subscription that stands.
pub const fn is_deed(action: ConnectAction) -> bool {
    use ConnectAction::{ChangePayment, Collect, CollectBatch, OverdraftProtection, Recharge, Restake};
    matches!(action, Collect | CollectBatch | ChangePayment | Restake | Recharge | OverdraftProtection)
}

/// Checks the parameters of a page, and that whoever opened it may do this. Answers them, with a customer by id where the page
/// named a DID.
pub async fn open(
    app: &App,
    action: ConnectAction,
    params: BTreeMap<String, String>,
    mode: Mode,
    opener: &LinkHolder<resources::Invoices>,
    caller: Option<&Caller>,
) -> Result<BTreeMap<String, String>, Problem> {
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
        (ConnectAction::CollectBatch, None, Some(named)) => {
            let id = named_customer(app, unit.as_mut(), mode, named).await?.ok_or_else(Problem::not_found)?.id;
            params.insert("customerId".to_owned(), id.to_string());
            (id, Vec::new())
        }
        (ConnectAction::CollectBatch, None, None) => return Err(Problem::bad(NO_DEBTOR)),
        (..) => return Err(Problem::bad("subscriptionId is required")),
    };
    if matches!(action, ConnectAction::CollectBatch | ConnectAction::ChangePayment) {
        CurrencyId::parse(params.get("currencyId").map(String::as_str).unwrap_or_default())
            .map_err(|_| Problem::bad("currencyId is required"))?;
    }
    let customer = unit.customers().find(&customer).await?.ok_or_else(Problem::not_found)?;
    drop(unit);
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    // Somebody else's account may not pay: their wallet would be asked for a stranger's debt.
    let is_own = caller.is_none_or(|caller| caller.user.did == customer.did);
    // The link of a mail may pay what is owed and nothing else.
    let may = match action {
        ConnectAction::Collect | ConnectAction::CollectBatch => {
            opener.may_open(&ids, &customer.did, customer.mode) && (is_own || opener.has_link(&ids))
        }
        _ => caller.is_some() && is_own,
    };
    if !may {
        return Err(Problem::not_found());
    }
    if action == ConnectAction::Recharge {
        let subscription = SubscriptionId::parse(params.get("subscriptionId").map(String::as_str).unwrap_or_default())?;
        billing::check_recharge(&app.ctx, &subscription, amount_of(&params).map_err(|error| Problem::bad(error.to_string()))?).await?;
    }
    if action == ConnectAction::OverdraftProtection {
        stake_amount(&params).map_err(|error| Problem::bad(error.to_string()))?;
    }
    Ok(params)
}

/// What is staked for the overdraft protection; absent: what is missing.
fn stake_amount(params: &BTreeMap<String, String>) -> Result<Option<Amount>, AmountError> {
    params.get("amount").filter(|amount| !amount.is_empty()).map(|amount| Amount::parse_base_units(amount)).transpose()
}

/// In base units.
fn amount_of(params: &BTreeMap<String, String>) -> Result<Amount, AmountError> {
    Amount::parse_base_units(params.get("amount").map(String::as_str).unwrap_or_default())
}

/// What a session is about.
pub enum WalletAction {
    Pay(Debt),
    /// With the plan that the permission is for, where it is for another one.
    Change(SubscriptionId, CurrencyId, Option<PlanOrder>),
    Restake(SubscriptionId),
    Recharge(SubscriptionId, Amount),
    /// `None`: what is missing.
    Overdraft(SubscriptionId, Option<Amount>),
}

/// `None` for sessions of other actions.
pub fn deed_of(session: &ConnectSession) -> Option<WalletAction> {
    let param = |name: &str| session.params.get(name).map(String::as_str).unwrap_or_default();
    let subscription = SubscriptionId::parse(param("subscriptionId"));
    let currency = CurrencyId::parse(param("currencyId"));
    match session.action {
        ConnectAction::Collect => InvoiceId::parse(param("invoiceId")).ok().map(Debt::Invoice).map(WalletAction::Pay),
        ConnectAction::CollectBatch => Some(WalletAction::Pay(match subscription {
            Ok(subscription) => Debt::OfSubscription(subscription, currency.ok()?),
            Err(_) => Debt::OfCustomer(CustomerId::parse(param("customerId")).ok()?, currency.ok()?),
        })),
        ConnectAction::ChangePayment => Some(WalletAction::Change(subscription.ok()?, currency.ok()?, plan_of(session))),
        ConnectAction::Restake => Some(WalletAction::Restake(subscription.ok()?)),
        ConnectAction::Recharge => Some(WalletAction::Recharge(subscription.ok()?, amount_of(&session.params).ok()?)),
        ConnectAction::OverdraftProtection => Some(WalletAction::Overdraft(subscription.ok()?, stake_amount(&session.params).ok()?)),
        _ => None,
    }
}

/// The plan that the page was agreed to, as `PUT change-plan` told it to attach it.
fn plan_of(session: &ConnectSession) -> Option<PlanOrder> {
    let param = |name: &str| session.params.get(name);
    Some(PlanOrder {
        choice: PlanChoice {
            price: PriceId::parse(param("priceId")?).ok()?,
            quantity: param("quantity").map(|quantity| quantity.parse()).transpose().ok()?,
            item: param("itemId").map(|item| SubscriptionItemId::parse(item)).transpose().ok()?,
        },
        at: Timestamp::from_seconds(param("prorationDate")?.parse().ok()?),
        expected: Amount::parse_base_units(param("expectedTotal")?).ok()?,
        credited: param("expectedCredited").map(|credited| Amount::parse_base_units(credited)).transpose().ok()?,
    })
}

/// The claim that asks for the signature, and its chain.
pub async fn build_request(
    app: &App,
    session: &ConnectSession,
    action: &WalletAction,
    wallet: &Wallet,
) -> Result<(Value, Value), ManageError> {
    let (ctx, language) = (&app.ctx, claims::language_of(session));
    Ok(match action {
        WalletAction::Change(id, _, plan) if session.step == ConnectStep::Stake => {
            let asked = billing::prepare_restake(ctx, id, stake_for(plan.as_ref()), wallet, stake_nonce(session)).await?;
            (claims::stake_claim(&asked, language), claims::chain_of(app, &asked.method))
        }
        WalletAction::Pay(debt) => {
            let asked = billing::prepare_overdue_payment(ctx, debt, wallet, session.nonce).await?;
            (claim(&asked, language), claims::chain_of(app, &asked.method))
        }
        WalletAction::Change(id, currency, plan) => {
            let asked = billing::prepare_payment_change(ctx, id, currency, plan.as_ref(), wallet, session.nonce).await?;
            (claims::mandate_claim(&asked, &app.site.name, language), claims::chain_of(app, &asked.method))
        }
        WalletAction::Restake(id) => {
            let asked = billing::prepare_restake(ctx, id, StakeFor::Resuming, wallet, session.nonce).await?;
            (claims::stake_claim(&asked, language), claims::chain_of(app, &asked.method))
        }
        WalletAction::Overdraft(id, amount) => {
            let asked = billing::prepare_overdraft_stake(ctx, id, *amount, wallet, session.nonce).await?;
            (claims::stake_claim(&asked, language), claims::chain_of(app, &asked.method))
        }
        WalletAction::Recharge(id, amount) => {
            let asked = billing::prepare_recharge(ctx, id, *amount, wallet, session.nonce).await?;
            (funds_claim(&asked, language), claims::chain_of(app, &asked.method))
        }
    })
}

/// The stake's transaction is another one than the permission's of the same connect session.
const fn stake_nonce(session: &ConnectSession) -> u64 {
    session.nonce.wrapping_add(1)
}

fn stake_for(plan: Option<&PlanOrder>) -> StakeFor<'_> {
    plan.map_or(StakeFor::ChangedPayment, StakeFor::ChangedPlan)
}

/// Whether the wallet is to leave a stake too, after it has permitted charges.
pub async fn lacks_stake(app: &App, session: &ConnectSession, action: &WalletAction, wallet: &Wallet) -> bool {
    match action {
        WalletAction::Change(id, currency, plan) if session.step == ConnectStep::Transfer => {
            match billing::lacks_stake(&app.ctx, id, currency, stake_for(plan.as_ref()), wallet).await {
                // The plan waits for it: asked for the stake, the wallet is told why there is none now.
                Err(ManageError::PaymentInFlight) => plan.is_some(),
                // What was permitted stands in any case.
                lacks => lacks.unwrap_or(false),
            }
        }
        _ => false,
    }
}

/// Takes what was signed. Answers the transaction's hash.
pub async fn take(
    app: &App,
    session: &ConnectSession,
    action: &WalletAction,
    wallet: &Wallet,
    signed: &str,
) -> Result<String, ManageError> {
    let ctx = &app.ctx;
    match action {
        WalletAction::Change(id, _, plan) if session.step == ConnectStep::Stake => {
            billing::submit_signed_restake(ctx, id, stake_for(plan.as_ref()), wallet, (stake_nonce(session), signed)).await
        }
        WalletAction::Pay(debt) => billing::submit_signed_overdue_payment(ctx, debt, wallet, session.nonce, signed).await,
        WalletAction::Change(id, currency, plan) => {
            billing::submit_signed_payment_change(ctx, id, currency, plan.as_ref(), wallet, (session.nonce, signed)).await
        }
        WalletAction::Restake(id) => billing::submit_signed_restake(ctx, id, StakeFor::Resuming, wallet, (session.nonce, signed)).await,
        WalletAction::Overdraft(id, amount) => {
            billing::submit_signed_overdraft_stake(ctx, id, *amount, wallet, (session.nonce, signed)).await
        }
        WalletAction::Recharge(id, amount) => billing::submit_signed_recharge(ctx, id, *amount, wallet, (session.nonce, signed)).await,
    }
}

fn claim(asked: &PreparedOverduePayment, language: Language) -> Value {
    let PreparedOverduePayment { prepared, currency, amount, invoices, .. } = asked;
    let sum = amount.to_decimal(currency.decimals);
    let text = match (language, invoices.len()) {
        (Language::English, 1) => format!("Pay an overdue invoice: {sum} {}", currency.symbol),
        (Language::English, number) => format!("Pay {number} overdue invoices: {sum} {}", currency.symbol),
        (Language::Chinese, number) => format!("支付 {number} 张逾期账单：{sum} {}", currency.symbol),
    };
    transfer(&text, prepared, *amount)
}

/// Who gets it is in the text: it is not the store that asks.
fn funds_claim(asked: &PreparedRecharge, language: Language) -> Value {
    let sum = format!("{} {}", asked.amount.to_decimal(asked.currency.decimals), asked.currency.symbol);
    let (to, what) = (&asked.to, &asked.description);
    let text = match language {
        Language::English => format!("Top up {to}, the account that pays for {what}, with {sum}"),
        Language::Chinese => format!("为 {what} 的扣款账户 {to} 充值 {sum}"),
    };
    transfer(&text, &asked.prepared, asked.amount)
}

fn transfer(text: &str, prepared: &UnsignedTransaction, amount: Amount) -> Value {
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
