//! `souk verify`: what is right holds, and each thing that can be wrong is found by its name.

use crate::till::{at, begin, card_attempt, id, intent, invoice, invoice_item, open_till};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_adapters::verify::{Check, verify};
use souk_domain::billing::{Credit, Invoice, InvoiceStatus};
use souk_domain::ledger::{Entry, Movement, Reason};
use souk_domain::payment::{Attempt, AttemptStatus, Intent, IntentStatus, Purpose};
use souk_domain::shared::{Amount, Mode};

const TOTAL: Amount = Amount::new(1_000);

/// Two paid invoices, numbers 1 and 2, with everything that belongs to a payment.
async fn two_sales(db: &Database) {
    open_till(db, &[]).await;
    let mut unit = begin(db).await;
    for number in 1..=2u32 {
        let (invoice_name, intent_name) = (format!("in_{number}"), format!("pi_{number}"));
        let paid = Invoice {
            number: Some(u64::from(number)),
            status: InvoiceStatus::Paid,
            amount_paid: TOTAL,
            session_id: None,
            intent_id: Some(id(&intent_name)),
            finalized_at: Some(at(1)),
            paid_at: Some(at(1)),
            ..invoice(&invoice_name)
        };
        unit.invoices().take_numbers(Mode::Test, 1).await.expect("a number");
        unit.invoices().insert_final(&paid, &[invoice_item(&format!("ii_{number}"), &invoice_name)]).await.expect("inserts");
        let succeeded = Intent {
            status: IntentStatus::Succeeded,
            amount_received: TOTAL,
            session_id: None,
            invoices: vec![paid.id.clone()],
            ..intent(&intent_name)
        };
        unit.intents().put(&succeeded).await.expect("inserts");
        let settled = Attempt { status: AttemptStatus::Settled, ..card_attempt(&format!("att_{number}"), &intent_name) };
        unit.attempts().insert(&settled, &succeeded.invoices).await.expect("inserts");
        let moved = Movement { method_id: &settled.method_id, currency_id: &settled.currency_id, amount: TOTAL };
        let entry = Entry::of_movement(id(&format!("je_{number}")), Mode::Test, Reason::Payment, settled.id.as_str(), at(1), &moved);
        unit.journal().book(&entry.expect("balances")).await.expect("books");
    }
    unit.commit().await.expect("commits");
}

async fn broken(db: &Database) -> Vec<Check> {
    let mut checks = Vec::new();
    verify(db, &mut |check| checks.push(check)).await.expect("reads");
    assert!(checks.len() > 10, "some checks were left out");
    checks.into_iter().filter(|check| !check.breaches.is_empty()).collect()
}

async fn change(db: &Database, sql: &'static str) {
    let mut session = db.begin().await.expect("begins");
    assert!(session.query(sql).execute().await.expect(sql) > 0, "{sql} changed nothing");
    session.commit().await.expect("commits");
}

/// What a change breaks, by title; the change is taken back.
async fn breaks(db: &Database, sql: &'static str, back: &'static str) -> Vec<&'static str> {
    change(db, sql).await;
    let titles = broken(db).await.into_iter().map(|check| check.title).collect();
    change(db, back).await;
    titles
}

on_both! {
    async fn an_empty_database_and_a_sound_one_hold(db: &TestDatabase) {
        assert_eq!(broken(db).await, []);
        two_sales(db).await;
        assert_eq!(broken(db).await, []);
    }

    async fn a_stake_may_be_taken_in_parts_but_not_twice(db: &TestDatabase) {
        open_till(db, &[]).await;
        let amounts = [("stake", 1_000), ("slash", 400), ("slash", 500), ("return_stake", 100)];
        let mut unit = begin(db).await;
        for (number, (purpose, amount)) in amounts.into_iter().enumerate() {
            let settled = Attempt {
                purpose: Purpose::of(purpose, "sub_1").expect("a purpose"),
                session_id: None,
                amount: Amount::new(amount),
                status: AttemptStatus::Settled,
                ..card_attempt(&format!("att_{number}"), "pi_1")
            };
            unit.attempts().insert(&settled, &[]).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let titles = async || broken(db).await.into_iter().map(|check| check.title).collect::<Vec<_>>();
        let (twice, too_much) = ("nothing was paid twice", "no more is taken of a stake or returned than was staked");
        let sound = titles().await;
        assert!(!sound.contains(&twice) && !sound.contains(&too_much), "{sound:?}");
        change(db, "UPDATE attempts SET amount = (SELECT amount FROM attempts WHERE id = 'att_2') WHERE id = 'att_3'").await;
        assert!(titles().await.contains(&too_much));
    }

    async fn each_breach_is_found_by_its_name(db: &TestDatabase) {
        two_sales(db).await;
        let cases = [
            (
                "UPDATE journal_postings SET currency_id = 'pc_2' WHERE entry_id = 'je_1' AND position = 0",
                "UPDATE journal_postings SET currency_id = 'pc_1'",
                "journal entries balance in each currency",
            ),
            (
                "UPDATE journal_postings SET account = 'assets:network:pm_other' WHERE entry_id = 'je_1' AND position = 0",
                "UPDATE journal_postings SET account = 'assets:network:pm_card' WHERE position = 0",
                "accounts of networks and deposits equal what was settled there",
            ),
            (
                "UPDATE invoices SET reason = 'stake' WHERE id = 'in_1'",
                "UPDATE invoices SET reason = 'manual'",
                "paid invoices less refunds equal the journal's income and credit",
            ),
            (
                "UPDATE journal_entries SET subject = 'att_9' WHERE id = 'je_1'",
                "UPDATE journal_entries SET subject = 'att_1' WHERE id = 'je_1'",
                "settled attempts are booked, and nothing else is",
            ),
            (
                "UPDATE attempts SET subject = 'pi_1' WHERE id = 'att_2'",
                "UPDATE attempts SET subject = 'pi_2' WHERE id = 'att_2'",
                "nothing was paid twice",
            ),
            (
                "INSERT INTO attempt_invoices VALUES ('att_1', 'in_2', false)",
                "DELETE FROM attempt_invoices WHERE attempt_id = 'att_1' AND invoice_id = 'in_2'",
                "nothing was paid twice",
            ),
            (
                "UPDATE attempt_invoices SET open = true WHERE attempt_id = 'att_1'",
                "UPDATE attempt_invoices SET open = false",
                "nothing has two open attempts",
            ),
            (
                "UPDATE payment_intents SET status = 'processing' WHERE id = 'pi_1'",
                "UPDATE payment_intents SET status = 'succeeded'",
                "intents say what their attempts say",
            ),
            (
                "UPDATE invoices SET paid_at = NULL WHERE id = 'in_1'",
                "UPDATE invoices SET paid_at = updated_at",
                "invoices are paid in full or not at all, by a payment that succeeded",
            ),
            (
                "UPDATE invoices SET number = 3 WHERE id = 'in_2'",
                "UPDATE invoices SET number = 2 WHERE id = 'in_2'",
                "invoice numbers have neither gaps nor doubles",
            ),
            (
                "UPDATE invoice_series SET last_number = 9",
                "UPDATE invoice_series SET last_number = CASE WHEN livemode THEN 0 ELSE 2 END",
                "invoice numbers have neither gaps nor doubles",
            ),
            (
                "UPDATE invoice_items SET amount = unit_amount WHERE id = 'ii_1'",
                "UPDATE invoice_items SET amount = (SELECT total FROM invoices WHERE id = 'in_1')",
                "lines equal their calculations and sum to the total",
            ),
            (
                "UPDATE payment_intents SET amount_refunded = amount WHERE id = 'pi_1'",
                "UPDATE payment_intents SET amount_refunded = (SELECT amount_refunded FROM payment_intents WHERE id = 'pi_2')",
                "refunds do not exceed their payments",
            ),
            (
                "INSERT INTO refunds SELECT 're_9', livemode, 'credit', 'succeeded', total, currency_id, method_id, customer_id, NULL, id,
                     NULL, '', '', '', created_at, updated_at FROM invoices WHERE id = 'in_1'",
                "DELETE FROM refunds",
                "refunds as credit do not exceed what credit paid",
            ),
            (
                "INSERT INTO refunds SELECT 're_9', livemode, 'credit', 'succeeded', amount_refunded, currency_id, method_id, customer_id,
                     id, 'in_1', NULL, '', '', '', created_at, updated_at FROM payment_intents WHERE id = 'pi_1'",
                "DELETE FROM refunds",
                "refunds as credit are of paid invoices, and booked",
            ),
            (
                "UPDATE journal_entries SET reason = 'credit_returned' WHERE id = 'je_1'",
                "UPDATE journal_entries SET reason = 'payment'",
                "refunds as credit are of paid invoices, and booked",
            ),
            (
                "UPDATE journal_entries SET reason = 'credit_released' WHERE id = 'je_1'",
                "UPDATE journal_entries SET reason = 'payment'",
                "promised credit was given for what was paid",
            ),
            (
                "INSERT INTO promised_credits SELECT 'in_1', amount FROM attempts WHERE id = 'att_1'",
                "DELETE FROM promised_credits",
                "credit is promised for what stands unpaid",
            ),
            (
                "UPDATE invoices SET subscription_id = 'sub_9' WHERE id = 'in_1'",
                "UPDATE invoices SET subscription_id = NULL",
                "invoices refer to what is there, in their mode",
            ),
            (
                "UPDATE customers SET livemode = true",
                "UPDATE customers SET livemode = false",
                "invoices refer to what is there, in their mode",
            ),
            (
                "UPDATE attempts SET purpose = 'refund' WHERE id = 'att_1'",
                "UPDATE attempts SET purpose = 'payment'",
                "payments and attempts refer to what is there, in their mode",
            ),
        ];
        for (sql, back, title) in cases {
            let titles = breaks(db, sql, back).await;
            assert!(titles.contains(&title), "{sql} broke {titles:?}");
            assert_eq!(broken(db).await, [], "{back} did not mend it");
        }
    }

    async fn nobody_holds_more_credit_than_they_paid_and_did_not_get_back(db: &TestDatabase) {
        two_sales(db).await;
        let titles = async || broken(db).await.into_iter().map(|check| check.title).collect::<Vec<_>>();
        let title = "customers hold no more credit than they paid";
        let mut unit = begin(db).await;
        let paid = intent("pi_1");
        let credit = |amount| Credit { customer_id: paid.customer_id.clone(), currency_id: paid.currency_id.clone(), amount: Amount::new(amount) };
        unit.credits().give(&credit(2_000)).await.expect("gives");
        unit.commit().await.expect("commits");
        assert!(!titles().await.contains(&title), "two thousand were paid");
        change(db, "UPDATE payment_intents SET amount_refunded = amount WHERE id = 'pi_1'").await;
        assert!(titles().await.contains(&title), "of which one went back");
        change(db, "UPDATE payment_intents SET amount_refunded = (SELECT amount_refunded FROM payment_intents WHERE id = 'pi_2')").await;
        let mut unit = begin(db).await;
        unit.credits().give(&credit(1)).await.expect("gives");
        unit.commit().await.expect("commits");
        assert!(titles().await.contains(&title), "one more than was paid");
    }

    async fn no_more_is_promised_for_an_invoice_than_it_asks(db: &TestDatabase) {
        two_sales(db).await;
        let titles = async || broken(db).await.into_iter().map(|check| check.title).collect::<Vec<_>>();
        let title = "promised credit is within what its invoice asks";
        for (amount, is_within) in [(1_000, true), (1, false)] {
            let mut unit = begin(db).await;
            unit.credits().promise(&id("in_1"), Amount::new(amount)).await.expect("promises");
            unit.commit().await.expect("commits");
            assert_eq!(titles().await.contains(&title), !is_within);
        }
    }
}
