//! The emails about findings, in both languages.

use super::email_service::EmailService;
use crate::identity::HmacSigner;
use souk_domain::access::SignedLinks;
use souk_domain::billing::Recipient;
use souk_domain::doctor::OwnerNotice;
use souk_domain::operation::{Finding, FindingCode};
use souk_domain::shared::{Language, Timestamp};
use std::sync::Arc;

fn mail(finding: Finding, language: Language) -> super::Outgoing {
    let tokens = SignedLinks::new(Arc::new(HmacSigner::new(&[6; 32])));
    let service = EmailService { store_name: "Lantern", public_url: "https://store.example/", tokens: &tokens };
    let recipient = Recipient { name: "Mei".to_owned(), email: "mei@store.example".to_owned(), language };
    service.owner_notice(&OwnerNotice { id: "disk-20000".to_owned(), at: Timestamp::from_seconds(0), recipient, finding })
}

#[test]
fn a_mail_about_a_finding_says_what_is_wrong_and_where_to_act() {
    let place = || Finding::new(FindingCode::Disk).with("host", "shop-1").with("path", "/data");
    let disk = || place().with("free", 12_900_000u64).with("reserve", 256u64 << 20);
    let english = mail(disk(), Language::English);
    assert_eq!((english.message_id.as_str(), english.address.as_str()), ("notice-disk-20000", "mei@store.example"));
    assert_eq!(english.subject, "The disk of your store is nearly full");
    for part in ["/data on shop-1 has 12 MiB left, less than the 256 MiB", "https://store.example/console/doctor"] {
        assert!(english.text.contains(part), "{}", english.text);
    }
    let chinese = mail(disk(), Language::Chinese);
    assert_eq!(chinese.subject, "商店的磁盘空间即将用尽");
    assert!(chinese.text.contains("shop-1 上的 /data 仅剩 12 MiB") && chinese.html.contains("lang=\"zh\""), "{}", chinese.text);
}

#[test]
fn every_finding_that_is_mailed_has_its_own_words_in_both_languages() {
    use FindingCode::{Breaker, Clock, DeadLetters, Disk, HeldPayments, HeldTransfers, Holds, MixedOptions, ProcessWithoutMail};
    for code in [Holds, HeldPayments, HeldTransfers, DeadLetters, Disk, Clock, Breaker, MixedOptions, ProcessWithoutMail] {
        for language in [Language::English, Language::Chinese] {
            let mail = mail(Finding::new(code).with("method", "pm_1"), language);
            let generic = ["Your store needs attention", "你的商店需要处理"];
            assert!(!generic.iter().any(|words| mail.subject.starts_with(words)), "{}", mail.subject);
        }
    }
}
