//! Starts the subscriptions of a completed session, with their first invoices.

use super::buyer::recurring_products;
use super::complete::{Draft, read_drafts};
use super::quote::{IntervalGroup, QuoteRequest, group_by_interval, quote};
use super::stake::stake_of;
use super::submit::{group_names, load_sold};
use super::{LineItem, Session, SessionMode, SubscriptionGroup, TermAmounts};
use crate::billing::{
    self, BillingReason, Invoice, InvoiceItem, Notification, Period, PricingFormula, Stake, StakeTerms, Subscription, SubscriptionItem,
    SubscriptionStatus, Threshold, period, time_of,
};
use crate::context::Context;
use crate::payment::{Description, Intent, SettlementError};
use crate::pricing::{CatalogueItem, RecurringInterval};
use crate::shared::{Amount, CustomerId, InvoiceItemId, ProductId, StorageError, SubscriptionId, SubscriptionItemId, Timestamp};
use crate::storage::UnitOfWork;
use std::time::Duration;

/// The length of a trial that has no time left. The engine then ends it as usual.
const SHORTEST_TRIAL: Duration = Duration::from_secs(1);

/// What a completed session starts: its invoices, ready to be finalized, and its subscriptions.
pub(super) struct Started {
    /// In the order of the intent's invoices.
    pub drafts: Vec<Draft>,
    pub subscriptions: Vec<Subscription>,
    /// The start, in the customer's time.
    pub at: Timestamp,
    /// The stake that secures all subscriptions.
    stake: Option<Stake>,
    /// The inputs of the stake's amount.
    stake_terms: Option<StakeTerms>,
}

impl Started {
    /// A purchase without a subscription.
    pub const fn of_purchase(drafts: Vec<Draft>, at: Timestamp) -> Self {
        Self { drafts, subscriptions: Vec::new(), at, stake: None, stake_terms: None }
    }
}

/// Inserts a session's subscriptions, and writes the drafts of their first invoices for the periods that begin now.
pub(super) async fn start(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    session: &Session,
    intent: &Intent,
) -> Result<Started, SettlementError> {
    let (Some(customer), Some(method)) = (&session.customer_id, &session.method_id) else { return Err(SettlementError::Orphan) };
    let clock_id = unit.clocks().of_customer(customer).await?.map(|clock| clock.id);
    let now = time_of(ctx, unit, clock_id.as_ref()).await?;
    let method = unit.methods().find(method).await?.ok_or(SettlementError::Orphan)?;
    let currency = unit.methods().find_currency(&session.currency_id).await?.ok_or(SettlementError::Orphan)?;
    // The order was quoted at submit and is paid by now, so its products no longer need to be active.
    let sold = load_sold(unit, session).await.map_err(|_| SettlementError::Orphan)?;
    let TermAmounts { minimum_stake, threshold } = session.terms.amounts(currency.decimals).map_err(|_| SettlementError::Orphan)?;
    let quote = quote(&QuoteRequest::of(session, &sold, true), &currency, now).ok();
    let stake_terms = quote.map(|quote| StakeTerms { threshold, minimum: minimum_stake, recurring: quote.due.renew });
    // The trial was granted at submit, and is kept even if its end has passed meanwhile.
    let trial_end_from_now = session.terms.trial.end_at(now, &currency.id);
    let trial_end = session.trial_end.map(|granted| trial_end_from_now.unwrap_or_else(|| granted.max(now.plus(SHORTEST_TRIAL))));
    let trial_end = match (trial_end, session.subscription_ids.first()) {
        (Some(end), Some(first)) => Some(start_trials(unit, customer, first, &recurring_products(&sold), end, now).await?),
        _ => None,
    };
    let stake = stake_of(unit, session).await?.filter(|stake| stake.is_held() && stake.method_id == method.id);
    let mut started = Started { drafts: read_drafts(unit, intent).await?, subscriptions: Vec::new(), at: now, stake, stake_terms };
    for (place, (id, group)) in session.subscription_ids.iter().zip(&group_by_interval(&sold)).enumerate() {
        let draft = started.drafts.get_mut(place).ok_or(SettlementError::Orphan)?;
        let cycle = group.cycle.ok_or(SettlementError::Orphan)?;
        let FirstPeriod { period: first_period, index, anchor } = plan_first_period(&cycle, trial_end, now)?;
        let subscription = Subscription {
            id: id.clone(),
            mode: session.mode,
            status: if trial_end.is_some() { SubscriptionStatus::Trialing } else { SubscriptionStatus::Active },
            description: session.terms.description.clone(),
            name: group_names(&sold, &group.items),
            customer_id: customer.clone(),
            method_id: method.id.clone(),
            currency_id: currency.id.clone(),
            mandate_id: session.mandate_id.clone(),
            session_id: Some(session.id.clone()),
            items: recurring_items(ctx, session, group, &sold, now),
            cycle,
            anchor,
            index,
            period: first_period,
            trial: trial_end.map(|_| first_period),
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
            stake_id: started.stake.as_ref().map(|stake| stake.id.clone()),
            overdraft_stake_id: None,
            overdraft_at: None,
            latest_invoice_id: Some(draft.invoice.id.clone()),
            clock_id: clock_id.clone(),
            due_at: None,
            on_hold: None,
            bounds: Default::default(),
            metadata: session.terms.metadata.clone(),
            created_at: now,
            updated_at: now,
            version: 0,
        };
        unit.subscriptions().insert(&subscription).await?;
        let invoice = draft.invoice.clone();
        draft.invoice = Invoice {
            subscription_id: Some(id.clone()),
            period: Some(first_period),
            clock_id: clock_id.clone(),
            created_at: now,
            updated_at: now,
            ..invoice
        };
        draft.items = draft.items.drain(..).map(|item| billed_for(item, &subscription, first_period)).collect();
        unit.invoices().put_draft(&draft.invoice, &draft.items).await?;
        started.subscriptions.push(subscription);
    }
    Ok(started)
}

/// A line of a subscription's first invoice. If its price recurs, it bills the subscription's item for the first period.
fn billed_for(item: InvoiceItem, subscription: &Subscription, first_period: Period) -> InvoiceItem {
    let billed = subscription.items.iter().find(|one| item.price_id.as_ref() == Some(&one.price_id));
    let Some(billed) = billed else { return item };
    InvoiceItem { subscription_item_id: Some(billed.id.clone()), period: Some(first_period), covers_until: Some(first_period.end), ..item }
}

/// Writes the statement of the stake, and requests the emails about the start.
pub(super) async fn notify_started(ctx: &Context, unit: &mut dyn UnitOfWork, started: &Started) -> Result<(), SettlementError> {
    if let Some(stake) = &started.stake {
        let pricing_formula = PricingFormula::of_stake(started.stake_terms, stake.remaining());
        billing::record_placement(ctx, unit, stake, pricing_formula, started.at).await?;
    }
    for subscription in &started.subscriptions {
        billing::notify(ctx, unit, &Notification::Started(subscription.id.clone()), ctx.now()).await?;
        billing::notify_trial_end(ctx, unit, subscription).await?;
    }
    Ok(())
}

/// Records that the customer tries these products, and returns the end of the trial. If another session has started a trial of one of them
/// since this one was submitted, the trial ends at once, and the first period is charged by the mandate.
async fn start_trials(
    unit: &mut dyn UnitOfWork,
    customer: &CustomerId,
    subscription: &SubscriptionId,
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

/// The first period of a subscription.
struct FirstPeriod {
    /// The trial, or period 0.
    period: Period,
    /// `None` in a trial.
    index: Option<u32>,
    anchor: Timestamp,
}

fn plan_first_period(cycle: &RecurringInterval, trial_end: Option<Timestamp>, now: Timestamp) -> Result<FirstPeriod, SettlementError> {
    match trial_end {
        Some(end) => Ok(FirstPeriod { period: Period { start: now, end }, index: None, anchor: end }),
        None => {
            let period = period(cycle, now, 0).map_err(|_| SettlementError::Orphan)?;
            Ok(FirstPeriod { period, index: Some(0), anchor: now })
        }
    }
}

fn recurring_items(
    ctx: &Context,
    session: &Session,
    group: &IntervalGroup,
    sold: &[CatalogueItem],
    now: Timestamp,
) -> Vec<SubscriptionItem> {
    let recurring = group.items.iter().filter(|place| sold[**place].price.is_recurring());
    recurring
        .map(|place| SubscriptionItem {
            id: SubscriptionItemId::new(now, ctx.random.as_ref()),
            price_id: sold[*place].price.id.clone(),
            quantity: session.items[*place].quantity,
            billed: None,
        })
        .collect()
}

/// The lines of a group's first `invoice`. Items that are due later are listed with a zero amount, so that the invoice shows what was bought.
pub(super) fn first_lines(
    ctx: &Context,
    invoice: &Invoice,
    items: &[LineItem],
    sold: &[CatalogueItem],
    group: &SubscriptionGroup,
    amounts: &[Amount],
    now: Timestamp,
) -> Vec<InvoiceItem> {
    let line = |place: &usize| {
        let (item, CatalogueItem { price, product }, amount) = (&items[*place], &sold[*place], amounts[*place]);
        let pricing = price.pricing_in(&invoice.currency_id);
        let pricing_formula = match (item.custom_amount, pricing) {
            (Some(amount), Some(crate::pricing::UnitPricing::Custom(_))) => PricingFormula::Custom { amount },
            (_, Some(pricing)) => PricingFormula::of(&pricing, item.quantity),
            (_, None) => PricingFormula::Flat { amount },
        };
        // The amount is zero although the price is not: it is due later.
        let is_later = pricing_formula.amount() != Ok(amount);
        InvoiceItem {
            id: InvoiceItemId::new(now, ctx.random.as_ref()),
            invoice_id: invoice.id.clone(),
            subscription_item_id: None,
            price_id: Some(price.id.clone()),
            description: Description::Product(product.localized_name().into()),
            quantity: item.quantity,
            unit_amount: price.unit_amount_in(&invoice.currency_id).unwrap_or_default(),
            amount,
            credited: Amount::ZERO,
            period: None,
            covers_until: None,
            pricing_formula: if is_later { PricingFormula::Flat { amount } } else { pricing_formula },
        }
    };
    group.items.iter().map(line).collect()
}

/// The billing reason of a session's invoices.
pub(super) const fn reason_of(kind: SessionMode) -> BillingReason {
    match kind {
        SessionMode::Payment => BillingReason::Manual,
        SessionMode::Subscription | SessionMode::Setup => BillingReason::SubscriptionCreate,
    }
}
