//! What the binary that runs histories provides: stores, the networks of test mode, and the command of a process that can be killed.

use crate::Failure;
use async_trait::async_trait;
use futures_util::future::BoxFuture;
use poem::Route;
use souk_adapters::persistence::Database;
use souk_adapters::queue::QueueConfig;
use souk_domain::access::Did;
use souk_domain::context::Context;
use souk_domain::shared::Clock;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Where a store keeps its data.
#[derive(Debug, Clone)]
pub struct Site {
    /// The folder for everything that is not in a database.
    pub data: PathBuf,
    /// A PostgreSQL database; `None`: SQLite in the folder.
    pub database_url: Option<String>,
}

/// The time that a store lives in, and the times of its queue.
pub struct Pace {
    pub clock: Arc<dyn Clock>,
    pub queue: QueueConfig,
}

/// Runs until it is told to stop.
pub type Run = Box<dyn Fn(CancellationToken) -> BoxFuture<'static, ()> + Send + Sync>;

/// A store without its HTTP side.
pub struct Store {
    pub ctx: Context,
    pub database: Database,
    /// The account that the store is paid to.
    pub app: Did,
    /// Jobs and recurring rounds.
    pub work: Run,
}

/// The networks that test mode pays against.
pub struct Sandbox {
    /// To be mounted at `/`.
    pub routes: Route,
    /// What the networks do without being called.
    pub run: Run,
}

#[async_trait(?Send)]
pub trait Host {
    /// Database servers are never created: a history gets a database of its own on this one, or a SQLite file.
    fn database_url(&self) -> Option<&str>;

    /// Composes a store on `site` that reaches the networks at `networks`.
    async fn compose(&self, site: &Site, networks: &Url, pace: Pace) -> Result<Store, Failure>;

    /// Composes a store with its sandbox, which takes orders for faults, and gives the store the payment methods of the sandbox.
    /// `address` is where the sandbox will be reached. It sends no events: nobody listens while the store is dead.
    async fn compose_with_sandbox(&self, site: &Site, address: &Url, pace: Pace) -> Result<(Store, Sandbox), Failure>;

    /// The command that runs [`crate::run_process`] on `site`; its own arguments are added to it.
    fn process_command(&self, site: &Site) -> Result<Command, Failure>;
}
