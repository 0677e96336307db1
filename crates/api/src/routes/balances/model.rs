use crate::lossless_json::Decimal;
use crate::routes::payments::{CurrencyModel, MethodModel};
use crate::state::Site;
use poem_openapi::Object;
use souk_domain::billing::{Balance, BalanceTransaction};
use souk_domain::payment::{Currency, Method};
use souk_domain::shared::Amount;

/// The balance of a customer in one currency.
#[derive(Debug, Clone, Object)]
#[oai(rename = "CustomerBalance", skip_serializing_if_is_none)]
pub struct BalanceModel {
    pub currency_id: String,
    /// Base units.
    pub amount: String,
    pub currency: Option<CurrencyModel>,
    pub method: Option<MethodModel>,
    /// The maximum payout now, in base units: the balance less what unpaid invoices require. Only the store sees it.
    pub payout_limit: Option<String>,
}

impl BalanceModel {
    #[must_use]
    pub fn new(balance: &Balance, payout_limit: Option<Amount>, currencies: &[Currency], methods: &[Method], site: &Site) -> Self {
        let currency = currencies.iter().find(|currency| currency.id == balance.currency_id);
        let method = currency.and_then(|currency| methods.iter().find(|method| method.id == currency.method_id));
        Self {
            currency_id: balance.currency_id.to_string(),
            amount: balance.amount.to_string(),
            currency: currency.map(CurrencyModel::from),
            method: method.map(|method| MethodModel::new(method, &[], site)),
            payout_limit: payout_limit.map(|limit| limit.to_string()),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CustomerBalanceList")]
pub struct BalanceListModel {
    pub count: u64,
    /// The balances above zero.
    pub list: Vec<BalanceModel>,
}

/// One change of a balance.
#[derive(Debug, Clone, Object)]
#[oai(rename = "BalanceTransaction", skip_serializing_if_is_none)]
pub struct BalanceTransactionModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    pub customer_id: String,
    pub currency_id: String,
    /// applied_to_invoice, unapplied_from_invoice, credit_note, overpayment, payout, payout_restored, refund_moved or suspense_resolved.
    #[oai(rename = "type")]
    pub kind: String,
    /// `increase` or `decrease`, derived from the type.
    pub direction: String,
    /// Base units, never negative.
    pub amount: String,
    pub balance_after: String,
    /// The id of the object that caused the change: an invoice, a credit note, a refund or an attempt.
    pub source: String,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    pub created_at: String,
}

impl BalanceTransactionModel {
    #[must_use]
    pub fn new(transaction: &BalanceTransaction, currencies: &[Currency]) -> Self {
        let currency = currencies.iter().find(|currency| currency.id == transaction.currency_id);
        Self {
            id: transaction.id.to_string(),
            object: "balance_transaction".to_owned(),
            livemode: transaction.mode.is_live(),
            customer_id: transaction.customer_id.to_string(),
            currency_id: transaction.currency_id.to_string(),
            kind: transaction.kind.name().to_owned(),
            direction: if transaction.kind.is_increase() { "increase" } else { "decrease" }.to_owned(),
            amount: transaction.amount.to_string(),
            balance_after: transaction.balance_after.to_string(),
            source: transaction.source.clone(),
            payment_currency: currency.map(CurrencyModel::from),
            created_at: transaction.created_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "BalanceTransactionList")]
pub struct BalanceTransactionListModel {
    pub count: u64,
    pub list: Vec<BalanceTransactionModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "BalancePayoutInput")]
pub struct PayoutInputModel {
    pub currency_id: String,
    /// A human decimal; absent: the maximum payout.
    pub amount: Option<Decimal>,
    /// A note from the store to the customer.
    pub memo: Option<String>,
}
