//! Decisions of a customer about a subscription: change the plan or the payment method, stake again, protect it against overdraft,
//! pay an overdue balance by card.

use super::expected_errors::tolerate_expected;
use super::fixtures::Fixtures;
use super::network_client::{CARDS, NetworkClient, UNIT};
use super::rng::Rng;
use crate::Failure;
use souk_domain::billing::{self, ManageError, PlanChoice, PlanOrder, PlanSwitch, Requester, StakeFor};
use souk_domain::shared::{Amount, CurrencyId, SubscriptionId};

/// Another plan, or another number of seats, as the page shows it; where the wallet permits less, it is asked for more.
pub async fn change_plan(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let Some(subscription) = ctx.store.read().await?.subscriptions().find(id).await? else { return Ok(()) };
    let mut prices: Vec<_> = match billing::plans(ctx, id).await {
        Ok(plans) => plans.into_iter().map(|(price, _)| price.id).collect(),
        Err(ManageError::NoPlans) => Vec::new(),
        refused => return tolerate_expected(refused),
    };
    prices.extend(subscription.items.first().map(|item| item.price_id.clone()));
    let quantity = (!rng.one_in(3)).then(|| 1 + rng.below(6));
    let choice = PlanChoice { price: rng.choose(&prices).clone(), quantity, item: None };
    let preview = match billing::preview_plan(ctx, id, &choice).await {
        Ok(preview) => preview,
        refused => return tolerate_expected(refused),
    };
    let order = PlanOrder { choice, at: preview.at, expected: preview.total, credited: Some(preview.credited) };
    match billing::switch_plan(ctx, id, &order, Requester::Customer).await {
        Ok(PlanSwitch::NeedsPermission) => permit(client, fixtures, id, &subscription.currency_id, Some(&order)).await,
        done => tolerate_expected(done),
    }
}

/// The customer's wallet, or a card.
pub async fn change_payment(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let by_card = rng.one_in(2);
    let (method, currency) = client.way(by_card);
    if !by_card {
        return permit(client, fixtures, id, &currency.id, None).await;
    }
    match billing::change_to_card(ctx, id, &method.id, &currency.id).await {
        Ok(secret) => client.give_card(&secret, rng.pick(&CARDS)).await,
        refused => tolerate_expected(refused),
    }
}

/// A permission, and the stake that is missing then.
async fn permit(
    client: &NetworkClient,
    fixtures: &Fixtures,
    id: &SubscriptionId,
    currency: &CurrencyId,
    plan: Option<&PlanOrder>,
) -> Result<(), Failure> {
    let (ctx, payer, nonce) = (&client.store.ctx, fixtures.payer(), client.nonce());
    let asked = match billing::prepare_payment_change(ctx, id, currency, plan, &payer, nonce).await {
        Ok(asked) => asked,
        refused => return tolerate_expected(refused),
    };
    let signed = fixtures.wallet.sign_origin(&asked.prepared.partial_tx).ok_or("the permission cannot be signed")?;
    let taken = billing::submit_signed_payment_change(ctx, id, currency, plan, &payer, (nonce, &signed)).await;
    if taken.is_err() {
        return tolerate_expected(taken);
    }
    let what = plan.map_or(StakeFor::ChangedPayment, StakeFor::ChangedPlan);
    match billing::lacks_stake(ctx, id, currency, what, &payer).await {
        Ok(true) => stake_again(client, fixtures, id, what).await,
        done => tolerate_expected(done),
    }
}

pub async fn stake_again(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, what: StakeFor<'_>) -> Result<(), Failure> {
    let (ctx, payer, nonce) = (&client.store.ctx, fixtures.payer(), client.nonce());
    let asked = match billing::prepare_restake(ctx, id, what, &payer, nonce).await {
        Ok(asked) => asked,
        refused => return tolerate_expected(refused),
    };
    let signed = fixtures.wallet.sign_stake(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount);
    let signed = signed.ok_or("the deposit cannot be signed")?;
    tolerate_expected(billing::submit_signed_restake(ctx, id, what, &payer, (nonce, &signed)).await)
}

/// Switches the overdraft protection on, tops it up, or switches it off.
pub async fn protect(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let (ctx, payer, nonce) = (&client.store.ctx, fixtures.payer(), client.nonce());
    if rng.one_in(4) {
        return tolerate_expected(billing::end_overdraft_protection(ctx, id).await);
    }
    let amount = rng.one_in(2).then(|| Amount::new(u128::from(1 + rng.below(60)) * UNIT));
    let asked = match billing::prepare_overdraft_stake(ctx, id, amount, &payer, nonce).await {
        Ok(asked) => asked,
        refused => return tolerate_expected(refused),
    };
    let signed = fixtures.wallet.sign_stake(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount);
    let signed = signed.ok_or("the deposit cannot be signed")?;
    tolerate_expected(billing::submit_signed_overdraft_stake(ctx, id, Some(asked.amount), &payer, (nonce, &signed)).await)
}

/// Gives a card for all that is overdue in its currency.
pub async fn pay_by_card(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let currency = &client.way(true).1.id;
    let mut owed = ctx.store.read().await?.invoices().overdue(&fixtures.customer).await?;
    owed.retain(|invoice| invoice.currency_id == *currency);
    let ids: Vec<_> = owed.into_iter().map(|invoice| invoice.id).collect();
    match billing::pay_by_card(ctx, &ids, currency).await {
        Ok(form) => client.give_card(&form.client_secret, rng.pick(&CARDS)).await,
        refused => tolerate_expected(refused),
    }
}
