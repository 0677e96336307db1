//! Metrics in the format of Prometheus: what this process has done, and how far the store's work is behind.

use crate::compose::Failure;
use async_trait::async_trait;
use poem::http::{Method, StatusCode, header};
use poem::{Endpoint, IntoResponse, PathPattern, Request, Response};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use souk_adapters::persistence::{Database, backlog};
use souk_api::auth::token_hash;
use souk_domain::context::Context;
use souk_domain::events::{Handler, Job, JobError, Topic};
use souk_domain::payment::{BreakerStatus, Breakers, MethodKind, NetworkStatus, Outcome, OutcomeObserver, paused_methods};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tokio::sync::Mutex;

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    /// The pattern of the path, never the path itself: clients choose paths.
    route: Arc<str>,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    network: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    topic: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MailLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TopicLabels {
    topic: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BreakerLabels {
    network: &'static str,
    /// The payment method's id.
    method: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ScanLabels {
    work: &'static str,
}

type Seconds = Gauge<f64, AtomicU64>;

/// The counters of this process. Counting takes a read lock and an atomic addition.
#[derive(Debug, Clone, Default)]
pub struct Metrics {
    requests: Family<RequestLabels, Counter>,
    attempts: Family<AttemptLabels, Counter>,
    jobs: Family<JobLabels, Counter>,
    mails: Family<MailLabels, Counter>,
    breakers: Arc<Breakers>,
}

impl Metrics {
    /// Metrics that show the state of these breakers.
    pub fn of(breakers: Arc<Breakers>) -> Self {
        Self { breakers, ..Self::default() }
    }

    fn count_request(&self, method: &Method, route: Option<&PathPattern>, status: StatusCode) {
        let route = route.map_or_else(|| Arc::from("none"), |PathPattern(pattern)| Arc::clone(pattern));
        self.requests.get_or_create(&RequestLabels { method: method_name(method), route, status: status.as_u16() }).inc();
    }
}

/// Clients can invent methods, so others than these share a name.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

impl OutcomeObserver for Metrics {
    fn observe(&self, network: MethodKind, outcome: &Outcome) {
        self.attempts.get_or_create(&AttemptLabels { network: network.name(), outcome: outcome.name() }).inc();
    }
}

const fn level(breaker: BreakerStatus) -> i64 {
    match breaker {
        BreakerStatus::Closed => 0,
        BreakerStatus::HalfOpen => 1,
        BreakerStatus::Open => 2,
    }
}

/// Counts the requests of an endpoint by route and status.
pub struct CountedRequests<E> {
    pub inner: E,
    pub metrics: Metrics,
}

impl<E: Endpoint<Output = Response>> Endpoint for CountedRequests<E> {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        let method = request.method().clone();
        let response = self.inner.get_response(request).await;
        self.metrics.count_request(&method, response.data::<PathPattern>(), response.status());
        Ok(response)
    }
}

/// Counts jobs by topic and outcome, and mails among them.
pub struct CountedJobs {
    pub inner: Arc<dyn Handler>,
    pub metrics: Metrics,
}

#[async_trait]
impl Handler for CountedJobs {
    async fn handle(&self, job: Job) -> Result<(), JobError> {
        let topic = job.topic;
        let result = self.inner.handle(job).await;
        let outcome = match &result {
            Ok(()) => "done",
            Err(JobError::Retry(_)) => "retry",
            Err(JobError::Later(_)) => "postponed",
            Err(JobError::Fail(_)) => "failed",
        };
        self.metrics.jobs.get_or_create(&JobLabels { topic: topic.name(), outcome }).inc();
        if matches!(
            topic,
            Topic::ReceiptMail
                | Topic::BillingMail
                | Topic::ReminderMail
                | Topic::ConfirmationMail
                | Topic::OwnerMail
                | Topic::TokenMail
                | Topic::ReviewMail
                | Topic::DeveloperMail
                | Topic::SaleMail
        ) {
            self.metrics.mails.get_or_create(&MailLabels { outcome }).inc();
        }
        result
    }
}

/// The endpoint `/metrics`.
pub struct MetricsEndpoint {
    database: Database,
    ctx: Context,
    /// The hash of the bearer token that the request must have; `None` on an address of its own.
    token: Option<[u8; 32]>,
    /// Locked during a scrape, which sets the gauges and reads them.
    page: Mutex<Page>,
    breakers: Arc<Breakers>,
}

struct Page {
    registry: Registry,
    depth: Family<TopicLabels, Gauge>,
    lag: Family<TopicLabels, Seconds>,
    outbox_age: Seconds,
    dead_letters: Gauge,
    due_lag: Family<ScanLabels, Seconds>,
    waiting: Family<ScanLabels, Gauge>,
    breakers: Family<BreakerLabels, Gauge>,
    pool_size: Gauge,
    pool_idle: Gauge,
    pool_waits: Gauge,
    pool_waited: Seconds,
}

impl MetricsEndpoint {
    pub fn new(metrics: &Metrics, database: Database, ctx: Context, token: Option<&str>) -> Self {
        Self { database, ctx, token: token.map(token_hash), page: Mutex::new(Page::new(metrics)), breakers: metrics.breakers.clone() }
    }

    fn is_permitted(&self, request: &Request) -> bool {
        let Some(expected) = &self.token else { return true };
        let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        // Hashes are compared, so the time of the comparison reveals nothing about the token.
        given.is_some_and(|given| token_hash(given) == *expected)
    }

    async fn text(&self) -> Result<String, Failure> {
        let paused = paused_methods(&self.ctx).await?;
        let backlog = backlog(&self.database, self.ctx.now(), &paused).await?;
        let page = self.page.lock().await;
        page.depth.clear();
        page.lag.clear();
        for queue in &backlog.queues {
            let labels = TopicLabels { topic: queue.topic.clone() };
            page.depth.get_or_create(&labels).set(queue.depth.cast_signed());
            page.lag.get_or_create(&labels).set(queue.lag.as_secs_f64());
        }
        let oldest = backlog.queues.iter().map(|queue| queue.age).max().unwrap_or_default();
        page.outbox_age.set(oldest.as_secs_f64());
        page.dead_letters.set(backlog.dead_letters.cast_signed());
        for &(work, lag) in &backlog.due {
            page.due_lag.get_or_create(&ScanLabels { work }).set(lag.as_secs_f64());
        }
        for &(work, count) in &backlog.waiting {
            page.waiting.get_or_create(&ScanLabels { work }).set(count.cast_signed());
        }
        page.breakers.clear();
        for NetworkStatus { method, kind, breaker } in self.breakers.statuses() {
            let labels = BreakerLabels { network: kind.name(), method: method.to_string() };
            page.breakers.get_or_create(&labels).set(level(breaker));
        }
        let pool = self.database.pool_use();
        page.pool_size.set(i64::from(pool.connections));
        page.pool_idle.set(i64::from(pool.idle));
        page.pool_waits.set(pool.waits.cast_signed());
        page.pool_waited.set(pool.waited.as_secs_f64());
        let mut text = String::new();
        encode(&mut text, &page.registry)?;
        Ok(text)
    }
}

impl Page {
    fn new(metrics: &Metrics) -> Self {
        let mut page = Self {
            registry: Registry::with_prefix("souk"),
            depth: Family::default(),
            lag: Family::default(),
            outbox_age: Gauge::default(),
            dead_letters: Gauge::default(),
            due_lag: Family::default(),
            waiting: Family::default(),
            breakers: Family::default(),
            pool_size: Gauge::default(),
            pool_idle: Gauge::default(),
            pool_waits: Gauge::default(),
            pool_waited: Gauge::default(),
        };
        let registry = &mut page.registry;
        registry.register("http_requests", "Requests of this process, by route and status", metrics.requests.clone());
        registry.register("attempt_outcomes", "Answers of networks about attempts, recorded by this process", metrics.attempts.clone());
        registry.register("jobs", "Jobs that this process ran, by topic and outcome", metrics.jobs.clone());
        registry.register("mails", "Mails that this process tried to send, by outcome", metrics.mails.clone());
        registry.register("queue_depth", "Messages of the outbox that are due, by topic", page.depth.clone());
        registry.register("queue_lag_seconds", "How long the first due message of a topic has been due", page.lag.clone());
        registry.register("outbox_age_seconds", "Age of the oldest message that is due", page.outbox_age.clone());
        registry.register("dead_letters", "Messages whose delivery failed for good", page.dead_letters.clone());
        registry.register(
            "due_lag_seconds",
            "How long the first row of recurring work that is processed has been due",
            page.due_lag.clone(),
        );
        let help = "Rows that wait on purpose: on hold until an owner decides, or due at a sandbox that is off";
        registry.register("waiting_rows", help, page.waiting.clone());
        let help = "Whether this process calls a network: 0 yes, 1 it tests the network, 2 background calls wait";
        registry.register("network_breaker", help, page.breakers.clone());
        registry.register("database_connections", "Open connections to the database", page.pool_size.clone());
        registry.register("database_connections_idle", "Connections to the database without a user", page.pool_idle.clone());
        registry.register("database_pool_waits", "Times that this process waited for a connection", page.pool_waits.clone());
        registry.register("database_pool_waited_seconds", "Total time of these waits", page.pool_waited.clone());
        page
    }
}

impl Endpoint for MetricsEndpoint {
    type Output = Response;

    async fn call(&self, request: Request) -> poem::Result<Response> {
        if !self.is_permitted(&request) {
            return Ok(StatusCode::UNAUTHORIZED.with_header(header::WWW_AUTHENTICATE, "Bearer").into_response());
        }
        match self.text().await {
            Ok(text) => Ok(text.with_content_type(CONTENT_TYPE).into_response()),
            Err(error) => {
                tracing::warn!(%error, "metrics could not be read");
                Ok(StatusCode::SERVICE_UNAVAILABLE.into_response())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_with_invented_methods_or_paths_share_a_series() {
        let metrics = Metrics::default();
        for method in ["BREW", "WHEN"] {
            let method = Method::from_bytes(method.as_bytes()).expect("a method");
            metrics.count_request(&method, None, StatusCode::NOT_FOUND);
        }
        let mut text = String::new();
        encode(&mut text, &Page::new(&metrics).registry).expect("encodes");
        assert!(text.contains("souk_http_requests_total{method=\"other\",route=\"none\",status=\"404\"} 2"), "{text}");
    }
}
