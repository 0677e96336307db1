//! Shares what one process sees with those that examine the installation.

use crate::context::Context;
use crate::operation::{ProcessReport, REPORT_LIFETIME, ReportKind};
use crate::payment::BreakerStatus;
use crate::shared::StorageError;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Writes down what this process sees now, its version and its options.
#[tracing::instrument(skip_all)]
pub async fn report_process(ctx: &Context) -> Result<(), StorageError> {
    let reports = seen_by_process(ctx);
    if reports.is_empty() {
        return Ok(());
    }
    let mut unit = ctx.store.begin().await?;
    unit.process_reports().put(&reports, ctx.now(), ctx.now().minus(REPORT_LIFETIME)).await?;
    unit.commit().await
}

/// What this process sees, and what the others have reported.
pub(super) async fn seen_by_all(ctx: &Context) -> Result<Vec<ProcessReport>, StorageError> {
    let mut seen = seen_by_process(ctx);
    let stored = ctx.store.read().await?.process_reports().since(ctx.now().minus(REPORT_LIFETIME)).await?;
    for report in stored {
        if !seen.iter().any(|own| own.kind == report.kind && own.subject == report.subject) {
            seen.push(report);
        }
    }
    Ok(seen)
}

fn seen_by_process(ctx: &Context) -> Vec<ProcessReport> {
    let open = ctx.networks.breaker_statuses().into_iter().filter(|network| network.breaker != BreakerStatus::Closed);
    let breaker = |subject: String, detail: &str| ProcessReport { kind: ReportKind::Breaker, subject, detail: detail.to_owned() };
    let mut seen: Vec<_> = open.map(|network| breaker(network.method.to_string(), network.kind.name())).collect();
    let proxy = |subject| ProcessReport { kind: ReportKind::UntrustedProxy, subject, detail: String::new() };
    let installation = ctx.installation.inspect();
    seen.extend(installation.untrusted_proxy.map(proxy));
    if !installation.version.is_empty() {
        seen.push(ProcessReport { kind: ReportKind::Version, subject: installation.version, detail: String::new() });
    }
    if installation.mails_to_folder {
        seen.push(ProcessReport { kind: ReportKind::MailFolder, subject: installation.host, detail: String::new() });
    }
    if !installation.shared_options.is_empty() {
        seen.push(options_report(&installation.shared_options));
    }
    seen
}

fn options_report(options: &BTreeMap<String, String>) -> ProcessReport {
    let detail = options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("\n");
    let mut hasher = DefaultHasher::new();
    detail.hash(&mut hasher);
    ProcessReport { kind: ReportKind::Options, subject: format!("{:016x}", hasher.finish()), detail }
}

/// The names of the options that differ between reports of options. A process of another version may lack an option, which is no difference.
pub(super) fn different_options<'r>(reports: impl Iterator<Item = &'r ProcessReport>) -> Vec<&'r str> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in reports.flat_map(|report| report.detail.lines()).filter_map(|line| line.split_once('=')) {
        values.entry(name).or_default().insert(value);
    }
    values.into_iter().filter(|(_, values)| values.len() > 1).map(|(name, _)| name).collect()
}
