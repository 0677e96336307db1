//! The email before an access token expires, in both languages.

use super::email_service::EmailService;
use crate::identity::HmacSigner;
use souk_domain::access::{Did, SignedLinks};
use souk_domain::billing::Recipient;
use souk_domain::publishing::access_tokens::{AccessToken, ExpiryReminder};
use souk_domain::shared::{Language, PassportId, Timestamp};
use std::sync::Arc;

fn mail(language: Language) -> super::Outgoing {
    let tokens = SignedLinks::new(Arc::new(HmacSigner::new(&[6; 32])));
    let service = EmailService { store_name: "Lantern", public_url: "https://store.example/", tokens: &tokens };
    let token = AccessToken {
        id: Did::from_verified("z1token"),
        owner: Did::from_verified("z1mei"),
        passport_id: PassportId::parse("pass_1").expect("an id"),
        name: "Build\nserver".to_owned(),
        public_key: "zKey".to_owned(),
        scopes: [].into(),
        apps: Vec::new(),
        publisher: None,
        created_at: Timestamp::from_seconds(0),
        expires_at: Timestamp::from_seconds(1_767_225_600),
        remind_at: None,
        last_used_at: None,
    };
    let recipient = Recipient { name: "Mei".to_owned(), email: "mei@store.example".to_owned(), language };
    service.token_expiry(&ExpiryReminder { recipient, token, at: Timestamp::from_seconds(0) })
}

#[test]
fn the_mail_names_the_token_its_expiry_and_where_to_act() {
    let english = mail(Language::English);
    assert_eq!(english.subject, "Your access token \"Build server\" expires on 1 January 2026");
    assert_eq!((english.message_id.as_str(), english.address.as_str()), ("token-expiry-z1token", "mei@store.example"));
    for part in ["Hello Mei,", "https://store.example/developer/access-tokens", "because you are a developer at Lantern"] {
        assert!(english.text.contains(part), "{}", english.text);
    }
    let chinese = mail(Language::Chinese);
    assert!(chinese.subject.starts_with("你的访问令牌“Build server”将于 2026"), "{}", chinese.subject);
    assert!(chinese.html.contains("lang=\"zh\"") && chinese.text.contains("你是 Lantern"), "{}", chinese.text);
}
