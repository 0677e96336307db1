//! Invoice lines of a period, or of the rest of one: licensed items are billed in advance, metered items in arrears.

use super::billing_batch::BillingBatch;
use super::usage_correction::Overbilled;
use super::{BillingError, InvoiceItem, Period, PricingFormula, Prorated, ProrationLine, Subscription, Unbillable, UsageQuery};
use crate::context::Context;
use crate::payment::Description;
use crate::pricing::{CatalogueItem, Price, ProductNames, Usage};
use crate::shared::{Amount, InvoiceId, InvoiceItemId, PriceId, StorageError, SubscriptionItemId, Text, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;

/// The lines of an invoice, and usage that was overbilled before.
#[derive(Default)]
pub(super) struct Lines {
    pub items: Vec<InvoiceItem>,
    pub total: Amount,
    /// Items for which earlier invoices charged more than their usage costs, with the excess.
    pub overbilled: Vec<Overbilled>,
}

/// Builds the lines of an invoice: licensed items for `licensed_period`, metered items for `metered_period` less what was billed before.
pub(super) fn lines(
    ctx: &Context,
    batch: &BillingBatch,
    used: &HashMap<SubscriptionItemId, u64>,
    subscription: &Subscription,
    invoice: &InvoiceId,
    licensed_period: Period,
    metered_period: Option<Period>,
) -> Result<Lines, Unbillable> {
    let mut lines = Lines { items: Vec::with_capacity(subscription.items.len()), ..Lines::default() };
    for item in &subscription.items {
        let price = batch.prices.get(&item.price_id).ok_or(Unbillable::NoPrice)?;
        let product = batch.products.get(&price.product_id).ok_or(Unbillable::NoProduct)?;
        let pricing = price.pricing_in(&subscription.currency_id).ok_or(Unbillable::NoCurrency)?;
        let (quantity, span, billed) = match (usage_of(price), metered_period) {
            (Some(Usage::Metered(_)), Some(metered_period)) => {
                let span = Period { start: item.counts_from(&metered_period), ..metered_period };
                (used.get(&item.id).copied().unwrap_or_default(), span, item.billed.map_or(Amount::ZERO, |billed| billed.amount))
            }
            (Some(Usage::Metered(_)), None) => continue,
            (Some(Usage::Licensed), _) => (item.quantity, licensed_period, Amount::ZERO),
            (None, _) => return Err(Unbillable::NotRecurring),
        };
        let whole = PricingFormula::of(&pricing, quantity);
        let carried_over = item.billed.map_or(Amount::ZERO, |billed| billed.carried_over);
        let overbilled = billed.minus(whole.amount()?.max(carried_over)).unwrap_or_default();
        let pricing_formula = if billed.is_zero() { whole } else { PricingFormula::Rest { whole: Box::new(whole), billed } };
        let amount = pricing_formula.amount()?;
        lines.total = lines.total.plus(amount)?;
        lines.overbilled.extend((!overbilled.is_zero()).then(|| Overbilled { item: item.id.clone(), amount: overbilled }));
        lines.items.push(InvoiceItem {
            id: InvoiceItemId::new(ctx.now(), ctx.random.as_ref()),
            invoice_id: invoice.clone(),
            subscription_item_id: Some(item.id.clone()),
            price_id: Some(price.id.clone()),
            description: Description::Product(product.localized_name().into()),
            quantity,
            unit_amount: price.unit_amount_in(&subscription.currency_id).unwrap_or_default(),
            amount,
            credited: Amount::ZERO,
            period: Some(span),
            covers_until: Some(span.end),
            pricing_formula,
        });
    }
    Ok(lines)
}

/// Reads the usage of the metered items in their current periods.
pub(super) async fn read_usage(
    unit: &mut dyn UnitOfWork,
    batch: &BillingBatch,
    due: &[Subscription],
) -> Result<HashMap<SubscriptionItemId, u64>, BillingError> {
    let mut queries = Vec::new();
    for subscription in due {
        for item in &subscription.items {
            let Some(Usage::Metered(aggregate)) = batch.prices.get(&item.price_id).and_then(usage_of) else { continue };
            let (from, to) = (item.counts_from(&subscription.period), subscription.period.end);
            queries.push(UsageQuery { item: item.id.clone(), aggregate, from, to });
        }
    }
    let used = unit.usage().used_all(&queries).await?;
    Ok(queries.into_iter().map(|query| query.item).zip(used).collect())
}

pub(super) fn usage_of(price: &Price) -> Option<Usage> {
    price.recurring.as_ref().map(|recurring| recurring.usage)
}

/// The names of the products that prorated charges are for, by price.
pub(super) async fn names_of(unit: &mut dyn UnitOfWork, lines: &[ProrationLine]) -> Result<HashMap<PriceId, Text>, StorageError> {
    let ids: Vec<_> = lines.iter().map(|line| line.price_id.clone()).collect();
    let found = if ids.is_empty() { Vec::new() } else { unit.prices().find_with_products(&ids).await? };
    Ok(found.into_iter().map(|CatalogueItem { price, product }| (price.id, product.localized_name())).collect())
}

/// Builds the invoice line of a prorated charge.
pub(super) fn prorated_item(
    ctx: &Context,
    names: &HashMap<PriceId, Text>,
    line: &ProrationLine,
    invoice: &InvoiceId,
    item: Option<SubscriptionItemId>,
    charged_period: Period,
    at: Timestamp,
) -> InvoiceItem {
    let name = names.get(&line.price_id).cloned().unwrap_or_default();
    InvoiceItem {
        id: InvoiceItemId::new(at, ctx.random.as_ref()),
        invoice_id: invoice.clone(),
        subscription_item_id: item,
        price_id: Some(line.price_id.clone()),
        description: describe_prorated(line.what, name.into()),
        quantity: line.quantity,
        unit_amount: line.whole,
        amount: line.amount,
        credited: Amount::ZERO,
        period: Some(charged_period),
        covers_until: Some(charged_period.end),
        pricing_formula: PricingFormula::from(line),
    }
}

/// The description of a prorated line.
pub(super) fn describe_prorated(what: Prorated, name: ProductNames) -> Description {
    match what {
        Prorated::Credit => Description::UnusedTime(name),
        Prorated::Charge => Description::RemainingTime(name),
    }
}
