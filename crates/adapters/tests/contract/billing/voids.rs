//! Voiding: a void invoice is no longer due, and its balance payments are reversed.

use super::bench::{Billing, DAY, MONTHLY, planned};
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{
    self, BalanceTransactionType, CreditNoteReason, InvoiceStatus, Subscription, SubscriptionError, SubscriptionStatus, VoidError,
};
use souk_domain::ledger::EntryType;
use souk_domain::payment::Purpose;
use souk_domain::shared::{Amount, Mode, Page};

/// A customer with an unpaid month of 1,500 tokens that the wallet cannot pay, of which the balance paid `by_balance`.
async fn unpaid(db: &TestDatabase, by_balance: u128) -> Billing {
    let billing = Billing::open(db, 2_000).await;
    let price = billing.price("price_1", 1_500, MONTHLY).await;
    billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
    if by_balance > 0 {
        billing.overpay(by_balance * UNIT).await;
    }
    billing.round().await;
    let overdue = billing.last().await;
    assert_eq!((overdue.status, overdue.remaining()), (InvoiceStatus::Uncollectible, Amount::new((1_500 - by_balance) * UNIT)));
    billing
}

on_one! {
    async fn a_void_invoice_returns_its_balance_and_a_credit_note_covers_everything(db: &TestDatabase) {
        let billing = unpaid(db, 300).await;
        let overdue = billing.last().await;
        assert_eq!(billing.customer_balance().await, 0);
        billing::void_invoice(&billing.ctx, &overdue.id).await.expect("is void");
        let void = billing.reload(&overdue).await;
        let all = Amount::new(1_500 * UNIT);
        assert_eq!((void.status, void.number), (InvoiceStatus::Void, overdue.number));
        assert_eq!((void.amount_paid, void.amount_credited), (Amount::ZERO, all));
        assert_eq!(billing.customer_balance().await, 300 * UNIT);
        let [note] = &billing.notes().await[..] else { panic!("one note") };
        assert_eq!((note.reason, note.total, note.due_reduced, note.to_balance), (CreditNoteReason::Other, all, all, Amount::ZERO));
        let payment = billing.payments(&overdue).await.remove(0);
        assert_eq!((payment.amount, payment.reversed), (Amount::new(300 * UNIT), Amount::new(300 * UNIT)));
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let listed = unit.balances().transactions(Mode::Test, &id("cus_1"), None, &Page::new(None, None)).await.expect("reads").list;
        let kinds: Vec<_> = listed.iter().map(|one| one.kind).collect();
        use BalanceTransactionType as T;
        assert_eq!(kinds, [T::UnappliedFromInvoice, T::AppliedToInvoice, T::Overpayment], "newest first");
        let posted = unit.journal().of_subject(listed[0].id.as_str()).await.expect("reads");
        assert_eq!(posted[0].kind, EntryType::BalanceUnapplied);
        drop(unit);
        billing.deliver().await;
        let one = billing.find("sub_1").await;
        assert_eq!((one.status, one.past_due_since), (SubscriptionStatus::Active, None), "nothing is overdue any more");
        let again = billing::void_invoice(&billing.ctx, &overdue.id).await;
        assert!(matches!(again, Err(VoidError::NothingOverdue)), "{again:?}");
        assert_eq!((billing.customer_balance().await, billing.notes().await.len()), (300 * UNIT, 1));
        let accounts = billing.accounts().await;
        assert!(!accounts.contains_key("assets:receivable") && !accounts.contains_key("income:revenue"), "{accounts:?}");
    }

    async fn an_invoice_with_another_payment_made_or_in_flight_is_not_voided(db: &TestDatabase) {
        let billing = unpaid(db, 0).await;
        let overdue = billing.last().await;
        let stake = billing.stake(&billing.find("sub_1").await, 200).await;
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        let one = unit.subscriptions().find(&id("sub_1")).await.expect("reads").expect("exists");
        assert!(unit.subscriptions().update(&Subscription { stake_id: Some(stake.id), ..one }).await.expect("writes"));
        unit.commit().await.expect("commits");
        billing::slash_stake(&billing.ctx, &id("sub_1"), None, "owed").await.expect("is ordered");
        let void = billing::void_invoice(&billing.ctx, &overdue.id).await;
        assert!(matches!(void, Err(VoidError::Subscription(SubscriptionError::PaymentInFlight))), "{void:?}");
        billing.send(&Purpose::Slash(id("stk_1"))).await;
        let void = billing::void_invoice(&billing.ctx, &overdue.id).await;
        assert!(matches!(void, Err(VoidError::PartlyPaid)), "{void:?}");
        let after = billing.reload(&overdue).await;
        assert_eq!((after.status, after.remaining(), billing.notes().await.len()), (InvoiceStatus::Uncollectible, Amount::new(1_300 * UNIT), 0));
        assert_eq!(planned(&after)[0].amount, Amount::new(1_300 * UNIT));
    }

    async fn a_paid_invoice_is_not_voided(db: &TestDatabase) {
        let billing = Billing::open(db, 10).await;
        let price = billing.price("price_1", 5, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.round().await;
        let void = billing::void_invoice(&billing.ctx, &billing.last().await.id).await;
        assert!(matches!(void, Err(VoidError::NothingOverdue)), "{void:?}");
        billing.is_sound().await;
    }
}
