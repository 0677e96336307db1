//! What is wrong or risky with an installation. The command prints findings, pages and mails translate them by their code.

use crate::shared::StorageError;
use async_trait::async_trait;
use std::collections::BTreeMap;

/// How urgent a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something does not work, or money waits.
    Error,
    /// Something is risky.
    Warning,
    /// Worth knowing.
    Notice,
}

impl Severity {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Notice => "notice",
        }
    }
}

macro_rules! findings {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $severity:ident;)*) => {
        /// The kinds of findings, the most urgent first.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum FindingCode { $($(#[$doc])* $name),* }

        impl FindingCode {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }

            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($code => Some(Self::$name),)* _ => None }
            }

            #[must_use]
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity),* }
            }
        }
    };
}

findings! {
    /// `host`, `seconds` (negative: behind), `source`.
    Clock = "clock", Error;
    /// `host`, `path`, `free` and `reserve` in bytes.
    Disk = "disk", Error;
    /// `path`: other users of the machine can read the store's key.
    KeyReadable = "key_readable", Error;
    /// `count`.
    DeadLetters = "dead_letters", Error;
    /// `method`, `name`, `problem`.
    MethodFails = "method_fails", Error;
    /// `count` of subscriptions whose billing is on hold.
    Holds = "holds", Error;
    /// `count` of payments on hold, whose network moved a different amount than requested.
    HeldPayments = "held_payments", Error;
    /// `count` of refunds, payouts and transfers of deposits on hold, whose network moved a different amount than ordered.
    HeldTransfers = "held_transfers", Error;
    /// `method`, `network`: the network does not answer.
    Breaker = "breaker", Warning;
    /// `method`, `name`: the store has not staked for gas.
    Gas = "gas", Warning;
    /// `address` of the store, which is neither local nor under https.
    NoHttps = "no_https", Warning;
    /// The sandbox is on although the store's address is under https.
    SandboxOn = "sandbox_on", Warning;
    /// `address` that sent forwarded addresses without being a trusted proxy.
    UntrustedProxy = "untrusted_proxy", Warning;
    /// `versions`: the processes of the store are not of the same version.
    MixedVersions = "mixed_versions", Warning;
    /// `options`: the processes of the store were started with different values of these.
    MixedOptions = "mixed_options", Warning;
    /// `hosts`: processes on these machines write emails to a folder, although another process has a mail server.
    ProcessWithoutMail = "process_without_mail", Warning;
    /// Emails are written to a folder.
    NoMailServer = "no_mail_server", Warning;
    /// No owner has an email address.
    NoOwnerEmail = "no_owner_email", Warning;
    /// PostgreSQL without Redis: only one process may run.
    NoRedis = "no_redis", Notice;
    /// `symbol` of a currency of live mode whose refunds have the default cap, which follows the receipts.
    DefaultDailyCap = "default_daily_cap", Notice;
    /// `path`: the key is in the data folder only, and a copy elsewhere is needed to restore a backup.
    KeyInFolder = "key_in_folder", Notice;
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub code: FindingCode,
    /// The values of its text.
    pub params: BTreeMap<String, String>,
}

impl Finding {
    #[must_use]
    pub fn new(code: FindingCode) -> Self {
        Self { code, params: BTreeMap::new() }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.params.insert(name.to_owned(), value.to_string());
        self
    }

    #[must_use]
    pub fn value(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    /// Equal findings of a day are one for the owner's mails: the code, and the method if it is about one.
    #[must_use]
    pub fn key(&self) -> String {
        match self.params.get("method") {
            Some(method) => format!("{}-{method}", self.code.name()),
            None => self.code.name().to_owned(),
        }
    }
}

/// The mails to the owner about findings.
#[async_trait]
pub trait OwnerNotices: Send {
    /// The keys of the findings of a day (counted from 1970-01-01, UTC) that a mail was ordered for.
    async fn of_day(&mut self, day: i64) -> Result<Vec<String>, StorageError>;
    /// Notes that a mail is ordered for a finding. Returns true to exactly one caller per finding and day.
    async fn claim(&mut self, key: &str, day: i64) -> Result<bool, StorageError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_round_trips_by_its_code_and_the_most_urgent_come_first() {
        for code in FindingCode::ALL {
            assert_eq!(FindingCode::from_name(code.name()), Some(*code));
        }
        assert!(FindingCode::ALL.is_sorted_by_key(|code| code.severity()));
    }

    #[test]
    fn findings_about_two_methods_are_two_and_about_two_amounts_of_disk_are_one() {
        let breaker = |method: &str| Finding::new(FindingCode::Breaker).with("method", method).key();
        assert_ne!(breaker("pm_1"), breaker("pm_2"));
        let disk = |free: u64| Finding::new(FindingCode::Disk).with("free", free).key();
        assert_eq!(disk(1), disk(2));
    }
}
