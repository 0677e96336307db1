//! The subscriptions that a completed session begins, and their first invoices.

use super::buyer::recurring_products;
use super::complete::{Draft, read_drafts};
use super::quote::{IntervalGroup, quote, rhythms};
use super::stake::stake_of;
use super::submit::load_sold;
use super::{LineItem, Session, SessionMode, SubscriptionGroup};
use crate::billing::{
    self, BillingReason, Invoice, InvoiceItem, Notification, Period, PricingFormula, Stake, StakeTerms, Subscription, SubscriptionItem,
    SubscriptionStatus, Threshold, period, time_of,
};
use crate::context::Context;
use crate::payment::{Intent, SettlementError};
use crate::pricing::{Price, Product, RecurringInterval};
use crate::shared::{
    Amount, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, ProductId, StorageError, SubscriptionId, SubscriptionItemId, Timestamp,
};
use crate::storage::UnitOfWork;
use std::time::Duration;

/// A trial that has no time left is this long, so that the engine takes it from there.
const SHORTEST_TRIAL: Duration = Duration::from_secs(1);

/// What a session begins: its invoices as they are finalized, and its subscriptions.
pub(super) struct Begun {
    /// In the order of the intent's invoices.
    pub drafts: Vec<Draft>,
    pub subscriptions: Vec<Subscription>,
    /// When it begins, in the customer's time.
    pub at: Timestamp,
    /// Secures all of them.
    stake: Option<Stake>,
    /// From what the stake was computed.
    stake_terms: Option<StakeTerms>,
}

impl Begun {
    /// A purchase without a subscription.
    pub const fn of_purchase(drafts: Vec<Draft>, at: Timestamp) -> Self {
        Self { drafts, subscriptions: Vec::new(), at, stake: None, stake_terms: None }
    }
}

/// Writes the rows of a session's subscriptions, and the drafts of their first invoices, which are for the periods that begin now.
pub(super) async fn begin(ctx: &Context, unit: &mut dyn UnitOfWork, session: &Session, intent: &Intent) -> Result<Begun, SettlementError> {
    let (Some(customer), Some(method)) = (&session.customer_id, &session.method_id) else { return Err(SettlementError::Orphan) };
    let clock_id = unit.clocks().of_customer(customer).await?.map(|clock| clock.id);
    let now = time_of(ctx, unit, clock_id.as_ref()).await?;
    let method = unit.methods().find(method).await?.ok_or(SettlementError::Orphan)?;
    let currency = unit.methods().find_currency(&session.currency_id).await?.ok_or(SettlementError::Orphan)?;
    // What was bought was computed at submit, and is paid: neither a price in this currency nor an active product is needed any more.
    let sold = load_sold(unit, session).await.map_err(|_| SettlementError::Orphan)?;
    let (minimum, threshold) = session.terms.amounts(currency.decimals).map_err(|_| SettlementError::Orphan)?;
    let order = quote((session.kind, &session.terms), &session.items, &sold, &currency, true, now).ok();
    let stake_terms = order.map(|order| StakeTerms { threshold, minimum, recurring: order.due.renew });
    // The trial was promised at submit: it is given even where its last day has come meanwhile.
    let anew = session.terms.trial.end_at(now, &currency.id);
    let trial_end = session.trial_end.map(|promised| anew.unwrap_or_else(|| promised.max(now.plus(SHORTEST_TRIAL))));
    let trial_end = match (trial_end, session.subscription_ids.first()) {
        (Some(end), Some(first)) => Some(start_trials(unit, (customer, first), &recurring_products(&sold), end, now).await?),
        _ => None,
    };
    let stake = stake_of(unit, session).await?.filter(|stake| stake.is_held() && stake.method_id == method.id);
    let mut begun = Begun { drafts: read_drafts(unit, intent).await?, subscriptions: Vec::new(), at: now, stake, stake_terms };
    for (place, (id, part)) in session.subscription_ids.iter().zip(&rhythms(&sold)).enumerate() {
        let draft = begun.drafts.get_mut(place).ok_or(SettlementError::Orphan)?;
        let cycle = part.cycle.ok_or(SettlementError::Orphan)?;
        let (span, index, anchor) = first_period(&cycle, trial_end, now)?;
        let subscription = Subscription {
            id: id.clone(),
            mode: session.mode,
            status: if trial_end.is_some() { SubscriptionStatus::Trialing } else { SubscriptionStatus::Active },
            description: draft.invoice.description.clone(),
            customer_id: customer.clone(),
            method_id: method.id.clone(),
            currency_id: currency.id.clone(),
            mandate_id: session.mandate_id.clone(),
            session_id: Some(session.id.clone()),
            items: recurring_items(ctx, session, part, &sold, now),
            cycle,
            anchor,
            index,
            period: span,
            trial: trial_end.map(|_| span),
            cancel_at_period_end: false,
            cancel_at: None,
            canceled_at: None,
            ended_at: None,
            cancellation: None,
            past_due_since: None,
            paused_at: None,
            days_until_cancel: session.terms.days_until_cancel.unwrap_or(ctx.policy.days_until_cancel),
            billing_threshold: (!threshold.is_zero())
                .then_some(Threshold { amount: threshold, resets_anchor: session.terms.resets_anchor }),
            stake_id: begun.stake.as_ref().map(|stake| stake.id.clone()),
            overdraft_stake_id: None,
            overdraft_at: None,
            latest_invoice_id: Some(draft.invoice.id.clone()),
            clock_id: clock_id.clone(),
            due_at: None,
            on_hold: None,
            metadata: session.terms.metadata.clone(),
            created_at: now,
            updated_at: now,
            version: 0,
        };
        unit.subscriptions().insert(&subscription).await?;
        let invoice = draft.invoice.clone();
        draft.invoice = Invoice {
            subscription_id: Some(id.clone()),
            period: Some(span),
            clock_id: clock_id.clone(),
            created_at: now,
            updated_at: now,
            ..invoice
        };
        draft.items = draft.items.drain(..).map(|item| billed_for(item, &subscription, span)).collect();
        unit.invoices().put_draft(&draft.invoice, &draft.items).await?;
        begun.subscriptions.push(subscription);
    }
    Ok(begun)
}

/// A line of a subscription's first invoice: where its price recurs, it bills the subscription's item for the first period.
fn billed_for(item: InvoiceItem, subscription: &Subscription, span: Period) -> InvoiceItem {
    let billed = subscription.items.iter().find(|one| item.price_id.as_ref() == Some(&one.price_id));
    let Some(billed) = billed else { return item };
    InvoiceItem { subscription_item_id: Some(billed.id.clone()), period: Some(span), covers_until: Some(span.end), ..item }
}

/// Writes the statement of the stake, and asks for the emails about the start.
pub(super) async fn notify_started(ctx: &Context, unit: &mut dyn UnitOfWork, begun: &Begun) -> Result<(), SettlementError> {
    if let Some(stake) = &begun.stake {
        let calculation = PricingFormula::of_stake(begun.stake_terms, stake.remaining());
        billing::record_placement(ctx, unit, stake, calculation, begun.at).await?;
    }
    for subscription in &begun.subscriptions {
        billing::notify(ctx, unit, &Notification::Started(subscription.id.clone()), ctx.now()).await?;
        billing::notify_trial_end(ctx, unit, subscription).await?;
    }
    Ok(())
}

/// Writes down that the customer tries these products, and answers when the trial ends. Where another session has begun a trial of one
/// of them since this one was submitted, it ends at once: the first period is then charged by the permission that was given.
async fn start_trials(
    unit: &mut dyn UnitOfWork,
    (customer, subscription): (&CustomerId, &SubscriptionId),
    products: &[ProductId],
    end: Timestamp,
    now: Timestamp,
) -> Result<Timestamp, StorageError> {
    let mut is_first = true;
    for product in products {
        is_first &= unit.trials().start(customer, product, subscription, now).await?;
    }
    Ok(if is_first { end } else { now.plus(SHORTEST_TRIAL) })
}

/// The trial, or period 0; and where period 0 begins.
fn first_period(
    cycle: &RecurringInterval,
    trial_end: Option<Timestamp>,
    now: Timestamp,
) -> Result<(Period, Option<u32>, Timestamp), SettlementError> {
    match trial_end {
        Some(end) => Ok((Period { start: now, end }, None, end)),
        None => Ok((period(cycle, now, 0).map_err(|_| SettlementError::Orphan)?, Some(0), now)),
    }
}

fn recurring_items(
    ctx: &Context,
    session: &Session,
    part: &IntervalGroup,
    sold: &[(Price, Product)],
    now: Timestamp,
) -> Vec<SubscriptionItem> {
    let recurring = part.items.iter().filter(|place| sold[**place].0.is_recurring());
    recurring
        .map(|place| SubscriptionItem {
            id: SubscriptionItemId::new(now, ctx.random.as_ref()),
            price_id: sold[*place].0.id.clone(),
            quantity: session.items[*place].quantity,
            billed: None,
        })
        .collect()
}

/// The lines of a part's first invoice. What is due later stands there with nothing, so that whoever reads it sees what was bought.
pub(super) fn first_lines(
    ctx: &Context,
    (invoice, currency): (&InvoiceId, &CurrencyId),
    items: &[LineItem],
    sold: &[(Price, Product)],
    part: &SubscriptionGroup,
    amounts: &[Amount],
    now: Timestamp,
) -> Vec<InvoiceItem> {
    let line = |place: &usize| {
        let (item, (price, product), amount) = (&items[*place], &sold[*place], amounts[*place]);
        let rate = price.rate_in(currency);
        let calculation = match (item.custom_amount, rate) {
            (Some(amount), Some(crate::pricing::UnitPricing::Custom(_))) => PricingFormula::Custom { amount },
            (_, Some(rate)) => PricingFormula::of(&rate, item.quantity),
            (_, None) => PricingFormula::Flat { amount },
        };
        // Nothing now, though the price asks for something: it is due later.
        let is_later = calculation.amount() != Ok(amount);
        InvoiceItem {
            id: InvoiceItemId::new(now, ctx.random.as_ref()),
            invoice_id: invoice.clone(),
            subscription_item_id: None,
            price_id: Some(price.id.clone()),
            description: product.name.clone(),
            quantity: item.quantity,
            unit_amount: price.unit_amount_in(currency).unwrap_or_default(),
            amount,
            credited: Amount::ZERO,
            period: None,
            covers_until: None,
            calculation: if is_later { PricingFormula::Flat { amount } } else { calculation },
        }
    };
    part.items.iter().map(line).collect()
}

/// Why a session's invoice is written.
pub(super) const fn reason_of(kind: SessionMode) -> BillingReason {
    match kind {
        SessionMode::Payment => BillingReason::Manual,
        SessionMode::Subscription | SessionMode::Setup => BillingReason::SubscriptionCreate,
    }
}
