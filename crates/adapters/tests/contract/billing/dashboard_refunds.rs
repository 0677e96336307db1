//! Refunds made in the provider's dashboard, and refunds that fail after they succeeded.

use super::card_bench::{CardBuyer, InvoiceSummary, Used};
use crate::checkout_fixtures::id;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, CreditNoteReason, InvoiceStatus, PayoutError, PayoutOrder, SendRefundError};
use souk_domain::payment::{RefundFilter, RefundStatus};
use souk_domain::shared::{Amount, Mode, Page};

impl CardBuyer {
    /// Refunds `cents` cents in the provider's dashboard. Returns the provider's id of the refund.
    pub async fn refund_in_dashboard(&self, payment: &str, cents: u128) -> String {
        let form = [("payment_intent", payment), ("amount", &cents.to_string()), ("reason", "duplicate")];
        self.cards.post_test_endpoint("refunds", &form).await["id"].as_str().expect("an id").to_owned()
    }

    pub async fn fail_refund(&self, refund: &str) {
        self.cards.post_test_endpoint(&format!("refunds/{refund}"), &[("failure_reason", "lost_or_stolen_card")]).await;
    }

    /// Returns the cents and status of all refunds, smallest first.
    async fn refunds(&self) -> Vec<(u128, RefundStatus)> {
        let mut unit = self.billing.ctx.store.read().await.expect("reads");
        let listed = unit.refunds().list(Mode::Test, &RefundFilter::default(), &Page::new(None, Some(100))).await.expect("reads").list;
        let mut refunds: Vec<_> = listed.iter().map(|refund| (refund.amount.base_units(), refund.status)).collect();
        refunds.sort_by_key(|(amount, _)| *amount);
        refunds
    }
}

on_both! {
    async fn a_dashboard_refund_gets_a_credit_note_over_each_invoice_in_turn(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let invoices = [buyer.invoice("in_1", 1_000).await, buyer.invoice("in_2", 2_000).await];
        let payment = buyer.pay("both", &invoices).await;
        buyer.refund_in_dashboard(&payment, 1_500).await;
        buyer.check(&payment).await;
        assert_eq!(buyer.refunds().await, [(500, RefundStatus::Succeeded), (1_000, RefundStatus::Succeeded)]);
        let notes = buyer.billing.notes().await;
        let credited: Vec<_> = notes.iter().map(|note| (note.reason, note.refunded.base_units())).collect();
        assert_eq!(credited, [(CreditNoteReason::Duplicate, 1_000), (CreditNoteReason::Duplicate, 500)], "oldest first");
        let accounts = buyer.accounts().await;
        assert_eq!(accounts, [("assets:cash".to_owned(), 1_500), ("income:revenue".to_owned(), -1_500)]);
        buyer.billing.is_sound().await;
    }

    async fn a_refund_beyond_the_lines_goes_to_suspense_and_back_if_it_fails(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        let order = billing::CreditNoteOrder {
            invoice_id: invoice.id.clone(),
            items: Vec::new(),
            amount: Some(Amount::new(700)),
            reason: CreditNoteReason::Other,
            memo: String::new(),
            to: billing::CreditTo::Balance,
        };
        billing::create_credit_note(&buyer.billing.ctx, Mode::Test, &order).await.expect("is issued");
        let refund = buyer.refund_in_dashboard(&payment, 1_000).await;
        buyer.check(&payment).await;
        assert_eq!(buyer.refunds().await, [(300, RefundStatus::Succeeded), (700, RefundStatus::Succeeded)]);
        let payout = PayoutOrder { customer_id: id("cus_1"), currency_id: buyer.currency.id.clone(), amount: None, memo: String::new() };
        let nowhere = billing::pay_out_balance(&buyer.billing.ctx, Mode::Test, &payout).await;
        assert!(matches!(nowhere, Err(PayoutError::Send(SendRefundError::NoPayoutRoute))), "the provider holds nothing of the payment: {nowhere:?}");
        let names = |sums: &[(&str, i128)]| sums.iter().map(|(name, sum)| ((*name).to_owned(), *sum)).collect::<Vec<_>>();
        assert_eq!(buyer.accounts().await, names(&[("liabilities:customer_balance", -700), ("liabilities:suspense", 700)]));
        buyer.billing.is_sound().await;

        buyer.fail_refund(&refund).await;
        buyer.check(&payment).await;
        assert_eq!(buyer.refunds().await, [(300, RefundStatus::Failed), (700, RefundStatus::Failed)]);
        let failed = [("assets:cash", 1_000), ("liabilities:customer_balance", -700), ("liabilities:refunds_payable", -300)];
        assert_eq!(buyer.accounts().await, names(&failed));
        buyer.billing.is_sound().await;

        billing::pay_out_balance(&buyer.billing.ctx, Mode::Test, &payout).await.expect("the payment can be refunded again");
        buyer.billing.send_all().await;
        assert_eq!((buyer.cards.held().await, buyer.billing.customer_balance().await), (300, 0));
        buyer.billing.is_sound().await;
    }

    async fn a_dashboard_refund_uses_the_room_that_the_stores_refunds_have_left(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        let order = billing::CreditNoteOrder {
            invoice_id: invoice.id.clone(),
            items: Vec::new(),
            amount: None,
            reason: CreditNoteReason::Other,
            memo: String::new(),
            to: billing::CreditTo::Balance,
        };
        billing::create_credit_note(&buyer.billing.ctx, Mode::Test, &order).await.expect("is issued");
        let payout = PayoutOrder { customer_id: id("cus_1"), currency_id: buyer.currency.id.clone(), amount: Some(Amount::new(600)), memo: String::new() };
        // Ordered, but not sent yet.
        billing::pay_out_balance(&buyer.billing.ctx, Mode::Test, &payout).await.expect("is ordered");
        let refund = buyer.refund_in_dashboard(&payment, 700).await;
        buyer.check(&payment).await;
        assert_eq!(buyer.refunds().await, [(400, RefundStatus::Succeeded), (600, RefundStatus::Pending)], "700 less what was reserved");
        buyer.billing.is_sound().await;
        buyer.fail_refund(&refund).await;
        buyer.check(&payment).await;
        buyer.billing.send_all().await;
        assert_eq!(buyer.refunds().await, [(400, RefundStatus::Failed), (600, RefundStatus::Succeeded)]);
        assert_eq!(buyer.cards.held().await, 400);
        buyer.billing.is_sound().await;
    }

    async fn a_refund_that_failed_later_is_sent_again_by_a_retry(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        let ordered = buyer.billing.refund(&invoice, Some(400)).await.expect("is ordered").refunds.remove(0);
        buyer.billing.send_all().await;
        assert_eq!(buyer.cards.held().await, 600);
        let mut unit = buyer.billing.ctx.store.read().await.expect("reads");
        let sent = unit.refunds().find(&ordered.id).await.expect("reads").expect("exists");
        drop(unit);
        buyer.fail_refund(&sent.reference).await;
        buyer.check(&payment).await;
        assert_eq!((buyer.refunds().await, buyer.cards.held().await), (vec![(400, RefundStatus::Failed)], 1_000));
        assert_eq!(buyer.used(&invoice).await, Used { refunded: 400, disputed: 0, reversed: 0 }, "the reservation stays");
        buyer.billing.is_sound().await;

        billing::retry_refund(&buyer.billing.ctx, Mode::Test, &ordered.id).await.expect("is sent again");
        buyer.billing.send_all().await;
        assert_eq!((buyer.refunds().await, buyer.cards.held().await), (vec![(400, RefundStatus::Succeeded)], 600));
        buyer.check(&payment).await;
        assert_eq!(buyer.refunds().await, [(400, RefundStatus::Succeeded)], "the failure of the first try is no failure of the second");
        buyer.billing.is_sound().await;
    }
}

on_one! {
    async fn a_dashboard_refund_does_not_use_the_stores_reservations(db: &TestDatabase) {
        let buyer = CardBuyer::open(db).await;
        let (invoice, payment) = buyer.paid(1_000).await;
        // Created, but not sent yet.
        buyer.billing.refund(&invoice, Some(800)).await.expect("is ordered");
        buyer.refund_in_dashboard(&payment, 500).await;
        buyer.check(&payment).await;
        assert_eq!(buyer.refunds().await, [(200, RefundStatus::Succeeded), (800, RefundStatus::Pending)]);
        assert_eq!(buyer.summary(&invoice).await, InvoiceSummary { status: InvoiceStatus::Paid, total: 1_000, paid: 1_000, credited: 0 });
        buyer.billing.is_sound().await;
    }
}
