use crate::auth::Caller;
use crate::problem::Problem;
use crate::routes::checkout_sessions::TextModel;
use crate::routes::payments::CurrencyModel;
use crate::state::App;
use poem_openapi::Object;
use rust_decimal::Decimal;
use souk_domain::access::Did;
use souk_domain::billing::{AppEarning, Payee, SharePayout};
use souk_domain::payment::Currency;
use souk_domain::pricing::{PriceShare, WHOLE, shares_sum};
use souk_domain::publishing::selling::{AppPricing, AppTerms, NewShare, NewTerms, OneTimeTerms, SellingTerms, terms_of_apps};
use souk_domain::shared::{Amount, CurrencyId, Mode, StorageError, Text};
use souk_domain::storage::UnitOfWork;
use std::collections::{BTreeMap, BTreeSet};

/// The decimals of a percentage whose unit is a millionth of the whole.
const PERCENT_DECIMALS: u32 = 4;

/// A share of millionths in percent.
fn percent(millionths: u32) -> String {
    Amount::new(u128::from(millionths)).to_decimal(PERCENT_DECIMALS)
}

/// What models say of objects besides their ids.
#[derive(Debug, Default)]
pub struct Named {
    pub currencies: Vec<Currency>,
    /// The names of users who have one.
    pub users: BTreeMap<Did, String>,
    /// The titles of apps.
    pub apps: BTreeMap<Did, Text>,
}

impl Named {
    /// Reads the names of users.
    pub async fn with_users<'d>(
        mut self,
        unit: &mut dyn UnitOfWork,
        dids: impl IntoIterator<Item = &'d Did> + Send,
    ) -> Result<Self, StorageError> {
        let dids: Vec<Did> = dids.into_iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let found = if dids.is_empty() { Vec::new() } else { unit.users().find_all(&dids).await? };
        self.users.extend(found.into_iter().filter(|user| !user.full_name.is_empty()).map(|user| (user.did, user.full_name)));
        Ok(self)
    }

    fn currency(&self, id: &CurrencyId) -> Option<CurrencyModel> {
        self.currencies.iter().find(|currency| currency.id == *id).map(CurrencyModel::from)
    }

    fn user(&self, did: &Did) -> String {
        self.users.get(did).cloned().unwrap_or_default()
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SaleShare")]
pub struct ShareModel {
    /// The DID of the beneficiary.
    pub beneficiary: String,
    /// Empty: they have no name in this store, or the caller may not know it.
    pub name: String,
    /// Of the price; decimal text.
    pub percent: String,
}

/// On which terms an app is sold.
#[derive(Debug, Clone, Object)]
#[oai(rename = "SellingTerms")]
pub struct TermsModel {
    /// free, one_time, or other: the store sells it in a way of its own, such as for a subscription.
    #[oai(rename = "type")]
    pub kind: String,
    /// `null`: it is not one_time.
    #[oai(nullable)]
    pub currency: Option<CurrencyModel>,
    /// Base units; `null`: it is not one_time.
    #[oai(nullable)]
    pub amount: Option<String>,
    pub shares: Vec<ShareModel>,
    /// The part that stays with the store: its commission, and what no beneficiary gets.
    pub store_percent: String,
}

impl TermsModel {
    fn without_price(kind: &str) -> Self {
        Self { kind: kind.to_owned(), currency: None, amount: None, shares: Vec::new(), store_percent: percent(0) }
    }

    /// `None`: the store sells the app in a way of its own.
    pub fn in_force(terms: Option<&SellingTerms>, named: &Named) -> Self {
        terms.map_or_else(|| Self::without_price("other"), |terms| Self::new(terms, named))
    }

    pub fn new(terms: &SellingTerms, named: &Named) -> Self {
        let SellingTerms::OneTime(terms) = terms else { return Self::without_price("free") };
        let OneTimeTerms { currency_id, amount, shares } = terms;
        let share = |share: &PriceShare| ShareModel {
            beneficiary: share.beneficiary.to_string(),
            name: named.user(&share.beneficiary),
            percent: percent(share.millionths),
        };
        Self {
            kind: "one_time".to_owned(),
            currency: named.currency(currency_id),
            amount: Some(amount.to_string()),
            shares: shares.iter().map(share).collect(),
            store_percent: percent(WHOLE.saturating_sub(shares_sum(shares))),
        }
    }
}

/// The beneficiaries of terms whose names a caller may know. A developer could otherwise find out who has a DID by giving it a share.
pub fn known_beneficiaries<'t>(caller: &Caller, terms: impl IntoIterator<Item = &'t SellingTerms>) -> Vec<&'t Did> {
    let shares = |terms: &'t SellingTerms| -> &'t [PriceShare] {
        match terms {
            SellingTerms::OneTime(terms) => &terms.shares,
            SellingTerms::Free => &[],
        }
    };
    let all = terms.into_iter().flat_map(shares).map(|share| &share.beneficiary);
    all.filter(|did| caller.is_reviewer() || **did == caller.user.did).collect()
}

/// On which terms the apps of a list are sold now.
pub struct ListedTerms {
    /// Without those that are free.
    terms: BTreeMap<Did, Option<SellingTerms>>,
    named: Named,
}

impl ListedTerms {
    pub async fn read(unit: &mut dyn UnitOfWork, caller: &Caller, mode: Mode, apps: &[Did]) -> Result<Self, StorageError> {
        let terms = terms_of_apps(unit, apps, mode).await?;
        let currencies = unit.methods().currencies(mode).await?;
        let known = known_beneficiaries(caller, terms.values().flatten());
        let named = Named { currencies, ..Named::default() }.with_users(unit, known).await?;
        Ok(Self { terms, named })
    }

    pub fn of(&self, app: &Did) -> TermsModel {
        match self.terms.get(app) {
            Some(terms) => TermsModel::in_force(terms.as_ref(), &self.named),
            None => TermsModel::new(&SellingTerms::Free, &self.named),
        }
    }
}

/// The terms of an app in one mode, and those that come into force with the version.
#[derive(Debug, Clone, Object)]
#[oai(rename = "VersionTerms")]
pub struct VersionTermsModel {
    pub livemode: bool,
    pub in_force: TermsModel,
    /// `null`: they do not change.
    #[oai(nullable)]
    pub proposed: Option<TermsModel>,
}

impl VersionTermsModel {
    /// Builds models with the names of currencies and beneficiaries.
    pub async fn of_all(app: &App, caller: &Caller, terms: &[AppTerms]) -> Result<Vec<Self>, Problem> {
        let mut models = Vec::with_capacity(terms.len());
        for one in terms {
            let mut unit = app.ctx.store.read().await?;
            let currencies = unit.methods().currencies(one.mode).await?;
            let known = known_beneficiaries(caller, one.in_force.iter().chain(&one.proposed));
            let named = Named { currencies, ..Named::default() }.with_users(unit.as_mut(), known).await?;
            models.push(Self {
                livemode: one.mode.is_live(),
                in_force: TermsModel::in_force(one.in_force.as_ref(), &named),
                proposed: one.proposed.as_ref().map(|terms| TermsModel::new(terms, &named)),
            });
        }
        Ok(models)
    }
}

/// How an app is sold, and the rules of the store for its price.
#[derive(Debug, Clone, Object)]
#[oai(rename = "AppPricing")]
pub struct AppPriceModel {
    pub app_did: String,
    pub livemode: bool,
    pub in_force: TermsModel,
    /// They come into force when the next stable version is published; `null`: nothing changes.
    #[oai(nullable)]
    pub proposed: Option<TermsModel>,
    /// The part of each sale that the store keeps at least.
    pub commission_percent: String,
    pub paid_apps_allowed: bool,
    /// In human units of the currency.
    pub price_min: String,
    pub price_max: String,
    /// Those in which buyers can pay at the moment.
    pub currencies: Vec<CurrencyModel>,
    /// A version is under review, so the price cannot change.
    pub under_review: bool,
    /// A new price comes into force when the next stable version is published, and not at once.
    pub waits_for_version: bool,
    /// The change has ended automatic publication.
    pub ended_auto_publish: bool,
}

impl AppPriceModel {
    pub fn new(pricing: &AppPricing, ended_auto_publish: bool, named: &Named) -> Self {
        let text = |decimal: Decimal| decimal.normalize().to_string();
        Self {
            app_did: pricing.app.to_string(),
            livemode: pricing.terms.mode.is_live(),
            in_force: TermsModel::in_force(pricing.terms.in_force.as_ref(), named),
            proposed: pricing.terms.proposed.as_ref().map(|terms| TermsModel::new(terms, named)),
            commission_percent: percent(pricing.commission),
            paid_apps_allowed: pricing.paid_apps_allowed,
            price_min: text(pricing.price_min),
            price_max: text(pricing.price_max),
            currencies: pricing.currencies.iter().map(|one| CurrencyModel::from(&one.currency)).collect(),
            under_review: pricing.is_under_review,
            waits_for_version: pricing.waits_for_version,
            ended_auto_publish,
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "ShareInput")]
pub struct ShareInputModel {
    /// A DID.
    pub beneficiary: String,
    /// Of the price; decimal text with at most 4 decimals.
    pub percent: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "AppPricingInput")]
pub struct AppPriceInputModel {
    /// free or one_time.
    #[oai(rename = "type")]
    pub kind: String,
    /// Required for a price.
    #[oai(nullable)]
    pub currency_id: Option<String>,
    /// Decimal text in human units of the currency; required for a price.
    #[oai(nullable)]
    pub amount: Option<String>,
    #[oai(default, validator(max_items = 100))]
    pub shares: Vec<ShareInputModel>,
}

impl AppPriceInputModel {
    pub fn read(&self, app: &App) -> Result<NewTerms, Problem> {
        match self.kind.as_str() {
            "free" => Ok(NewTerms::Free),
            "one_time" => {
                let currency_id = self.currency_id.as_deref().ok_or_else(|| Problem::required("currency_id"))?;
                let share = |share: &ShareInputModel| {
                    let beneficiary = app.did_auth_tokens.parse_did(share.beneficiary.trim());
                    let unknown = || Problem::bad("A beneficiary is not a DID").code("SHARE_BENEFICIARY").param("did", &share.beneficiary);
                    Ok(NewShare { beneficiary: beneficiary.ok_or_else(unknown)?, percent: share.percent.clone() })
                };
                Ok(NewTerms::OneTime {
                    currency_id: CurrencyId::parse(currency_id)?,
                    amount: self.amount.clone().ok_or_else(|| Problem::required("amount"))?,
                    shares: self.shares.iter().map(share).collect::<Result<_, Problem>>()?,
                })
            }
            _ => Err(Problem::invalid("type")),
        }
    }
}

/// What the sales of an app have brought to a beneficiary.
#[derive(Debug, Clone, Object)]
#[oai(rename = "AppEarning")]
pub struct AppEarningModel {
    /// `null`: of products that grant no app.
    #[oai(nullable)]
    pub app_did: Option<String>,
    /// `null`: the catalogue does not have it any more.
    #[oai(nullable)]
    pub app_title: Option<TextModel>,
    pub currency_id: String,
    #[oai(nullable)]
    pub currency: Option<CurrencyModel>,
    /// Base units, after refunds and disputes.
    pub earned: String,
    /// Sold items, those that were refunded included.
    pub sales: u64,
}

impl AppEarningModel {
    pub fn new(earning: AppEarning, named: &Named) -> Self {
        Self {
            app_title: earning.app.as_ref().and_then(|app| named.apps.get(app)).map(TextModel::from),
            app_did: earning.app.map(|app| app.to_string()),
            currency: named.currency(&earning.currency_id),
            currency_id: earning.currency_id.to_string(),
            earned: earning.earned.to_string(),
            sales: earning.sales,
        }
    }
}

/// A beneficiary in one currency. Amounts are base units.
#[derive(Debug, Clone, Object)]
#[oai(rename = "Payee")]
pub struct PayeeModel {
    pub beneficiary: String,
    /// Empty: they have no name in this store.
    pub name: String,
    pub currency_id: String,
    #[oai(nullable)]
    pub currency: Option<CurrencyModel>,
    /// After refunds and disputes.
    pub earned: String,
    /// Without what was reversed.
    pub paid_out: String,
    /// The sum of all recorded payouts, those that were reversed included: a new payout names it as `paid_before`.
    pub recorded: String,
    pub payable: String,
    /// What was paid out for sales that were refunded later. Their next sales make up for it.
    pub overpaid: String,
}

impl PayeeModel {
    pub fn new(payee: &Payee, named: &Named) -> Self {
        Self {
            beneficiary: payee.beneficiary.to_string(),
            name: named.user(&payee.beneficiary),
            currency_id: payee.currency_id.to_string(),
            currency: named.currency(&payee.currency_id),
            earned: payee.earned.to_string(),
            paid_out: payee.paid_out().to_string(),
            recorded: payee.recorded.to_string(),
            payable: payee.payable().to_string(),
            overpaid: payee.overpaid().to_string(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "PayeeList")]
pub struct PayeeListModel {
    pub count: u64,
    pub list: Vec<PayeeModel>,
}

/// What the signed-in user has earned.
#[derive(Debug, Clone, Object)]
#[oai(rename = "Earnings")]
pub struct EarningsModel {
    pub count: u64,
    /// By app and currency.
    pub list: Vec<AppEarningModel>,
    /// In each currency, of all apps.
    pub totals: Vec<PayeeModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SharePayout")]
pub struct SharePayoutModel {
    pub id: String,
    pub livemode: bool,
    pub beneficiary: String,
    /// Empty: they have no name in this store.
    pub name: String,
    pub currency_id: String,
    #[oai(nullable)]
    pub currency: Option<CurrencyModel>,
    /// Base units.
    pub amount: String,
    /// The payout that this row takes back; `null`: it is a payout.
    #[oai(nullable)]
    pub reverses: Option<String>,
    /// It was recorded by mistake, and another row takes it back.
    pub reversed: bool,
    pub reason: String,
    pub created_at: String,
}

impl SharePayoutModel {
    pub fn new(payout: SharePayout, named: &Named) -> Self {
        Self {
            id: payout.id.to_string(),
            livemode: payout.mode.is_live(),
            name: named.user(&payout.beneficiary),
            beneficiary: payout.beneficiary.to_string(),
            currency: named.currency(&payout.currency_id),
            currency_id: payout.currency_id.to_string(),
            amount: payout.amount.to_string(),
            reverses: payout.reverses.map(|id| id.to_string()),
            reversed: payout.is_reversed,
            reason: payout.reason,
            created_at: payout.created_at.to_iso(),
        }
    }
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SharePayoutList")]
pub struct SharePayoutListModel {
    pub count: u64,
    /// Newest first.
    pub list: Vec<SharePayoutModel>,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SharePayoutInput")]
pub struct SharePayoutInputModel {
    /// Base units.
    pub amount: String,
    /// What the owner has seen as `recorded`, in base units. 409 if that is not true any more.
    pub paid_before: String,
    /// Why and how it was paid, at most 500 characters.
    pub reason: String,
}

#[derive(Debug, Clone, Object)]
#[oai(rename = "SharePayoutReversalInput")]
pub struct SharePayoutReversalInputModel {
    /// What was wrong, at most 500 characters.
    pub reason: String,
}
