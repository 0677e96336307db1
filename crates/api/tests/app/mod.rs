//! The whole service for tests, with a fixed clock, real SQL and real rails. The API is called without a socket; the networks behind
//! the rails have one, like external systems.

mod browser;
mod buyer;
mod connect;
mod networks;
pub mod plans;
mod shop;
pub mod signing;
mod subscriber;

pub use browser::{Answer, Browser};
pub use buyer::{Buyer, form};
pub use connect::{Connect, altered, claim_of, profile_of, signed_claim};
pub use networks::{ACCEPTED, DECLINED, DECLINED_LATER, INSUFFICIENT, Networks, SECOND_STEP};
pub use plans::Plans;
pub use shop::{Shop, Sold};
pub use subscriber::{Subscriber, TOKEN, Terms, WEEK};

use async_trait::async_trait;
use poem::endpoint::BoxEndpoint;
use poem::{EndpointExt, Response, Route};
use souk_adapters::arcblock::{ArcblockRail, TestWallet};
use souk_adapters::bundles::LocalBundleReader;
use souk_adapters::ci_tokens::OidcCiTokens;
use souk_adapters::files::{FileStore, SpoolFolder};
use souk_adapters::identity::{AppDidAuthTokens, AppKey, CheckedAppDids, Ed25519TokenKeys, HmacSigner, SodiumToolSeals};
use souk_adapters::instances::HttpInstanceProbe;
use souk_adapters::mail::{Mailbox, StoreMails};
use souk_adapters::outbound::PrivateNetworks;
use souk_adapters::pdf::{InvoiceFonts, Party, PdfPrinter};
use souk_adapters::persistence::{Database, SecretBox, SqlPersonalDataExports, SqlStore};
use souk_adapters::queue::{QueueConfig, Work, drain};
use souk_adapters::realtime::LocalRealtime;
use souk_adapters::stripe::StripeRail;
use souk_adapters::testing::{FixedClock, SeededRandom, TestDatabase, TestDisk};
use souk_api::Limits;
use souk_api::auth::token_hash;
use souk_api::state::{App, Probe, Publishing, Site, UPLOAD_PROGRESS, UploadSlots};
use souk_domain::access::{self, Did, Login, Role, SignedLinks, Wallet};
use souk_domain::billing::{BillingPolicy, Scope, Stake, move_due_stakes};
use souk_domain::context::{self, Context};
use souk_domain::events::Realtime;
use souk_domain::operation::{KnownInstallation, TrustedClock};
use souk_domain::payment::MethodKind;
use souk_domain::shared::{Language, LoginId, Random, SubscriptionId, Text, Timestamp};
use souk_workers::jobs::{Checks, Jobs};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;
use url::Url;

/// How long wallets of these tests wait for a decision that does not come.
const CONFIRMATION_WAIT: Duration = Duration::from_millis(100);
/// The folders of emails that went to the mail server, and of those that did not.
const SENT: &str = "sent";
const UNSENT: &str = "mail";
/// The public URL of the store.
pub const PUBLIC_URL: &str = "https://souk.example/";

pub type Service = Arc<BoxEndpoint<'static, Response>>;

struct NoQueue;

#[async_trait]
impl Probe for NoQueue {
    async fn ping(&self) -> Result<(), String> {
        Ok(())
    }
}

pub struct TestApp {
    pub clock: Arc<FixedClock>,
    pub disk: Arc<TestDisk>,
    pub ctx: Context,
    pub shop: Shop,
    pub networks: Networks,
    pub app_key: AppKey,
    service: Service,
    database: Database,
    work: Work,
    public_url: String,
    sign_in_again_after: Duration,
    folder: tempfile::TempDir,
    _own: Option<TestDatabase>,
    browsers: AtomicU32,
    finished: AtomicBool,
}

impl TestApp {
    /// Opens the service on its own SQLite file.
    pub async fn open() -> Self {
        Self::reached_at(PUBLIC_URL).await
    }

    /// Opens the service with another public URL.
    pub async fn reached_at(public_url: &str) -> Self {
        let own = TestDatabase::sqlite().await;
        let mut app = Self::build(&own, public_url).await;
        app._own = Some(own);
        app
    }

    /// Opens the service on the given database.
    pub async fn on(db: &TestDatabase) -> Self {
        Self::build(db, PUBLIC_URL).await
    }

    async fn build(db: &TestDatabase, public_url: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let database: Database = (**db).clone();
        let (clock, disk) = (Arc::new(FixedClock::default()), Arc::new(TestDisk::default()));
        let random: Arc<dyn Random> = Arc::new(SeededRandom::new(7));
        let store = SqlStore::new(database.clone(), Arc::new(SecretBox::new(&[5; 32])));
        let app_key = AppKey::from_seed(&[9; 32]);
        let networks = Networks::open(db, folder.path(), clock.clone(), Arc::clone(&random), app_key.did()).await;
        let wallets = ArcblockRail::new(app_key.clone(), clock.clone(), networks.address.clone()).expect("a rail");
        let cards = StripeRail::new(&networks.address).expect("a rail");
        let ctx = Context {
            store: Arc::new(store),
            clock: clock.clone(),
            random: Arc::clone(&random),
            networks: context::Networks::default()
                .with_wallet(MethodKind::Arcblock, Arc::new(wallets))
                .with_card(MethodKind::Stripe, Arc::new(cards)),
            handlers: souk_domain::purpose_handlers(),
            stake_uses: souk_domain::stake_uses(),
            policy: BillingPolicy::default(),
            limits: souk_domain::operation::VisitorLimits::default(),
            trust: Arc::new(TrustedClock),
            disk: disk.clone(),
            installation: Arc::new(KnownInstallation::default()),
        };
        let files = FileStore::open(folder.path().join("files")).await.expect("opens");
        let shop = Shop::fill(&ctx, &files).await;
        let (service, work) = start(&ctx, &database, files, folder.path(), &app_key, public_url, Duration::MAX);
        Self {
            clock,
            disk,
            ctx,
            shop,
            networks,
            app_key,
            service,
            database,
            work,
            public_url: public_url.to_owned(),
            sign_in_again_after: Duration::MAX,
            folder,
            _own: None,
            browsers: AtomicU32::new(0),
            finished: AtomicBool::new(false),
        }
    }

    /// Starts the service again on the same database, as after a restart of the process.
    pub async fn restart(&mut self) {
        let files = FileStore::open(self.folder.path().join("files")).await.expect("opens");
        let (url, again) = (&self.public_url, self.sign_in_again_after);
        (self.service, self.work) = start(&self.ctx, &self.database, files, self.folder.path(), &self.app_key, url, again);
    }

    /// Makes administrators sign in again before they refund, if their sign-in is longer ago. Browsers from before are not affected.
    pub async fn require_sign_in_within(&mut self, time: Duration) {
        self.sign_in_again_after = time;
        self.restart().await;
    }

    /// Sets the caps of refunds and payouts. Browsers from before are not affected.
    pub async fn cap_refunds(&mut self, symbol: &str, units: u64) {
        self.ctx.policy.daily_caps.insert(symbol.to_owned(), units);
        self.restart().await;
    }

    /// A browser without a login, in test mode and English.
    pub fn browser(&self) -> Browser {
        let number = self.browsers.fetch_add(1, Ordering::Relaxed);
        Browser::new(Arc::clone(&self.service), &format!("visitor{number}"))
    }

    pub fn service(&self) -> Service {
        Arc::clone(&self.service)
    }

    /// Signs a test wallet in through a connect session, and funds it.
    pub async fn sign_in(&self, name: &str) -> Buyer {
        let buyer = Buyer { browser: self.browser(), wallet: Arc::new(wallet(name)), name: name.to_owned() };
        Connect::begin(self, &buyer.browser, "login", "").await.sign_in(&buyer.wallet, name).await;
        self.networks.faucet(buyer.wallet.did().as_str()).await;
        buyer
    }

    /// Signs in an owner of the store.
    pub async fn owner(&self) -> Buyer {
        let owner = self.sign_in("owner").await;
        access::offer_ownership(&self.ctx, &token_hash("owner-link")).await.expect("is offered");
        access::claim_ownership(&self.ctx, owner.wallet.did(), &token_hash("owner-link")).await.expect("is taken");
        owner
    }

    /// Signs in a user with a passport of this role.
    pub async fn holder_of(&self, role: Role) -> Buyer {
        let holder = self.sign_in(role.name()).await;
        access::issue_passport(&self.ctx, holder.wallet.did(), role).await.expect("is issued");
        holder
    }

    /// Creates many signed-in buyers without connect sessions and funds, for tests of races.
    pub async fn crowd(&self, number: u32) -> Vec<Buyer> {
        let mut crowd = Vec::new();
        for index in 0..number {
            let name = format!("buyer{index}");
            let buyer = Buyer { browser: self.browser(), wallet: Arc::new(wallet(&name)), name };
            let account = Wallet { did: buyer.wallet.did().clone(), public_key: buyer.wallet.public_key_base58() };
            access::register_login(&self.ctx, &account, &access::Profile::default(), Language::English).await.expect("is register_login");
            let token = format!("token-of-{}", buyer.name);
            let mut unit = self.ctx.store.begin().await.expect("begins");
            let (now, hash) = (self.ctx.now(), token_hash(&token));
            unit.browser_sessions().insert(&hash, &login(&self.ctx, &account.did, now)).await.expect("opens");
            unit.commit().await.expect("commits");
            buyer.browser.set_cookie("login_token", &token);
            crowd.push(buyer);
        }
        crowd
    }

    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Runs all due jobs.
    pub async fn drain(&self) -> u64 {
        drain(&self.work).await.expect("drains")
    }

    /// What the relay and the workers of this app need.
    pub fn work(&self) -> Work {
        self.work.clone()
    }

    /// Moves due stakes and runs the resulting jobs.
    pub async fn move_stakes(&self) {
        move_due_stakes(&self.ctx, &Scope::Wall, self.ctx.now(), 100).await.expect("moves");
        self.drain().await;
    }

    /// The stake that secures a subscription.
    pub async fn stake_of(&self, id: &SubscriptionId) -> Stake {
        let mut unit = self.ctx.store.read().await.expect("reads");
        let named = unit.subscriptions().find(id).await.expect("reads").expect("exists").stake_id.expect("a stake");
        unit.stakes().find(&named).await.expect("reads").expect("exists")
    }

    /// Changes a stake as a concurrent process would.
    pub async fn change_stake(&self, id: &SubscriptionId, change: impl FnOnce(Stake) -> Stake) {
        let before = self.stake_of(id).await;
        let after = change(before.clone());
        let mut unit = self.ctx.store.begin().await.expect("begins");
        assert!(unit.stakes().update(&before, &after).await.expect("updates"));
        unit.commit().await.expect("commits");
    }

    /// All emails, oldest first by file name: those of test mode are in the mail folder.
    pub fn mails(&self) -> Vec<String> {
        self.mails_in(&[SENT, UNSENT])
    }

    /// The emails that went to the mail server.
    pub fn sent_mails(&self) -> Vec<String> {
        self.mails_in(&[SENT])
    }

    fn mails_in(&self, folders: &[&str]) -> Vec<String> {
        let entries = folders.iter().filter_map(|name| std::fs::read_dir(self.folder.path().join(name)).ok()).flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).filter(|path| is_mail(path)).collect();
        paths.sort_by_key(|path| path.file_name().map(ToOwned::to_owned));
        paths.iter().map(|path| std::fs::read_to_string(path).expect("is text")).collect()
    }

    /// Counts rows, for facts that the API does not expose.
    pub async fn count(&self, sql: &'static str) -> u64 {
        let mut connection = self.database.read().await.expect("reads");
        connection.query(sql).one().await.expect("counts").get("n").expect("n")
    }

    /// The breaches that `souk verify` finds, except those due to the missing first invoice of subscriptions in these tests.
    pub async fn breaches(&self) -> Vec<String> {
        let mut breaches = Vec::new();
        let mut collect = |check: souk_adapters::verify::Check| {
            if check.title != "every period up to the current one has an invoice" {
                breaches.extend(check.breaches);
            }
        };
        souk_adapters::verify::verify(&self.database, &mut collect).await.expect("checks");
        breaches
    }

    /// Executes SQL, to bring the database into a state that only a crash can cause.
    pub async fn execute(&self, sql: &'static str) {
        let mut connection = self.database.begin().await.expect("begins");
        connection.query(sql).execute().await.expect("is carried out");
        connection.commit().await.expect("commits");
    }

    /// The store's database.
    pub fn database(&self) -> Database {
        self.database.clone()
    }

    /// Ends a test in which another store has used the same networks, or that makes up the report of a network.
    pub fn abandon(self) {
        self.finished.store(true, Ordering::SeqCst);
    }

    /// Checks at the end of a test that all committed messages are delivered (invariant 6), and that each settled attempt of the store is
    /// posted once and was executed once at its network (invariants 1 and 5).
    pub async fn finish(self) {
        self.finished.store(true, Ordering::SeqCst);
        self.drain().await;
        // Untried rows that are scheduled for later do not count as undelivered.
        let left = "SELECT count(*) AS n FROM outbox WHERE run_at = created_at OR attempts > 0";
        assert_eq!(self.count(left).await, 0, "rows are left in the outbox");
        let settled = "SELECT count(*) AS n FROM attempts WHERE status = 'settled' AND purpose NOT IN ('mandate', 'recharge')";
        let settled = self.count(settled).await;
        let recorded = "SELECT count(*) AS n FROM journal_entries
            WHERE type IN ('payment', 'refund_sent', 'stake_placed', 'stake_returned', 'stake_forfeited')";
        let recorded = self.count(recorded).await;
        assert_eq!(settled, recorded, "attempts settled, entries recorded");
        let paid = self.count("SELECT count(*) AS n FROM attempts WHERE status = 'settled' AND purpose IN ('payment', 'refund')").await;
        let moved = self.networks.transfers_of(self.app_key.did().as_str()).await + self.networks.charges().await.len();
        let moved = moved + self.networks.card_refunds().await;
        assert_eq!(paid, moved as u64, "payments and refunds settled, payments and refunds at the networks");
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.finished.load(Ordering::SeqCst) {
            panic!("a test of the whole app ends with app.finish().await");
        }
    }
}

/// Builds the service and its workers on a database.
fn start(
    ctx: &Context,
    database: &Database,
    files: FileStore,
    folder: &Path,
    app_key: &AppKey,
    public_url: &str,
    sign_in_again_after: Duration,
) -> (Service, Work) {
    let printer = PdfPrinter {
        seller: Party { name: "Souk".to_owned(), details: vec![public_url.to_owned()] },
        public_url: public_url.to_owned(),
        fonts: InvoiceFonts::default(),
    };
    let mailbox = |name| Mailbox::folder(folder.join(name), "Souk <souk@souk.example>").expect("a mailbox");
    let realtime: Arc<dyn Realtime> = Arc::new(LocalRealtime::default());
    let (sent, unsent) = (mailbox(SENT), mailbox(UNSENT));
    let mails = Arc::new(StoreMails { mailbox: sent, folder: unsent, printer: printer.clone(), tokens: page_tokens() });
    let (reader, spool) = (LocalBundleReader::default(), SpoolFolder::new(folder.join("uploads"), Arc::clone(&ctx.random)));
    let jobs = Jobs {
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
    };
    let work = Work {
        database: database.clone(),
        handler: Arc::new(jobs),
        clock: Arc::clone(&ctx.clock),
        trust: Arc::clone(&ctx.trust),
        random: Arc::clone(&ctx.random),
        config: QueueConfig::default(),
    };
    let app = App {
        ctx: ctx.clone(),
        site: Site { did: app_key.did().to_string(), ..site(public_url) },
        did_auth_tokens: Arc::new(AppDidAuthTokens::new(app_key.clone())),
        token_keys: Arc::new(Ed25519TokenKeys),
        tool_seals: Arc::new(SodiumToolSeals),
        ci_tokens: Arc::new(OidcCiTokens::new(PrivateNetworks::Allowed).expect("a client")),
        instances: Arc::new(HttpInstanceProbe::new(PrivateNetworks::Allowed).expect("a client")),
        tokens: page_tokens(),
        files: Arc::new(files),
        printer: Arc::new(printer),
        publishing: Publishing {
            dids: Arc::new(CheckedAppDids),
            reader: Arc::new(reader),
            spool: Arc::new(spool),
            progress: UPLOAD_PROGRESS,
            publication: Duration::ZERO,
            slots: UploadSlots::default(),
        },
        exports: Arc::new(SqlPersonalDataExports(database.clone())),
        realtime: Arc::clone(&realtime),
        limits: Arc::new(Limits::default().with_confirmation_wait(CONFIRMATION_WAIT)),
        sign_in_again_after,
        probe: Arc::new(NoQueue),
    };
    (Arc::new(souk_api::service(Arc::new(app), Route::new()).boxed()), work)
}

/// A login that begins now.
fn login(ctx: &Context, user: &Did, now: Timestamp) -> Login {
    Login {
        id: LoginId::new(now, ctx.random.as_ref()),
        user: user.clone(),
        device: String::new(),
        created_at: now,
        signed_in_at: now,
        used_at: now,
        expires_at: now.plus(Duration::from_secs(30 * 86_400)),
    }
}

fn is_mail(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "eml")
}

/// The wallet of a name, which is the same in every test.
pub fn wallet(name: &str) -> TestWallet {
    let mut seed = [1; 32];
    for (place, byte) in seed.iter_mut().zip(name.bytes()) {
        *place = byte;
    }
    TestWallet::from_seed(&seed)
}

/// The text of a PDF, extracted by poppler.
pub fn pdf_text(pdf: &[u8]) -> String {
    let mut child = Command::new("pdftotext")
        .args(["-layout", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("pdftotext runs (Debian: apt-get install poppler-utils)");
    child.stdin.take().expect("has an input").write_all(pdf).expect("takes the file");
    String::from_utf8(child.wait_with_output().expect("ends").stdout).expect("is UTF-8")
}

/// Creates links like those in the emails of the store under test.
pub fn page_tokens() -> SignedLinks {
    SignedLinks::new(Arc::new(HmacSigner::new(&[6; 32])))
}

fn site(public_url: &str) -> Site {
    Site {
        name: "Souk".to_owned(),
        description: Text::new("Apps", "应用"),
        public_url: Url::parse(public_url).expect("an address"),
        demo: false,
        did: String::new(),
        analytics_script: None,
        errors_url: None,
        errors_sample_rate: 0.0,
        has_mail_server: false,
    }
}
