//! The wire format of subscriptions (payment-kit.md 2). Times are unix seconds, amounts are strings in base units.

use crate::problem::Problem;
use crate::routes::checkout_sessions::TextModel;
use crate::routes::customers::CustomerReference;
use crate::routes::invoices::InvoiceModel;
use crate::routes::payments::{
    CurrencyModel, CustomerModel, MethodModel, PaymentDetailModel, StakingDetailModel, names_in_both, names_text,
};
use crate::routes::prices::{PriceModel, ProductModel};
use crate::state::{App, Site};
use poem_openapi::Object;
use souk_domain::billing::{
    Cancellation, ExpandedItem, ExpandedSubscription, NextInvoice, Overdue, PayingBalance, PendingPlanChange, Stake, StakeStatus,
    StakeTransferKind, Subscription, Threshold,
};
use souk_domain::payment::{Mandate, MandateDetails, Method};
use souk_domain::shared::{Amount, CurrencyId, Language, Timestamp};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Object)]
#[oai(rename = "SubscriptionItem")]
pub struct ItemModel {
    pub id: String,
    pub price_id: String,
    pub quantity: u64,
    pub price: PriceModel,
}

impl From<&ExpandedItem> for ItemModel {
    fn from(item: &ExpandedItem) -> Self {
        let product = Some(Box::new(ProductModel::from(&item.product)));
        Self {
            id: item.item.id.to_string(),
            price_id: item.item.price_id.to_string(),
            quantity: item.item.quantity,
            price: PriceModel { product, ..PriceModel::from(&item.price) },
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "CancellationDetails")]
pub struct CancellationModel {
    /// cancellation_requested, cancellation_by_store, payment_failed or stake_revoked.
    pub reason: String,
    pub feedback: Option<String>,
    pub comment: String,
}

impl From<&Cancellation> for CancellationModel {
    fn from(cancellation: &Cancellation) -> Self {
        Self {
            reason: cancellation.reason.name().to_owned(),
            feedback: cancellation.feedback.map(|feedback| feedback.name().to_owned()),
            comment: cancellation.comment.clone(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SubscriptionStake")]
pub struct StakeModel {
    pub amount: String,
    /// held, waiting, returning, returned, slashing, slashed or revoked.
    pub status: String,
    pub tx_hash: String,
    pub return_at: Option<i64>,
}

impl StakeModel {
    /// Returns `None` if nothing has been staked.
    fn of(stake: &Stake) -> Option<Self> {
        let amount = match stake.status {
            StakeStatus::Final if stake.amount_returned.is_zero() => stake.amount_forfeited,
            StakeStatus::Final => stake.amount_returned,
            _ => stake.remaining(),
        };
        Some(Self {
            amount: amount.to_string(),
            status: stake_status(stake)?.to_owned(),
            tx_hash: stake.reference.clone().unwrap_or_default(),
            return_at: stake.return_at.filter(|_| stake.is_going_back()).map(Timestamp::seconds),
        })
    }
}

/// The status of a stake under the names that published clients use.
fn stake_status(stake: &Stake) -> Option<&'static str> {
    if let Some(moving) = &stake.reservation {
        return Some(match moving.kind {
            StakeTransferKind::Return => "returning",
            StakeTransferKind::Forfeit => "slashing",
        });
    }
    match stake.status {
        StakeStatus::Pending => None,
        StakeStatus::Held => Some("held"),
        StakeStatus::Releasing if stake.is_revoked() => Some("revoked"),
        StakeStatus::Releasing => Some("waiting"),
        StakeStatus::Final if stake.amount.is_zero() => None,
        StakeStatus::Final if stake.amount_returned.is_zero() => Some("slashed"),
        StakeStatus::Final if stake.is_revoked() => Some("revoked"),
        StakeStatus::Final => Some("returned"),
    }
}

/// The threshold at which usage is billed before the end of its period.
#[derive(Debug, Clone, Object)]
#[oai(rename = "BillingThresholds")]
pub struct ThresholdsModel {
    /// Base units; 0: usage is billed only at the end of the period.
    pub amount_gte: String,
    /// Whether billing at the threshold starts a new period.
    pub reset_billing_cycle_anchor: Option<bool>,
}

impl ThresholdsModel {
    pub fn read(self) -> Result<Threshold, Problem> {
        let amount = Amount::parse_base_units(&self.amount_gte)?;
        Ok(Threshold { amount, resets_anchor: self.reset_billing_cycle_anchor.unwrap_or_default() })
    }
}

impl From<Threshold> for ThresholdsModel {
    fn from(threshold: Threshold) -> Self {
        Self { amount_gte: threshold.amount.to_string(), reset_billing_cycle_anchor: Some(threshold.resets_anchor) }
    }
}

/// The delegation or card that the subscription is charged by.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SubscriptionMandate")]
pub struct MandateModel {
    /// delegation or card.
    #[oai(rename = "type")]
    pub kind: String,
    /// The maximum of one charge, in base units of the subscription's currency.
    pub limit: Option<String>,
    pub brand: Option<String>,
    pub last4: Option<String>,
    /// The month, 1 to 12, and the year in which the card expires.
    pub exp_month: Option<u8>,
    pub exp_year: Option<u16>,
}

impl MandateModel {
    fn of(mandate: &Mandate, currency: &CurrencyId) -> Option<Self> {
        Some(match mandate.details.as_ref()? {
            MandateDetails::Delegation { limits, .. } => Self {
                kind: "delegation".to_owned(),
                limit: limits.iter().find(|(id, _)| id == currency).map(|(_, most)| most.to_string()),
                brand: None,
                last4: None,
                exp_month: None,
                exp_year: None,
            },
            MandateDetails::Card(card) => Self {
                kind: "card".to_owned(),
                limit: None,
                brand: Some(card.brand.clone()),
                last4: Some(card.last4.clone()),
                exp_month: card.expiry.map(|expiry| expiry.month),
                exp_year: card.expiry.map(|expiry| expiry.year),
            },
        })
    }
}

fn payment_details(app: &App, stake: Option<&Stake>, mandate: Option<&Mandate>, method: &Method) -> BTreeMap<String, PaymentDetailModel> {
    let Some(MandateDetails::Delegation { payer, reference, .. }) = mandate.and_then(|mandate| mandate.details.as_ref()) else {
        return BTreeMap::new();
    };
    let rail = app.ctx.networks.wallet(method.kind);
    let staking = stake.and_then(|stake| {
        let address = rail.and_then(|rail| rail.stake_address(&stake.payer, stake.id.as_str()));
        Some(StakingDetailModel { tx_hash: stake.reference.clone()?, address: address.map(|address| address.to_string()) })
    });
    let delegation = rail.and_then(|rail| rail.mandate_address(payer));
    let detail = PaymentDetailModel {
        delegation_address: delegation.map(|address| address.to_string()),
        staking,
        ..PaymentDetailModel::of_transaction(reference, "delegate").between(Some(payer.as_str()), app.site.account(method.kind))
    };
    detail.under(method.kind)
}

/// A plan change that the customer has signed for and that has not taken place.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PendingPlanChange")]
pub struct PlanChangeModel {
    /// waiting: for the network's decision; failed: the plan stays, and a deposit for the change is returned.
    pub status: String,
    pub price_id: String,
    /// delegation_declined, deposit_declined, preview_changed or not_available, if it has failed.
    pub reason: Option<String>,
    /// The network's code of its decline, if that is the reason.
    pub decline_code: Option<String>,
    pub created_at: i64,
}

impl From<&PendingPlanChange> for PlanChangeModel {
    fn from(change: &PendingPlanChange) -> Self {
        Self {
            status: if change.is_pending() { "waiting" } else { "failed" }.to_owned(),
            price_id: change.order.choice.price.to_string(),
            reason: change.failure.map(|failure| failure.name().to_owned()),
            decline_code: change.decline.as_ref().map(|decline| decline.code.clone()),
            created_at: change.created_at.seconds(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "NextInvoice")]
pub struct NextInvoiceModel {
    /// Base units, before the account balance is applied.
    pub total: String,
    /// Base units, after the account balance is applied.
    pub amount: String,
    pub at: i64,
}

impl From<NextInvoice> for NextInvoiceModel {
    fn from(next: NextInvoice) -> Self {
        Self { total: next.total.to_string(), amount: next.amount.to_string(), at: next.at.seconds() }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "TestClockReference")]
pub struct ClockReference {
    pub id: String,
    pub now: i64,
}

/// The subscription as embedded in other objects.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SubscriptionReference")]
pub struct SubscriptionReference {
    pub id: String,
    /// The title in English.
    pub description: String,
    /// What the subscription is called: the store's description, else the names of its products.
    pub title: TextModel,
    pub status: String,
    pub current_period_end: i64,
    /// Whether it ends with the current period instead of renewing.
    pub cancel_at_period_end: bool,
}

impl From<&Subscription> for SubscriptionReference {
    fn from(subscription: &Subscription) -> Self {
        Self {
            id: subscription.id.to_string(),
            description: names_text(&subscription.title(), Language::English),
            title: TextModel::from(&names_in_both(&subscription.title())),
            status: subscription.status.name().to_owned(),
            current_period_end: subscription.period.end.seconds(),
            cancel_at_period_end: subscription.cancel_at_period_end,
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Subscription")]
pub struct SubscriptionModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// trialing, active, past_due, paused or canceled.
    pub status: String,
    /// The title in English.
    pub description: String,
    /// What the subscription is called: the store's description, else the names of its products.
    pub title: TextModel,
    pub customer_id: String,
    pub currency_id: String,
    pub default_payment_method_id: String,
    pub collection_method: String,
    pub start_date: i64,
    pub billing_cycle_anchor: i64,
    pub current_period_start: i64,
    pub current_period_end: i64,
    pub trial_start: Option<i64>,
    pub trial_end: Option<i64>,
    pub cancel_at_period_end: bool,
    /// The time of a scheduled cancellation.
    pub cancel_at: Option<i64>,
    pub canceled_at: Option<i64>,
    pub ended_at: Option<i64>,
    pub cancelation_details: Option<CancellationModel>,
    pub days_until_cancel: u32,
    pub billing_thresholds: Option<ThresholdsModel>,
    pub past_due_since: Option<i64>,
    pub paused_at: Option<i64>,
    /// Whether billing is stopped until the store resumes it (`resume_billing`).
    pub on_hold: bool,
    /// The reason of the hold: price_missing, product_missing, customer_missing, currency_not_configured, not_recurring,
    /// amount_out_of_range, already_billed, unreadable, unbilled_periods, invoice_limit, charge_limit,
    /// payment_method or other; `souk verify` shows the technical message.
    pub on_hold_reason: Option<String>,
    /// When billing resumes automatically after a limit was reached. Absent: the store resumes it.
    pub on_hold_until: Option<i64>,
    /// The number of periods that have begun without an invoice.
    pub unbilled_periods: u32,
    /// When the period after the current one begins, if periods have begun without an invoice: the next charge if they are skipped.
    pub next_period_start: Option<i64>,
    pub latest_invoice_id: Option<String>,
    pub items: Vec<ItemModel>,
    pub staking: Option<StakeModel>,
    /// The ordered plan change that waits for the network, or why it failed.
    pub pending_plan_change: Option<PlanChangeModel>,
    /// The stake that pays renewals that could not be charged.
    pub overdraft_stake_id: Option<String>,
    pub mandate: Option<MandateModel>,
    /// The delegation that a wallet is charged by, and its stake, under the name of the method's type; empty for cards.
    pub payment_details: BTreeMap<String, PaymentDetailModel>,
    pub next_invoice: Option<NextInvoiceModel>,
    pub customer: CustomerReference,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: CurrencyModel,
    #[oai(rename = "paymentMethod")]
    pub payment_method: MethodModel,
    pub test_clock: Option<ClockReference>,
    pub metadata: BTreeMap<String, String>,
    pub created_at: String,
    pub updated_at: String,
}

impl SubscriptionModel {
    #[must_use]
    pub fn new(expanded: &ExpandedSubscription, app: &App) -> Self {
        let ExpandedSubscription {
            subscription,
            items,
            customer,
            method,
            currency,
            mandate,
            stake,
            plan_change,
            clock,
            next_invoice,
            unbilled_periods,
            next_period_start,
            ..
        } = expanded;
        // After a change to a card, the stake is of another currency and no longer secures the subscription; it is returned.
        let stake = stake.as_ref().filter(|stake| stake.currency_id == subscription.currency_id);
        let seconds = |at: Option<Timestamp>| at.map(Timestamp::seconds);
        Self {
            id: subscription.id.to_string(),
            object: "subscription".to_owned(),
            livemode: subscription.mode.is_live(),
            status: subscription.status.name().to_owned(),
            description: names_text(&subscription.title(), Language::English),
            title: TextModel::from(&names_in_both(&subscription.title())),
            customer_id: subscription.customer_id.to_string(),
            currency_id: subscription.currency_id.to_string(),
            default_payment_method_id: subscription.method_id.to_string(),
            collection_method: "charge_automatically".to_owned(),
            start_date: subscription.trial.map_or(subscription.created_at, |trial| trial.start).seconds(),
            billing_cycle_anchor: subscription.anchor.seconds(),
            current_period_start: subscription.period.start.seconds(),
            current_period_end: subscription.period.end.seconds(),
            trial_start: seconds(subscription.trial.map(|trial| trial.start)),
            trial_end: seconds(subscription.trial.map(|trial| trial.end)),
            cancel_at_period_end: subscription.cancel_at_period_end,
            cancel_at: seconds(subscription.ends_at()),
            canceled_at: seconds(subscription.canceled_at),
            ended_at: seconds(subscription.ended_at),
            cancelation_details: subscription.cancellation.as_ref().map(CancellationModel::from),
            days_until_cancel: subscription.days_until_cancel,
            billing_thresholds: subscription.billing_threshold.map(ThresholdsModel::from),
            past_due_since: seconds(subscription.past_due_since),
            paused_at: seconds(subscription.paused_at),
            on_hold: subscription.on_hold.is_some(),
            on_hold_reason: subscription.on_hold.as_ref().map(|on_hold| on_hold.reason.name().to_owned()),
            on_hold_until: seconds(subscription.bounds.resumes_at),
            unbilled_periods: *unbilled_periods,
            next_period_start: seconds(*next_period_start),
            latest_invoice_id: subscription.latest_invoice_id.as_ref().map(ToString::to_string),
            items: items.iter().map(ItemModel::from).collect(),
            staking: stake.and_then(StakeModel::of),
            pending_plan_change: plan_change.as_ref().map(PlanChangeModel::from),
            overdraft_stake_id: subscription.overdraft_stake_id.as_ref().map(ToString::to_string),
            mandate: mandate.as_ref().and_then(|mandate| MandateModel::of(mandate, &subscription.currency_id)),
            payment_details: payment_details(app, stake, mandate.as_ref(), method),
            next_invoice: next_invoice.map(NextInvoiceModel::from),
            customer: CustomerReference::from(customer),
            payment_currency: CurrencyModel::from(currency),
            payment_method: MethodModel::new(method, &[], &app.site),
            test_clock: clock.as_ref().map(|clock| ClockReference { id: clock.id.to_string(), now: clock.now.seconds() }),
            metadata: subscription.metadata.clone(),
            created_at: subscription.created_at.to_iso(),
            updated_at: subscription.updated_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SubscriptionList")]
pub struct SubscriptionListModel {
    pub count: u64,
    pub list: Vec<SubscriptionModel>,
}

/// The paying account of a subscription. Amounts are base units of the subscription's currency.
#[derive(Debug, Clone, Object)]
#[oai(rename = "PayingBalance")]
pub struct PayingBalanceModel {
    /// The address of the account.
    pub payer: String,
    pub currency_id: String,
    /// The balance of the account; null if its network does not report one.
    pub balance: Option<String>,
    /// The price of a period; null if it depends on usage.
    pub period_amount: Option<String>,
    /// The maximum amount of one top-up.
    pub maximum: String,
}

impl From<&PayingBalance> for PayingBalanceModel {
    fn from(account: &PayingBalance) -> Self {
        Self {
            payer: account.payer.to_string(),
            currency_id: account.currency.id.to_string(),
            balance: account.balance.map(|balance| balance.to_string()),
            period_amount: account.period.map(|period| period.to_string()),
            maximum: account.most.to_string(),
        }
    }
}

/// The overdue sum in one currency.
#[derive(Debug, Clone, Object)]
#[oai(rename = "OverdueSum")]
pub struct OverdueSumModel {
    pub amount: String,
    pub currency: CurrencyModel,
    pub method: MethodModel,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "Overdue", skip_serializing_if_is_none)]
pub struct OverdueModel {
    /// The sums by currency id.
    pub summary: BTreeMap<String, OverdueSumModel>,
    /// Oldest first.
    pub invoices: Vec<InvoiceModel>,
    pub subscription: Option<SubscriptionReference>,
    #[oai(rename = "subscriptionCount")]
    pub subscription_count: Option<u64>,
    pub customer: Option<CustomerModel>,
}

/// The overdue invoices of `subscription`, or of the whole customer if it is `None`.
#[must_use]
pub fn overdue_model(overdue: &Overdue, subscription: Option<&Subscription>, site: &Site) -> OverdueModel {
    let methods: Vec<_> = overdue.sums.iter().map(|sum| sum.method.clone()).collect();
    let currencies: Vec<_> = overdue.sums.iter().map(|sum| sum.currency.clone()).collect();
    let summary = overdue.sums.iter().map(|sum| {
        let model = OverdueSumModel {
            amount: sum.amount.to_string(),
            currency: CurrencyModel::from(&sum.currency),
            method: MethodModel::new(&sum.method, &[], site),
        };
        (sum.currency.id.to_string(), model)
    });
    OverdueModel {
        summary: summary.collect(),
        invoices: overdue.invoices.iter().map(|invoice| InvoiceModel::new(invoice, None, &methods, &currencies, site)).collect(),
        subscription: subscription.map(SubscriptionReference::from),
        subscription_count: subscription.is_none().then_some(overdue.subscriptions as u64),
        customer: Some(CustomerModel::from(&overdue.customer)),
    }
}
