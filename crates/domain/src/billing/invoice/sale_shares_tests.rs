//! The shares of invoices in every state that payments, credit notes, disputes and reversals leave them in.

use super::{
    BillTo, BillingReason, DueShare, Invoice, InvoiceItem, InvoicePayment, InvoiceStatus, PaymentSource, SharedLine, due_shares, sharing,
};
use crate::access::Did;
use crate::billing::PricingFormula;
use crate::payment::Description;
use crate::pricing::{PriceShare, ProductNames};
use crate::shared::{
    Amount, BalanceTransactionId, CurrencyId, CustomerId, InvoiceId, InvoiceItemId, InvoicePaymentId, MethodId, Mode, PriceId, Timestamp,
};
use proptest::prelude::*;

/// An invoice with everything that its shares depend on.
#[derive(Debug, Clone)]
struct Books {
    invoice: Invoice,
    lines: Vec<InvoiceItem>,
    payments: Vec<InvoicePayment>,
    shared: Vec<SharedLine>,
}

fn line(number: usize, amount: u128) -> InvoiceItem {
    InvoiceItem {
        id: InvoiceItemId::parse(&format!("ii_{number}")).expect("an id"),
        invoice_id: InvoiceId::parse("in_1").expect("an id"),
        subscription_item_id: None,
        price_id: PriceId::parse("price_1").ok(),
        description: Description::Product(ProductNames::default()),
        quantity: 1,
        unit_amount: Amount::new(amount),
        amount: Amount::new(amount),
        credited: Amount::ZERO,
        period: None,
        covers_until: None,
        pricing_formula: PricingFormula::Flat { amount: Amount::new(amount) },
    }
}

impl Books {
    /// An open invoice. `shares`: those of each line, in millionths; a line without any is the store's own.
    fn new(amounts: &[u128], shares: &[&[u32]]) -> Self {
        let lines: Vec<_> = amounts.iter().enumerate().map(|(number, amount)| line(number, *amount)).collect();
        let share = |(number, millionths): (usize, &u32)| PriceShare {
            beneficiary: Did::from_verified(format!("z{number}")),
            millionths: *millionths,
        };
        let shared = lines.iter().zip(shares).filter(|(_, shares)| !shares.is_empty()).map(|(line, shares)| SharedLine {
            invoice_id: line.invoice_id.clone(),
            item_id: line.id.clone(),
            price_id: PriceId::parse("price_1").expect("an id"),
            app: None,
            shares: shares.iter().enumerate().map(share).collect(),
        });
        let shared = shared.collect();
        let at = Timestamp::from_seconds(0);
        let invoice = Invoice {
            id: InvoiceId::parse("in_1").expect("an id"),
            mode: Mode::Test,
            number: Some(1),
            status: InvoiceStatus::Open,
            reason: BillingReason::Manual,
            description: Description::Product(ProductNames::default()),
            customer_id: CustomerId::parse("cus_1").expect("an id"),
            currency_id: CurrencyId::parse("pc_1").expect("an id"),
            method_id: MethodId::parse("pm_1").expect("an id"),
            session_id: None,
            subscription_id: None,
            period: None,
            intent_id: None,
            reference: None,
            bill_to: BillTo { name: String::new(), email: String::new(), phone: String::new(), address: None },
            total: Amount::new(amounts.iter().sum()),
            amount_paid: Amount::ZERO,
            amount_credited: Amount::ZERO,
            failure_count: 0,
            retry_at: None,
            clock_id: None,
            created_at: at,
            finalized_at: Some(at),
            paid_at: None,
            updated_at: at,
        };
        Self { invoice, lines, payments: Vec::new(), shared }
    }

    fn pay(&mut self, amount: u128) {
        let amount = Amount::new(amount).min(self.invoice.remaining());
        let id = InvoicePaymentId::parse(&format!("inpay_{}", self.payments.len())).expect("an id");
        let source = PaymentSource::Balance(BalanceTransactionId::parse("cbtxn_1").expect("an id"));
        self.payments.push(InvoicePayment::new(id, self.invoice.id.clone(), source, amount, self.invoice.created_at));
        self.set(self.invoice.amount_paid.plus(amount).expect("fits"), self.invoice.amount_credited);
    }

    /// Credits a line: first what is unpaid, and then back to the payments, or to the balance if they have no room.
    fn credit(&mut self, place: usize, amount: u128) {
        let place = place % self.lines.len();
        let amount = Amount::new(amount).min(self.lines[place].creditable());
        self.lines[place].credited = self.lines[place].credited.plus(amount).expect("fits");
        let due = amount.min(self.invoice.remaining());
        self.set(self.invoice.amount_paid, self.invoice.amount_credited.plus(due).expect("fits"));
        let mut rest = amount.minus(due).expect("at most");
        for payment in &mut self.payments {
            let part = rest.min(payment.room());
            *payment = payment.refund(part).expect("room");
            rest = rest.minus(part).expect("at most");
        }
    }

    fn change(&mut self, place: usize, change: impl Fn(&InvoicePayment) -> InvoicePayment) {
        if self.payments.is_empty() {
            return;
        }
        let place = place % self.payments.len();
        let (before, after) = (self.payments[place].clone(), change(&self.payments[place]));
        let lowered = before.effective().minus(after.effective()).expect("nothing is paid by a change");
        self.payments[place] = after;
        self.set(self.invoice.amount_paid.minus(lowered).expect("at most"), self.invoice.amount_credited);
    }

    fn set(&mut self, paid: Amount, credited: Amount) {
        self.invoice = self.invoice.with_amounts(paid, credited, self.invoice.created_at).expect("at most the total");
    }

    fn due(&self) -> Vec<DueShare> {
        due_shares(&self.invoice, &self.lines, &self.payments, &self.shared).expect("fits")
    }

    /// The due amounts in base units, in the order of the lines and their shares.
    fn amounts(&self) -> Vec<u128> {
        self.due().into_iter().map(|share| share.amount.base_units()).collect()
    }
}

#[test]
fn a_sale_is_shared_when_it_is_paid_and_not_before() {
    let mut books = Books::new(&[1_000], &[&[700_000]]);
    assert_eq!(books.amounts(), [0]);
    books.pay(1_000);
    assert_eq!(books.amounts(), [700]);
}

#[test]
fn a_part_of_a_payment_is_shared_in_proportion_over_the_lines() {
    // The second line is the store's own.
    let mut books = Books::new(&[600, 400], &[&[500_000, 100_000], &[]]);
    books.pay(500);
    assert_eq!(books.amounts(), [150, 30]);
    books.pay(500);
    assert_eq!(books.amounts(), [300, 60]);
}

#[test]
fn refunds_take_shares_back_in_proportion_and_the_last_one_takes_the_rest() {
    let mut books = Books::new(&[10], &[&[333_333]]);
    books.pay(10);
    let mut seen = vec![books.amounts()[0]];
    for _ in 0..10 {
        books.credit(0, 1);
        seen.push(books.amounts()[0]);
    }
    assert_eq!(seen, [3, 3, 3, 2, 2, 2, 1, 1, 1, 0, 0]);
}

#[test]
fn a_dispute_takes_shares_back_until_it_is_decided() {
    let mut books = Books::new(&[1_000], &[&[700_000]]);
    books.pay(1_000);
    books.change(0, |payment| payment.dispute(Amount::new(400)).expect("room"));
    assert_eq!(books.amounts(), [420]);
    let disputed = books.clone();
    books.change(0, |payment| payment.reinstate(Amount::new(400)).expect("disputed"));
    assert_eq!(books.amounts(), [700], "it was won");
    books = disputed;
    books.change(0, |payment| payment.lose_dispute(Amount::new(400)).expect("disputed"));
    assert_eq!(books.amounts(), [420], "the due has grown by what was taken");
    books.credit(0, 400);
    assert_eq!(books.amounts(), [420], "and the credit note has waived it");
}

#[test]
fn a_credit_that_was_spent_before_its_payment_was_taken_back_leaves_nothing_to_share() {
    let mut books = Books::new(&[1_000], &[&[700_000]]);
    books.pay(1_000);
    // To the balance: no payment gives it back.
    books.lines[0].credited = Amount::new(500);
    assert_eq!(books.amounts(), [350]);
    books.change(0, |payment| payment.dispute(Amount::new(1_000)).expect("room"));
    assert_eq!(books.amounts(), [0]);
}

#[test]
fn only_invoices_that_can_sell_something_once_are_looked_at() {
    let of = |reason| Invoice { reason, ..Books::new(&[1], &[&[]]).invoice };
    assert_eq!(sharing(&[of(BillingReason::Manual)]).len(), 1);
    assert_eq!(sharing(&[of(BillingReason::SubscriptionCreate)]).len(), 1);
    assert!(sharing(&[of(BillingReason::SubscriptionCycle), of(BillingReason::Stake)]).is_empty());
}

#[derive(Debug, Clone, Copy)]
enum Change {
    Pay,
    Credit,
    Dispute,
    Reinstate,
    Lose,
    Reverse,
}

fn change() -> impl Strategy<Value = (Change, usize, u128)> {
    let kinds = [Change::Pay, Change::Pay, Change::Credit, Change::Dispute, Change::Reinstate, Change::Lose, Change::Reverse];
    (proptest::sample::select(kinds.to_vec()), 0..6_usize, 0..500_u128)
}

proptest! {
    #[test]
    fn in_every_state_the_shares_are_exactly_those_of_what_the_invoice_keeps(
        lines in prop::collection::vec((1..1_000_u128, prop::collection::vec(1..300_000_u32, 0..4)), 1..5),
        changes in prop::collection::vec(change(), 0..30),
    ) {
        let amounts: Vec<_> = lines.iter().map(|(amount, _)| *amount).collect();
        let shares: Vec<_> = lines.iter().map(|(_, shares)| shares.as_slice()).collect();
        let mut books = Books::new(&amounts, &shares);
        for (change, place, amount) in changes {
            let part = Amount::new(amount);
            match change {
                Change::Pay => books.pay(amount),
                Change::Credit => books.credit(place, amount),
                Change::Dispute => books.change(place, |one| one.dispute(part.min(one.room())).expect("room")),
                Change::Reinstate => books.change(place, |one| one.reinstate(part.min(one.disputed)).expect("disputed")),
                Change::Lose => books.change(place, |one| one.lose_dispute(part.min(one.disputed)).expect("disputed")),
                Change::Reverse => books.change(place, |one| one.reverse(part.min(one.room())).expect("room")),
            }
            let uncredited: u128 = books.lines.iter().map(|line| line.creditable().base_units()).sum();
            let disputed: u128 = books.payments.iter().map(|payment| payment.disputed.base_units()).sum();
            let kept = uncredited.saturating_sub(books.invoice.remaining().base_units() + disputed);
            let due = books.due();
            let mut shared = 0;
            for line in &books.shared {
                let of_line: u128 = due.iter().filter(|share| share.item_id == line.item_id).map(|share| share.amount.base_units()).sum();
                let own = books.lines.iter().find(|own| own.id == line.item_id).expect("a line");
                let millionths: u128 = line.shares.iter().map(|share| u128::from(share.millionths)).sum();
                // Never more than the line still asks for, and within a unit for each share of its part.
                prop_assert!(of_line <= own.creditable().base_units());
                let most = (own.creditable().base_units() * millionths).div_ceil(1_000_000) + line.shares.len() as u128;
                prop_assert!(of_line <= most);
                shared += of_line;
            }
            prop_assert!(shared <= kept, "{shared} of {kept} is shared");
            if kept == uncredited && kept > 0 {
                for line in &books.shared {
                    let own = books.lines.iter().find(|own| own.id == line.item_id).expect("a line");
                    let parts = crate::pricing::distribute(own.creditable(), &line.shares).expect("at most the whole");
                    let of_line: Vec<_> = due.iter().filter(|share| share.item_id == line.item_id).map(|share| share.amount).collect();
                    prop_assert_eq!(of_line, parts, "a paid line is shared as a whole");
                }
            }
        }
    }
}
