//! Handles payments of invoices: by renewals, by retries, or by the customer.

use crate::billing::balance::apply_after_decline;
use crate::billing::clock::time_of;
use crate::billing::dunning::{DeclinedCharge, decline_invoices};
use crate::billing::invoice::{Receipt, settle};
use crate::billing::recovery::recovered;
use crate::billing::reversal::reverse_payment;
use crate::billing::{BillingError, Subscription};
use crate::context::Context;
use crate::payment::{
    Attempt, AttemptKind, Decline, IntentStatus, MandateDetails, PaidIntent, Purpose, PurposeHandler, Reversal, SavedCard, SettledAttempt,
    Settlement, SettlementError,
};
use crate::shared::{Amount, AttemptId, PaymentIntentId};
use crate::storage::UnitOfWork;
use async_trait::async_trait;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// Handles payments of invoices: by renewals, by retries, or by the customer.
#[derive(Debug, Clone, Copy)]
pub struct InvoiceCollection;

#[async_trait]
impl PurposeHandler for InvoiceCollection {
    async fn settled(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        settlement: &Settlement,
    ) -> Result<Vec<AttemptId>, SettlementError> {
        self.settled_all(ctx, unit, &[SettledAttempt { attempt, settlement }]).await
    }

    async fn settled_all(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        all: &[SettledAttempt<'_>],
    ) -> Result<Vec<AttemptId>, SettlementError> {
        let mut collected = Vec::with_capacity(all.len());
        for SettledAttempt { attempt, settlement } in all {
            let intent = attempt.purpose.intent().ok_or(SettlementError::unsupported(attempt))?;
            collected.push(Collected { attempt, settlement, intent });
        }
        collect(ctx, unit, &collected).await?;
        Ok(Vec::new())
    }

    async fn declined(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        decline: &Decline,
    ) -> Result<(), SettlementError> {
        let Purpose::Payment(intent) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(collection_declined(ctx, unit, intent, decline).await?)
    }

    async fn reversed(
        &self,
        ctx: &Context,
        unit: &mut dyn UnitOfWork,
        attempt: &Attempt,
        reversal: &Reversal,
    ) -> Result<(), SettlementError> {
        let Purpose::Payment(intent) = &attempt.purpose else { return Err(SettlementError::unsupported(attempt)) };
        Ok(reverse_payment(ctx, unit, attempt, intent, reversal).await?)
    }
}

/// A settled payment of invoices.
struct Collected<'a> {
    attempt: &'a Attempt,
    settlement: &'a Settlement,
    intent: &'a PaymentIntentId,
}

impl Collected<'_> {
    fn paid(&self) -> PaidIntent {
        let Settlement { reference, payer, .. } = self.settlement;
        PaidIntent { id: self.intent.clone(), amount: self.attempt.amount, reference: reference.clone(), payer: payer.clone() }
    }
}

/// Lock order: intents, subscriptions, invoices, balances, each in the order of the ids.
async fn collect(ctx: &Context, unit: &mut dyn UnitOfWork, all: &[Collected<'_>]) -> Result<(), BillingError> {
    let wall = ctx.now();
    let paid: Vec<_> = all.iter().map(Collected::paid).collect();
    unit.intents().succeed_all(&paid, wall).await?;
    let intents: Vec<_> = all.iter().map(|one| one.intent.clone()).collect();
    let intents = by_id(unit.intents().find_all(&intents).await?, |intent| &intent.id);
    let invoices: BTreeSet<_> = intents.values().flat_map(|intent| intent.invoices.iter().cloned()).collect();
    let invoices = unit.invoices().find_all(&invoices.into_iter().collect::<Vec<_>>()).await?;
    let subscriptions: BTreeSet<_> = invoices.iter().filter_map(|invoice| invoice.subscription_id.clone()).collect();
    let subscriptions = unit.subscriptions().lock_all(&subscriptions.into_iter().collect::<Vec<_>>()).await?;
    let (invoices, subscriptions) = (by_id(invoices, |invoice| &invoice.id), by_id(subscriptions, |subscription| &subscription.id));
    let mut times = HashMap::new();
    let mut receipts = Vec::with_capacity(all.len());
    for Collected { attempt, settlement, intent } in all {
        let intent = intents.get(intent).ok_or(BillingError::Orphan)?;
        let invoices: Vec<_> = intent.invoices.iter().filter_map(|id| invoices.get(id)).collect();
        if let (AttemptKind::OffSession { card, .. }, Some(reported)) = (&attempt.kind, &settlement.card)
            && reported != card
        {
            let charged: BTreeSet<_> = invoices.iter().filter_map(|invoice| invoice.subscription_id.as_ref()).collect();
            for subscription in charged.into_iter().filter_map(|id| subscriptions.get(id)) {
                update_card_details(ctx, unit, subscription, reported).await?;
            }
        }
        let clock = invoices.first().and_then(|invoice| invoice.clock_id.as_ref());
        let at = match times.get(&clock) {
            Some(at) => *at,
            None => {
                let at = time_of(ctx, unit, clock).await?;
                times.insert(clock, at);
                at
            }
        };
        receipts.push(Receipt {
            mode: intent.mode,
            customer_id: &intent.customer_id,
            attempt,
            intent: Some(&intent.id),
            to_balance: Amount::ZERO,
            at,
        });
    }
    let settled = settle(ctx, unit, &receipts).await?;
    Ok(recovered(ctx, unit, &settled).await?)
}

fn by_id<I: Clone + Eq + Hash, T>(all: Vec<T>, id: impl Fn(&T) -> &I) -> HashMap<I, T> {
    all.into_iter().map(|one| (id(&one).clone(), one)).collect()
}

/// Updates the card details of a mandate. Banks replace cards, and providers keep the card's id while its details change.
async fn update_card_details(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    subscription: &Subscription,
    reported: &SavedCard,
) -> Result<(), BillingError> {
    let Some(id) = &subscription.mandate_id else { return Ok(()) };
    let Some(mandate) = unit.mandates().find(id).await? else { return Err(BillingError::Orphan) };
    let is_same_card = matches!(&mandate.details, Some(MandateDetails::Card(card)) if card.card == reported.card);
    if is_same_card {
        unit.mandates().update_details(id, &MandateDetails::Card(reported.clone()), ctx.now()).await?;
    }
    Ok(())
}

async fn collection_declined(
    ctx: &Context,
    unit: &mut dyn UnitOfWork,
    intent: &PaymentIntentId,
    decline: &Decline,
) -> Result<(), BillingError> {
    let wall = ctx.now();
    let intent = unit.intents().find(intent).await?.ok_or(BillingError::Orphan)?;
    unit.intents().set_status(&intent.id, IntentStatus::RequiresAction, Some(decline), wall).await?;
    apply_after_decline(ctx, unit, &intent.customer_id, &intent.currency_id).await?;
    // A declined manual payment does not affect the invoice or its retry schedule.
    let Some(id) = &intent.subscription_id else { return Ok(()) };
    let Some(mut subscription) = unit.subscriptions().lock(id).await? else { return Ok(()) };
    let now = time_of(ctx, unit, subscription.clock_id.as_ref()).await?;
    let invoices = unit.invoices().lock_all(&intent.invoices).await?;
    let declined = DeclinedCharge { subscription: &mut subscription, invoices: &invoices, decline };
    decline_invoices(ctx, unit, vec![declined], now).await?;
    match unit.subscriptions().update(&subscription).await? {
        true => Ok(()),
        false => Err(BillingError::Contended),
    }
}
