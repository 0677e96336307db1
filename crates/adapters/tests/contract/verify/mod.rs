//! `souk verify`: a consistent database passes, and each breach is reported under the title of its rule.

mod books;

use crate::checkout_fixtures::{at, begin, card_attempt, held_stake, id, insert_checkout, user};
use crate::uploads::uploaded_app;
use books::{amount, consistent_books};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_adapters::verify::{Check, verify};
use souk_domain::access::{Passport, Role};
use souk_domain::billing::{Stake, StakePurpose, StakeStatus, StakeSubject};
use souk_domain::operation::Restore;
use souk_domain::payment::{Attempt, AttemptStatus, Purpose};

async fn broken(db: &Database) -> Vec<Check> {
    let mut checks = Vec::new();
    verify(db, &mut |check| checks.push(check)).await.expect("reads");
    assert!(checks.len() > 40, "some checks were left out: {}", checks.len());
    checks.into_iter().filter(|check| !check.breaches.is_empty()).collect()
}

async fn titles(db: &Database) -> Vec<&'static str> {
    broken(db).await.into_iter().map(|check| check.title).collect()
}

async fn change(db: &Database, sql: &'static str) {
    let mut connection = db.begin().await.expect("begins");
    assert!(connection.query(sql).execute().await.expect(sql) > 0, "{sql} changed nothing");
    connection.commit().await.expect("commits");
}

/// A change that breaks a rule.
struct Case {
    change: &'static str,
    /// The statement that undoes the change.
    undo: &'static str,
    breaks: &'static str,
}

const fn case(change: &'static str, undo: &'static str, breaks: &'static str) -> Case {
    Case { change, undo, breaks }
}

const CASES: &[Case] = &[
    case(
        "UPDATE journal_postings SET currency_id = 'pc_2' WHERE entry_id = 'je_01' AND position = 0",
        "UPDATE journal_postings SET currency_id = 'pc_1'",
        "journal entries balance in each currency",
    ),
    case(
        "UPDATE journal_postings SET account = 'assets:cash:pm_other' WHERE entry_id = 'je_02' AND position = 0",
        "UPDATE journal_postings SET account = 'assets:cash:pm_card' WHERE account = 'assets:cash:pm_other'",
        "cash equals the networks' movements",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:suspense' WHERE entry_id = 'je_01' AND position = 0",
        "UPDATE journal_postings SET account = 'assets:receivable' WHERE account = 'liabilities:suspense'",
        "receivable equals the remaining amounts of finalized invoices",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:suspense' WHERE account = 'assets:stakes_held:pm_card'",
        "UPDATE journal_postings SET account = 'assets:stakes_held:pm_card' WHERE account = 'liabilities:suspense'",
        "stakes_held equals the stakes that networks hold",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:suspense' WHERE account = 'liabilities:stakes_payable'",
        "UPDATE journal_postings SET account = 'liabilities:stakes_payable' WHERE account = 'liabilities:suspense'",
        "stakes_payable equals the stakes that networks hold",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:suspense' WHERE account = 'liabilities:customer_balance' AND side = 'debit'",
        "UPDATE journal_postings SET account = 'liabilities:customer_balance' WHERE account = 'liabilities:suspense'",
        "customer_balance equals the balances of all customers",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:suspense' WHERE account = 'liabilities:refunds_payable'",
        "UPDATE journal_postings SET account = 'liabilities:refunds_payable' WHERE account = 'liabilities:suspense'",
        "refunds_payable equals the refunds that are pending or failed",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:suspense' WHERE account = 'assets:disputes'",
        "UPDATE journal_postings SET account = 'assets:disputes' WHERE account = 'liabilities:suspense'",
        "disputes equals the amounts withdrawn by undecided disputes",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:suspense' WHERE account = 'income:revenue' AND entry_id = 'je_01'",
        "UPDATE journal_postings SET account = 'income:revenue' WHERE account = 'liabilities:suspense'",
        "revenue equals invoices less credit and shares of sales, plus stakes forfeited without an overdue invoice",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:suspense' WHERE account = 'expenses:fees'",
        "UPDATE journal_postings SET account = 'expenses:fees' WHERE account = 'liabilities:suspense'",
        "fees equals the fees of disputes",
    ),
    case(
        "UPDATE journal_postings SET account = 'liabilities:payable:z1third' WHERE account = 'liabilities:payable:z1second'",
        "UPDATE journal_postings SET account = 'liabilities:payable:z1second' WHERE account = 'liabilities:payable:z1third'",
        "payable equals the shares of sales less the payouts to beneficiaries",
    ),
    case(
        "UPDATE sale_shares SET amount = (SELECT amount FROM sale_shares WHERE invoice_id = 'in_2' AND beneficiary = 'z1first')
         WHERE invoice_id = 'in_1' AND beneficiary = 'z1first'",
        "UPDATE sale_shares SET amount = (SELECT p.amount FROM journal_postings p JOIN journal_entries e ON e.id = p.entry_id
             WHERE e.subject = 'in_1/1' AND p.account = 'liabilities:payable:z1first')
         WHERE invoice_id = 'in_1' AND beneficiary = 'z1first'",
        "shares of sales equal those of what invoices keep",
    ),
    case(
        "UPDATE journal_entries SET subject = 'in_9/1' WHERE subject = 'in_1/1'",
        "UPDATE journal_entries SET subject = 'in_1/1' WHERE subject = 'in_9/1'",
        "each booking of shares is posted once",
    ),
    case(
        "UPDATE share_payouts SET beneficiary = 'z1second'",
        "UPDATE share_payouts SET beneficiary = 'z1first'",
        "what was paid out to beneficiaries is the sum of their payouts",
    ),
    case(
        "UPDATE share_payouts SET livemode = TRUE",
        "UPDATE share_payouts SET livemode = FALSE",
        "shares of sales, payouts and prices of apps refer to rows of their mode",
    ),
    case(
        "UPDATE journal_entries SET subject = 'po_9' WHERE subject = 'po_1'",
        "UPDATE journal_entries SET subject = 'po_1' WHERE subject = 'po_9'",
        "payouts to beneficiaries are posted once",
    ),
    case(
        "UPDATE share_payouts SET reverses = NULL WHERE id = 'po_3'",
        "UPDATE share_payouts SET reverses = 'po_2' WHERE id = 'po_3'",
        "what was reversed of beneficiaries is the sum of their reversals",
    ),
    case(
        "UPDATE journal_entries SET subject = 'po_9' WHERE subject = 'po_3'",
        "UPDATE journal_entries SET subject = 'po_3' WHERE subject = 'po_9'",
        "reversed payouts to beneficiaries are posted once",
    ),
    case(
        "UPDATE share_payouts SET amount = (SELECT amount FROM share_payouts WHERE id = 'po_1') WHERE id = 'po_3'",
        "UPDATE share_payouts SET amount = (SELECT amount FROM share_payouts WHERE id = 'po_2') WHERE id = 'po_3'",
        "shares of sales, payouts and prices of apps refer to rows of their mode",
    ),
    case(
        "UPDATE payment_intents SET customer_id = 'cus_2' WHERE id = 'pi_1'",
        "UPDATE payment_intents SET customer_id = 'cus_1'",
        "every customer's payments equal invoices, balance and pending refunds",
    ),
    case(
        "UPDATE journal_entries SET subject = 'in_9' WHERE subject = 'in_1'",
        "UPDATE journal_entries SET subject = 'in_1' WHERE subject = 'in_9'",
        "finalized invoices are posted once",
    ),
    case(
        "UPDATE journal_entries SET subject = 'att_9' WHERE subject = 'att_1'",
        "UPDATE journal_entries SET subject = 'att_1' WHERE subject = 'att_9'",
        "settled payments are posted once",
    ),
    case(
        "UPDATE journal_entries SET livemode = true WHERE subject = 'cn_1'",
        "UPDATE journal_entries SET livemode = false",
        "credit notes are posted once",
    ),
    case(
        "UPDATE journal_entries SET subject = 'cbtxn_9' WHERE subject = 'cbtxn_2'",
        "UPDATE journal_entries SET subject = 'cbtxn_2' WHERE subject = 'cbtxn_9'",
        "balance that paid an invoice is posted once",
    ),
    case(
        "UPDATE journal_entries SET type = 'balance_unapplied' WHERE subject = 'cbtxn_2'",
        "UPDATE journal_entries SET type = 'balance_applied' WHERE subject = 'cbtxn_2'",
        "balance that a void invoice returned is posted once",
    ),
    case(
        "UPDATE journal_entries SET subject = 'att_9' WHERE subject = 'att_4'",
        "UPDATE journal_entries SET subject = 'att_4' WHERE subject = 'att_9'",
        "placed stakes are posted once",
    ),
    case(
        "UPDATE journal_entries SET type = 'stake_returned' WHERE subject = 'att_4'",
        "UPDATE journal_entries SET type = 'stake_placed' WHERE subject = 'att_4'",
        "returned stakes are posted once",
    ),
    case(
        "UPDATE journal_entries SET type = 'stake_forfeited' WHERE subject = 'att_4'",
        "UPDATE journal_entries SET type = 'stake_placed' WHERE subject = 'att_4'",
        "forfeited stakes are posted once",
    ),
    case("UPDATE refunds SET status = 'succeeded'", "UPDATE refunds SET status = 'pending'", "sent refunds are posted once"),
    case(
        "UPDATE refunds SET status = 'canceled'",
        "UPDATE refunds SET status = 'pending'",
        "refunds that were moved to the balance are posted once",
    ),
    case("UPDATE refunds SET kind = 'balance_payout'", "UPDATE refunds SET kind = 'refund'", "payouts of a balance are posted once"),
    case(
        "UPDATE refunds SET kind = 'balance_payout', status = 'failed'",
        "UPDATE refunds SET kind = 'refund', status = 'pending'",
        "declined payouts are posted once",
    ),
    case("UPDATE disputes SET movements = 3", "UPDATE disputes SET movements = 2", "each movement of a dispute is posted once"),
    case(
        "UPDATE journal_entries SET type = 'refund_failed' WHERE subject = 'dp_1/1'",
        "UPDATE journal_entries SET type = 'dispute_withdrawn' WHERE subject = 'dp_1/1'",
        "entries of disputes and late refund failures have their object",
    ),
    case(
        "UPDATE attempt_invoices SET open = true WHERE attempt_id = 'att_1'",
        "UPDATE attempt_invoices SET open = false",
        "every subject has at most one open attempt",
    ),
    case(
        "UPDATE attempts SET subject = 'pi_1' WHERE id = 'att_2'",
        "UPDATE attempts SET subject = 'pi_2' WHERE id = 'att_2'",
        "nothing was paid twice",
    ),
    case(
        "UPDATE invoices SET reason = 'recharge' WHERE id = 'in_4'",
        "UPDATE invoices SET reason = 'stake' WHERE id = 'in_4'",
        "every top-up has one invoice",
    ),
    case(
        "UPDATE payment_intents SET status = 'processing' WHERE id = 'pi_1'",
        "UPDATE payment_intents SET status = 'succeeded'",
        "intents match their attempts",
    ),
    case(
        "UPDATE attempt_invoices SET amount = (SELECT amount FROM attempts WHERE id = 'att_2') WHERE attempt_id = 'att_1'",
        "UPDATE attempt_invoices SET amount = (SELECT amount FROM attempts WHERE id = 'att_1') WHERE attempt_id = 'att_1'",
        "an attempt's planned payments sum to its amount",
    ),
    case(
        "UPDATE invoice_payments SET attempt_id = 'att_2' WHERE id = 'inpay_1'",
        "UPDATE invoice_payments SET attempt_id = 'att_1' WHERE id = 'inpay_1'",
        "settled payments are applied to invoices or to the balance",
    ),
    case(
        "UPDATE attempts SET purpose = 'slash' WHERE id = 'att_4'",
        "UPDATE attempts SET purpose = 'stake' WHERE id = 'att_4'",
        "a stake's amounts match its attempts",
    ),
    case(
        "UPDATE stakes SET amount_forfeited = amount",
        "UPDATE stakes SET amount_forfeited = amount_returned",
        "a stake's amounts match its attempts",
    ),
    case(
        "UPDATE stakes SET reserved_by = 'att_9', reserved_for = 'return'",
        "UPDATE stakes SET reserved_by = NULL, reserved_for = NULL",
        "reserved stakes have an open attempt, and released stakes are processed",
    ),
    case(
        "UPDATE stakes SET status = 'releasing', release_reason = 'ended'",
        "UPDATE stakes SET status = 'held', release_reason = NULL",
        "reserved stakes have an open attempt, and released stakes are processed",
    ),
    case(
        "UPDATE invoice_items SET amount = unit_amount WHERE id = 'ii_2'",
        "UPDATE invoice_items SET amount = (SELECT total FROM invoices WHERE id = 'in_2') WHERE id = 'ii_2'",
        "lines equal their calculations and sum to the total",
    ),
    case(
        "UPDATE invoice_items SET discount = amount WHERE id = 'ii_1'",
        "UPDATE invoice_items SET discount = tax",
        "no line is credited by more than its amount",
    ),
    case(
        "UPDATE invoices SET status = 'open', paid_at = NULL WHERE id = 'in_1'",
        "UPDATE invoices SET status = 'paid', paid_at = updated_at WHERE id = 'in_1'",
        "every invoice's status matches its remaining amount",
    ),
    case(
        "UPDATE invoice_payments SET disputed = amount WHERE id = 'inpay_1'",
        "UPDATE invoice_payments SET disputed = reversed WHERE id = 'inpay_1'",
        "refunds, disputes and reversals don't exceed their payment",
    ),
    case(
        "UPDATE invoice_payments SET reversed = disputed WHERE id = 'inpay_2'",
        "UPDATE invoice_payments SET reversed = refunded WHERE id = 'inpay_2'",
        "an invoice's paid amount is the sum of its effective payments",
    ),
    case(
        "UPDATE invoices SET amount_credited = total WHERE id = 'in_3'",
        "UPDATE invoices SET amount_credited = (SELECT due_reduced FROM credit_notes WHERE id = 'cn_2') WHERE id = 'in_3'",
        "an invoice's credited amount is what its credit notes took off",
    ),
    case(
        "UPDATE checkout_sessions SET invoice_id = 'in_1'",
        "UPDATE checkout_sessions SET invoice_id = NULL",
        "checkouts match their invoices",
    ),
    case(
        "UPDATE invoice_payments SET balance_transaction_id = 'cbtxn_1' WHERE id = 'inpay_3'",
        "UPDATE invoice_payments SET balance_transaction_id = 'cbtxn_2' WHERE id = 'inpay_3'",
        "every invoice payment has a settled attempt or balance transaction",
    ),
    case(
        "UPDATE invoices SET document = 'invoice', number = 9 WHERE id = 'in_4'",
        "UPDATE invoices SET document = 'statement', number = 1 WHERE id = 'in_4'",
        "statements document a transaction and are never paid or credited by another one",
    ),
    case(
        "UPDATE invoice_items SET credited = amount WHERE id = 'ii_1'",
        "UPDATE invoice_items SET credited = (SELECT total FROM credit_notes WHERE id = 'cn_1') WHERE id = 'ii_1'",
        "a line's credited amount is the sum of its credit notes' items",
    ),
    case(
        "UPDATE invoice_items SET credited = tax WHERE id = 'ii_1'",
        "UPDATE invoice_items SET credited = (SELECT total FROM credit_notes WHERE id = 'cn_1') WHERE id = 'ii_1'",
        "every credit note belongs to a finalized invoice and has an item",
    ),
    case(
        "UPDATE invoice_payments SET refunded = reversed WHERE id = 'inpay_1'",
        "UPDATE invoice_payments SET refunded = (SELECT amount FROM refunds) WHERE id = 'inpay_1'",
        "every refund has a credit note, a payment and a matching attempt status",
    ),
    case(
        "UPDATE payment_intents SET amount_refunded = (SELECT amount_refunded FROM payment_intents WHERE id = 'pi_2') WHERE id = 'pi_1'",
        "UPDATE payment_intents SET amount_refunded = (SELECT amount FROM refunds) WHERE id = 'pi_1'",
        "every refund has a credit note, a payment and a matching attempt status",
    ),
    case(
        "UPDATE credit_note_items SET amount = (SELECT total FROM invoices WHERE id = 'in_1') WHERE note_id = 'cn_1'",
        "UPDATE credit_note_items SET amount = (SELECT total FROM credit_notes WHERE id = 'cn_1') WHERE note_id = 'cn_1'",
        "a credit note's items sum to its total",
    ),
    case(
        "UPDATE credit_notes SET refunded = total WHERE id = 'cn_1'",
        "UPDATE credit_notes SET refunded = (SELECT amount FROM refunds) WHERE id = 'cn_1'",
        "a credit note's refunds sum to what it refunded",
    ),
    case(
        "UPDATE credit_notes SET due_reduced = total WHERE id = 'cn_1'",
        "UPDATE credit_notes SET due_reduced = (SELECT to_balance FROM credit_notes WHERE id = 'cn_2') WHERE id = 'cn_1'",
        "a credit note's total equals its reductions, balance credits and refunds",
    ),
    case(
        "UPDATE balance_transactions SET source = 'cn_2' WHERE id = 'cbtxn_1'",
        "UPDATE balance_transactions SET source = 'cn_1' WHERE id = 'cbtxn_1'",
        "every credit note belongs to a finalized invoice and has an item",
    ),
    case(
        "UPDATE balance_transactions SET balance_after = (SELECT total FROM credit_notes WHERE id = 'cn_2') WHERE id = 'cbtxn_1'",
        "UPDATE balance_transactions SET balance_after = amount WHERE id = 'cbtxn_1'",
        "every balance equals the running sum of its transactions",
    ),
    case(
        "UPDATE customer_balances SET amount = (SELECT amount FROM balance_transactions WHERE id = 'cbtxn_1')",
        "UPDATE customer_balances SET amount = (SELECT balance_after FROM balance_transactions WHERE id = 'cbtxn_2')",
        "every balance equals the running sum of its transactions",
    ),
    case(
        "UPDATE balance_transactions SET type = 'overpayment' WHERE id = 'cbtxn_1'",
        "UPDATE balance_transactions SET type = 'credit_note' WHERE id = 'cbtxn_1'",
        "every balance transaction has a source",
    ),
    case(
        "UPDATE refunds SET payment_id = 'inpay_3'",
        "UPDATE refunds SET payment_id = 'inpay_1'",
        "every refund has a credit note, a payment and a matching attempt status",
    ),
    case(
        "UPDATE disputes SET status = 'lost'",
        "UPDATE disputes SET status = 'needs_response'",
        "undecided disputes reserve payments, and decided ones do not",
    ),
    case(
        "UPDATE refunds SET amount = (SELECT total FROM credit_notes WHERE id = 'cn_1')",
        "UPDATE refunds SET amount = (SELECT refunded FROM credit_notes WHERE id = 'cn_1')",
        "a payment's refunded amount is the sum of its refunds",
    ),
    case(
        "UPDATE payment_intents SET amount_refunded = amount WHERE id = 'pi_1'",
        "UPDATE payment_intents SET amount_refunded = (SELECT amount FROM refunds) WHERE id = 'pi_1'",
        "an intent's refunded amount is what its refunds and payouts reserve",
    ),
    case(
        "UPDATE invoices SET number = 4 WHERE id = 'in_3'",
        "UPDATE invoices SET number = 3 WHERE id = 'in_3'",
        "numbers of invoices, credit notes and statements have no duplicates, and no gaps except those of restores",
    ),
    case(
        "UPDATE credit_notes SET number = 7 WHERE id = 'cn_2'",
        "UPDATE credit_notes SET number = 2 WHERE id = 'cn_2'",
        "numbers of invoices, credit notes and statements have no duplicates, and no gaps except those of restores",
    ),
    case(
        "UPDATE number_series SET last_number = 9 WHERE document = 'statement'",
        "UPDATE number_series SET last_number = CASE WHEN livemode THEN 0 ELSE 1 END WHERE document = 'statement'",
        "numbers of invoices, credit notes and statements have no duplicates, and no gaps except those of restores",
    ),
    case(
        "UPDATE invoices SET subscription_id = 'sub_9' WHERE id = 'in_1'",
        "UPDATE invoices SET subscription_id = NULL",
        "invoices refer to rows of their mode",
    ),
    case("UPDATE customers SET livemode = true", "UPDATE customers SET livemode = false", "invoices refer to rows of their mode"),
    case(
        "UPDATE attempts SET purpose = 'refund' WHERE id = 'att_1'",
        "UPDATE attempts SET purpose = 'payment' WHERE id = 'att_1'",
        "payments and attempts refer to rows of their mode",
    ),
    case(
        "UPDATE refunds SET subscription_id = 'sub_9'",
        "UPDATE refunds SET subscription_id = NULL",
        "subscriptions, mandates, refunds, credit notes and disputes refer to rows of their mode",
    ),
];

on_both! {
    async fn only_the_numbers_that_a_restore_has_recorded_may_be_missing(db: &TestDatabase) {
        consistent_books(db).await;
        let at = souk_domain::shared::Timestamp::from_seconds;
        let (mut unit, restore) = (begin(db).await, Restore::of(at(1_900_000_000), at(1_900_003_600)));
        unit.restores().skip_numbers(&restore, restore.restored_at).await.expect("skips");
        unit.commit().await.expect("commits");
        assert_eq!(titles(db).await, [""; 0]);
        let rule = "numbers of invoices, credit notes and statements have no duplicates, and no gaps except those of restores";
        // The third invoice moves behind the gap, and the gap begins where it was.
        change(db, "UPDATE invoices SET number = 1004 WHERE id = 'in_3'").await;
        change(db, "UPDATE number_series SET last_number = 1004 WHERE document = 'invoice' AND NOT livemode").await;
        assert_eq!(titles(db).await, [rule]);
        change(db, "UPDATE number_gaps SET first_number = 3 WHERE document = 'invoice' AND NOT livemode").await;
        assert_eq!(titles(db).await, [""; 0]);
        // Two restores without a document between them.
        let split = "INSERT INTO number_gaps (livemode, document, first_number, last_number, restored_at)
                     SELECT livemode, document, 501, 1003, restored_at FROM number_gaps WHERE document = 'invoice' AND NOT livemode";
        change(db, split).await;
        assert_eq!(titles(db).await, [rule]);
        change(db, "UPDATE number_gaps SET last_number = 500 WHERE first_number = 3 AND document = 'invoice'").await;
        assert_eq!(titles(db).await, [""; 0]);
        for (wrong, right) in [
            ("UPDATE number_gaps SET first_number = 4 WHERE first_number = 3 AND document = 'invoice'", "UPDATE number_gaps SET first_number = 3 WHERE first_number = 4 AND document = 'invoice'"),
            ("UPDATE number_gaps SET last_number = 499 WHERE last_number = 500 AND document = 'invoice'", "UPDATE number_gaps SET last_number = 500 WHERE last_number = 499 AND document = 'invoice'"),
            ("UPDATE number_gaps SET last_number = 1004 WHERE first_number = 501 AND document = 'invoice'", "UPDATE number_gaps SET last_number = 1003 WHERE first_number = 501 AND document = 'invoice'"),
        ] {
            change(db, wrong).await;
            assert_eq!(titles(db).await, [rule], "{wrong}");
            change(db, right).await;
        }
        assert_eq!(titles(db).await, [""; 0]);
    }

    async fn an_empty_database_and_a_consistent_one_pass(db: &TestDatabase) {
        assert_eq!(broken(db).await, []);
        consistent_books(db).await;
        assert_eq!(broken(db).await, []);
    }

    async fn a_stake_may_be_forfeited_in_parts_but_not_twice(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let amounts = [("stake", 1_000), ("slash", 400), ("slash", 500), ("return_stake", 100)];
        let mut unit = begin(db).await;
        let (forfeited, returned) = (amount(900), amount(100));
        let gone = Stake { amount_forfeited: forfeited, amount_returned: returned, status: StakeStatus::Final, ..held_stake("stk_1", 1_000) };
        unit.stakes().insert(&gone).await.expect("inserts");
        for (number, (purpose, units)) in amounts.into_iter().enumerate() {
            let settled = Attempt {
                purpose: Purpose::of(purpose, "stk_1").expect("a purpose"),
                session_id: None,
                amount: amount(units),
                status: AttemptStatus::Settled,
                ..card_attempt(&format!("att_{number}"), "pi_1")
            };
            unit.attempts().insert(&settled, &[]).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        let (twice, overbilled) = ("nothing was paid twice", "a stake's amounts match its attempts");
        let sound = titles(db).await;
        assert!(!sound.contains(&twice) && !sound.contains(&overbilled), "{sound:?}");
        change(db, "UPDATE attempts SET amount = (SELECT amount FROM attempts WHERE id = 'att_2') WHERE id = 'att_3'").await;
        assert!(titles(db).await.contains(&overbilled));
    }

    async fn deposits_of_developers_match_their_passports_and_apps(db: &TestDatabase) {
        let rule = "deposits of developers match their passports and apps";
        insert_checkout(db, &[]).await;
        let (anna, developer) = (user("z1anna", "Anna", ""), uploaded_app("z1", "hello"));
        let of_anna = Stake {
            subject: StakeSubject::Developer(anna.did.clone()),
            purpose: StakePurpose::Membership,
            payer: anna.did.clone(),
            ..held_stake("stk_1", 1_000)
        };
        let of_app = Stake {
            subject: StakeSubject::App(developer.did.clone()),
            purpose: StakePurpose::Publication,
            payer: developer.owner.clone(),
            ..held_stake("stk_2", 1_000)
        };
        let (holder, stake_id) = (anna.did.clone(), Some(of_anna.id.clone()));
        let passport = Passport { id: id("pass_1"), holder, role: Role::Developer, issued_at: at(0), revoked_at: None, stake_id };
        let mut unit = begin(db).await;
        unit.users().upsert(&anna).await.expect("inserts");
        unit.users().issue_passport(&passport).await.expect("issues");
        unit.uploads().insert_app(&developer).await.expect("inserts");
        for stake in [&of_anna, &of_app] {
            unit.stakes().insert(stake).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        assert!(!titles(db).await.contains(&rule));
        for (wrong, right) in [
            ("UPDATE stakes SET status = 'releasing' WHERE id = 'stk_1'", "UPDATE stakes SET status = 'held' WHERE id = 'stk_1'"),
            ("UPDATE passports SET revoked_at = issued_at", "UPDATE passports SET revoked_at = NULL"),
            ("UPDATE stakes SET subject = 'developer:z1' WHERE id = 'stk_2'", "UPDATE stakes SET subject = 'app:z1' WHERE id = 'stk_2'"),
            ("UPDATE stakes SET payer = 'z1bob' WHERE id = 'stk_1'", "UPDATE stakes SET payer = 'z1anna' WHERE id = 'stk_1'"),
            ("UPDATE stakes SET payer = 'z1bob' WHERE id = 'stk_2'", "UPDATE stakes SET payer = 'zDev' WHERE id = 'stk_2'"),
            ("UPDATE stakes SET subject = 'app:z2' WHERE id = 'stk_2'", "UPDATE stakes SET subject = 'app:z1' WHERE id = 'stk_2'"),
            ("UPDATE users SET blocked_at = created_at", "UPDATE users SET blocked_at = NULL"),
        ] {
            change(db, wrong).await;
            assert!(titles(db).await.contains(&rule), "{wrong}");
            change(db, right).await;
            assert!(!titles(db).await.contains(&rule), "{right}");
        }
    }

    async fn each_breach_is_reported_under_its_rule(db: &TestDatabase) {
        consistent_books(db).await;
        change(db, "INSERT INTO customers (id, livemode, did, name, email, phone, address, language, created_at, updated_at) SELECT 'cus_2', livemode, 'z1other', name, email, phone, address, language, created_at, updated_at FROM customers").await;
        // PostgreSQL itself rejects a payment of which too much is used; amounts of SQLite are text, which cannot be added.
        if db.address().starts_with("postgres") {
            let mut connection = db.begin().await.expect("begins");
            connection.query("ALTER TABLE invoice_payments DROP CONSTRAINT invoice_payments_used").execute().await.expect("alters");
            connection.commit().await.expect("commits");
        }
        for Case { change: sql, undo, breaks } in CASES {
            change(db, sql).await;
            let found = titles(db).await;
            assert!(found.contains(breaks), "{sql} broke {found:?}");
            change(db, undo).await;
            assert_eq!(broken(db).await, [], "{undo} did not undo it");
        }
    }
}
