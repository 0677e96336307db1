//! A stake is reckoned from all that it secures, and grows with the plans.

use super::bench::{Billing, MONTHLY};
use super::stakes::{is_sound, two_of_one_order};
use crate::ledger::bench::UNIT;
use crate::till::id;
use souk_adapters::on_both;
use souk_domain::access::Wallet;
use souk_domain::billing::{
    self, CancelAt, CancelTerms, ManageError, PlanChoice, PlanOrder, PlanSwitch, RefundChoice, Requester, StakeChoice, StakeFor,
    StakeStatus, Subscription,
};
use souk_domain::shared::{Amount, SubscriptionId};

fn wallet(billing: &Billing) -> Wallet {
    let wallet = &billing.networks.wallet;
    Wallet { did: wallet.did().clone(), public_key: wallet.public_key_base58() }
}

/// How much is missing of the stake, in whole tokens.
async fn missing(billing: &Billing, name: &str, what: StakeFor) -> Result<u128, ManageError> {
    let asked = billing::ask_to_restake(&billing.ctx, &id::<SubscriptionId>(name), what, &wallet(billing), 5).await?;
    Ok(asked.amount.base_units() / UNIT)
}

/// Leaves what is missing of it.
async fn leave(billing: &Billing, name: &str) {
    let (ctx, payer, id, what) = (&billing.ctx, wallet(billing), id::<SubscriptionId>(name), StakeFor::ChangedPlan);
    let asked = billing::ask_to_restake(ctx, &id, what, &payer, 5).await.expect("asks");
    let signed = billing.networks.wallet.sign_stake(&asked.prepared.partial_tx, &asked.prepared.token, asked.amount).expect("signs");
    billing::take_restake(ctx, &id, what, &payer, (5, &signed)).await.expect("takes");
}

/// The plan as it is shown now.
async fn shown(billing: &Billing, name: &str, price: &str) -> PlanOrder {
    let choice = PlanChoice { price: id(price), quantity: None, item: None };
    let preview = billing::preview_plan(&billing.ctx, &id(name), &choice).await.expect("is shown");
    PlanOrder { choice, at: preview.at, expected: preview.total, credited: Some(preview.credited) }
}

/// Two subscriptions of one checkout at 5 tokens each, for which the first holds 50; the wallet permits more.
async fn permitted(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = two_of_one_order(db).await;
    billing.networks.permit(1_000, 8).await;
    billing.write("UPDATE checkout_sessions SET status = 'complete', invoice_id = NULL").await;
    for (name, tokens) in [("price_2", 60), ("price_3", 6)] {
        billing.price(name, tokens, MONTHLY).await;
    }
    billing
}

async fn end(billing: &Billing, name: &str) {
    let (slash_reason, comment) = (String::new(), String::new());
    let (refund, stake) = (RefundChoice::None, StakeChoice::None);
    let terms = CancelTerms { at: CancelAt::Now, refund, stake, slash_reason, feedback: None, comment };
    billing::cancel(&billing.ctx, Requester::Store, &id(name), &terms).await.expect("ends");
}

on_both! {
    async fn what_a_wallet_stakes_that_takes_over_is_reckoned_from_all_that_it_secures(db: &TestDatabase) {
        let billing = two_of_one_order(db).await;
        let first = billing.find("sub_1").await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        assert!(unit.subscriptions().update(&Subscription { stake: None, ..first }).await.expect("writes"));
        unit.commit().await.expect("commits");
        assert_eq!(missing(&billing, "sub_1", StakeFor::ChangedPayment).await.expect("is asked for"), 10);
        let second = missing(&billing, "sub_2", StakeFor::ChangedPayment).await;
        assert!(matches!(second, Err(ManageError::NoStake)), "the first holds it: {second:?}");
        end(&billing, "sub_2").await;
        assert_eq!(missing(&billing, "sub_1", StakeFor::ChangedPayment).await.expect("is asked for"), 5, "what has ended asks for none");
    }

    async fn a_dearer_plan_asks_for_what_the_stake_lacks_of_all_that_it_secures(db: &TestDatabase) {
        let billing = permitted(db).await;
        let cheap = shown(&billing, "sub_2", "price_3").await;
        assert_eq!(billing::switch_plan(&billing.ctx, &id("sub_2"), &cheap).await.expect("changes"), PlanSwitch::Switched, "11 of 50");
        billing.send_all().await;
        billing.wait(std::time::Duration::from_secs(5));
        let dear = shown(&billing, "sub_2", "price_2").await;
        let asked = billing::switch_plan(&billing.ctx, &id("sub_2"), &dear).await.expect("is asked for");
        assert_eq!((asked, billing.find("sub_2").await.items[0].price_id.clone()), (PlanSwitch::NeedsPermission, id("price_3")));
        let none = missing(&billing, "sub_2", StakeFor::ChangedPlan).await;
        assert!(matches!(none, Err(ManageError::NoStake)), "not before the plan has changed: {none:?}");
        let done = billing::switch_plan_permitted(&billing.ctx, &id("sub_2"), &dear).await.expect("changes");
        assert_eq!((done, missing(&billing, "sub_2", StakeFor::ChangedPlan).await.expect("is asked for")), (PlanSwitch::Switched, 15));
        leave(&billing, "sub_2").await;
        let stake = billing.find("sub_1").await.stake.expect("a deposit");
        assert_eq!((stake.amount, stake.status, billing.networks.staked("sub_1").await), (Amount::new(65 * UNIT), StakeStatus::Held, (65, 0)));
        let told = billing.invoices().await.pop().expect("an invoice");
        assert_eq!((told.description.as_str(), told.total), ("Stake for subscription plan change", Amount::new(15 * UNIT)));
        let none = missing(&billing, "sub_2", StakeFor::ChangedPlan).await;
        assert!(matches!(none, Err(ManageError::NoStake)), "it is there: {none:?}");
        is_sound(&billing).await;
    }
}
