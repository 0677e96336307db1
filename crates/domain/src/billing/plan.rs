//! Changing the plan: which plans there are, what a change would cost now, and the change itself, at the price that was shown.

use super::bill::{Bill, issue};
use super::book::Book;
use super::manage::{load, nonce, save};
use super::paid::kept_lines;
use super::plan_permission::permits;
use super::renew::{lines, publish_charges, usage_of};
use super::{
    BillingReason, Calculation, Credit, Invoice, InvoiceFilter, InvoiceItem, InvoiceStatus, ManageError, Net, PaidLine, Period, PlanChange,
    PlanLine, PlanOrder, PlanSwitch, Prorated, Subscription, SubscriptionItem, SubscriptionStatus, change_plan, net, period, time_of,
};
use crate::context::Context;
use crate::pricing::{CatalogueFilter, Cycle, Price, Product, Usage};
use crate::shared::{Amount, InvoiceId, InvoiceItemId, Page, PriceId, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::HashMap;
use std::time::Duration;

/// How long a price that was shown can be accepted, at most.
pub const PREVIEW_LIFETIME: Duration = Duration::from_secs(3_600);
/// Of a short period, only this part of it can pass between preview and change: what passes is given back.
const PREVIEW_PARTS: u64 = 24;
/// Products whose `metadata` has the same value under this name are plans of one another.
pub const PLAN_GROUP: &str = "plan_group";
/// The most of a plan that may be ordered.
pub const PLAN_QUANTITY_MAX: u64 = 1_000_000;

/// What a change comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanPreview {
    pub at: Timestamp,
    pub lines: Vec<InvoiceItem>,
    /// What the old plan gives back, and what the new one asks for, until the end of the period.
    pub credit: Amount,
    pub charge: Amount,
    /// Credit of earlier changes that is used up.
    pub applied: Amount,
    /// Due now.
    pub total: Amount,
    /// Kept for the next invoices.
    pub credited: Amount,
    pub period: Period,
    /// What the next invoice will be.
    pub next: Amount,
}

/// A change that is ready to be made.
struct Draft {
    subscription: Subscription,
    book: Book,
    invoice: InvoiceId,
    preview: PlanPreview,
}

/// The other plans that a subscription can change to: licensed prices of its product, or of a product in the same group.
pub async fn plans(ctx: &Context, id: &SubscriptionId) -> Result<Vec<(Price, Product)>, ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let plans = plans_of(unit.as_mut(), &subscription).await?;
    let current = subscription.items.first().map(|item| item.price_id.clone());
    let others: Vec<_> = plans.into_iter().filter(|(price, _)| Some(&price.id) != current.as_ref()).collect();
    if others.is_empty() { Err(ManageError::NoPlans) } else { Ok(others) }
}

/// All plans, the current one among them.
async fn plans_of(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<(Price, Product)>, ManageError> {
    let runs = matches!(subscription.status, SubscriptionStatus::Active | SubscriptionStatus::Trialing);
    let [item] = subscription.items.as_slice() else { return Err(ManageError::NoPlans) };
    if !runs || subscription.ends_at().is_some() {
        return Err(ManageError::NoPlans);
    }
    let current = unit.prices().find(&item.price_id).await?.ok_or(ManageError::NoPlans)?;
    let product = unit.products().find(&current.product_id).await?.ok_or(ManageError::NoPlans)?;
    let mut products = vec![product.clone()];
    if let Some(group) = product.metadata.get(PLAN_GROUP).filter(|group| !group.is_empty()) {
        let metadata = [(PLAN_GROUP.to_owned(), group.clone())].into();
        let filter = CatalogueFilter { active: Some(true), metadata, ..CatalogueFilter::default() };
        let found = unit.products().list(subscription.mode, &filter, &Page::new(None, Some(100))).await?;
        products.extend(found.list.into_iter().filter(|other| other.id != product.id));
    }
    let ids: Vec<_> = products.iter().map(|product| product.id.clone()).collect();
    let prices = unit.prices().of_products(&ids).await?;
    let fits = |price: &Price| {
        let is_current = price.id == current.id;
        (price.active || is_current)
            && usage_of(price) == Some(Usage::Licensed)
            && !price.is_custom()
            && price.mode == subscription.mode
            && price.rate_in(&subscription.currency_id).is_some()
    };
    let of = |price: Price| {
        let product = products.iter().find(|product| product.id == price.product_id)?.clone();
        Some((price, product))
    };
    Ok(prices.into_iter().filter(fits).filter_map(of).collect())
}

/// What a change would cost if it were made now. `quantity` absent: as many as now.
pub async fn preview_plan(ctx: &Context, id: &SubscriptionId, price: &PriceId, quantity: Option<u64>) -> Result<PlanPreview, ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    // To the second, so that whoever accepts it can name the moment.
    let at = Timestamp::from_seconds(now.seconds()).max(subscription.period.start);
    Ok(draft(ctx, unit.as_mut(), subscription, price, quantity, at).await?.preview)
}

/// The subscription as an order would leave it, and what would be due now. Refuses what is not what was shown any more.
pub(super) async fn planned(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    before: Subscription,
    order: &PlanOrder,
) -> Result<(Subscription, Amount), ManageError> {
    let now = time_of(ctx, unit, before.clock_id.as_ref()).await?;
    let at = shown_for(unit, order, &before, now).await?;
    let Draft { subscription, preview, .. } = draft(ctx, unit, before, &order.price, order.quantity, at).await?;
    match order.fits(&preview) {
        true => Ok((subscription, preview.total)),
        false => Err(ManageError::PreviewChanged),
    }
}

/// The moment that an order was shown for, if that is not too long ago, and nothing was changed for a later moment since: what is paid
/// for the time from then on would be given back twice.
async fn shown_for(
    unit: &mut dyn UnitOfWork,
    order: &PlanOrder,
    subscription: &Subscription,
    now: Timestamp,
) -> Result<Timestamp, ManageError> {
    let at = order.at.max(subscription.period.start);
    let lifetime = PREVIEW_LIFETIME.min(Duration::from_secs(subscription.period.seconds() / PREVIEW_PARTS));
    let changed_at = unit.invoices().last_start(&subscription.id, BillingReason::SubscriptionUpdate).await?;
    let is_past = now.since(at) > lifetime || now >= subscription.period.end || changed_at.is_some_and(|changed_at| at < changed_at);
    match at > now || is_past {
        true => Err(ManageError::PreviewChanged),
        false => Ok(at),
    }
}

/// Makes the change that was shown, if it still comes to the same, and the wallet permits what it can cost from now on.
pub async fn switch_plan(ctx: &Context, id: &SubscriptionId, order: &PlanOrder) -> Result<PlanSwitch, ManageError> {
    if !permits(ctx, id, order).await? {
        return Ok(PlanSwitch::NeedsPermission);
    }
    let mut unit = ctx.store.begin().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let at = shown_for(unit.as_mut(), order, &subscription, now).await?;
    let drafted = draft(ctx, unit.as_mut(), subscription, &order.price, order.quantity, at).await?;
    let Draft { mut subscription, mut book, invoice, preview } = drafted;
    if !order.fits(&preview) {
        return Err(ManageError::PreviewChanged);
    }
    subscription.updated_at = now;
    let mut attempt = None;
    if !preview.lines.is_empty() {
        if !preview.credited.is_zero() {
            let credit = Credit {
                customer_id: subscription.customer_id.clone(),
                currency_id: subscription.currency_id.clone(),
                amount: preview.credited,
            };
            unit.credits().give(&credit).await?;
        }
        let total = preview.total.plus(preview.applied)?;
        let span = Period { start: at, end: preview.period.end };
        let lines = preview.lines.into_iter().filter(|line| !matches!(line.calculation, Calculation::Applied { .. })).collect();
        let bill = Bill { id: invoice, reason: BillingReason::SubscriptionUpdate, period: span, lines, total };
        attempt = issue(ctx, unit.as_mut(), &mut book, &mut subscription, bill, nonce(ctx), now).await?;
    }
    save(unit.as_mut(), &subscription).await?;
    unit.subscriptions().put_items(&subscription).await?;
    publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    unit.commit().await?;
    Ok(PlanSwitch::Switched)
}

async fn draft(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    before: Subscription,
    price: &PriceId,
    quantity: Option<u64>,
    at: Timestamp,
) -> Result<Draft, ManageError> {
    let plans = plans_of(unit, &before).await?;
    let (price, product) = plans.into_iter().find(|(plan, _)| plan.id == *price).ok_or(ManageError::NoPlans)?;
    let [item] = before.items.as_slice() else { return Err(ManageError::NoPlans) };
    let quantity = quantity.unwrap_or(item.quantity);
    if !(1..=PLAN_QUANTITY_MAX).contains(&quantity) || (price.id == item.price_id && quantity == item.quantity) {
        return Err(ManageError::NoPlans);
    }
    let cycle = price.recurring.map(|recurring| recurring.cycle).ok_or(ManageError::NoPlans)?;
    let rate = price.rate_in(&before.currency_id).ok_or(ManageError::CurrencyNotConfigured)?;
    let plan = PlanLine { price_id: price.id.clone(), quantity, whole: rate.charge(quantity)? };
    let is_trial = before.index.is_none();
    let change = match is_trial {
        // Nothing has been paid, and nothing is due before the trial ends.
        true => PlanChange { period: before.period, anchor: None, lines: Vec::new() },
        false => {
            let paid = paid_lines(unit, &before, at).await?;
            let changed = change_plan((&before.cycle, &paid), (&cycle, std::slice::from_ref(&plan)), &before.period, at);
            changed.map_err(|error| ManageError::Unbillable(error.to_string()))?
        }
    };
    let after = changed(&before, &price, quantity, cycle, &change);
    let book = Book::read(unit, std::slice::from_ref(&after)).await?;
    let invoice = InvoiceId::new(at, ctx.random.as_ref());
    let preview = preview(ctx, unit, &book, &after, &change, (&price, &product, &invoice), at).await?;
    Ok(Draft { subscription: after, book, invoice, preview })
}

fn changed(before: &Subscription, price: &Price, quantity: u64, cycle: Cycle, change: &PlanChange) -> Subscription {
    let items = before.items.iter().map(|item| SubscriptionItem { price_id: price.id.clone(), quantity, ..item.clone() }).collect();
    let after = Subscription { items, cycle, period: change.period, ..before.clone() };
    match change.anchor {
        Some(anchor) => Subscription { anchor, index: Some(0), ..after },
        None => after,
    }
}

async fn preview(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &Book,
    after: &Subscription,
    change: &PlanChange,
    (price, product, invoice): (&Price, &Product, &InvoiceId),
    at: Timestamp,
) -> Result<PlanPreview, ManageError> {
    let sum = |what| Amount::sum(change.lines.iter().filter(|line| line.what == what).map(|line| line.amount));
    let (credit, charge) = (sum(Prorated::Credit)?, sum(Prorated::Charge)?);
    let mut items = Vec::with_capacity(change.lines.len() + 1);
    for line in &change.lines {
        let name = match line.price_id == price.id {
            true => product.name.clone(),
            false => name_of(unit, &line.price_id).await?,
        };
        let (description, start) = match line.what {
            Prorated::Credit => (format!("Unused time on {name}"), at),
            Prorated::Charge => (format!("Remaining time on {name}"), at.max(change.period.start)),
        };
        items.push(InvoiceItem {
            id: InvoiceItemId::new(at, ctx.random.as_ref()),
            invoice_id: invoice.clone(),
            price_id: Some(line.price_id.clone()),
            description,
            quantity: line.quantity,
            unit_amount: line.whole,
            amount: line.amount,
            period: Some(Period { start, end: change.period.end }),
            calculation: Calculation::from(line),
        });
    }
    let held = book.credit_of(after);
    let (due, credited) = match net(&change.lines)? {
        Net::Due(due) => (due, Amount::ZERO),
        Net::Credit(kept) => (Amount::ZERO, kept),
    };
    if !credited.is_zero() {
        items.push(flat(ctx, invoice, "Kept as credit for the next invoices", Calculation::Flat { amount: credited }, at));
    }
    let applied = held.min(due);
    if !applied.is_zero() {
        items.push(flat(ctx, invoice, "Applied credit", Calculation::Applied { amount: applied }, at));
    }
    let left = held.minus(applied)?.plus(credited)?;
    let next = next_amount(ctx, book, after)?;
    Ok(PlanPreview {
        at,
        lines: items,
        credit,
        charge,
        applied,
        total: due.minus(applied)?,
        credited,
        period: change.period,
        next: next.minus(left.min(next))?,
    })
}

/// A line that stands for no price.
pub(super) fn flat(ctx: &Context, invoice: &InvoiceId, description: &str, calculation: Calculation, at: Timestamp) -> InvoiceItem {
    let amount = calculation.amount().unwrap_or_default();
    InvoiceItem {
        id: InvoiceItemId::new(at, ctx.random.as_ref()),
        invoice_id: invoice.clone(),
        price_id: None,
        description: description.to_owned(),
        quantity: 1,
        unit_amount: amount,
        amount,
        period: None,
        calculation,
    }
}

async fn name_of(unit: &mut dyn UnitOfWork, price: &PriceId) -> Result<String, ManageError> {
    let Some(price) = unit.prices().find(price).await? else { return Ok(String::new()) };
    let product = unit.products().find(&price.product_id).await?;
    Ok(product.map(|product| product.name).unwrap_or_default())
}

/// What the next regular invoice asks for, before credit.
fn next_amount(ctx: &Context, book: &Book, after: &Subscription) -> Result<Amount, ManageError> {
    let index = after.index.map_or(0, |index| index.saturating_add(1));
    let next = period(&after.cycle, after.anchor, index).map_err(|error| ManageError::Unbillable(error.to_string()))?;
    let unwritten = InvoiceId::new(next.start, ctx.random.as_ref());
    let lines = lines(ctx, book, &HashMap::new(), after, &unwritten, next, None).map_err(ManageError::Unbillable)?;
    Ok(Amount::sum(lines.iter().map(|line| line.amount))?)
}

/// How many invoices are looked through for what was paid for the current period.
const LOOK_BACK: u32 = 20;

/// What the current plan has been paid for the time around `at`: by the last change within the period, else by its invoice.
pub(super) async fn paid_lines(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    at: Timestamp,
) -> Result<Vec<PaidLine>, ManageError> {
    let filter = InvoiceFilter { subscription_id: Some(subscription.id.clone()), ..InvoiceFilter::default() };
    let invoices = unit.invoices().list(subscription.mode, &filter, &Page::new(None, Some(LOOK_BACK))).await?.list;
    for invoice in invoices.iter().filter(|invoice| bills_ahead(invoice)) {
        let lines = kept_lines(unit, subscription, invoice, at).await?;
        let paid: Vec<_> = lines.iter().filter_map(|line| paid_line(subscription, invoice, line, at)).collect();
        if paid.is_empty() {
            continue;
        }
        return match invoice.status {
            InvoiceStatus::Open | InvoiceStatus::Draft => Err(ManageError::PaymentInFlight),
            _ => Ok(paid),
        };
    }
    Ok(Vec::new())
}

fn bills_ahead(invoice: &Invoice) -> bool {
    let for_time =
        matches!(invoice.reason, BillingReason::SubscriptionCreate | BillingReason::SubscriptionCycle | BillingReason::SubscriptionUpdate);
    // One that was issued stands for its time, whoever let go of it since: what it gave back is not given back again.
    for_time && (invoice.status != InvoiceStatus::Void || invoice.number.is_some())
}

fn paid_line(subscription: &Subscription, invoice: &Invoice, line: &InvoiceItem, at: Timestamp) -> Option<PaidLine> {
    let paid_for = line.period.or(invoice.period).filter(|period| period.contains(at))?;
    let price_id = line.price_id.clone()?;
    let is_current = subscription.items.iter().any(|item| item.price_id == price_id);
    let paid = if invoice.status == InvoiceStatus::Paid { line.amount } else { Amount::ZERO };
    (is_current && !line.calculation.is_credit()).then_some(PaidLine { price_id, quantity: line.quantity, paid, paid_for })
}
