//! Confirmed addresses of emails, and counts of emails per address and hour.

use crate::checkout_fixtures::{all_at_once, at, begin, context, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::context::Context;
use souk_domain::mail::{
    CONFIRMATION_INTERVAL, ConfirmationError, Delivery, Dispatch, KnownAddress, LINKS_OF_SITE, MAILS_PER_HOUR, MailAddress,
    UNUSED_LINKS_MAX, dispatch, request_confirmation,
};
use souk_domain::operation::VisitorNetwork;
use souk_domain::shared::{Language, Mode, Timestamp};
use std::time::Duration;

fn mei() -> MailAddress {
    MailAddress::of(" Mei@Shop.example").expect("an address")
}

async fn request(db: &Database, name: &str, now: Timestamp) -> bool {
    let mut unit = begin(db).await;
    let requested = unit.mail_addresses().request(&mei(), name, now, now.minus(CONFIRMATION_INTERVAL)).await.expect("writes");
    unit.commit().await.expect("commits");
    requested
}

async fn confirm(db: &Database, name: &str, now: Timestamp) -> Option<MailAddress> {
    let mut unit = begin(db).await;
    let confirmed = unit.mail_addresses().confirm(name, now, now.minus(CONFIRMATION_INTERVAL)).await.expect("writes");
    unit.commit().await.expect("commits");
    confirmed
}

async fn known(db: &Database) -> Option<KnownAddress> {
    read(db).await.mail_addresses().find(&mei()).await.expect("reads")
}

on_both! {
    async fn an_address_gets_one_link_per_day_and_each_link_works_once(db: &TestDatabase) {
        let day = CONFIRMATION_INTERVAL.as_secs() as i64;
        assert_eq!(mei().as_str(), "mei@shop.example");
        assert!(request(db, "r1", at(0)).await);
        assert!(!request(db, "r2", at(day - 1)).await);
        assert_eq!(confirm(db, "r2", at(1)).await, None, "it was never recorded");
        assert_eq!(confirm(db, "r1", at(day)).await, None, "it has expired");
        assert!(request(db, "r3", at(day)).await);
        assert_eq!(confirm(db, "r1", at(day)).await, None, "it was replaced");
        assert_eq!(known(db).await.expect("exists").confirmed_at, None);
        let mut unit = read(db).await;
        assert_eq!(unit.mail_addresses().find_requested("r3").await.expect("reads").expect("exists").address, mei());
        drop(unit);
        assert_eq!(confirm(db, "r3", at(day + 9)).await, Some(mei()));
        assert_eq!(confirm(db, "r3", at(day + 10)).await, None, "it was used");
        assert_eq!(known(db).await.expect("exists").confirmed_at, Some(at(day + 9)));
        assert!(!request(db, "r4", at(day * 9)).await, "nothing is left to confirm");
    }

    async fn a_link_that_is_opened_several_times_at_once_confirms_once(db: &TestDatabase) {
        assert!(request(db, "r1", at(0)).await);
        let confirmed = all_at_once(db, 8, |db, _| async move { confirm(&db, "r1", at(1)).await.is_some() }).await;
        assert_eq!(confirmed.into_iter().filter(|confirmed| *confirmed).count(), 1);
    }

    async fn test_mode_sends_emails_to_confirmed_addresses_only_and_live_mode_to_all(db: &TestDatabase) {
        let ctx = context(db, at(1));
        let sent = Dispatch::Now(Delivery::Server);
        let kept = Dispatch::Now(Delivery::Folder);
        assert_eq!(dispatch(&ctx, Mode::Test, "mei@shop.example").await.expect("decides"), kept);
        assert_eq!(dispatch(&ctx, Mode::Live, "mei@shop.example").await.expect("decides"), sent);
        assert!(request(db, "r1", at(0)).await);
        assert_eq!(dispatch(&ctx, Mode::Test, "mei@shop.example").await.expect("decides"), kept, "requested is not confirmed");
        assert_eq!(confirm(db, "r1", at(1)).await, Some(mei()));
        assert_eq!(dispatch(&ctx, Mode::Test, "MEI@shop.example ").await.expect("decides"), sent, "however it is written");
        assert_eq!(dispatch(&ctx, Mode::Test, "jo@shop.example").await.expect("decides"), kept, "another address");
        assert_eq!(dispatch(&ctx, Mode::Test, "").await.expect("decides"), kept, "the mailer rejects it");
    }

    async fn live_mode_limits_emails_per_address_and_hour_too(db: &TestDatabase) {
        let hour = Timestamp::from_seconds(1_768_478_400);
        let ctx = context(db, hour.plus(Duration::from_secs(1_800)));
        for _ in 0..MAILS_PER_HOUR {
            assert_eq!(dispatch(&ctx, Mode::Live, "mei@shop.example").await.expect("decides"), Dispatch::Now(Delivery::Server));
        }
        let next = Dispatch::Later(hour.plus(Duration::from_secs(3_600)));
        assert_eq!(dispatch(&ctx, Mode::Live, "mei@shop.example").await.expect("decides"), next);
        assert_eq!(dispatch(&ctx, Mode::Live, "jo@shop.example").await.expect("decides"), Dispatch::Now(Delivery::Server));
    }

    async fn the_store_sends_a_limited_number_of_links_that_nobody_uses(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for number in 0..UNUSED_LINKS_MAX {
            let address = MailAddress::of(&format!("{number}@shop.example")).expect("an address");
            let requested = unit.mail_addresses().request(&address, &format!("r{number}"), at(0), at(-9)).await.expect("writes");
            assert!(requested);
        }
        unit.commit().await.expect("commits");
        let ask = async |now| request_confirmation(&context(db, now), "mei@shop.example", Language::English, &VisitorNetwork::default()).await;
        assert!(matches!(ask(at(1)).await, Err(ConfirmationError::TooMany)));
        assert!(confirm(db, "r7", at(2)).await.is_some());
        ask(at(3)).await.expect("a used link makes room");
        assert!(matches!(ask(at(4)).await, Err(ConfirmationError::TooMany)));
        let tomorrow = at(0).plus(CONFIRMATION_INTERVAL);
        assert!(matches!(ask(tomorrow).await, Err(ConfirmationError::SentAlready)), "the links of the first second have expired");
    }

    async fn a_site_requests_few_links_per_hour_and_leaves_the_links_of_the_others(db: &TestDatabase) {
        let begun = context(db, at(0));
        let ask = async |number: u32, site: &str, now| {
            let address = format!("{number}@shop.example");
            let ctx = Context { clock: context(db, now).clock, ..begun.clone() };
            request_confirmation(&ctx, &address, Language::English, &VisitorNetwork { network: String::new(), site: site.to_owned() }).await
        };
        for number in 0..LINKS_OF_SITE {
            ask(number, "site", at(0)).await.expect("is requested");
        }
        assert!(matches!(ask(90, "site", at(1)).await, Err(ConfirmationError::TooManyOfSite)));
        ask(90, "other", at(1)).await.expect("another site requests links, and the refused request left nothing");
        ask(91, "site", at(3_600)).await.expect("an hour later");
        const { assert!(LINKS_OF_SITE * 24 * 5 < UNUSED_LINKS_MAX, "five sites do not use up the links of a day") };
    }

    async fn an_address_gets_a_limited_number_of_emails_per_hour_from_all_processes(db: &TestDatabase) {
        let counted = all_at_once(db, MAILS_PER_HOUR + 4, |db, _| async move {
            let mut unit = begin(&db).await;
            let counted = unit.hourly_counts().count("mei", at(0), MAILS_PER_HOUR).await.expect("writes");
            unit.commit().await.expect("commits");
            counted
        });
        assert_eq!(counted.await.into_iter().filter(|counted| *counted).count(), MAILS_PER_HOUR as usize);
        let mut unit = begin(db).await;
        assert!(unit.hourly_counts().count("jo", at(0), MAILS_PER_HOUR).await.expect("writes"), "another address");
        assert!(unit.hourly_counts().count("mei", at(3_600), MAILS_PER_HOUR).await.expect("writes"), "another hour");
    }

    async fn confirmed_addresses_outlive_requests_and_counts(db: &TestDatabase) {
        assert!(request(db, "r1", at(0)).await);
        assert_eq!(confirm(db, "r1", at(1)).await, Some(mei()));
        let other = MailAddress::of("jo@shop.example").expect("an address");
        let mut unit = begin(db).await;
        assert!(unit.mail_addresses().request(&other, "r2", at(0), at(-9)).await.expect("writes"));
        assert!(unit.hourly_counts().count("jo", at(0), 9).await.expect("writes"));
        assert_eq!(unit.mail_addresses().prune_unconfirmed(at(0), 9).await.expect("prunes"), 0);
        assert_eq!(unit.hourly_counts().prune(at(0), 9).await.expect("prunes"), 0);
        assert_eq!(unit.mail_addresses().prune_unconfirmed(at(5), 9).await.expect("prunes"), 1);
        assert_eq!(unit.hourly_counts().prune(at(5), 9).await.expect("prunes"), 1);
        unit.commit().await.expect("commits");
        assert!(known(db).await.is_some());
    }
}
