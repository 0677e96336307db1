//! Orders that were submitted and never paid, and users to whom nothing belongs, are deleted. What money refers to never is.

use crate::checkout_fixtures::{
    at, begin, card_attempt, context, customer, did, held_stake, id, insert_checkout, intent, invoice, read, session,
};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::access::{Passport, Role, User};
use souk_domain::billing::{Stake, StakeStatus};
use souk_domain::checkout::{Session, SessionStatus};
use souk_domain::context::Context;
use souk_domain::operation::{VisitorLimits, VisitorNetwork, enforce_visitor_limits};
use souk_domain::payment::{Attempt, AttemptStatus, Intent, IntentStatus, Mandate, MandateStatus};
use souk_domain::shared::{Language, Mode};
use souk_domain::storage::UnitOfWork;

/// Writes an order of `cus_1` that was started after `seconds`, expired and was not paid: its intent, its dropped draft, a declined attempt and
/// an authorization that was never given. Everything has the order's name.
async fn write(unit: &mut dyn UnitOfWork, name: &str, seconds: i64, order: Session) {
    let mandate = Mandate {
        id: id(&format!("man_{name}")),
        mode: Mode::Test,
        customer_id: id("cus_1"),
        method_id: id("pm_card"),
        status: MandateStatus::Pending,
        details: None,
        created_at: at(seconds),
        updated_at: at(seconds),
    };
    let order = Session {
        customer_id: Some(id("cus_1")),
        intent_id: Some(id(&format!("pi_{name}"))),
        invoice_id: Some(id(&format!("in_{name}"))),
        mandate_id: Some(mandate.id.clone()),
        created_at: at(seconds),
        ..order
    };
    unit.sessions().insert_started(&order, &VisitorNetwork("one".to_owned())).await.expect("inserts");
    unit.mandates().upsert(&mandate).await.expect("inserts");
    let asked = Intent { session_id: Some(order.id.clone()), status: IntentStatus::Canceled, ..intent(&format!("pi_{name}")) };
    unit.intents().upsert(&asked).await.expect("inserts");
    let mut draft = invoice(&format!("in_{name}"));
    draft.session_id = Some(order.id.clone());
    draft.intent_id = Some(asked.id.clone());
    unit.invoices().insert_draft(&draft, &[]).await.expect("inserts");
    unit.invoices().drop_draft(&draft.id, at(seconds)).await.expect("drops");
    attempt(unit, name, AttemptStatus::Declined).await;
}

async fn attempt(unit: &mut dyn UnitOfWork, name: &str, status: AttemptStatus) {
    let attempt = Attempt {
        status,
        session_id: Some(id(&format!("cs_{name}"))),
        ..card_attempt(&format!("att_{name}_{}", status.name()), &format!("pi_{name}"))
    };
    unit.attempts().insert(&attempt, &[]).await.expect("inserts");
}

fn expired(name: &str) -> Session {
    Session { status: SessionStatus::Expired, stake_id: None, ..session(&format!("cs_{name}")) }
}

async fn left(db: &Database, name: &str) -> [bool; 5] {
    let mut unit = read(db).await;
    let session = unit.sessions().find(&id(&format!("cs_{name}"))).await.expect("reads").is_some();
    let intent = unit.intents().find(&id(&format!("pi_{name}"))).await.expect("reads").is_some();
    let invoice = unit.invoices().find(&id(&format!("in_{name}"))).await.expect("reads").is_some();
    let attempt = unit.attempts().find(&id(&format!("att_{name}_declined"))).await.expect("reads").is_some();
    let mandate = unit.mandates().find(&id(&format!("man_{name}"))).await.expect("reads").is_some();
    [session, intent, invoice, attempt, mandate]
}

fn user(name: &str, seconds: i64) -> User {
    User {
        did: did(name),
        public_key: "key".to_owned(),
        full_name: String::new(),
        email: String::new(),
        phone: String::new(),
        address: None,
        language: Language::English,
        created_at: at(seconds),
        updated_at: at(seconds),
    }
}

on_both! {
    async fn an_unpaid_order_is_deleted_with_all_that_was_written_for_it(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        for (name, seconds) in [("old", 1), ("older", 0), ("young", 30)] {
            write(unit.as_mut(), name, seconds, expired(name)).await;
        }
        unit.commit().await.expect("commits");
        let mut unit = begin(db).await;
        assert_eq!(unit.sessions().prune_unpaid(at(30), 1).await.expect("prunes"), 1);
        unit.commit().await.expect("commits");
        assert_eq!((left(db, "older").await, left(db, "old").await), ([false; 5], [true; 5]), "the oldest first");
        let mut unit = begin(db).await;
        assert_eq!(unit.sessions().prune_unpaid(at(30), 9).await.expect("prunes"), 1);
        unit.commit().await.expect("commits");
        assert_eq!((left(db, "old").await, left(db, "young").await), ([false; 5], [true; 5]));
    }

    async fn an_order_to_which_money_or_an_undecided_attempt_refers_is_never_deleted(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        let unit_ref = unit.as_mut();
        for (name, status) in [("open", AttemptStatus::Open), ("unknown", AttemptStatus::Unknown), ("settled", AttemptStatus::Settled)] {
            write(unit_ref, name, 0, expired(name)).await;
            attempt(unit_ref, name, status).await;
        }
        write(unit_ref, "paid", 0, expired("paid")).await;
        let paid = Intent { status: IntentStatus::Succeeded, reference: "0x1".to_owned(), session_id: Some(id("cs_paid")), ..intent("pi_paid") };
        unit_ref.intents().upsert(&paid).await.expect("writes");
        write(unit_ref, "held", 0, expired("held")).await;
        let held = Intent { status: IntentStatus::Succeeded, session_id: None, held_attempt_id: Some(id("att_held_declined")), ..intent("pi_suspense") };
        unit_ref.intents().upsert(&held).await.expect("writes");
        write(unit_ref, "deposit", 0, Session { stake_id: Some(id("stk_9")), ..expired("deposit") }).await;
        unit_ref.stakes().insert(&Stake { status: StakeStatus::Releasing, ..held_stake("stk_9", 5) }).await.expect("inserts");
        write(unit_ref, "waiting", 0, Session { status: SessionStatus::Open, ..expired("waiting") }).await;
        write(unit_ref, "complete", 0, Session { status: SessionStatus::Complete, ..expired("complete") }).await;
        write(unit_ref, "made", 0, Session { link_id: None, ..expired("made") }).await;
        unit.commit().await.expect("commits");
        let mut unit = begin(db).await;
        assert_eq!(unit.sessions().prune_unpaid(at(30), 99).await.expect("prunes"), 0);
        unit.commit().await.expect("commits");
        let none = VisitorLimits { unpaid_orders: 0, ..VisitorLimits::default() };
        assert_eq!(enforce_visitor_limits(&Context { limits: none, ..context(db, at(40)) }).await.expect("enforces"), 0);
        for name in ["open", "unknown", "settled", "paid", "held", "deposit", "waiting", "complete", "made"] {
            assert_eq!(left(db, name).await, [true; 5], "{name}");
        }
    }

    async fn beyond_the_limit_the_oldest_unpaid_orders_are_deleted_before_their_time(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        for (name, seconds) in [("a", 3), ("b", 1), ("c", 2)] {
            write(unit.as_mut(), name, seconds, expired(name)).await;
        }
        unit.commit().await.expect("commits");
        let two = VisitorLimits { unpaid_orders: 2, ..VisitorLimits::default() };
        assert_eq!(enforce_visitor_limits(&Context { limits: two, ..context(db, at(4)) }).await.expect("enforces"), 1);
        assert_eq!([left(db, "a").await, left(db, "b").await, left(db, "c").await], [[true; 5], [false; 5], [true; 5]]);
    }

    async fn users_to_whom_nothing_belongs_are_deleted_with_their_empty_customers(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        for (name, seconds) in [("z1stranger", 0), ("z1profile", 1), ("z1owner", 2), ("z1buyer", 3), ("z1young", 40)] {
            unit.users().upsert(&user(name, seconds)).await.expect("inserts");
        }
        unit.customers().upsert(&customer("cus_2", "z1profile")).await.expect("inserts");
        unit.customers().set_provider_customer(&id("cus_2"), &id("pm_card"), "cus_at_provider").await.expect("writes");
        let passport = Passport { id: id("pass_1"), holder: did("z1owner"), role: Role::Owner, issued_at: at(0), revoked_at: None };
        unit.users().issue_passport(&passport).await.expect("issues");
        // The customer of z1buyer has an order.
        write(unit.as_mut(), "order", 0, expired("order")).await;
        unit.commit().await.expect("commits");
        let mut unit = begin(db).await;
        assert_eq!(unit.users().prune_unused(at(30), at(50), 3).await.expect("examines"), 3);
        assert_eq!(unit.users().prune_unused(at(30), at(50), 3).await.expect("examines"), 1);
        assert_eq!(unit.users().prune_unused(at(30), at(50), 3).await.expect("examines"), 0, "each is examined once in the time");
        unit.commit().await.expect("commits");
        let mut unit = read(db).await;
        let mut found = Vec::new();
        for name in ["z1stranger", "z1profile", "z1owner", "z1buyer", "z1young"] {
            found.push(unit.users().find(&did(name)).await.expect("reads").is_some());
        }
        assert_eq!(found, [false, false, true, true, true]);
        assert!(unit.customers().find(&id("cus_2")).await.expect("reads").is_none());
        assert!(unit.customers().find(&id("cus_1")).await.expect("reads").is_some());
    }
}
