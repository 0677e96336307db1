use super::formula::formula;
use super::payments::InvoicePaymentModel;
use crate::routes::credit_notes::CreditNoteModel;
use crate::routes::disputes::DisputeModel;
use crate::routes::payments::{
    AddressModel, CurrencyModel, CustomerModel, IntentModel, MethodModel, PaymentDetailModel, description_params, description_text,
    payment_details,
};
use crate::routes::subscriptions::SubscriptionReference;
use crate::state::Site;
use poem_openapi::Object;
use souk_domain::access::Did;
use souk_domain::billing::{BillingReason, ExpandedInvoice, Invoice, InvoiceItem, InvoicePayment, PaymentSource, Period, Subscription};
use souk_domain::payment::{Currency, Intent, Method, MethodKind, TransactionKey, UnsettledRefund};
use souk_domain::shared::{Amount, Timestamp};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceMetadata")]
pub struct InvoiceMetadataModel {
    /// References to the payment on its network, under the name of the method's type.
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceLine", skip_serializing_if_is_none)]
pub struct LineModel {
    pub id: String,
    /// The description in English.
    pub description: String,
    /// The description as a code: product, remaining_time, unused_time, deposit, deposit_plan_change, deposit_payment_change,
    /// deposit_resume, deposit_overdraft, overdraft_fee, deposit_forfeited, deposit_returned, deposit_developer, deposit_developer_returned
    /// or top_up.
    pub description_code: String,
    /// The parameters of the description: `name` and `name_zh`, the name of the first product, and `others`, the number of further products.
    pub description_params: BTreeMap<String, String>,
    pub subscription_item_id: Option<String>,
    pub price_id: Option<String>,
    pub quantity: u64,
    /// Base units. `formula` states how the amount was computed.
    pub unit_amount: String,
    pub amount: String,
    /// The amount that credit notes have credited.
    pub credited: String,
    /// The billed period.
    pub period: Option<PeriodModel>,
    /// The end of the covered time, in unix seconds: the end of the period, or earlier once unused time was credited.
    pub covers_until: Option<i64>,
    /// The formula (`kind`) of the amount with its inputs.
    pub formula: serde_json::Value,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Period")]
pub struct PeriodModel {
    /// Unix seconds.
    pub start: i64,
    pub end: i64,
}

impl From<Period> for PeriodModel {
    fn from(period: Period) -> Self {
        Self { start: period.start.seconds(), end: period.end.seconds() }
    }
}

impl From<&InvoiceItem> for LineModel {
    fn from(item: &InvoiceItem) -> Self {
        Self {
            id: item.id.to_string(),
            description: description_text(&item.description),
            description_code: item.description.code().to_owned(),
            description_params: description_params(&item.description),
            subscription_item_id: item.subscription_item_id.as_ref().map(ToString::to_string),
            price_id: item.price_id.as_ref().map(ToString::to_string),
            quantity: item.quantity,
            unit_amount: item.unit_amount.to_string(),
            amount: item.amount.to_string(),
            credited: item.credited.to_string(),
            period: item.period.map(PeriodModel::from),
            covers_until: item.covers_until.map(Timestamp::seconds),
            formula: formula(&item.pricing_formula),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceSession")]
pub struct SessionReference {
    pub id: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Invoice", skip_serializing_if_is_none)]
pub struct InvoiceModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// Empty until the invoice is finalized; drafts and abandoned orders get no number.
    pub number: String,
    pub status: String,
    pub paid: bool,
    pub billing_reason: String,
    /// The description in English.
    pub description: String,
    /// The description as a code with parameters; see `InvoiceLine`.
    pub description_code: String,
    pub description_params: BTreeMap<String, String>,
    pub currency_id: String,
    pub customer_id: String,
    pub payment_intent_id: Option<String>,
    pub checkout_session_id: Option<String>,
    pub subscription_id: Option<String>,
    pub subscription: Option<SubscriptionReference>,
    /// The billed period, in unix seconds.
    pub period_start: Option<i64>,
    pub period_end: Option<i64>,
    /// Number of declined collection attempts.
    pub attempt_count: u32,
    /// The time of the next automatic attempt, in unix seconds.
    pub next_payment_attempt: Option<i64>,
    /// The sum of the lines. All amounts are base units.
    pub subtotal: String,
    pub total: String,
    /// The total less the credit notes that reduced the amount due.
    pub amount_due: String,
    /// Payments less reversals, including payments from the balance and from deposits.
    pub amount_paid: String,
    pub amount_remaining: String,
    /// The part that was paid from the customer's balance. Present only in lists and when a single invoice is read.
    pub applied_credit: Option<String>,
    /// The amount that was refunded or is being refunded. Present where `applied_credit` is.
    pub amount_refunded: Option<String>,
    /// The part of `amount_refunded` that is on its way. Present where `applied_credit` is, as is the next field.
    pub amount_refund_pending: Option<String>,
    /// The part of `amount_refunded` whose refund failed and waits for the store's decision.
    pub amount_refund_failed: Option<String>,
    pub customer_name: String,
    pub customer_email: String,
    pub customer_phone: String,
    pub customer_address: Option<AddressModel>,
    pub metadata: InvoiceMetadataModel,
    pub invoice_pdf: String,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    #[oai(rename = "paymentMethod")]
    pub payment_method: Option<MethodModel>,
    pub customer: Option<CustomerModel>,
    #[oai(rename = "paymentIntent")]
    pub payment_intent: Option<IntentModel>,
    #[oai(rename = "checkoutSession")]
    pub checkout_session: Option<SessionReference>,
    pub lines: Option<Vec<LineModel>>,
    /// The payments, oldest first. This and the next two fields are present only when a single invoice is read.
    pub payments: Option<Vec<InvoicePaymentModel>>,
    /// Newest first.
    pub credit_notes: Option<Vec<CreditNoteModel>>,
    /// Disputes of the payments; only the store sees them.
    pub disputes: Option<Vec<DisputeModel>>,
    pub paid_at: Option<String>,
    pub created_at: String,
    pub updated_at: String,
}

/// The accounts of wallets by method and transaction hash.
pub type Wallets = BTreeMap<TransactionKey, Did>;

/// The transaction that a statement documents.
#[must_use]
pub fn transaction_of(statement: &Invoice) -> Option<TransactionKey> {
    Some(TransactionKey { method_id: statement.method_id.clone(), hash: statement.reference.clone()? })
}

/// The type of the transaction that a statement with this reason documents.
const fn transaction_type(reason: BillingReason) -> &'static str {
    match reason {
        BillingReason::Stake | BillingReason::SubscriptionRecover | BillingReason::StakeOverdraftProtection => "stake",
        BillingReason::ReturnStake => "stake_return",
        BillingReason::SlashStake => "slash",
        _ => "transfer",
    }
}

impl InvoiceModel {
    #[must_use]
    pub fn new(invoice: &Invoice, intent: Option<&Intent>, methods: &[Method], currencies: &[Currency], site: &Site) -> Self {
        let method = methods.iter().find(|method| method.id == invoice.method_id);
        let currency = currencies.iter().find(|currency| currency.id == invoice.currency_id);
        let details = match (method, intent, &invoice.reference) {
            (Some(method), Some(intent), _) => payment_details(intent, method.kind, site),
            (Some(method), None, Some(moved)) => {
                PaymentDetailModel::of_transaction(moved, transaction_type(invoice.reason)).under(method.kind)
            }
            _ => BTreeMap::new(),
        };
        let paid = invoice.paid_at.is_some();
        Self {
            id: invoice.id.to_string(),
            object: "invoice".to_owned(),
            livemode: invoice.mode.is_live(),
            number: invoice.number_text().unwrap_or_default(),
            status: invoice.status.name().to_owned(),
            paid,
            billing_reason: invoice.reason.name().to_owned(),
            description: description_text(&invoice.description),
            description_code: invoice.description.code().to_owned(),
            description_params: description_params(&invoice.description),
            currency_id: invoice.currency_id.to_string(),
            customer_id: invoice.customer_id.to_string(),
            payment_intent_id: invoice.intent_id.as_ref().map(ToString::to_string),
            checkout_session_id: invoice.session_id.as_ref().map(ToString::to_string),
            subscription_id: invoice.subscription_id.as_ref().map(ToString::to_string),
            subscription: None,
            period_start: invoice.period.map(|period| period.start.seconds()),
            period_end: invoice.period.map(|period| period.end.seconds()),
            attempt_count: invoice.failure_count,
            next_payment_attempt: invoice.retry_at.map(Timestamp::seconds),
            subtotal: invoice.total.to_string(),
            total: invoice.total.to_string(),
            amount_due: invoice.amount_due().to_string(),
            amount_paid: invoice.amount_paid.to_string(),
            amount_remaining: invoice.remaining().to_string(),
            applied_credit: None,
            amount_refunded: None,
            amount_refund_pending: None,
            amount_refund_failed: None,
            customer_name: invoice.bill_to.name.clone(),
            customer_email: invoice.bill_to.email.clone(),
            customer_phone: invoice.bill_to.phone.clone(),
            customer_address: invoice.bill_to.address.as_ref().map(AddressModel::from),
            metadata: InvoiceMetadataModel { payment_details: details },
            invoice_pdf: format!("/api/invoices/{}/pdf", invoice.id),
            payment_currency: currency.map(CurrencyModel::from),
            payment_method: method.map(|method| MethodModel::new(method, &[], site)),
            customer: None,
            payment_intent: None,
            checkout_session: invoice.session_id.as_ref().map(|id| SessionReference { id: id.to_string() }),
            lines: None,
            payments: None,
            credit_notes: None,
            disputes: None,
            paid_at: invoice.paid_at.map(|at| at.to_iso()),
            created_at: invoice.created_at.to_iso(),
            updated_at: invoice.updated_at.to_iso(),
        }
    }

    /// Adds the invoice's subscription if it is among `subscriptions`.
    #[must_use]
    pub fn within(self, subscriptions: &[Subscription]) -> Self {
        let subscription = subscriptions.iter().find(|candidate| self.subscription_id.as_deref() == Some(candidate.id.as_str()));
        Self { subscription: subscription.map(SubscriptionReference::from), ..self }
    }

    /// Adds the accounts between which the transaction of a statement moved money, if its wallet is among `wallets`.
    #[must_use]
    pub fn with_wallets(mut self, invoice: &Invoice, wallets: &Wallets, site: &Site) -> Self {
        let wallet = transaction_of(invoice).and_then(|transaction| wallets.get(&transaction)).map(Did::as_str);
        if let Some(wallet) = wallet {
            for (network, detail) in &mut self.metadata.payment_details {
                let store = MethodKind::from_name(network).and_then(|kind| site.account(kind));
                let (payer, receiver) = match invoice.reason {
                    BillingReason::ReturnStake => (store, Some(wallet)),
                    // The money goes to the account that pays the subscription.
                    BillingReason::Recharge => (Some(wallet), None),
                    _ => (Some(wallet), store),
                };
                *detail = detail.clone().between(payer, receiver);
            }
        }
        self
    }

    /// Adds the sums of the invoice's payments; `payments` may contain those of other invoices.
    #[must_use]
    pub fn with_payments(self, payments: &[InvoicePayment]) -> Self {
        let own = || payments.iter().filter(|payment| payment.invoice_id.as_str() == self.id);
        let by_balance = own().filter(|payment| matches!(payment.source, PaymentSource::Balance(_)));
        let applied = Amount::sum(by_balance.map(InvoicePayment::effective)).ok();
        let refunded = Amount::sum(own().map(|payment| payment.refunded)).ok();
        Self {
            applied_credit: applied.map(|amount| amount.to_string()),
            amount_refunded: refunded.map(|amount| amount.to_string()),
            ..self
        }
    }

    /// Adds the sums of the invoice's refunds whose money is not back; `refunds` may contain those of other invoices.
    #[must_use]
    pub fn with_unsettled_refunds(self, refunds: &[UnsettledRefund]) -> Self {
        let sum = |has_failed| {
            let own = refunds.iter().filter(|refund| refund.invoice_id.as_str() == self.id && refund.has_failed == has_failed);
            Amount::sum(own.map(|refund| refund.amount)).ok().map(|amount| amount.to_string())
        };
        Self { amount_refund_pending: sum(false), amount_refund_failed: sum(true), ..self }
    }

    /// The model with lines, customer and payment.
    #[must_use]
    pub fn expanded(invoice: &ExpandedInvoice, site: &Site) -> Self {
        let (methods, currencies) = (std::slice::from_ref(&invoice.method), std::slice::from_ref(&invoice.currency));
        Self {
            customer: Some(CustomerModel::from(&invoice.customer)),
            payment_intent: invoice.intent.as_ref().map(|intent| IntentModel::new(intent, methods, currencies, site)),
            lines: Some(invoice.items.iter().map(LineModel::from).collect()),
            subscription: invoice.subscription.as_ref().map(SubscriptionReference::from),
            ..Self::new(&invoice.invoice, invoice.intent.as_ref(), methods, currencies, site)
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "InvoiceList", skip_serializing_if_is_none)]
pub struct InvoiceListModel {
    /// The subscription that the list is filtered by.
    pub subscription: Option<SubscriptionReference>,
    pub count: u64,
    pub list: Vec<InvoiceModel>,
}
