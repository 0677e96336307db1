//! The composition root: the only module that names both ports and adapters.

use crate::config::{Common, without_secrets};
use crate::data_folder::{self, StoreMark};
use crate::installation::ProcessProbe;
use crate::keys::StoreKeys;
use crate::metrics::{CountedJobs, Metrics};
use crate::{backup, keys, sandbox};
use souk_adapters::arcblock::ArcblockRail;
use souk_adapters::bundles::LocalBundleReader;
use souk_adapters::ci_tokens::OidcCiTokens;
use souk_adapters::concurrency_limit::NetworkConcurrencyLimit;
use souk_adapters::disk::SystemDisks;
use souk_adapters::files::{FileStore, SpoolFolder};
use souk_adapters::identity::{AppKey, CheckedAppDids, HmacSigner};
use souk_adapters::instances::HttpInstanceProbe;
use souk_adapters::mail::{Mailbox, StoreMails};
use souk_adapters::outbound::PrivateNetworks;
use souk_adapters::pdf::{InvoiceFonts, Party, PdfPrinter};
use souk_adapters::persistence::{Database, SqlStore, known_schema, migrate, schema_version};
use souk_adapters::queue::{Queue, QueueBackend, QueueConfig, Work};
use souk_adapters::realtime::{LocalRealtime, RedisRealtime};
use souk_adapters::stripe::StripeRail;
use souk_adapters::system::{SystemClock, SystemRandom, SystemUptime, host_name};
use souk_domain::access::SignedLinks;
use souk_domain::billing::BillingPolicy;
use souk_domain::context::{Context, Networks};
use souk_domain::events::Realtime;
use souk_domain::operation::{ClockTrust, ClockWatch, DiskSpace, RestoreHold, SeenProxy, TrustedClock, check_clock};
use souk_domain::payment::{Breakers, MethodKind, Sandbox};
use souk_domain::publishing::bundle::{ORPHAN_AGE, sweep_files};
use souk_domain::publishing::instances::InstanceProbe;
use souk_domain::publishing::trusted::CiTokens;
use souk_domain::shared::{Clock, Random, StorageError};
use souk_domain::storage::Store;
use souk_sandbox::store::SandboxDb;
use souk_workers::jobs::{Checks, Jobs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use url::Url;

/// An error of a command, with a message for the operator.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The components of a store without its HTTP service.
pub struct Parts {
    pub ctx: Context,
    /// The clock of the process: the watch, or the simulated one.
    pub clock: Arc<dyn Clock>,
    /// `None`: the clock is simulated.
    pub watch: Option<Arc<ClockWatch>>,
    pub random: Arc<dyn Random>,
    pub database: Database,
    /// The database of the sandbox's networks; `None`: the sandbox is off.
    pub sandbox: Option<SandboxDb>,
    pub queue: Queue,
    pub queue_config: QueueConfig,
    pub app_key: AppKey,
    pub public_url: Url,
    pub files: FileStore,
    /// Uploads in progress.
    pub spool: SpoolFolder,
    pub reader: LocalBundleReader,
    pub ci_tokens: Arc<dyn CiTokens>,
    pub instances: Arc<dyn InstanceProbe>,
    pub printer: PdfPrinter,
    pub realtime: Arc<dyn Realtime>,
    pub redis: Option<Arc<RedisRealtime>>,
    pub jobs: Arc<Jobs>,
    pub keys: StoreKeys,
    /// The signed links in emails.
    pub tokens: SignedLinks,
    pub metrics: Metrics,
    /// The proxy that is missing in the options, if there is one.
    pub seen_proxy: SeenProxy,
    /// Keeps the emails that are not sent.
    pub mail_folder: Mailbox,
}

/// Opens and migrates the database only, for commands that need nothing else.
pub async fn open_store(common: &Common) -> Result<Context, Failure> {
    let OpenFolder { keys, database } = open_folder(common).await?;
    Ok(context(common, &keys, database, &Url::parse("http://localhost/")?))
}

/// As [`open_store`], with the payment networks. `own_address` is where the store's sandbox is reached.
pub async fn open_with_networks(common: &Common, own_address: &Url) -> Result<Context, Failure> {
    let OpenFolder { keys, database } = open_folder(common).await?;
    let ctx = context(common, &keys, database, own_address);
    let app_key = AppKey::from_seed(&keys.identity.0);
    let wallets = ArcblockRail::reaching(app_key, Arc::clone(&ctx.clock), own_address.clone(), common.private_networks())?;
    let cards = StripeRail::reaching(own_address, common.private_networks())?;
    let networks = Networks::default().with_wallet(MethodKind::Arcblock, Arc::new(wallets)).with_card(MethodKind::Stripe, Arc::new(cards));
    let networks = networks.with_restore_hold(restore_hold(ctx.store.as_ref(), common).await?);
    Ok(Context { networks, ..ctx })
}

/// Whether the store was restored from a backup and must not send anything yet.
async fn restore_hold(store: &dyn Store, common: &Common) -> Result<Arc<RestoreHold>, StorageError> {
    let restore = store.read().await?.restores().latest().await?;
    Ok(Arc::new(RestoreHold::new(restore.is_some_and(|restore| restore.is_held()), common.settling_time())))
}

fn context(common: &Common, keys: &StoreKeys, database: Database, address: &Url) -> Context {
    Context {
        store: Arc::new(SqlStore::new(database, Arc::new(keys::secret_box(&keys.seed)))),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        networks: Networks::default(),
        handlers: souk_domain::purpose_handlers(),
        stake_uses: souk_domain::stake_uses(),
        policy: common.policy(),
        limits: common.limits(),
        trust: Arc::new(TrustedClock),
        disk: Arc::new(disks(common)),
        installation: Arc::new(ProcessProbe::new(common, address, Sandbox::Off, SeenProxy::default())),
    }
}

/// Opens the storage of bundles and pictures.
///
/// # Errors
/// The message names the folder or the bucket.
pub async fn open_files(common: &Common) -> Result<FileStore, Failure> {
    match common.bucket()? {
        None => {
            let folder = common.data.join("files");
            Ok(FileStore::open(&folder).await.map_err(|error| format!("{}: {error}", folder.display()))?)
        }
        Some(bucket) => {
            let name = bucket.name.clone();
            Ok(FileStore::open_bucket(&bucket).await.map_err(|error| format!("the bucket {name}: {error}"))?)
        }
    }
}

/// The disks on which the processes of the store write. The disk of a PostgreSQL server cannot be measured from here.
fn disks(common: &Common) -> SystemDisks {
    let database = common.database_file().and_then(|file| file.parent().map(Path::to_owned)).filter(|folder| *folder != common.data);
    SystemDisks::new(std::iter::once(common.data.clone()).chain(database).collect(), common.disk_reserve * 1_024 * 1_024)
}

/// The store's keys, and its migrated database.
pub struct OpenFolder {
    pub keys: StoreKeys,
    pub database: Database,
}

/// Opens and migrates the database and reads the store's key. Refuses before it creates anything that an existing store has lost.
pub async fn open_folder(common: &Common) -> Result<OpenFolder, Failure> {
    data_folder::create(&common.data)?;
    let (mark, name) = (StoreMark::of(common), database_name(common));
    mark.check_database(common.database_file().is_some_and(|file| !file.exists()), &name)?;
    let database = open_database(common).await?;
    let version = check_schema(&database, &name).await?;
    mark.check_database(version.is_none(), &name)?;
    let seed = keys::seed(common, mark.may_create_key(version.is_none()))?;
    if let Some(version) = version.filter(|version| *version < known_schema()) {
        let keys = keys::open(common, &database, seed.clone()).await?;
        backup::before_migration(common, &database, &keys, version).await?;
    }
    migrate(&database).await.map_err(|error| format!("{name}: {error}"))?;
    let keys = keys::claim(common, &database, seed).await?;
    mark.set()?;
    Ok(OpenFolder { keys, database })
}

/// The database as messages name it: host and path, never a password.
pub fn database_name(common: &Common) -> String {
    match (&common.database_url, common.database_file()) {
        (_, Some(file)) => format!("the database {}", file.display()),
        (address, None) => format!("the database {}", without_secrets(address.as_deref().unwrap_or_default())),
    }
}

pub async fn open_database(common: &Common) -> Result<Database, Failure> {
    let opened = match common.database_file() {
        Some(file) => Database::open_file(&file).await,
        None => Database::open(common.database_url.as_deref().unwrap_or_default()).await,
    };
    Ok(opened.map_err(|error| format!("{}: {error}", database_name(common)))?)
}

/// The schema's version; `None` if the database has none yet.
///
/// # Errors
/// A newer version of Souk has written the database.
pub async fn check_schema(database: &Database, name: &str) -> Result<Option<i64>, Failure> {
    let (version, known) = (schema_version(database).await.map_err(|error| format!("{name}: {error}"))?, known_schema());
    match version {
        Some(version) if version > known => Err(format!(
            "{name} was written by a newer version of Souk (its schema is {version}, this version knows {known}): use the newer version"
        )
        .into()),
        version => Ok(version),
    }
}

/// Opens an existing database without migrating it, for commands that only read.
pub async fn existing_database(common: &Common) -> Result<Database, Failure> {
    let name = database_name(common);
    if common.database_file().is_some_and(|file| !file.exists()) {
        return Err(format!("{name} does not exist").into());
    }
    let database = open_database(common).await?;
    check_schema(&database, &name).await?;
    Ok(database)
}

/// The clock of a process and the timing of its queue.
pub struct Pace {
    pub clock: Arc<dyn Clock>,
    /// Whether the clock can be wrong. A simulated clock jumps on purpose, so its billing has no bounds.
    pub is_simulated: bool,
    pub queue: QueueConfig,
}

impl Default for Pace {
    fn default() -> Self {
        Self { clock: Arc::new(SystemClock), is_simulated: false, queue: QueueConfig::default() }
    }
}

/// Composes a store. `own_address` is the URL at which this process reaches the store's sandbox.
pub async fn compose(common: &Common, public_url: Url, own_address: Url, sandbox: Sandbox) -> Result<Parts, Failure> {
    compose_at(common, public_url, own_address, sandbox, Pace::default()).await
}

pub async fn compose_at(common: &Common, public_url: Url, own_address: Url, sandbox: Sandbox, pace: Pace) -> Result<Parts, Failure> {
    let random: Arc<dyn Random> = Arc::new(SystemRandom);
    let watch = (!pace.is_simulated)
        .then(|| Arc::new(ClockWatch::new(Arc::clone(&pace.clock), Arc::new(SystemUptime), host_name(), random.as_ref())));
    let clock = watch.as_ref().map_or(pace.clock, |watch| Arc::clone(watch) as Arc<dyn Clock>);
    let disk: Arc<dyn DiskSpace> = Arc::new(disks(common));
    let OpenFolder { keys, database } = open_folder(common).await?;
    let store = SqlStore::new(database.clone(), Arc::new(keys::secret_box(&keys.seed)));
    let app_key = AppKey::from_seed(&keys.identity.0);
    let mut wallets = ArcblockRail::reaching(app_key.clone(), Arc::clone(&clock), own_address.clone(), common.private_networks())?;
    let mut cards = StripeRail::reaching(&own_address, common.private_networks())?;
    if let Some(watch) = &watch {
        (wallets, cards) = (wallets.watched_by(Arc::clone(watch)), cards.watched_by(Arc::clone(watch)));
    }
    let networks = Networks::default().with_wallet(MethodKind::Arcblock, Arc::new(wallets)).with_card(MethodKind::Stripe, Arc::new(cards));
    let mut networks = networks.with_sandbox(sandbox);
    let (choice, seen_proxy) = (sandbox, SeenProxy::default());
    let sandbox = match sandbox {
        Sandbox::On => Some(sandbox::database(common).await?),
        Sandbox::Off => None,
    };
    if let Some(sandbox) = &sandbox {
        networks = networks.with_sandbox_time(sandbox::time(sandbox, &clock, app_key.did()).await?);
    }
    let breakers = Arc::new(Breakers::default());
    networks = networks.with_restore_hold(restore_hold(&store, common).await?);
    let metrics = Metrics::of(Arc::clone(&breakers));
    let networks = networks.with_observer(Arc::new(metrics.clone())).with_breakers(breakers);
    let networks = networks.with_concurrency_limit(Arc::new(NetworkConcurrencyLimit::of(common.charge_concurrency)));
    let ctx = Context {
        store: Arc::new(store),
        clock: Arc::clone(&clock),
        random: Arc::clone(&random),
        networks,
        handlers: souk_domain::purpose_handlers(),
        stake_uses: souk_domain::stake_uses(),
        policy: if pace.is_simulated { BillingPolicy { bounds: None, ..common.policy() } } else { common.policy() },
        limits: common.limits(),
        trust: match &watch {
            Some(watch) => Arc::clone(watch) as Arc<dyn ClockTrust>,
            None => Arc::new(TrustedClock),
        },
        disk: Arc::clone(&disk),
        installation: Arc::new(ProcessProbe::new(common, &public_url, choice, seen_proxy.clone()).with_shared_options(common, choice)),
    };
    // Before anything is written by a clock that other processes doubt.
    if let Some(watch) = &watch {
        check_clock(&ctx, watch).await?;
    }

    if common.redis_url.is_none() && common.database_url.as_deref().is_some_and(|address| address.starts_with("postgres")) {
        tracing::warn!("REDIS_URL is not set: only one process may run for this store; several processes need Redis");
    }
    let backend = match &common.redis_url {
        Some(address) => QueueBackend::Redis(address.clone()),
        None => QueueBackend::Sqlite(common.data.join("queue.db")),
    };
    // The store's DID separates the queues of stores that share a Redis server.
    let queue_config = QueueConfig { name: format!("souk-{}", app_key.did()), ..pace.queue };
    let queue = Queue::open(&backend, &queue_config).await.map_err(|error| match &common.redis_url {
        Some(address) => format!("the queue at {}: {error}", without_secrets(address)),
        None => format!("the queue {}: {error}", common.data.join("queue.db").display()),
    })?;
    let (realtime, redis): (Arc<dyn Realtime>, _) = match &common.redis_url {
        Some(address) => {
            let redis = RedisRealtime::open(address, app_key.did().as_str()).await;
            let redis = Arc::new(redis.map_err(|error| format!("{}: {error}", without_secrets(address)))?);
            (redis.clone(), Some(redis))
        }
        None => (Arc::new(LocalRealtime::default()), None),
    };
    let tokens = SignedLinks::new(Arc::new(HmacSigner::new(&keys::derive(&keys.seed, "pages"))));
    let printer = PdfPrinter {
        seller: Party { name: common.name.clone(), details: vec![public_url.to_string()] },
        public_url: public_url.to_string(),
        fonts: InvoiceFonts::default(),
    };
    let mailbox = match &common.smtp_url {
        Some(address) => Mailbox::smtp(address, &common.mail_from),
        None => Mailbox::folder(common.data.join("mail"), &common.mail_from),
    };
    let mailbox = mailbox.map_err(|error| format!("mail: {error}"))?;
    let folder = Mailbox::folder(common.data.join("mail"), &common.mail_from).map_err(|error| format!("mail: {error}"))?;
    let mail_folder = folder.clone();
    let mails = Arc::new(StoreMails { mailbox, folder, printer: printer.clone(), tokens: tokens.clone() });
    let files = open_files(common).await?.with_reserve(disk);
    let spool = SpoolFolder::new(common.data.join("uploads"), Arc::clone(&random));
    let reader = LocalBundleReader::default();
    let jobs = Arc::new(Jobs {
        ctx: ctx.clone(),
        realtime: Arc::clone(&realtime),
        receipts: mails.clone(),
        billing_emails: mails.clone(),
        confirmations: mails.clone(),
        owner_mails: mails.clone(),
        token_mails: mails.clone(),
        review_mails: mails.clone(),
        developer_mails: mails.clone(),
        sale_mails: mails,
        checks: Checks {
            dids: Arc::new(CheckedAppDids),
            reader: Arc::new(reader.clone()),
            spool: Arc::new(spool.clone()),
            files: Arc::new(files.clone()),
        },
    });
    Ok(Parts {
        ctx,
        clock,
        watch,
        random,
        database,
        sandbox,
        queue,
        queue_config,
        app_key,
        public_url,
        files,
        spool,
        reader,
        ci_tokens: Arc::new(OidcCiTokens::new(common.private_networks())?),
        // Strangers name them, so that no option opens private networks for them.
        instances: Arc::new(HttpInstanceProbe::new(PrivateNetworks::Refused)?),
        printer,
        realtime,
        redis,
        jobs,
        keys,
        tokens,
        metrics,
        seen_proxy,
        mail_folder,
    })
}

/// How often files are deleted that nothing refers to.
const SWEEP_FILES_EVERY: Duration = Duration::from_secs(600);
/// How often emails that the folder keeps no longer are deleted.
const PRUNE_MAILS_EVERY: Duration = Duration::from_secs(600);

impl Parts {
    /// Deletes old emails of the mail folder until `shutdown`.
    async fn prune_mails(&self, shutdown: CancellationToken) {
        let mut ticks = tokio::time::interval(PRUNE_MAILS_EVERY);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            // While the clock is doubted, an email is not known to be old.
            if !self.ctx.trust.is_trusted() {
                continue;
            }
            if let Err(error) = self.mail_folder.prune(self.ctx.now()).await {
                tracing::error!(%error, "old emails could not be deleted from the mail folder");
            }
        }
    }

    /// Deletes files that nothing refers to until `shutdown`.
    async fn sweep_files(&self, shutdown: CancellationToken) {
        let mut ticks = tokio::time::interval(SWEEP_FILES_EVERY);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            // While the clock is doubted, a file is not known to be old.
            if !self.ctx.trust.is_trusted() {
                continue;
            }
            match sweep_files(&self.ctx, &self.files, &self.spool).await {
                Ok(0) => {}
                Ok(count) => tracing::info!(count, "files that nothing refers to were deleted"),
                Err(error) => tracing::error!(%error, "files that nothing refers to could not be deleted"),
            }
            if let Err(error) = self.files.remove_unfinished(self.ctx.now().minus(ORPHAN_AGE)).await {
                tracing::error!(%error, "unfinished files could not be deleted");
            }
        }
    }

    /// Runs queued and recurring jobs until `shutdown`, and waits for queued jobs in progress.
    pub async fn work(&self, shutdown: CancellationToken) {
        let work = Work {
            database: self.database.clone(),
            handler: Arc::new(CountedJobs { inner: self.jobs.clone(), metrics: self.metrics.clone() }),
            clock: Arc::clone(&self.clock),
            trust: Arc::clone(&self.ctx.trust),
            random: Arc::clone(&self.random),
            config: self.queue_config.clone(),
        };
        let jobs = souk_adapters::queue::run(self.queue.clone(), work, shutdown.clone());
        let recurring = souk_workers::schedule::run(self.ctx.clone(), self.watch.clone(), shutdown.clone());
        tokio::join!(jobs, recurring, self.prune_mails(shutdown.clone()), self.sweep_files(shutdown.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Cli, Command, WorkArgs};
    use clap::Parser;
    use souk_domain::operation::Restore;
    use souk_domain::payment::{Method, MethodSettings, StakeForGasError, stake_for_gas};
    use souk_domain::shared::{MethodId, Mode, Timestamp};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    const ANSWER: &str = "HTTP/1.1 200 OK\r\ndate: Sun, 06 Nov 1994 08:49:37 GMT\r\ncontent-type: application/json\r\n\
                          content-length: 2\r\nconnection: close\r\n\r\n{}";

    /// A network whose clock is decades behind. Returns its address.
    async fn network() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("listens");
        let address = format!("http://{}/", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut request = [0; 4_096];
                if client.read(&mut request).await.is_ok() {
                    client.write_all(ANSWER.as_bytes()).await.expect("answers");
                }
            }
        });
        address
    }

    fn common(folder: &Path) -> Common {
        let words = ["souk", "work", "--data", folder.to_str().expect("text"), "--allow-private-networks"];
        let Command::Work(WorkArgs { common, .. }) = Cli::try_parse_from(words).expect("parses").command else {
            unreachable!("the arguments say work")
        };
        Common { database_url: None, redis_url: None, ..common }
    }

    fn own_address() -> Url {
        Url::parse("http://127.0.0.1:1/").expect("an address")
    }

    async fn composed(folder: &Path) -> Parts {
        compose(&common(folder), own_address(), own_address(), Sandbox::On).await.expect("composes")
    }

    #[tokio::test]
    async fn a_command_stakes_nothing_for_a_restored_store_that_is_held() {
        let folder = tempfile::tempdir().expect("a folder");
        let (common, at, method) = (common(folder.path()), Timestamp::from_seconds, MethodId::parse("pm_1").expect("an id"));
        let open = async || open_with_networks(&common, &own_address()).await.expect("opens");
        let ctx = open().await;
        let stake = async |ctx: &Context| stake_for_gas(ctx, Mode::Test, &method).await.expect_err("there is no method");
        assert!(matches!(stake(&ctx).await, StakeForGasError::Find(_)));
        let mut unit = ctx.store.begin().await.expect("begins");
        unit.restores().insert(Restore::of(at(100), at(200))).await.expect("inserts");
        unit.commit().await.expect("commits");
        assert!(matches!(stake(&open().await).await, StakeForGasError::Held(_)));
        let mut unit = ctx.store.begin().await.expect("begins");
        unit.restores().release(at(300)).await.expect("writes");
        unit.commit().await.expect("commits");
        assert!(matches!(stake(&open().await).await, StakeForGasError::Find(_)));
    }

    #[tokio::test]
    async fn the_date_of_a_network_reaches_the_watch_and_the_use_cases() {
        let api_host = network().await;
        let settings = MethodSettings::Arcblock { chain_id: "beta".to_owned(), api_host, explorer_host: String::new() };
        let kind = MethodKind::Arcblock;
        let folder = tempfile::tempdir().expect("a folder");
        let parts = composed(folder.path()).await;
        let watch = parts.watch.as_ref().expect("a real clock is watched");
        check_clock(&parts.ctx, watch).await.expect("checks");
        assert!(parts.ctx.trust.is_trusted(), "{kind:?}");
        let at = Timestamp::from_seconds(0);
        let method = Method {
            id: MethodId::parse("pm_1").expect("an id"),
            mode: Mode::Test,
            kind,
            active: true,
            name: String::new(),
            description: String::new(),
            logo: String::new(),
            settings,
            default_currency_id: None,
            created_at: at,
            updated_at: at,
        };
        let rail = parts.ctx.networks.wallet(kind).expect("a rail");
        let answer = rail.validate_settings(&method, &[]).await;
        assert!(!parts.ctx.trust.is_trusted(), "{kind:?}: {answer:?}");
        check_clock(&parts.ctx, watch).await.expect("checks");
        let stored = parts.ctx.store.read().await.expect("reads").clock_states().read().await.expect("reads");
        assert_eq!(stored.doubts.len(), 1, "{kind:?}");
    }
}
