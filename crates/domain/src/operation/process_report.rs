//! What the processes of the store have seen and only they know, in the database: the command `souk doctor` is a process of its own.

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
    /// The subject is the version of a running process.
    Version,
    /// The subject is the machine of a process that writes emails to a folder, because it has no mail server.
    MailFolder,
    /// The detail is the options of a process that all processes must share, one `name=value` in each line; the subject identifies them.
    Options,
}

impl ReportKind {
    pub const ALL: [Self; 5] = [Self::Breaker, Self::UntrustedProxy, Self::Version, Self::MailFolder, Self::Options];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Breaker => "breaker",
            Self::UntrustedProxy => "untrusted_proxy",
            Self::Version => "version",
            Self::MailFolder => "mail_folder",
            Self::Options => "options",
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
