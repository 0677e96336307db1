//! The commands `souk serve` and `souk work`.

use crate::compose::{Failure, Parts, compose};
use crate::config::{SandboxChoice, ServeArgs, WorkArgs};
use crate::connections::{Capacity, Pace, Server};
use crate::html_shell::HtmlShell;
use crate::metrics::{CountedRequests, MetricsEndpoint};
use crate::sandbox::Opened;
use crate::sandbox_admission::admission;
use crate::{demo, pages, sandbox, sandbox_off};
use async_trait::async_trait;
use poem::{EndpointExt, Route};
use souk_adapters::identity::{AppDidAuthTokens, CheckedAppDids, Ed25519TokenKeys, SodiumToolSeals};
use souk_adapters::persistence::SqlPersonalDataExports;
use souk_adapters::queue::Queue;
use souk_api::Limits;
use souk_api::auth::token_hash;
use souk_api::routes::health::{self, Health};
use souk_api::routes::store::StoreModel;
use souk_api::state::{App, Probe, Publishing, Site, UPLOAD_PROGRESS, UPLOAD_PUBLICATION, UploadSlots};
use souk_domain::access;
use souk_domain::payment::Sandbox;
use souk_domain::shared::Text;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use url::Url;

/// Time for requests and jobs in progress to finish after SIGTERM; the process ends within 10 s.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(8);
const _: () = assert!(UPLOAD_PUBLICATION.as_secs() < SHUTDOWN_GRACE.as_secs(), "an upload is answered before its connection ends");
/// Additional time for workers after the last request has finished. They are asked to stop at the signal as well.
const WORKER_GRACE: Duration = Duration::from_secs(1);

/// Time for health checks in progress after the last request has finished.
const HEALTH_GRACE: Duration = Duration::from_millis(100);

struct QueueProbe(Queue);

#[async_trait]
impl Probe for QueueProbe {
    async fn ping(&self) -> Result<(), String> {
        self.0.ping().await.map_err(|error| error.to_string())
    }
}

pub async fn serve(args: ServeArgs) -> Result<(), Failure> {
    // Bind first: this resolves port 0, and reports a taken port before anything is opened.
    let capacity = Capacity::of_process(args.trusted_proxy.clone())?;
    let listener = listen(args.listen).await?;
    let health_listener = listen_for_health(args.health_listen).await?;
    let own_address = Url::parse(&format!("http://{}/", listener.local_addr()?))?;
    let public_url = args.common.public_url.clone().unwrap_or_else(|| own_address.clone());
    let choice = args.common.sandbox(&public_url, args.demo);
    if args.demo && choice.sandbox == Sandbox::Off {
        return Err("the demo store needs the sandbox: remove --demo or --sandbox off".into());
    }
    let parts = compose(&args.common, public_url, own_address.clone(), choice.sandbox).await?;
    let limits = Arc::new(limits(&args, &parts, &capacity));
    let networks = open_sandbox(&parts, &args, &own_address, &limits).await?;
    if args.demo {
        demo::load(&parts).await?;
    }

    let app = Arc::new(app(&args, &parts, limits));
    let outside = [&args.analytics_url, &args.errors_url].into_iter().flatten().map(|url| url.origin().ascii_serialization());
    let pages = pages::Pages {
        html_shell: HtmlShell::of(&StoreModel::of(&app)),
        ctx: parts.ctx.clone(),
        random: Arc::clone(&parts.random),
        secure: parts.public_url.scheme() == "https",
        outside: outside.collect::<Vec<_>>().join(" "),
    };
    let (mut routes, running) = match networks {
        Some(Opened { ledger_routes, card_routes, ledger, processor }) => {
            let routes = Route::new().nest("/sandbox/arcblock", ledger_routes).nest("/sandbox/stripe", card_routes);
            (routes, Some((ledger, processor)))
        }
        None => (Route::new().nest("/sandbox", sandbox_off::SandboxOffEndpoint), None),
    };
    if let Some(token) = &args.metrics_token {
        routes = routes.at("/metrics", metrics_endpoint(&parts, Some(token)));
    }
    let service = souk_api::service(app, routes.nest_no_strip("/", pages));
    let service = CountedRequests { inner: service, metrics: parts.metrics.clone() };

    let shutdown = CancellationToken::new();
    let mut background = JoinSet::new();
    // Health checks are answered until the last request has ended.
    let served = CancellationToken::new();
    serve_health(health_listener, &parts, &mut background, served.clone())?;
    if let Some((ledger, processor)) = running {
        background.spawn(sandbox::prune(ledger, Arc::clone(&parts.ctx.trust), shutdown.clone()));
        let stop = shutdown.clone();
        background.spawn(async move { processor.run(stop).await });
    }
    if let Some(redis) = parts.redis.clone() {
        let stop = shutdown.clone();
        background.spawn(async move { redis.run(stop).await });
    }
    let parts = Arc::new(parts);
    if !args.no_workers {
        let (parts, stop) = (Arc::clone(&parts), shutdown.clone());
        background.spawn(async move { parts.work(stop).await });
    } else {
        background.spawn(souk_workers::schedule::watch_restore(parts.ctx.clone(), shutdown.clone()));
        background.spawn(souk_workers::schedule::watch_process(parts.ctx.clone(), shutdown.clone()));
        if let Some(watch) = &parts.watch {
            background.spawn(souk_workers::schedule::watch_clock(parts.ctx.clone(), Arc::clone(watch), shutdown.clone()));
        }
    }
    print_welcome(&args, &parts, choice).await?;

    let signal = {
        let stop = shutdown.clone();
        async move {
            terminated().await;
            stop.cancel();
        }
    };
    background.spawn(signal);
    Server::new(listener, capacity, Pace::default())?.run(service, shutdown, SHUTDOWN_GRACE).await;
    served.cancel();
    finish(background, WORKER_GRACE).await;
    Ok(())
}

/// Opens the sandbox's networks and adds their methods to a new store. `None`: the sandbox is off.
async fn open_sandbox(parts: &Parts, args: &ServeArgs, own_address: &Url, limits: &Arc<Limits>) -> Result<Option<Opened>, Failure> {
    if parts.sandbox.is_none() {
        return Ok(None);
    }
    sandbox::install_methods(parts).await?;
    sandbox::open(parts, own_address, args.ledger(), admission(Arc::clone(limits))).await.map(Some)
}

async fn listen_for_health(address: Option<SocketAddr>) -> Result<Option<TcpListener>, Failure> {
    match address {
        Some(address) => listen(address).await.map(Some),
        None => Ok(None),
    }
}

fn metrics_endpoint(parts: &Parts, token: Option<&str>) -> MetricsEndpoint {
    MetricsEndpoint::new(&parts.metrics, parts.database.clone(), parts.ctx.clone(), token)
}

/// Serves health checks and metrics on a listener whose connections no client of the store can use up.
fn serve_health(
    listener: Option<TcpListener>,
    parts: &Parts,
    background: &mut JoinSet<()>,
    stop: CancellationToken,
) -> Result<(), Failure> {
    let Some(listener) = listener else { return Ok(()) };
    println!("Health checks and metrics are at http://{}/", listener.local_addr()?);
    let health =
        Health { store: Arc::clone(&parts.ctx.store), queue: Arc::new(QueueProbe(parts.queue.clone())), disk: Arc::clone(&parts.ctx.disk) };
    let routes = Route::new().at("/metrics", metrics_endpoint(parts, None)).nest_no_strip("/", health::routes(health));
    let server = Server::new(listener, Capacity::of_health(), Pace::default())?;
    background.spawn(async move { server.run(routes.map_to_response(), stop, HEALTH_GRACE).await });
    Ok(())
}

async fn listen(address: SocketAddr) -> Result<TcpListener, Failure> {
    Ok(TcpListener::bind(address).await.map_err(|error| format!("cannot listen on {address}: {error}"))?)
}

fn limits(args: &ServeArgs, parts: &Parts, capacity: &Capacity) -> Limits {
    Limits::behind(args.trusted_proxy.clone()).with_sockets(capacity.total / 2).reporting_to(parts.seen_proxy.clone())
}

fn app(args: &ServeArgs, parts: &Parts, limits: Arc<Limits>) -> App {
    App {
        ctx: parts.ctx.clone(),
        site: Site {
            name: args.common.name.clone(),
            description: Text::new("Apps worth paying for, ready to install", "来自开发者的精选应用"),
            public_url: parts.public_url.clone(),
            demo: args.demo,
            did: parts.app_key.did().to_string(),
            analytics_script: args.analytics_url.clone(),
            errors_url: args.errors_url.clone(),
            errors_sample_rate: args.errors_sample_rate,
            has_mail_server: args.common.smtp_url.is_some(),
        },
        did_auth_tokens: Arc::new(AppDidAuthTokens::new(parts.app_key.clone())),
        token_keys: Arc::new(Ed25519TokenKeys),
        tool_seals: Arc::new(SodiumToolSeals),
        ci_tokens: Arc::clone(&parts.ci_tokens),
        instances: Arc::clone(&parts.instances),
        tokens: parts.tokens.clone(),
        files: Arc::new(parts.files.clone()),
        publishing: Publishing {
            dids: Arc::new(CheckedAppDids),
            reader: Arc::new(parts.reader.clone()),
            spool: Arc::new(parts.spool.clone()),
            progress: UPLOAD_PROGRESS,
            publication: UPLOAD_PUBLICATION,
            slots: UploadSlots::default(),
        },
        printer: Arc::new(parts.printer.clone()),
        exports: Arc::new(SqlPersonalDataExports(parts.database.clone())),
        realtime: Arc::clone(&parts.realtime),
        sign_in_again_after: Duration::from_secs(u64::from(args.sign_in_again_minutes) * 60),
        limits,
        probe: Arc::new(QueueProbe(parts.queue.clone())),
    }
}

/// Prints the store's URL and, while it has no owner, the link to claim ownership.
async fn print_welcome(args: &ServeArgs, parts: &Parts, sandbox: SandboxChoice) -> Result<(), Failure> {
    let mut bytes = [0; 16];
    parts.random.fill(&mut bytes);
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{sandbox}");
    println!("Souk is running at {}", parts.public_url);
    if access::offer_ownership(&parts.ctx, &token_hash(&token)).await? {
        let link = parts.public_url.join(&format!("/claim-owner?token={token}"))?;
        println!("This store has no owner yet. The first person who signs in with this link becomes the owner: {link}");
    }
    if args.demo {
        println!("The demo store is loaded. Payments are in test mode and move no real money.");
    }
    if parts.ctx.networks.is_held() {
        println!(
            "This store was restored from a backup. It charges nothing and sends no emails until an owner has confirmed, in the console or with souk restore confirm, that its original is stopped."
        );
    }
    println!("Press Ctrl-C to stop.");
    Ok(())
}

/// Runs workers without the HTTP service.
pub async fn work(WorkArgs { common, health_listen }: WorkArgs) -> Result<(), Failure> {
    let address = common.public_url.clone().ok_or("souk work needs the address of the store: set SOUK_PUBLIC_URL or --public-url")?;
    let health_listener = listen_for_health(health_listen).await?;
    let choice = common.sandbox(&address, false);
    let parts = compose(&common, address.clone(), address, choice.sandbox).await?;
    println!("{choice}");
    println!("Souk workers are running for {}. Press Ctrl-C to stop.", parts.public_url);
    let shutdown = CancellationToken::new();
    let mut background = JoinSet::new();
    serve_health(health_listener, &parts, &mut background, shutdown.clone())?;
    let stop = shutdown.clone();
    background.spawn(async move { parts.work(stop).await });
    tokio::select! {
        () = terminated() => {}
        _ = background.join_next() => return Err("the workers stopped unexpectedly".into()),
    }
    shutdown.cancel();
    finish(background, SHUTDOWN_GRACE + WORKER_GRACE).await;
    Ok(())
}

async fn terminated() {
    let mut term = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        Ok(term) => term,
        Err(error) => {
            tracing::error!(%error, "cannot listen for SIGTERM");
            return std::future::pending().await;
        }
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

async fn finish(mut background: JoinSet<()>, within: Duration) {
    let finished = tokio::time::timeout(within, async { while background.join_next().await.is_some() {} }).await;
    if finished.is_err() {
        tracing::warn!("some jobs did not finish in time; they are repeated after the next start");
    }
}
