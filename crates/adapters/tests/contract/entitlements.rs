//! Entitlements: one per purchase, valid until revoked or suspended.

use crate::catalogue::{app, at, did, shelve};
use souk_adapters::on_both;
use souk_adapters::persistence::{Database, SqlEntitlements};
use souk_domain::shared::{EntitlementId, InvoiceId, InvoiceItemId, Mode, Page, SessionId, SubscriptionId};
use souk_domain::store::{Entitlement, Entitlements, RevokedPurchase};

fn entitlement(id: &str, session: &str) -> Entitlement {
    Entitlement {
        id: EntitlementId::parse(id).expect("an id"),
        mode: Mode::Test,
        holder: did("zBuyer"),
        app: did("z1"),
        session_id: SessionId::parse(session).expect("an id"),
        subscription_id: None,
        invoice_id: Some(InvoiceId::parse("in_1").expect("an id")),
        invoice_item_id: Some(line("ii_1")),
        acquired_at: at(0),
        revoked_at: None,
        suspended_at: None,
    }
}

fn line(id: &str) -> InvoiceItemId {
    InvoiceItemId::parse(id).expect("an id")
}

fn of_subscription(id: &str, session: &str) -> Entitlement {
    Entitlement { subscription_id: Some(SubscriptionId::parse("sub_1").expect("an id")), ..entitlement(id, session) }
}

on_both! {
    async fn repeated_grants_for_one_purchase_create_one_entitlement(db: &TestDatabase) {
        shelve(db, &[app("z1", "One")]).await;
        let grants = (0..6).map(|number| {
            let db = Database::clone(db);
            tokio::spawn(async move {
                let mut connection = db.begin().await.expect("begins");
                SqlEntitlements(&mut connection).grant(&entitlement(&format!("ent_{number}"), "cs_1")).await.expect("grants");
                connection.commit().await.expect("commits");
            })
        });
        for grant in grants.collect::<Vec<_>>() {
            grant.await.expect("grants");
        }
        let mut connection = db.read().await.expect("reads");
        let mut entitlements = SqlEntitlements(&mut connection);
        let granted = entitlements.of_session(&SessionId::parse("cs_1").expect("an id")).await.expect("reads");
        assert_eq!(granted.len(), 1);
        assert_eq!(granted[0], entitlement(granted[0].id.as_str(), "cs_1"));
    }

    async fn an_entitlement_is_valid_for_its_holder_app_and_mode_only(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut entitlements = SqlEntitlements(&mut connection);
        entitlements.grant(&entitlement("ent_1", "cs_1")).await.expect("grants");
        assert!(entitlements.holds(Mode::Test, &did("zBuyer"), &did("z1"), at(0)).await.expect("reads"));
        assert!(!entitlements.holds(Mode::Live, &did("zBuyer"), &did("z1"), at(0)).await.expect("reads"));
        assert!(!entitlements.holds(Mode::Test, &did("zBuyer"), &did("z2"), at(0)).await.expect("reads"));
        assert!(!entitlements.holds(Mode::Test, &did("zOther"), &did("z1"), at(0)).await.expect("reads"));
    }

    async fn entitlements_are_listed_newest_first(db: &TestDatabase) {
        shelve(db, &[app("z1", "One")]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut entitlements = SqlEntitlements(&mut connection);
        for (id, purchase) in [("ent_1", "cs_1"), ("ent_2", "cs_2"), ("ent_3", "cs_3")] {
            entitlements.grant(&entitlement(id, purchase)).await.expect("grants");
        }
        entitlements.grant(&Entitlement { mode: Mode::Live, ..entitlement("ent_4", "cs_4") }).await.expect("grants");
        let page = entitlements.of_holder(Mode::Test, &did("zBuyer"), at(0), &Page::new(Some(1), Some(2))).await.expect("lists");
        let ids: Vec<_> = page.list.iter().map(|one| one.id.as_str()).collect();
        assert_eq!((ids, page.count), (vec!["ent_3", "ent_2"], 3));
    }

    async fn a_revoked_entitlement_is_invalid_until_another_line_pays_for_it(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut entitlements = SqlEntitlements(&mut connection);
        let second = Entitlement { app: did("z2"), invoice_item_id: Some(line("ii_2")), ..entitlement("ent_2", "cs_1") };
        for granted in [&entitlement("ent_1", "cs_1"), &second, &of_subscription("ent_3", "cs_2")] {
            entitlements.grant(granted).await.expect("grants");
        }
        entitlements.revoke_all(&[RevokedPurchase { item: line("ii_1"), at: at(5) }]).await.expect("revokes");
        entitlements.revoke_all(&[RevokedPurchase { item: line("ii_1"), at: at(6) }]).await.expect("revokes");
        let of = SessionId::parse("cs_1").expect("an id");
        let revoked = Entitlement { revoked_at: Some(at(5)), ..entitlement("ent_1", "cs_1") };
        assert_eq!(entitlements.of_session(&of).await.expect("reads"), [revoked, second.clone()]);
        let other = entitlements.of_session(&SessionId::parse("cs_2").expect("an id")).await.expect("reads");
        assert_eq!(other, [of_subscription("ent_3", "cs_2")], "what a subscription gives ends with the subscription");
        let both = [did("z1"), did("z2")];
        assert!(!entitlements.holds(Mode::Test, &did("zBuyer"), &did("z1"), at(9)).await.expect("reads"));
        assert_eq!(entitlements.held(Mode::Test, &did("zBuyer"), &both, at(9)).await.expect("reads"), [did("z2")]);
        for silent in [entitlement("ent_4", "cs_1"), Entitlement { invoice_item_id: None, ..entitlement("ent_5", "cs_1") }] {
            entitlements.grant(&silent).await.expect("grants");
            assert!(!entitlements.holds(Mode::Test, &did("zBuyer"), &did("z1"), at(9)).await.expect("reads"), "{silent:?}");
        }
        let invoice_id = InvoiceId::parse("in_2").ok();
        let anew = Entitlement { invoice_item_id: Some(line("ii_3")), invoice_id, acquired_at: at(7), ..entitlement("ent_6", "cs_1") };
        entitlements.grant(&anew).await.expect("grants");
        assert!(entitlements.holds(Mode::Test, &did("zBuyer"), &did("z1"), at(9)).await.expect("reads"));
        let kept = Entitlement { id: entitlement("ent_1", "cs_1").id, acquired_at: at(0), ..anew };
        assert_eq!(entitlements.of_session(&of).await.expect("reads"), [kept, second]);
    }

    async fn a_disputed_entitlement_is_invalid_until_it_is_reinstated(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut entitlements = SqlEntitlements(&mut connection);
        let (invoices, subscriptions) = ([InvoiceId::parse("in_1").expect("an id")], [SubscriptionId::parse("sub_1").expect("an id")]);
        let elsewhere = Entitlement { app: did("z2"), invoice_id: InvoiceId::parse("in_2").ok(), ..entitlement("ent_2", "cs_1") };
        let renewed = Entitlement { invoice_id: InvoiceId::parse("in_3").ok(), ..of_subscription("ent_3", "cs_1") };
        for granted in [&entitlement("ent_1", "cs_1"), &elsewhere, &renewed] {
            entitlements.grant(granted).await.expect("grants");
        }
        let of = SessionId::parse("cs_1").expect("an id");
        for (invoices, subscriptions, expected) in [
            (&invoices[..], &[][..], [Some(at(5)), None, None]),
            (&[], &subscriptions, [None, None, Some(at(5))]),
            (&invoices, &subscriptions, [Some(at(5)), None, Some(at(5))]),
        ] {
            entitlements.suspend(invoices, subscriptions, at(5)).await.expect("suspends");
            entitlements.suspend(invoices, subscriptions, at(6)).await.expect("suspends");
            let suspended = entitlements.of_session(&of).await.expect("reads");
            assert_eq!(suspended.iter().map(|one| one.suspended_at).collect::<Vec<_>>(), expected);
            let holds = entitlements.holds(Mode::Test, &did("zBuyer"), &did("z1"), at(9)).await.expect("reads");
            assert_eq!(holds, expected[0].is_none());
            let page = entitlements.of_holder(Mode::Test, &did("zBuyer"), at(9), &Page::new(None, None)).await.expect("lists");
            let ids: Vec<_> = page.list.iter().map(|one| one.id.as_str()).collect();
            // The subscription does not exist, so its entitlement is invalid and not listed unless it is suspended.
            let listed = if expected[2].is_some() { vec!["ent_3", "ent_2", "ent_1"] } else { vec!["ent_2", "ent_1"] };
            assert_eq!((page.count, ids), (listed.len() as u64, listed));
            entitlements.reinstate(invoices, subscriptions).await.expect("reinstates");
        }
        let reinstated = entitlements.of_session(&of).await.expect("reads");
        assert!(reinstated.iter().all(|one| one.suspended_at.is_none()));
    }
}
