//! The wire format of transfers on hold. Amounts are strings in base units.

use crate::problem::Problem;
use crate::routes::customers::{CustomerReference, ListCustomers};
use crate::routes::payments::{CurrencyModel, MethodModel, PaymentDetailModel};
use crate::state::App;
use poem_openapi::Object;
use souk_domain::billing::{HoldDecision, TransferOnHold, TransferType, transfers_on_hold};
use souk_domain::payment::{AttemptKind, Method, MethodKind};
use souk_domain::shared::{Listed, Mode, Page};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Object)]
#[oai(rename = "TransferOnHold", skip_serializing_if_is_none)]
pub struct TransferOnHoldModel {
    /// `POST /api/transfers/{id}/resolve` ends the hold.
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// refund, balance_payout, stake (a payment into a deposit), stake_return, stake_forfeit, mandate or recharge.
    #[oai(rename = "type")]
    pub kind: String,
    /// The id of the refund, stake, mandate or subscription.
    pub subject_id: String,
    /// The ordered amount, in base units.
    pub amount: String,
    /// The amount that the network moved.
    pub amount_moved: String,
    pub currency_id: String,
    pub customer_id: Option<String>,
    pub customer: Option<CustomerReference>,
    pub payment_method_id: String,
    /// The refunded invoice.
    pub invoice_id: Option<String>,
    /// The subscription that the deposit was placed for, or whose account was topped up.
    pub subscription_id: Option<String>,
    /// What the store can decide: `record` what was moved; `retry`: order the rest once more; `balance`: add the difference to the customer's
    /// balance; `revenue`: keep it; `return`: give the received deposit back.
    pub decisions: Vec<String>,
    /// The network's reference of the movement: one entry under the name of the method's type.
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    /// When the differing amount was recorded.
    pub held_at: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TransferOnHoldList")]
pub struct TransferOnHoldListModel {
    pub count: u64,
    pub list: Vec<TransferOnHoldModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TransferResolution")]
pub struct TransferResolutionModel {
    /// What the network had moved, in base units.
    pub amount_moved: String,
    /// The ordered amount that it had not moved.
    pub amount_rest: String,
    /// What it moved beyond a refund, a payout or the recorded deposit. The suspense account has it.
    pub amount_excess: String,
}

/// One page of the transfers on hold with their related objects.
pub async fn list(app: &App, mode: Mode, page: &Page) -> Result<TransferOnHoldListModel, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let Listed { count, list } = transfers_on_hold(unit.as_mut(), mode, page).await?;
    if list.is_empty() {
        return Ok(TransferOnHoldListModel { count, list: Vec::new() });
    }
    let methods = unit.methods().list(mode).await?;
    let currencies = unit.methods().currencies(mode).await?;
    let customers = ListCustomers::read(unit.as_mut(), list.iter().filter_map(|transfer| transfer.customer_id.as_ref())).await?;
    drop(unit);
    let model = |transfer: &TransferOnHold| {
        let TransferOnHold { attempt, kind, moved, customer_id, invoice_id, subscription_id } = transfer;
        let method = methods.iter().find(|method| method.id == attempt.method_id);
        let currency = currencies.iter().find(|currency| currency.id == attempt.currency_id);
        TransferOnHoldModel {
            id: attempt.id.to_string(),
            object: "transfer_on_hold".to_owned(),
            livemode: mode.is_live(),
            kind: kind.name().to_owned(),
            subject_id: attempt.purpose.subject().to_owned(),
            amount: attempt.amount.to_string(),
            amount_moved: moved.amount.to_string(),
            currency_id: attempt.currency_id.to_string(),
            customer_id: customer_id.as_ref().map(ToString::to_string),
            customer: customer_id.as_ref().and_then(|id| customers.reference(id)),
            payment_method_id: attempt.method_id.to_string(),
            invoice_id: invoice_id.as_ref().map(ToString::to_string),
            subscription_id: subscription_id.as_ref().map(ToString::to_string),
            decisions: transfer.decisions().iter().copied().map(HoldDecision::name).map(ToOwned::to_owned).collect(),
            payment_details: method.map(|method| details(app, transfer, method)).unwrap_or_default(),
            payment_currency: currency.map(CurrencyModel::from),
            payment_method: method.map(|method| MethodModel::new(method, &[], &app.site)),
            held_at: attempt.updated_at.to_iso(),
        }
    };
    Ok(TransferOnHoldListModel { count, list: list.iter().map(model).collect() })
}

/// The network's reference of what it moved.
fn details(app: &App, transfer: &TransferOnHold, method: &Method) -> BTreeMap<String, PaymentDetailModel> {
    let reference = &transfer.moved.reference;
    if reference.is_empty() {
        return BTreeMap::new();
    }
    let detail = match (&transfer.attempt.kind, method.kind) {
        (AttemptKind::CardRefund { payment }, _) => PaymentDetailModel {
            payment_intent_id: Some(payment.clone()),
            refund_id: Some(reference.clone()),
            ..PaymentDetailModel::default()
        },
        (_, MethodKind::Stripe) => PaymentDetailModel { payment_intent_id: Some(reference.clone()), ..PaymentDetailModel::default() },
        (kind, network) => {
            let wallet = if let AttemptKind::Wallet { payer, .. } = kind { Some(payer.as_str()) } else { None };
            let transaction = PaymentDetailModel::of_transaction(reference, transaction_type(transfer.kind));
            match transfer.kind {
                TransferType::Refund | TransferType::BalancePayout | TransferType::StakeReturn => {
                    transaction.between(app.site.account(network), wallet)
                }
                _ => transaction.between(wallet, app.site.account(network)),
            }
        }
    };
    detail.under(method.kind)
}

/// The type of the transaction in `payment_details`.
const fn transaction_type(kind: TransferType) -> &'static str {
    match kind {
        TransferType::Refund | TransferType::BalancePayout | TransferType::Recharge => "transfer",
        TransferType::Stake | TransferType::CheckoutStake => "stake",
        TransferType::StakeReturn => "stake_return",
        TransferType::StakeForfeit => "slash",
        TransferType::Mandate => "delegate",
    }
}
