//! Checks the exported journal with beancount's own checker.

use crate::checkout_fixtures::{at, begin, currency, id, insert_checkout};
use souk_adapters::beancount::export;
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_adapters::testing::required;
use souk_domain::ledger::{Account, Entry, EntryType, Posting};
use souk_domain::payment::Currency;
use souk_domain::shared::{Amount, MethodId, Mode};
use std::process::{Command, Output};

async fn exported(db: &Database) -> String {
    let mut text = Vec::new();
    export(db, &mut text).await.expect("exports");
    String::from_utf8(text).expect("text")
}

fn checked(text: &str) -> Output {
    let checker = required("BEAN_CHECK", "beancount's checker");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("souk.beancount");
    std::fs::write(&file, text).expect("writes");
    Command::new(&checker).arg(&file).output().unwrap_or_else(|error| panic!("BEAN_CHECK={checker}: {error}"))
}

struct Movement {
    debit: Account,
    credit: Account,
}

/// Returns the accounts between which an entry of a type moves an amount. Over all types, every account occurs.
fn movement_of(kind: EntryType, method: &MethodId) -> Movement {
    use EntryType as E;
    let (cash, held) = (Account::cash(method), Account::stakes_held(method));
    let (debit, credit) = match kind {
        E::InvoiceFinalized => (Account::Receivable, Account::Revenue),
        E::Payment => (cash, Account::Receivable),
        E::BalanceApplied => (Account::CustomerBalance, Account::Receivable),
        E::BalanceUnapplied => (Account::Receivable, Account::CustomerBalance),
        E::StakePlaced => (held, Account::StakesPayable),
        E::StakeReturned | E::StakeClaimed | E::StakeForfeited => (Account::StakesPayable, held),
        E::CreditNote => (Account::Revenue, Account::RefundsPayable),
        E::RefundSent => (Account::RefundsPayable, cash),
        E::RefundFailed => (cash, Account::RefundsPayable),
        E::RefundMovedToBalance | E::BalancePayoutRestored => (Account::RefundsPayable, Account::CustomerBalance),
        E::BalancePayout => (Account::CustomerBalance, Account::RefundsPayable),
        E::DisputeWithdrawn => (Account::Disputes, cash),
        E::DisputeReinstated => (cash, Account::Disputes),
        E::DisputeLost => (Account::Receivable, Account::Disputes),
        E::NetworkFee => (Account::Fees, cash),
        E::PaymentReversed => (Account::Receivable, cash),
        E::SuspenseReceived => (cash, Account::Suspense),
        E::SuspenseResolved => (Account::Suspense, Account::CustomerBalance),
        E::DashboardRefund => (Account::Suspense, cash),
        E::SaleShares => (Account::Revenue, Account::payable("z1beneficiary")),
        E::SharePayout => (Account::payable("z1beneficiary"), cash),
        E::SharePayoutReversed => (cash, Account::payable("z1beneficiary")),
    };
    Movement { debit, credit }
}

/// Posts an entry of every type in both modes and in two currencies with the same symbol.
async fn post_all_types(db: &Database) {
    insert_checkout(db, &[]).await;
    let mut unit = begin(db).await;
    let ether = Currency { id: id("pc_2"), symbol: "eur".to_owned(), name: "A \"token\"".to_owned(), decimals: 18, ..currency() };
    unit.methods().insert_currency(&ether).await.expect("inserts");
    let method = id("pm_card");
    let mut number = 0;
    for mode in [Mode::Test, Mode::Live] {
        for kind in EntryType::ALL {
            for currency in ["pc_1", "pc_2"] {
                number += 1;
                let (Movement { debit, credit }, amount, currency) =
                    (movement_of(kind, &method), Amount::new(1_234_567 + number), id(currency));
                let postings = vec![Posting::debit(debit, amount, &currency), Posting::credit(credit, amount, &currency)];
                let posted_at = at(i64::try_from(number).expect("small") * 86_400);
                let entry = Entry::new(id(&format!("je_{number:02}")), mode, kind, format!("att_{number}"), posted_at, postings);
                unit.journal().post(&entry.expect("balances")).await.expect("posts");
            }
        }
    }
    unit.commit().await.expect("commits");
}

on_both! {
    async fn the_journal_is_accepted_by_beancounts_checker(db: &TestDatabase) {
        assert!(checked(&exported(db).await).status.success(), "an empty journal is refused");
        post_all_types(db).await;
        let text = exported(db).await;
        let verdict = checked(&text);
        assert!(verdict.status.success(), "{}\n{text}", String::from_utf8_lossy(&verdict.stderr));
        assert_eq!(text.matches(" * \"").count(), 4 * EntryType::ALL.len(), "each type in both modes and both currencies");
        assert!(text.contains("\n  Assets:Test:Receivable  12345.68 EUR\n  Income:Test:Revenue  -12345.68 EUR\n"), "{text}");
        assert!(text.contains("\n  Liabilities:Live:StakesPayable  -0.0000000000012346") && text.contains(" EUR-2\n"), "{text}");
    }

    async fn the_checker_rejects_a_journal_that_does_not_balance(db: &TestDatabase) {
        post_all_types(db).await;
        let text = exported(db).await.replacen("12345.68 EUR\n", "12345.69 EUR\n", 1);
        assert!(!checked(&text).status.success(), "{text}");
    }
}
