//! Orders that were submitted and never paid are deleted. An order for which money moved or can still move never is.

use crate::catalogue::{price, stock};
use crate::checkout_fixtures::{
    at, begin, card_attempt, context, held_stake, id, insert_checkout, intent, invoice, open_invoice, read, session,
};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_adapters::testing::TestDatabase;
use souk_domain::billing::{Invoice, InvoiceStatus, NewInvoice, Stake, StakeStatus, StakeSubject};
use souk_domain::checkout::{Session, SessionStatus};
use souk_domain::context::Context;
use souk_domain::operation::{UNPAID_ORDER_AGE_MIN, VisitorLimits, VisitorNetwork, enforce_order_limit};
use souk_domain::payment::{Attempt, AttemptStatus, Intent, IntentStatus, Mandate, MandateStatus, Purpose};
use souk_domain::pricing::StockReservation;
use souk_domain::shared::{Amount, Mode, Timestamp};
use souk_domain::storage::UnitOfWork;
use std::time::Duration;

/// A mandate of `cus_1` without any details.
pub fn mandate(name: &str, status: MandateStatus) -> Mandate {
    Mandate {
        id: id(name),
        mode: Mode::Test,
        customer_id: id("cus_1"),
        method_id: id("pm_card"),
        status,
        details: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// A stake for the subscription `subject` that was abandoned before anything was paid into it.
pub fn unpaid_stake(name: &str, subject: &str) -> Stake {
    let subject = StakeSubject::Subscription(id(subject));
    Stake {
        status: StakeStatus::Final,
        amount: Amount::ZERO,
        amount_requested: Amount::new(5),
        reference: None,
        subject,
        ..held_stake(name, 0)
    }
}

/// Writes an order of `cus_1` that was started and last changed after `seconds`: its intent, its dropped draft, a declined attempt and a
/// mandate that was never set up. All of them have the order's name.
pub async fn write(unit: &mut dyn UnitOfWork, name: &str, seconds: i64, order: Session) {
    let order = Session {
        customer_id: Some(id("cus_1")),
        intent_id: Some(id(&format!("pi_{name}"))),
        invoice_id: Some(id(&format!("in_{name}"))),
        mandate_id: Some(id(&format!("man_{name}"))),
        created_at: at(seconds),
        updated_at: at(seconds),
        ..order
    };
    unit.sessions().insert_started(&order, &VisitorNetwork { network: "one".to_owned(), site: "one".to_owned() }).await.expect("inserts");
    unit.mandates().upsert(&mandate(&format!("man_{name}"), MandateStatus::Pending)).await.expect("inserts");
    let asked = Intent { session_id: Some(order.id.clone()), status: IntentStatus::Canceled, ..intent(&format!("pi_{name}")) };
    unit.intents().upsert(&asked).await.expect("inserts");
    let mut draft = invoice(&format!("in_{name}"));
    draft.session_id = Some(order.id.clone());
    draft.intent_id = Some(asked.id.clone());
    unit.invoices().insert_draft(&draft, &[]).await.expect("inserts");
    unit.invoices().drop_draft(&draft.id, at(seconds)).await.expect("drops");
    pay(unit, name, AttemptStatus::Declined).await;
}

/// Writes an attempt to pay an order.
async fn pay(unit: &mut dyn UnitOfWork, name: &str, status: AttemptStatus) {
    attempt(unit, name, Purpose::Payment(id(&format!("pi_{name}"))), status).await;
}

async fn attempt(unit: &mut dyn UnitOfWork, name: &str, purpose: Purpose, status: AttemptStatus) {
    let attempt_id = match &purpose {
        Purpose::Payment(_) => format!("att_{name}_{}", status.name()),
        purpose => format!("att_{name}_{}_{}", purpose.subject(), status.name()),
    };
    let attempt = Attempt { status, purpose, session_id: Some(id(&format!("cs_{name}"))), ..card_attempt(&attempt_id, "pi_1") };
    unit.attempts().insert(&attempt, &[]).await.expect("inserts");
}

pub fn expired(name: &str) -> Session {
    Session { status: SessionStatus::Expired, stake_id: None, ..session(&format!("cs_{name}")) }
}

/// Whether the session, its intent, its invoice, its declined attempt and its mandate are left.
async fn left(db: &Database, name: &str) -> [bool; 5] {
    let mut unit = read(db).await;
    let session = unit.sessions().find(&id(&format!("cs_{name}"))).await.expect("reads").is_some();
    let intent = unit.intents().find(&id(&format!("pi_{name}"))).await.expect("reads").is_some();
    let invoice = unit.invoices().find(&id(&format!("in_{name}"))).await.expect("reads").is_some();
    let attempt = unit.attempts().find(&id(&format!("att_{name}_declined"))).await.expect("reads").is_some();
    let mandate = unit.mandates().find(&id(&format!("man_{name}"))).await.expect("reads").is_some();
    [session, intent, invoice, attempt, mandate]
}

async fn has_mandate(db: &Database, name: &str) -> bool {
    read(db).await.mandates().find(&id(name)).await.expect("reads").is_some()
}

async fn has_stake(db: &Database, name: &str) -> bool {
    read(db).await.stakes().find(&id(name)).await.expect("reads").is_some()
}

async fn prune(db: &Database, before: Timestamp, limit: u32) -> u64 {
    let mut unit = begin(db).await;
    let deleted = unit.sessions().prune_unpaid(before, limit).await.expect("prunes");
    unit.commit().await.expect("commits");
    deleted
}

/// Enforces a limit of unpaid orders as long as their minimum age after `seconds`.
async fn enforce(db: &Database, limit: u32, seconds: i64) -> u64 {
    let limits = VisitorLimits { unpaid_orders: limit, ..VisitorLimits::default() };
    enforce_order_limit(&Context { limits, ..context(db, at(seconds).plus(UNPAID_ORDER_AGE_MIN)) }).await.expect("enforces")
}

pub fn is_postgres(db: &TestDatabase) -> bool {
    db.address().starts_with("postgres")
}

/// Waits until a transaction waits for a lock. On SQLite, the second unit of work waits at its first write.
async fn wait_for_waiting(db: &TestDatabase) {
    if !is_postgres(db) {
        return;
    }
    let select = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let waiting = async {
        while db.read().await.expect("reads").query(select).one().await.expect("counts").get::<u32>("n").expect("n") == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("the other transaction waits");
}

on_both! {
    async fn an_unpaid_order_is_deleted_with_all_that_was_written_for_it(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        for (name, seconds) in [("old", 1), ("older", 0), ("young", 30)] {
            write(unit.as_mut(), name, seconds, expired(name)).await;
        }
        unit.commit().await.expect("commits");
        assert_eq!(prune(db, at(30), 1).await, 1);
        assert_eq!((left(db, "older").await, left(db, "old").await), ([false; 5], [true; 5]), "the oldest first");
        assert_eq!(prune(db, at(30), 9).await, 1);
        assert_eq!((left(db, "old").await, left(db, "young").await), ([false; 5], [true; 5]));
    }

    async fn an_order_for_which_money_moved_or_can_move_is_never_deleted(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        let unit_ref = unit.as_mut();
        for (name, status) in [("open", AttemptStatus::Open), ("unknown", AttemptStatus::Unknown), ("settled", AttemptStatus::Settled)] {
            write(unit_ref, name, 0, expired(name)).await;
            pay(unit_ref, name, status).await;
        }
        write(unit_ref, "mandating", 0, expired("mandating")).await;
        attempt(unit_ref, "mandating", Purpose::Mandate(id("man_mandating")), AttemptStatus::Open).await;
        write(unit_ref, "returned", 0, Session { stake_id: Some(id("stk_8")), ..expired("returned") }).await;
        unit_ref.stakes().insert(&Stake { status: StakeStatus::Final, ..held_stake("stk_8", 5) }).await.expect("inserts");
        attempt(unit_ref, "returned", Purpose::Stake(id("stk_8")), AttemptStatus::Settled).await;
        write(unit_ref, "paid", 0, expired("paid")).await;
        let paid = Intent { status: IntentStatus::Succeeded, session_id: Some(id("cs_paid")), ..intent("pi_paid") };
        unit_ref.intents().upsert(&paid).await.expect("writes");
        write(unit_ref, "referenced", 0, expired("referenced")).await;
        let referenced = Intent { reference: "0x2".to_owned(), session_id: Some(id("cs_referenced")), ..intent("pi_second") };
        unit_ref.intents().upsert(&referenced).await.expect("writes");
        write(unit_ref, "drafted", 0, expired("drafted")).await;
        let draft = Invoice { session_id: Some(id("cs_drafted")), ..invoice("in_second") };
        unit_ref.invoices().insert_draft(&draft, &[]).await.expect("inserts");
        write(unit_ref, "held", 0, expired("held")).await;
        let held = Intent { status: IntentStatus::Succeeded, session_id: None, held_attempt_id: Some(id("att_held_declined")), ..intent("pi_suspense") };
        unit_ref.intents().upsert(&held).await.expect("writes");
        write(unit_ref, "deposit", 0, Session { stake_id: Some(id("stk_9")), ..expired("deposit") }).await;
        unit_ref.stakes().insert(&Stake { status: StakeStatus::Releasing, ..held_stake("stk_9", 5) }).await.expect("inserts");
        write(unit_ref, "waiting", 0, Session { status: SessionStatus::Open, ..expired("waiting") }).await;
        write(unit_ref, "complete", 0, Session { status: SessionStatus::Complete, ..expired("complete") }).await;
        write(unit_ref, "made", 0, Session { link_id: None, ..expired("made") }).await;
        unit.commit().await.expect("commits");
        assert_eq!(prune(db, at(30), 99).await, 0);
        assert_eq!(enforce(db, 0, 40).await, 0);
        let money = ["open", "unknown", "settled", "mandating", "returned", "paid", "referenced", "held", "deposit"];
        for name in money.into_iter().chain(["drafted", "waiting", "complete", "made"]) {
            assert_eq!(left(db, name).await, [true; 5], "{name}");
        }
    }

    async fn an_order_with_a_numbered_invoice_is_kept(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        write(unit.as_mut(), "order", 0, expired("order")).await;
        let numbered = open_invoice("in_numbered", 7).invoice;
        let numbered = Invoice { status: InvoiceStatus::Void, session_id: Some(id("cs_order")), ..numbered };
        unit.invoices().insert_final_all(&[NewInvoice { invoice: numbered, items: Vec::new() }]).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert_eq!((prune(db, at(30), 9).await, enforce(db, 0, 40).await), (0, 0));
        assert_eq!(left(db, "order").await, [true; 5]);
    }

    async fn an_order_that_takes_stock_is_kept_until_the_stock_is_returned(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        stock(db, &[price("price_1", 5)]).await;
        let mut unit = begin(db).await;
        write(unit.as_mut(), "order", 0, expired("order")).await;
        let reservation = StockReservation { price_id: id("price_1"), quantity: 1 };
        unit.prices().reserve(&id("cs_order"), &reservation, at(0)).await.expect("reserves");
        unit.commit().await.expect("commits");
        assert_eq!(prune(db, at(30), 9).await, 0);
        let mut unit = begin(db).await;
        unit.prices().release(&id("cs_order")).await.expect("releases");
        unit.commit().await.expect("commits");
        assert_eq!(prune(db, at(30), 9).await, 1);
        assert!(read(db).await.prices().reservations(&id("cs_order")).await.expect("reads").is_empty());
    }

    async fn a_mandate_that_was_set_up_keeps_no_order_and_stays_active(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        write(unit.as_mut(), "order", 0, expired("order")).await;
        unit.mandates().upsert(&mandate("man_order", MandateStatus::Active)).await.expect("writes");
        attempt(unit.as_mut(), "order", Purpose::Mandate(id("man_order")), AttemptStatus::Settled).await;
        unit.commit().await.expect("commits");
        assert_eq!(read(db).await.sessions().count_unpaid(at(30), 9).await.expect("counts"), 1);
        assert_eq!(prune(db, at(30), 9).await, 1);
        assert_eq!(left(db, "order").await, [false, false, false, false, true]);
    }

    async fn mandates_and_stakes_that_the_order_has_replaced_are_deleted_with_it(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        write(unit.as_mut(), "order", 0, Session { stake_id: Some(id("stk_last")), ..expired("order") }).await;
        unit.mandates().upsert(&mandate("man_declined", MandateStatus::Ended)).await.expect("inserts");
        attempt(unit.as_mut(), "order", Purpose::Mandate(id("man_declined")), AttemptStatus::Declined).await;
        for stake in [unpaid_stake("stk_last", "sub_1"), unpaid_stake("stk_replaced", "sub_1")] {
            unit.stakes().insert(&stake).await.expect("inserts");
        }
        attempt(unit.as_mut(), "order", Purpose::Stake(id("stk_replaced")), AttemptStatus::Declined).await;
        unit.commit().await.expect("commits");
        assert_eq!(prune(db, at(30), 9).await, 1);
        assert_eq!((has_mandate(db, "man_order").await, has_mandate(db, "man_declined").await), (false, false));
        assert_eq!((has_stake(db, "stk_last").await, has_stake(db, "stk_replaced").await), (false, false));
    }

    async fn a_mandate_that_something_else_names_outlives_its_order(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        write(unit.as_mut(), "linked", 0, expired("linked")).await;
        unit.invoices().insert_final_all(&[open_invoice("in_9", 9)]).await.expect("inserts");
        unit.mandates().link_invoices(&id("man_linked"), &[id("in_9")]).await.expect("links");
        write(unit.as_mut(), "shared", 0, expired("shared")).await;
        let other = Session { mandate_id: Some(id("man_shared")), ..session("cs_other") };
        unit.sessions().insert(&other).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert_eq!(prune(db, at(30), 9).await, 2);
        assert_eq!((has_mandate(db, "man_linked").await, has_mandate(db, "man_shared").await), (true, true));
    }

    async fn only_what_is_not_active_and_never_held_money_can_be_deleted_when_it_is_replaced(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        for (name, status) in [("man_active", MandateStatus::Active), ("man_tried", MandateStatus::Pending), ("man_new", MandateStatus::Pending)] {
            unit.mandates().upsert(&mandate(name, status)).await.expect("inserts");
        }
        attempt(unit.as_mut(), "1", Purpose::Mandate(id("man_tried")), AttemptStatus::Declined).await;
        let placed = Stake { status: StakeStatus::Final, subject: StakeSubject::Subscription(id("sub_2")), ..held_stake("stk_placed", 5) };
        let waiting = Stake { status: StakeStatus::Pending, ..unpaid_stake("stk_waiting", "sub_3") };
        for stake in [unpaid_stake("stk_new", "sub_1"), placed, waiting] {
            unit.stakes().insert(&stake).await.expect("inserts");
        }
        let mut deleted = Vec::new();
        for name in ["man_active", "man_tried", "man_new"] {
            deleted.push(unit.mandates().delete_unused(&id(name)).await.expect("answers"));
        }
        assert_eq!(deleted, [false, false, true]);
        deleted.clear();
        for name in ["stk_placed", "stk_waiting", "stk_new"] {
            deleted.push(unit.stakes().delete_unused(&id(name)).await.expect("answers"));
        }
        assert_eq!(deleted, [false, false, true]);
    }

    async fn orders_that_are_kept_do_not_count_towards_the_limit(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        for (name, seconds) in [("a", 3), ("b", 1), ("c", 2), ("settled", 0)] {
            write(unit.as_mut(), name, seconds, expired(name)).await;
        }
        pay(unit.as_mut(), "settled", AttemptStatus::Settled).await;
        unit.commit().await.expect("commits");
        assert_eq!(enforce(db, 3, 4).await, 0);
        assert_eq!(enforce(db, 2, 4).await, 1);
        assert_eq!([left(db, "a").await, left(db, "b").await, left(db, "c").await], [[true; 5], [false; 5], [true; 5]], "the oldest");
        assert_eq!(left(db, "settled").await, [true; 5]);
    }

    async fn an_order_is_kept_for_its_minimum_age_beyond_any_limit(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        write(unit.as_mut(), "order", 0, expired("order")).await;
        let mut changed = unit.sessions().find(&id("cs_order")).await.expect("reads").expect("is there");
        changed.updated_at = at(10);
        assert!(unit.sessions().update(&changed).await.expect("updates"), "as when it expires");
        unit.commit().await.expect("commits");
        assert_eq!((enforce(db, 0, 10).await, enforce(db, 0, 11).await), (0, 1), "since its last change");
    }

    async fn a_payment_that_is_recorded_during_the_deletion_keeps_its_order(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        write(unit.as_mut(), "order", 0, expired("order")).await;
        unit.commit().await.expect("commits");
        let mut payment = begin(db).await;
        let paid = Intent { status: IntentStatus::Succeeded, session_id: Some(id("cs_order")), ..intent("pi_late") };
        payment.intents().upsert(&paid).await.expect("inserts");
        // On SQLite, the insert is deferred to the next statement.
        assert!(payment.intents().find(&paid.id).await.expect("reads").is_some());
        let database = Database::clone(db);
        let deletion = tokio::spawn(async move { prune(&database, at(30), 9).await });
        wait_for_waiting(db).await;
        payment.commit().await.expect("commits");
        assert_eq!(deletion.await.expect("ends"), 0);
        assert_eq!(left(db, "order").await, [true; 5]);
    }

    async fn money_on_hold_that_is_resolved_during_the_deletion_keeps_its_order(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        write(unit.as_mut(), "order", 0, expired("order")).await;
        pay(unit.as_mut(), "order", AttemptStatus::Unknown).await;
        unit.commit().await.expect("commits");
        // What ends a hold declines its attempt, and records its money to another payment.
        let mut payment = begin(db).await;
        let attempt = id("att_order_unknown");
        assert!(payment.attempts().decline_claimed(&attempt, None, at(5)).await.expect("declines"));
        let held = Intent { status: IntentStatus::Succeeded, session_id: None, held_attempt_id: Some(attempt), ..intent("pi_suspense") };
        payment.intents().upsert(&held).await.expect("writes");
        assert!(payment.intents().find(&held.id).await.expect("reads").is_some());
        let database = Database::clone(db);
        let deletion = tokio::spawn(async move {
            let mut unit = begin(&database).await;
            let deleted = unit.sessions().delete_unpaid(&[id("cs_order")], at(30)).await.expect("answers");
            unit.commit().await.expect("commits");
            deleted
        });
        wait_for_waiting(db).await;
        payment.commit().await.expect("commits");
        assert_eq!(deletion.await.expect("ends"), 0);
        assert_eq!(left(db, "order").await, [true; 5]);
    }
}
