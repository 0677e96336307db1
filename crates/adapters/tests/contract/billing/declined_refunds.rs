//! Refunds that their network declines or that fail after they succeeded: the amount stays reserved until the owner retries the refund or
//! moves the amount to the balance.

use super::bench::{Billing, DAY, MONTHLY};
use super::plans::subscribed;
use crate::checkout_fixtures::{all_at_once, store};
use crate::ledger::bench::UNIT;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, BalanceTransactionType, Invoice, NoteError, RefundDecisionError, RefundError, RetryRefundError};
use souk_domain::context::Context;
use souk_domain::payment::{Decline, Intent, Refund, RefundStatus};
use souk_domain::shared::{Amount, Mode, Page, RefundId};
use std::sync::Arc;

impl Billing {
    async fn stored(&self, refund: &RefundId) -> Refund {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.refunds().find(refund).await.expect("reads").expect("exists")
    }

    /// Records that the try with this reference failed after it had succeeded. Returns whether that changed the refund.
    async fn fails_later(&self, refund: &RefundId, reference: &str) -> bool {
        let decline = Decline { code: "expired_or_canceled_card".to_owned(), message: "The card is gone".to_owned() };
        let mut unit = self.ctx.store.begin().await.expect("begins");
        let is_recorded = billing::refund_failed_later(&self.ctx, unit.as_mut(), refund, reference, &decline).await.expect("is recorded");
        unit.commit().await.expect("commits");
        is_recorded
    }

    async fn intent_of(&self, invoice: &Invoice) -> Intent {
        let mut unit = self.ctx.store.read().await.expect("reads");
        unit.intents().find(invoice.intent_id.as_ref().expect("a payment")).await.expect("reads").expect("exists")
    }

    /// Returns the reserved amounts of the invoice's payment and of the network payment, in tokens.
    async fn reserved(&self, invoice: &Invoice) -> (u128, u128) {
        let payment = self.payments(invoice).await.remove(0);
        (payment.refunded.base_units() / UNIT, self.intent_of(invoice).await.amount_refunded.base_units() / UNIT)
    }
}

/// A customer whose month of 30 tokens was paid, and a refund of `tokens` tokens that the network declined.
async fn declined_refund(db: &TestDatabase, tokens: u128) -> (Billing, Invoice, RefundId) {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    let invoice = billing.last().await;
    let refund = billing.refund(&invoice, Some(tokens * UNIT)).await.expect("is ordered").refunds.remove(0);
    billing.networks.fault("decline").await;
    billing.send_all().await;
    let failed = billing.stored(&refund.id).await;
    assert_eq!((failed.status, failed.failure_count, failed.failure.is_some()), (RefundStatus::Failed, 1, true));
    (billing, invoice, refund.id)
}

on_both! {
    async fn a_declined_refund_stays_reserved_until_it_is_retried(db: &TestDatabase) {
        let (billing, invoice, refund) = declined_refund(db, 20).await;
        assert_eq!((billing.reserved(&invoice).await, billing.customer_balance().await), ((20, 20), 0));
        assert_eq!(billing.accounts().await.get("liabilities:refunds_payable"), Some(&-i128::try_from(20 * UNIT).expect("fits")));
        let beyond = billing.refund(&invoice, Some(11 * UNIT)).await;
        assert!(matches!(beyond, Err(RefundError::Note(NoteError::OverRefund))), "{beyond:?}");
        billing.is_sound().await;
        let again = billing::retry_refund(&billing.ctx, Mode::Test, &refund).await.expect("is sent again");
        assert_eq!((again.status, again.failure_count), (RefundStatus::Pending, 1));
        let twice = billing::retry_refund(&billing.ctx, Mode::Test, &refund).await;
        assert!(matches!(twice, Err(RetryRefundError::Decision(RefundDecisionError::NotFailed))), "{twice:?}");
        billing.networks.fault("decline").await;
        billing.send_all().await;
        assert_eq!(billing.stored(&refund).await.failure_count, 2);
        billing::retry_refund(&billing.ctx, Mode::Test, &refund).await.expect("is sent again");
        billing.send_all().await;
        let sent = billing.stored(&refund).await;
        assert_eq!((sent.status, sent.failure, billing.networks.store_balance().await, billing.cash().await), (RefundStatus::Succeeded, None, 10, 10));
        assert_eq!((billing.reserved(&invoice).await, billing.notes().await.len()), ((20, 20), 1), "one credit note for all tries");
        assert!(!billing.accounts().await.contains_key("liabilities:refunds_payable"));
        billing.is_sound().await;
    }

    async fn concurrent_decisions_retry_a_declined_refund_or_move_it_to_the_balance_once(db: &TestDatabase) {
        let (billing, invoice, refund) = declined_refund(db, 20).await;
        let ctx = billing.ctx.clone();
        let original = refund.clone();
        let attempted = all_at_once(db, 6, move |db, place| {
            let (refund, ctx) = (original.clone(), Context { store: Arc::new(store(&db)), ..ctx.clone() });
            async move {
                match place % 2 {
                    0 => billing::move_refund_to_balance(&ctx, Mode::Test, &refund).await.is_ok(),
                    _ => billing::retry_refund(&ctx, Mode::Test, &refund).await.is_ok(),
                }
            }
        });
        assert_eq!(attempted.await.into_iter().filter(|is_done| *is_done).count(), 1, "it is moved or retried");
        billing.send_all().await;
        let after = billing.stored(&refund).await;
        let (balance, earned) = (billing.customer_balance().await / UNIT, billing.networks.store_balance().await);
        match after.status {
            RefundStatus::Canceled => assert_eq!((balance, earned, billing.reserved(&invoice).await), (20, 30, (20, 0))),
            status => assert_eq!((status, balance, earned), (RefundStatus::Succeeded, 0, 10)),
        }
        billing.is_sound().await;
    }
}

on_one! {
    async fn a_refund_moved_to_the_balance_pays_the_next_invoice_and_is_not_refunded_again(db: &TestDatabase) {
        let (billing, invoice, refund) = declined_refund(db, 30).await;
        billing::move_refund_to_balance(&billing.ctx, Mode::Test, &refund).await.expect("moves");
        let amounts = (billing.reserved(&invoice).await, billing.customer_balance().await);
        assert_eq!(amounts, ((30, 0), 30 * UNIT), "the network payment has room for a payout");
        let again = billing.refund(&invoice, None).await;
        assert!(matches!(again, Err(RefundError::NothingPaid)), "{again:?}");
        let retried = billing::retry_refund(&billing.ctx, Mode::Test, &refund).await;
        assert!(matches!(retried, Err(RetryRefundError::Decision(RefundDecisionError::NotFailed))), "{retried:?}");
        let moved = billing::move_refund_to_balance(&billing.ctx, Mode::Test, &refund).await;
        assert!(matches!(moved, Err(RefundDecisionError::NotFailed)), "{moved:?}");
        billing.wait(DAY * 30);
        billing.round().await;
        assert_eq!((billing.paid_by(&billing.last().await).await, billing.customer_balance().await), (vec![("balance", 30 * UNIT)], 0));
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let listed = unit.balances().transactions(Mode::Test, &invoice.customer_id, None, &Page::new(None, None)).await.expect("reads").list;
        drop(unit);
        let listed: Vec<_> = listed.iter().map(|one| (one.kind, one.balance_after.base_units() / UNIT)).collect();
        assert_eq!(listed, [(BalanceTransactionType::AppliedToInvoice, 0), (BalanceTransactionType::RefundMoved, 30)]);
        billing.is_sound().await;
    }

    async fn a_refund_that_fails_after_it_succeeded_is_handled_like_a_declined_one(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        let invoice = billing.last().await;
        let refund = billing.refund(&invoice, None).await.expect("is ordered").refunds.remove(0);
        billing.send_all().await;
        let sent = billing.stored(&refund.id).await;
        assert!(billing.fails_later(&refund.id, &sent.reference).await);
        assert!(!billing.fails_later(&refund.id, &sent.reference).await, "a failure counts once");
        assert_eq!((billing.stored(&refund.id).await.status, billing.reserved(&invoice).await), (RefundStatus::Failed, (30, 30)));
        assert_eq!(billing.cash().await, 30, "the money is back on the store's account");
        billing::move_refund_to_balance(&billing.ctx, Mode::Test, &refund.id).await.expect("moves");
        assert_eq!(billing.customer_balance().await, 30 * UNIT);
        billing.is_sound().await;
    }

    /// The failure was read from the network before the retry, and is recorded after it.
    async fn a_failure_of_the_first_try_that_is_recorded_after_a_retry_is_no_failure_of_the_retry(db: &TestDatabase) {
        let billing = subscribed(db, 30, 1, MONTHLY).await;
        let invoice = billing.last().await;
        let refund = billing.refund(&invoice, None).await.expect("is ordered").refunds.remove(0);
        billing.send_all().await;
        let first = billing.stored(&refund.id).await.reference;
        assert!(billing.fails_later(&refund.id, &first).await);
        billing.networks.faucet_to(billing.networks.app.did()).await;
        billing::retry_refund(&billing.ctx, Mode::Test, &refund.id).await.expect("is sent again");
        billing.send_all().await;
        let retried = billing.stored(&refund.id).await;
        assert_eq!((retried.status, retried.reference != first), (RefundStatus::Succeeded, true));
        assert!(!billing.fails_later(&refund.id, &first).await, "the retry has succeeded");
        assert_eq!((billing.stored(&refund.id).await, billing.cash().await), (retried, 0));
        billing.is_sound().await;
    }

    async fn a_plan_change_credits_no_amount_reserved_for_a_refund(db: &TestDatabase) {
        let (billing, _, refund) = declined_refund(db, 30).await;
        billing.price("price_2", 60, MONTHLY).await;
        let shown = billing.preview("price_2", 1).await;
        assert_eq!((shown.credit, shown.total), (Amount::ZERO, Amount::new(60 * UNIT)));
        billing::move_refund_to_balance(&billing.ctx, Mode::Test, &refund).await.expect("moves");
        let shown = billing.accept("price_2", 1).await;
        assert_eq!((shown.credit, shown.applied, shown.total), (Amount::ZERO, Amount::new(30 * UNIT), Amount::new(30 * UNIT)));
        billing.is_sound().await;
    }
}
