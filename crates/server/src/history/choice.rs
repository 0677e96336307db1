//! What a customer decides anew about a subscription: another plan, another way to pay, a stake left again, a debt paid by card.

use super::cast::Cast;
use super::dice::Dice;
use super::rules::allowed;
use super::teller::{CARDS, Teller};
use crate::compose::Failure;
use souk_domain::billing::{self, ManageError, PlanChoice, PlanOrder, PlanSwitch, Requester, StakeFor};
use souk_domain::shared::{CurrencyId, SubscriptionId};

/// Another plan, or another number of seats, as the page shows it; where the wallet permits less, it is asked for more.
pub async fn change_plan(teller: &Teller, cast: &Cast, id: &SubscriptionId, dice: &mut Dice) -> Result<(), Failure> {
    let ctx = &teller.parts.ctx;
    let Some(subscription) = ctx.store.read().await?.subscriptions().find(id).await? else { return Ok(()) };
    let mut prices: Vec<_> = match billing::plans(ctx, id).await {
        Ok(plans) => plans.into_iter().map(|(price, _)| price.id).collect(),
        Err(ManageError::NoPlans) => Vec::new(),
        refused => return allowed(refused),
    };
    prices.extend(subscription.items.first().map(|item| item.price_id.clone()));
    let quantity = (!dice.one_in(3)).then(|| 1 + dice.below(6));
    let choice = PlanChoice { price: dice.choose(&prices).clone(), quantity, item: None };
    let preview = match billing::preview_plan(ctx, id, &choice).await {
        Ok(preview) => preview,
        refused => return allowed(refused),
    };
    let order = PlanOrder { choice, at: preview.at, expected: preview.total, credited: Some(preview.credited) };
    match billing::switch_plan(ctx, id, &order, Requester::Customer).await {
        Ok(PlanSwitch::NeedsPermission) => permit(teller, cast, id, &subscription.currency_id, Some(&order)).await,
        done => allowed(done),
    }
}

/// The customer's wallet, or a card.
pub async fn change_payment(teller: &Teller, cast: &Cast, id: &SubscriptionId, dice: &mut Dice) -> Result<(), Failure> {
    let ctx = &teller.parts.ctx;
    let by_card = dice.one_in(2);
    let (method, currency) = teller.way(by_card);
    if !by_card {
        return permit(teller, cast, id, &currency.id, None).await;
    }
    match billing::change_to_card(ctx, id, &method.id, &currency.id).await {
        Ok(secret) => teller.give_card(&secret, dice.pick(&CARDS)).await,
        refused => allowed(refused),
    }
}

/// A permission, and the stake that is missing then.
async fn permit(teller: &Teller, cast: &Cast, id: &SubscriptionId, currency: &CurrencyId, plan: Option<&PlanOrder>) -> Result<(), Failure> {
    let (ctx, payer, nonce) = (&teller.parts.ctx, cast.payer(), teller.nonce());
    let asked = match billing::ask_to_change(ctx, id, currency, plan, &payer, nonce).await {
        Ok(asked) => asked,
        refused => return allowed(refused),
    };
    let signed = cast.wallet.sign_origin(&asked.prepared.partial_tx).ok_or("the permission cannot be signed")?;
    let taken = billing::take_change(ctx, id, currency, plan, &payer, (nonce, &signed)).await;
    if taken.is_err() {
        return allowed(taken);
    }
    let what = plan.map_or(StakeFor::ChangedPayment, StakeFor::ChangedPlan);
    match billing::lacks_stake(ctx, id, currency, what, &payer).await {
        Ok(true) => stake_again(teller, cast, id, what).await,
        done => allowed(done),
    }
}

pub async fn stake_again(teller: &Teller, cast: &Cast, id: &SubscriptionId, what: StakeFor<'_>) -> Result<(), Failure> {
    let (ctx, payer, nonce) = (&teller.parts.ctx, cast.payer(), teller.nonce());
    let asked = match billing::ask_to_restake(ctx, id, what, &payer, nonce).await {
        Ok(asked) => asked,
        refused => return allowed(refused),
    };
    let signed = cast.wallet.sign_stake(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount);
    let signed = signed.ok_or("the deposit cannot be signed")?;
    allowed(billing::take_restake(ctx, id, what, &payer, (nonce, &signed)).await)
}

/// Gives a card for all that is overdue in its currency.
pub async fn pay_by_card(teller: &Teller, cast: &Cast, dice: &mut Dice) -> Result<(), Failure> {
    let ctx = &teller.parts.ctx;
    let currency = &teller.way(true).1.id;
    let mut owed = ctx.store.read().await?.invoices().overdue(&cast.customer).await?;
    owed.retain(|invoice| invoice.currency_id == *currency);
    let ids: Vec<_> = owed.into_iter().map(|invoice| invoice.id).collect();
    match billing::pay_by_card(ctx, &ids, currency).await {
        Ok(form) => teller.give_card(&form.client_secret, dice.pick(&CARDS)).await,
        refused => allowed(refused),
    }
}
