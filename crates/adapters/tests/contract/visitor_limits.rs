//! What visitors can make the store keep: beyond the limits, the oldest rows of the heaviest visitor go first.

use crate::checkout_fixtures::{at, begin, context, did, id, read, session};
use crate::connect_sessions::session as connect_session;
use crate::tool_sessions::session as tool_session;
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::access::{ConnectSession, ConnectStatus, ConnectStep};
use souk_domain::checkout::{Session, SessionStatus};
use souk_domain::context::Context;
use souk_domain::customer::ProviderCustomer;
use souk_domain::operation::{PSEUDONYM_LENGTH, VisitorLimits, VisitorNetwork, enforce_visitor_limits};
use souk_domain::payment::{
    CARD_FORMS_OF_SITE, CARD_FORMS_OF_STORE, CARD_FORMS_OF_SUBJECT, CARD_FORMS_OF_VISITOR, CardFormError, RailError, count_card_form,
};
use souk_domain::publishing::tools::{ToolSession, ToolStatus};
use souk_domain::shared::Mode;
use std::time::Duration;

fn network(name: &str) -> VisitorNetwork {
    of_site(name, name)
}

fn of_site(site: &str, network: &str) -> VisitorNetwork {
    // Pseudonyms have one length.
    let pseudonym = |name: &str| format!("{name:.<PSEUDONYM_LENGTH$}");
    VisitorNetwork { network: pseudonym(network), site: pseudonym(site) }
}

fn limited(db: &Database, limit: u32) -> Context {
    let limits = VisitorLimits { unsubmitted_sessions: limit, connect_sessions: limit, ..VisitorLimits::default() };
    Context { limits, ..context(db, at(100)) }
}

fn started(name: &str, seconds: i64) -> Session {
    Session { status: SessionStatus::Open, payer: None, intent_id: None, created_at: at(seconds), ..session(name) }
}

async fn kept(db: &Database, names: &[&str]) -> Vec<String> {
    let mut unit = read(db).await;
    let mut kept = Vec::new();
    for name in names {
        if unit.sessions().find(&id(name)).await.expect("reads").is_some() {
            kept.push((*name).to_owned());
        }
    }
    kept
}

async fn kept_connections(db: &Database, names: &[&str]) -> Vec<String> {
    let mut unit = read(db).await;
    let mut kept = Vec::new();
    for name in names {
        if unit.connect_sessions().find(name, at(0)).await.expect("reads").is_some() {
            kept.push((*name).to_owned());
        }
    }
    kept
}

async fn admit_card_form(ctx: &Context, mode: Mode, subject: &str, visitor: &VisitorNetwork) -> Result<(), CardFormError> {
    let mut unit = ctx.store.begin().await.expect("begins");
    count_card_form(ctx, unit.as_mut(), mode, subject, visitor).await?;
    unit.commit().await.expect("commits");
    Ok(())
}

fn refused(result: Result<(), CardFormError>) -> bool {
    match result {
        Ok(()) => false,
        Err(CardFormError::Rail(RailError::TooManyCardForms)) => true,
        Err(error) => panic!("{error}"),
    }
}

on_both! {
    async fn the_oldest_unsubmitted_sessions_of_the_heaviest_visitor_go_first(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for number in 0..6 {
            unit.sessions().insert_started(&started(&format!("cs_heavy{number}"), number), &network("heavy")).await.expect("inserts");
        }
        for number in 0..2 {
            unit.sessions().insert_started(&started(&format!("cs_light{number}"), number), &network("light")).await.expect("inserts");
        }
        let expired = Session { status: SessionStatus::Expired, ..started("cs_heavy6", 6) };
        unit.sessions().insert_started(&expired, &network("heavy")).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert_eq!(enforce_visitor_limits(&limited(db, 9)).await.expect("enforces"), 0, "as many as are kept");
        assert_eq!(enforce_visitor_limits(&limited(db, 5)).await.expect("enforces"), 4);
        let all = ["cs_heavy0", "cs_heavy1", "cs_heavy2", "cs_heavy3", "cs_heavy4", "cs_heavy5", "cs_heavy6", "cs_light0", "cs_light1"];
        assert_eq!(kept(db, &all).await, ["cs_heavy4", "cs_heavy5", "cs_heavy6", "cs_light0", "cs_light1"]);
        assert_eq!(enforce_visitor_limits(&limited(db, 5)).await.expect("enforces"), 0);
    }

    async fn a_site_with_one_row_in_each_of_its_networks_is_as_heavy_as_one_network_with_all_of_them(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for (name, visitor, seconds) in [("cs_old", network("honest"), 0), ("cs_light", network("light"), 1)] {
            unit.sessions().insert_started(&started(name, seconds), &visitor).await.expect("inserts");
        }
        for number in 0..6 {
            // Of the last network there are two rows.
            let visitor = of_site("site", &format!("network{}", number.min(4)));
            unit.sessions().insert_started(&started(&format!("cs_spread{number}"), 10 + number), &visitor).await.expect("inserts");
            unit.connect_sessions().insert(&ConnectSession { token: format!("c{number}"), created_at: at(10 + number), ..connect_session() }, &visitor).await.expect("inserts");
        }
        let honest = ConnectSession { token: "honest".to_owned(), created_at: at(0), ..connect_session() };
        unit.connect_sessions().insert(&honest, &network("honest")).await.expect("inserts");
        unit.commit().await.expect("commits");
        enforce_visitor_limits(&limited(db, 7)).await.expect("enforces");
        let all = ["cs_old", "cs_light", "cs_spread0", "cs_spread1", "cs_spread2", "cs_spread3", "cs_spread4", "cs_spread5"];
        let without_the_second_row_of_a_network: Vec<_> = all.into_iter().filter(|name| *name != "cs_spread4").collect();
        assert_eq!(kept(db, &all).await, without_the_second_row_of_a_network, "the heaviest network of the heaviest site");
        enforce_visitor_limits(&limited(db, 4)).await.expect("enforces");
        assert_eq!(kept(db, &all).await, ["cs_old", "cs_light", "cs_spread3", "cs_spread5"]);
        assert_eq!(kept_connections(db, &["honest", "c0", "c1", "c2", "c3", "c4", "c5"]).await, ["honest", "c2", "c3", "c5"]);
    }

    async fn more_visitors_than_any_list_holds_are_cut_to_the_same_number_of_rows(db: &TestDatabase) {
        let mut random = 7_u64;
        let mut rows_of = Vec::new();
        let mut unit = begin(db).await;
        for visitor in 0..70_u32 {
            // A small generator, so that the case is always the same.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let rows = 1 + (random >> 33) % 6;
            for row in 0..rows {
                let name = format!("cs_{visitor:02}x{row}");
                unit.sessions().insert_started(&started(&name, row as i64), &network(&visitor.to_string())).await.expect("inserts");
            }
            rows_of.push(rows);
        }
        unit.commit().await.expect("commits");
        let total: u64 = rows_of.iter().sum();
        for limit in [total - 1, total - 40, 150, 75, 71, 69, 10] {
            enforce_visitor_limits(&limited(db, limit as u32)).await.expect("enforces");
            let mut left = Vec::new();
            for (visitor, rows) in rows_of.iter().enumerate() {
                let names: Vec<_> = (0..*rows).map(|row| format!("cs_{visitor:02}x{row}")).collect();
                let kept = kept(db, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
                assert_eq!(kept, names[names.len() - kept.len()..], "the oldest go first");
                left.push(kept.len() as u64);
            }
            assert_eq!(left.iter().sum::<u64>(), limit, "exactly what exceeds the limit goes");
            let most = *left.iter().max().expect("visitors");
            for (kept, rows) in left.iter().zip(&rows_of) {
                let is_cut = kept < rows;
                assert!(!is_cut || kept + 1 >= most, "{kept} of one who lost rows, {most} of another");
            }
        }
    }

    async fn orders_and_sessions_of_integrators_are_never_deleted_for_a_limit(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let submitted = Session { payer: Some(did("z1buyer")), ..started("cs_submitted", 1) };
        let intended = Session { intent_id: Some(id("pi_1")), ..started("cs_intended", 1) };
        let made = Session { link_id: None, ..started("cs_made", 1) };
        for session in [&submitted, &intended, &started("cs_started", 2)] {
            unit.sessions().insert_started(session, &network("one")).await.expect("inserts");
        }
        unit.sessions().insert(&made).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert_eq!(enforce_visitor_limits(&limited(db, 0)).await.expect("enforces"), 1);
        assert_eq!(kept(db, &["cs_submitted", "cs_intended", "cs_made", "cs_started"]).await, ["cs_submitted", "cs_intended", "cs_made"]);
    }

    async fn connect_sessions_in_which_a_wallet_signs_are_never_deleted_for_a_limit(db: &TestDatabase) {
        let of = |token: &str, status, step| ConnectSession { token: token.to_owned(), status, step, ..connect_session() };
        let mut unit = begin(db).await;
        for session in [
            of("created", ConnectStatus::Created, ConnectStep::Transfer),
            of("scanned", ConnectStatus::Scanned, ConnectStep::Principal),
            of("done", ConnectStatus::Succeed, ConnectStep::Transfer),
            of("asked", ConnectStatus::Scanned, ConnectStep::Transfer),
            of("working", ConnectStatus::Working, ConnectStep::Transfer),
            of("confirming", ConnectStatus::Confirming, ConnectStep::Stake),
        ] {
            unit.connect_sessions().insert(&session, &network("one")).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        assert_eq!(enforce_visitor_limits(&limited(db, 3)).await.expect("enforces"), 0);
        assert_eq!(enforce_visitor_limits(&limited(db, 0)).await.expect("enforces"), 3);
        let all = ["created", "scanned", "done", "asked", "working", "confirming"];
        assert_eq!(kept_connections(db, &all).await, ["asked", "working", "confirming"]);
    }

    async fn the_oldest_connect_sessions_of_the_heaviest_visitor_go_first(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for (token, visitor, seconds) in [("h1", "heavy", 3), ("h2", "heavy", 1), ("h3", "heavy", 2), ("l1", "light", 0)] {
            let session = ConnectSession { token: token.to_owned(), created_at: at(seconds), ..connect_session() };
            unit.connect_sessions().insert(&session, &network(visitor)).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        assert_eq!(enforce_visitor_limits(&limited(db, 2)).await.expect("enforces"), 2);
        assert_eq!(kept_connections(db, &["h1", "h2", "h3", "l1"]).await, ["h1", "l1"]);
    }

    async fn the_oldest_sessions_of_tools_of_the_heaviest_visitor_go_first_unless_they_are_answered(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for (token, visitor, seconds, status) in [
            ("h1", "heavy", 4, ToolStatus::Created),
            ("h2", "heavy", 2, ToolStatus::Scanned),
            ("h3", "heavy", 3, ToolStatus::Created),
            ("h4", "heavy", 1, ToolStatus::Succeed),
            ("l1", "light", 0, ToolStatus::Created),
        ] {
            let session = ToolSession { token: token.to_owned(), status, created_at: at(seconds), ..tool_session() };
            unit.tool_sessions().insert(&session, &network(visitor)).await.expect("inserts");
        }
        unit.commit().await.expect("commits");
        assert_eq!(enforce_visitor_limits(&limited(db, 2)).await.expect("enforces"), 2);
        let mut kept = Vec::new();
        for token in ["h1", "h2", "h3", "h4", "l1"] {
            kept.extend(read(db).await.tool_sessions().find(token, at(0)).await.expect("reads").map(|session| session.token));
        }
        assert_eq!(kept, ["h1", "h4", "l1"]);
    }

    async fn card_forms_are_limited_per_order_and_per_visitor(db: &TestDatabase) {
        let ctx = context(db, at(0));
        let (one, other) = (network("one"), network("other"));
        for _ in 0..CARD_FORMS_OF_SUBJECT {
            assert!(!refused(admit_card_form(&ctx, Mode::Live, "cs_1", &one).await));
        }
        assert!(refused(admit_card_form(&ctx, Mode::Live, "cs_1", &other).await), "for every visitor");
        for number in CARD_FORMS_OF_SUBJECT..CARD_FORMS_OF_VISITOR {
            assert!(!refused(admit_card_form(&ctx, Mode::Live, &format!("cs_other{number}"), &one).await));
        }
        assert!(refused(admit_card_form(&ctx, Mode::Live, "cs_2", &one).await), "for any order");
        assert!(!refused(admit_card_form(&ctx, Mode::Live, "cs_2", &other).await));
        assert!(!refused(admit_card_form(&ctx, Mode::Test, "cs_2", &one).await), "test mode counts alone");
        let later = Context { clock: context(db, at(3_600)).clock, ..ctx };
        assert!(!refused(admit_card_form(&later, Mode::Live, "cs_1", &one).await), "an hour later");
    }

    async fn the_networks_of_a_site_cannot_use_up_the_card_forms_of_the_store(db: &TestDatabase) {
        let ctx = context(db, at(0));
        let mut opened = 0;
        for number in 0..CARD_FORMS_OF_SITE + 20 {
            let visitor = of_site("site", &format!("network{}", number % 100));
            opened += u32::from(!refused(admit_card_form(&ctx, Mode::Live, &format!("cs_{number}"), &visitor).await));
        }
        assert_eq!((opened, CARD_FORMS_OF_SITE), (CARD_FORMS_OF_STORE / 8, CARD_FORMS_OF_STORE / 8));
        assert!(!refused(admit_card_form(&ctx, Mode::Live, "cs_other", &of_site("other", "network0")).await), "another site");
    }

    async fn card_forms_of_the_whole_store_are_limited(db: &TestDatabase) {
        let ctx = context(db, at(0));
        let hour = souk_domain::operation::hour_of(at(0));
        let mut unit = begin(db).await;
        for _ in 0..CARD_FORMS_OF_STORE - 1 {
            assert!(unit.hourly_counts().count("card:live:store", hour, CARD_FORMS_OF_STORE).await.expect("counts"));
        }
        unit.commit().await.expect("commits");
        assert!(!refused(admit_card_form(&ctx, Mode::Live, "cs_1", &network("one")).await));
        assert!(refused(admit_card_form(&ctx, Mode::Live, "cs_2", &network("two")).await));
        assert!(!refused(admit_card_form(&Context { clock: context(db, at(0).plus(Duration::from_secs(3_600))).clock, ..ctx }, Mode::Live, "cs_2", &network("two")).await));
    }

    async fn a_customer_has_one_id_for_each_method_at_its_provider(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.methods().insert(&crate::checkout_fixtures::card_method()).await.expect("inserts");
        let customer = unit.customers().upsert(&crate::checkout_fixtures::customer("cus_1", "z1buyer")).await.expect("inserts");
        let method = id("pm_card");
        assert_eq!(unit.customers().provider_customer(&customer.id, &method).await.expect("reads"), None);
        for provider_id in ["cus_at_provider", "cus_replaced"] {
            unit.customers().set_provider_customer(&customer.id, &method, provider_id).await.expect("writes");
            let expected = ProviderCustomer { provider_id: provider_id.to_owned(), is_erased: false };
            assert_eq!(unit.customers().provider_customer(&customer.id, &method).await.expect("reads"), Some(expected));
        }
        assert_eq!(unit.customers().provider_customer(&customer.id, &id("pm_other")).await.expect("reads"), None);
    }
}
