//! Refunds and deposit returns that lacked gas name that reason, and are sent as soon as the store can pay it, in both generations of the
//! network's software.

use super::bench::{Billing, DAY, MONTHLY, at_once};
use super::plans::subscribed;
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{self, RefundChoice, Requester, STAKE_WAITING, StakeChoice, StakeStatus};
use souk_domain::payment::{Decline, Refund, RefundStatus};
use souk_domain::shared::{Amount, RefundId};
use souk_sandbox::ledger::{Generation, MIN_GAS_STAKE};

/// The price of a unit of gas, in base units.
pub const GAS_PRICE: u64 = 10_000_000_000_000;

async fn find(billing: &Billing, refund: &RefundId) -> Refund {
    let mut unit = billing.ctx.store.read().await.expect("reads");
    unit.refunds().find(refund).await.expect("reads").expect("exists")
}

async fn retry(billing: &Billing) -> usize {
    billing::retry_without_gas(&billing.ctx, 10).await.expect("retries")
}

pub async fn stake_for_gas(billing: &Billing) {
    let networks = &billing.networks;
    networks.faucet_to(networks.app.did()).await;
    networks.rail.stake_for_gas(&networks.method).await.expect("stakes");
}

/// The generation of the network's software for the tests of a database: both databases together take both.
pub fn generation_for(db: &TestDatabase) -> Generation {
    if db.address().starts_with("sqlite") { Generation::Current } else { Generation::V1_20_8 }
}

/// A refund of everything that the store's account holds.
async fn refund_without_gas(db: &TestDatabase, generation: Generation, fault: Option<&str>) {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    billing.networks.set_chain(generation, GAS_PRICE).await;
    let invoice = billing.last().await;
    let refund = billing.refund(&invoice, Some(30 * UNIT)).await.expect("is ordered").refunds.remove(0);
    if let Some(fault) = fault {
        billing.networks.fault(fault).await;
    }
    billing.send_all().await;
    let failed = find(&billing, &refund.id).await;
    assert_eq!((failed.status, failed.failure.as_ref().is_some_and(Decline::is_for_gas)), (RefundStatus::Failed, true), "{failed:?}");
    assert_eq!(retry(&billing).await, 0, "there is still no gas");
    assert_eq!(find(&billing, &refund.id).await, failed, "nothing was sent");
    stake_for_gas(&billing).await;
    assert_eq!(retry(&billing).await, 1);
    billing.send_all().await;
    let sent = find(&billing, &refund.id).await;
    assert_eq!((sent.status, sent.failure), (RefundStatus::Succeeded, None));
    let left = 1_000 * UNIT - MIN_GAS_STAKE;
    let networks = &billing.networks;
    let balance = networks.rail.balance(&networks.method, &networks.currency, networks.app.did()).await.expect("answers");
    assert_eq!(balance, Amount::new(left), "to the last base unit");
    assert_eq!(retry(&billing).await, 0);
    billing.is_sound().await;
}

/// The return of a deposit by a store whose account is empty.
async fn return_without_gas(db: &TestDatabase, generation: Generation, fault: Option<&str>) {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let mut one = billing.subscription("sub_1", &price, DAY);
    one.stake_id = Some(billing.stake(&one, 50).await.id);
    billing.insert(&one).await;
    billing::cancel(&billing.ctx, Requester::Store, &id("sub_1"), &at_once(RefundChoice::None, StakeChoice::None)).await.expect("ends");
    billing.wait(STAKE_WAITING);
    billing.networks.set_chain(generation, GAS_PRICE).await;
    if let Some(fault) = fault {
        billing.networks.fault(fault).await;
    }
    assert_eq!(billing.process_due_stakes().await, 1);
    let failed = billing.find_stake("stk_1").await;
    assert_eq!((failed.status, failed.failure_count), (StakeStatus::Releasing, 1));
    assert!(failed.failure.as_ref().is_some_and(Decline::is_for_gas), "{failed:?}");
    assert_eq!(retry(&billing).await, 0, "there is still no gas");
    stake_for_gas(&billing).await;
    assert_eq!(retry(&billing).await, 1);
    assert_eq!(billing.process_due_stakes().await, 1, "six hours before the usual retry");
    let returned = billing.find_stake("stk_1").await;
    assert_eq!((returned.status, returned.amount_returned, returned.failure), (StakeStatus::Final, Amount::new(50 * UNIT), None));
    assert_eq!(billing.networks.staked("stk_1").await, (0, 0));
    billing.is_sound().await;
}

on_one! {
    async fn a_refund_without_gas_is_sent_once_the_store_has_staked(db: &TestDatabase) {
        refund_without_gas(db, Generation::Current, None).await;
    }

    async fn a_refund_without_gas_is_sent_once_the_store_has_staked_in_generation_1_20_8(db: &TestDatabase) {
        refund_without_gas(db, Generation::V1_20_8, None).await;
    }

    async fn a_deposit_return_without_gas_is_sent_once_the_store_has_staked(db: &TestDatabase) {
        return_without_gas(db, Generation::Current, None).await;
    }

    async fn a_deposit_return_without_gas_is_sent_once_the_store_has_staked_in_generation_1_20_8(db: &TestDatabase) {
        return_without_gas(db, Generation::V1_20_8, None).await;
    }

    async fn a_refund_without_gas_is_sent_once_the_stores_account_can_pay_it(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.networks.set_chain(Generation::Current, GAS_PRICE).await;
        let invoice = billing.last().await;
        let refund = billing.refund(&invoice, Some(30 * UNIT)).await.expect("is ordered").refunds.remove(0);
        billing.send_all().await;
        assert_eq!(find(&billing, &refund.id).await.status, RefundStatus::Failed);
        billing.networks.faucet_to(billing.networks.app.did()).await;
        assert_eq!(retry(&billing).await, 1);
        billing.send_all().await;
        assert_eq!(find(&billing, &refund.id).await.status, RefundStatus::Succeeded);
    }

    async fn a_refund_that_the_network_records_as_declined_for_gas_is_sent_once_the_store_has_staked(db: &TestDatabase) {
        refund_without_gas(db, Generation::Current, Some("record_rejection")).await;
    }

    async fn a_deposit_return_that_the_network_records_as_declined_for_gas_is_sent_once_the_store_has_staked(db: &TestDatabase) {
        return_without_gas(db, Generation::Current, Some("record_rejection")).await;
    }
}
