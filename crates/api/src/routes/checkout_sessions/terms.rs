//! The wire format of subscription terms and of the amounts due in a session (payment-kit.md 2).

use crate::lossless_json::Decimal;
use crate::problem::Problem;
use crate::routes::payments::names_text;
use poem_openapi::Object;
use serde_json::{Number, Value};
use souk_domain::billing::{Subscription, TrialTerms};
use souk_domain::checkout::{self, Buyer, Expanded, QuoteRequest, SessionMode, SubscribedProduct, SubscriptionTerms};
use souk_domain::shared::{CurrencyId, Language, Timestamp};
use std::collections::BTreeMap;

/// `subscription_data` of a request. Unsupported fields are ignored.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SubscriptionDataInput")]
pub struct SubscriptionDataInputModel {
    pub trial_period_days: Option<u32>,
    /// Unix seconds; overrides `trial_period_days` while it is in the future.
    pub trial_end: Option<i64>,
    /// Currency ids separated by commas: only customers who pay in one of them get a trial.
    pub trial_currency: Option<String>,
    pub no_stake: Option<bool>,
    /// Human units.
    pub min_stake_amount: Option<Decimal>,
    /// Human units: usage is billed before the end of a period once it reaches this amount.
    pub billing_threshold_amount: Option<Decimal>,
    /// Whether billing at the threshold starts a new period.
    pub reset_billing_cycle_anchor: Option<bool>,
    pub description: Option<String>,
    pub days_until_cancel: Option<u32>,
    pub metadata: Option<BTreeMap<String, String>>,
}

impl SubscriptionDataInputModel {
    pub fn read(self) -> Result<SubscriptionTerms, Problem> {
        let ids = self.trial_currency.as_deref().unwrap_or_default().split(',').map(str::trim).filter(|id| !id.is_empty());
        let currencies = ids.map(CurrencyId::parse).collect::<Result<_, _>>();
        Ok(SubscriptionTerms {
            trial: TrialTerms {
                days: self.trial_period_days.unwrap_or_default(),
                end: self.trial_end.filter(|end| *end > 0).map(Timestamp::from_seconds),
                currencies: currencies.map_err(|_| {
                    Problem::invalid_value("trial_currency", "trial_currency must be ids of currencies, separated by commas")
                })?,
            },
            no_stake: self.no_stake.unwrap_or_default(),
            min_stake_amount: self.min_stake_amount.map(|amount| amount.0),
            billing_threshold_amount: self.billing_threshold_amount.map(|amount| amount.0),
            resets_anchor: self.reset_billing_cycle_anchor.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            days_until_cancel: self.days_until_cancel,
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SubscriptionData", skip_serializing_if_is_none)]
pub struct SubscriptionDataModel {
    pub trial_period_days: u32,
    /// Unix seconds.
    pub trial_end: Option<i64>,
    pub trial_currency: Option<String>,
    pub no_stake: bool,
    /// A number, in human units.
    pub min_stake_amount: Option<Value>,
    /// A number, in human units.
    pub billing_threshold_amount: Option<Value>,
    pub reset_billing_cycle_anchor: bool,
    pub description: Option<String>,
    pub days_until_cancel: Option<u32>,
    pub metadata: BTreeMap<String, String>,
}

impl SubscriptionDataModel {
    /// Returns `None` if all terms have their default values.
    #[must_use]
    pub fn of(terms: &SubscriptionTerms) -> Option<Self> {
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<Number>().ok()).map(Value::Number);
        let currencies: Vec<_> = terms.trial.currencies.iter().map(ToString::to_string).collect();
        let model = Self {
            trial_period_days: terms.trial.days,
            trial_end: terms.trial.end.map(Timestamp::seconds),
            trial_currency: (!currencies.is_empty()).then(|| currencies.join(",")),
            no_stake: terms.no_stake,
            min_stake_amount: number(&terms.min_stake_amount),
            billing_threshold_amount: number(&terms.billing_threshold_amount),
            reset_billing_cycle_anchor: terms.resets_anchor,
            description: Some(terms.description.clone()).filter(|description| !description.is_empty()),
            days_until_cancel: terms.days_until_cancel,
            metadata: terms.metadata.clone(),
        };
        (*terms != SubscriptionTerms::default()).then_some(model)
    }
}

/// Returns whether `cross_sell_behavior` is `required`; every other value counts as `auto`.
#[must_use]
pub fn requires_cross_sell(behavior: Option<&str>) -> bool {
    behavior == Some("required")
}

/// The amounts of a session in its currency, in base units, as the store calculates them.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SessionDue", skip_serializing_if_is_none)]
pub struct DueModel {
    pub now: String,
    /// Due at each renewal; metered items count with their quantity as usage.
    pub renew: String,
    /// The stake that a wallet has to place.
    pub stake: String,
    /// Unix seconds.
    pub trial_end: Option<i64>,
}

impl DueModel {
    /// Returns `None` if the items cannot be priced in the session's currency.
    #[must_use]
    pub fn of(expanded: &Expanded) -> Option<Self> {
        let session = &expanded.session;
        let currency = expanded.currencies.iter().find(|currency| currency.id == session.currency_id)?;
        let method = expanded.methods.iter().find(|method| method.id == currency.method_id)?;
        let sold = expanded.sold()?;
        let without_trial = (!expanded.gives_trial()).then(|| session.terms.without_trial());
        let request = QuoteRequest {
            kind: session.kind,
            terms: without_trial.as_ref().unwrap_or(&session.terms),
            items: &session.items,
            sold: &sold,
            by_wallet: !method.kind.is_card(),
        };
        let quote = checkout::quote(&request, currency, expanded.now).ok()?;
        Some(Self {
            now: quote.due.now.to_string(),
            renew: quote.due.renew.to_string(),
            stake: quote.stake.to_string(),
            trial_end: quote.trial_end.map(Timestamp::seconds),
        })
    }
}

/// What the signed-in caller already has of an open session's products.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SessionBuyer")]
pub struct BuyerModel {
    /// The caller has already used their free trial, so this session gives none.
    pub trial_used: bool,
    /// The caller's subscriptions to the same products that have not ended.
    pub subscriptions: Vec<HeldSubscriptionModel>,
    /// DIDs of the one-time purchases in this session that the caller already owns.
    pub owned_apps: Vec<String>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "HeldSubscription")]
pub struct HeldSubscriptionModel {
    pub id: String,
    pub product_id: String,
}

impl From<&Buyer> for BuyerModel {
    fn from(buyer: &Buyer) -> Self {
        let held = |held: &SubscribedProduct| HeldSubscriptionModel {
            id: held.subscription_id.to_string(),
            product_id: held.product_id.to_string(),
        };
        Self {
            trial_used: buyer.trial_used,
            subscriptions: buyer.subscriptions.iter().map(held).collect(),
            owned_apps: buyer.owned_apps.iter().map(ToString::to_string).collect(),
        }
    }
}

/// A subscription that the session created.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SessionSubscription")]
pub struct SessionSubscriptionModel {
    pub id: String,
    pub description: String,
    pub status: String,
    /// The prices of the subscription's items.
    pub price_ids: Vec<String>,
}

impl From<&Subscription> for SessionSubscriptionModel {
    fn from(subscription: &Subscription) -> Self {
        Self {
            id: subscription.id.to_string(),
            description: names_text(&subscription.title(), Language::English),
            status: subscription.status.name().to_owned(),
            price_ids: subscription.items.iter().map(|item| item.price_id.to_string()).collect(),
        }
    }
}

/// Parses the wire name of a session mode; absent: the mode is derived from the items.
pub fn read_mode(name: Option<&str>) -> Result<Option<SessionMode>, Problem> {
    let mode = |name: &str| {
        SessionMode::from_name(name).ok_or_else(|| Problem::invalid_value("mode", "mode must be payment, subscription or setup"))
    };
    name.map(mode).transpose()
}
