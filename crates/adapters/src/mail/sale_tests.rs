//! The emails about sales, in both languages.

use super::email_service::EmailService;
use crate::identity::HmacSigner;
use souk_domain::access::SignedLinks;
use souk_domain::billing::{Recipient, SaleEmail, SaleNews};
use souk_domain::shared::{Amount, Currency, CurrencyId, InvoiceId, Language, MethodId, Mode, Text, Timestamp};
use std::sync::Arc;

fn mail(news: SaleNews, language: Language) -> super::Outgoing {
    let at = Timestamp::from_seconds(0);
    let currency = Currency {
        id: CurrencyId::parse("pc_1").expect("an id"),
        method_id: MethodId::parse("pm_1").expect("an id"),
        mode: Mode::Test,
        active: true,
        name: "Dollar".to_owned(),
        symbol: "USD".to_owned(),
        logo: String::new(),
        decimals: 2,
        maximum_precision: 2,
        contract: "usd".to_owned(),
        is_base: false,
        created_at: at,
        updated_at: at,
    };
    let tokens = SignedLinks::new(Arc::new(HmacSigner::new(&[6; 32])));
    let service = EmailService { store_name: "Lantern", public_url: "https://store.example/", tokens: &tokens };
    service.sale(&SaleEmail {
        id: "sale-in_1-store".to_owned(),
        recipient: Recipient { name: "Olga".to_owned(), email: "olga@store.example".to_owned(), language },
        news,
        invoice: InvoiceId::parse("in_1").expect("an id"),
        mode: Mode::Test,
        sold: vec![Text::new("Tide\ntable", "潮汐表"), Text::new("Orbit", "轨道")],
        currency,
        at,
    })
}

#[test]
fn a_beneficiary_reads_the_own_share_and_nothing_else_of_the_sale() {
    let english = mail(SaleNews::Share(Amount::new(693)), Language::English);
    assert_eq!(english.subject, "[Test] You have earned 6.93 USD with Tide table, Orbit");
    for part in ["Hello Olga,", "6.93 USD", "https://store.example/developer/earnings", "you have a share of sales at Lantern"] {
        assert!(english.text.contains(part), "{}", english.text);
    }
    let chinese = mail(SaleNews::Share(Amount::new(693)), Language::Chinese);
    assert_eq!(chinese.subject, "【测试】“潮汐表、轨道”已售出，你获得 6.93 USD");
}

#[test]
fn the_owner_reads_what_was_paid_and_what_the_store_keeps() {
    let news = SaleNews::Sale { total: Amount::new(995), shared: Amount::new(693) };
    let english = mail(news, Language::English);
    assert_eq!(
        (english.subject.as_str(), english.message_id.as_str()),
        ("[Test] Tide table, Orbit was sold for 9.95 USD", "sale-in_1-store")
    );
    for part in ["9.95 USD", "6.93 USD", "3.02 USD", "https://store.example/console/invoices/in_1", "because you own Lantern"] {
        assert!(english.text.contains(part), "{}", english.text);
    }
    assert!(mail(news, Language::Chinese).text.contains("商店所得"));
}
