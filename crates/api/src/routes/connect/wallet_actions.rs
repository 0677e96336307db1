//! What a wallet signs outside a checkout. For an existing subscription: the payment of one overdue invoice (`collect`) or of all in a
//! currency (`collect-batch`), a new delegation (`change-payment`), a new stake (`re-stake`), a top-up of the paying account (`recharge`),
//! or the stake of its overdraft protection (`overdraft-protection`). For a developer: the deposit for becoming one (`stake-and-join`), or
//! for publishing an app (`stake-and-publish`).

use super::claims;
use crate::auth::{Caller, LinkHolder, resources};
use crate::problem::Problem;
use crate::routes::customers::named_customer;
use crate::routes::payments::names_text;
use crate::state::App;
use serde_json::{Value, json};
use souk_domain::access::{ConnectAction, ConnectSession, ConnectStep, Did, Wallet};
use souk_domain::billing::{
    self, OverdueTarget, PaymentTargetError, PlanChoice, PlanError, PlanOrder, PreparedOverduePayment, PreparedRecharge, RestakeError,
    StakeFor, SubscriptionError,
};
use souk_domain::payment::{PreparedStake, UnsignedTransaction, WalletSignature};
use souk_domain::publishing::staking;
use souk_domain::shared::{
    Amount, AmountError, CurrencyId, CustomerId, InvoiceId, Language, PriceId, SubscriptionId, SubscriptionItemId, Timestamp,
};
use std::collections::BTreeMap;

/// The payer is not named.
fn owner_required() -> Problem {
    Problem::bad("Either subscriptionId or customerId must be provided").code("OWNER_REQUIRED")
}

/// Returns whether an action concerns an existing subscription or a developer.
pub const fn is_wallet_action(action: ConnectAction) -> bool {
    use ConnectAction::{AppDeposit, ChangePayment, Collect, CollectBatch, Join, OverdraftProtection, Recharge, Restake};
    matches!(action, Collect | CollectBatch | ChangePayment | Restake | Recharge | OverdraftProtection | Join | AppDeposit)
}

/// Validates the parameters of a page and the permission of its visitor. Returns the parameters, with a customer's DID replaced by
/// the customer's id. The mode is that of the named object; for a customer, who can exist in both modes, that of the named currency.
pub async fn open(
    app: &App,
    action: ConnectAction,
    params: BTreeMap<String, String>,
    visitor: &LinkHolder<resources::Invoices>,
    caller: Option<&Caller>,
) -> Result<BTreeMap<String, String>, Problem> {
    let mut params = params;
    if matches!(action, ConnectAction::Join | ConnectAction::AppDeposit) {
        return open_deposit(app, action, params, caller).await;
    }
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
            let mode = unit.methods().find_currency(&currency_of(&params)?).await?.ok_or_else(Problem::not_found)?.mode;
            let customer = named_customer(app, unit.as_mut(), mode, named).await?.filter(|customer| customer.mode == mode);
            let id = customer.ok_or_else(Problem::not_found)?.id;
            params.insert("customerId".to_owned(), id.to_string());
            (id, Vec::new())
        }
        (ConnectAction::CollectBatch, None, None) => return Err(owner_required()),
        (..) => return Err(Problem::required("subscriptionId")),
    };
    if matches!(action, ConnectAction::CollectBatch | ConnectAction::ChangePayment) {
        currency_of(&params)?;
    }
    let customer = unit.customers().find(&customer).await?.ok_or_else(Problem::not_found)?;
    drop(unit);
    let ids: Vec<_> = ids.iter().map(String::as_str).collect();
    // A signed-in user must not pay for another customer: their own wallet would be asked to pay another person's invoices.
    let is_customer = caller.is_none_or(|caller| caller.user.did == customer.did);
    // The link of an email authorizes the payment of overdue invoices and nothing else.
    let is_authorized = match action {
        ConnectAction::Collect | ConnectAction::CollectBatch => {
            visitor.may_open(&ids, &customer.did, customer.mode) && (is_customer || visitor.has_link(&ids))
        }
        _ => caller.is_some() && is_customer,
    };
    if !is_authorized {
        return Err(Problem::not_found());
    }
    if action == ConnectAction::Recharge {
        let subscription = SubscriptionId::parse(params.get("subscriptionId").map(String::as_str).unwrap_or_default())?;
        billing::check_recharge(&app.ctx, &subscription, amount_of(&params)?).await?;
    }
    if action == ConnectAction::OverdraftProtection {
        stake_amount(&params)?;
    }
    Ok(params)
}

/// As [`open`], for the deposits of developers, which their own wallet pays.
async fn open_deposit(
    app: &App,
    action: ConnectAction,
    mut params: BTreeMap<String, String>,
    caller: Option<&Caller>,
) -> Result<BTreeMap<String, String>, Problem> {
    let user = &caller.ok_or_else(Problem::signed_out)?.user.did;
    if action == ConnectAction::Join {
        staking::check_join(&app.ctx, user).await?;
        return Ok(params);
    }
    let named = params.get("appDid").ok_or_else(|| Problem::required("appDid"))?;
    let did = app.did_auth_tokens.parse_did(named).ok_or_else(Problem::not_found)?;
    staking::check_app_deposit(&app.ctx, user, &did).await?;
    params.insert("appDid".to_owned(), did.to_string());
    Ok(params)
}

fn currency_of(params: &BTreeMap<String, String>) -> Result<CurrencyId, Problem> {
    CurrencyId::parse(params.get("currencyId").map(String::as_str).unwrap_or_default()).map_err(|_| Problem::required("currencyId"))
}

/// The stake for the overdraft protection in base units; `None`: the missing amount.
fn stake_amount(params: &BTreeMap<String, String>) -> Result<Option<Amount>, AmountError> {
    params.get("amount").filter(|amount| !amount.is_empty()).map(|amount| Amount::parse_base_units(amount)).transpose()
}

/// The `amount` parameter, in base units.
fn amount_of(params: &BTreeMap<String, String>) -> Result<Amount, AmountError> {
    Amount::parse_base_units(params.get("amount").map(String::as_str).unwrap_or_default())
}

/// The action of a connect session with its parameters.
pub enum WalletAction {
    Pay(OverdueTarget),
    /// A new delegation, with the plan to switch to if the delegation is for a plan change.
    Change(SubscriptionId, CurrencyId, Option<PlanOrder>),
    Restake(SubscriptionId),
    Recharge(SubscriptionId, Amount),
    /// `None`: the missing amount.
    Overdraft(SubscriptionId, Option<Amount>),
    Join,
    /// The deposit for this app.
    AppDeposit(Did),
}

/// Returns `None` for sessions of other actions and for invalid parameters.
pub fn action_of(session: &ConnectSession) -> Option<WalletAction> {
    let param = |name: &str| session.params.get(name).map(String::as_str).unwrap_or_default();
    let subscription = SubscriptionId::parse(param("subscriptionId"));
    let currency = CurrencyId::parse(param("currencyId"));
    match session.action {
        ConnectAction::Collect => InvoiceId::parse(param("invoiceId")).ok().map(OverdueTarget::Invoice).map(WalletAction::Pay),
        ConnectAction::CollectBatch => Some(WalletAction::Pay(match subscription {
            Ok(subscription) => OverdueTarget::OfSubscription(subscription, currency.ok()?),
            Err(_) => OverdueTarget::OfCustomer(CustomerId::parse(param("customerId")).ok()?, currency.ok()?),
        })),
        ConnectAction::ChangePayment => Some(WalletAction::Change(subscription.ok()?, currency.ok()?, plan_of(session))),
        ConnectAction::Restake => Some(WalletAction::Restake(subscription.ok()?)),
        ConnectAction::Recharge => Some(WalletAction::Recharge(subscription.ok()?, amount_of(&session.params).ok()?)),
        ConnectAction::OverdraftProtection => Some(WalletAction::Overdraft(subscription.ok()?, stake_amount(&session.params).ok()?)),
        ConnectAction::Join => Some(WalletAction::Join),
        ConnectAction::AppDeposit => {
            // Verified when the session began.
            let did = Some(param("appDid")).filter(|did| !did.is_empty()).map(Did::from_verified);
            did.map(WalletAction::AppDeposit)
        }
        _ => None,
    }
}

/// The plan that the customer agreed to, from the parameters that `PUT change-plan` returned to the page.
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

/// A request for a signature.
pub struct SignatureRequest {
    pub claim: Value,
    /// The chain of the transaction.
    pub chain: Value,
}

/// Builds the request for the signature. `None`: a deposit that seemed to be required after a change of payment is not.
pub async fn build_request(
    app: &App,
    session: &ConnectSession,
    action: &WalletAction,
    wallet: &Wallet,
) -> Result<Option<SignatureRequest>, Problem> {
    let (ctx, language) = (&app.ctx, claims::language_of(session));
    let (claim, chain) = match action {
        WalletAction::Change(id, currency, plan) if session.step == ConnectStep::Stake => {
            let what = stake_for(currency, plan.as_ref());
            let prepared = match billing::prepare_restake(ctx, id, what, wallet, stake_nonce(session)).await {
                Err(RestakeError::NoStake) => return Ok(None),
                prepared => prepared?,
            };
            (claims::stake_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
        WalletAction::Pay(target) => {
            let prepared = billing::prepare_overdue_payment(ctx, target, wallet, session.nonce).await?;
            (overdue_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
        WalletAction::Change(id, currency, plan) => {
            let prepared = billing::prepare_payment_change(ctx, id, currency, plan.as_ref(), wallet, session.nonce).await?;
            (claims::mandate_claim(&prepared, &app.site.name, language), claims::chain_of(app, &prepared.method))
        }
        WalletAction::Restake(id) => {
            let prepared = billing::prepare_restake(ctx, id, StakeFor::Resuming, wallet, session.nonce).await?;
            (claims::stake_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
        WalletAction::Overdraft(id, amount) => {
            let prepared = billing::prepare_overdraft_stake(ctx, id, *amount, wallet, session.nonce).await?;
            (claims::stake_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
        WalletAction::Join => {
            let prepared = staking::prepare_join(ctx, wallet, session.nonce).await?;
            (join_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
        WalletAction::AppDeposit(did) => {
            let prepared = staking::prepare_app_deposit(ctx, did, wallet, session.nonce).await?;
            (app_deposit_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
        WalletAction::Recharge(id, amount) => {
            let prepared = billing::prepare_recharge(ctx, id, *amount, wallet, session.nonce).await?;
            (recharge_claim(&prepared, language), claims::chain_of(app, &prepared.method))
        }
    };
    Ok(Some(SignatureRequest { claim, chain }))
}

/// The nonce of a stake transaction; it differs from that of the delegation in the same connect session.
const fn stake_nonce(session: &ConnectSession) -> u64 {
    session.nonce.wrapping_add(1)
}

fn stake_for<'a>(currency: &'a CurrencyId, plan: Option<&'a PlanOrder>) -> StakeFor<'a> {
    plan.map_or(StakeFor::ChangedPayment(currency), StakeFor::ChangedPlan)
}

/// Returns whether the wallet has to place a stake as well, after it has signed the delegation.
pub async fn requires_stake(app: &App, session: &ConnectSession, action: &WalletAction, wallet: &Wallet) -> Result<bool, Problem> {
    match action {
        WalletAction::Change(id, currency, plan) if session.step == ConnectStep::Transfer => {
            match billing::lacks_stake(&app.ctx, id, currency, stake_for(currency, plan.as_ref()), wallet).await {
                // The plan change waits for the stake, so the session continues; the stake request then reports the error.
                Err(RestakeError::Payment(PaymentTargetError::Subscription(SubscriptionError::PaymentInFlight))) => Ok(plan.is_some()),
                // The plan has changed with the delegation, or it can't be ordered any more and stays as it is. Neither needs a deposit.
                Err(RestakeError::Plan(
                    PlanError::NoPlans | PlanError::Quantity(_) | PlanError::PreviewChanged | PlanError::NeedsPermission,
                )) => Ok(false),
                required => Ok(required?),
            }
        }
        _ => Ok(false),
    }
}

/// Submits the signed transaction.
pub async fn submit(app: &App, session: &ConnectSession, action: &WalletAction, signature: WalletSignature<'_>) -> Result<(), Problem> {
    let ctx = &app.ctx;
    match action {
        WalletAction::Change(id, currency, plan) if session.step == ConnectStep::Stake => {
            let signature = WalletSignature { nonce: stake_nonce(session), ..signature };
            billing::submit_signed_restake(ctx, id, stake_for(currency, plan.as_ref()), signature).await?
        }
        WalletAction::Pay(target) => billing::submit_signed_overdue_payment(ctx, target, signature).await?,
        WalletAction::Change(id, currency, plan) => {
            billing::submit_signed_payment_change(ctx, id, currency, plan.as_ref(), signature).await?
        }
        WalletAction::Restake(id) => billing::submit_signed_restake(ctx, id, StakeFor::Resuming, signature).await?,
        WalletAction::Overdraft(id, amount) => billing::submit_signed_overdraft_stake(ctx, id, *amount, signature).await?,
        WalletAction::Recharge(id, amount) => billing::submit_signed_recharge(ctx, id, *amount, signature).await?,
        WalletAction::Join => staking::submit_signed_join(ctx, signature).await?,
        WalletAction::AppDeposit(did) => staking::submit_signed_app_deposit(ctx, did, signature).await?,
    };
    Ok(())
}

fn overdue_claim(payment: &PreparedOverduePayment, language: Language) -> Value {
    let PreparedOverduePayment { prepared, currency, amount, invoices, .. } = payment;
    let sum = amount.to_decimal(currency.decimals);
    let text = match (language, invoices.len()) {
        (Language::English, 1) => format!("Pay an overdue invoice: {sum} {}", currency.symbol),
        (Language::English, number) => format!("Pay {number} overdue invoices: {sum} {}", currency.symbol),
        (Language::Chinese, number) => format!("支付 {number} 张逾期账单：{sum} {}", currency.symbol),
    };
    transfer_claim(&text, prepared, *amount)
}

fn join_claim(stake: &PreparedStake, language: Language) -> Value {
    let sum = format!("{} {}", stake.amount.to_decimal(stake.currency.decimals), stake.currency.symbol);
    let text = match language {
        Language::English => format!("Refundable deposit of {sum} to become a developer, returned after you leave"),
        Language::Chinese => format!("支付押金 {sum}（可退）成为开发者，退出后退还"),
    };
    transfer_claim(&text, &stake.prepared, stake.amount)
}

fn app_deposit_claim(stake: &PreparedStake, language: Language) -> Value {
    let sum = format!("{} {}", stake.amount.to_decimal(stake.currency.decimals), stake.currency.symbol);
    let name = names_text(&stake.description, language);
    let text = match language {
        Language::English => format!("Refundable deposit of {sum} to publish {name}"),
        Language::Chinese => format!("支付押金 {sum}（可退）以发布 {name}"),
    };
    transfer_claim(&text, &stake.prepared, stake.amount)
}

/// The description names the recipient, because the funds do not go to the store.
fn recharge_claim(recharge: &PreparedRecharge, language: Language) -> Value {
    let sum = format!("{} {}", recharge.amount.to_decimal(recharge.currency.decimals), recharge.currency.symbol);
    let (to, description) = (&recharge.to, names_text(&recharge.description, language));
    let text = match language {
        Language::English => format!("Top up {to}, the account that pays for {description}, with {sum}"),
        Language::Chinese => format!("为 {description} 的扣款账户 {to} 充值 {sum}"),
    };
    transfer_claim(&text, &recharge.prepared, recharge.amount)
}

fn transfer_claim(text: &str, prepared: &UnsignedTransaction, amount: Amount) -> Value {
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
