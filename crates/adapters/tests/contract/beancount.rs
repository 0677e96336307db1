//! The exported journal, judged by beancount's own checker.

use crate::till::{at, begin, currency, id, open_till};
use souk_adapters::beancount::export;
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_adapters::testing::required;
use souk_domain::ledger::{Entry, Movement, Reason};
use souk_domain::payment::Currency;
use souk_domain::shared::{Amount, Mode};
use std::process::{Command, Output};

async fn exported(db: &Database) -> String {
    let mut text = Vec::new();
    export(db, &mut text).await.expect("exports");
    String::from_utf8(text).expect("text")
}

fn checked(text: &str) -> Output {
    let checker = required("BEAN_CHECK", "beancount's checker");
    let folder = tempfile::tempdir().expect("a scratch folder");
    let file = folder.path().join("souk.beancount");
    std::fs::write(&file, text).expect("writes");
    Command::new(&checker).arg(&file).output().unwrap_or_else(|error| panic!("BEAN_CHECK={checker}: {error}"))
}

/// An entry for every reason, in two currencies of the same symbol, in both modes.
async fn books(db: &Database) {
    open_till(db, &[]).await;
    let mut unit = begin(db).await;
    let ether = Currency { id: id("pc_2"), symbol: "eur".to_owned(), name: "A \"token\"".to_owned(), decimals: 18, ..currency() };
    unit.methods().insert_currency(&ether).await.expect("inserts");
    let mut number = 0;
    for mode in [Mode::Test, Mode::Live] {
        for reason in Reason::ALL {
            for currency in ["pc_1", "pc_2"] {
                number += 1;
                let (currency, method) = (id(currency), id("pm_card"));
                let movement = Movement { method_id: &method, currency_id: &currency, amount: Amount::new(1_234_567 + number) };
                let subject = format!("att_{number}");
                let entry = Entry::of_movement(
                    id(&format!("je_{number:02}")),
                    mode,
                    reason,
                    subject,
                    at(i64::try_from(number).expect("small") * 86_400),
                    &movement,
                );
                unit.journal().book(&entry.expect("balances")).await.expect("books");
            }
        }
    }
    unit.commit().await.expect("commits");
}

on_both! {
    async fn the_journal_is_accepted_by_beancounts_checker(db: &TestDatabase) {
        assert!(checked(&exported(db).await).status.success(), "an empty journal is refused");
        books(db).await;
        let text = exported(db).await;
        let verdict = checked(&text);
        assert!(verdict.status.success(), "{}\n{text}", String::from_utf8_lossy(&verdict.stderr));
        assert_eq!(text.matches(" * \"").count(), 4 * Reason::ALL.len(), "each reason in both modes and both currencies");
        assert!(text.contains("\n  Assets:Test:Network:Pm-card  12345.68 EUR\n  Income:Test:Sales  -12345.68 EUR\n"), "{text}");
        assert!(text.contains("\n  Liabilities:Live:Stakes  0.0000000000012345") && text.contains(" EUR-2\n"), "{text}");
    }

    async fn the_checker_refuses_a_journal_that_does_not_balance(db: &TestDatabase) {
        books(db).await;
        let text = exported(db).await.replacen("12345.68 EUR\n", "12345.69 EUR\n", 1);
        assert!(!checked(&text).status.success(), "{text}");
    }
}
