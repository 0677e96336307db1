//! What the processes of the store have seen and only they know, in the database: the command `souk doctor` is a process of its own.

use crate::context::Context;
use crate::payment::BreakerStatus;
use crate::shared::{StorageError, Timestamp};
use async_trait::async_trait;
use std::time::Duration;

/// A report is true for this time. Processes report more often.
pub const REPORT_LIFETIME: Duration = Duration::from_secs(120);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReportKind {
    /// The breaker of a payment method's network is not closed. The subject is the method, the detail is the network.
    Breaker,
    /// The subject is an address that sent forwarded addresses without being a trusted proxy.
    UntrustedProxy,
}

impl ReportKind {
    pub const ALL: [Self; 2] = [Self::Breaker, Self::UntrustedProxy];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Breaker => "breaker",
            Self::UntrustedProxy => "untrusted_proxy",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessReport {
    pub kind: ReportKind,
    pub subject: String,
    pub detail: String,
}

#[async_trait]
pub trait ProcessReports: Send {
    /// Notes reports of now, and deletes those from before `since`. Processes that report the same have one row.
    async fn put(&mut self, reports: &[ProcessReport], now: Timestamp, since: Timestamp) -> Result<(), StorageError>;
    /// The reports of this time or later, by kind and subject.
    async fn since(&mut self, since: Timestamp) -> Result<Vec<ProcessReport>, StorageError>;
}

/// Writes down what this process sees now. Writes nothing if all is well.
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
pub(crate) async fn seen_by_all(ctx: &Context) -> Result<Vec<ProcessReport>, StorageError> {
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
    seen.extend(ctx.installation.inspect().untrusted_proxy.map(proxy));
    seen
}
