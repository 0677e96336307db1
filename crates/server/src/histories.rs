//! Implements the simulator's host: stores, networks and processes are composed from this binary.

use crate::compose::{self, Parts, compose_at};
use crate::config::{Common, HistoryProcessArgs};
use crate::sandbox;
use async_trait::async_trait;
use poem::Route;
use souk_domain::payment::Sandbox as SandboxSwitch;
use souk_sandbox::Admission;
use souk_sandbox::ledger::LedgerConfig;
use souk_simulator::{Failure, HistoryArgs, Host, Pace, Run, Sandbox, Site, Store, StoreWithSandbox, run_process};
use std::sync::Arc;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use url::Url;

/// The hidden command that runs a process which the simulator kills.
const PROCESS_COMMAND: &str = "history-process";

pub async fn run(common: Common, count: u32, args: &HistoryArgs) -> Result<(), Failure> {
    souk_simulator::run(&Binary(common), count, args).await
}

pub async fn process(args: HistoryProcessArgs) -> Result<(), Failure> {
    let site = Site { data: args.common.data.clone(), database_url: args.common.database_url.clone() };
    run_process(&Binary(args.common), &site, args.process).await
}

/// Composes stores with the options of `souk verify`.
struct Binary(Common);

impl Binary {
    async fn parts(&self, site: &Site, networks: &Url, Pace { clock, queue }: Pace) -> Result<Parts, Failure> {
        let Site { data, database_url } = site.clone();
        let common = Common { data, database_url, secret_key: None, ..self.0.clone() };
        let pace = compose::Pace { clock, is_simulated: true, queue };
        compose_at(&common, networks.clone(), networks.clone(), SandboxSwitch::On, pace).await
    }
}

fn store(parts: Parts) -> Store {
    let (ctx, database, app) = (parts.ctx.clone(), parts.database.clone(), parts.app_key.did().clone());
    let parts = Arc::new(parts);
    let work: Run = Box::new(move |stop: CancellationToken| {
        let parts = Arc::clone(&parts);
        Box::pin(async move { parts.work(stop).await })
    });
    Store { ctx, database, app, work }
}

#[async_trait(?Send)]
impl Host for Binary {
    fn database_url(&self) -> Option<&str> {
        self.0.database_url.as_deref()
    }

    async fn compose(&self, site: &Site, networks: &Url, pace: Pace) -> Result<Store, Failure> {
        Ok(store(self.parts(site, networks, pace).await?))
    }

    async fn compose_with_sandbox(&self, site: &Site, address: &Url, pace: Pace) -> Result<StoreWithSandbox, Failure> {
        let parts = self.parts(site, address, pace).await?;
        // Opened before the store has a card method, so that the processor has no webhook URL and sends no events.
        let opened =
            sandbox::open(&parts, address, LedgerConfig { faults: true, ..LedgerConfig::default() }, Admission::unlimited()).await?;
        sandbox::install_methods(&parts).await?;
        let routes = Route::new().nest("/sandbox/arcblock", opened.ledger_routes).nest("/sandbox/stripe", opened.card_routes);
        let run: Run = Box::new(move |stop: CancellationToken| {
            let processor = Arc::clone(&opened.processor);
            Box::pin(async move { processor.run(stop).await })
        });
        Ok(StoreWithSandbox { store: store(parts), sandbox: Sandbox { routes, run } })
    }

    fn process_command(&self, site: &Site) -> Result<Command, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(PROCESS_COMMAND).arg("--data").arg(&site.data);
        for (variable, value) in [("DATABASE_URL", &site.database_url), ("REDIS_URL", &self.0.redis_url)] {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        for variable in ["SOUK_SECRET_KEY", "SMTP_URL", "DATABASE_URL_FILE", "REDIS_URL_FILE", "SOUK_SECRET_KEY_FILE", "SMTP_URL_FILE"] {
            command.env_remove(variable);
        }
        command.env("NO_COLOR", "1");
        Ok(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Cli, Command as CliCommand, VerifyArgs};
    use clap::Parser;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestCaseError, TestRunner};
    use souk_adapters::testing::required;
    use souk_simulator::{Sequence, check_sequence};

    /// Number of sequences per database; PROPTEST_CASES overrides it.
    const CASES: u32 = 4;
    /// Each shrinking step runs the sequence again, so their number is small.
    const SHRINK_TRIES: u32 = 30;

    fn host(database: Option<String>) -> Binary {
        let cli = Cli::parse_from(["souk", "verify"]);
        let CliCommand::Verify(VerifyArgs { common, .. }) = cli.command else { unreachable!("the arguments say verify") };
        Binary(Common { database_url: database, redis_url: None, ..common })
    }

    fn check(database: Option<String>) {
        let host = host(database);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
        let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES);
        let config = Config { cases, max_shrink_iters: SHRINK_TRIES, failure_persistence: None, ..Config::default() };
        let sequences = (any::<u64>(), vec(any::<u32>(), 1..20)).prop_map(|(seed, steps)| Sequence { seed, steps });
        let holds = |sequence: Sequence| {
            let checked = runtime.block_on(check_sequence(&host, &sequence));
            // Printed immediately, because shrinking takes a while.
            checked.map_err(|error| TestCaseError::fail(error.to_string())).inspect_err(|error| eprintln!("{sequence:?}: {error}"))
        };
        if let Err(error) = TestRunner::new(config).run(&sequences, holds) {
            panic!("{error}");
        }
    }

    #[test]
    fn after_each_step_guards_journal_and_networks_agree_on_sqlite() {
        check(None);
    }

    #[test]
    fn after_each_step_guards_journal_and_networks_agree_on_postgres() {
        check(Some(required("TEST_PG", "a PostgreSQL server")));
    }
}
