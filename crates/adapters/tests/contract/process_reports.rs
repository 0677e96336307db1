//! What only the running processes see reaches `souk doctor`, which is a process of its own.

use crate::checkout_fixtures::{all_at_once, at, begin, card_attempt, card_method, context, id, insert_checkout, read};
use souk_adapters::on_both;
use souk_adapters::persistence::Database;
use souk_domain::context::{Context, Networks};
use souk_domain::doctor::{examine, report_process};
use souk_domain::operation::{Finding, FindingCode, Installation, KnownInstallation, ProcessReport, REPORT_LIFETIME, ReportKind};
use souk_domain::payment::{Attempt, AttemptStatus, Breakers, FAILURES_MAX, HoldClass, Moved, Purpose};
use souk_domain::shared::Amount;
use std::sync::Arc;
use std::time::Duration;

fn report(kind: ReportKind, subject: &str, detail: &str) -> ProcessReport {
    ProcessReport { kind, subject: subject.to_owned(), detail: detail.to_owned() }
}

/// A process that serves requests: the network of its cards does not answer, and an unknown proxy is in front of it.
fn serving(db: &Database) -> Context {
    let breakers = Breakers::default();
    for _ in 0..FAILURES_MAX {
        breakers.record(&card_method(), false, at(0));
    }
    let proxy = Installation { untrusted_proxy: Some("10.0.0.9".to_owned()), ..Installation::default() };
    let networks = Networks::default().with_breakers(Arc::new(breakers));
    Context { networks, installation: Arc::new(KnownInstallation(proxy)), ..context(db, at(0)) }
}

fn named(findings: &[Finding], code: FindingCode) -> Option<&Finding> {
    findings.iter().find(|finding| finding.code == code)
}

on_both! {
    async fn a_report_is_true_for_a_while_and_one_row_however_many_processes_make_it(db: &TestDatabase) {
        let reports = [report(ReportKind::Breaker, "pm_1", "stripe"), report(ReportKind::UntrustedProxy, "10.0.0.9", "")];
        all_at_once(db, 4, |db, number| {
            let reports = reports.clone();
            async move {
                let mut unit = begin(&db).await;
                unit.process_reports().put(&reports, at(100 + i64::from(number)), at(0)).await.expect("writes");
                unit.commit().await.expect("commits");
            }
        })
        .await;
        assert_eq!(read(db).await.process_reports().since(at(90)).await.expect("reads"), reports);
        assert_eq!(read(db).await.process_reports().since(at(104)).await.expect("reads"), []);
        let mut unit = begin(db).await;
        unit.process_reports().put(&reports[1..], at(200), at(150)).await.expect("writes");
        assert_eq!(unit.process_reports().since(at(0)).await.expect("reads"), reports[1..], "an old report is deleted");
    }

    async fn another_process_examines_what_the_running_one_has_seen(db: &TestDatabase) {
        let command = |seconds| context(db, at(0).plus(Duration::from_secs(seconds)));
        report_process(&command(0)).await.expect("has nothing to report");
        assert_eq!(named(&examine(&command(1)).await.expect("examines"), FindingCode::Breaker), None);
        report_process(&serving(db)).await.expect("reports");
        let found = examine(&command(1)).await.expect("examines");
        let breaker = named(&found, FindingCode::Breaker).expect("a network does not answer");
        assert_eq!((breaker.value("method"), breaker.value("network")), (card_method().id.as_str(), "stripe"));
        assert_eq!(named(&found, FindingCode::UntrustedProxy).expect("an unknown proxy").value("address"), "10.0.0.9");
        let later = examine(&command(REPORT_LIFETIME.as_secs() + 1)).await.expect("examines");
        assert_eq!((named(&later, FindingCode::Breaker), named(&later, FindingCode::UntrustedProxy)), (None, None), "nobody reports it any more");
    }

    async fn processes_of_different_versions_are_found(db: &TestDatabase) {
        let of_version = |version: &str, seconds| {
            let installation = Arc::new(KnownInstallation(Installation { version: version.to_owned(), ..Installation::default() }));
            Context { installation, ..context(db, at(0).plus(Duration::from_secs(seconds))) }
        };
        report_process(&of_version("1.5.0", 0)).await.expect("reports");
        assert_eq!(named(&examine(&of_version("1.5.0", 1)).await.expect("examines"), FindingCode::MixedVersions), None);
        report_process(&of_version("1.4.0", 1)).await.expect("reports");
        let found = examine(&of_version("1.5.0", 2)).await.expect("examines");
        assert_eq!(named(&found, FindingCode::MixedVersions).expect("two versions").value("versions"), "1.4.0, 1.5.0");
        let later = examine(&of_version("1.5.0", REPORT_LIFETIME.as_secs() + 2)).await.expect("examines");
        assert_eq!(named(&later, FindingCode::MixedVersions), None, "the older process has ended");
    }

    async fn processes_with_different_options_or_without_a_mail_server_are_found(db: &TestDatabase) {
        let process = |host: &str, seconds, mails_to_folder, options: &[(&str, &str)]| {
            let shared_options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let installation = Installation { host: host.to_owned(), mails_to_folder, shared_options, ..Installation::default() };
            Context { installation: Arc::new(KnownInstallation(installation)), ..context(db, at(0).plus(Duration::from_secs(seconds))) }
        };
        let found = async |ctx: &Context| {
            let findings = examine(ctx).await.expect("examines");
            let value = |code, name: &str| named(&findings, code).map(|finding| finding.value(name).to_owned());
            (value(FindingCode::MixedOptions, "options"), value(FindingCode::ProcessWithoutMail, "hosts"))
        };
        let serving = process("shop-1", 2, false, &[("name", "Lantern"), ("retry-days", "1,3"), ("usage-limit", "9")]);
        report_process(&process("shop-3", 0, false, &[("name", "Lantern"), ("retry-days", "1,3"), ("usage-limit", "9")])).await.expect("reports");
        assert_eq!(found(&serving).await, (None, None), "they are alike");
        // A process of an earlier version does not know an option.
        report_process(&process("shop-2", 1, true, &[("name", "Souk"), ("retry-days", "1,3,5")])).await.expect("reports");
        assert_eq!(found(&serving).await, (Some("name, retry-days".to_owned()), Some("shop-2".to_owned())));
        let command = process("shop-1", 2, false, &[]);
        assert_eq!(found(&command).await, (Some("name, retry-days".to_owned()), Some("shop-2".to_owned())), "a command has no options of its own");
        let alone = process("shop-1", 2, true, &[("name", "Souk"), ("retry-days", "1,3,5")]);
        assert_eq!(found(&alone).await.1, None, "it has no mail server either");
        let later = process("shop-1", REPORT_LIFETIME.as_secs() + 2, false, &[("name", "Lantern")]);
        assert_eq!(found(&later).await, (None, None), "the other process has ended");
    }

    async fn payments_and_transfers_on_hold_are_found(db: &TestDatabase) {
        insert_checkout(db, &["pi_1", "pi_2", "pi_3"]).await;
        let with = |name: &str, intent: &str, status, has_moved: bool| {
            let moved = has_moved.then(|| Moved { amount: Amount::ZERO, reference: String::new() });
            Attempt { status, moved, ..card_attempt(name, intent) }
        };
        let refund = |name: &str, refund: &str| {
            Attempt { purpose: Purpose::Refund(id(refund)), ..with(name, "pi_1", AttemptStatus::Unknown, true) }
        };
        let mut unit = begin(db).await;
        for attempt in [
            with("att_1", "pi_1", AttemptStatus::Unknown, true),
            with("att_2", "pi_2", AttemptStatus::Unknown, false),
            with("att_3", "pi_3", AttemptStatus::Declined, true),
            refund("att_4", "re_1"),
            refund("att_5", "re_2"),
        ] {
            unit.attempts().insert(&attempt, &[]).await.expect("inserts");
        }
        assert_eq!(unit.attempts().count_on_hold(HoldClass::Payments, 0).await.expect("counts"), 0);
        unit.methods().update(&souk_domain::payment::Method { active: false, ..card_method() }).await.expect("updates");
        unit.commit().await.expect("commits");
        let found = examine(&context(db, at(1))).await.expect("examines");
        for (code, count) in [(FindingCode::HeldPayments, "1"), (FindingCode::HeldTransfers, "2")] {
            assert_eq!(named(&found, code).expect("is on hold").value("count"), count);
        }
    }
}
