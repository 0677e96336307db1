//! The subscription plans of the demo store.

use crate::compose::{Failure, Parts};
use souk_adapters::demo::{DemoApp, DemoPlan, DemoPlanPrice};
use souk_domain::access::Did;
use souk_domain::billing::TrialTerms;
use souk_domain::checkout::{FormOptions, LineItem, PaymentLink, SubscriptionTerms};
use souk_domain::payment::Currency;
use souk_domain::pricing::{CurrencyOption, Metadata, Price, Product};
use souk_domain::shared::{Amount, AmountError, Mode, PaymentLinkId, PriceId, ProductId, Text, Timestamp};
use souk_domain::storage::UnitOfWork;

/// The currencies in which plans are sold.
#[derive(Clone, Copy)]
pub struct PlanCurrencies<'c> {
    pub token: &'c Currency,
    pub dollar: &'c Currency,
}

/// Creates the plans of an app with prices in both currencies and a payment link each.
pub async fn offer(
    parts: &Parts,
    unit: &mut dyn UnitOfWork,
    app: &DemoApp,
    did: &Did,
    currencies: PlanCurrencies<'_>,
    now: Timestamp,
) -> Result<(), Failure> {
    for plan in &app.plans {
        let product_id = ProductId::new(now, parts.random.as_ref());
        let ids: Vec<_> = plan.prices.iter().map(|_| PriceId::new(now, parts.random.as_ref())).collect();
        unit.products().insert(&product(plan, &product_id, ids.first(), did, now)).await?;
        for (price, id) in plan.prices.iter().zip(&ids) {
            let target = plan.prices.iter().position(|other| price.upsells_to.as_ref() == Some(&other.lookup_key));
            let upsells_to = target.and_then(|target| ids.get(target)).cloned();
            let price = Price { upsells_to, ..recurring(plan, price, &product_id, id, currencies, now)? };
            unit.prices().insert(&price).await?;
        }
        if let Some(first) = ids.first() {
            unit.links().insert(&link(parts, plan, first, did, currencies.token, now)).await?;
            unit.prices().lock(std::slice::from_ref(first)).await?;
        }
    }
    Ok(())
}

/// The payment link of the plan's first price.
fn link(parts: &Parts, plan: &DemoPlan, price: &PriceId, did: &Did, token: &Currency, now: Timestamp) -> PaymentLink {
    PaymentLink {
        id: PaymentLinkId::new(now, parts.random.as_ref()),
        mode: Mode::Test,
        active: true,
        name: plan.name.en.clone(),
        items: vec![LineItem::new(price.clone(), 1)],
        currency_id: token.id.clone(),
        form: FormOptions::default(),
        terms: SubscriptionTerms {
            trial: TrialTerms { days: plan.trial_days, ..TrialTerms::default() },
            no_stake: plan.no_stake,
            min_stake_amount: plan.min_stake.clone(),
            ..SubscriptionTerms::default()
        },
        requires_cross_sell: false,
        custom_message: Text::default(),
        redirect_url: None,
        metadata: [("app".to_owned(), did.to_string())].into(),
        created_at: now,
        updated_at: now,
    }
}

fn product(plan: &DemoPlan, id: &ProductId, default: Option<&PriceId>, did: &Did, now: Timestamp) -> Product {
    let unit = plan.unit_label.as_ref();
    Product {
        id: id.clone(),
        mode: Mode::Test,
        active: true,
        name: plan.name.en.clone(),
        name_zh: Some(plan.name.zh.clone()),
        description: plan.description.en.clone(),
        description_zh: Some(plan.description.zh.clone()),
        images: vec![format!("/api/apps/{did}/logo")],
        features: Vec::new(),
        unit_label: unit.map(|unit| unit.en.clone()),
        unit_label_zh: unit.map(|unit| unit.zh.clone()),
        statement_descriptor: None,
        default_price_id: default.cloned(),
        app: Some(did.clone()),
        cross_sells_to: None,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    }
}

fn recurring(
    plan: &DemoPlan,
    price: &DemoPlanPrice,
    product_id: &ProductId,
    id: &PriceId,
    PlanCurrencies { token, dollar }: PlanCurrencies<'_>,
    now: Timestamp,
) -> Result<Price, AmountError> {
    let amount = |text: &str, currency: &Currency| Amount::parse_decimal(text, currency.decimals, currency.maximum_precision);
    let in_tokens = amount(&price.token, token)?;
    Ok(Price {
        id: id.clone(),
        mode: Mode::Test,
        product_id: product_id.clone(),
        active: true,
        locked: false,
        replaced_by: None,
        nickname: plan.name.en.clone(),
        lookup_key: Some(price.lookup_key.clone()),
        currency_id: token.id.clone(),
        unit_amount: in_tokens,
        currency_options: vec![
            CurrencyOption::per_unit(token.id.clone(), in_tokens),
            CurrencyOption::per_unit(dollar.id.clone(), amount(&price.usd, dollar)?),
        ],
        recurring: Some(price.recurring),
        tiers_mode: None,
        tiers: Vec::new(),
        custom: None,
        upsells_to: None,
        stock_of: None,
        quantity_available: 0,
        quantity_sold: 0,
        quantity_limit_per_checkout: 0,
        metadata: Metadata::new(),
        created_at: now,
        updated_at: now,
    })
}
