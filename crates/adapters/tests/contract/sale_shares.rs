//! Shares of sales: what is booked of payments, credit notes and refunds, what beneficiaries have earned, and the payouts to them.

use crate::catalogue::{price, product};
use crate::checkout_fixtures::{all_at_once, at, begin, context, did, id, insert_checkout, issue, read, user};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::access::{Caller, Passport, Role};
use souk_domain::billing::{
    self, AppEarning, BalanceTransaction, BalanceTransactionType, CreditNoteOrder, CreditNoteReason, CreditTo, Payee, RecordPayoutError,
    ReversePayoutError, SaleShare, SharePayout, SharePayoutOrder, record_share_payout, reverse_share_payout,
};
use souk_domain::ledger::{Account, EntryType, Side};
use souk_domain::pricing::{Price, PriceShare};
use souk_domain::shared::{Amount, Mode, Page, SharePayoutId, StorageError};

/// Inserts `price_1`, of which 60 percent belong to one beneficiary and 10 percent to another, and open invoices with a line of it.
async fn open(db: &Database, invoices: u64) {
    insert_checkout(db, &[]).await;
    let mut unit = begin(db).await;
    unit.products().insert(&product("prod_1")).await.expect("inserts");
    unit.prices().insert(&Price { locked: true, ..price("price_1", 0) }).await.expect("inserts");
    let share = |holder: &str, millionths| PriceShare { beneficiary: did(holder), millionths };
    let shares = [share("z1first", 600_000), share("z1second", 100_000)];
    unit.prices().insert_shares(&id("price_1"), &shares).await.expect("inserts");
    unit.commit().await.expect("commits");
    let mut unit = read(db).await;
    let found = unit.prices().shares_of(&[id("price_1"), id("price_2")]).await.expect("reads");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(id("price_1"), shares.to_vec())]);
    drop(unit);
    issue(db, invoices).await;
}

/// Pays unpaid invoices with a balance. Each use case has its own second, since ids follow from the time and the seed of the context.
async fn pay(db: &Database, second: i64, units: u128) {
    let name = format!("cbtxn_{second}");
    let mut unit = begin(db).await;
    let increase = BalanceTransaction {
        id: id(&name),
        mode: Mode::Test,
        customer_id: id("cus_1"),
        currency_id: id("pc_1"),
        kind: BalanceTransactionType::CreditNote,
        amount: Amount::new(units),
        balance_after: Amount::ZERO,
        source: name,
        created_at: at(0),
    };
    unit.balances().record(&increase).await.expect("records").expect("increases");
    unit.commit().await.expect("commits");
    billing::pay_from_balance(&context(db, at(second)), &id("cus_1"), &id("pc_1")).await.expect("pays");
}

async fn credit(db: &Database, second: i64, units: u128) {
    let order = CreditNoteOrder {
        invoice_id: id("in_1"),
        items: Vec::new(),
        amount: Some(Amount::new(units)),
        reason: CreditNoteReason::Other,
        memo: String::new(),
        to: CreditTo::Balance,
    };
    billing::create_credit_note(&context(db, at(second)), Mode::Test, &order).await.expect("issues");
}

/// The booked shares of the first invoice, in base units.
async fn booked(db: &Database) -> Vec<u128> {
    let shares = read(db).await.sale_shares().of_invoices(&[id("in_1")]).await.expect("reads");
    shares.iter().map(|share| share.amount.base_units()).collect()
}

/// The postings of a booking: account, and credit or debit.
async fn posted(db: &Database, booking: u32) -> Vec<(String, i128)> {
    let entries = read(db).await.journal().of_subject(&format!("in_1/{booking}")).await.expect("reads");
    let postings = entries.iter().filter(|entry| entry.kind == EntryType::SaleShares).flat_map(|entry| entry.postings());
    let signed = |units: u128, side| i128::try_from(units).expect("small") * if side == Side::Credit { 1 } else { -1 };
    postings.map(|posting| (posting.account.name(), signed(posting.amount.base_units(), posting.side))).collect()
}

fn sale(invoice: &str, holder: &str, units: u128, booking: u32) -> SaleShare {
    SaleShare {
        item_id: id(&invoice.replace("in_", "ii_")),
        beneficiary: did(holder),
        invoice_id: id(invoice),
        mode: Mode::Test,
        app: None,
        price_id: id("price_1"),
        currency_id: id("pc_1"),
        amount: Amount::new(units),
        booking,
        created_at: at(1),
        updated_at: at(1),
    }
}

async fn write(db: &Database, shares: &[SaleShare]) -> Result<(), StorageError> {
    let mut unit = begin(db).await;
    unit.sale_shares().write_all(shares).await?;
    unit.commit().await
}

fn caller(role: Role) -> Caller {
    let passport = Passport { id: id("pass_1"), holder: did("z1olga"), role, issued_at: at(0), revoked_at: None, stake_id: None };
    Caller { user: user("z1olga", "Olga", "olga@shop.example"), passports: vec![passport], signed_in_at: at(0) }
}

fn order(units: u128, paid_before: u128) -> SharePayoutOrder {
    SharePayoutOrder {
        beneficiary: did("z1first"),
        currency_id: id("pc_1"),
        amount: Amount::new(units),
        paid_before: Amount::new(paid_before),
        reason: " Sales in March ".to_owned(),
    }
}

async fn record(db: &Database, order: &SharePayoutOrder) -> Result<SharePayout, RecordPayoutError> {
    record_share_payout(&context(db, at(9)), &caller(Role::Owner), Mode::Test, order).await
}

async fn reverse(db: &Database, payout: &SharePayoutId, second: i64) -> Result<SharePayout, ReversePayoutError> {
    reverse_share_payout(&context(db, at(second)), &caller(Role::Owner), Mode::Test, payout, " Wrong amount ").await
}

fn everything() -> Page {
    Page::new(None, Some(100))
}

on_both! {
    async fn shares_are_booked_when_a_sale_is_paid_and_taken_back_when_it_is_credited(db: &TestDatabase) {
        open(db, 1).await;
        assert_eq!(booked(db).await, [0; 0]);
        pay(db, 1, 400).await;
        assert_eq!(booked(db).await, [240, 40]);
        let (first, second, revenue) = ("liabilities:payable:z1first", "liabilities:payable:z1second", "income:revenue");
        let lines = |units: [i128; 3]| [first, second, revenue].map(str::to_owned).into_iter().zip(units).collect::<Vec<_>>();
        assert_eq!(posted(db, 1).await, lines([240, 40, -280]));
        pay(db, 2, 600).await;
        assert_eq!((booked(db).await, posted(db, 2).await), (vec![600, 100], lines([360, 60, -420])));
        credit(db, 3, 300).await;
        assert_eq!((booked(db).await, posted(db, 3).await), (vec![420, 70], lines([-180, -30, 210])));
        credit(db, 4, 700).await;
        assert_eq!((booked(db).await, posted(db, 4).await), (vec![0, 0], lines([-420, -70, 490])));
        let mut unit = read(db).await;
        let page = unit.payees().earnings(Mode::Test, &did("z1first"), &everything()).await.expect("reads");
        assert_eq!((page.count, page.list), (1, vec![AppEarning { app: None, currency_id: id("pc_1"), earned: Amount::ZERO, sales: 1 }]));
    }

    async fn an_invoice_without_shares_books_nothing(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        issue(db, 1).await;
        pay(db, 1, 1_000).await;
        assert_eq!((booked(db).await, posted(db, 1).await), (vec![], vec![]));
        assert_eq!(read(db).await.payees().list(Mode::Test, &everything()).await.expect("lists").count, 0);
    }

    async fn a_booking_is_written_once(db: &TestDatabase) {
        open(db, 1).await;
        write(db, &[sale("in_1", "z1first", 5, 1)]).await.expect("writes");
        let again = write(db, &[sale("in_1", "z1first", 7, 1)]).await;
        assert!(matches!(again, Err(StorageError::Conflict)), "{again:?}");
        write(db, &[sale("in_1", "z1first", 7, 2)]).await.expect("writes the next booking");
        let shares = read(db).await.sale_shares().of_invoices(&[id("in_1")]).await.expect("reads");
        assert_eq!(shares, [sale("in_1", "z1first", 7, 2)]);
    }

    async fn earnings_add_up_exactly_however_large_they_are(db: &TestDatabase) {
        open(db, 3).await;
        let huge = 98_765_432_109_876_543_210_987_654_321_098_765_432_u128;
        write(db, &[sale("in_1", "z1first", huge, 1), sale("in_2", "z1first", huge, 1), sale("in_3", "z1first", 1, 1)]).await.expect("writes");
        write(db, &[SaleShare { app: Some(did("z1app")), ..sale("in_1", "z1second", 3, 1) }]).await.expect("writes");
        let payee = |holder: &str, earned| Payee {
            mode: Mode::Test,
            beneficiary: did(holder),
            currency_id: id("pc_1"),
            earned: Amount::new(earned),
            recorded: Amount::ZERO,
            reversed: Amount::ZERO,
        };
        let mut unit = read(db).await;
        let listed = unit.payees().list(Mode::Test, &everything()).await.expect("lists");
        assert_eq!((listed.count, listed.list), (2, vec![payee("z1first", 2 * huge + 1), payee("z1second", 3)]));
        let second_page = unit.payees().list(Mode::Test, &Page::new(Some(2), Some(1))).await.expect("lists");
        assert_eq!(second_page.list, [payee("z1second", 3)]);
        assert_eq!(unit.payees().of_beneficiary(Mode::Test, &did("z1first")).await.expect("reads"), [payee("z1first", 2 * huge + 1)]);
        assert_eq!(unit.payees().of_beneficiary(Mode::Live, &did("z1first")).await.expect("reads"), []);
        let of_app = unit.payees().earnings(Mode::Test, &did("z1second"), &everything()).await.expect("reads");
        let expected = AppEarning { app: Some(did("z1app")), currency_id: id("pc_1"), earned: Amount::new(3), sales: 1 };
        assert_eq!(of_app.list, [expected]);
    }

    async fn a_beneficiary_of_sales_is_no_unused_user(db: &TestDatabase) {
        open(db, 1).await;
        write(db, &[sale("in_1", "z1first", 600, 1)]).await.expect("writes");
        let mut unit = begin(db).await;
        for holder in ["z1first", "z1second"] {
            unit.users().upsert(&user(holder, "Nobody", "nobody@mail.example")).await.expect("inserts");
        }
        unit.personal_data().delete_unused_users(at(30), at(50), 9).await.expect("examines");
        assert!(unit.users().find(&did("z1first")).await.expect("reads").is_some());
        assert!(unit.users().find(&did("z1second")).await.expect("reads").is_none());
        unit.commit().await.expect("commits");
    }

    async fn a_payout_is_an_entry_of_the_journal_and_lowers_what_is_payable(db: &TestDatabase) {
        open(db, 1).await;
        write(db, &[sale("in_1", "z1first", 600, 1)]).await.expect("writes");
        let payout = record(db, &order(250, 0)).await.expect("records");
        assert_eq!((payout.reason.as_str(), payout.recorded_by.as_str(), payout.method_id.as_str()), ("Sales in March", "z1olga", "pm_card"));
        let mut unit = read(db).await;
        let payee = unit.payees().of_beneficiary(Mode::Test, &did("z1first")).await.expect("reads").remove(0);
        assert_eq!((payee.payable(), payee.overpaid()), (Amount::new(350), Amount::ZERO));
        let entry = unit.journal().of_subject(payout.id.as_str()).await.expect("reads").remove(0);
        let accounts: Vec<_> = entry.postings().iter().map(|posting| (posting.account.clone(), posting.side)).collect();
        assert_eq!(accounts, [(Account::payable("z1first"), Side::Debit), (Account::cash(&id("pm_card")), Side::Credit)]);
        let all = unit.payees().payouts(Mode::Test, None, &everything()).await.expect("lists");
        assert_eq!((all.count, all.list), (1, vec![payout.clone()]));
        assert_eq!(unit.payees().payouts(Mode::Test, Some(&did("z1first")), &everything()).await.expect("lists").list, [payout]);
        assert_eq!(unit.payees().payouts(Mode::Test, Some(&did("z1second")), &everything()).await.expect("lists").count, 0);
        drop(unit);
        // A refund after the payout: the beneficiary owes the difference, and gets nothing until sales have made up for it.
        write(db, &[sale("in_1", "z1first", 100, 2)]).await.expect("writes");
        let payee = read(db).await.payees().of_beneficiary(Mode::Test, &did("z1first")).await.expect("reads").remove(0);
        assert_eq!((payee.payable(), payee.overpaid()), (Amount::ZERO, Amount::new(150)));
        assert!(matches!(record(db, &order(1, 250)).await, Err(RecordPayoutError::ExceedsPayable)));
    }

    async fn a_payout_is_refused_that_is_not_due_or_not_explained(db: &TestDatabase) {
        open(db, 1).await;
        write(db, &[sale("in_1", "z1first", 600, 1)]).await.expect("writes");
        let refused = |order: SharePayoutOrder| async move { record(db, &order).await.expect_err("is refused") };
        assert!(matches!(refused(order(601, 0)).await, RecordPayoutError::ExceedsPayable));
        assert!(matches!(refused(order(0, 0)).await, RecordPayoutError::NoAmount));
        assert!(matches!(refused(order(10, 1)).await, RecordPayoutError::Changed));
        assert!(matches!(refused(SharePayoutOrder { reason: " ".to_owned(), ..order(10, 0) }).await, RecordPayoutError::ReasonRequired));
        assert!(matches!(refused(SharePayoutOrder { reason: "x".repeat(501), ..order(10, 0) }).await, RecordPayoutError::Input(_)));
        assert!(matches!(refused(SharePayoutOrder { beneficiary: did("z1none"), ..order(10, 0) }).await, RecordPayoutError::NotFound));
        for role in [Role::Admin, Role::Reviewer, Role::Developer] {
            let refused = record_share_payout(&context(db, at(9)), &caller(role), Mode::Test, &order(10, 0)).await;
            assert!(matches!(refused, Err(RecordPayoutError::NotOwner)), "{role:?}");
        }
        assert_eq!(read(db).await.payees().payouts(Mode::Test, None, &everything()).await.expect("lists").count, 0);
    }

    async fn a_payout_is_reversed_once_and_its_amount_is_payable_again(db: &TestDatabase) {
        open(db, 1).await;
        write(db, &[sale("in_1", "z1first", 600, 1)]).await.expect("writes");
        let payout = record(db, &order(500, 0)).await.expect("records");
        let results = all_at_once(db, 4, |db, number| {
            let payout = payout.id.clone();
            async move { reverse(&db, &payout, 10 + i64::from(number)).await.map(drop) }
        });
        let results = results.await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        assert!(results.iter().filter_map(|result| result.as_ref().err()).all(|error| matches!(error, ReversePayoutError::Reversed)));
        let mut unit = read(db).await;
        let payee = unit.payees().of_beneficiary(Mode::Test, &did("z1first")).await.expect("reads").remove(0);
        assert_eq!((payee.paid_out(), payee.recorded, payee.payable()), (Amount::ZERO, Amount::new(500), Amount::new(600)));
        let mut listed = unit.payees().payouts(Mode::Test, Some(&did("z1first")), &everything()).await.expect("lists").list;
        assert_eq!(listed.len(), 2);
        let (reversed, reversal) = (listed.remove(1), listed.remove(0));
        assert_eq!(reversed, SharePayout { is_reversed: true, ..payout.clone() });
        assert_eq!((reversal.reverses.as_ref(), reversal.amount, reversal.reason.as_str()), (Some(&payout.id), payout.amount, "Wrong amount"));
        let entry = unit.journal().of_subject(reversal.id.as_str()).await.expect("reads").remove(0);
        assert_eq!(entry.kind, EntryType::SharePayoutReversed);
        let postings: Vec<_> = entry.postings().iter().map(|posting| (posting.account.clone(), posting.side, posting.amount)).collect();
        let (cash, payable) = (Account::cash(&id("pm_card")), Account::payable("z1first"));
        assert_eq!(postings, [(cash, Side::Debit, payout.amount), (payable, Side::Credit, payout.amount)]);
        drop(unit);
        assert!(matches!(reverse(db, &reversal.id, 20).await, Err(ReversePayoutError::IsReversal)));
        assert!(matches!(reverse(db, &id("po_none"), 20).await, Err(ReversePayoutError::NotFound)));
        let admin = reverse_share_payout(&context(db, at(20)), &caller(Role::Admin), Mode::Test, &payout.id, "Wrong").await;
        assert!(matches!(admin, Err(ReversePayoutError::NotOwner)));
        // The order that was reversed is not accepted again, although nothing is paid out at the moment.
        assert!(matches!(record(db, &order(500, 0)).await, Err(RecordPayoutError::Changed)));
        let right = record_share_payout(&context(db, at(21)), &caller(Role::Owner), Mode::Test, &order(450, 500)).await.expect("records");
        assert_eq!((right.paid_before, right.is_reversed), (Amount::new(500), false));
        let payee = read(db).await.payees().of_beneficiary(Mode::Test, &did("z1first")).await.expect("reads").remove(0);
        assert_eq!((payee.paid_out(), payee.payable()), (Amount::new(450), Amount::new(150)));
    }

    async fn a_payout_that_is_sent_several_times_at_once_is_recorded_once(db: &TestDatabase) {
        open(db, 1).await;
        write(db, &[sale("in_1", "z1first", 600, 1)]).await.expect("writes");
        let results = all_at_once(db, 6, |db, _| async move { record(&db, &order(100, 0)).await.map(drop) }).await;
        let recorded = results.iter().filter(|result| result.is_ok()).count();
        assert_eq!(recorded, 1, "{results:?}");
        assert!(results.iter().filter_map(|result| result.as_ref().err()).all(|error| matches!(error, RecordPayoutError::Changed)));
        let payee = read(db).await.payees().of_beneficiary(Mode::Test, &did("z1first")).await.expect("reads").remove(0);
        assert_eq!(payee.paid_out(), Amount::new(100));
    }
}
