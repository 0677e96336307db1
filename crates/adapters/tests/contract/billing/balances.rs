//! A customer's balance pays invoices on finalization, before the rest is charged.

use super::bench::{Billing, DAY, MONTHLY};
use crate::ledger::bench::UNIT;
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{InvoiceStatus, PaymentSource, SubscriptionStatus};
use souk_domain::ledger::EntryType;
use souk_domain::shared::Amount;

async fn opened(db: &TestDatabase) -> Billing {
    let billing = Billing::open(db, 10).await;
    let price = billing.price("price_1", 5, MONTHLY).await;
    billing.insert(&billing.subscription("sub_1", &price, DAY)).await;
    billing
}

on_both! {
    async fn a_renewal_uses_the_balance_before_it_charges(db: &TestDatabase) {
        let billing = opened(db).await;
        let whole = 5 * UNIT;
        billing.overpay(whole + whole / 4).await;
        billing.wait(DAY * 31);
        billing.round().await;
        let first = billing.last().await;
        assert_eq!((first.status, first.total, first.intent_id.clone()), (InvoiceStatus::Paid, Amount::new(whole), None));
        assert_eq!((billing.paid_by(&first).await, billing.customer_balance().await), (vec![("balance", whole)], whole / 4));
        billing.wait(DAY * 30);
        billing.round().await;
        let second = billing.last().await;
        assert_eq!((second.status, second.total), (InvoiceStatus::Paid, Amount::new(whole)), "its total is before the balance");
        assert_eq!(billing.paid_by(&second).await, [("network", whole - whole / 4), ("balance", whole / 4)]);
        let transaction = billing.payments(&first).await.remove(0);
        let PaymentSource::Balance(transaction) = transaction.source else { panic!("{transaction:?}") };
        let posted = billing.ctx.store.read().await.expect("reads").journal().of_subject(transaction.as_str()).await.expect("reads");
        assert_eq!(posted.iter().map(|entry| entry.kind).collect::<Vec<_>>(), [EntryType::BalanceApplied]);
        assert_eq!(billing.customer_balance().await, 0);
    }

    async fn two_renewals_of_one_batch_share_the_balance(db: &TestDatabase) {
        let billing = opened(db).await;
        let price = billing.price("price_2", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_2", &price, DAY)).await;
        billing.overpay(7 * UNIT).await;
        billing.wait(DAY * 30);
        assert_eq!(billing.round().await, 2);
        let mut paid = Vec::new();
        for invoice in billing.invoices().await {
            paid.extend(billing.paid_by(&invoice).await);
        }
        paid.sort_unstable();
        assert_eq!(paid, [("balance", 2 * UNIT), ("balance", 5 * UNIT), ("network", 3 * UNIT)]);
        assert_eq!((billing.customer_balance().await, billing.networks.store_balance().await), (0, 3));
    }

    async fn an_increased_balance_pays_an_overdue_invoice_and_the_subscription_recovers(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing.overpay(1_600 * UNIT).await;
        billing.deliver().await;
        let one = billing.find("sub_1").await;
        assert_eq!((one.status, one.past_due_since), (SubscriptionStatus::Active, None));
        assert_eq!(billing.paid_by(&billing.last().await).await, [("balance", 1_500 * UNIT)]);
        assert_eq!((billing.customer_balance().await, billing.retry().await), (100 * UNIT, 0));
    }

    async fn an_increased_balance_pays_a_part_and_the_retry_charges_the_rest(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        billing.overpay(600 * UNIT).await;
        billing.deliver().await;
        let overdue = billing.last().await;
        assert_eq!((overdue.status, overdue.remaining()), (InvoiceStatus::Uncollectible, Amount::new(900 * UNIT)));
        billing.wait(DAY);
        assert_eq!(billing.retry().await, 1);
        assert_eq!(billing.paid_by(&overdue).await, [("network", 900 * UNIT), ("balance", 600 * UNIT)]);
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Active);
    }

    async fn a_balance_that_grew_during_a_declined_payment_pays_the_invoice(db: &TestDatabase) {
        let billing = Billing::open(db, 2_000).await;
        let price = billing.price("price_1", 1_500, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        assert_eq!(billing.round_unsent().await.len(), 1);
        billing.overpay(1_600 * UNIT).await;
        billing.deliver().await;
        assert_eq!(billing.customer_balance().await, 1_600 * UNIT, "the invoice has a payment in flight");
        billing.send_all().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Uncollectible]);
        billing.deliver().await;
        assert_eq!(billing.statuses().await, [InvoiceStatus::Paid]);
        assert_eq!((billing.customer_balance().await, billing.find("sub_1").await.status), (100 * UNIT, SubscriptionStatus::Active));
    }
}
