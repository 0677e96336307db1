//! Examines the installation: one list of findings for the command, the owner's page and the owner's mails.

mod notify;
mod reports;

pub use notify::{OwnerMailer, OwnerNotice, compose_owner_notice, notify_owner};
pub use reports::report_process;

use crate::access::Role;
use crate::billing::SubscriptionFilter;
use crate::context::Context;
use crate::operation::{Finding, FindingCode, Installation, KeyPlace, ProcessReport, ReportKind};
use crate::payment::{self, CheckMethodError, GasStatus, HoldClass};
use crate::shared::{MethodId, Mode, Page, StorageError};
use reports::{different_options, seen_by_all};
use std::collections::BTreeSet;

/// The most dead letters that are counted.
const DEAD_LETTERS_MAX: u32 = 1_000;
/// The most payments and transfers on hold that are counted.
const HELD_MAX: u32 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum ExamineError {
    #[error(transparent)]
    Method(#[from] CheckMethodError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Everything that is wrong or risky now, the most urgent first. Asks the networks of the payment methods, so it can take some seconds.
#[tracing::instrument(skip_all)]
pub async fn examine(ctx: &Context) -> Result<Vec<Finding>, ExamineError> {
    let installation = installation(ctx).await?;
    let mut findings = of_operation(ctx).await?;
    findings.extend(of_methods(ctx).await?);
    findings.extend(of_options(&installation));
    if owner_without_email(ctx).await? {
        findings.push(Finding::new(FindingCode::NoOwnerEmail));
    }
    findings.extend(capped_by_default(ctx).await?);
    findings.sort_by_key(|finding| finding.code);
    Ok(findings)
}

/// What can go wrong while the store runs; reads the database and the disk only. The owner gets mails about these.
pub(crate) async fn of_operation(ctx: &Context) -> Result<Vec<Finding>, StorageError> {
    let mut findings = Vec::new();
    let mut unit = ctx.store.read().await?;
    if let Some(stored) = unit.clock_states().read().await?.doubts.into_iter().next() {
        let finding = Finding::new(FindingCode::Clock).with("host", &stored.host).with("seconds", stored.doubt.ahead_seconds);
        findings.push(finding.with("source", stored.doubt.source.name()));
    }
    if let Some(disk) = ctx.disk.shortage() {
        let finding = Finding::new(FindingCode::Disk).with("host", &disk.host).with("path", &disk.folder);
        findings.push(finding.with("free", disk.free_bytes).with("reserve", disk.reserve_bytes));
    }
    let dead = unit.outbox().dead_letters(DEAD_LETTERS_MAX).await?.len();
    if dead > 0 {
        findings.push(Finding::new(FindingCode::DeadLetters).with("count", dead));
    }
    let filter = SubscriptionFilter { on_hold: true, ..SubscriptionFilter::default() };
    let mut held = 0;
    for mode in [Mode::Live, Mode::Test] {
        held += unit.subscriptions().list(mode, &filter, &Page::new(None, Some(1))).await?.count;
    }
    if held > 0 {
        findings.push(Finding::new(FindingCode::Holds).with("count", held));
    }
    for (class, code) in [(HoldClass::Payments, FindingCode::HeldPayments), (HoldClass::Transfers, FindingCode::HeldTransfers)] {
        let held = unit.attempts().count_on_hold(class, HELD_MAX).await?;
        if held > 0 {
            findings.push(Finding::new(code).with("count", held));
        }
    }
    drop(unit);
    findings.extend(of_processes(&seen_by_all(ctx).await?, &ctx.installation.inspect()));
    Ok(findings)
}

/// What the processes of the store have reported, of which `own` is one.
fn of_processes(seen: &[ProcessReport], own: &Installation) -> Vec<Finding> {
    let of_kind = |kind| seen.iter().filter(move |report| report.kind == kind);
    let subjects = |kind| of_kind(kind).map(|report| report.subject.as_str()).collect::<BTreeSet<_>>();
    let listed = |subjects: BTreeSet<&str>| subjects.into_iter().collect::<Vec<_>>().join(", ");
    let mut findings = Vec::new();
    let versions = subjects(ReportKind::Version);
    if versions.len() > 1 {
        findings.push(Finding::new(FindingCode::MixedVersions).with("versions", listed(versions)));
    }
    let different = different_options(of_kind(ReportKind::Options));
    if !different.is_empty() {
        findings.push(Finding::new(FindingCode::MixedOptions).with("options", different.join(", ")));
    }
    // If this process has no mail server either, that is the finding.
    let without_mail = subjects(ReportKind::MailFolder);
    if !without_mail.is_empty() && !own.mails_to_folder {
        findings.push(Finding::new(FindingCode::ProcessWithoutMail).with("hosts", listed(without_mail)));
    }
    let breaker =
        |report: &ProcessReport| Finding::new(FindingCode::Breaker).with("method", &report.subject).with("network", &report.detail);
    findings.extend(of_kind(ReportKind::Breaker).map(breaker));
    findings
}

/// The facts of this process, with a proxy that another process has seen.
async fn installation(ctx: &Context) -> Result<Installation, StorageError> {
    let proxy = seen_by_all(ctx).await?.into_iter().find(|report| report.kind == ReportKind::UntrustedProxy);
    Ok(Installation { untrusted_proxy: proxy.map(|report| report.subject), ..ctx.installation.inspect() })
}

async fn of_methods(ctx: &Context) -> Result<Vec<Finding>, ExamineError> {
    let mut findings = Vec::new();
    for mode in [Mode::Live, Mode::Test] {
        for method in payment::methods_of(ctx, mode).await?.into_iter().filter(|method| method.active && !ctx.networks.is_paused(method)) {
            let check = payment::check_method(ctx, &method).await?;
            let about = |code| Finding::new(code).with("method", &method.id).with("name", &method.name);
            if let Some(problem) = &check.problem {
                findings.push(about(FindingCode::MethodFails).with("problem", problem));
            }
            if check.gas.as_ref().is_some_and(|gas| matches!(gas.status(), GasStatus::ReadyToStake | GasStatus::LacksFunds)) {
                findings.push(about(FindingCode::Gas));
            }
        }
    }
    Ok(findings)
}

fn of_options(installation: &Installation) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(address) = &installation.insecure_address {
        findings.push(Finding::new(FindingCode::NoHttps).with("address", address));
    }
    if installation.exposed_sandbox {
        findings.push(Finding::new(FindingCode::SandboxOn));
    }
    if let Some(address) = &installation.untrusted_proxy {
        findings.push(Finding::new(FindingCode::UntrustedProxy).with("address", address));
    }
    if installation.mails_to_folder {
        findings.push(Finding::new(FindingCode::NoMailServer));
    }
    if installation.lacks_redis {
        findings.push(Finding::new(FindingCode::NoRedis));
    }
    if let KeyPlace::Folder { path, others_read } = &installation.key {
        let code = if *others_read { FindingCode::KeyReadable } else { FindingCode::KeyInFolder };
        findings.push(Finding::new(code).with("path", path));
    }
    findings
}

async fn owner_without_email(ctx: &Context) -> Result<bool, StorageError> {
    let mut unit = ctx.store.read().await?;
    let has_owner = unit.users().list_passports().await?.iter().any(|held| held.role == Role::Owner && held.revoked_at.is_none());
    Ok(has_owner && crate::billing::owner_recipient(unit.as_mut()).await?.is_none())
}

/// Live currencies of active methods without a configured daily cap of refunds.
async fn capped_by_default(ctx: &Context) -> Result<Vec<Finding>, StorageError> {
    let mut unit = ctx.store.read().await?;
    let methods = unit.methods().list(Mode::Live).await?;
    let is_used = |method: &MethodId| methods.iter().any(|one| one.active && one.id == *method);
    let currencies = unit.methods().currencies(Mode::Live).await?.into_iter();
    let mut symbols: Vec<_> = currencies.filter(|currency| currency.active && is_used(&currency.method_id)).map(|one| one.symbol).collect();
    symbols.sort();
    symbols.dedup();
    symbols.retain(|symbol| !ctx.policy.daily_caps.contains_key(symbol));
    Ok(symbols.into_iter().map(|symbol| Finding::new(FindingCode::DefaultDailyCap).with("symbol", symbol)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_concern_of_the_options_is_a_finding_and_none_is_none() {
        assert_eq!(of_options(&Installation::default()), []);
        let all = Installation {
            insecure_address: Some("http://store.example/".to_owned()),
            exposed_sandbox: true,
            key: KeyPlace::Folder { path: "data/secret.key".to_owned(), others_read: true },
            mails_to_folder: true,
            lacks_redis: true,
            untrusted_proxy: Some("10.0.0.9".to_owned()),
            version: "1.2.3".to_owned(),
            ..Installation::default()
        };
        let codes: Vec<_> = of_options(&all).iter().map(|finding| finding.code).collect();
        use FindingCode::{KeyReadable, NoHttps, NoMailServer, NoRedis, SandboxOn, UntrustedProxy};
        assert_eq!(codes, [NoHttps, SandboxOn, UntrustedProxy, NoMailServer, NoRedis, KeyReadable]);
    }
}
