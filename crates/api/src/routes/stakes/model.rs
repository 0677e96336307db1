//! The wire format of stakes. Amounts are strings in base units, times are unix seconds.

use crate::problem::Problem;
use crate::routes::customers::{CustomerReference, ListCustomers};
use crate::routes::payments::CurrencyModel;
use crate::routes::refunds::FailureModel;
use poem_openapi::Object;
use souk_domain::billing::{OverdraftProtection, Stake};
use souk_domain::payment::Currency;
use souk_domain::shared::{Mode, Timestamp};
use souk_domain::storage::UnitOfWork;

#[derive(Debug, Clone, Object)]
#[oai(rename = "Stake", skip_serializing_if_is_none)]
pub struct StakeModel {
    pub id: String,
    pub object: String,
    pub livemode: bool,
    /// `security` (of subscriptions), `overdraft`, `membership` or `publication`.
    pub purpose: String,
    /// pending, held, releasing or final.
    pub status: String,
    /// Why the stake was released: ended, superseded, revoked, abandoned, requested, returned_by_store or forfeited.
    pub release_reason: Option<String>,
    pub customer_id: String,
    pub customer: Option<CustomerReference>,
    /// The account that placed the stake and receives it back.
    pub payer: String,
    pub payment_method_id: String,
    pub currency_id: String,
    /// The subscription that the stake was placed for.
    pub subscription_id: Option<String>,
    /// The DID of the user who is a developer by the stake.
    pub developer_did: Option<String>,
    /// The DID of the app that may be published by the stake.
    pub app_did: Option<String>,
    /// The sum of all payments into the stake.
    pub amount: String,
    pub amount_forfeited: String,
    /// Returned by the store, or revoked by the payer.
    pub amount_returned: String,
    /// The amount that the network still holds.
    pub amount_remaining: String,
    /// The amount of the return or forfeit in progress.
    pub amount_moving: String,
    /// The amount that the payer still has to stake.
    pub amount_missing: String,
    /// For how many days its payer waits for it after a revocation or a request.
    pub waiting_days: u32,
    /// The time of the next return attempt.
    pub return_at: Option<i64>,
    /// Number of consecutive transfers that the network declined. Only the store sees it.
    pub failure_count: Option<u32>,
    /// The reason of the last of these declines. Only the store sees it.
    pub failure: Option<FailureModel>,
    /// The network has declined repeatedly, so an admin should look into it. Only the store sees it.
    pub needs_attention: Option<bool>,
    /// The hash of the last payment into the stake.
    pub tx_hash: Option<String>,
    #[oai(rename = "paymentCurrency")]
    pub payment_currency: Option<CurrencyModel>,
    pub created_at: String,
    pub updated_at: String,
}

impl StakeModel {
    fn new(stake: &Stake, currencies: &[Currency], is_store: bool) -> Self {
        let currency = currencies.iter().find(|currency| currency.id == stake.currency_id);
        Self {
            id: stake.id.to_string(),
            object: "stake".to_owned(),
            livemode: stake.mode.is_live(),
            purpose: stake.purpose.name().to_owned(),
            status: stake.status.name().to_owned(),
            release_reason: stake.release_reason.map(|reason| reason.name().to_owned()),
            customer_id: stake.customer_id.to_string(),
            customer: None,
            payer: stake.payer.to_string(),
            payment_method_id: stake.method_id.to_string(),
            currency_id: stake.currency_id.to_string(),
            subscription_id: stake.subject.subscription().map(ToString::to_string),
            developer_did: stake.subject.developer().map(ToString::to_string),
            app_did: stake.subject.app().map(ToString::to_string),
            amount: stake.amount.to_string(),
            amount_forfeited: stake.amount_forfeited.to_string(),
            amount_returned: stake.amount_returned.to_string(),
            amount_remaining: stake.remaining().to_string(),
            amount_moving: stake.amount_reserved().to_string(),
            amount_missing: stake.missing().to_string(),
            waiting_days: stake.waiting_days,
            return_at: stake.return_at.map(Timestamp::seconds),
            failure_count: is_store.then_some(stake.failure_count),
            failure: stake.failure.as_ref().filter(|_| is_store).map(FailureModel::from),
            needs_attention: is_store.then(|| stake.needs_attention()),
            tx_hash: stake.reference.clone(),
            payment_currency: currency.map(CurrencyModel::from),
            created_at: stake.created_at.to_iso(),
            updated_at: stake.updated_at.to_iso(),
        }
    }
}

/// Stakes of a mode with their related objects. `is_store`: whether the reader is the store, which also sees declined transfers.
pub async fn stakes(unit: &mut dyn UnitOfWork, mode: Mode, found: &[Stake], is_store: bool) -> Result<Vec<StakeModel>, Problem> {
    let currencies = unit.methods().currencies(mode).await?;
    let customers = ListCustomers::read(unit, found.iter().map(|stake| &stake.customer_id)).await?;
    let model =
        |stake: &Stake| StakeModel { customer: customers.reference(&stake.customer_id), ..StakeModel::new(stake, &currencies, is_store) };
    Ok(found.iter().map(model).collect())
}

/// The overdraft protection of a subscription.
#[derive(Debug, Clone, Object)]
#[oai(rename = "OverdraftProtection")]
pub struct OverdraftModel {
    pub enabled: bool,
    /// Whether the stake covers the next renewal.
    pub sufficient: bool,
    /// The minimum stake: the price of one period plus the fee.
    pub required: String,
    /// The fee of one period.
    pub fee: String,
    /// The staked amount less transfers in progress.
    pub available: String,
    pub currency_id: String,
    pub stake_id: Option<String>,
}

impl From<&OverdraftProtection> for OverdraftModel {
    fn from(protection: &OverdraftProtection) -> Self {
        let stake = protection.stake.as_ref();
        Self {
            enabled: stake.is_some_and(Stake::is_held),
            sufficient: protection.is_sufficient,
            required: protection.required.to_string(),
            fee: protection.fee.to_string(),
            available: stake.map(Stake::available).unwrap_or_default().to_string(),
            currency_id: protection.currency.id.to_string(),
            stake_id: stake.map(|stake| stake.id.to_string()),
        }
    }
}
