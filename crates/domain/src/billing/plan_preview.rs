//! Previews of plan changes, and the checks that an order still matches its preview.

use super::billing_batch::BillingBatch;
use super::period_lines::{Lines, describe_prorated, lines, names_of, prorated_item, read_usage, usage_of};
use super::stake::{Growth, stake_for_plan};
use super::subscription_admin::load;
use super::subscription_error::convert_subscription_errors;
use super::unused_time::{UnusedTime, UnusedTimes};
use super::usage_carry_over::{UsageSoFar, carried};
use super::usage_correction::UsageCorrections;
use super::{
    BillingReason, InvoiceItem, Period, PlanChange, PlanChoice, PlanLine, PlanOrder, Subscription, SubscriptionError, SubscriptionItem,
    SubscriptionStatus, Unbillable, UnusedTimeError, period, prorate_plan_change, time_of,
};
use crate::context::Context;
use crate::pricing::{
    CatalogueFilter, CatalogueItem, Price, Product, QuantityError, RecurringInterval, StockReservation, Usage, check_quantity,
};
use crate::shared::{Amount, InvoiceId, Mode, Page, PriceId, StorageError, SubscriptionId, Timestamp};
use crate::storage::UnitOfWork;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

/// How long a preview can be accepted, at most. The time between preview and change is credited although the old plan was used. That time
/// adds up to at most this much per period, however often the plan changes.
pub const PREVIEW_LIFETIME: Duration = Duration::from_secs(3_600);
/// For short periods, a preview can be accepted for one of this many parts of the period.
const PREVIEW_PARTS: u64 = 24;
/// The `metadata` key of plan groups: a subscription can switch between products with the same value.
pub const PLAN_GROUP: &str = "plan_group";
/// The highest quantity of a plan.
pub const PLAN_QUANTITY_MAX: u64 = 1_000_000;

/// The price of a plan change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanPreview {
    pub at: Timestamp,
    /// Charges of the new plan until the end of the period, and of usage until now.
    pub lines: Vec<InvoiceItem>,
    /// The unused time of the old plan.
    pub unused: Vec<UnusedTime>,
    /// The amount of the credit notes, in the subscription's currency.
    pub credit: Amount,
    /// The sum of the lines.
    pub charge: Amount,
    /// The part that the customer's balance pays, including what the credit notes add to it.
    pub applied: Amount,
    /// The amount due now.
    pub total: Amount,
    /// The increase of the balance.
    pub credited: Amount,
    pub period: Period,
    /// The amount due of the next regular invoice.
    pub next: Amount,
    /// The stake that the charged wallet must add before the customer can make the change.
    pub stake: Amount,
    /// Whether a customer has to wait: how much the plan requires is known only once another subscription has its ordered plan.
    pub is_stake_undecided: bool,
}

impl PlanOrder {
    /// Whether the price still equals the previewed one.
    #[must_use]
    pub fn fits(&self, preview: &PlanPreview) -> bool {
        preview.total == self.expected && self.credited.is_none_or(|credited| preview.credited == credited)
    }
}

/// A price that an item has or can be changed to.
struct Plan {
    price: Price,
    product: Product,
    /// The index of the subscription item.
    place: usize,
    /// Whether the price belongs to the item's current product.
    is_own: bool,
}

/// A plan change that is ready to be written.
pub(super) struct PlanDraft {
    pub subscription: Subscription,
    pub batch: BillingBatch,
    pub invoice: InvoiceId,
    pub preview: PlanPreview,
    pub unused: UnusedTimes,
    pub corrections: UsageCorrections,
    /// The stock that is returned.
    pub stock_returned: StockReservation,
    pub stock_taken: StockReservation,
}

/// Why the plans of a subscription cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadPlansError {
    #[error("Plan updates are not available")]
    NoPlans,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(ReadPlansError::Subscription);

/// Why a plan cannot be changed or previewed.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("Plan updates are not available")]
    NoPlans,
    /// The ordered quantity of the plan is not available.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    #[error("The amount has changed. Please review the new preview.")]
    PreviewChanged,
    #[error("The customer's wallet must authorize this plan first")]
    NeedsPermission,
    #[error(transparent)]
    Subscription(#[from] SubscriptionError),
}

convert_subscription_errors!(PlanError::Subscription);

impl From<ReadPlansError> for PlanError {
    fn from(error: ReadPlansError) -> Self {
        match error {
            ReadPlansError::NoPlans => Self::NoPlans,
            ReadPlansError::Subscription(error) => Self::Subscription(error),
        }
    }
}

impl From<UnusedTimeError> for PlanError {
    fn from(error: UnusedTimeError) -> Self {
        match error {
            UnusedTimeError::CreditedAlready => Self::PreviewChanged,
            UnusedTimeError::Subscription(error) => Self::Subscription(error),
        }
    }
}

/// The other plans that a subscription can change to: prices of its items' products, or of products in the same group, with the same kind
/// of usage. If the subscription has several items, only prices with its billing cycle.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn plans(ctx: &Context, id: &SubscriptionId) -> Result<Vec<CatalogueItem>, ReadPlansError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let plans = plans_of(unit.as_mut(), &subscription).await?;
    let mut others: Vec<CatalogueItem> = Vec::new();
    for Plan { price, product, .. } in plans {
        let is_there = subscription.items.iter().any(|item| item.price_id == price.id);
        if !is_there && !others.iter().any(|other| other.price.id == price.id) {
            others.push(CatalogueItem { price, product });
        }
    }
    if others.is_empty() { Err(ReadPlansError::NoPlans) } else { Ok(others) }
}

/// All plans, including the current ones.
async fn plans_of(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Plan>, ReadPlansError> {
    let is_running = matches!(subscription.status, SubscriptionStatus::Active | SubscriptionStatus::Trialing);
    if !is_running || subscription.ends_at().is_some() {
        return Err(ReadPlansError::NoPlans);
    }
    let ids: Vec<_> = subscription.items.iter().map(|item| item.price_id.clone()).collect();
    let current = unit.prices().find_with_products(&ids).await?;
    let groups = plan_groups(unit, subscription.mode, &current).await?;
    let all: BTreeSet<_> =
        current.iter().map(|item| &item.product).chain(groups.values().flatten()).map(|product| product.id.clone()).collect();
    let prices = unit.prices().of_products(&all.into_iter().collect::<Vec<_>>()).await?;
    let mut plans = Vec::new();
    for (place, item) in subscription.items.iter().enumerate() {
        let current = current.iter().find(|current| current.price.id == item.price_id);
        let CatalogueItem { price: current, product } = current.ok_or(ReadPlansError::NoPlans)?;
        let mut products = vec![product];
        let of_group = group_of(product).and_then(|group| groups.get(group)).into_iter().flatten();
        products.extend(of_group.filter(|other| other.id != product.id));
        let is_alone = subscription.items.len() == 1;
        let fits = |price: &Price| {
            let is_current = price.id == current.id;
            let is_elsewhere = subscription.items.iter().any(|other| other.id != item.id && other.price_id == price.id);
            let cycle = price.recurring.map(|recurring| recurring.cycle);
            (price.active || is_current)
                && !is_elsewhere
                && price.is_recurring()
                // Usage must keep being counted in the same way, within the same period.
                && usage_of(price) == usage_of(current)
                && (is_alone && (!price.is_metered() || subscription.index.is_none()) || cycle == Some(subscription.cycle))
                && !price.is_custom()
                && price.mode == subscription.mode
                && price.pricing_in(&subscription.currency_id).is_some()
        };
        for price in prices.iter().filter(|price| fits(price)) {
            let Some(product) = products.iter().find(|product| product.id == price.product_id) else { continue };
            let is_own = price.product_id == current.product_id;
            plans.push(Plan { price: price.clone(), product: Product::clone(product), place, is_own });
        }
    }
    Ok(plans)
}

fn group_of(product: &Product) -> Option<&String> {
    product.metadata.get(PLAN_GROUP).filter(|group| !group.is_empty())
}

/// The active products of each plan group that the items' products belong to.
async fn plan_groups(
    unit: &mut dyn UnitOfWork,
    mode: Mode,
    items: &[CatalogueItem],
) -> Result<BTreeMap<String, Vec<Product>>, StorageError> {
    let mut groups = BTreeMap::new();
    for group in items.iter().filter_map(|item| group_of(&item.product)) {
        if groups.contains_key(group) {
            continue;
        }
        let metadata = [(PLAN_GROUP.to_owned(), group.clone())].into();
        let filter = CatalogueFilter { active: Some(true), metadata, ..CatalogueFilter::default() };
        groups.insert(group.clone(), unit.products().list(mode, &filter, &Page::new(None, Some(100))).await?.list);
    }
    Ok(groups)
}

/// Finds the chosen plan. Prefers an item that has this price now, then one of the same product.
fn chosen(plans: Vec<Plan>, subscription: &Subscription, choice: &PlanChoice) -> Option<Plan> {
    let fits = |plan: &Plan| {
        let item = &subscription.items[plan.place];
        plan.price.id == choice.price && choice.item.as_ref().is_none_or(|named| item.id == *named)
    };
    let is_current = |plan: &Plan| subscription.items[plan.place].price_id == choice.price;
    plans.into_iter().filter(fits).min_by_key(|plan| (!is_current(plan), !plan.is_own, plan.place))
}

impl PlanPreview {
    /// Checks that the stake which the plan requires of a customer is known.
    ///
    /// # Errors
    /// [`SubscriptionError::PaymentInFlight`] if another subscription waits for its plan.
    pub fn check_stake(&self) -> Result<(), SubscriptionError> {
        if self.is_stake_undecided { Err(SubscriptionError::PaymentInFlight) } else { Ok(()) }
    }
}

/// Computes the price of a plan change made now.
#[tracing::instrument(skip_all, fields(subscription = %id))]
pub async fn preview_plan(ctx: &Context, id: &SubscriptionId, choice: &PlanChoice) -> Result<PlanPreview, PlanError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    subscription.check_decided()?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    // In whole seconds, the precision in which an order names this time.
    let at = Timestamp::from_seconds(now.seconds()).max(subscription.period.start);
    Ok(draft(ctx, unit.as_mut(), subscription, choice, at).await?.preview)
}

/// The effect of a plan order.
pub(super) struct PlannedChange {
    pub after: Subscription,
    pub preview: PlanPreview,
}

/// Computes the effect of a plan order.
///
/// # Errors
/// [`PlanError::PreviewChanged`] when the order no longer matches its preview.
pub(super) async fn planned(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    before: Subscription,
    order: &PlanOrder,
) -> Result<PlannedChange, PlanError> {
    let now = time_of(ctx, unit, before.clock_id.as_ref()).await?;
    let at = shown_for(unit, order, &before, now).await?;
    let PlanDraft { subscription, preview, .. } = draft(ctx, unit, before, &order.choice, at).await?;
    match order.fits(&preview) {
        true => Ok(PlannedChange { after: subscription, preview }),
        false => Err(PlanError::PreviewChanged),
    }
}

/// Returns the time for which an order was previewed.
///
/// # Errors
/// [`PlanError::PreviewChanged`] when the preview has expired, or a later change has been made since: the time paid for by that change
/// would be credited twice.
pub(super) async fn shown_for(
    unit: &mut dyn UnitOfWork,
    order: &PlanOrder,
    subscription: &Subscription,
    now: Timestamp,
) -> Result<Timestamp, PlanError> {
    // Its period is over until an owner has decided: no preview would ever be valid.
    subscription.check_decided()?;
    let at = order.at.max(subscription.period.start);
    let lifetime = PREVIEW_LIFETIME.min(Duration::from_secs(subscription.period.seconds() / PREVIEW_PARTS));
    let changed_at = unit.invoices().last_start(&subscription.id, BillingReason::SubscriptionUpdate).await?;
    let is_before = changed_at.is_some_and(|changed_at| at.seconds() < changed_at.seconds());
    let one_period_ago = now.minus(Duration::from_secs(subscription.period.seconds()));
    let backdated = unit.credit_notes().backdated(&subscription.id, one_period_ago).await?;
    let is_late = at > now || now.since(at) > lifetime.saturating_sub(backdated) || now >= subscription.period.end;
    match is_late || is_before {
        true => Err(PlanError::PreviewChanged),
        false => Ok(at),
    }
}

pub(super) async fn draft(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    before: Subscription,
    choice: &PlanChoice,
    at: Timestamp,
) -> Result<PlanDraft, PlanError> {
    let plans = plans_of(unit, &before).await?;
    let Plan { price, product, place, .. } = chosen(plans, &before, choice).ok_or(PlanError::NoPlans)?;
    let item = before.items[place].clone();
    let quantity = if price.is_metered() { item.quantity } else { choice.quantity.unwrap_or(item.quantity) };
    if !(1..=PLAN_QUANTITY_MAX).contains(&quantity) || (price.id == item.price_id && quantity == item.quantity) {
        return Err(PlanError::NoPlans);
    }
    let cycle = price.recurring.map(|recurring| recurring.cycle).ok_or(PlanError::NoPlans)?;
    let pricing = price.pricing_in(&before.currency_id).ok_or(SubscriptionError::CurrencyNotConfigured)?;
    let stock_returned = StockReservation { price_id: item.price_id.clone(), quantity: item.quantity };
    let stock_taken = StockReservation { price_id: price.id.clone(), quantity };
    check_quantity(&price, quantity, if stock_returned.price_id == stock_taken.price_id { stock_returned.quantity } else { 0 })?;
    let plan = PlanLine { price_id: price.id.clone(), quantity, whole: pricing.amount_for(quantity)? };
    let invoice = InvoiceId::new(at, ctx.random.as_ref());
    // Nothing is paid or due during a trial. Usage is not prorated but billed.
    let is_prorated = before.index.is_some() && !price.is_metered();
    let (unused, plan): (_, &[PlanLine]) = match is_prorated {
        false => (UnusedTimes::none(at), &[]),
        true => {
            let batch = BillingBatch::read(unit, std::slice::from_ref(&before)).await?;
            (UnusedTimes::read(unit, &before, &batch, Some(&item.id), at).await?, std::slice::from_ref(&plan))
        }
    };
    let change = match before.index {
        None => PlanChange { period: before.period, anchor: None, lines: Vec::new() },
        Some(_) => {
            let changed = prorate_plan_change(&before.cycle, &cycle, plan, &before.period, at);
            changed.map_err(Unbillable::from)?
        }
    };
    let UsageUntil { lines: usage, corrections } = match before.index {
        Some(_) if price.is_metered() => usage_until(ctx, unit, &before, &item, &invoice, at).await?,
        _ => UsageUntil::default(),
    };
    let mut after = changed(&before, ItemChange { place, price: &price.id, quantity }, cycle, &change);
    if let (Some(line), Some(Usage::Metered(aggregate))) = (usage.items.first(), usage_of(&price)) {
        let billed_before = item.billed.map_or(Amount::ZERO, |billed| billed.amount);
        let credited = corrections.credited_of(&item.id)?;
        let usage = UsageSoFar { used: line.quantity, billed: billed_before.plus(line.amount)?.minus(credited)? };
        after.items[place].billed = Some(carried(item.counts_from(&before.period), &pricing, aggregate, usage, at)?);
    }
    let batch = BillingBatch::read(unit, std::slice::from_ref(&after)).await?;
    after.name = batch.product_names(&after);
    let growth = stake_for_plan(unit, &before, &after).await?;
    let parts = Parts {
        price: &price,
        product: &product,
        invoice: &invoice,
        change: &change,
        usage,
        unused: &unused,
        corrections: &corrections,
        growth,
    };
    let preview = preview(ctx, unit, &batch, &after, parts, at).await?;
    Ok(PlanDraft { subscription: after, batch, invoice, preview, unused, corrections, stock_returned, stock_taken })
}

/// The usage of a metered item until a plan change.
#[derive(Default)]
struct UsageUntil {
    lines: Lines,
    /// Credit notes over usage that earlier invoices overbilled.
    corrections: UsageCorrections,
}

/// Bills the usage of a metered item until the change, at the old price.
async fn usage_until(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    before: &Subscription,
    item: &SubscriptionItem,
    invoice: &InvoiceId,
    at: Timestamp,
) -> Result<UsageUntil, PlanError> {
    if item.billed.is_some_and(|billed| billed.until > at) {
        return Err(PlanError::PreviewChanged);
    }
    let used_period = Period { end: at, ..before.period };
    let one = Subscription { items: vec![item.clone()], period: used_period, ..before.clone() };
    let batch = BillingBatch::read(unit, std::slice::from_ref(&one)).await?;
    let used = read_usage(unit, &batch, std::slice::from_ref(&one)).await?;
    let lines = lines(ctx, &batch, &used, &one, invoice, used_period, Some(used_period))?;
    let corrections = UsageCorrections::plan(unit, &one, &lines.overbilled).await?;
    Ok(UsageUntil { lines, corrections })
}

/// The new price and quantity of a subscription's item.
struct ItemChange<'a> {
    /// The index of the subscription item.
    place: usize,
    price: &'a PriceId,
    quantity: u64,
}

fn changed(before: &Subscription, new: ItemChange<'_>, cycle: RecurringInterval, change: &PlanChange) -> Subscription {
    let mut after = Subscription { cycle, period: change.period, ..before.clone() };
    let item = &mut after.items[new.place];
    (item.price_id, item.quantity) = (new.price.clone(), new.quantity);
    if let Some(anchor) = change.anchor {
        after.anchor = anchor;
        after.enter(0, change.period);
    }
    after
}

/// The parts of a plan change.
struct Parts<'a> {
    price: &'a Price,
    product: &'a Product,
    /// The invoice of the charges.
    invoice: &'a InvoiceId,
    change: &'a PlanChange,
    usage: Lines,
    unused: &'a UnusedTimes,
    corrections: &'a UsageCorrections,
    growth: Growth,
}

async fn preview(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    batch: &BillingBatch,
    after: &Subscription,
    parts: Parts<'_>,
    at: Timestamp,
) -> Result<PlanPreview, PlanError> {
    let Parts { price, product, invoice, change, usage, unused, corrections, growth } = parts;
    let mut items = usage.items;
    let names = names_of(unit, &change.lines).await?;
    for line in &change.lines {
        let charged_period = Period { start: at, end: change.period.end };
        let item_id = after.items.iter().find(|item| item.price_id == line.price_id).map(|item| item.id.clone());
        let mut item = prorated_item(ctx, &names, line, invoice, item_id, charged_period, at);
        if line.price_id == price.id {
            // The new price can belong to another product, which is already loaded.
            item.description = describe_prorated(line.what, product.localized_name().into());
        }
        items.push(item);
    }
    let charge = Amount::sum(items.iter().map(|item| item.amount))?;
    let added = unused.to_balance(after)?.plus(corrections.to_balance()?)?;
    let balance = batch.balance_of(after).plus(added)?;
    let applied = batch.applied(after, charge, balance);
    let balance_left = balance.minus(applied)?;
    let next = next_amount(ctx, batch, after)?;
    Ok(PlanPreview {
        at,
        lines: items,
        unused: unused.lines().cloned().collect(),
        credit: unused.credit(after)?.plus(corrections.to_balance()?)?,
        charge,
        applied,
        total: charge.minus(applied)?,
        credited: added.minus(applied).unwrap_or_default(),
        period: change.period,
        next: next.minus(batch.applied(after, next, balance_left))?,
        is_stake_undecided: matches!(growth, Growth::Undecided),
        stake: if let Growth::Required(required) = growth { required.amount } else { Amount::ZERO },
    })
}

/// The total of the next regular invoice, before the balance is applied.
fn next_amount(ctx: &Context, batch: &BillingBatch, after: &Subscription) -> Result<Amount, SubscriptionError> {
    let index = after.index.map_or(0, |index| index.saturating_add(1));
    let next = period(&after.cycle, after.anchor, index).map_err(Unbillable::from)?;
    let placeholder_id = InvoiceId::new(next.start, ctx.random.as_ref());
    let lines = lines(ctx, batch, &HashMap::new(), after, &placeholder_id, next, None)?;
    Ok(lines.total)
}
