//! Options and environment variables. An invalid value is rejected at start with a message that states the expected format.

use clap::{Args, Parser, Subcommand};
use souk_adapters::identity::parse_did;
use souk_domain::access::{Did, Role};
use souk_domain::billing::{BillingPolicy, Bounds, DAYS_UNTIL_CANCEL, OVERDRAFT_FEE_POINTS, USAGE_LIMIT};
use souk_domain::checkout::DAYS_UNTIL_CANCEL_MAX;
use souk_simulator::{HistoryArgs, ProcessArgs};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;
use url::Url;

/// A store for installable applications, with its own payment kit.
#[derive(Debug, Parser)]
#[command(name = "souk", version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the store: API, web and workers in one process.
    Serve(ServeArgs),
    /// Run workers only, beside `souk serve --no-workers`.
    Work(Common),
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
    /// Show whether the clock is trusted, or confirm it. Automatic billing stops while it is not trusted.
    Clock {
        #[command(flatten)]
        common: Common,
        #[command(subcommand)]
        command: ClockCommand,
    },
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
        /// The role: developer, admin or owner.
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

#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub common: Common,
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
}

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
    /// The store's secret key, 64 hex digits. Default: created in the data folder.
    #[arg(long, env = "SOUK_SECRET_KEY", value_parser = parse_secret, hide_env_values = true)]
    pub secret_key: Option<SecretSeed>,
    /// The mail server, as smtps://user:password@host:465. Default: emails are written to the data folder.
    #[arg(long, env = "SMTP_URL", value_parser = parse_smtp, hide_env_values = true)]
    pub smtp_url: Option<String>,
    /// The sender of emails.
    #[arg(long, env = "SOUK_MAIL_FROM", default_value = "Souk <store@souk.example>")]
    pub mail_from: String,
    /// The number of renewal charges that this process may have in flight at each network. The reconciler may have as many in addition.
    #[arg(long, env = "SOUK_CHARGE_CONCURRENCY", value_name = "N", default_value = "32", value_parser = parse_concurrency)]
    pub charge_concurrency: usize,
    /// The store's name.
    #[arg(long, env = "SOUK_NAME", default_value = "Souk")]
    pub name: String,
    /// Comma-separated days after the invoice at which a declined charge is retried; empty: no automatic retry.
    #[arg(long, env = "SOUK_RETRY_DAYS", default_value = "1,3,5,7,10,14", value_name = "DAYS", value_parser = parse_retry_days)]
    pub retry_days: RetryDays,
    /// Days after which an unpaid subscription is canceled, unless the subscription has its own setting.
    #[arg(long, env = "SOUK_DAYS_UNTIL_CANCEL", default_value_t = DAYS_UNTIL_CANCEL, value_name = "DAYS", value_parser = parse_days)]
    pub days_until_cancel: u32,
    /// Units of usage that a wallet's authorization covers per charge, if the metered price has no billing threshold.
    #[arg(long, env = "SOUK_USAGE_LIMIT", value_name = "UNITS", default_value_t = USAGE_LIMIT, value_parser = clap::value_parser!(u64).range(1..))]
    pub usage_limit: u64,
    /// Days that an overdue renewal waits for the customer before the overdraft protection pays it.
    #[arg(long, env = "SOUK_OVERDRAFT_GRACE_DAYS", value_name = "DAYS", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=30))]
    pub overdraft_grace_days: u32,
    /// The overdraft fee, in hundredths of a percent of the amount paid.
    #[arg(long, env = "SOUK_OVERDRAFT_FEE", value_name = "POINTS", default_value_t = OVERDRAFT_FEE_POINTS, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub overdraft_fee: u32,
}

impl Common {
    #[must_use]
    pub fn policy(&self) -> BillingPolicy {
        BillingPolicy {
            retry_days: self.retry_days.0.clone(),
            days_until_cancel: self.days_until_cancel,
            usage_limit: self.usage_limit,
            overdraft_grace: Duration::from_secs(u64::from(self.overdraft_grace_days) * 24 * 3_600),
            overdraft_fee_points: self.overdraft_fee,
            bounds: Some(Bounds::default()),
        }
    }
}

/// The days in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryDays(pub Vec<u32>);

/// The seed of the store's keys. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretSeed(pub [u8; 32]);

impl std::fmt::Debug for SecretSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretSeed(…)")
    }
}

fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an address and a port, such as 127.0.0.1:8080".to_owned())
}

fn parse_proxy(text: &str) -> Result<IpAddr, String> {
    text.trim().parse().map_err(|_| "expected the addresses of proxies, such as 10.0.0.2,10.0.0.3".to_owned())
}

fn parse_holder(text: &str) -> Result<Did, String> {
    parse_did(text).map_err(|error| error.to_string())
}

fn parse_role(text: &str) -> Result<Role, String> {
    Role::from_name(text).ok_or_else(|| "expected developer, admin or owner".to_owned())
}

fn parse_http(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    url.ok_or_else(|| "expected an address that begins with http:// or https://".to_owned())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

fn parse_concurrency(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|limit| (1..=1_000).contains(limit)).ok_or_else(|| "expected a number from 1 to 1000".to_owned())
}

fn parse_days(text: &str) -> Result<u32, String> {
    let days = text.trim().parse::<u32>().ok().filter(|days| (1..=DAYS_UNTIL_CANCEL_MAX).contains(days));
    days.ok_or_else(|| format!("expected a number of days from 1 to {DAYS_UNTIL_CANCEL_MAX}"))
}

fn parse_retry_days(text: &str) -> Result<RetryDays, String> {
    if text.trim().is_empty() {
        return Ok(RetryDays(Vec::new()));
    }
    let days = text.split(',').map(parse_days).collect::<Result<Vec<_>, _>>().ok().filter(|days| days.is_sorted_by(|a, b| a < b));
    days.map(RetryDays).ok_or_else(|| "expected ascending numbers of days, such as 1,3,5,7,10,14".to_owned())
}

fn parse_database(text: &str) -> Result<String, String> {
    let known = ["postgres://", "postgresql://", "sqlite://"].iter().any(|scheme| text.starts_with(scheme));
    known.then(|| text.to_owned()).ok_or_else(|| "expected postgres://user@host/name, or sqlite://path/to/file".to_owned())
}

fn parse_redis(text: &str) -> Result<String, String> {
    let known = ["redis://", "rediss://"].iter().any(|scheme| text.starts_with(scheme));
    known.then(|| text.to_owned()).ok_or_else(|| "expected redis://host:6379".to_owned())
}

fn parse_smtp(text: &str) -> Result<String, String> {
    let known = ["smtp://", "smtps://"].iter().any(|scheme| text.starts_with(scheme));
    known.then(|| text.to_owned()).ok_or_else(|| "expected smtps://user:password@host:465, or smtp://host:587?tls=required".to_owned())
}

pub fn parse_secret(text: &str) -> Result<SecretSeed, String> {
    let expected = "expected 64 hex digits (32 random bytes)";
    let digits = text.trim().as_bytes();
    if digits.len() != 64 {
        return Err(expected.to_owned());
    }
    let mut seed = [0; 32];
    for (byte, pair) in seed.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
        *byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(expected)?;
    }
    Ok(SecretSeed(seed))
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
            ("--charge-concurrency", "0", "from 1 to 1000"),
            ("--errors-sample-rate", "2", "from 0 to 1"),
            ("--smtp-url", "mail", "smtps://"),
            ("--retry-days", "1,3,3", "ascending numbers of days"),
            ("--retry-days", "0,3", "ascending numbers of days"),
            ("--days-until-cancel", "0", "from 1 to 365"),
        ] {
            let message = Cli::try_parse_from(["souk", "serve", option, value]).expect_err(option).to_string();
            assert!(message.contains(expected), "{option}: {message}");
        }
    }

    #[test]
    fn the_billing_policy_follows_the_options() {
        let parsed = |options: &[&str]| {
            let cli = Cli::try_parse_from([&["souk", "work"], options].concat()).expect("parses");
            let Command::Work(common) = cli.command else { panic!("another command") };
            common.policy()
        };
        assert_eq!(parsed(&[]), BillingPolicy::default());
        let set = parsed(&["--retry-days", "2,4", "--days-until-cancel", "9"]);
        assert_eq!(set, BillingPolicy { retry_days: vec![2, 4], days_until_cancel: 9, ..BillingPolicy::default() });
        let overdraft = parsed(&["--overdraft-grace-days", "1", "--overdraft-fee", "250"]);
        assert_eq!((overdraft.overdraft_grace.as_secs(), overdraft.overdraft_fee_points), (86_400, 250));
        assert_eq!(parsed(&["--retry-days", ""]).retry_days, [0_u32; 0]);
    }

    #[test]
    fn a_secret_key_is_read_and_never_printed() {
        let seed = parse_secret(&"0a".repeat(32)).expect("read");
        assert_eq!(seed.0, [10; 32]);
        assert_eq!(format!("{seed:?}"), "SecretSeed(…)");
        assert!(parse_secret(&"é".repeat(32)).is_err());
    }
}
