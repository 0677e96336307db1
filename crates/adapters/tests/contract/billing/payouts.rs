//! Pay-outs of the balance: over card payments that have room, or to the wallet that paid last; restored where the network refuses.

use super::bench::{Billing, DAY, MONTHLY};
use super::plans::subscribed;
use crate::cards::bench::{ACCEPTED, Bench as Cards};
use crate::ledger::bench::UNIT;
use crate::till::{all_at_once, card_attempt, id, intent, store};
use souk_adapters::stripe::StripeRail;
use souk_adapters::testing::TestDatabase;
use souk_adapters::{on_both, on_one};
use souk_domain::billing::{self, BalanceTransactionType, CreditError, PayoutOrder};
use souk_domain::context::Context;
use souk_domain::payment::{
    self, Attempt, AttemptContext, AttemptKind, Currency, Intent, Method, MethodKind, Outcome, Refund, RefundStatus, RefundType, Settlement,
    Trigger,
};
use souk_domain::shared::{Amount, CurrencyId, Mode, Page, PaymentIntentId};
use std::sync::Arc;
use std::time::Duration;

fn order(currency: &CurrencyId, amount: Option<u128>) -> PayoutOrder {
    PayoutOrder { customer_id: id("cus_1"), currency_id: currency.clone(), amount: amount.map(Amount::new), memo: "Yours".to_owned() }
}

impl Billing {
    async fn pay_out(&self, amount: Option<u128>) -> Result<Vec<Refund>, CreditError> {
        billing::pay_out_balance(&self.ctx, Mode::Test, &order(&self.networks.currency.id, amount)).await
    }

    async fn transactions(&self) -> Vec<BalanceTransactionType> {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let page = Page::new(None, Some(100));
        let told = unit.balances().transactions(Mode::Test, &id("cus_1"), None, &page).await.expect("reads").list;
        told.iter().map(|one| one.kind).collect()
    }
}

/// A month of 30 was paid and credited to the balance.
async fn credited(db: &TestDatabase) -> Billing {
    let billing = subscribed(db, 30, 1, MONTHLY).await;
    billing.price("price_2", 0, MONTHLY).await;
    billing.accept("price_2", 1).await;
    assert_eq!(billing.customer_balance().await, 30 * UNIT);
    billing
}

/// Somebody with a card, and payments of so many cents each that no invoice asked for, the oldest first.
struct CardHolder {
    billing: Billing,
    cards: Cards,
    method: Method,
    currency: Currency,
    payments: Vec<PaymentIntentId>,
}

impl CardHolder {
    async fn open(db: &TestDatabase, payments: &[u128]) -> Self {
        let mut billing = Billing::open(db, 10).await;
        let cards = Cards::open(db).await;
        let method = Method { id: id("pm_card"), ..cards.method.clone() };
        let currency = Currency { id: id("pc_card"), method_id: method.id.clone(), ..cards.currency.clone() };
        let rail = StripeRail::new(&cards.address).expect("a client");
        billing.ctx.networks = billing.ctx.networks.clone().with_card(MethodKind::Stripe, Arc::new(rail));
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.methods().insert(&method).await.expect("inserts");
        unit.methods().insert_currency(&currency).await.expect("inserts");
        unit.commit().await.expect("commits");
        let mut holder = Self { billing, cards, method, currency, payments: Vec::new() };
        for (place, cents) in payments.iter().enumerate() {
            holder.pay(place, *cents).await;
        }
        holder
    }

    async fn pay(&mut self, place: usize, cents: u128) {
        let attempt = format!("att_card{place}");
        let reference = self.cards.paid(&attempt, cents, ACCEPTED).await;
        let (method_id, currency_id) = (self.method.id.clone(), self.currency.id.clone());
        let amount = Amount::new(cents);
        let paid: PaymentIntentId = id(&format!("pi_card{place}"));
        let paid = Intent { id: paid, amount, method_id: method_id.clone(), currency_id: currency_id.clone(), session_id: None, invoices: Vec::new(), ..intent("pi_0") };
        let kind = AttemptKind::Card { provider_id: reference.clone(), client_secret: String::new(), keep_for: None };
        let attempt = Attempt { method_id, currency_id, session_id: None, amount, kind, ..card_attempt(&attempt, paid.id.as_str()) };
        let mut unit = self.billing.ctx.store.begin().await.expect("begins");
        unit.intents().put(&paid).await.expect("inserts");
        unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        let settled = Outcome::Settled(Settlement { reference, payer: String::new(), amount, card: None });
        let context = AttemptContext { attempt, method: self.method.clone(), currency: self.currency.clone() };
        payment::record(&self.billing.ctx, unit.as_mut(), &context, &settled, Trigger::Reconciler).await.expect("is written");
        unit.commit().await.expect("commits");
        self.payments.push(paid.id);
        self.billing.wait(Duration::from_secs(1));
        self.cards.clock.advance(Duration::from_secs(1));
    }

    async fn pay_out(&self, amount: Option<u128>) -> Result<Vec<Refund>, CreditError> {
        billing::pay_out_balance(&self.billing.ctx, Mode::Test, &order(&self.currency.id, amount)).await
    }

    /// What of each payment is reserved or was sent back, the oldest first.
    async fn reserved(&self) -> Vec<u128> {
        let mut unit = self.billing.ctx.store.read().await.expect("reads");
        let mut reserved = Vec::new();
        for intent in &self.payments {
            reserved.push(unit.intents().find(intent).await.expect("reads").expect("stands").amount_refunded.base_units());
        }
        reserved
    }
}

on_both! {
    async fn a_wallet_is_paid_out_to_the_account_that_paid_last(db: &TestDatabase) {
        let billing = credited(db).await;
        let before = billing.networks.balance().await;
        let [refund] = &billing.pay_out(Some(12 * UNIT)).await.expect("is ordered")[..] else { panic!("one pay-out") };
        assert_eq!((refund.kind, refund.status, refund.intent_id.clone(), refund.credit_note_id.clone()), (RefundType::BalancePayout, RefundStatus::Pending, None, None));
        assert_eq!(billing.customer_balance().await, 18 * UNIT, "debited on request");
        billing.is_sound().await;
        billing.send_all().await;
        assert_eq!((billing.networks.balance().await, billing.networks.earned().await, billing.cash().await), (before + 12, 18, 18));
        billing.pay_out(None).await.expect("is ordered");
        assert_eq!(billing.given().await, (vec![12, 18], 0));
        let nothing = billing.pay_out(None).await;
        assert!(matches!(nothing, Err(CreditError::BalanceTooSmall)), "{nothing:?}");
        billing.is_sound().await;
    }

    async fn a_refused_pay_out_is_balance_again(db: &TestDatabase) {
        let billing = credited(db).await;
        billing.pay_out(None).await.expect("is ordered");
        billing.networks.fault("refuse").await;
        billing.send_all().await;
        assert_eq!((billing.customer_balance().await, billing.refunded().await), (30 * UNIT, vec![]));
        use BalanceTransactionType as T;
        assert_eq!(billing.transactions().await, [T::PayoutRestored, T::Payout, T::CreditNote]);
        let mut unit = billing.ctx.store.read().await.expect("reads");
        let failed = unit.refunds().list(Mode::Test, &Default::default(), &Page::new(None, None)).await.expect("reads").list.remove(0);
        drop(unit);
        for decided in [
            billing::retry_refund(&billing.ctx, Mode::Test, &failed.id).await,
            billing::move_refund_to_balance(&billing.ctx, Mode::Test, &failed.id).await,
        ] {
            assert!(matches!(decided, Err(CreditError::NotFailed)), "a pay-out is ordered anew: {decided:?}");
        }
        billing.is_sound().await;
        billing.pay_out(None).await.expect("is ordered");
        assert_eq!(billing.given().await, (vec![30], 0));
        billing.is_sound().await;
    }

    async fn however_many_ask_at_once_the_balance_is_paid_out_once(db: &TestDatabase) {
        let billing = credited(db).await;
        let (ctx, currency) = (billing.ctx.clone(), billing.networks.currency.id.clone());
        let asked = all_at_once(db, 6, move |db, _| {
            let (currency, ctx) = (currency.clone(), Context { store: Arc::new(store(&db)), ..ctx.clone() });
            async move { billing::pay_out_balance(&ctx, Mode::Test, &order(&currency, Some(20 * UNIT))).await.is_ok() }
        });
        assert_eq!(asked.await.into_iter().filter(|is_done| *is_done).count(), 1);
        assert_eq!(billing.given().await, (vec![20], 10));
        billing.is_sound().await;
    }

    async fn a_balance_is_paid_out_over_the_newest_card_payments_that_have_room(db: &TestDatabase) {
        let holder = CardHolder::open(db, &[1_000, 2_000]).await;
        let ordered = holder.pay_out(Some(2_500)).await.expect("is ordered");
        assert_eq!(ordered.iter().map(|one| one.amount.base_units()).collect::<Vec<_>>(), [2_000, 500]);
        assert_eq!((holder.reserved().await, holder.billing.customer_balance().await), (vec![500, 2_000], 500));
        holder.billing.send_all().await;
        assert_eq!(holder.cards.held().await, 500);
        holder.pay_out(None).await.expect("is ordered");
        holder.billing.send_all().await;
        assert_eq!((holder.cards.held().await, holder.reserved().await, holder.billing.customer_balance().await), (0, vec![1_000, 2_000], 0));
        assert!(holder.billing.refunds().await.iter().all(|refund| refund.status == RefundStatus::Succeeded));
    }
}

on_one! {
    async fn a_pay_out_that_a_card_network_refuses_frees_its_payment(db: &TestDatabase) {
        let holder = CardHolder::open(db, &[1_000]).await;
        let reference = holder.billing.ctx.store.read().await.expect("reads").intents().find(&holder.payments[0]).await.expect("reads").expect("stands").reference;
        let dispute = holder.cards.order("disputes", &[("payment_intent", &reference)]).await["id"].as_str().expect("an id").to_owned();
        holder.pay_out(None).await.expect("is ordered");
        holder.billing.send_all().await;
        assert_eq!((holder.reserved().await, holder.billing.customer_balance().await), (vec![0], 1_000));
        holder.cards.order(&format!("disputes/{dispute}"), &[("status", "won")]).await;
        holder.pay_out(None).await.expect("is ordered");
        holder.billing.send_all().await;
        assert_eq!((holder.reserved().await, holder.billing.customer_balance().await), (vec![1_000], 0));
    }

    async fn no_more_is_paid_out_than_the_card_payments_can_take_back(db: &TestDatabase) {
        let holder = CardHolder::open(db, &[1_000]).await;
        let mut unit = holder.billing.ctx.store.begin().await.expect("begins");
        assert!(unit.intents().reserve_refund(&holder.payments[0], Amount::new(400), holder.billing.ctx.now()).await.expect("reserves"));
        unit.commit().await.expect("commits");
        let beyond = holder.pay_out(None).await;
        assert!(matches!(beyond, Err(CreditError::NoPayoutRoute)), "{beyond:?}");
        assert_eq!((holder.reserved().await, holder.billing.customer_balance().await), (vec![400], 1_000), "nothing of it has happened");
        assert_eq!(holder.pay_out(Some(600)).await.expect("is ordered").len(), 1);
    }

    async fn what_unpaid_invoices_ask_for_is_not_paid_out(db: &TestDatabase) {
        let billing = Billing::open(db, 1_000).await;
        let price = billing.price("price_1", 40, MONTHLY).await;
        billing.insert(&billing.subscription("sub_1", &price, DAY * 30)).await;
        billing.networks.fault("refuse").await;
        billing.round().await;
        billing.overpay(50 * UNIT).await;
        for (amount, refusal) in [
            (Some(10 * UNIT + 1), CreditError::BalanceOwed),
            (Some(50 * UNIT + 1), CreditError::BalanceTooSmall),
            (Some(0), CreditError::NoAmount),
        ] {
            let refused = billing.pay_out(amount).await.expect_err("is refused");
            assert_eq!(refused.to_string(), refusal.to_string());
        }
        billing.pay_out(None).await.expect("is ordered");
        assert_eq!((billing.refunded().await, billing.customer_balance().await), (vec![10 * UNIT], 40 * UNIT));
        billing::pay_from_balance(&billing.ctx, &id("cus_1"), &billing.networks.currency.id).await.expect("pays");
        assert_eq!((billing.paid_by(&billing.last().await).await, billing.customer_balance().await), (vec![("balance", 40 * UNIT)], 0));
    }

    async fn without_a_payment_there_is_nowhere_to_pay_out_to(db: &TestDatabase) {
        let billing = credited(db).await;
        billing.write("UPDATE payment_intents SET payer = ''").await;
        let nowhere = billing.pay_out(None).await;
        assert!(matches!(nowhere, Err(CreditError::NoPayoutRoute)), "{nowhere:?}");
        let stranger = PayoutOrder { customer_id: id("cus_none"), ..order(&billing.networks.currency.id, None) };
        let nobody = billing::pay_out_balance(&billing.ctx, Mode::Test, &stranger).await;
        assert!(matches!(nobody, Err(CreditError::NotFound)), "{nobody:?}");
        let live = billing::pay_out_balance(&billing.ctx, Mode::Live, &order(&billing.networks.currency.id, None)).await;
        assert!(matches!(live, Err(CreditError::NotFound)), "{live:?}");
        assert_eq!(billing.customer_balance().await, 30 * UNIT);
    }
}
