//! Refunds of balance payments: the amount returns to the balance, once, after the network payments were refunded.

use super::bench::{Billing, DAY, MONTHLY, refund_order};
use super::plans::subscribed;
use crate::checkout_fixtures::{all_at_once, store};
use crate::ledger::bench::UNIT;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, InvoiceStatus, NoteError, PayoutOrder, RefundChoice, RefundError, Refundable};
use souk_domain::context::Context;
use souk_domain::ledger::Account;
use souk_domain::payment::RefundStatus;
use souk_domain::shared::{Amount, Mode};
use std::sync::Arc;

/// The balance after the change from a plan of 30 tokens to one of 10 after a third of the period: 20 tokens credited, 20/3 charged.
const KEPT: u128 = 20 * UNIT - 20 * UNIT / 3;

/// The customer changed to a cheaper plan after a third of the period. The resulting balance then paid the given number of renewals of 10
/// tokens, the second one only in part.
async fn paid_by_balance(db: &TestDatabase, renewals: u32) -> Billing {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    billing.price("price_2", 10, MONTHLY).await;
    billing.wait(DAY * 10);
    billing.accept("price_2", 1).await;
    assert_eq!(billing.customer_balance().await, KEPT);
    billing.wait(DAY * 20);
    for number in 0..renewals {
        billing.wait(DAY * 30 * u32::from(number > 0));
        billing.round().await;
    }
    billing
}

on_one! {
    async fn a_refund_of_a_balance_payment_returns_to_the_balance_and_never_exceeds_it(db: &TestDatabase) {
        let billing = paid_by_balance(db, 1).await;
        let invoice = billing.last().await;
        assert_eq!((invoice.status, invoice.total, invoice.intent_id.clone()), (InvoiceStatus::Paid, Amount::new(10 * UNIT), None));
        assert_eq!(billing.paid_by(&invoice).await, [("balance", 10 * UNIT)]);
        let part = billing.refund(&invoice, Some(4 * UNIT)).await.expect("goes back");
        assert_eq!((part.to_balance, part.refunds.len(), billing.customer_balance().await), (Amount::new(4 * UNIT), 0, KEPT - 6 * UNIT));
        let beyond = billing.refund(&invoice, Some(6 * UNIT + 1)).await;
        assert!(matches!(beyond, Err(RefundError::Note(NoteError::OverRefund))), "{beyond:?}");
        billing.refund(&invoice, None).await.expect("goes back");
        assert_eq!(billing.customer_balance().await, KEPT);
        let again = billing.refund(&invoice, None).await;
        assert!(matches!(again, Err(RefundError::NothingPaid)), "{again:?}");
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let posted = unit.journal().of_subject(part.notes[0].as_str()).await.expect("reads").remove(0);
        let postings: Vec<_> = posted.postings().iter().map(|posting| (posting.account.clone(), posting.amount)).collect();
        assert_eq!(postings, [(Account::Revenue, Amount::new(4 * UNIT)), (Account::CustomerBalance, Amount::new(4 * UNIT))]);
        drop(unit);
        billing.wait(DAY * 10);
        assert_eq!(billing.preview("price_1", 1).await.credit, Amount::ZERO, "what was refunded is no credit");
        billing.is_sound().await;
    }

    async fn a_line_credited_by_a_plan_change_is_not_refunded_again(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.accept("price_2", 1).await;
        billing.accept("price_1", 1).await;
        let invoice = billing.last().await;
        assert_eq!((billing.paid_by(&invoice).await, billing.customer_balance().await), (vec![("balance", 30 * UNIT)], 0));
        billing.accept("price_2", 1).await;
        assert_eq!(billing.customer_balance().await, 20 * UNIT);
        let nothing = Refundable { most: Amount::ZERO, to_balance: Amount::ZERO };
        assert_eq!(billing::refundable(&billing.ctx, Mode::Test, &invoice.id).await.expect("computes"), nothing);
        for amount in [Some(UNIT), None] {
            let beyond = billing.refund(&invoice, amount).await;
            assert!(matches!(beyond, Err(RefundError::NothingPaid)), "{beyond:?}");
        }
        for _ in 0..2 {
            billing.wait(DAY * 30);
            billing.round().await;
        }
        assert_eq!(billing.customer_balance().await, 0, "it has paid two periods since");
        let late = billing.refund(&invoice, None).await;
        assert!(matches!(late, Err(RefundError::NothingPaid)), "{late:?}");
        billing.is_sound().await;
    }

    async fn a_payment_and_the_invoices_paid_by_its_credit_are_refunded_once_in_any_order(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 10, MONTHLY).await;
        billing.accept("price_2", 1).await;
        for _ in 0..2 {
            billing.wait(DAY * 30);
            billing.round().await;
        }
        let all = billing.invoices().await;
        assert_eq!((all.len(), billing.customer_balance().await), (4, 0), "30 have paid three times 10");
        for place in [2, 0, 3, 1] {
            let refund = billing.refund(&all[place], None).await;
            assert_eq!(refund.is_ok(), place > 0, "the change of plan has credited the first one: {refund:?}");
        }
        assert_eq!(billing.refunds_and_balance().await, (vec![], 30));
        for invoice in &all {
            billing.refund(invoice, None).await.expect_err("nothing is left");
        }
        billing.is_sound().await;
    }

    async fn the_payment_of_a_mistaken_plan_change_is_paid_out_of_the_balance_once(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        billing.price("price_2", 60, MONTHLY).await;
        billing.accept("price_2", 1).await;
        let dearer = billing.last().await;
        billing.accept("price_1", 1).await;
        assert_eq!((billing.paid_by(&dearer).await[0], billing.customer_balance().await), (("network", 30 * UNIT), 30 * UNIT));
        let refund = billing.refund(&dearer, None).await;
        assert!(matches!(refund, Err(RefundError::NothingPaid)), "it is balance: {refund:?}");
        let order = PayoutOrder { customer_id: dearer.customer_id, currency_id: dearer.currency_id, amount: None, memo: String::new() };
        billing::pay_out_balance(&billing.ctx, Mode::Test, &order).await.expect("is ordered");
        assert_eq!(billing.refunds_and_balance().await, (vec![30], 0));
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        assert_eq!(billing.refunds_and_balance().await, (vec![30], 30), "60 were paid");
        billing.is_sound().await;
    }

    async fn the_network_payment_of_an_invoice_is_refunded_before_its_balance_payment(db: &TestDatabase) {
        let billing = paid_by_balance(db, 2).await;
        let (invoice, by_balance) = (billing.last().await, KEPT - 10 * UNIT);
        let by_network = 10 * UNIT - by_balance;
        assert_eq!(billing.paid_by(&invoice).await, [("network", by_network), ("balance", by_balance)]);
        let intent = invoice.intent_id.clone().expect("a payment");
        let refund_payment = async |amount| billing::refund_payment(&billing.ctx, Mode::Test, &intent, &refund_order(amount)).await;
        let first = refund_payment(Some(UNIT)).await.expect("is ordered");
        assert_eq!((first.refunds[0].status, first.refunds[0].amount), (RefundStatus::Pending, Amount::new(UNIT)));
        let both = billing.refund(&invoice, Some(by_network)).await.expect("is ordered");
        assert_eq!((both.refunds[0].amount, both.to_balance), (Amount::new(by_network - UNIT), Amount::new(UNIT)));
        let beyond = refund_payment(None).await;
        assert!(matches!(beyond, Err(RefundError::NothingPaid)), "the network has nothing left: {beyond:?}");
        let rest = billing.refund(&invoice, None).await.expect("goes back");
        assert_eq!((rest.refunds.len(), billing.customer_balance().await), (0, by_balance));
        billing.send_all().await;
        let paid = billing.ctx.store.read().await.expect("reads").intents().find(&intent).await.expect("reads").expect("exists");
        assert_eq!(paid.amount_refunded, Amount::new(by_network));
        billing.is_sound().await;
    }

    async fn cancellation_refunds_the_last_invoice_from_every_source(db: &TestDatabase) {
        let billing = paid_by_balance(db, 1).await;
        billing.end_with(RefundChoice::Last).await.expect("ends");
        assert_eq!((billing.refunded().await, billing.customer_balance().await), (vec![], KEPT), "and not the payment before");
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let open = unit.attempts().networks_due(billing.ctx.now().plus(DAY)).await.expect("reads");
        assert_eq!(open, [], "no network is asked");
        drop(unit);
        billing.is_sound().await;
    }

    async fn the_rest_of_a_period_is_refunded_to_the_sources_that_paid_it(db: &TestDatabase) {
        let billing = paid_by_balance(db, 2).await;
        billing.wait(DAY * 6);
        billing.end_with(RefundChoice::Proration).await.expect("ends");
        let by_network = 20 * UNIT - KEPT;
        assert_eq!((billing.refunded().await, billing.customer_balance().await), (vec![by_network], 8 * UNIT - by_network));
        billing.is_sound().await;
    }
}

on_both! {
    async fn concurrent_refunds_never_exceed_the_balance_payment(db: &TestDatabase) {
        let billing = paid_by_balance(db, 1).await;
        let (invoice, ctx) = (billing.last().await, billing.ctx.clone());
        let attempted = all_at_once(db, 6, move |db, _| {
            let (invoice, ctx) = (invoice.clone(), Context { store: Arc::new(store(&db)), ..ctx.clone() });
            async move { billing::refund_invoice(&ctx, Mode::Test, &invoice.id, &refund_order(Some(4 * UNIT))).await }
        });
        let answers = attempted.await;
        let done = answers.iter().filter(|answer| answer.is_ok()).count();
        assert_eq!((done, billing.customer_balance().await), (2, KEPT - 2 * UNIT), "{answers:?}");
        billing.is_sound().await;
    }
}
