//! Options and environment variables. An invalid value is rejected at start with a message that states the expected format and, for
//! a secret, not the value.

mod backup;
mod files;
mod parse;
mod sandbox;
mod secrets;

pub use backup::{BackupArgs, RestoreArgs, RestoreCommand, RotateKeyArgs};
pub use files::FilesArgs;
pub use parse::parse_secret;
pub use sandbox::{SandboxChoice, SandboxSwitch};
pub use secrets::{SecretFiles, hide_secrets, read_key_file, without_secrets};

use clap::{Args, Parser, Subcommand, ValueEnum};
use parse::{
    parse_caps, parse_concurrency, parse_database, parse_days, parse_holder, parse_http, parse_listen, parse_name, parse_proxy, parse_rate,
    parse_redis, parse_retry_days, parse_role, parse_sender, parse_smtp, parse_token,
};
use souk_adapters::outbound::PrivateNetworks;
use souk_cli::{CustomerCommand, PublisherCommand};
use souk_domain::access::{Did, Role};
use souk_domain::billing::{BillingPolicy, Bounds, DAYS_UNTIL_CANCEL, OVERDRAFT_FEE_POINTS, USAGE_LIMIT};
use souk_domain::operation::{SETTLING_TIME, UNSUBMITTED_SESSION_DAYS, VisitorLimits};
use souk_sandbox::ledger::{ChainConfig, Generation, LedgerConfig};
use souk_simulator::{HistoryArgs, ProcessArgs};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// A store for installable applications, with its own payment kit.
#[derive(Debug, Parser)]
#[command(name = "souk", version)]
pub struct Cli {
    /// The format of log lines.
    #[arg(long, global = true, env = "SOUK_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    Text,
    /// One JSON object per line.
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the store: API, web and workers in one process.
    Serve(Box<ServeArgs>),
    /// Run workers only, beside `souk serve --no-workers`.
    Work(WorkArgs),
    /// Update the database schema and exit.
    Migrate(Common),
    /// Manage API keys for scripts and integrations.
    Key {
        #[command(flatten)]
        common: Common,
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Manage the roles of people who have signed in.
    Passport {
        #[command(flatten)]
        common: Common,
        #[command(subcommand)]
        command: PassportCommand,
    },
    /// List messages whose delivery failed for good, or retry one.
    DeadLetters {
        #[command(flatten)]
        common: Common,
        /// Retry this message.
        #[arg(long, value_name = "EVENT_ID")]
        retry: Option<String>,
    },
    /// Write a backup of the store, which may be running, to one file: database, files, sandbox and key.
    Backup(BackupArgs),
    /// Restore a backup into an empty store, on SQLite or on PostgreSQL, or confirm that the original of a restored store is stopped.
    Restore(RestoreArgs),
    /// Replace the store's secret key. Every process of the store must be stopped.
    RotateKey(RotateKeyArgs),
    /// Show whether the clock is trusted, or confirm it. Automatic billing stops while it is not trusted.
    Clock {
        #[command(flatten)]
        common: Common,
        #[command(subcommand)]
        command: ClockCommand,
    },
    /// Check what the store needs outside its database: that enough disk space is free, that payment methods work, and that the store has
    /// staked for gas. Says how to
    /// provide what is missing, and exits with 1 if something is.
    Doctor(DoctorArgs),
    /// Check the whole database without changing it. Prints each violation and exits with 1 if there is one.
    Verify(VerifyArgs),
    /// The process that `souk verify --history` kills.
    #[command(hide = true)]
    HistoryProcess(HistoryProcessArgs),
    /// Export the journal for accountants.
    Ledger {
        #[command(flatten)]
        common: Common,
        #[command(subcommand)]
        command: LedgerCommand,
    },
    /// Print the OpenAPI document.
    Openapi,
    #[command(flatten)]
    Publisher(PublisherCommand),
    #[command(flatten)]
    Customer(CustomerCommand),
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub enum ClockCommand {
    /// Show whether the clock is trusted, and why not.
    Status,
    /// Confirm that the clocks of all machines of the store are right. Automatic billing continues.
    Confirm,
}

#[derive(Debug, Subcommand)]
pub enum LedgerCommand {
    /// Print the journal in beancount format.
    Export,
}

#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a key. Its secret is printed only once.
    Create {
        /// What the key is for.
        #[arg(long)]
        name: String,
        /// Scopes, such as products:write,invoices:read, or *.
        #[arg(long, value_delimiter = ',', required = true)]
        scope: Vec<String>,
        /// Create the key for live mode instead of test mode.
        #[arg(long)]
        live: bool,
    },
    /// List keys, without their secrets.
    List,
    /// Revoke a key.
    Revoke { id: String },
}

#[derive(Debug, Subcommand)]
pub enum PassportCommand {
    /// Give a person a role.
    Issue {
        /// The DID that the person's wallet signs in with.
        #[arg(long, value_parser = parse_holder)]
        did: Did,
        /// The role: developer, reviewer, admin or owner.
        #[arg(long, value_parser = parse_role)]
        role: Role,
    },
    /// List passports.
    List,
    /// Revoke a passport. If no owner remains, the store prints a new ownership link at its next start.
    Revoke { id: String },
}

#[derive(Debug, Clone, Args)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub common: Common,
    /// Run N random customer histories on a temporary database and check that database instead.
    #[arg(long, value_name = "N")]
    pub history: Option<u32>,
    /// Compare the database with the sandbox's networks as well, which a process with --sandbox-faults runs at this address.
    #[arg(long, value_name = "URL", hide = true, value_parser = parse_http, conflicts_with = "history")]
    pub networks: Option<Url>,
    #[command(flatten)]
    pub histories: HistoryArgs,
}

#[derive(Debug, Clone, Args)]
pub struct HistoryProcessArgs {
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub process: ProcessArgs,
}

impl Command {
    /// The common options; `None` for a command without any.
    pub fn common_mut(&mut self) -> Option<&mut Common> {
        match self {
            Self::Serve(args) => Some(&mut args.common),
            Self::Work(args) => Some(&mut args.common),
            Self::Verify(args) => Some(&mut args.common),
            Self::HistoryProcess(args) => Some(&mut args.common),
            Self::Doctor(args) => Some(&mut args.common),
            Self::Backup(args) => Some(&mut args.common),
            Self::Restore(args) => Some(&mut args.common),
            Self::RotateKey(args) => Some(&mut args.common),
            Self::Migrate(common)
            | Self::Key { common, .. }
            | Self::Passport { common, .. }
            | Self::Clock { common, .. }
            | Self::DeadLetters { common, .. }
            | Self::Ledger { common, .. } => Some(common),
            Self::Openapi | Self::Publisher(_) | Self::Customer(_) => None,
        }
    }
}

#[derive(Debug, Clone, Args)]
pub struct WorkArgs {
    #[command(flatten)]
    pub common: Common,
    /// Another address and port, for health checks and metrics only: /healthz, /readyz, /metrics. Default: none.
    #[arg(long, env = "SOUK_HEALTH_LISTEN", value_name = "ADDRESS", value_parser = parse_listen)]
    pub health_listen: Option<SocketAddr>,
}

#[derive(Debug, Clone, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub common: Common,
    /// Stake for gas first, at each network where the store's account has the funds.
    #[arg(long)]
    pub stake_for_gas: bool,
    /// The address and port of the running store, if it has no public address; needed for the sandbox only.
    #[arg(long, env = "SOUK_LISTEN", default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    pub listen: SocketAddr,
}

impl DoctorArgs {
    /// The address of the store.
    ///
    /// # Errors
    /// Never, because a socket address is a valid host.
    pub fn address(&self) -> Result<Url, url::ParseError> {
        match &self.common.public_url {
            Some(address) => Ok(address.clone()),
            None => Url::parse(&format!("http://{}/", self.listen)),
        }
    }
}

#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub common: Common,
    /// Another address and port, for health checks and metrics only: /healthz, /readyz, /metrics. Default: none.
    #[arg(long, env = "SOUK_HEALTH_LISTEN", value_name = "ADDRESS", value_parser = parse_listen)]
    pub health_listen: Option<SocketAddr>,
    /// Minutes after their sign-in during which users can refund, pay out, create access tokens and change who may publish without signing in
    /// again.
    #[arg(long, env = "SOUK_SIGN_IN_AGAIN_MINUTES", value_name = "MINUTES", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1_440))]
    pub sign_in_again_minutes: u32,
    /// The bearer token with which /metrics answers on the store's own address. Default: it does not answer there.
    #[arg(long, env = "SOUK_METRICS_TOKEN", value_name = "TOKEN", value_parser = parse_token, hide_env_values = true)]
    pub metrics_token: Option<String>,
    /// A file with the token for /metrics.
    #[arg(long, env = "SOUK_METRICS_TOKEN_FILE", value_name = "FILE", conflicts_with = "metrics_token")]
    pub metrics_token_file: Option<PathBuf>,
    /// The address and port to listen on.
    #[arg(long, env = "SOUK_LISTEN", default_value = "127.0.0.1:8080", value_parser = parse_listen)]
    pub listen: SocketAddr,
    /// Comma-separated addresses of the proxies in front of the store, whose X-Forwarded-For header is trusted.
    #[arg(long, env = "SOUK_TRUSTED_PROXIES", value_name = "IP", value_delimiter = ',', value_parser = parse_proxy)]
    pub trusted_proxy: Vec<IpAddr>,
    /// Start no workers; `souk work` runs the jobs.
    #[arg(long)]
    pub no_workers: bool,
    /// Load the demo store into an empty database.
    #[arg(long)]
    pub demo: bool,
    /// The script of an analytics service, which every page loads.
    #[arg(long, env = "SOUK_ANALYTICS_URL", value_parser = parse_http)]
    pub analytics_url: Option<Url>,
    /// Where pages report their errors.
    #[arg(long, env = "SOUK_ERRORS_URL", value_parser = parse_http)]
    pub errors_url: Option<Url>,
    /// The share of errors that is reported, from 0 to 1.
    #[arg(long, env = "SOUK_ERRORS_SAMPLE_RATE", default_value = "1", value_parser = parse_rate)]
    pub errors_sample_rate: f64,
    /// Let tests make the sandbox lose answers. Never use this in a real store.
    #[arg(long, hide = true)]
    pub sandbox_faults: bool,
    /// The generation of the chain's software that the sandbox's ledger plays: 1.20.8 or 1.30.24.
    #[arg(long, env = "SOUK_SANDBOX_GENERATION", hide = true, default_value = Generation::default().version())]
    pub sandbox_generation: Generation,
    /// The price of a unit of gas at the sandbox's ledger, in base units of its token; 0: transactions are free.
    #[arg(long, env = "SOUK_SANDBOX_GAS_PRICE", hide = true, default_value_t = 0)]
    pub sandbox_gas_price: u64,
}

impl ServeArgs {
    #[must_use]
    pub fn ledger(&self) -> LedgerConfig {
        let chain = ChainConfig { generation: self.sandbox_generation, gas_price: self.sandbox_gas_price };
        LedgerConfig { chain, faults: self.sandbox_faults }
    }
}

/// The default reserve of disk space, in MiB: several times the longest write-ahead log of SQLite.
const DISK_RESERVE: u64 = 256;

#[derive(Debug, Clone, Args)]
pub struct Common {
    /// The data folder: everything that is not in a database.
    #[arg(long, env = "SOUK_DATA", default_value = "./data")]
    pub data: PathBuf,
    /// The database, as postgres://user@host/name. Default: SQLite in the data folder.
    #[arg(long, env = "DATABASE_URL", value_parser = parse_database, hide_env_values = true)]
    pub database_url: Option<String>,
    /// Redis, as redis://host:6379. Required for several processes. Default: the embedded queue.
    #[arg(long, env = "REDIS_URL", value_parser = parse_redis, hide_env_values = true)]
    pub redis_url: Option<String>,
    /// The address where people and wallets reach the store. Default: the listen address.
    #[arg(long, env = "SOUK_PUBLIC_URL", value_parser = parse_http)]
    pub public_url: Option<Url>,
    /// Whether the sandbox runs, which test mode pays against. Default: off if the public address is under https and --demo is absent.
    #[arg(long, env = "SOUK_SANDBOX", value_enum)]
    pub sandbox: Option<SandboxSwitch>,
    /// The store's secret key, 64 hex digits. Default: created in the data folder.
    #[arg(long, env = "SOUK_SECRET_KEY", value_parser = parse_secret, hide_env_values = true)]
    pub secret_key: Option<SecretSeed>,
    /// The mail server, as smtps://user:password@host:465. Default: emails are written to the data folder.
    #[arg(long, env = "SMTP_URL", value_parser = parse_smtp, hide_env_values = true)]
    pub smtp_url: Option<String>,
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub secret_files: SecretFiles,
    /// Start a new store in a data folder whose former store is gone. Without it, an empty or missing database is refused there.
    #[arg(long)]
    pub new: bool,
    /// The sender of emails.
    #[arg(long, env = "SOUK_MAIL_FROM", default_value = "Souk <store@souk.example>", value_parser = parse_sender)]
    pub mail_from: String,
    /// Let payment methods and issuers of CI tokens have private addresses, such as a chain or a GitLab in the local network. The store's
    /// own sandbox needs no permission.
    #[arg(long, env = "SOUK_ALLOW_PRIVATE_NETWORKS")]
    pub allow_private_networks: bool,
    /// Seconds after the confirmation of a restored store until its last import begins. For tests, whose networks list payments at once.
    #[arg(long, env = "SOUK_RESTORE_SETTLING_SECONDS", value_name = "SECONDS", default_value_t = SETTLING_TIME.as_secs(), hide = true)]
    pub restore_settling_seconds: u64,
    /// The number of renewal charges that this process may have in flight at each network. The reconciler may have as many in addition.
    #[arg(long, env = "SOUK_CHARGE_CONCURRENCY", value_name = "N", default_value = "32", value_parser = parse_concurrency)]
    pub charge_concurrency: usize,
    /// Free disk space, in MiB, that is kept for payments in progress: with less, new sessions and uploads are refused. 0: no reserve.
    #[arg(long, env = "SOUK_DISK_RESERVE", value_name = "MIB", default_value_t = DISK_RESERVE, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub disk_reserve: u64,
    /// The store's name.
    #[arg(long, env = "SOUK_NAME", default_value = "Souk", value_parser = parse_name)]
    pub name: String,
    /// Comma-separated days after the invoice at which a declined charge is retried; empty: no automatic retry.
    #[arg(long, env = "SOUK_RETRY_DAYS", default_value = "1,3,5,7,10,14", value_name = "DAYS", value_parser = parse_retry_days)]
    pub retry_days: RetryDays,
    /// Days after which an unpaid subscription is canceled, unless the subscription has its own setting.
    #[arg(long, env = "SOUK_DAYS_UNTIL_CANCEL", default_value_t = DAYS_UNTIL_CANCEL, value_name = "DAYS", value_parser = parse_days)]
    pub days_until_cancel: u32,
    /// Days after which orders are deleted that were never submitted or never paid. Users are examined as often, and deleted if they have nothing in the store.
    #[arg(long, env = "SOUK_UNSUBMITTED_SESSION_DAYS", value_name = "DAYS", default_value_t = UNSUBMITTED_SESSION_DAYS, value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub unsubmitted_session_days: u32,
    /// Units of usage that a wallet's authorization covers per charge, if the metered price has no billing threshold.
    #[arg(long, env = "SOUK_USAGE_LIMIT", value_name = "UNITS", default_value_t = USAGE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    pub usage_limit: u64,
    /// Days that an overdue renewal waits for the customer before the overdraft protection pays it.
    #[arg(long, env = "SOUK_OVERDRAFT_GRACE_DAYS", value_name = "DAYS", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=30))]
    pub overdraft_grace_days: u32,
    /// The most that is refunded and paid out in 24 hours, by currency, such as USD=5000,SKT=200. Without an entry: what the store received in the last 30 days.
    #[arg(long, env = "SOUK_DAILY_CAPS", value_name = "SYMBOL=UNITS", default_value = "", value_parser = parse_caps)]
    pub daily_caps: DailyCaps,
    /// The overdraft fee, in hundredths of a percent of the amount paid.
    #[arg(long, env = "SOUK_OVERDRAFT_FEE", value_name = "POINTS", default_value_t = OVERDRAFT_FEE_POINTS, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub overdraft_fee: u32,
}

impl Common {
    /// The file of the database on SQLite; `None` on PostgreSQL.
    #[must_use]
    pub fn database_file(&self) -> Option<PathBuf> {
        match &self.database_url {
            None => Some(self.data.join("souk.db")),
            Some(address) => address.strip_prefix("sqlite://").map(PathBuf::from),
        }
    }

    #[must_use]
    pub fn uses_sqlite(&self) -> bool {
        self.database_file().is_some()
    }

    #[must_use]
    pub const fn settling_time(&self) -> Duration {
        Duration::from_secs(self.restore_settling_seconds)
    }

    #[must_use]
    pub const fn private_networks(&self) -> PrivateNetworks {
        if self.allow_private_networks { PrivateNetworks::Allowed } else { PrivateNetworks::Refused }
    }

    #[must_use]
    pub fn limits(&self) -> VisitorLimits {
        VisitorLimits { unsubmitted_session_days: self.unsubmitted_session_days, ..VisitorLimits::default() }
    }

    pub fn policy(&self) -> BillingPolicy {
        BillingPolicy {
            retry_days: self.retry_days.0.clone(),
            days_until_cancel: self.days_until_cancel,
            usage_limit: self.usage_limit,
            overdraft_grace: Duration::from_secs(u64::from(self.overdraft_grace_days) * 24 * 3_600),
            overdraft_fee_points: self.overdraft_fee,
            bounds: Some(Bounds::default()),
            daily_caps: self.daily_caps.0.clone(),
        }
    }
}

/// Whole units by the symbol of their currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DailyCaps(pub BTreeMap<String, u64>);

/// The days in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryDays(pub Vec<u32>);

/// The seed of the store's keys. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretSeed(pub [u8; 32]);

impl SecretSeed {
    /// The hex digits of the key file.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Debug for SecretSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretSeed(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_invalid_value_is_rejected_with_the_expected_format() {
        for (option, value, expected) in [
            ("--listen", "8080", "such as 127.0.0.1:8080"),
            ("--database-url", "mysql://x", "postgres://user@host/name"),
            ("--redis-url", "localhost", "redis://host:6379"),
            ("--trusted-proxy", "proxy", "such as 10.0.0.2"),
            ("--public-url", "store.example", "http:// or https://"),
            ("--secret-key", "abc", "64 hex digits"),
            ("--health-listen", "9090", "such as 127.0.0.1:8080"),
            ("--metrics-token", "short", "at least 16 characters"),
            ("--mail-from", "nobody", "Our Store <store@example.com>"),
            ("--name", " ", "at most 100 characters"),
            ("--files-url", "https://bucket", "s3://bucket/prefix"),
            ("--files-endpoint", "minio:9000", "http:// or https://"),
            ("--charge-concurrency", "0", "from 1 to 1000"),
            ("--disk-reserve", "2000000", "1000000"),
            ("--errors-sample-rate", "2", "from 0 to 1"),
            ("--smtp-url", "mail", "smtps://"),
            ("--sandbox", "yes", "possible values: on, off"),
            ("--retry-days", "1,3,3", "ascending numbers of days"),
            ("--retry-days", "0,3", "ascending numbers of days"),
            ("--days-until-cancel", "0", "from 1 to 365"),
            ("--unsubmitted-session-days", "0", "not in 1..=3650"),
            ("--daily-caps", "USD", "such as USD=5000,SKT=200"),
            ("--daily-caps", "USD=1.5", "such as USD=5000,SKT=200"),
            ("--daily-caps", "USD=1,USD=2", "such as USD=5000,SKT=200"),
        ] {
            let message = Cli::try_parse_from(["souk", "serve", option, value]).expect_err(option).to_string();
            assert!(message.contains(expected), "{option}: {message}");
        }
    }

    #[test]
    fn the_billing_policy_follows_the_options() {
        let parsed = |options: &[&str]| {
            let cli = Cli::try_parse_from([&["souk", "work"], options].concat()).expect("parses");
            let Command::Work(args) = cli.command else { panic!("another command") };
            args.common.policy()
        };
        assert_eq!(parsed(&[]), BillingPolicy::default());
        let set = parsed(&["--retry-days", "2,4", "--days-until-cancel", "9"]);
        assert_eq!(set, BillingPolicy { retry_days: vec![2, 4], days_until_cancel: 9, ..BillingPolicy::default() });
        let overdraft = parsed(&["--overdraft-grace-days", "1", "--overdraft-fee", "250"]);
        assert_eq!((overdraft.overdraft_grace.as_secs(), overdraft.overdraft_fee_points), (86_400, 250));
        assert_eq!(parsed(&["--retry-days", ""]).retry_days, [0_u32; 0]);
        let caps = parsed(&["--daily-caps", "USD=5000, SKT=200"]).daily_caps;
        assert_eq!(caps, [("SKT".to_owned(), 200), ("USD".to_owned(), 5_000)].into());
    }

    #[test]
    fn the_days_of_unsubmitted_sessions_follow_their_option() {
        let days = |options: &[&str]| {
            let cli = Cli::try_parse_from([&["souk", "work"], options].concat()).expect("parses");
            let Command::Work(args) = cli.command else { panic!("another command") };
            args.common.limits().unsubmitted_session_days
        };
        assert_eq!((days(&[]), days(&["--unsubmitted-session-days", "7"])), (UNSUBMITTED_SESSION_DAYS, 7));
    }

    #[test]
    fn a_secret_key_is_read_and_never_printed() {
        let seed = parse_secret(&"0a".repeat(32)).expect("read");
        assert_eq!(seed.0, [10; 32]);
        assert_eq!(format!("{seed:?}"), "SecretSeed(…)");
        assert!(parse_secret(&"é".repeat(32)).is_err());
    }
}
