//! Entitlements.

use crate::catalogue::{app, at, did, shelve};
use souk_adapters::on_both;
use souk_adapters::persistence::{Database, SqlEntitlements};
use souk_domain::shared::{EntitlementId, InvoiceId, Mode, Page, SessionId};
use souk_domain::store::{Entitlement, Entitlements};

fn entitlement(id: &str, session: &str) -> Entitlement {
    Entitlement {
        id: EntitlementId::parse(id).expect("an id"),
        mode: Mode::Test,
        holder: did("zBuyer"),
        app: did("z1"),
        session_id: SessionId::parse(session).expect("an id"),
        subscription_id: None,
        invoice_id: Some(InvoiceId::parse("in_1").expect("an id")),
        acquired_at: at(0),
    }
}

on_both! {
    async fn granted_many_times_for_one_purchase_it_is_one(db: &TestDatabase) {
        shelve(db, &[app("z1", "One")]).await;
        let grants = (0..6).map(|number| {
            let db = Database::clone(db);
            tokio::spawn(async move {
                let mut session = db.begin().await.expect("begins");
                SqlEntitlements(&mut session).grant(&entitlement(&format!("ent_{number}"), "cs_1")).await.expect("grants");
                session.commit().await.expect("commits");
            })
        });
        for grant in grants.collect::<Vec<_>>() {
            grant.await.expect("grants");
        }
        let mut session = db.read().await.expect("reads");
        let mut entitlements = SqlEntitlements(&mut session);
        let granted = entitlements.of_session(&SessionId::parse("cs_1").expect("an id")).await.expect("reads");
        assert_eq!(granted.len(), 1);
        assert_eq!(granted[0], entitlement(granted[0].id.as_str(), "cs_1"));
    }

    async fn it_counts_for_its_holder_its_app_and_its_mode_only(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        let mut session = db.begin().await.expect("begins");
        let mut entitlements = SqlEntitlements(&mut session);
        entitlements.grant(&entitlement("ent_1", "cs_1")).await.expect("grants");
        assert!(entitlements.holds(Mode::Test, &did("zBuyer"), &did("z1"), at(0)).await.expect("reads"));
        assert!(!entitlements.holds(Mode::Live, &did("zBuyer"), &did("z1"), at(0)).await.expect("reads"));
        assert!(!entitlements.holds(Mode::Test, &did("zBuyer"), &did("z2"), at(0)).await.expect("reads"));
        assert!(!entitlements.holds(Mode::Test, &did("zOther"), &did("z1"), at(0)).await.expect("reads"));
    }

    async fn a_holder_sees_the_newest_first(db: &TestDatabase) {
        shelve(db, &[app("z1", "One")]).await;
        let mut session = db.begin().await.expect("begins");
        let mut entitlements = SqlEntitlements(&mut session);
        for (id, purchase) in [("ent_1", "cs_1"), ("ent_2", "cs_2"), ("ent_3", "cs_3")] {
            entitlements.grant(&entitlement(id, purchase)).await.expect("grants");
        }
        entitlements.grant(&Entitlement { mode: Mode::Live, ..entitlement("ent_4", "cs_4") }).await.expect("grants");
        let page = entitlements.of_holder(Mode::Test, &did("zBuyer"), at(0), &Page::new(Some(1), Some(2))).await.expect("lists");
        let ids: Vec<_> = page.list.iter().map(|one| one.id.as_str()).collect();
        assert_eq!((ids, page.count), (vec!["ent_3", "ent_2"], 3));
    }
}
