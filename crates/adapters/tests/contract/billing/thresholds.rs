//! Usage that is billed before its period ends: nothing of it twice, neither asked for nor given back.

use super::bench::{Billing, DAY, MONTHLY};
use crate::ledger::bench::UNIT;
use crate::till::id;
use souk_adapters::on_both;
use souk_domain::billing::{self, InvoiceStatus, Subscription, SubscriptionItem, Threshold, UsageAction, UsageReport};
use souk_domain::pricing::{Aggregate, Recurring, Usage};
use souk_domain::shared::{Amount, CustomerId, Mode};

const fn metered(aggregate: Aggregate) -> Recurring {
    Recurring { usage: Usage::Metered(aggregate), ..MONTHLY }
}

/// One subscription with a threshold of 50 tokens: an item whose last report counts, and one that is summed.
async fn subscribed(db: &souk_adapters::testing::TestDatabase) -> Billing {
    let billing = Billing::open(db, 1_000).await;
    let seats = billing.price("price_1", 1, metered(Aggregate::Last)).await;
    let calls = billing.price("price_2", 1, metered(Aggregate::Sum)).await;
    let mut one = billing.subscription("sub_1", &seats, DAY);
    one.items.push(SubscriptionItem { id: id("si_2"), price_id: calls.id, ..one.items[0].clone() });
    one.billing_threshold = Some(Threshold { amount: Amount::new(50 * UNIT), resets_anchor: false });
    billing.insert(&one).await;
    billing
}

impl Billing {
    async fn used(&self, item: &str, quantity: u64) {
        self.wait(std::time::Duration::from_secs(60));
        let report = UsageReport { item: id(item), quantity, action: UsageAction::Increment, at: None, identifier: None };
        billing::report_usage(&self.ctx, Mode::Test, &report).await.expect("is taken");
        self.send_all().await;
    }

    /// What was paid and is not credit, in whole tokens.
    async fn spent(&self) -> u128 {
        let invoices = self.invoices().await;
        assert!(invoices.iter().all(|invoice| invoice.status == InvoiceStatus::Paid));
        let paid: u128 = invoices.iter().map(|invoice| invoice.amount_paid.base_units()).sum();
        let customers: [CustomerId; 1] = [id("cus_1")];
        let mut unit = self.ctx.store.read().await.expect("reads");
        let kept: u128 = unit.credits().of_all(&customers).await.expect("reads").iter().map(|credit| credit.amount.base_units()).sum();
        (paid - kept) / UNIT
    }
}

on_both! {
    async fn what_earlier_bills_asked_too_much_is_given_back_once(db: &TestDatabase) {
        let billing = subscribed(db).await;
        billing.used("si_1", 100).await;
        assert_eq!(billing.spent().await, 100);
        billing.used("si_1", 20).await;
        billing.used("si_2", 60).await;
        assert_eq!(billing.spent().await, 80, "20 seats and 60 calls");
        billing.used("si_2", 50).await;
        assert_eq!(billing.spent().await, 130, "20 seats and 110 calls");
        billing.used("si_1", 90).await;
        assert_eq!(billing.spent().await, 200, "90 seats and 110 calls: what was given back is asked for again");
        billing.wait(DAY * 30);
        billing.round().await;
        let last = billing.invoices().await.pop().expect("an invoice");
        assert_eq!((last.total, billing.spent().await), (Amount::ZERO, 200), "nothing is left to bill, and nothing to give back");
        let kept: Subscription = billing.find("sub_1").await;
        assert!(kept.items.iter().all(|item| item.billed.is_none()));
    }
}
