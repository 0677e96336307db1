//! Payouts of the balance: over card payments with a refundable amount, or to the wallet that paid last. A declined payout restores the
//! balance.

use super::bench::{Billing, DAY, MONTHLY};
use super::card_bench::CardBuyer;
use super::plans::subscribed;
use crate::checkout_fixtures::{all_at_once, id, store};
use crate::ledger::bench::UNIT;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{
    self, BalanceTransactionType, CreditNoteOrder, CreditNoteReason, CreditTo, PayoutError, PayoutOrder, RefundDecisionError,
    RetryRefundError, SendRefundError,
};
use souk_domain::context::Context;
use souk_domain::payment::{Refund, RefundStatus, RefundType};
use souk_domain::shared::{Amount, CurrencyId, Mode, Page, PaymentIntentId};
use std::sync::Arc;

fn order(currency: &CurrencyId, amount: Option<u128>) -> PayoutOrder {
    PayoutOrder { customer_id: id("cus_1"), currency_id: currency.clone(), amount: amount.map(Amount::new), memo: "Yours".to_owned() }
}

impl Billing {
    async fn pay_out(&self, amount: Option<u128>) -> Result<Vec<Refund>, PayoutError> {
        billing::pay_out_balance(&self.ctx, Mode::Test, &order(&self.networks.currency.id, amount)).await
    }

    async fn transactions(&self) -> Vec<BalanceTransactionType> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let page = Page::new(None, Some(100));
        let listed = unit.balances().transactions(Mode::Test, &id("cus_1"), None, &page).await.expect("reads").list;
        listed.iter().map(|one| one.kind).collect()
    }
}

/// A customer whose paid month of 30 tokens was credited to the balance.
async fn credited(db: &TestDatabase) -> Billing {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    billing.price("price_2", 0, MONTHLY).await;
    billing.accept("price_2", 1).await;
    assert_eq!(billing.customer_balance().await, 30 * UNIT);
    billing
}

/// A customer whose card paid several invoices, which were then fully credited to the balance.
struct CreditedBuyer {
    buyer: CardBuyer,
    payments: Vec<PaymentIntentId>,
}

impl CreditedBuyer {
    async fn open(db: &TestDatabase, payments: &[u128]) -> Self {
        let mut credited = Self { buyer: CardBuyer::open(db).await, payments: Vec::new() };
        for (place, cents) in payments.iter().enumerate() {
            let buyer = &credited.buyer;
            let invoice = buyer.invoice(&format!("in_{place}"), *cents).await;
            buyer.pay(&place.to_string(), std::slice::from_ref(&invoice)).await;
            let note = CreditNoteOrder {
                invoice_id: invoice.id.clone(),
                items: Vec::new(),
                amount: None,
                reason: CreditNoteReason::Other,
                memo: String::new(),
                to: CreditTo::Balance,
            };
            billing::create_credit_note(&buyer.billing.ctx, Mode::Test, &note).await.expect("is issued");
            let payment = buyer.billing.reload(&invoice).await.intent_id.expect("a payment");
            credited.payments.push(payment);
        }
        credited
    }

    async fn pay_out(&self, amount: Option<u128>) -> Result<Vec<Refund>, PayoutError> {
        billing::pay_out_balance(&self.buyer.billing.ctx, Mode::Test, &order(&self.buyer.currency.id, amount)).await
    }

    /// Returns the reserved or refunded amount of each payment, oldest first, and the balance.
    async fn reserved(&self) -> (Vec<u128>, u128) {
        let mut unit = self.buyer.billing.ctx.store.read().await.expect("reads");
        let mut reserved = Vec::new();
        for intent in &self.payments {
            reserved.push(unit.intents().find(intent).await.expect("reads").expect("exists").amount_refunded.base_units());
        }
        drop(unit);
        (reserved, self.buyer.billing.customer_balance().await)
    }

    /// Sends the pending payouts. Returns the funds that the processor holds then.
    async fn send(&self) -> i64 {
        self.buyer.billing.send_all().await;
        self.buyer.billing.is_sound().await;
        self.buyer.cards.held().await
    }
}

on_both! {
    async fn a_wallet_is_paid_out_to_the_account_that_paid_last(db: &TestDatabase) {
        let billing = credited(db).await;
        let before = billing.networks.balance().await;
        let [refund] = &billing.pay_out(Some(12 * UNIT)).await.expect("is ordered")[..] else { panic!("one payout") };
        assert_eq!((refund.kind, refund.status, refund.intent_id.clone(), refund.credit_note_id.clone()), (RefundType::BalancePayout, RefundStatus::Pending, None, None));
        assert_eq!(billing.customer_balance().await, 18 * UNIT, "debited on request");
        billing.is_sound().await;
        billing.send_all().await;
        assert_eq!((billing.networks.balance().await, billing.networks.store_balance().await, billing.cash().await), (before + 12, 18, 18));
        billing.pay_out(None).await.expect("is ordered");
        assert_eq!(billing.refunds_and_balance().await, (vec![12, 18], 0));
        let nothing = billing.pay_out(None).await;
        assert!(matches!(nothing, Err(PayoutError::BalanceTooSmall)), "{nothing:?}");
        billing.is_sound().await;
    }

    async fn a_declined_payout_returns_to_the_balance(db: &TestDatabase) {
        let billing = credited(db).await;
        billing.pay_out(None).await.expect("is ordered");
        billing.networks.fault("decline").await;
        billing.send_all().await;
        assert_eq!((billing.customer_balance().await, billing.refunded().await), (30 * UNIT, vec![]));
        use BalanceTransactionType as T;
        assert_eq!(billing.transactions().await, [T::PayoutRestored, T::Payout, T::CreditNote]);
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let failed = unit.refunds().list(Mode::Test, &Default::default(), &Page::new(None, None)).await.expect("reads").list.remove(0);
        drop(unit);
        let retried = billing::retry_refund(&billing.ctx, Mode::Test, &failed.id).await;
        let is_refused = matches!(retried, Err(RetryRefundError::Decision(RefundDecisionError::NotFailed)));
        assert!(is_refused, "a payout is ordered anew: {retried:?}");
        let moved = billing::move_refund_to_balance(&billing.ctx, Mode::Test, &failed.id).await;
        assert!(matches!(moved, Err(RefundDecisionError::NotFailed)), "it is in the balance already: {moved:?}");
        billing.is_sound().await;
        billing.pay_out(None).await.expect("is ordered");
        assert_eq!(billing.refunds_and_balance().await, (vec![30], 0));
        billing.is_sound().await;
    }

    async fn concurrent_payouts_spend_the_balance_once(db: &TestDatabase) {
        let billing = credited(db).await;
        let (ctx, currency) = (billing.ctx.clone(), billing.networks.currency.id.clone());
        let attempted = all_at_once(db, 6, move |db, _| {
            let (currency, ctx) = (currency.clone(), Context { store: Arc::new(store(&db)), ..ctx.clone() });
            async move { billing::pay_out_balance(&ctx, Mode::Test, &order(&currency, Some(20 * UNIT))).await.is_ok() }
        });
        assert_eq!(attempted.await.into_iter().filter(|is_done| *is_done).count(), 1);
        assert_eq!(billing.refunds_and_balance().await, (vec![20], 10));
        billing.is_sound().await;
    }

    async fn a_balance_is_paid_out_over_the_newest_refundable_card_payments(db: &TestDatabase) {
        let credited = CreditedBuyer::open(db, &[1_000, 2_000]).await;
        let ordered = credited.pay_out(Some(2_500)).await.expect("is ordered");
        assert_eq!(ordered.iter().map(|one| one.amount.base_units()).collect::<Vec<_>>(), [2_000, 500]);
        assert_eq!(credited.reserved().await, (vec![500, 2_000], 500));
        assert_eq!(credited.send().await, 500);
        credited.pay_out(None).await.expect("is ordered");
        assert_eq!((credited.send().await, credited.reserved().await), (0, (vec![1_000, 2_000], 0)));
        assert!(credited.buyer.billing.refunds().await.iter().all(|refund| refund.status == RefundStatus::Succeeded));
    }
}

on_one! {
    async fn a_payout_declined_by_a_card_network_releases_its_payment(db: &TestDatabase) {
        let credited = CreditedBuyer::open(db, &[1_000]).await;
        let mut unit = credited.buyer.billing.ctx.store.read().await.expect("reads");
        let reference = unit.intents().find(&credited.payments[0]).await.expect("reads").expect("exists").reference;
        drop(unit);
        let dispute = credited.buyer.cards.post_test_endpoint("disputes", &[("payment_intent", &reference)]).await["id"].as_str().expect("an id").to_owned();
        credited.pay_out(None).await.expect("is ordered");
        credited.send().await;
        assert_eq!(credited.reserved().await, (vec![0], 1_000), "what is withdrawn cannot be paid out");
        credited.buyer.cards.post_test_endpoint(&format!("disputes/{dispute}"), &[("status", "won")]).await;
        credited.pay_out(None).await.expect("is ordered");
        credited.send().await;
        assert_eq!(credited.reserved().await, (vec![1_000], 0));
    }

    async fn a_payout_uses_another_payment_than_a_disputed_one(db: &TestDatabase) {
        let credited = CreditedBuyer::open(db, &[1_000, 1_000]).await;
        let buyer = &credited.buyer;
        let mut unit = buyer.billing.ctx.store.read().await.expect("reads");
        let disputed = unit.intents().find(&credited.payments[1]).await.expect("reads").expect("exists").reference;
        drop(unit);
        buyer.dispute(&disputed, 1_000).await;
        let dispute = buyer.provider_dispute(&disputed).await;
        billing::record_dispute(&buyer.billing.ctx, &buyer.method, &dispute).await.expect("is recorded");
        assert_eq!(credited.pay_out(Some(400)).await.expect("is ordered").len(), 1);
        assert_eq!(credited.reserved().await.0, [400, 0]);
    }

    async fn a_declined_payout_takes_another_payment_the_next_time(db: &TestDatabase) {
        let credited = CreditedBuyer::open(db, &[1_000, 1_000]).await;
        let mut unit = credited.buyer.billing.ctx.store.read().await.expect("reads");
        let newest = unit.intents().find(&credited.payments[1]).await.expect("reads").expect("exists").reference;
        drop(unit);
        // The store has not heard of the dispute.
        credited.buyer.dispute(&newest, 1_000).await;
        credited.pay_out(Some(400)).await.expect("is ordered");
        credited.send().await;
        assert_eq!(credited.reserved().await, (vec![0, 0], 2_000), "the provider declined it");
        credited.pay_out(Some(400)).await.expect("is ordered");
        credited.send().await;
        assert_eq!(credited.reserved().await, (vec![400, 0], 1_600));
    }

    async fn a_payout_never_exceeds_the_refundable_amount_of_the_card_payments(db: &TestDatabase) {
        let credited = CreditedBuyer::open(db, &[1_000]).await;
        let mut unit = credited.buyer.billing.ctx.store.begin().await.expect("begins");
        assert!(unit.intents().reserve_refund(&credited.payments[0], Amount::new(400), credited.buyer.billing.ctx.now()).await.expect("reserves"));
        unit.commit().await.expect("commits");
        let beyond = credited.pay_out(None).await;
        assert!(matches!(beyond, Err(PayoutError::Send(SendRefundError::NoPayoutRoute))), "{beyond:?}");
        assert_eq!(credited.reserved().await, (vec![400], 1_000), "nothing of it has happened");
        assert_eq!(credited.pay_out(Some(600)).await.expect("is ordered").len(), 1);
    }

    async fn a_payout_and_a_refund_share_the_refundable_amount_of_a_payment(db: &TestDatabase) {
        let credited = CreditedBuyer::open(db, &[1_000]).await;
        let buyer = &credited.buyer;
        let other = buyer.invoice("in_other", 600).await;
        buyer.billing.deliver().await;
        assert_eq!((buyer.billing.paid_by(&other).await, buyer.billing.customer_balance().await), (vec![("balance", 600)], 400));
        credited.pay_out(None).await.expect("is ordered");
        let refund = buyer.billing.refund(&other, None).await.expect("goes back");
        assert_eq!((refund.to_balance, refund.refunds.len()), (Amount::new(600), 0));
        credited.pay_out(None).await.expect("is ordered");
        assert_eq!((credited.send().await, credited.reserved().await), (0, (vec![1_000], 0)));
    }

    async fn a_payout_leaves_the_amount_of_unpaid_invoices_on_the_balance(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 40, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.networks.fault("decline").await;
        billing.round().await;
        billing.overpay(50 * UNIT).await;
        for (amount, expected) in [
            (Some(10 * UNIT + 1), PayoutError::BalanceReserved),
            (Some(50 * UNIT + 1), PayoutError::BalanceTooSmall),
            (Some(0), PayoutError::NoAmount),
        ] {
            let refused = billing.pay_out(amount).await.expect_err("is rejected");
            assert_eq!(refused.to_string(), expected.to_string());
        }
        billing.pay_out(None).await.expect("is ordered");
        assert_eq!((billing.refunded().await, billing.customer_balance().await), (vec![10 * UNIT], 40 * UNIT));
        billing::pay_from_balance(&billing.ctx, &id("cus_1"), &billing.networks.currency.id).await.expect("pays");
        assert_eq!((billing.paid_by(&billing.last().await).await, billing.customer_balance().await), (vec![("balance", 40 * UNIT)], 0));
    }

    async fn a_payout_needs_a_payment_to_refund(db: &TestDatabase) {
        let billing = credited(db).await;
        billing.write("UPDATE payment_intents SET payer = ''").await;
        let nowhere = billing.pay_out(None).await;
        assert!(matches!(nowhere, Err(PayoutError::Send(SendRefundError::NoPayoutRoute))), "{nowhere:?}");
        let stranger = PayoutOrder { customer_id: id("cus_none"), ..order(&billing.networks.currency.id, None) };
        let nobody = billing::pay_out_balance(&billing.ctx, Mode::Test, &stranger).await;
        assert!(matches!(nobody, Err(PayoutError::NotFound)), "{nobody:?}");
        let live = billing::pay_out_balance(&billing.ctx, Mode::Live, &order(&billing.networks.currency.id, None)).await;
        assert!(matches!(live, Err(PayoutError::NotFound)), "{live:?}");
        assert_eq!(billing.customer_balance().await, 30 * UNIT);
    }
}
