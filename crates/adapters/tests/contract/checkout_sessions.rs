//! Checkout sessions: every update requires the version that was read, and concurrent starts create one session.

use crate::checkout_fixtures::{all_at_once, at, begin, card_method, currency, customer, did, id, insert_checkout, invoice, read, session};
use souk_adapters::on_both;
use souk_domain::billing::{BalanceTransaction, BalanceTransactionType, Invoice, InvoiceStatus, NewInvoice};
use souk_domain::checkout::{
    ChosenMethod, FormOptions, PaymentStatus, Session, SessionFilter, SessionStatus, SubmitContext, SubscriptionTerms,
};
use souk_domain::customer::CustomerStatus;
use souk_domain::payment::{Currency, Method};
use souk_domain::pricing::Metadata;
use souk_domain::shared::{Amount, Mode, Page, SessionId, StorageError};
use souk_domain::storage::UnitOfWork;
use std::collections::BTreeSet;

fn names(sessions: &[Session]) -> Vec<&str> {
    sessions.iter().map(|session| session.id.as_str()).collect()
}

on_both! {
    async fn a_session_is_read_as_written_and_as_updated(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.customers().upsert(&customer("cus_1", "z1buyer")).await.expect("inserts");
        unit.sessions().insert(&session("cs_1")).await.expect("inserts");
        assert_eq!(unit.sessions().find(&id("cs_1")).await.expect("reads"), Some(session("cs_1")));
        assert_eq!(unit.sessions().find(&id("cs_2")).await.expect("reads"), None);
        let changed = Session {
            status: SessionStatus::Complete,
            payment_status: PaymentStatus::Paid,
            items: Vec::new(),
            currency_id: id("pc_2"),
            form: FormOptions::default(),
            terms: SubscriptionTerms::default(),
            requires_cross_sell: false,
            subscription_ids: Vec::new(),
            mandate_id: None,
            stake_id: None,
            trial_end: None,
            success_url: None,
            cancel_url: Some("https://shop.example/no".to_owned()),
            browser: None,
            payer: None,
            customer_id: Some(id("cus_1")),
            contact: None,
            method_id: Some(id("pm_1")),
            intent_id: Some(id("pi_1")),
            invoice_id: Some(id("in_1")),
            amount_total: Amount::new(u128::MAX),
            metadata: Metadata::new(),
            expires_at: at(5),
            updated_at: at(4),
            ..session("cs_1")
        };
        assert!(unit.sessions().update(&changed).await.expect("updates"));
        assert_eq!(unit.sessions().find(&id("cs_1")).await.expect("reads"), Some(Session { version: 1, ..changed }));
    }

    async fn load_for_submit_returns_the_session_with_its_context(db: &TestDatabase) {
        insert_checkout(db, &["pi_1"]).await;
        let mut unit = begin(db).await;
        let other = Method { id: id("pm_9"), default_currency_id: None, ..card_method() };
        unit.methods().insert(&other).await.expect("inserts");
        let own = Currency { id: id("pc_own"), active: false, ..currency() };
        unit.methods().insert_currency(&own).await.expect("inserts");
        let (stranger, payer) = (did("z1nobody"), did("z1buyer"));
        let loaded = unit.sessions().load_for_submit(&id("cs_1"), &own.method_id, &own.id, &stranger).await.expect("reads");
        let chosen = Some(ChosenMethod { method: card_method(), currency: own.clone() });
        assert_eq!(loaded, Some(SubmitContext { session: session("cs_1"), chosen, customer_status: None }));
        assert_eq!(unit.sessions().load_for_submit(&id("cs_9"), &own.method_id, &own.id, &payer).await.expect("reads"), None);

        // The currency must belong to the method, and the customer to the session's mode.
        let fresh = CustomerStatus { customer: customer("cus_1", "z1buyer"), has_overdue: false, may_pay_fast: false };
        let loaded = SubmitContext { session: session("cs_1"), chosen: None, customer_status: Some(fresh.clone()) };
        for method in [other.id, id("pm_nobody")] {
            assert_eq!(unit.sessions().load_for_submit(&id("cs_1"), &method, &own.id, &payer).await.expect("reads"), Some(loaded.clone()));
        }
        let live = Session { mode: Mode::Live, ..session("cs_2") };
        unit.sessions().insert(&live).await.expect("inserts");
        let found = unit.sessions().load_for_submit(&live.id, &own.method_id, &own.id, &payer).await.expect("reads").expect("is there");
        assert_eq!(found.customer_status, None);

        let customer_status = async |unit: &mut dyn UnitOfWork| {
            let loaded = unit.sessions().load_for_submit(&id("cs_1"), &id("pm_1"), &id("pc_1"), &payer).await.expect("reads");
            loaded.and_then(|loaded| loaded.customer_status)
        };
        let overdue = Invoice { status: InvoiceStatus::Uncollectible, number: Some(1), ..invoice("in_1") };
        unit.invoices().insert_final_all(&[NewInvoice { invoice: overdue.clone(), items: Vec::new() }]).await.expect("inserts");
        assert_eq!(customer_status(unit.as_mut()).await, Some(CustomerStatus { has_overdue: true, ..fresh.clone() }));
        let increase = BalanceTransaction {
            id: id("cbtxn_1"),
            mode: Mode::Test,
            customer_id: overdue.customer_id.clone(),
            currency_id: overdue.currency_id.clone(),
            kind: BalanceTransactionType::CreditNote,
            amount: Amount::new(1),
            balance_after: Amount::ZERO,
            source: "cn_1".to_owned(),
            created_at: at(0),
        };
        assert!(unit.balances().record(&increase).await.expect("records").is_some());
        assert_eq!(customer_status(unit.as_mut()).await, Some(CustomerStatus { has_overdue: true, may_pay_fast: true, ..fresh }));
    }

    async fn an_update_of_a_changed_session_rolls_back_the_unit_of_work(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.sessions().insert(&session("cs_1")).await.expect("inserts");
        unit.commit().await.expect("commits");
        let update_or_conflict = async |total: u128| {
            let mut unit = begin(db).await;
            unit.sessions().update_or_conflict(&Session { amount_total: Amount::new(total), ..session("cs_1") }).await?;
            unit.commit().await
        };
        update_or_conflict(7).await.expect("commits");
        assert!(matches!(update_or_conflict(8).await, Err(StorageError::Conflict)));
        let found = read(db).await.sessions().find(&id("cs_1")).await.expect("reads").expect("is there");
        assert_eq!((found.version, found.amount_total), (1, Amount::new(7)));
    }

    async fn an_update_of_an_old_version_is_rejected(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.sessions().insert(&session("cs_1")).await.expect("inserts");
        assert!(unit.sessions().update(&session("cs_1")).await.expect("updates"));
        let stale = Session { amount_total: Amount::ZERO, ..session("cs_1") };
        assert!(!unit.sessions().update(&stale).await.expect("updates"));
        let found = unit.sessions().find(&id("cs_1")).await.expect("reads").expect("is there");
        assert_eq!((found.version, found.amount_total), (1, session("cs_1").amount_total));
    }

    async fn of_concurrent_completions_exactly_one_succeeds_as_invariant_3_requires(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.sessions().insert(&session("cs_1")).await.expect("inserts");
        unit.commit().await.expect("commits");
        let won = all_at_once(db, 8, |db, number| async move {
            let session = read(&db).await.sessions().find(&id("cs_1")).await.expect("reads").expect("is there");
            if session.status == SessionStatus::Complete {
                return None;
            }
            let mut unit = begin(&db).await;
            let amount_total = Amount::new(number.into());
            let complete = Session { status: SessionStatus::Complete, amount_total, ..session };
            let won = unit.sessions().update(&complete).await.expect("updates");
            unit.commit().await.expect("commits");
            won.then_some(amount_total)
        });
        let won: Vec<_> = won.await.into_iter().flatten().collect();
        let found = read(db).await.sessions().find(&id("cs_1")).await.expect("reads").expect("is there");
        assert_eq!((won, found.version), (vec![found.amount_total], 1));
    }

    async fn concurrent_starts_of_a_visitor_create_one_session(db: &TestDatabase) {
        let claimed = all_at_once(db, 10, |db, number| async move {
            let mut unit = begin(&db).await;
            let own: SessionId = id(&format!("cs_{number}"));
            let claimed = unit.sessions().claim_start("plink_1:anna", &own, at(10), at(7)).await.expect("claims");
            if claimed == own {
                unit.sessions().insert(&session(own.as_str())).await.expect("inserts");
            } else {
                // The caller that created the session has committed it.
                assert!(unit.sessions().find(&claimed).await.expect("reads").is_some());
            }
            unit.commit().await.expect("commits");
            claimed
        });
        let claimed: BTreeSet<_> = claimed.await.into_iter().collect();
        let listed = read(db).await.sessions().list(Mode::Test, &SessionFilter::default(), &Page::new(None, None)).await.expect("lists");
        assert_eq!((claimed.len(), listed.count), (1, 1));
    }

    async fn a_start_after_the_window_or_by_another_visitor_creates_a_new_session(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let mut sessions = unit.sessions();
        assert_eq!(sessions.claim_start("plink_1:anna", &id("cs_1"), at(10), at(7)).await.expect("claims"), id("cs_1"));
        assert_eq!(sessions.claim_start("plink_1:anna", &id("cs_2"), at(12), at(9)).await.expect("claims"), id("cs_1"));
        assert_eq!(sessions.claim_start("plink_1:bob", &id("cs_3"), at(12), at(9)).await.expect("claims"), id("cs_3"));
        assert_eq!(sessions.claim_start("plink_1:anna", &id("cs_4"), at(13), at(10)).await.expect("claims"), id("cs_4"));
        assert_eq!(sessions.claim_start("plink_1:anna", &id("cs_5"), at(14), at(11)).await.expect("claims"), id("cs_4"));
    }

    async fn a_start_that_was_rolled_back_has_no_effect(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.sessions().claim_start("plink_1:anna", &id("cs_1"), at(10), at(7)).await.expect("claims");
        drop(unit);
        let mut unit = begin(db).await;
        assert_eq!(unit.sessions().claim_start("plink_1:anna", &id("cs_2"), at(10), at(7)).await.expect("claims"), id("cs_2"));
    }

    async fn new_starts_delete_old_ones(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for number in 0..40 {
            let own: SessionId = id(&format!("cs_{number}"));
            let now = i64::from(number) * 10;
            unit.sessions().claim_start(&format!("plink_1:{number}"), &own, at(now), at(now - 3)).await.expect("claims");
        }
        unit.commit().await.expect("commits");
        let mut connection = db.read().await.expect("reads");
        let row = connection.query("SELECT count(*) AS n FROM session_starts").one().await.expect("counts");
        assert_eq!(row.get::<u64>("n").expect("a number"), 1);
    }

    async fn expired_open_sessions_are_due_oldest_first(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let expiring = |name: &str, seconds| Session { expires_at: at(seconds), ..session(name) };
        unit.sessions().insert(&expiring("cs_1", 30)).await.expect("inserts");
        unit.sessions().insert(&expiring("cs_2", 10)).await.expect("inserts");
        unit.sessions().insert(&expiring("cs_3", 31)).await.expect("inserts");
        unit.sessions().insert(&Session { status: SessionStatus::Complete, ..expiring("cs_4", 5) }).await.expect("inserts");
        assert_eq!(unit.sessions().due_for_expiry(at(30), None, 9).await.expect("scans").into_iter().map(|(_, id)| id).collect::<Vec<_>>(), [id("cs_2"), id("cs_1")]);
        let first = unit.sessions().due_for_expiry(at(30), None, 1).await.expect("scans");
        assert_eq!(first[0].1, id("cs_2"));
        let rest = unit.sessions().due_for_expiry(at(30), first.first(), 9).await.expect("scans");
        assert_eq!(rest.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>(), [id("cs_1")]);
        assert_eq!(unit.sessions().expire_idle(at(30), 9).await.expect("expires"), 2);
        assert_eq!(unit.sessions().expire_idle(at(30), 9).await.expect("expires"), 0);
    }

    async fn only_old_expired_sessions_that_a_visitor_started_and_never_submitted_are_pruned(db: &TestDatabase) {
        let mut unit = begin(db).await;
        let started = |name: &str, seconds| Session {
            status: SessionStatus::Expired,
            payer: None,
            intent_id: None,
            created_at: at(seconds),
            ..session(name)
        };
        let kept = [
            started("cs_young", 30),
            Session { status: SessionStatus::Open, ..started("cs_open", 1) },
            Session { status: SessionStatus::Complete, ..started("cs_complete", 1) },
            Session { payer: Some(did("z1buyer")), ..started("cs_submitted", 1) },
            Session { intent_id: Some(id("pi_1")), ..started("cs_intent", 1) },
            Session { link_id: None, ..started("cs_by_key", 1) },
        ];
        for session in kept.iter().chain(&[started("cs_1", 10), started("cs_2", 20), started("cs_3", 29)]) {
            unit.sessions().insert(session).await.expect("inserts");
        }
        assert_eq!(unit.sessions().prune_unsubmitted(at(30), 2).await.expect("prunes"), 2);
        assert_eq!(unit.sessions().find(&id("cs_2")).await.expect("reads"), None);
        assert!(unit.sessions().find(&id("cs_3")).await.expect("reads").is_some(), "the oldest are deleted first");
        assert_eq!(unit.sessions().prune_unsubmitted(at(30), 2).await.expect("prunes"), 1);
        for session in &kept {
            assert!(unit.sessions().find(&session.id).await.expect("reads").is_some(), "{}", session.id);
        }
    }

    async fn a_list_is_filtered_by_status_link_and_metadata(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.sessions().insert(&session("cs_1")).await.expect("inserts");
        unit.sessions().insert(&Session { status: SessionStatus::Expired, link_id: None, ..session("cs_2") }).await.expect("inserts");
        unit.sessions().insert(&Session { status: SessionStatus::Complete, metadata: Metadata::new(), ..session("cs_3") }).await.expect("inserts");
        unit.sessions().insert(&Session { mode: Mode::Live, ..session("cs_4") }).await.expect("inserts");
        let all = SessionFilter::default();
        let cases = [
            (all.clone(), vec!["cs_3", "cs_2", "cs_1"]),
            (SessionFilter { statuses: vec![SessionStatus::Open], ..all.clone() }, vec!["cs_1"]),
            (SessionFilter { statuses: vec![SessionStatus::Open, SessionStatus::Expired], ..all.clone() }, vec!["cs_2", "cs_1"]),
            (SessionFilter { link: Some(id("plink_1")), ..all.clone() }, vec!["cs_3", "cs_1"]),
            (SessionFilter { metadata: session("cs_1").metadata, ..all }, vec!["cs_2", "cs_1"]),
        ];
        for (filter, expected) in cases {
            let listed = unit.sessions().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            assert_eq!((listed.count, names(&listed.list)), (expected.len() as u64, expected), "{filter:?}");
        }
    }
}
