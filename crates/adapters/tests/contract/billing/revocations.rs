//! Revocation by refunds: of a one-time purchase, and of a subscription whose current period was refunded. Until when a subscription grants
//! an app.

use super::bench::{Billing, DAY, MONTHLY};
use super::clocks::clock;
use super::plans::subscribed;
use crate::catalogue::{app, shelve};
use crate::checkout_fixtures::{did, entitlement, id};
use crate::ledger::bench::UNIT;
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{
    self, BillingReason, CancelReason, CreditNoteOrder, CreditNoteReason, CreditTo, Invoice, OrderedItem, Subscription, SubscriptionStatus,
};
use souk_domain::shared::{Amount, Mode};
use souk_domain::store::{Entitlement, Validity};

/// A customer with an unpaid one-time purchase of 30 tokens and the app that it granted.
async fn bought_once(db: &TestDatabase) -> (Billing, Invoice) {
    let billing = Billing::open(db, 1_000).await;
    shelve(db, &[app("z1app", "An app")]).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    let one = billing.subscription("sub_1", &price, DAY);
    billing.insert(&one).await;
    let purchase = Invoice {
        reason: BillingReason::Manual,
        subscription_id: None,
        period: None,
        ..billing.overdue_invoice("in_1", &one, 1, Amount::new(30 * UNIT))
    };
    billing.insert_invoice(&purchase).await;
    let entitlement = Entitlement {
        invoice_id: Some(purchase.id.clone()),
        invoice_item_id: Some(id("ii_1")),
        acquired_at: billing.start,
        ..entitlement("z1holder", "z1app")
    };
    let mut unit = billing.ctx.store.begin().await.expect("begins");
    unit.entitlements().grant(&entitlement).await.expect("grants");
    unit.commit().await.expect("commits");
    assert!(holds(&billing).await);
    (billing, purchase)
}

async fn holds(billing: &Billing) -> bool {
    let mut unit = billing.ctx.store.read().await.expect("reads");
    unit.entitlements().holds(Mode::Test, &did("z1holder"), &did("z1app"), billing.ctx.now()).await.expect("reads")
}

fn order(invoice: &Invoice, tokens: Option<u128>, reason: CreditNoteReason) -> CreditNoteOrder {
    let amount = tokens.map(|tokens| Amount::new(tokens * UNIT));
    CreditNoteOrder { invoice_id: invoice.id.clone(), items: Vec::new(), amount, reason, memo: String::new(), to: CreditTo::Payments }
}

async fn credit(billing: &Billing, order: &CreditNoteOrder) -> bool {
    let issued = billing::create_credit_note(&billing.ctx, Mode::Test, order).await.expect("is issued");
    issued.items.iter().any(|item| item.revokes)
}

on_both! {
    async fn a_one_time_purchase_is_revoked_when_its_line_is_fully_credited(db: &TestDatabase) {
        let (billing, purchase) = bought_once(db).await;
        assert!(!credit(&billing, &order(&purchase, Some(29), CreditNoteReason::Other)).await);
        assert!(holds(&billing).await, "a part of the price is no return");
        assert!(credit(&billing, &order(&purchase, None, CreditNoteReason::Other)).await, "the rest of it is");
        assert!(!holds(&billing).await);
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let listed = unit.entitlements().of_session(&id("cs_1")).await.expect("reads").remove(0);
        assert_eq!(listed.revoked_at, Some(billing.ctx.now()));
    }

    async fn the_owner_and_the_reason_decide_whether_a_credit_note_revokes_an_app(db: &TestDatabase) {
        let (billing, purchase) = bought_once(db).await;
        let item = |tokens: u128, revokes| OrderedItem { invoice_item_id: id("ii_1"), amount: Amount::new(tokens * UNIT), revokes };
        let named = |item| CreditNoteOrder { items: vec![item], ..order(&purchase, None, CreditNoteReason::UsageCorrection) };
        assert!(!credit(&billing, &named(item(10, None))).await);
        assert!(credit(&billing, &named(item(1, Some(true)))).await, "as the owner says");
        assert!(!holds(&billing).await);

        billing.write("UPDATE entitlements SET revoked_at = NULL").await;
        let rest = CreditNoteOrder { items: vec![item(19, Some(false))], ..order(&purchase, None, CreditNoteReason::Other) };
        assert!(!credit(&billing, &rest).await, "credited in full, and kept");
        assert!(holds(&billing).await);
    }

    async fn a_subscription_whose_current_period_is_refunded_ends_without_a_further_refund(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.wait(DAY * 10);
        billing.refund(&billing.last().await, None).await.expect("is ordered");
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active, "an event ends it");
        billing.deliver().await;
        let ended = billing.find("sub_1").await;
        assert_eq!((ended.status, ended.ended_at), (SubscriptionStatus::Canceled, Some(billing.ctx.now())));
        assert_eq!(ended.cancellation.expect("a reason").reason, CancelReason::CancellationByStore);
        assert_eq!(billing.refunds_and_balance().await, (vec![30], 0));
        billing.deliver().await;
        billing.wait(DAY * 30);
        assert_eq!((billing.round().await, billing.invoices().await.len()), (0, 1));
        billing.is_sound().await;
    }

    async fn a_subscription_continues_if_a_past_period_or_a_part_of_this_one_is_refunded(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        let past = billing.last().await;
        billing.wait(DAY * 30);
        billing.round().await;
        billing.refund(&past, None).await.expect("is ordered");
        billing.refund(&billing.last().await, Some(29 * UNIT)).await.expect("is ordered");
        billing.deliver().await;
        assert_eq!((billing.find("sub_1").await.status, billing.refunds_and_balance().await), (SubscriptionStatus::Active, (vec![29, 30], 0)));
        let goodwill = order(&billing.last().await, None, CreditNoteReason::Other);
        let line = billing.lines(&billing.last().await).await.remove(0).id;
        let kept = OrderedItem { invoice_item_id: line, amount: Amount::new(UNIT), revokes: Some(false) };
        assert!(!credit(&billing, &CreditNoteOrder { items: vec![kept], ..goodwill }).await);
        billing.deliver().await;
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
        billing.is_sound().await;
    }

    async fn an_app_of_a_subscription_ends_when_the_subscription_is_set_to_end(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        shelve(db, &[app("z1app", "An app")]).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        let one = Subscription { clock_id: Some(clock(&billing).await), ..billing.subscription("sub_1", &price, DAY) };
        billing.insert(&one).await;
        billing.write("UPDATE products SET app = 'z1app'").await;
        let granted = async |granted: Entitlement| {
            let mut unit = billing.ctx.store.begin().await.expect("begins");
            unit.entitlements().grant(&granted).await.expect("grants");
            unit.commit().await.expect("commits");
        };
        let until = async || {
            let mut unit = billing.ctx.store.read().await.expect("reads");
            unit.entitlements().validity(Mode::Test, &did("z1holder"), &did("z1app"), billing.ctx.now()).await.expect("reads")
        };
        assert_eq!(until().await, None);
        granted(Entitlement { subscription_id: Some(one.id.clone()), ..entitlement("z1holder", "z1app") }).await;
        assert_eq!(until().await, Some(Validity { ends_at: None }));
        for (change, ends_at) in [
            ("UPDATE subscriptions SET cancel_at_period_end = TRUE", one.period.end),
            ("UPDATE subscriptions SET cancel_at = (SELECT now_at FROM test_clocks)", billing.ctx.now()),
            ("UPDATE subscriptions SET cancel_at_period_end = FALSE", billing.ctx.now()),
            ("UPDATE subscriptions SET cancel_at = NULL, status = 'paused'", one.period.end),
            // The clock is a day behind the store.
            ("UPDATE test_clocks SET now_at = (SELECT period_start FROM subscriptions)", one.period.end.plus(DAY)),
        ] {
            billing.write(change).await;
            assert_eq!(until().await, Some(Validity { ends_at: Some(ends_at) }), "{change}");
        }
        granted(Entitlement { id: id("ent_2"), session_id: id("cs_2"), ..entitlement("z1holder", "z1app") }).await;
        assert_eq!(until().await, Some(Validity { ends_at: None }), "it is bought as well");
    }

    async fn a_plan_change_that_fully_credits_a_line_ends_nothing(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 60, MONTHLY).await;
        let old = billing.last().await;
        billing.accept("price_2", 1).await;
        billing.deliver().await;
        let line = billing.lines(&old).await.remove(0);
        assert_eq!((line.credited, billing.find("sub_1").await.status), (line.amount, SubscriptionStatus::Active));
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let note = &billing.notes().await[0];
        let items = unit.credit_notes().items_of(std::slice::from_ref(&note.id)).await.expect("reads");
        assert_eq!((note.reason, items[0].revokes), (CreditNoteReason::PlanChange, false));
    }
}
