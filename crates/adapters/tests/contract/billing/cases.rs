//! The ten cases of docs/BILLING-CASES.md with their numbers. Amounts are in cents, except in the case of the deposit.

use super::bench::{Billing, DAY, HOURLY, MONTHLY, at_once, refund_order};
use super::card_bench::CardBuyer;
use crate::cards::bench::ACCEPTED;
use crate::catalogue::price;
use crate::checkout_fixtures::id;
use crate::ledger::bench::UNIT;
use souk_adapters::on_one;
use souk_adapters::persistence::SqlPrices;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{
    self, BalanceTransactionType, CreditNote, CreditNoteReason, Invoice, InvoiceStatus, PayoutOrder, PlanChoice, PlanOrder, PlanPreview,
    PlanSwitch, RefundChoice, RefundError, RefundedNote, Requester, Subscription, SubscriptionStatus, Threshold, UsageAction, UsageReport,
};
use souk_domain::payment::{Mandate, MandateDetails, MandateStatus, Refund, RefundStatus};
use souk_domain::pricing::{Aggregate, Price, Prices, Recurring, Usage};
use souk_domain::shared::{Amount, Mode, Page};
use std::time::Duration;

const METERED: Recurring = Recurring { usage: Usage::Metered(Aggregate::Sum), ..MONTHLY };

/// A credit note's reason, and what became of its total.
#[derive(Debug, PartialEq, Eq)]
struct NoteParts {
    total: u128,
    reason: CreditNoteReason,
    due_reduced: u128,
    to_balance: u128,
    refunded: u128,
}

/// A customer whose card pays a subscription.
pub struct Shop {
    pub buyer: CardBuyer,
}

impl Shop {
    pub async fn open(db: &TestDatabase) -> Self {
        let buyer = CardBuyer::open(db).await;
        let card = buyer.cards.saved("att_saved", ACCEPTED).await;
        let mandate = Mandate {
            id: id("man_card"),
            mode: Mode::Test,
            customer_id: id("cus_1"),
            method_id: buyer.method.id.clone(),
            status: MandateStatus::Active,
            details: Some(MandateDetails::Card(card)),
            created_at: buyer.billing.start,
            updated_at: buyer.billing.start,
        };
        let mut unit = buyer.billing.ctx.store.begin().await.expect("begins");
        unit.mandates().upsert(&mandate).await.expect("inserts");
        unit.commit().await.expect("commits");
        Self { buyer }
    }

    pub fn billing(&self) -> &Billing {
        &self.buyer.billing
    }

    pub async fn plan(&self, name: &str, cents: u128, recurring: Recurring) -> Price {
        let currency_id = self.buyer.currency.id.clone();
        let price = Price { unit_amount: Amount::new(cents), currency_id, recurring: Some(recurring), locked: true, ..price(name, 0) };
        let mut connection = self.billing().database().begin().await.expect("begins");
        SqlPrices(&mut connection).insert(&price).await.expect("inserts");
        connection.commit().await.expect("commits");
        price
    }

    /// Day 0: the card pays for the month that begins now.
    pub async fn subscribe(&self, price: &Price, change: impl FnOnce(Subscription) -> Subscription) {
        let month = Duration::from_secs(30 * 24 * 3_600);
        let one = Subscription {
            method_id: self.buyer.method.id.clone(),
            currency_id: self.buyer.currency.id.clone(),
            mandate_id: Some(id("man_card")),
            ..self.billing().subscription("sub_1", price, month)
        };
        self.billing().insert(&change(one)).await;
        self.billing().round().await;
    }

    pub fn wait(&self, time: Duration) {
        self.billing().wait(time);
        self.buyer.cards.clock.advance(time);
    }

    /// The customer accepts the plan change that the page shows.
    pub async fn change_plan(&self, price: &str) -> PlanPreview {
        let choice = PlanChoice { price: id(price), quantity: Some(1), item: None };
        let shown = billing::preview_plan(&self.billing().ctx, &id("sub_1"), &choice).await.expect("is shown");
        let order = PlanOrder { choice, at: shown.at, expected: shown.total, credited: Some(shown.credited) };
        let changed = billing::switch_plan(&self.billing().ctx, &id("sub_1"), &order, Requester::Customer).await.expect("changes");
        assert_eq!(changed, PlanSwitch::Switched);
        self.billing().send_all().await;
        shown
    }

    async fn use_units(&self, quantity: u64, action: UsageAction) {
        let report = UsageReport { item: id("si_1"), quantity, action, at: None, identifier: None };
        billing::report_usage(&self.billing().ctx, Mode::Test, &report).await.expect("is taken");
        self.billing().send_all().await;
    }

    async fn last_note(&self) -> CreditNote {
        self.billing().notes().await.pop().expect("a credit note")
    }

    async fn last_note_total(&self) -> u128 {
        self.last_note().await.total.base_units()
    }

    async fn last_note_parts(&self) -> NoteParts {
        let CreditNote { reason, total, due_reduced, to_balance, refunded, .. } = self.last_note().await;
        let [total, due_reduced, to_balance, refunded] = [total, due_reduced, to_balance, refunded].map(Amount::base_units);
        NoteParts { total, reason, due_reduced, to_balance, refunded }
    }

    pub async fn last_invoice(&self) -> Invoice {
        self.billing().last().await
    }

    /// Returns the provider's id of the payment of an invoice.
    pub async fn payment_of(&self, invoice: &Invoice) -> String {
        let paid = invoice.intent_id.clone().expect("a payment");
        let mut unit = self.billing().ctx.store.read().await.expect("reads");
        unit.intents().find(&paid).await.expect("reads").expect("exists").reference
    }

    async fn refunds(&self) -> Vec<(u128, RefundStatus)> {
        let mut unit = self.billing().ctx.store.read().await.expect("reads");
        let listed = unit.refunds().list(Mode::Test, &Default::default(), &Page::new(None, Some(100))).await.expect("reads").list;
        listed.iter().map(|refund: &Refund| (refund.amount.base_units(), refund.status)).collect()
    }

    async fn refund(&self, invoice: &Invoice) -> RefundedNote {
        billing::refund_invoice(&self.billing().ctx, Mode::Test, &invoice.id, &refund_order(None)).await.expect("is ordered")
    }

    async fn pay_out_balance(&self) {
        let order =
            PayoutOrder { customer_id: id("cus_1"), currency_id: self.buyer.currency.id.clone(), amount: None, memo: String::new() };
        billing::pay_out_balance(&self.billing().ctx, Mode::Test, &order).await.expect("is ordered");
        self.billing().send_all().await;
    }

    /// Runs case 2 up to the balance of 13.34.
    async fn downgraded(db: &TestDatabase) -> Self {
        let shop = Self::open(db).await;
        let large = shop.plan("price_large", 3_000, MONTHLY).await;
        shop.plan("price_small", 1_000, MONTHLY).await;
        shop.subscribe(&large, |one| one).await;
        shop.wait(DAY * 10);
        shop.change_plan("price_small").await;
        shop
    }
}

on_one! {
    async fn case_1_upgrade_in_the_middle_of_a_month_by_card(db: &TestDatabase) {
        let shop = Shop::open(db).await;
        let small = shop.plan("price_small", 1_000, MONTHLY).await;
        shop.plan("price_large", 3_000, MONTHLY).await;
        shop.subscribe(&small, |one| one).await;
        shop.wait(DAY * 10);
        let shown = shop.change_plan("price_large").await;
        assert_eq!([shown.credit, shown.charge, shown.applied, shown.total].map(Amount::base_units), [666, 2_000, 666, 1_334]);
        assert_eq!(shop.last_note_parts().await, NoteParts { total: 666, reason: CreditNoteReason::PlanChange, due_reduced: 0, to_balance: 666, refunded: 0 });
        let invoice = shop.last_invoice().await;
        assert_eq!((invoice.total.base_units(), invoice.status), (2_000, InvoiceStatus::Paid));
        assert_eq!(shop.billing().paid_by(&invoice).await, [("network", 1_334), ("balance", 666)]);
        assert_eq!((shop.billing().customer_balance().await, shown.next.base_units()), (0, 3_000));
        shop.billing().is_sound().await;
    }

    async fn case_2_downgrade_to_the_balance(db: &TestDatabase) {
        let shop = Shop::downgraded(db).await;
        assert_eq!(shop.last_note_parts().await, NoteParts { total: 2_000, reason: CreditNoteReason::PlanChange, due_reduced: 0, to_balance: 2_000, refunded: 0 });
        let invoice = shop.last_invoice().await;
        assert_eq!((invoice.total.base_units(), shop.billing().paid_by(&invoice).await), (666, vec![("balance", 666)]));
        assert_eq!(shop.billing().customer_balance().await, 1_334);
        shop.wait(DAY * 20);
        shop.billing().round().await;
        assert_eq!(shop.billing().paid_by(&shop.last_invoice().await).await, [("balance", 1_000)]);
        assert_eq!(shop.billing().customer_balance().await, 334);
        shop.billing().is_sound().await;
    }

    async fn case_3_two_changes_in_one_day(db: &TestDatabase) {
        let shop = Shop::open(db).await;
        let small = shop.plan("price_small", 1_000, MONTHLY).await;
        shop.plan("price_tiny", 500, MONTHLY).await;
        shop.plan("price_medium", 2_000, MONTHLY).await;
        shop.subscribe(&small, |one| one).await;
        shop.wait(DAY * 15);
        shop.change_plan("price_tiny").await;
        let invoice = shop.last_invoice().await;
        assert_eq!((shop.last_note_total().await, invoice.total.base_units()), (500, 250));
        assert_eq!((shop.billing().paid_by(&invoice).await, shop.billing().customer_balance().await), (vec![("balance", 250)], 250));
        shop.wait(DAY / 2);
        let shown = shop.change_plan("price_medium").await;
        assert_eq!([shown.credit, shown.charge, shown.applied, shown.total].map(Amount::base_units), [241, 966, 491, 475]);
        assert_eq!(shop.last_note_total().await, 241, "the first line gives nothing again");
        let invoice = shop.last_invoice().await;
        assert_eq!((invoice.total.base_units(), shop.billing().paid_by(&invoice).await), (966, vec![("network", 475), ("balance", 491)]));
        shop.billing().is_sound().await;
    }

    async fn case_4_a_threshold_invoice_then_lower_usage(db: &TestDatabase) {
        let shop = Shop::open(db).await;
        let units = shop.plan("price_units", 10, METERED).await;
        let threshold = Some(Threshold { amount: Amount::new(500), resets_anchor: false });
        shop.subscribe(&units, |one| Subscription { billing_threshold: threshold, ..one }).await;
        shop.wait(DAY);
        shop.use_units(60, UsageAction::Increment).await;
        let threshold = shop.last_invoice().await;
        assert_eq!((threshold.total.base_units(), shop.billing().paid_by(&threshold).await), (600, vec![("network", 600)]));
        shop.wait(DAY);
        shop.use_units(40, UsageAction::Set).await;
        shop.wait(DAY * 28);
        shop.billing().round().await;
        assert_eq!(shop.last_note_parts().await, NoteParts { total: 200, reason: CreditNoteReason::UsageCorrection, due_reduced: 0, to_balance: 200, refunded: 0 });
        assert_eq!((shop.last_invoice().await.total.base_units(), shop.billing().customer_balance().await), (0, 200));
        shop.billing().is_sound().await;
    }

    async fn case_5_refund_of_an_invoice_that_was_partly_paid_from_the_balance(db: &TestDatabase) {
        let shop = Shop::open(db).await;
        let small = shop.plan("price_small", 1_000, MONTHLY).await;
        shop.subscribe(&small, |one| one).await;
        let (first, order) = (shop.last_invoice().await, refund_order(Some(300)));
        let note = billing::CreditNoteOrder {
            invoice_id: first.id.clone(),
            items: Vec::new(),
            amount: order.amount,
            reason: CreditNoteReason::Other,
            memo: String::new(),
            to: billing::CreditTo::Balance,
        };
        billing::create_credit_note(&shop.billing().ctx, Mode::Test, &note).await.expect("is issued");
        shop.wait(DAY * 30);
        shop.billing().round().await;
        let invoice = shop.last_invoice().await;
        assert_eq!(shop.billing().paid_by(&invoice).await, [("network", 700), ("balance", 300)]);
        shop.refund(&invoice).await;
        shop.billing().send_all().await;
        assert_eq!(shop.last_note_parts().await, NoteParts { total: 1_000, reason: CreditNoteReason::Other, due_reduced: 0, to_balance: 300, refunded: 700 });
        assert_eq!((shop.refunds().await, shop.billing().customer_balance().await), (vec![(700, RefundStatus::Succeeded)], 300));
        shop.billing().is_sound().await;
    }

    async fn case_6_immediate_cancellation_with_proration(db: &TestDatabase) {
        let shop = Shop::open(db).await;
        let large = shop.plan("price_large", 3_000, MONTHLY).await;
        shop.subscribe(&large, |one| one).await;
        shop.wait(DAY * 20);
        let terms = at_once(RefundChoice::Proration, billing::StakeChoice::None);
        billing::cancel(&shop.billing().ctx, Requester::Store, &id("sub_1"), &terms).await.expect("ends");
        shop.billing().send_all().await;
        assert_eq!(shop.last_note_parts().await, NoteParts { total: 1_000, reason: CreditNoteReason::Cancellation, due_reduced: 0, to_balance: 0, refunded: 1_000 });
        assert_eq!(shop.refunds().await, [(1_000, RefundStatus::Succeeded)]);
        shop.billing().is_sound().await;
    }

    async fn case_7_a_deposit_pays_half_of_an_overdue_invoice(db: &TestDatabase) {
        let billing = Billing::open(db, 9).await;
        let price = billing.price("price_1", 10, HOURLY).await;
        let one = billing.subscription("sub_1", &price, Duration::from_secs(3_600));
        let stake = billing.stake(&one, 5).await;
        billing.insert(&Subscription { stake_id: Some(stake.id), days_until_cancel: 0, ..one }).await;
        billing.round().await;
        assert_eq!(billing.last().await.status, InvoiceStatus::Uncollectible, "the permission is too small");
        billing.write("UPDATE invoices SET retry_at = NULL").await;
        billing.wait(Duration::from_secs(60));
        billing.round().await;
        billing.send_all().await;
        let invoice = billing.last().await;
        assert_eq!((billing.paid_by(&invoice).await, invoice.remaining()), (vec![("stake", 5 * UNIT)], Amount::new(5 * UNIT)));
        assert_eq!((billing.invoices().await.len(), invoice.status), (1, InvoiceStatus::Uncollectible), "no invoice replaces it");
        assert_eq!(billing.find("sub_1").await.status, SubscriptionStatus::Canceled);
        billing.is_sound().await;
    }

    async fn case_8_a_dispute_that_is_lost_after_a_plan_change(db: &TestDatabase) {
        let shop = Shop::open(db).await;
        let small = shop.plan("price_small", 1_000, MONTHLY).await;
        shop.plan("price_other", 1_000, MONTHLY).await;
        shop.subscribe(&small, |one| one).await;
        let first = shop.last_invoice().await;
        let payment = shop.payment_of(&first).await;
        shop.wait(DAY * 15);
        shop.change_plan("price_other").await;
        assert_eq!((shop.last_note_total().await, shop.billing().customer_balance().await), (500, 0), "the new plan used it");
        let form = [("payment_intent", payment.as_str()), ("amount", "1000")];
        let dispute = shop.buyer.cards.post_test_endpoint("disputes", &form).await["id"].as_str().expect("an id").to_owned();
        shop.buyer.check(&payment).await;
        let accounts = shop.billing().accounts().await;
        assert_eq!((accounts["assets:disputes"], accounts["expenses:fees"]), (1_000, 1_500));
        shop.wait(DAY);
        shop.buyer.cards.post_test_endpoint(&format!("disputes/{dispute}"), &[("status", "lost")]).await;
        shop.buyer.check(&payment).await;
        assert_eq!(shop.last_note_parts().await, NoteParts { total: 500, reason: CreditNoteReason::Dispute, due_reduced: 500, to_balance: 0, refunded: 0 });
        let first = shop.billing().reload(&first).await;
        assert_eq!((first.remaining().base_units(), first.status), (500, InvoiceStatus::Uncollectible));
        assert_eq!(shop.billing().customer_balance().await, 0);
        let status = async || {
            let one = shop.billing().find("sub_1").await;
            (one.status, one.past_due_since)
        };
        let since = shop.billing().ctx.now();
        assert_eq!(status().await, (SubscriptionStatus::PastDue, Some(since)));
        assert_eq!(shop.buyer.emails("overdue").await, 1);
        shop.billing().is_sound().await;

        shop.wait(DAY * 14);
        shop.billing().round().await;
        assert_eq!(shop.last_invoice().await.status, InvoiceStatus::Paid, "the next month");
        assert_eq!(status().await, (SubscriptionStatus::PastDue, Some(since)), "the disputed month is still owed");
        // The mandate charges it as soon as it is tried again, here as after a change of the payment method.
        shop.billing().write("UPDATE invoices SET retry_at = finalized_at WHERE status = 'uncollectible'").await;
        assert_eq!(shop.billing().retry().await, 1);
        assert_eq!(shop.billing().paid_by(&first).await, [("network", 1_000), ("network", 500)]);
        assert_eq!(status().await, (SubscriptionStatus::Active, None));
        shop.billing().is_sound().await;
    }

    async fn case_9_a_refund_that_the_network_declines(db: &TestDatabase) {
        let shop = Shop::open(db).await;
        let small = shop.plan("price_small", 1_000, MONTHLY).await;
        shop.subscribe(&small, |one| one).await;
        let invoice = shop.last_invoice().await;
        // The bank has withdrawn the payment, and the store has not heard of it yet: the processor declines refunds.
        let dispute = shop.buyer.dispute(&shop.payment_of(&invoice).await, 1_000).await;
        let ordered = shop.refund(&invoice).await;
        shop.billing().send_all().await;
        assert_eq!((shop.last_note_total().await, shop.refunds().await), (1_000, vec![(1_000, RefundStatus::Failed)]));
        assert_eq!(shop.billing().payments(&shop.last_invoice().await).await[0].room(), Amount::ZERO, "it stays reserved");
        billing::move_refund_to_balance(&shop.billing().ctx, Mode::Test, &ordered.refunds[0].id).await.expect("moves");
        assert_eq!((shop.billing().customer_balance().await, shop.refunds().await), (1_000, vec![(1_000, RefundStatus::Canceled)]));
        shop.billing().is_sound().await;

        shop.buyer.decide(&dispute, "won").await;
        assert!(matches!(shop.billing().refund(&invoice, None).await, Err(RefundError::NothingPaid)), "the lines are fully credited");
        shop.pay_out_balance().await;
        let mut refunds = shop.refunds().await;
        refunds.sort_by_key(|(_, status)| status.name());
        assert_eq!(refunds, [(1_000, RefundStatus::Canceled), (1_000, RefundStatus::Succeeded)], "10.00 can be refunded again");
        assert_eq!(shop.billing().customer_balance().await, 0);
        shop.billing().is_sound().await;
    }

    async fn case_10_payout_of_the_balance(db: &TestDatabase) {
        let shop = Shop::downgraded(db).await;
        shop.pay_out_balance().await;
        assert_eq!((shop.refunds().await, shop.billing().customer_balance().await), (vec![(1_334, RefundStatus::Succeeded)], 0));
        let mut unit = shop.billing().ctx.store.read().await.expect("reads");
        let paid = unit.intents().last_paid(&id("cus_1"), &shop.buyer.currency.id).await.expect("reads").expect("a payment");
        assert_eq!((paid.amount_received.base_units(), paid.amount_refunded.base_units()), (3_000, 1_334));
        let page = Page::new(None, Some(1));
        let last = unit.balances().transactions(Mode::Test, &id("cus_1"), None, &page).await.expect("reads").list.remove(0);
        assert_eq!((last.kind, last.balance_after), (BalanceTransactionType::Payout, Amount::ZERO));
        drop(unit);
        shop.billing().is_sound().await;
    }
}
