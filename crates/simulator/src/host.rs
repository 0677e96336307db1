//! The interface to the binary that runs histories: it composes stores and the sandbox, and starts processes that can be killed.

use crate::{Failure, Records};
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

/// The storage of a store.
#[derive(Debug, Clone)]
pub struct Site {
    /// The folder for everything that is not in a database.
    pub data: PathBuf,
    /// A PostgreSQL database; `None`: SQLite in the folder.
    pub database_url: Option<String>,
}

/// The clock of a store and the timing of its queue.
pub struct Pace {
    pub clock: Arc<dyn Clock>,
    pub queue: QueueConfig,
}

/// Starts a task that runs until its token is canceled.
pub type Run = Box<dyn Fn(CancellationToken) -> BoxFuture<'static, ()> + Send + Sync>;

/// A store without its HTTP service.
pub struct Store {
    pub ctx: Context,
    pub database: Database,
    /// The store's DID, which is the account that receives payments.
    pub app: Did,
    /// Runs queued and recurring jobs.
    pub work: Run,
}

impl Store {
    pub(crate) const fn records(&self) -> Records<'_> {
        Records { ctx: &self.ctx, database: &self.database, app: &self.app }
    }
}

/// The payment networks of test mode.
pub struct Sandbox {
    /// Routes to be mounted at `/`.
    pub routes: Route,
    /// The background work of the networks.
    pub run: Run,
}

/// A store, and the payment networks that it uses.
pub struct StoreWithSandbox {
    pub store: Store,
    pub sandbox: Sandbox,
}

#[async_trait(?Send)]
pub trait Host {
    /// The PostgreSQL server on which temporary databases are created; `None`: SQLite files are used.
    fn database_url(&self) -> Option<&str>;

    /// Composes a store on `site` that reaches the networks at `networks`.
    async fn compose(&self, site: &Site, networks: &Url, pace: Pace) -> Result<Store, Failure>;

    /// Composes a store with the sandbox's payment methods, and a sandbox that accepts fault injection. `address` is the URL at which
    /// the sandbox will be reached. The sandbox sends no events, because the store is down between processes.
    async fn compose_with_sandbox(&self, site: &Site, address: &Url, pace: Pace) -> Result<StoreWithSandbox, Failure>;

    /// The command that runs [`crate::run_process`] on `site`; the caller appends the arguments of [`crate::ProcessArgs`].
    fn process_command(&self, site: &Site) -> Result<Command, Failure>;
}
