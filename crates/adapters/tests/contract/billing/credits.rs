//! What is left of changes of plan, and the mandates that subscriptions wait for.

use super::bench::{Billing, DAY, MONTHLY};
use crate::ledger::bench::UNIT;
use crate::till::{all_at_once, begin, id, intent, wallet_attempt};
use souk_adapters::on_both;
use souk_domain::billing::{
    self, BilledUsage, Credit, InvoiceStatus, ManageError, Scope, Subscription, SubscriptionFilter, TestClock, Threshold,
};
use souk_domain::payment::{self, Attempt, AttemptContext, Intent, Mandate, MandateStatus, Outcome, Purpose, Settlement, Trigger};
use souk_domain::shared::{Amount, CurrencyId, CustomerId, MandateId, Mode, Page, SubscriptionId};
use std::time::Duration;

async fn credit(billing: &Billing, amount: u128) -> Credit {
    let currency_id: CurrencyId = billing.find("sub_1").await.currency_id;
    Credit { customer_id: id("cus_1"), currency_id, amount: Amount::new(amount) }
}

async fn left(billing: &Billing) -> u128 {
    let mut unit = billing.ctx.store.read().await.expect("reads");
    let customers: [CustomerId; 1] = [id("cus_1")];
    unit.credits().of_all(&customers).await.expect("reads").iter().map(|credit| credit.amount.base_units()).sum()
}

async fn opened(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    billing.insert(&billing.subscription("sub_1", &price, DAY)).await;
    billing
}

on_both! {
    async fn credit_adds_up_and_is_never_taken_twice(db: &TestDatabase) {
        let billing = opened(db).await;
        let mut unit = begin(db).await;
        for amount in [30, 70] {
            unit.credits().give(&credit(&billing, amount).await).await.expect("gives");
        }
        unit.commit().await.expect("commits");
        assert_eq!(left(&billing).await, 100);
        let sixty = credit(&billing, 60).await;
        let taken = all_at_once(db, 8, move |db, _| {
            let sixty = sixty.clone();
            async move {
                let mut unit = begin(&db).await;
                let taken = unit.credits().take(&sixty).await.expect("answers");
                unit.commit().await.expect("commits");
                taken
            }
        });
        assert_eq!(taken.await.into_iter().filter(|taken| *taken).count(), 1);
        assert_eq!(left(&billing).await, 40);
    }

    async fn a_renewal_takes_the_credit_off_before_it_charges(db: &TestDatabase) {
        let billing = opened(db).await;
        let price = billing.find("sub_1").await.items[0].price_id.clone();
        assert_eq!(price, id("price_1"));
        let whole = 5 * UNIT;
        let mut unit = begin(db).await;
        unit.credits().give(&credit(&billing, whole + whole / 4).await).await.expect("gives");
        unit.commit().await.expect("commits");
        billing.wait(DAY * 31);
        billing.round().await;
        let first = billing.invoices().await.remove(0);
        assert_eq!((first.status, first.total), (InvoiceStatus::Paid, Amount::ZERO));
        assert_eq!(left(&billing).await, whole / 4);
        billing.wait(DAY * 30);
        billing.round().await;
        let second = billing.invoices().await.remove(1);
        assert_eq!((second.status, second.total), (InvoiceStatus::Paid, Amount::new(whole - whole / 4)));
        assert_eq!(left(&billing).await, 0);
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let lines = unit.invoices().items(&second.id).await.expect("reads");
        assert!(lines[1].calculation.is_credit());
    }

    async fn an_invoice_that_is_taken_back_gives_back_the_credit_that_it_had_used(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        // It came of a payment.
        let kept = credit(&billing, 300 * UNIT).await;
        let (amount, currency_id) = (kept.amount, kept.currency_id.clone());
        let mut unit = begin(db).await;
        unit.intents().put(&Intent { amount, currency_id, session_id: None, invoices: vec![], ..intent("pi_1") }).await.expect("inserts");
        unit.intents().succeed(&id("pi_1"), amount, "", "", billing.start).await.expect("succeeds");
        unit.credits().give(&kept).await.expect("gives");
        unit.commit().await.expect("commits");
        billing.round().await;
        let refused = billing.invoices().await.remove(0);
        assert_eq!((refused.status, refused.total, left(&billing).await), (InvoiceStatus::Uncollectible, Amount::new(1_200 * UNIT), 0));
        billing::void_invoice(&billing.ctx, &refused.id).await.expect("is taken back");
        assert_eq!((billing.statuses().await, left(&billing).await), (vec![InvoiceStatus::Void], 300 * UNIT));
        let again = billing::void_invoice(&billing.ctx, &refused.id).await;
        assert!(matches!(again, Err(ManageError::NothingOwed)), "{again:?}");
        assert_eq!(left(&billing).await, 300 * UNIT);
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let booked = unit.journal().of_subject(refused.id.as_str()).await.expect("reads");
        let mut reasons: Vec<_> = booked.iter().map(|entry| entry.reason.name()).collect();
        reasons.sort_unstable();
        assert_eq!(reasons, ["credit_returned", "credit_used"]);
    }

    async fn a_mandate_remembers_who_waits_for_it(db: &TestDatabase) {
        let billing = opened(db).await;
        let mut unit = begin(db).await;
        let mandate: MandateId = billing.find("sub_1").await.mandate_id.expect("a mandate");
        let subscription: SubscriptionId = id("sub_1");
        unit.mandates().link_subscription(&mandate, &subscription).await.expect("promises");
        unit.mandates().link_subscription(&mandate, &subscription).await.expect("promises once more");
        assert_eq!(unit.mandates().linked_subscriptions(&mandate).await.expect("reads"), std::slice::from_ref(&subscription));
        assert_eq!(unit.mandates().pending_for_subscription(&subscription).await.expect("reads"), [], "it is given already");
        unit.commit().await.expect("commits");
        billing.wait(DAY * 31);
        billing.round().await;
        let invoice = billing.invoices().await.remove(0).id;
        let mut unit = begin(db).await;
        let pending = Mandate { id: id("man_9"), status: MandateStatus::Pending, ..unit.mandates().find(&mandate).await.expect("reads").expect("is there") };
        unit.mandates().put(&pending).await.expect("puts");
        unit.mandates().link_invoices(&pending.id, std::slice::from_ref(&invoice)).await.expect("owes");
        unit.mandates().link_invoices(&pending.id, std::slice::from_ref(&invoice)).await.expect("owes once more");
        assert_eq!(unit.mandates().linked_invoices(&pending.id).await.expect("reads"), std::slice::from_ref(&invoice));
        assert_eq!(unit.mandates().pending_for_invoice(&invoice).await.expect("reads"), std::slice::from_ref(&pending.id));
        unit.mandates().put(&Mandate { status: MandateStatus::Active, ..pending }).await.expect("puts");
        assert_eq!(unit.mandates().pending_for_invoice(&invoice).await.expect("reads"), [], "it is given already");
    }

    async fn a_permission_that_settles_late_does_not_undo_a_newer_choice(db: &TestDatabase) {
        let billing = opened(db).await;
        let one = billing.find("sub_1").await;
        let at = |seconds| billing.start.plus(Duration::from_secs(seconds));
        let asked = |number: u64| Attempt {
            purpose: Purpose::Mandate(id(&format!("man_{number}"))),
            method_id: one.method_id.clone(),
            currency_id: one.currency_id.clone(),
            session_id: None,
            amount: Amount::ZERO,
            ..wallet_attempt(&format!("att_{number}"), "pi_none", &format!("0x{number}"))
        };
        let mut unit = begin(db).await;
        let first = unit.mandates().find(&id("man_1")).await.expect("reads").expect("stands");
        for number in [2, 3] {
            let pending = Mandate { id: id(&format!("man_{number}")), status: MandateStatus::Pending, created_at: at(number), ..first.clone() };
            unit.mandates().put(&pending).await.expect("puts");
            unit.mandates().link_subscription(&pending.id, &one.id).await.expect("promises");
            unit.attempts().insert(&asked(number), &[]).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        for number in [3, 2] {
            let settlement = Settlement { reference: String::new(), payer: String::new(), amount: Amount::ZERO, card: None };
            let (method, currency) = (billing.networks.method.clone(), billing.networks.currency.clone());
            let context = AttemptContext { attempt: asked(number), method, currency };
            let mut unit = begin(db).await;
            let outcome = Outcome::Settled(settlement);
            payment::record(&billing.ctx, unit.as_mut(), &context, &outcome, Trigger::Reconciler).await.expect("is written");
            unit.commit().await.expect("commits");
            assert_eq!(billing.find("sub_1").await.mandate_id, Some(id("man_3")));
        }
    }

    async fn a_list_is_narrowed_by_a_part_of_the_description_or_by_the_id(db: &TestDatabase) {
        let billing = opened(db).await;
        let price = billing.price("price_2", 5, MONTHLY).await;
        let other = Subscription { description: "50% of_it".to_owned(), ..billing.subscription("sub_2", &price, DAY) };
        billing.insert(&other).await;
        let mut unit = billing.ctx.store.read().await.expect("reads");
        for (query, found) in [("PRODUCT", 1), ("sub_2", 1), ("0% OF_", 1), ("0_ of", 0), ("", 2)] {
            let filter = SubscriptionFilter { query: query.to_owned(), ..SubscriptionFilter::default() };
            let listed = unit.subscriptions().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            assert_eq!((listed.count, listed.list.len()), (found, usize::try_from(found).expect("fits")), "{query}");
        }
    }

    async fn a_customer_who_gets_a_clock_leaves_the_rounds_of_everybody(db: &TestDatabase) {
        let billing = opened(db).await;
        let clock = TestClock {
            id: id("clock_1"),
            name: "Later".to_owned(),
            customer_id: id("cus_1"),
            now: billing.start,
            target: None,
            story: Vec::new(),
            created_at: billing.start,
        };
        let mut unit = begin(db).await;
        unit.clocks().insert(&clock).await.expect("inserts");
        unit.clocks().adopt(&clock).await.expect("adopts");
        unit.commit().await.expect("commits");
        assert_eq!(billing.find("sub_1").await.clock_id, Some(clock.id.clone()));
        let far = billing.start.plus(Duration::from_secs(90 * 86_400));
        let mut unit = begin(db).await;
        assert!(unit.subscriptions().lock_due(&Scope::Wall, far, 10).await.expect("reads").is_empty());
        assert_eq!(unit.subscriptions().lock_due(&Scope::Clock(clock.id), far, 10).await.expect("reads").len(), 1);
    }

    async fn a_threshold_and_what_of_an_item_is_billed_are_kept(db: &TestDatabase) {
        let billing = opened(db).await;
        let read = billing.find("sub_1").await;
        let threshold = Threshold { amount: Amount::new(7 * UNIT), resets_anchor: true };
        let billed = BilledUsage { from: read.period.start, until: read.period.start.plus(DAY), amount: Amount::new(3 * UNIT), is_carried: true };
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
