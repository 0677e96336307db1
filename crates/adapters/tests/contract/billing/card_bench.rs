//! Test bench: a customer who pays invoices with a card at the sandbox's processor.

use super::bench::{Billing, planned};
use crate::cards::bench::{ACCEPTED, Bench as Cards};
use crate::checkout_fixtures::{card_attempt, id, intent, invoice};
use souk_adapters::stripe::StripeRail;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{self, BillingReason, Invoice, InvoicePayment, InvoiceStatus};
use souk_domain::ledger::EntryType;
use souk_domain::payment::{
    self, Attempt, AttemptKind, CardIntent, Currency, Dispute, DisputeFilter, Intent, Method, MethodKind, Outcome, ProviderDispute,
};
use souk_domain::shared::{Amount, AttemptId, Mode, Page};
use std::sync::Arc;

pub struct CardBuyer {
    pub billing: Billing,
    pub cards: Cards,
    pub method: Method,
    pub currency: Currency,
}

/// The amounts of a payment that count against it, in cents.
#[derive(Debug, PartialEq, Eq)]
pub struct Used {
    pub refunded: u128,
    pub disputed: u128,
    pub reversed: u128,
}

/// An invoice's status, and its amounts in cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvoiceSummary {
    pub status: InvoiceStatus,
    pub total: u128,
    pub paid: u128,
    pub credited: u128,
}

impl CardBuyer {
    pub async fn open(db: &TestDatabase) -> Self {
        let mut billing = Billing::open(db, 10).await;
        let cards = Cards::open(db).await;
        let method = Method { id: id("pm_card"), ..cards.method.clone() };
        let currency = Currency { id: id("pc_card"), method_id: method.id.clone(), ..cards.currency.clone() };
        let rail = StripeRail::new(&cards.address.parse().expect("an address")).expect("a client");
        // Its payments have ids without a time, by which receipts are found.
        billing.ctx.policy.daily_caps.insert(currency.symbol.clone(), u64::MAX);
        billing.ctx.networks = billing.ctx.networks.clone().with_card(MethodKind::Stripe, Arc::new(rail));
        let mut unit = billing.ctx.store.begin().await.expect("begins");
        unit.methods().insert(&method).await.expect("inserts");
        unit.methods().insert_currency(&currency).await.expect("inserts");
        unit.commit().await.expect("commits");
        Self { billing, cards, method, currency }
    }

    /// Inserts an open invoice of `cents` cents with one line.
    pub async fn invoice(&self, name: &str, cents: u128) -> Invoice {
        let open = Invoice {
            status: InvoiceStatus::Open,
            reason: BillingReason::Manual,
            currency_id: self.currency.id.clone(),
            method_id: self.method.id.clone(),
            session_id: None,
            intent_id: None,
            total: Amount::new(cents),
            created_at: self.billing.start,
            finalized_at: Some(self.billing.start),
            updated_at: self.billing.start,
            ..invoice(name)
        };
        self.billing.insert_invoice(&open).await;
        self.billing.reload(&open).await
    }

    /// Inserts an attempt that pays invoices, and creates its intent at the provider.
    pub async fn begin(&self, name: &str, invoices: &[Invoice]) -> AttemptId {
        let amount = Amount::sum(invoices.iter().map(Invoice::remaining)).expect("a sum");
        let (method_id, currency_id) = (self.method.id.clone(), self.currency.id.clone());
        let paying = Intent {
            amount,
            method_id: method_id.clone(),
            currency_id: currency_id.clone(),
            session_id: None,
            invoices: invoices.iter().map(|invoice| invoice.id.clone()).collect(),
            ..intent(&format!("pi_{name}"))
        };
        let attempt = card_attempt(&format!("att_{name}"), &format!("pi_{name}"));
        let attempt = Attempt { method_id, currency_id, session_id: None, amount, ..attempt };
        let planned: Vec<_> = invoices.iter().flat_map(planned).collect();
        let mut unit = self.billing.ctx.store.begin().await.expect("begins");
        unit.intents().upsert(&paying).await.expect("inserts");
        unit.attempts().insert(&attempt, &planned).await.expect("inserts");
        unit.commit().await.expect("commits");
        payment::settle(&self.billing.ctx, &attempt.id).await.expect("is opened");
        attempt.id
    }

    /// The customer enters the card. Returns the provider's id of the payment.
    pub async fn enter_card(&self, attempt: &AttemptId) -> String {
        let AttemptKind::Card { provider_id, client_secret, .. } = self.attempt(attempt).await.kind else { panic!("not a card form") };
        let form = CardIntent { provider_id: provider_id.clone(), client_secret, outcome: Outcome::NotFound };
        assert_eq!(self.cards.confirm(&form, ACCEPTED).await.body["status"], "succeeded");
        provider_id
    }

    /// Pays invoices together. Returns the provider's id of the payment.
    pub async fn pay(&self, name: &str, invoices: &[Invoice]) -> String {
        let attempt = self.begin(name, invoices).await;
        let payment = self.enter_card(&attempt).await;
        payment::settle(&self.billing.ctx, &attempt).await.expect("is settled");
        payment
    }

    /// Returns an invoice of `cents` cents paid by card, and the provider's id of the payment.
    pub async fn paid(&self, cents: u128) -> (Invoice, String) {
        let invoice = self.invoice("in_1", cents).await;
        let payment = self.pay("1", std::slice::from_ref(&invoice)).await;
        (self.billing.reload(&invoice).await, payment)
    }

    pub async fn attempt(&self, id: &AttemptId) -> Attempt {
        let mut unit = self.billing.ctx.store.read().await.expect("reads");
        unit.attempts().find(id).await.expect("reads").expect("exists")
    }

    /// Records the provider's changes of a payment twice. The second time must change nothing.
    pub async fn check(&self, payment: &str) {
        for _ in 0..2 {
            billing::check_card_payment(&self.billing.ctx, &self.method, payment).await.expect("is recorded");
        }
    }

    /// Returns the provider's newest dispute of a payment.
    pub async fn provider_dispute(&self, payment: &str) -> ProviderDispute {
        let rail = self.billing.ctx.networks.card(MethodKind::Stripe).expect("a rail");
        rail.disputes_of(&self.method, payment).await.expect("an answer").remove(0)
    }

    /// Returns the recorded disputes, newest first.
    pub async fn disputes(&self) -> Vec<Dispute> {
        let mut unit = self.billing.ctx.store.read().await.expect("reads");
        unit.disputes().list(Mode::Test, &DisputeFilter::default(), &Page::new(None, Some(100))).await.expect("reads").list
    }

    /// Returns the types of the journal entries for a subject.
    pub async fn entries(&self, subject: &str) -> Vec<EntryType> {
        let mut unit = self.billing.ctx.store.read().await.expect("reads");
        unit.journal().of_subject(subject).await.expect("reads").iter().map(|entry| entry.kind).collect()
    }

    /// Returns what is used of the only payment of an invoice.
    pub async fn used(&self, invoice: &Invoice) -> Used {
        let payments = self.billing.payments(invoice).await;
        assert_eq!(payments.len(), 1, "{payments:?}");
        let InvoicePayment { refunded, disputed, reversed, .. } = &payments[0];
        Used { refunded: refunded.base_units(), disputed: disputed.base_units(), reversed: reversed.base_units() }
    }

    pub async fn summary(&self, invoice: &Invoice) -> InvoiceSummary {
        let Invoice { status, total, amount_paid, amount_credited, .. } = self.billing.reload(invoice).await;
        InvoiceSummary { status, total: total.base_units(), paid: amount_paid.base_units(), credited: amount_credited.base_units() }
    }

    /// Returns the journal accounts that are not zero, without the method's id.
    pub async fn accounts(&self) -> Vec<(String, i128)> {
        let accounts = self.billing.accounts().await;
        accounts.into_iter().map(|(name, sum)| (name.replace(":pm_card", ""), sum)).collect()
    }
}
