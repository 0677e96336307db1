//! The emails about developers by a deposit, in both languages.

use super::email_service::EmailService;
use crate::identity::HmacSigner;
use souk_domain::access::{Did, SignedLinks};
use souk_domain::billing::Recipient;
use souk_domain::publishing::staking::{DeveloperEmail, DeveloperNews};
use souk_domain::shared::{Language, PassportId, Timestamp};
use std::sync::Arc;

fn mail(news: DeveloperNews, developer_name: &str, language: Language) -> super::Outgoing {
    let tokens = SignedLinks::new(Arc::new(HmacSigner::new(&[6; 32])));
    let service = EmailService { store_name: "Lantern", public_url: "https://store.example/", tokens: &tokens };
    service.developer_news(&DeveloperEmail {
        to: Did::from_verified("z1olga"),
        recipient: Recipient { name: "Olga".to_owned(), email: "olga@store.example".to_owned(), language },
        news,
        passport: PassportId::parse("pass_1").expect("an id"),
        developer: Did::from_verified("z1mei"),
        developer_name: developer_name.to_owned(),
        at: Timestamp::from_seconds(0),
    })
}

#[test]
fn an_owner_reads_who_has_become_a_developer() {
    let english = mail(DeveloperNews::Joined, "Mei\nLin", Language::English);
    assert_eq!(english.subject, "Mei Lin has become a developer of Lantern");
    assert_eq!((english.message_id.as_str(), english.address.as_str()), ("developer-pass_1-z1olga", "olga@store.example"));
    for part in ["Hello Olga,", "https://store.example/console/developers", "because you own Lantern"] {
        assert!(english.text.contains(part), "{}", english.text);
    }
    assert_eq!(mail(DeveloperNews::Joined, "", Language::Chinese).subject, "z1mei 已成为 Lantern 的开发者");
}

#[test]
fn a_developer_who_has_revoked_the_deposit_reads_what_follows() {
    let english = mail(DeveloperNews::Revoked, "Mei", Language::English);
    assert_eq!(english.subject, "You're no longer a developer of Lantern");
    for part in ["You can pay a new deposit at any time.", "https://store.example/join"] {
        assert!(english.text.contains(part), "{}", english.text);
    }
    let chinese = mail(DeveloperNews::Revoked, "Mei", Language::Chinese);
    assert!(chinese.subject.contains("不再是 Lantern") && chinese.html.contains("lang=\"zh\""), "{}", chinese.subject);
}
