//! A customer's changes to a subscription: plan, payment method, stake, overdraft protection, and card payment of overdue invoices.

use super::expected_errors::tolerate_expected;
use super::fixtures::Fixtures;
use super::network_client::{CARDS, NetworkClient, PaymentOption, UNIT};
use super::rng::Rng;
use crate::Failure;
use souk_domain::billing::{self, PlanChoice, PlanOrder, PlanSwitch, ReadPlansError, Requester, StakeFor};
use souk_domain::operation::VisitorNetwork;
use souk_domain::payment::WalletSignature;
use souk_domain::shared::{Amount, CurrencyId, SubscriptionId};

/// Switches to another plan or quantity after a preview, as the page does; requests a new delegation if the current one is too low.
pub async fn change_plan(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let Some(subscription) = ctx.store.read().await?.subscriptions().find(id).await? else { return Ok(()) };
    let mut prices: Vec<_> = match billing::plans(ctx, id).await {
        Ok(plans) => plans.into_iter().map(|plan| plan.price.id).collect(),
        Err(ReadPlansError::NoPlans) => Vec::new(),
        result => return tolerate_expected(result),
    };
    prices.extend(subscription.items.first().map(|item| item.price_id.clone()));
    let quantity = (!rng.one_in(3)).then(|| 1 + rng.below(6));
    let choice = PlanChoice { price: rng.choose(&prices).clone(), quantity, item: None };
    let preview = match billing::preview_plan(ctx, id, &choice).await {
        Ok(preview) => preview,
        result => return tolerate_expected(result),
    };
    let order = PlanOrder { choice, at: preview.at, expected: preview.total, credited: Some(preview.credited) };
    match billing::switch_plan(ctx, id, &order, Requester::Customer).await {
        Ok(PlanSwitch::NeedsPermission) => authorize_wallet(client, fixtures, id, &subscription.currency_id, Some(&order)).await,
        result => tolerate_expected(result),
    }
}

/// Changes the payment method to the customer's wallet or to a card.
pub async fn change_payment(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let by_card = rng.one_in(2);
    let PaymentOption { method, currency } = client.payment_option(by_card);
    if !by_card {
        return authorize_wallet(client, fixtures, id, &currency.id, None).await;
    }
    match billing::change_to_card(ctx, id, &method.id, &currency.id, &VisitorNetwork::default()).await {
        Ok(secret) => client.submit_card(&secret, rng.pick(&CARDS)).await,
        result => tolerate_expected(result),
    }
}

/// Signs a new delegation and then the stake that it requires, if any.
async fn authorize_wallet(
    client: &NetworkClient,
    fixtures: &Fixtures,
    id: &SubscriptionId,
    currency: &CurrencyId,
    plan: Option<&PlanOrder>,
) -> Result<(), Failure> {
    let (ctx, payer, nonce) = (&client.store.ctx, fixtures.payer(), client.nonce());
    let prepared = match billing::prepare_payment_change(ctx, id, currency, plan, &payer, nonce).await {
        Ok(prepared) => prepared,
        result => return tolerate_expected(result),
    };
    let signed = fixtures.wallet.sign_origin(&prepared.prepared.partial_tx).ok_or("the permission cannot be signed")?;
    let submitted = billing::submit_signed_payment_change(ctx, id, currency, plan, WalletSignature::new(&payer, nonce, &signed)).await;
    if submitted.is_err() {
        return tolerate_expected(submitted);
    }
    let stake_for = plan.map_or(StakeFor::ChangedPayment(currency), StakeFor::ChangedPlan);
    match billing::lacks_stake(ctx, id, currency, stake_for, &payer).await {
        Ok(true) => restake(client, fixtures, id, stake_for).await,
        result => tolerate_expected(result),
    }
}

pub async fn restake(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, stake_for: StakeFor<'_>) -> Result<(), Failure> {
    let (ctx, payer, nonce) = (&client.store.ctx, fixtures.payer(), client.nonce());
    let prepared = match billing::prepare_restake(ctx, id, stake_for, &payer, nonce).await {
        Ok(prepared) => prepared,
        result => return tolerate_expected(result),
    };
    let signed = fixtures.wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount);
    let signed = signed.ok_or("the deposit cannot be signed")?;
    tolerate_expected(billing::submit_signed_restake(ctx, id, stake_for, WalletSignature::new(&payer, nonce, &signed)).await)
}

/// Enables the overdraft protection, tops it up, or disables it.
pub async fn protect(client: &NetworkClient, fixtures: &Fixtures, id: &SubscriptionId, rng: &mut Rng) -> Result<(), Failure> {
    let (ctx, payer, nonce) = (&client.store.ctx, fixtures.payer(), client.nonce());
    if rng.one_in(4) {
        return tolerate_expected(billing::end_overdraft_protection(ctx, id).await);
    }
    let amount = rng.one_in(2).then(|| Amount::new(u128::from(1 + rng.below(60)) * UNIT));
    let prepared = match billing::prepare_overdraft_stake(ctx, id, amount, &payer, nonce).await {
        Ok(prepared) => prepared,
        result => return tolerate_expected(result),
    };
    let signed = fixtures.wallet.sign_stake(&prepared.prepared.partial_tx, &prepared.prepared.token, prepared.amount);
    let signed = signed.ok_or("the deposit cannot be signed")?;
    tolerate_expected(
        billing::submit_signed_overdraft_stake(ctx, id, Some(prepared.amount), WalletSignature::new(&payer, nonce, &signed)).await,
    )
}

/// Pays everything that is overdue in the card's currency with a card.
pub async fn pay_by_card(client: &NetworkClient, fixtures: &Fixtures, rng: &mut Rng) -> Result<(), Failure> {
    let ctx = &client.store.ctx;
    let currency = &client.payment_option(true).currency.id;
    let mut overdue = ctx.store.read().await?.invoices().overdue(&fixtures.customer).await?;
    overdue.retain(|invoice| invoice.currency_id == *currency);
    let ids: Vec<_> = overdue.into_iter().map(|invoice| invoice.id).collect();
    match billing::pay_by_card(ctx, &ids, currency, &VisitorNetwork::default()).await {
        Ok(form) => client.submit_card(&form.client_secret, rng.pick(&CARDS)).await,
        result => tolerate_expected(result),
    }
}
