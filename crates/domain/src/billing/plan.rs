//! Changing the plan: which plans there are, what a change would cost now, and the change itself, at the price that was shown.

use super::bill::{Bill, issue};
use super::book::Book;
use super::carry::carried;
use super::credit::applied_line;
use super::line::{KEPT_CREDIT, prorated};
use super::manage::{load, lock, nonce, save};
use super::paid::{PaidPeriod, asked_line, bills_ahead};
use super::plan_permission::permits;
use super::promise::{Surplus, part};
use super::renew::{Lines, lines, publish_charges, read_usage, usage_of};
use super::restake::{lock_holder, stake_for_plan};
use super::{
    BillingReason, Calculation, InvoiceItem, InvoiceStatus, ManageError, Net, PaidLine, Period, PlanChange, PlanLine, PlanOrder,
    PlanSwitch, Prorated, ProrationLine, Requester, Subscription, SubscriptionItem, SubscriptionStatus, Unbillable, change_plan, net,
    period, time_of,
};
use crate::context::Context;
use crate::pricing::{CatalogueFilter, Cycle, Hold, Price, Product, QuantityError, Usage, check_quantity};
use crate::shared::{Amount, EntitlementId, InvoiceId, InvoiceItemId, Page, PriceId, SubscriptionId, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use crate::store::Entitlement;
use std::collections::HashMap;
use std::time::Duration;

/// How long a price that was shown can be accepted, at most. What passes between preview and change is given back though the plan was
/// used: together no more than this in a period, however often the plan changes.
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
    /// What the wallet that is charged leaves as a further deposit before the customer can make the change.
    pub stake: Amount,
}

/// What a plan is to be changed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChoice {
    pub price: PriceId,
    /// Absent: as many as now. Of a metered price, nothing is ordered.
    pub quantity: Option<u64>,
    /// The item that is changed; absent: the one of the same product, else of a product in the same group.
    pub item: Option<SubscriptionItemId>,
}

/// A price that an item can be changed to, or has.
struct Plan {
    price: Price,
    product: Product,
    /// The item's place.
    place: usize,
    /// The item's own product.
    is_own: bool,
}

/// A change that is ready to be made.
struct Draft {
    subscription: Subscription,
    book: Book,
    invoice: InvoiceId,
    preview: PlanPreview,
    /// What goes back into stock, and what is taken.
    moves: (Hold, Hold),
}

/// The other plans that a subscription can change to: prices of its items' products, or of products in the same group, which count as
/// the item does. Beside other items, those in their rhythm.
pub async fn plans(ctx: &Context, id: &SubscriptionId) -> Result<Vec<(Price, Product)>, ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let plans = plans_of(unit.as_mut(), &subscription).await?;
    let mut others: Vec<(Price, Product)> = Vec::new();
    for Plan { price, product, .. } in plans {
        let is_there = subscription.items.iter().any(|item| item.price_id == price.id);
        if !is_there && !others.iter().any(|(other, _)| other.id == price.id) {
            others.push((price, product));
        }
    }
    if others.is_empty() { Err(ManageError::NoPlans) } else { Ok(others) }
}

/// All plans, the current ones among them.
async fn plans_of(unit: &mut dyn UnitOfWork, subscription: &Subscription) -> Result<Vec<Plan>, ManageError> {
    let runs = matches!(subscription.status, SubscriptionStatus::Active | SubscriptionStatus::Trialing);
    if !runs || subscription.ends_at().is_some() {
        return Err(ManageError::NoPlans);
    }
    let mut plans = Vec::new();
    for (place, item) in subscription.items.iter().enumerate() {
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
        let is_alone = subscription.items.len() == 1;
        let fits = |price: &Price| {
            let is_current = price.id == current.id;
            let is_elsewhere = subscription.items.iter().any(|other| other.id != item.id && other.price_id == price.id);
            let cycle = price.recurring.map(|recurring| recurring.cycle);
            (price.active || is_current)
                && !is_elsewhere
                && price.is_recurring()
                // What was used goes on counting as it was counted, in the same period.
                && usage_of(price) == usage_of(&current)
                && (is_alone && (!price.is_metered() || subscription.index.is_none()) || cycle == Some(subscription.cycle))
                && !price.is_custom()
                && price.mode == subscription.mode
                && price.rate_in(&subscription.currency_id).is_some()
        };
        for price in prices.into_iter().filter(fits) {
            let Some(product) = products.iter().find(|product| product.id == price.product_id) else { continue };
            let is_own = price.product_id == current.product_id;
            plans.push(Plan { price, product: product.clone(), place, is_own });
        }
    }
    Ok(plans)
}

/// The plan that was chosen, for the item it is for.
fn chosen(plans: Vec<Plan>, subscription: &Subscription, choice: &PlanChoice) -> Option<Plan> {
    let fits = |plan: &Plan| {
        let item = &subscription.items[plan.place];
        plan.price.id == choice.price && choice.item.as_ref().is_none_or(|named| item.id == *named)
    };
    let is_current = |plan: &Plan| subscription.items[plan.place].price_id == choice.price;
    plans.into_iter().filter(fits).min_by_key(|plan| (!is_current(plan), !plan.is_own, plan.place))
}

/// What a change would cost if it were made now.
pub async fn preview_plan(ctx: &Context, id: &SubscriptionId, choice: &PlanChoice) -> Result<PlanPreview, ManageError> {
    let mut unit = ctx.store.read().await?;
    let subscription = load(unit.as_mut(), id).await?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    // To the second, so that whoever accepts it can name the moment.
    let at = Timestamp::from_seconds(now.seconds()).max(subscription.period.start);
    Ok(draft(ctx, unit.as_mut(), subscription, choice, at).await?.preview)
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
    let Draft { subscription, preview, .. } = draft(ctx, unit, before, &order.choice, at).await?;
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
    let reason = BillingReason::SubscriptionUpdate;
    let changed_at = unit.invoices().last_start(&subscription.id, reason).await?;
    let is_before = changed_at.is_some_and(|changed_at| at.seconds() < changed_at.seconds());
    let a_period_ago = now.minus(Duration::from_secs(subscription.period.seconds()));
    let given = unit.invoices().dated_back(&subscription.id, reason, a_period_ago).await?;
    let is_late = at > now || now.since(at) > lifetime.saturating_sub(given) || now >= subscription.period.end;
    match is_late || is_before {
        true => Err(ManageError::PreviewChanged),
        false => Ok(at),
    }
}

/// Makes the change that was shown, if it still comes to the same, the wallet permits what it can cost from now on, and has staked what
/// it asks for. For the store itself, whom the stake secures, whatever is staked.
pub async fn switch_plan(ctx: &Context, id: &SubscriptionId, order: &PlanOrder, requester: Requester) -> Result<PlanSwitch, ManageError> {
    if !permits(ctx, id, order).await? {
        return Ok(PlanSwitch::NeedsPermission);
    }
    let mut unit = ctx.store.begin().await?;
    lock_holder(unit.as_mut(), id).await?;
    let subscription = lock(unit.as_mut(), id).await?;
    let now = time_of(ctx, unit.as_mut(), subscription.clock_id.as_ref()).await?;
    let at = shown_for(unit.as_mut(), order, &subscription, now).await?;
    // Several within one second, which is as long as a test clock stands, are billed a microsecond apart: no two invoices of one
    // reason begin together (invariant 2).
    let changed_at = unit.invoices().last_start(id, BillingReason::SubscriptionUpdate).await?;
    let same = changed_at.filter(|changed_at| changed_at.seconds() == at.seconds());
    let start = same.map_or(at, |changed_at| changed_at.plus(Duration::from_micros(1)).max(at));
    let drafted = draft(ctx, unit.as_mut(), subscription, &order.choice, at).await?;
    let Draft { mut subscription, mut book, invoice, preview, moves: (from, to) } = drafted;
    if !order.fits(&preview) {
        return Err(ManageError::PreviewChanged);
    }
    if requester == Requester::Customer && !preview.stake.is_zero() {
        return Ok(PlanSwitch::NeedsPermission);
    }
    // Before credit and numbers, as a free order takes them.
    if let Some(session) = &subscription.session_id
        && !unit.prices().exchange(session, &from, &to, now).await?
    {
        return Err(QuantityError::ExceedInventory.into());
    }
    subscription.updated_at = now;
    let mut attempt = None;
    if !preview.lines.is_empty() {
        let total = preview.total.plus(preview.applied)?;
        let span = Period { start, end: preview.period.end };
        let lines = preview.lines.into_iter().filter(|line| !matches!(line.calculation, Calculation::Applied { .. })).collect();
        let reason = BillingReason::SubscriptionUpdate;
        let bill = Bill { id: invoice, reason, period: span, lines, total, surplus: preview.credited, promised: Vec::new() };
        attempt = issue(ctx, unit.as_mut(), &mut book, &mut subscription, bill, nonce(ctx), now).await?;
    }
    save(unit.as_mut(), &subscription).await?;
    unit.subscriptions().put_items(&subscription).await?;
    grant(ctx, unit.as_mut(), &subscription, &book, now).await?;
    publish_charges(ctx, unit.as_mut(), attempt.as_slice()).await?;
    unit.commit().await?;
    Ok(PlanSwitch::Switched)
}

/// The apps of the plan as it is now. Those of the plan before end by themselves.
async fn grant(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    book: &Book,
    now: Timestamp,
) -> Result<(), ManageError> {
    let (Some(session), Some(customer)) = (&subscription.session_id, book.customers.get(&subscription.customer_id)) else { return Ok(()) };
    for item in &subscription.items {
        let product = book.prices.get(&item.price_id).and_then(|price| book.products.get(&price.product_id));
        let Some(app) = product.and_then(|product| product.app.clone()) else { continue };
        let entitlement = Entitlement {
            id: EntitlementId::new(ctx.now(), ctx.random.as_ref()),
            mode: subscription.mode,
            holder: customer.did.clone(),
            app,
            session_id: session.clone(),
            subscription_id: Some(subscription.id.clone()),
            invoice_id: subscription.latest_invoice_id.clone(),
            acquired_at: now,
        };
        unit.entitlements().grant(&entitlement).await?;
    }
    Ok(())
}

async fn draft(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    before: Subscription,
    choice: &PlanChoice,
    at: Timestamp,
) -> Result<Draft, ManageError> {
    let plans = plans_of(unit, &before).await?;
    let Plan { price, product, place, .. } = chosen(plans, &before, choice).ok_or(ManageError::NoPlans)?;
    let item = before.items[place].clone();
    let quantity = if price.is_metered() { item.quantity } else { choice.quantity.unwrap_or(item.quantity) };
    if !(1..=PLAN_QUANTITY_MAX).contains(&quantity) || (price.id == item.price_id && quantity == item.quantity) {
        return Err(ManageError::NoPlans);
    }
    let cycle = price.recurring.map(|recurring| recurring.cycle).ok_or(ManageError::NoPlans)?;
    let rate = price.rate_in(&before.currency_id).ok_or(ManageError::CurrencyNotConfigured)?;
    let (from, to) = (Hold { price_id: item.price_id.clone(), quantity: item.quantity }, Hold { price_id: price.id.clone(), quantity });
    check_quantity(&price, quantity, if from.price_id == to.price_id { from.quantity } else { 0 })?;
    let plan = PlanLine { price_id: price.id.clone(), quantity, whole: rate.charge(quantity)? };
    let invoice = InvoiceId::new(at, ctx.random.as_ref());
    let (paid, plan): (Vec<_>, &[PlanLine]) = match (before.index, price.is_metered()) {
        // In a trial nothing has been paid, and nothing is due before it ends. What was used is not prorated: it is billed.
        (None, _) | (_, true) => (Vec::new(), &[]),
        (Some(_), false) => {
            let book = Book::read(unit, std::slice::from_ref(&before)).await?;
            (paid_lines(unit, &before, &book, Some(&item), at).await?, std::slice::from_ref(&plan))
        }
    };
    let change = match before.index {
        None => PlanChange { period: before.period, anchor: None, lines: Vec::new() },
        Some(_) => {
            let changed = change_plan((&before.cycle, &paid), (&cycle, plan), &before.period, at);
            changed.map_err(Unbillable::from)?
        }
    };
    let usage = match before.index {
        Some(_) if price.is_metered() => usage_until(ctx, unit, &before, &item, &invoice, at).await?,
        _ => (Lines::default(), Amount::ZERO),
    };
    let mut after = changed(&before, (place, &price, quantity), cycle, &change);
    if let (Some(line), Some(Usage::Metered(aggregate))) = (usage.0.items.first(), usage_of(&price)) {
        let before_it = item.billed.map_or(Amount::ZERO, |billed| billed.amount);
        let used = (line.quantity, before_it.plus(line.amount)?);
        after.items[place].billed = Some(carried((&item, &before.period), (&rate, aggregate), used, at)?);
    }
    let book = Book::read(unit, std::slice::from_ref(&after)).await?;
    let stake = stake_for_plan(unit, &before, &after).await?;
    let preview = preview(ctx, unit, &book, &after, (&change, usage, stake), (&price, &product, &invoice), at).await?;
    Ok(Draft { subscription: after, book, invoice, preview, moves: (from, to) })
}

/// What a metered item was used until the change, at the price it had until then, and what becomes credit as earlier bills asked more.
async fn usage_until(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    before: &Subscription,
    item: &SubscriptionItem,
    invoice: &InvoiceId,
    at: Timestamp,
) -> Result<(Lines, Amount), ManageError> {
    if item.billed.is_some_and(|billed| billed.until > at) {
        return Err(ManageError::PreviewChanged);
    }
    let so_far = Period { end: at, ..before.period };
    let one = Subscription { items: vec![item.clone()], period: so_far, ..before.clone() };
    let book = Book::read(unit, std::slice::from_ref(&one)).await?;
    let used = read_usage(unit, &book, std::slice::from_ref(&one)).await?;
    let lines = lines(ctx, &book, &used, &one, invoice, so_far, Some(so_far))?;
    let Surplus { paid: surplus, promised } = part(unit, &one, &lines.surpluses).await?;
    if promised.is_empty() {
        return Ok((lines, surplus));
    }
    // What would be given back is not paid yet, and perhaps nobody is about to.
    let unpaid: Vec<_> = promised.into_iter().map(|(invoice, _)| invoice).collect();
    let is_moving = !unit.attempts().in_flight(&unpaid).await?.is_empty();
    Err(if is_moving { ManageError::PaymentInFlight } else { ManageError::OweFirst })
}

fn changed(before: &Subscription, (place, price, quantity): (usize, &Price, u64), cycle: Cycle, change: &PlanChange) -> Subscription {
    let mut after = Subscription { cycle, period: change.period, ..before.clone() };
    let item = &mut after.items[place];
    (item.price_id, item.quantity) = (price.id.clone(), quantity);
    if let Some(anchor) = change.anchor {
        after.anchor = anchor;
        after.enter(0, change.period);
    }
    after
}

async fn preview(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    book: &Book,
    after: &Subscription,
    (change, (usage, surplus), stake): (&PlanChange, (Lines, Amount), Amount),
    (price, product, invoice): (&Price, &Product, &InvoiceId),
    at: Timestamp,
) -> Result<PlanPreview, ManageError> {
    let sum = |what| Amount::sum(change.lines.iter().filter(|line| line.what == what).map(|line| line.amount));
    let (credit, charge) = (sum(Prorated::Credit)?, sum(Prorated::Charge)?.plus(usage.total)?);
    let mut items = usage.items;
    for line in &change.lines {
        let span = Period { start: at, end: change.period.end };
        let mut item = prorated_item(ctx, unit, line, invoice, span, at).await?;
        if line.what == Prorated::Charge && line.price_id == price.id {
            // The product is another one perhaps, and at hand.
            item.description = prorated(line.what, &product.name);
        }
        items.push(item);
    }
    let held = book.credit_of(after);
    let (due, credited) = match net(&change.lines)? {
        Net::Due(due) => (due.plus(usage.total)?, surplus),
        Net::Credit(kept) => (usage.total.minus(kept).unwrap_or_default(), kept.minus(usage.total).unwrap_or_default().plus(surplus)?),
    };
    items.extend(kept_line(ctx, invoice, credited.minus(surplus)?, at));
    // What the bill itself leaves over pays it too.
    let applied = held.plus(credited)?.min(due);
    if !applied.is_zero() {
        items.push(applied_line(ctx, invoice, applied, at));
    }
    let left = held.plus(credited)?.minus(applied)?;
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
        stake,
    })
}

/// A line for what a proration gives back or asks for.
pub(super) async fn prorated_item(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    line: &ProrationLine,
    invoice: &InvoiceId,
    span: Period,
    at: Timestamp,
) -> Result<InvoiceItem, ManageError> {
    let name = name_of(unit, &line.price_id).await?;
    Ok(InvoiceItem {
        id: InvoiceItemId::new(at, ctx.random.as_ref()),
        invoice_id: invoice.clone(),
        price_id: Some(line.price_id.clone()),
        description: prorated(line.what, &name),
        quantity: line.quantity,
        unit_amount: line.whole,
        amount: line.amount,
        period: Some(span),
        calculation: Calculation::from(line),
    })
}

/// What a bill gives back and nobody is asked for, so that its lines sum to nothing. `None`: there is nothing of it.
pub(super) fn kept_line(ctx: &Context, invoice: &InvoiceId, kept: Amount, at: Timestamp) -> Option<InvoiceItem> {
    let line = || flat(ctx, invoice, KEPT_CREDIT, Calculation::Flat { amount: kept }, at);
    (!kept.is_zero()).then(line)
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
    let next = period(&after.cycle, after.anchor, index).map_err(Unbillable::from)?;
    let unwritten = InvoiceId::new(next.start, ctx.random.as_ref());
    let lines = lines(ctx, book, &HashMap::new(), after, &unwritten, next, None)?;
    Ok(lines.total)
}

/// What licensed items have been paid for the time around `at`, one of them or all: by the last change within the period, else by
/// its invoice. Together no more than is left of what was paid for the period.
///
/// # Errors
/// [`ManageError::PaidOtherwise`] when that was in another currency than the subscription is charged in since.
pub(super) async fn paid_lines(
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    book: &Book,
    item: Option<&SubscriptionItem>,
    at: Timestamp,
) -> Result<Vec<PaidLine>, ManageError> {
    let is_licensed = |price: &PriceId| book.prices.get(price).and_then(usage_of) == Some(Usage::Licensed);
    let is_asked = |price: &PriceId| item.is_none_or(|item| item.price_id == *price);
    let mut wanted: Vec<_> = subscription.items.iter().map(|one| one.price_id.clone()).filter(is_licensed).collect();
    let mut found = Vec::new();
    if !wanted.iter().any(is_asked) {
        return Ok(found);
    }
    let period = PaidPeriod::read(unit, &subscription.id, subscription.period.start, &subscription.currency_id).await?;
    for (invoice, lines) in period.bills.iter().rev().filter(|(invoice, _)| bills_ahead(invoice)) {
        if !wanted.iter().any(is_asked) {
            break;
        }
        // Lines of a change of plan begin with the second of the change, their invoice a moment later.
        let is_for_now = invoice.period.into_iter().chain(lines.iter().filter_map(|line| line.period)).any(|span| span.contains(at));
        if invoice.currency_id != subscription.currency_id && is_for_now {
            return Err(ManageError::PaidOtherwise);
        }
        let asked: Vec<_> = lines.iter().filter_map(|line| asked_line(&wanted, invoice, line, at)).collect();
        let is_open = matches!(invoice.status, InvoiceStatus::Open | InvoiceStatus::Draft);
        if is_open && asked.iter().any(|line| is_asked(&line.price_id)) {
            return Err(ManageError::PaymentInFlight);
        }
        wanted.retain(|price| asked.iter().all(|line| line.price_id != *price));
        found.extend(asked);
    }
    let mut over = Amount::sum(found.iter().map(|line| line.paid))?.minus(period.left()?).unwrap_or_default();
    if (!over.is_zero() || period.is_cut) && unit.refunds().is_pending_of(&subscription.customer_id, &subscription.currency_id).await? {
        // What goes back is reckoned once it has: its network may refuse it still.
        return Err(ManageError::PaymentInFlight);
    }
    for line in &mut found {
        let part = line.paid.min(over);
        (line.paid, over) = (line.paid.minus(part)?, over.minus(part)?);
    }
    found.retain(|line| is_asked(&line.price_id));
    Ok(found)
}
