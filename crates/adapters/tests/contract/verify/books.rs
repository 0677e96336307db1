//! A consistent database, written row by row as use cases write it.

use crate::catalogue::{price, product};
use crate::checkout_fixtures::{at, begin, card_attempt, did, held_stake, id, insert_checkout, intent, invoice, invoice_item};
use souk_adapters::persistence::Database;
use souk_domain::access::Did;
use souk_domain::billing::{
    BalanceTransaction, BalanceTransactionType, BillingReason, CreditNote, CreditNoteItem, CreditNoteReason, DocumentType, Invoice,
    InvoiceItem, InvoicePayment, InvoiceStatus, NewInvoice, PaymentSource, SaleShare, SharePayout, Stake,
};
use souk_domain::ledger::{Account, Entry, EntryType, Posting};
use souk_domain::payment::{
    Attempt, AttemptStatus, Dispute, DisputeStatus, Intent, IntentStatus, PlannedPayment, Purpose, Refund, RefundStatus, RefundType,
};
use souk_domain::pricing::{Price, PriceShare};
use souk_domain::shared::{Amount, CurrencyId, MethodId, Mode};
use souk_domain::storage::UnitOfWork;

/// The total of each invoice.
const TOTAL: Amount = Amount::new(1_000);

pub fn amount(units: u128) -> Amount {
    Amount::new(units)
}

/// Writes the rows that use cases write.
struct Books {
    unit: Box<dyn UnitOfWork>,
    entries: u32,
}

impl Books {
    async fn open(db: &Database) -> Self {
        insert_checkout(db, &[]).await;
        Self { unit: begin(db).await, entries: 0 }
    }

    async fn post(&mut self, kind: EntryType, subject: &str, debits: &[(Account, u128)], credits: &[(Account, u128)]) {
        let currency: CurrencyId = id("pc_1");
        let debits = debits.iter().map(|(account, units)| Posting::debit(account.clone(), amount(*units), &currency));
        let credits = credits.iter().map(|(account, units)| Posting::credit(account.clone(), amount(*units), &currency));
        self.entries += 1;
        let name = format!("je_{:02}", self.entries);
        let entry = Entry::new(id(&name), Mode::Test, kind, subject, at(1), debits.chain(credits).collect()).expect("balances");
        self.unit.journal().post(&entry).await.expect("posts");
    }

    /// Inserts an open invoice with the next number and one line.
    async fn finalize(&mut self, number: u64) -> Invoice {
        let name = format!("in_{number}");
        let taken = self.unit.invoices().allocate_numbers(Mode::Test, DocumentType::Invoice, 1).await.expect("a number");
        let open = Invoice {
            number: Some(taken),
            status: InvoiceStatus::Open,
            session_id: None,
            intent_id: None,
            finalized_at: Some(at(1)),
            ..invoice(&name)
        };
        let line = invoice_item(&format!("ii_{number}"), &name);
        self.unit.invoices().insert_final_all(&[NewInvoice { invoice: open.clone(), items: vec![line] }]).await.expect("inserts");
        self.post(EntryType::InvoiceFinalized, &name, &[(Account::Receivable, 1_000)], &[(Account::Revenue, 1_000)]).await;
        open
    }

    async fn change(&mut self, before: &Invoice, paid: u128, credited: u128) -> Invoice {
        let after = before.with_amounts(amount(paid), amount(credited), at(1)).expect("no more than its total");
        assert!(self.unit.invoices().update(before, &after).await.expect("writes"));
        after
    }

    /// Inserts a settled payment of a part of an invoice with its own intent and attempt, all with the same number.
    async fn pay(&mut self, before: &Invoice, number: u32, units: u128) -> InvoicePayment {
        let [intent_name, attempt_name, payment_name] = ["pi_", "att_", "inpay_"].map(|prefix| format!("{prefix}{number}"));
        let succeeded = Intent {
            status: IntentStatus::Succeeded,
            amount: amount(units),
            amount_received: amount(units),
            session_id: None,
            invoices: vec![before.id.clone()],
            ..intent(&intent_name)
        };
        self.unit.intents().upsert(&succeeded).await.expect("inserts");
        let settled = Attempt {
            status: AttemptStatus::Settled,
            amount: amount(units),
            session_id: None,
            ..card_attempt(&attempt_name, &intent_name)
        };
        let planned = PlannedPayment { invoice_id: before.id.clone(), amount: amount(units) };
        self.unit.attempts().insert(&settled, &[planned]).await.expect("inserts");
        let source = PaymentSource::Network { attempt: settled.id.clone(), intent: succeeded.id };
        let payment = InvoicePayment::new(id(&payment_name), before.id.clone(), source, amount(units), at(1));
        self.unit.invoice_payments().insert_all(std::slice::from_ref(&payment)).await.expect("inserts");
        self.post(EntryType::Payment, &attempt_name, &[(cash(), units)], &[(Account::Receivable, units)]).await;
        payment
    }

    /// Inserts a credit note over the line of an invoice: the reduced due, the part to the balance, and the part refunded over the network.
    async fn credit(&mut self, of: &Invoice, number: u32, [due, to_balance, refunded]: [u128; 3]) {
        let name = format!("cn_{number}");
        let total = due + to_balance + refunded;
        let taken = self.unit.invoices().allocate_numbers(Mode::Test, DocumentType::CreditNote, 1).await.expect("a number");
        let line = self.unit.invoices().items(&of.id).await.expect("reads").remove(0);
        let credit = souk_domain::billing::ItemCredit {
            id: line.id.clone(),
            credited_before: line.credited,
            credited: line.credited.plus(amount(total)).expect("fits"),
            covers_until: line.covers_until,
        };
        assert!(self.unit.invoices().credit_items(&[credit]).await.expect("writes"));
        let note = CreditNote {
            id: id(&name),
            mode: Mode::Test,
            number: taken,
            invoice_id: of.id.clone(),
            subscription_id: None,
            customer_id: of.customer_id.clone(),
            currency_id: of.currency_id.clone(),
            method_id: of.method_id.clone(),
            reason: CreditNoteReason::Other,
            memo: String::new(),
            total: amount(total),
            due_reduced: amount(due),
            to_balance: amount(to_balance),
            refunded: amount(refunded),
            created_at: at(1),
        };
        let item = CreditNoteItem {
            note_id: note.id.clone(),
            invoice_item_id: line.id,
            amount: amount(total),
            revokes: false,
            pricing_formula: None,
        };
        self.unit.credit_notes().insert(&note, &[item]).await.expect("inserts");
        let credits = [(Account::Receivable, due), (Account::CustomerBalance, to_balance), (Account::RefundsPayable, refunded)];
        self.post(EntryType::CreditNote, &name, &[(Account::Revenue, total)], &credits).await;
    }

    async fn balance(&mut self, name: &str, kind: BalanceTransactionType, units: u128, source: &str) {
        let transaction = BalanceTransaction {
            id: id(name),
            mode: Mode::Test,
            customer_id: id("cus_1"),
            currency_id: id("pc_1"),
            kind,
            amount: amount(units),
            balance_after: Amount::ZERO,
            source: source.to_owned(),
            created_at: at(1),
        };
        self.unit.balances().record(&transaction).await.expect("writes").expect("is enough");
    }

    async fn change_payment(&mut self, before: &InvoicePayment, after: InvoicePayment) {
        assert!(self.unit.invoice_payments().update(before, &after).await.expect("writes"));
    }
}

fn cash() -> Account {
    Account::cash(&id::<MethodId>("pm_card"))
}

/// A pending refund of a payment, created by a credit note.
fn refund(payment: &InvoicePayment, units: u128) -> Refund {
    Refund {
        id: id("re_1"),
        mode: Mode::Test,
        kind: RefundType::Refund,
        status: RefundStatus::Pending,
        amount: amount(units),
        currency_id: id("pc_1"),
        method_id: id("pm_card"),
        customer_id: id("cus_1"),
        intent_id: payment.source.intent().cloned(),
        payment_id: Some(payment.id.clone()),
        credit_note_id: Some(id("cn_1")),
        invoice_id: Some(payment.invoice_id.clone()),
        subscription_id: None,
        reason: CreditNoteReason::Other.name().to_owned(),
        description: String::new(),
        reference: String::new(),
        failure: None,
        failure_count: 0,
        ordered_at: None,
        created_at: at(1),
        updated_at: at(1),
    }
}

/// A dispute that has withdrawn a part of `pi_2` and its fee.
fn dispute(units: u128, fee: u128) -> Dispute {
    Dispute {
        id: id("dp_1"),
        mode: Mode::Test,
        method_id: id("pm_card"),
        provider_id: "du_1".to_owned(),
        intent_id: id("pi_2"),
        customer_id: id("cus_1"),
        amount: amount(units),
        currency_id: id("pc_1"),
        fee: amount(fee),
        fee_currency_id: Some(id("pc_1")),
        status: DisputeStatus::NeedsResponse,
        funds_withdrawn: true,
        movements: 2,
        reason: "fraudulent".to_owned(),
        respond_by: None,
        credit_note_ids: Vec::new(),
        created_at: at(1),
        updated_at: at(1),
    }
}

/// Three invoices of 1,000 each, and a stake:
/// - the first is paid by its network; a credit note credits 100 to the balance and refunds 200, which is pending;
/// - the second is paid by its network and, for 100, by the balance; its network has withdrawn 500 for a dispute;
/// - the third is open, and a credit note has reduced the due by 400.
///
/// Of what they bring, 60 percent belong to one beneficiary, who was paid 100, and 10 percent to another one.
pub async fn consistent_books(db: &Database) {
    let mut books = Books::open(db).await;
    let first = books.finalize(1).await;
    let by_network = books.pay(&first, 1, 1_000).await;
    let first = books.change(&first, 1_000, 0).await;
    books.credit(&first, 1, [0, 100, 200]).await;
    books.balance("cbtxn_1", BalanceTransactionType::CreditNote, 100, "cn_1").await;
    books.change_payment(&by_network, by_network.refund(amount(200)).expect("room")).await;
    assert!(books.unit.intents().reserve_refund(&id("pi_1"), amount(200), at(1)).await.expect("writes"));
    books.unit.refunds().insert(&refund(&by_network, 200)).await.expect("inserts");
    let sending = Attempt { purpose: Purpose::Refund(id("re_1")), session_id: None, amount: amount(200), ..card_attempt("att_3", "pi_1") };
    books.unit.attempts().insert(&sending, &[]).await.expect("inserts");

    let second = books.finalize(2).await;
    let by_network = books.pay(&second, 2, 900).await;
    books.balance("cbtxn_2", BalanceTransactionType::AppliedToInvoice, 100, "in_2").await;
    let by_balance = PaymentSource::Balance(id("cbtxn_2"));
    let by_balance = InvoicePayment::new(id("inpay_3"), second.id.clone(), by_balance, amount(100), at(1));
    books.unit.invoice_payments().insert_all(&[by_balance]).await.expect("inserts");
    books.change(&second, 1_000, 0).await;
    books.post(EntryType::BalanceApplied, "cbtxn_2", &[(Account::CustomerBalance, 100)], &[(Account::Receivable, 100)]).await;
    books.change_payment(&by_network, InvoicePayment { disputed: amount(500), ..by_network.clone() }).await;
    books.unit.disputes().insert(&dispute(500, 15)).await.expect("inserts");
    books.post(EntryType::DisputeWithdrawn, "dp_1/1", &[(Account::Disputes, 500)], &[(cash(), 500)]).await;
    books.post(EntryType::NetworkFee, "dp_1/2", &[(Account::Fees, 15)], &[(cash(), 15)]).await;

    let third = books.finalize(3).await;
    books.change(&third, 0, 400).await;
    books.credit(&third, 2, [400, 0, 0]).await;

    stake(&mut books).await;
    shares(&mut books).await;
    books.unit.commit().await.expect("commits");
}

/// Inserts the shares of the price of all lines, what they have brought, a payout, and one that was reversed.
async fn shares(books: &mut Books) {
    let (first, second) = (did("z1first"), did("z1second"));
    let price = Price { locked: true, ..price("price_1", 0) };
    let share = |beneficiary: &Did, millionths| PriceShare { beneficiary: beneficiary.clone(), millionths };
    books.unit.products().insert(&product("prod_1")).await.expect("inserts");
    books.unit.prices().insert(&price).await.expect("inserts");
    books.unit.prices().insert_shares(&price.id, &[share(&first, 600_000), share(&second, 100_000)]).await.expect("inserts");
    for (number, [of_first, of_second]) in [(1, [420, 70]), (2, [300, 50])] {
        let sale = |beneficiary: &Did, units| SaleShare {
            item_id: id(&format!("ii_{number}")),
            beneficiary: beneficiary.clone(),
            invoice_id: id(&format!("in_{number}")),
            mode: Mode::Test,
            app: None,
            price_id: price.id.clone(),
            currency_id: id("pc_1"),
            amount: amount(units),
            booking: 1,
            created_at: at(1),
            updated_at: at(1),
        };
        books.unit.sale_shares().write_all(&[sale(&first, of_first), sale(&second, of_second)]).await.expect("writes");
        let credits = [(Account::payable("z1first"), of_first), (Account::payable("z1second"), of_second)];
        let revenue = [(Account::Revenue, of_first + of_second)];
        books.post(EntryType::SaleShares, &format!("in_{number}/1"), &revenue, &credits).await;
    }
    let payout = SharePayout {
        id: id("po_1"),
        mode: Mode::Test,
        beneficiary: first,
        currency_id: id("pc_1"),
        method_id: id("pm_card"),
        amount: amount(100),
        paid_before: Amount::ZERO,
        reverses: None,
        is_reversed: false,
        reason: "March".to_owned(),
        recorded_by: did("z1owner"),
        created_at: at(1),
    };
    assert!(books.unit.payees().record(&payout).await.expect("writes"));
    books.post(EntryType::SharePayout, "po_1", &[(Account::payable("z1first"), 100)], &[(cash(), 100)]).await;
    let wrong = SharePayout { id: id("po_2"), amount: amount(50), paid_before: amount(100), ..payout };
    assert!(books.unit.payees().record(&wrong).await.expect("writes"));
    books.post(EntryType::SharePayout, "po_2", &[(Account::payable("z1first"), 50)], &[(cash(), 50)]).await;
    let reversal = SharePayout { id: id("po_3"), paid_before: amount(150), reverses: Some(wrong.id.clone()), ..wrong };
    assert!(books.unit.payees().reverse(&reversal, Amount::ZERO).await.expect("writes"));
    books.post(EntryType::SharePayoutReversed, "po_3", &[(cash(), 50)], &[(Account::payable("z1first"), 50)]).await;
}

/// Inserts a stake that was placed in an incomplete checkout, and its statement.
async fn stake(books: &mut Books) {
    let placed = Attempt {
        purpose: Purpose::of("stake", "stk_1").expect("a purpose"),
        status: AttemptStatus::Settled,
        ..card_attempt("att_4", "pi_1")
    };
    let held = Stake { method_id: placed.method_id.clone(), ..held_stake("stk_1", 1_000) };
    books.unit.stakes().insert(&held).await.expect("inserts");
    books.unit.attempts().insert(&placed, &[]).await.expect("inserts");
    let held = Account::stakes_held(&placed.method_id);
    books.post(EntryType::StakePlaced, "att_4", &[(held, 1_000)], &[(Account::StakesPayable, 1_000)]).await;
    let number = books.unit.invoices().allocate_numbers(Mode::Test, DocumentType::Statement, 1).await.expect("a number");
    let statement = Invoice {
        number: Some(number),
        status: InvoiceStatus::Paid,
        reason: BillingReason::Stake,
        amount_paid: TOTAL,
        session_id: None,
        intent_id: None,
        finalized_at: Some(at(1)),
        paid_at: Some(at(1)),
        ..invoice("in_4")
    };
    let line: InvoiceItem = invoice_item("ii_4", "in_4");
    books.unit.invoices().insert_final_all(&[NewInvoice { invoice: statement, items: vec![line] }]).await.expect("inserts");
}
