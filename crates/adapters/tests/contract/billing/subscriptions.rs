//! Storage of subscriptions and of the mandates that they wait for.

use super::bench::{Billing, DAY, MONTHLY};
use crate::checkout_fixtures::{begin, id, wallet_attempt};
use crate::ledger::bench::UNIT;
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{
    BilledUsage, DailyInvoices, Period, Scope, Subscription, SubscriptionBounds, SubscriptionFilter, SubscriptionStatus, TestClock,
    Threshold,
};
use souk_domain::payment::{self, Attempt, AttemptContext, Mandate, MandateStatus, Outcome, Purpose, Settlement, Trigger};
use souk_domain::pricing::ProductNames;
use souk_domain::shared::{Amount, MandateId, Mode, Page, StorageError, SubscriptionId, Text};
use std::time::Duration;

async fn opened(db: &TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    billing.insert(&billing.subscription("sub_1", &price, DAY)).await;
    billing
}

on_both! {
    async fn a_mandate_stores_the_subscriptions_and_invoices_that_wait_for_it(db: &TestDatabase) {
        let billing = opened(db).await;
        let mut unit = begin(db).await;
        let mandate: MandateId = billing.find("sub_1").await.mandate_id.expect("a mandate");
        let subscription: SubscriptionId = id("sub_1");
        unit.mandates().link_subscription(&mandate, &subscription).await.expect("links");
        unit.mandates().link_subscription(&mandate, &subscription).await.expect("links once more");
        assert_eq!(unit.mandates().linked_subscriptions(&mandate).await.expect("reads"), std::slice::from_ref(&subscription));
        assert_eq!(unit.mandates().pending_for_subscription(&subscription).await.expect("reads"), [], "it is already granted");
        unit.commit().await.expect("commits");
        billing.wait(DAY * 31);
        billing.round().await;
        let invoice = billing.invoices().await.remove(0).id;
        let mut unit = begin(db).await;
        let pending = Mandate { id: id("man_9"), status: MandateStatus::Pending, ..unit.mandates().find(&mandate).await.expect("reads").expect("is there") };
        unit.mandates().upsert(&pending).await.expect("puts");
        unit.mandates().link_invoices(&pending.id, std::slice::from_ref(&invoice)).await.expect("links");
        unit.mandates().link_invoices(&pending.id, std::slice::from_ref(&invoice)).await.expect("links once more");
        assert_eq!(unit.mandates().linked_invoices(&pending.id).await.expect("reads"), std::slice::from_ref(&invoice));
        assert_eq!(unit.mandates().pending_for_invoice(&invoice).await.expect("reads"), std::slice::from_ref(&pending.id));
        unit.mandates().upsert(&Mandate { status: MandateStatus::Active, ..pending }).await.expect("puts");
        assert_eq!(unit.mandates().pending_for_invoice(&invoice).await.expect("reads"), [], "it is already granted");
    }

    async fn a_mandate_that_settles_late_does_not_override_a_newer_choice(db: &TestDatabase) {
        let billing = opened(db).await;
        let one = billing.find("sub_1").await;
        let at = |seconds| billing.start.plus(Duration::from_secs(seconds));
        let attempt = |number: u64| Attempt {
            purpose: Purpose::Mandate(id(&format!("man_{number}"))),
            method_id: one.method_id.clone(),
            currency_id: one.currency_id.clone(),
            session_id: None,
            amount: Amount::ZERO,
            ..wallet_attempt(&format!("att_{number}"), "pi_none", &format!("0x{number}"))
        };
        let mut unit = begin(db).await;
        let first = unit.mandates().find(&id("man_1")).await.expect("reads").expect("exists");
        for number in [2, 3] {
            let pending = Mandate { id: id(&format!("man_{number}")), status: MandateStatus::Pending, created_at: at(number), ..first.clone() };
            unit.mandates().upsert(&pending).await.expect("puts");
            unit.mandates().link_subscription(&pending.id, &one.id).await.expect("links");
            unit.attempts().insert(&attempt(number), &[]).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        for number in [3, 2] {
            let settlement = Settlement { reference: String::new(), payer: String::new(), amount: Amount::ZERO, card: None };
            let (method, currency) = (billing.networks.method.clone(), billing.networks.currency.clone());
            let context = AttemptContext { attempt: attempt(number), method, currency };
            let mut unit = begin(db).await;
            let outcome = Outcome::Settled(settlement);
            payment::record(&billing.ctx, unit.as_mut(), &context, &outcome, Trigger::Reconciler).await.expect("is written");
            unit.commit().await.expect("commits");
            assert_eq!(billing.find("sub_1").await.mandate_id, Some(id("man_3")));
        }
    }

    async fn a_new_period_is_written_unless_the_subscription_has_changed_meanwhile(db: &TestDatabase) {
        let billing = opened(db).await;
        let before = billing.find("sub_1").await;
        let invoices = Some(DailyInvoices { day: billing.start, count: 2 });
        let after = Subscription {
            status: SubscriptionStatus::PastDue,
            name: ProductNames { first: Text { en: "Other".to_owned(), zh: "其他".to_owned() }, others: 2 },
            index: Some(7),
            period: Period { start: before.period.end, end: before.period.end.plus(DAY * 30) },
            latest_invoice_id: Some(id("in_7")),
            bounds: SubscriptionBounds { invoices, ..before.bounds },
            updated_at: billing.start.plus(DAY),
            ..before.clone()
        };
        let mut unit = begin(db).await;
        unit.subscriptions().begin_periods(std::slice::from_ref(&after)).await.expect("writes");
        unit.commit().await.expect("commits");
        let written = Subscription { version: before.version + 1, due_at: after.next_due(), ..after.clone() };
        assert_eq!(billing.find("sub_1").await, written);
        let mut unit = begin(db).await;
        let written = unit.subscriptions().begin_periods(&[after]).await;
        assert!(matches!(written, Err(StorageError::Conflict)), "its version has changed");
    }

    async fn a_list_is_filtered_by_a_part_of_the_description_or_by_the_id(db: &TestDatabase) {
        let billing = opened(db).await;
        let price = billing.price("price_2", 5, MONTHLY).await;
        let other = Subscription { description: "50% of_it".to_owned(), name: ProductNames { first: Text::new("Half", "五折"), others: 2 }, ..billing.subscription("sub_2", &price, DAY) };
        billing.insert(&other).await;
        assert_eq!(billing.find("sub_2").await.name, other.name, "the names are read as they were written");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        for (query, found) in [("PRODUCT", 1), ("sub_2", 1), ("0% OF_", 1), ("0_ of", 0), ("half", 1), ("五折", 1), ("", 2)] {
            let filter = SubscriptionFilter { query: query.to_owned(), ..SubscriptionFilter::default() };
            let listed = unit.subscriptions().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            assert_eq!((listed.count, listed.list.len()), (found, usize::try_from(found).expect("fits")), "{query}");
        }
    }

    async fn a_customer_with_a_new_clock_is_excluded_from_the_regular_rounds(db: &TestDatabase) {
        let billing = opened(db).await;
        let clock = TestClock {
            id: id("clock_1"),
            name: "Later".to_owned(),
            customer_id: id("cus_1"),
            now: billing.start,
            target: None,
            timeline: Vec::new(),
            created_at: billing.start,
        };
        let mut unit = begin(db).await;
        unit.clocks().insert(&clock).await.expect("inserts");
        unit.clocks().adopt(&clock).await.expect("adopts");
        unit.commit().await.expect("commits");
        assert_eq!(billing.find("sub_1").await.clock_id, Some(clock.id.clone()));
        let far = billing.start.plus(Duration::from_secs(90 * 86_400));
        let mut unit = begin(db).await;
        assert!(unit.subscriptions().lock_due(&Scope::Wall, far, 10, &[]).await.expect("reads").is_empty());
        assert_eq!(unit.subscriptions().lock_due(&Scope::Clock(clock.id), far, 10, &[]).await.expect("reads").len(), 1);
    }

    async fn a_threshold_and_the_billed_amount_of_an_item_are_stored(db: &TestDatabase) {
        let billing = opened(db).await;
        let read = billing.find("sub_1").await;
        let threshold = Threshold { amount: Amount::new(7 * UNIT), resets_anchor: true };
        let billed = BilledUsage { from: read.period.start, until: read.period.start.plus(DAY), amount: Amount::new(3 * UNIT), carried_over: Amount::new(UNIT) };
        let mut changed = Subscription { billing_threshold: Some(threshold), ..read.clone() };
        changed.items[0].billed = Some(billed);
        let mut unit = begin(db).await;
        let locked = unit.subscriptions().lock(&read.id).await.expect("reads").expect("is there");
        assert_eq!(locked, read);
        assert!(unit.subscriptions().update(&changed).await.expect("updates"));
        unit.subscriptions().put_items(&changed).await.expect("writes");
        unit.commit().await.expect("commits");
        let kept = billing.find("sub_1").await;
        assert_eq!((kept.billing_threshold, kept.items.clone()), (Some(threshold), changed.items));
        let mut begun = kept;
        assert!(begun.enter(1, read.period), "a period that begins has nothing billed");
        assert_eq!((begun.items, begun.index), (read.items, Some(1)));
    }
}
