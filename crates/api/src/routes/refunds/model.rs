//! The wire format of refunds (payment-kit.md 2).

use crate::lossless_json::Decimal;
use crate::problem::Problem;
use crate::routes::credit_notes::{CreditNoteModel, credit_note};
use crate::routes::payments::PaymentDetailModel;
use crate::state::{App, Site};
use poem_openapi::{Object, Union};
use souk_domain::access::Did;
use souk_domain::billing::{self, CreditNoteReason, RefundOrder, RefundedNote, Stake};
use souk_domain::payment::{Decline, Intent, Method, MethodKind, Refund, RefundStatus, RefundType, TransactionKey};
use souk_domain::shared::{Amount, InvoiceId, Mode, PaymentIntentId, StorageError};
use souk_domain::storage::UnitOfWork;
use std::collections::BTreeMap;

/// Why the network declined a refund.
#[derive(Debug, Clone, Object)]
#[oai(rename = "RefundFailure")]
pub struct FailureModel {
    pub code: String,
    pub message: String,
}

impl From<&Decline> for FailureModel {
    fn from(decline: &Decline) -> Self {
        Self { code: decline.code.clone(), message: decline.message.clone() }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Refund", skip_serializing_if_is_none)]
pub struct RefundModel {
    /// The id of the refund; for a `stake_return` the id of the stake.
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// `refund` (of a payment), `stake_return` (of a deposit), `balance_payout` (of the customer's balance) or `dashboard_refund` (the part
    /// of a refund in the provider's dashboard that the invoices could not give).
    #[oai(rename = "type")]
    pub kind: String,
    /// `pending`, `succeeded`, `failed`, or `canceled` (it failed, and its amount was moved to the customer's balance).
    pub status: String,
    /// Base units.
    pub amount: String,
    /// The refunded payment; absent for a payout to a wallet and for the return of a deposit.
    pub payment_intent_id: Option<String>,
    pub credit_note_id: Option<String>,
    pub invoice_id: Option<String>,
    pub subscription_id: Option<String>,
    pub customer_id: String,
    pub currency_id: String,
    pub payment_method_id: String,
    /// The reason of the credit note, `balance_payout`, or why the deposit was released.
    pub reason: String,
    pub description: String,
    /// The network's reference of the refund, once it has one.
    pub reference: String,
    /// The refund on its network, under the name of the method's type; empty until the network has confirmed it.
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
    /// The reason of the last failure.
    pub failure: Option<FailureModel>,
    /// The code of the last failure.
    pub failure_reason: Option<String>,
    /// Number of failures.
    pub failure_count: u32,
    pub created_at: String,
    pub updated_at: String,
}

impl RefundModel {
    fn new(refund: &Refund, payment_details: BTreeMap<String, PaymentDetailModel>) -> Self {
        Self {
            id: refund.id.to_string(),
            object: "refund".to_owned(),
            livemode: refund.mode.is_live(),
            kind: refund.kind.name().to_owned(),
            status: refund.status.name().to_owned(),
            amount: refund.amount.to_string(),
            payment_intent_id: refund.intent_id.as_ref().map(ToString::to_string),
            credit_note_id: refund.credit_note_id.as_ref().map(ToString::to_string),
            invoice_id: refund.invoice_id.as_ref().map(ToString::to_string),
            subscription_id: refund.subscription_id.as_ref().map(ToString::to_string),
            customer_id: refund.customer_id.to_string(),
            currency_id: refund.currency_id.to_string(),
            payment_method_id: refund.method_id.to_string(),
            reason: refund.reason.clone(),
            description: refund.description.clone(),
            reference: refund.reference.clone(),
            payment_details,
            failure: refund.failure.as_ref().map(FailureModel::from),
            failure_reason: refund.failure.as_ref().map(|failure| failure.code.clone()),
            failure_count: refund.failure_count,
            created_at: refund.created_at.to_iso(),
            updated_at: refund.updated_at.to_iso(),
        }
    }
}

/// The type of a stake's return among the refunds.
pub(super) const STAKE_RETURN: &str = "stake_return";

/// The return of a stake: the part that was returned, or the part that the network declined to return.
pub(super) fn stake_return(stake: &Stake, methods: &[Method], site: &Site) -> RefundModel {
    let (status, amount) = match stake.has_failed_release() {
        true => (RefundStatus::Failed, stake.available()),
        false => (RefundStatus::Succeeded, stake.amount_returned),
    };
    let reference = stake.return_reference.as_deref().filter(|_| status == RefundStatus::Succeeded);
    let method = methods.iter().find(|method| method.id == stake.method_id);
    let details = reference.zip(method).map(|(reference, method)| {
        let transaction = PaymentDetailModel::of_transaction(reference, STAKE_RETURN);
        transaction.between(site.account(method.kind), Some(stake.payer.as_str())).under(method.kind)
    });
    RefundModel {
        id: stake.id.to_string(),
        object: "refund".to_owned(),
        livemode: stake.mode.is_live(),
        kind: STAKE_RETURN.to_owned(),
        status: status.name().to_owned(),
        amount: amount.to_string(),
        payment_intent_id: None,
        credit_note_id: None,
        invoice_id: None,
        subscription_id: stake.subject.subscription().map(ToString::to_string),
        customer_id: stake.customer_id.to_string(),
        currency_id: stake.currency_id.to_string(),
        payment_method_id: stake.method_id.to_string(),
        reason: stake.release_reason.map(|reason| reason.name().to_owned()).unwrap_or_default(),
        description: String::new(),
        reference: reference.unwrap_or_default().to_owned(),
        payment_details: details.unwrap_or_default(),
        failure: stake.failure.as_ref().map(FailureModel::from),
        failure_reason: stake.failure.as_ref().map(|failure| failure.code.clone()),
        failure_count: stake.failure_count,
        created_at: stake.created_at.to_iso(),
        updated_at: stake.updated_at.to_iso(),
    }
}

/// The models of refunds of one mode.
pub async fn refund_models(app: &App, unit: &mut dyn UnitOfWork, refunds: &[Refund]) -> Result<Vec<RefundModel>, StorageError> {
    let Some(first) = refunds.first() else { return Ok(Vec::new()) };
    let methods = unit.methods().list(first.mode).await?;
    let intents: Vec<_> = refunds.iter().filter_map(|refund| refund.intent_id.clone()).collect();
    let intents = if intents.is_empty() { Vec::new() } else { unit.intents().find_all(&intents).await? };
    let transaction = |refund: &Refund| TransactionKey { method_id: refund.method_id.clone(), hash: refund.reference.clone() };
    let transactions: Vec<_> = refunds.iter().filter(|refund| !refund.reference.is_empty()).map(transaction).collect();
    let wallets = unit.attempts().wallets_of(&transactions).await?;
    let model = |refund: &Refund| {
        let method = methods.iter().find(|method| method.id == refund.method_id);
        let intent = intents.iter().find(|intent| Some(&intent.id) == refund.intent_id.as_ref());
        let details = method.map(|method| details(refund, method.kind, intent, wallets.get(&transaction(refund)), &app.site));
        RefundModel::new(refund, details.unwrap_or_default())
    };
    Ok(refunds.iter().map(model).collect())
}

/// The model of one refund.
pub async fn refund_model(app: &App, refund: &Refund) -> Result<RefundModel, Problem> {
    let mut unit = app.ctx.store.read().await?;
    let models = refund_models(app, unit.as_mut(), std::slice::from_ref(refund)).await?;
    models.into_iter().next().ok_or_else(Problem::internal)
}

/// The `payment_details` of a refund to a card, or of a transfer to `wallet`.
fn details(
    refund: &Refund,
    kind: MethodKind,
    intent: Option<&Intent>,
    wallet: Option<&Did>,
    site: &Site,
) -> BTreeMap<String, PaymentDetailModel> {
    if refund.reference.is_empty() {
        return BTreeMap::new();
    }
    let detail = match (kind, refund.kind) {
        (MethodKind::Stripe, _) => PaymentDetailModel {
            payment_intent_id: intent.map(|intent| intent.reference.clone()),
            refund_id: Some(refund.reference.clone()),
            ..PaymentDetailModel::default()
        },
        (_, RefundType::Refund | RefundType::BalancePayout | RefundType::Dashboard) => {
            PaymentDetailModel::of_transaction(&refund.reference, "transfer")
        }
    };
    let detail = match kind {
        MethodKind::Stripe => detail,
        kind => detail.between(site.account(kind), wallet.map(Did::as_str)),
    };
    detail.under(kind)
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "RefundInput")]
pub struct RefundInputModel {
    /// The payment, if the path does not name it. Absent: the payments of the invoice.
    pub payment_intent_id: Option<String>,
    /// The invoice to refund, if the payment paid several.
    pub invoice_id: Option<String>,
    /// A human decimal; absent: the maximum refund.
    pub amount: Option<Decimal>,
    /// `duplicate`, `fraudulent`, `requested_by_customer`, `requested_by_admin`, or a reason of credit notes. Stored as the reason of the
    /// credit note; values that credit notes do not have become `other`.
    pub reason: Option<String>,
    /// A note from the store to the customer.
    pub description: Option<String>,
}

/// The first refund of the request; there can be several. If the invoice was paid from the balance only, there is no refund, and this
/// is the credit note.
#[derive(Debug, Clone, Union)]
#[oai(one_of, rename = "RefundAnswer")]
pub enum RefundAnswerModel {
    Refund(Box<RefundModel>),
    CreditNote(Box<CreditNoteModel>),
}

/// Refunds a payment or an invoice of this mode by a credit note.
pub async fn order_refund(app: &App, mode: Mode, intent: Option<&str>, input: RefundInputModel) -> Result<RefundAnswerModel, Problem> {
    let intent = intent.map(PaymentIntentId::parse).transpose()?;
    let invoice = input.invoice_id.filter(|id| !id.is_empty()).map(|id| InvoiceId::parse(&id)).transpose()?;
    let mut unit = app.ctx.store.read().await?;
    let currency = match (&intent, &invoice) {
        (Some(id), _) => unit.intents().find(id).await?.filter(|intent| intent.mode == mode).map(|intent| intent.currency_id),
        (None, Some(id)) => unit.invoices().find(id).await?.filter(|invoice| invoice.mode == mode).map(|invoice| invoice.currency_id),
        (None, None) => None,
    };
    let currency = unit.methods().find_currency(&currency.ok_or_else(Problem::not_found)?).await?.ok_or_else(Problem::not_found)?;
    drop(unit);
    let amount = input.amount.map(|amount| Amount::parse_decimal(&amount.0, currency.decimals, currency.decimals)).transpose()?;
    let order = RefundOrder {
        amount,
        invoice: invoice.clone(),
        reason: input.reason.as_deref().and_then(CreditNoteReason::from_name).unwrap_or(CreditNoteReason::Other),
        description: input.description.unwrap_or_default(),
    };
    let done = match (&intent, &invoice) {
        (Some(intent), _) => billing::refund_payment(&app.ctx, mode, intent, &order).await?,
        (None, Some(invoice)) => billing::refund_invoice(&app.ctx, mode, invoice, &order).await?,
        (None, None) => return Err(Problem::not_found()),
    };
    answer(app, &done).await
}

async fn answer(app: &App, done: &RefundedNote) -> Result<RefundAnswerModel, Problem> {
    if let Some(refund) = done.refunds.first() {
        return Ok(RefundAnswerModel::Refund(Box::new(refund_model(app, refund).await?)));
    }
    let note = done.notes.first().ok_or_else(Problem::not_found)?;
    let mut unit = app.ctx.store.read().await?;
    Ok(RefundAnswerModel::CreditNote(Box::new(credit_note(app, unit.as_mut(), note).await?)))
}
