//! While the sandbox is off, the jobs of its methods are paused: nothing is sent, declined, ended or lost. They continue when it is on again.

use super::bench::{Billing, DAY, MONTHLY};
use super::clocks::clock;
use crate::checkout_fixtures::id;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, AdvanceError, InvoiceStatus, STAKE_WAITING, Scope, StakeStatus, Subscription, SubscriptionStatus};
use souk_domain::payment::{self, Method, MethodSettings, RailError, SANDBOX_PAUSE, Sandbox};

fn switch(billing: &mut Billing, sandbox: Sandbox) {
    billing.ctx.networks = billing.ctx.networks.clone().with_sandbox(sandbox);
}

/// A method of test mode at a network that is not part of the store.
async fn external_method(billing: &Billing) -> Method {
    let MethodSettings::Arcblock { chain_id, explorer_host, .. } = billing.networks.method.settings.clone() else {
        panic!("another method")
    };
    let settings = MethodSettings::Arcblock { chain_id, api_host: "https://chain.example/api/".to_owned(), explorer_host };
    let method = Method { id: id("pm_external"), settings, ..billing.networks.method.clone() };
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.methods().insert(&method).await.expect("inserts");
    unit.commit().await.expect("commits");
    method
}

on_both! {
    async fn renewals_wait_and_those_of_other_networks_do_not(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 2, MONTHLY).await;
        let external = external_method(&billing).await;
        let waiting = billing.subscription("sub_1", &price, DAY * 30);
        billing.insert(&waiting).await;
        // A free one, because no transaction can be sent to its network.
        let free = billing.price("price_2", 0, MONTHLY).await;
        let other = billing.subscription("sub_2", &free, DAY * 30);
        billing.insert(&Subscription { method_id: external.id, mandate_id: None, ..other }).await;
        switch(&mut billing, Sandbox::Off);
        assert_eq!((billing.round().await, billing.round().await), (1, 0));
        assert_eq!((billing.find("sub_1").await.index, billing.find("sub_2").await.index), (Some(0), Some(1)));
        switch(&mut billing, Sandbox::On);
        assert_eq!(billing.round().await, 1);
        assert_eq!((billing.find("sub_1").await.index, billing.networks.transfers().await.len()), (Some(1), 1));
    }

    async fn a_charge_that_was_written_before_stays_unsent_and_its_later_decline_is_final(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 2, MONTHLY).await;
        for name in ["sub_1", "sub_2"] {
            billing.insert(&billing.subscription(name, &price, DAY * 30)).await;
        }
        let sent = billing.round_unsent().await;
        switch(&mut billing, Sandbox::Off);
        payment::charge(&billing.ctx, &sent).await.expect("waits");
        payment::charge_now(&billing.ctx, &sent[0]).await.expect("waits");
        payment::settle(&billing.ctx, &sent[0]).await.expect("waits");
        payment::settle_unsent(&billing.ctx, &sent[1]).await.expect("waits");
        billing.wait(DAY * 2);
        assert_eq!(payment::check_due(&billing.ctx, 9).await.expect("looks"), 0);
        assert!(!payment::cancel_attempt(&billing.ctx, &sent[0]).await.expect("waits"));
        assert_eq!((billing.statuses().await, billing.networks.transfers().await.len()), (vec![InvoiceStatus::Open; 2], 0));
        let unsent = "SELECT count(*) AS n FROM attempts WHERE status = 'open' AND sent_at IS NULL AND checks = 0";
        let count: u64 = billing.database().read().await.expect("reads").query(unsent).one().await.expect("counts").get("n").expect("n");
        assert_eq!(count, 2);

        switch(&mut billing, Sandbox::On);
        billing.networks.fault("decline").await;
        assert_eq!(payment::check_due(&billing.ctx, 9).await.expect("sends"), 2);
        let mut statuses = billing.statuses().await;
        statuses.sort_by_key(|status| status.name());
        assert_eq!((statuses, billing.networks.transfers().await.len()), (vec![InvoiceStatus::Paid, InvoiceStatus::Uncollectible], 1));
        billing.is_sound().await;
    }

    async fn dunning_waits_and_retries_before_anything_ends(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 2, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.networks.fault("decline").await;
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue);
        let retry_at = billing.last().await.retry_at;
        switch(&mut billing, Sandbox::Off);
        // Past the deadline after which an unpaid subscription ends.
        billing.wait(DAY * 20);
        assert_eq!((billing.retry().await, billing.round().await), (0, 0));
        assert_eq!((billing.last().await.retry_at, retry_at.is_some()), (retry_at, true));
        switch(&mut billing, Sandbox::On);
        billing.round().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::PastDue, "the retry comes first");
        assert_eq!(billing.retry().await, 1);
        assert_eq!((billing.find("sub_1").await.status, billing.statuses().await), (SubscriptionStatus::Active, vec![InvoiceStatus::Paid]));
        billing.is_sound().await;
    }

    async fn stakes_are_neither_returned_nor_taken_for_revoked(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let mut ending = Subscription { cancel_at_period_end: true, ..billing.subscription("sub_1", &price, DAY * 30) };
        ending.stake_id = Some(billing.stake(&ending, 50).await.id);
        billing.insert(&ending).await;
        billing.round().await;
        billing.wait(STAKE_WAITING);
        let before = billing.find_stake("stk_1").await;
        switch(&mut billing, Sandbox::Off);
        assert_eq!(billing::move_due_stakes(&billing.ctx, &Scope::Wall, billing.ctx.now(), 9).await.expect("waits").due, 0);
        billing::check_stakes(&billing.ctx, 9).await.expect("waits");
        assert_eq!(billing.find_stake("stk_1").await, before);
        switch(&mut billing, Sandbox::On);
        assert_eq!(billing.process_due_stakes().await, 1);
        assert_eq!(billing.find_stake("stk_1").await.status, StakeStatus::Final);
    }
}

on_one! {
    async fn a_test_clock_is_refused_or_waits_if_its_customer_has_subscriptions_at_the_sandbox(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let clock = clock(&billing).await;
        let target = billing.start.plus(DAY * 40);
        switch(&mut billing, Sandbox::Off);
        billing::aim_clock(&billing.ctx, &clock, billing.start.plus(DAY)).await.expect("nothing concerns the sandbox");
        assert!(billing::advance_clock(&billing.ctx, &clock).await.expect("advances"));
        let one = billing.subscription("sub_1", &price, DAY);
        billing.insert(&Subscription { clock_id: Some(clock.clone()), ..one }).await;
        let refused = billing::aim_clock(&billing.ctx, &clock, target).await;
        assert!(matches!(refused, Err(AdvanceError::SandboxOff(_))), "{refused:?}");

        switch(&mut billing, Sandbox::On);
        billing::aim_clock(&billing.ctx, &clock, target).await.expect("aims");
        switch(&mut billing, Sandbox::Off);
        assert!(!billing::advance_clock(&billing.ctx, &clock).await.expect("waits"));
        assert_eq!(billing.find("sub_1").await.index, Some(0));
        switch(&mut billing, Sandbox::On);
        billing.wait(billing::CLOCK_LEASE);
        billing.wait(SANDBOX_PAUSE);
        assert!(billing::advance_clock(&billing.ctx, &clock).await.expect("continues"));
        assert_eq!((billing.find("sub_1").await.index, billing.statuses().await), (Some(1), vec![InvoiceStatus::Paid]));
    }

    async fn its_methods_cannot_be_created_or_checked(db: &TestDatabase) {
        let mut billing = Billing::open(db, 10).await;
        switch(&mut billing, Sandbox::Off);
        let check = payment::check_method(&billing.ctx, &billing.networks.method).await.expect("answers");
        assert!(matches!(check.problem, Some(RailError::SandboxOff(_))), "{check:?}");
        let check = payment::check_method(&billing.ctx, &external_method(&billing).await).await.expect("answers");
        assert!(matches!(check.problem, Some(RailError::Unreachable(_))), "{check:?}");
    }
}
