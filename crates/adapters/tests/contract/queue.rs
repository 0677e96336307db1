//! The delivery guarantees that every handler relies on. Each case runs on SQLite with the embedded queue, and on PostgreSQL with Redis.

use async_trait::async_trait;
use souk_adapters::persistence::{Database, SqlOutbox};
use souk_adapters::queue::{Backoff, Queue, QueueBackend, QueueConfig, Work, drain, run};
use souk_adapters::testing::{FixedClock, RunningClock, SeededRandom, TestDatabase, required};
use souk_domain::events::{DeadLetter, Handler, Job, JobError, MAX_ATTEMPTS, Message, Outbox, Topic};
use souk_domain::operation::TrustedClock;
use souk_domain::shared::{Clock, EventId, Timestamp};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A database and a queue that no other test uses.
pub struct Deployment {
    pub db: TestDatabase,
    pub backend: QueueBackend,
    pub config: QueueConfig,
    _folder: tempfile::TempDir,
}

impl Deployment {
    pub async fn embedded() -> Self {
        Self::new(TestDatabase::sqlite().await, |folder| QueueBackend::Sqlite(folder.join("queue.db")))
    }

    pub async fn scaled() -> Self {
        let redis = required("TEST_REDIS", "a Redis server");
        Self::new(TestDatabase::postgres().await, |_| QueueBackend::Redis(redis))
    }

    fn new(db: TestDatabase, backend: impl FnOnce(&std::path::Path) -> QueueBackend) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let name = format!("test-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        Self { db, backend: backend(folder.path()), config: quick(name), _folder: folder }
    }

    pub fn work(&self, clock: Arc<dyn Clock>, handler: Arc<dyn Handler>) -> Work {
        let random = Arc::new(SeededRandom::new(u64::from(std::process::id())));
        Work { database: Database::clone(&self.db), handler, clock, trust: Arc::new(TrustedClock), random, config: self.config.clone() }
    }

    /// Starts the relay and the workers, as `serve` and `work` do.
    pub async fn start(&self, work: Work) -> Started {
        let queue = Queue::open(&self.backend, &self.config).await.expect("the queue opens");
        queue.ping().await.expect("the queue answers");
        let shutdown = CancellationToken::new();
        Started { running: tokio::spawn(run(queue, work, shutdown.clone())), shutdown }
    }

    pub async fn publish(&self, message: Message) -> EventId {
        let mut connection = self.db.begin().await.expect("begins");
        let id = new_id();
        SqlOutbox(&mut connection).publish(&id, &message, message.run_at).await.expect("publishes");
        connection.commit().await.expect("commits");
        id
    }

    pub async fn rows(&self) -> u64 {
        let mut connection = self.db.read().await.expect("reads");
        connection.query("SELECT count(*) AS n FROM outbox").one().await.expect("counts").get("n").expect("n")
    }

    pub async fn until_empty(&self) {
        eventually("the outbox is empty", || async { self.rows().await == 0 }).await;
    }

    pub async fn dead(&self) -> Vec<DeadLetter> {
        let mut connection = self.db.read().await.expect("reads");
        SqlOutbox(&mut connection).dead_letters(100).await.expect("lists")
    }

    /// Deletes everything in the queue, including the workers' entries.
    async fn lose_queue(&self) {
        match &self.backend {
            QueueBackend::Sqlite(path) => {
                let pool = sqlx::SqlitePool::connect(&format!("sqlite://{}", path.display())).await.expect("opens");
                sqlx::query("DELETE FROM Jobs").execute(&pool).await.expect("deletes");
                pool.close().await;
            }
            QueueBackend::Redis(address) => {
                let client = redis::Client::open(address.as_str()).expect("an address");
                let mut connection = client.get_multiplexed_async_connection().await.expect("connects");
                let keys = redis::cmd("KEYS").arg(format!("{}:*", self.config.name)).query_async::<Vec<String>>(&mut connection).await;
                redis::cmd("DEL").arg(keys.expect("keys")).query_async::<u32>(&mut connection).await.expect("deletes");
            }
        }
    }
}

/// A configuration with leases short enough for tests.
pub fn quick(name: String) -> QueueConfig {
    QueueConfig {
        name,
        lease: Duration::from_secs(1),
        heartbeat: Duration::from_millis(250),
        relay_poll: Duration::from_millis(50),
        delivery_poll: Duration::from_millis(50),
        concurrency: 4,
        shutdown_timeout: Duration::from_secs(8),
        backoff: Backoff { first: Duration::from_millis(20), cap: Duration::from_millis(80) },
    }
}

fn new_id() -> EventId {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    EventId::new(now(), &SeededRandom::new(u64::from(NEXT.fetch_add(1, Ordering::Relaxed))))
}

pub struct Started {
    running: JoinHandle<()>,
    shutdown: CancellationToken,
}

impl Started {
    pub async fn stop(self) {
        self.shutdown.cancel();
        tokio::time::timeout(Duration::from_secs(12), self.running).await.expect("stops in time").expect("stops well");
    }
}

/// Waits for a condition for at most 40 s.
pub async fn eventually<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(40), waiting).await.unwrap_or_else(|_| panic!("waited in vain until {what}"));
}

type Outcome = Pin<Box<dyn Future<Output = Result<(), JobError>> + Send>>;

/// A handler that records its jobs and returns scripted outcomes.
pub struct Recorder {
    seen: Mutex<Vec<Job>>,
    answer: Box<dyn Fn(Job) -> Outcome + Send + Sync>,
}

impl Recorder {
    pub fn new<F: Future<Output = Result<(), JobError>> + Send + 'static>(answer: impl Fn(Job) -> F + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { seen: Mutex::default(), answer: Box::new(move |job| Box::pin(answer(job))) })
    }

    pub fn seen(&self) -> Vec<Job> {
        self.seen.lock().expect("a lock").clone()
    }

    fn times(&self) -> BTreeMap<EventId, usize> {
        let mut times = BTreeMap::new();
        for job in self.seen() {
            *times.entry(job.id).or_default() += 1;
        }
        times
    }
}

#[async_trait]
impl Handler for Recorder {
    async fn handle(&self, job: Job) -> Result<(), JobError> {
        self.seen.lock().expect("a lock").push(job.clone());
        (self.answer)(job).await
    }
}

pub fn now() -> Timestamp {
    RunningClock.now()
}

/// Runs a case on both deployments, as `name::embedded` and `name::scaled`.
macro_rules! on_each {
    ($(async fn $name:ident($at:ident: &Deployment) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn case($at: &Deployment) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn embedded() {
                case(&Deployment::embedded().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn scaled() {
                case(&Deployment::scaled().await).await;
            }
        }
    )*};
}
pub(crate) use on_each;

on_each! {
    async fn each_message_is_delivered_once(at: &Deployment) {
        let recorder = Recorder::new(|_| async { Ok(()) });
        let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
        for number in 0..20 {
            at.publish(Message::new(Topic::Realtime, now()).with("invoice", format!("in_{number}"))).await;
        }
        at.until_empty().await;
        started.stop().await;
        let seen = recorder.seen();
        let mut invoices: Vec<&str> = seen.iter().map(|job| job.value("invoice").expect("an invoice")).collect();
        invoices.sort_by_key(|id| id[3..].parse::<u32>().expect("a number"));
        assert_eq!(invoices, (0..20).map(|number| format!("in_{number}")).collect::<Vec<_>>());
        assert!(seen.iter().all(|job| job.attempt == 1 && job.topic == Topic::Realtime));
    }

    async fn a_rolled_back_message_is_never_delivered(at: &Deployment) {
        let recorder = Recorder::new(|_| async { Ok(()) });
        let mut connection = at.db.begin().await.expect("begins");
        let lost = Message::new(Topic::ReceiptMail, now());
        SqlOutbox(&mut connection).publish(&new_id(), &lost, now()).await.expect("publishes");
        drop(connection);
        let kept = at.publish(Message::new(Topic::Realtime, now())).await;
        let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
        at.until_empty().await;
        started.stop().await;
        assert_eq!(recorder.times(), BTreeMap::from([(kept, 1)]));
    }

    async fn a_message_is_not_delivered_before_its_time(at: &Deployment) {
        let clock = Arc::new(FixedClock::default());
        let recorder = Recorder::new(|_| async { Ok(()) });
        let later = at.publish(Message::new(Topic::SettleAttempt, clock.now().plus(Duration::from_secs(3600)))).await;
        let started = at.start(at.work(clock.clone(), recorder.clone())).await;
        let at_once = at.publish(Message::new(Topic::SettleAttempt, clock.now())).await;
        eventually("the due message is done", || async { at.rows().await == 1 }).await;
        assert_eq!(recorder.times(), BTreeMap::from([(at_once.clone(), 1)]));
        clock.advance(Duration::from_secs(3600));
        at.until_empty().await;
        started.stop().await;
        assert_eq!(recorder.times(), BTreeMap::from([(at_once, 1), (later, 1)]));
    }

    async fn retries_follow_the_backoff_and_end_at_the_limit(at: &Deployment) {
        let clock = Arc::new(FixedClock::default());
        let recorder = Recorder::new(|job: Job| async move { Err(JobError::Retry(format!("no luck at {}", job.attempt))) });
        let mut work = at.work(clock.clone(), recorder.clone());
        work.config.backoff = QueueConfig::default().backoff;
        let id = at.publish(Message::new(Topic::ReceiptMail, clock.now())).await;
        let started = at.start(work.clone()).await;
        for attempt in 1..MAX_ATTEMPTS {
            let expected = clock.now().plus(work.config.backoff.after(attempt));
            eventually("the next time is written", || async { next_time(at).await == (attempt, expected) }).await;
            clock.advance(work.config.backoff.after(attempt));
        }
        eventually("it is dead", || async { at.dead().await.len() == 1 }).await;
        let dead = at.dead().await.remove(0);
        assert_eq!((dead.id.clone(), dead.attempts, dead.last_error.as_str()), (id.clone(), MAX_ATTEMPTS, "no luck at 10"));
        assert_eq!(recorder.seen().iter().map(|job| job.attempt).collect::<Vec<_>>(), (1..=MAX_ATTEMPTS).collect::<Vec<_>>());
        let mut connection = at.db.begin().await.expect("begins");
        assert!(SqlOutbox(&mut connection).retry_dead_letter(&id, clock.now()).await.expect("retries"));
        assert!(!SqlOutbox(&mut connection).retry_dead_letter(&id, clock.now()).await.expect("finds nothing dead"));
        connection.commit().await.expect("commits");
        let first_wait = clock.now().plus(work.config.backoff.after(1));
        eventually("it is tried again", || async { next_time(at).await == (MAX_ATTEMPTS + 1, first_wait) }).await;
        started.stop().await;
        assert!(at.dead().await.is_empty());
    }

    async fn a_permanent_failure_is_a_dead_letter_at_once_and_a_panic_is_retried(at: &Deployment) {
        let recorder = Recorder::new(|job: Job| async move {
            match (job.topic, job.attempt) {
                (Topic::ReceiptMail, _) => Err(JobError::Fail("the address does not exist".to_owned())),
                (_, 1) => panic!("a bug"),
                _ => Ok(()),
            }
        });
        at.publish(Message::new(Topic::ReceiptMail, now())).await;
        let bug = at.publish(Message::new(Topic::Realtime, now())).await;
        let mut work = at.work(Arc::new(RunningClock), recorder.clone());
        // On a busy machine a job can take longer than a short lease, and would then run twice.
        work.config.lease = Duration::from_secs(60);
        let started = at.start(work).await;
        eventually("one is dead and one is done", || async { at.dead().await.len() == 1 && at.rows().await == 1 }).await;
        started.stop().await;
        let dead = at.dead().await.remove(0);
        assert_eq!((dead.attempts, dead.message.topic, dead.last_error.as_str()), (1, Topic::ReceiptMail, "the address does not exist"));
        assert_eq!(recorder.times()[&bug], 2);
    }

    async fn losing_the_queue_between_push_and_delivery_loses_nothing(at: &Deployment) {
        let gate = Arc::new(Semaphore::new(0));
        let passing = gate.clone();
        let recorder = Recorder::new(move |_| {
            let gate = passing.clone();
            async move { gate.acquire().await.map(drop).map_err(|error| JobError::Fail(error.to_string())) }
        });
        let mut work = at.work(Arc::new(RunningClock), recorder.clone());
        work.config.concurrency = 1;
        for _ in 0..50 {
            at.publish(Message::new(Topic::Realtime, now())).await;
        }
        let started = at.start(work).await;
        eventually("the first job runs and the rest is pushed", || async { !recorder.seen().is_empty() && under_way(at).await == 49 }).await;
        at.lose_queue().await;
        gate.add_permits(1_000);
        at.until_empty().await;
        started.stop().await;
        assert_eq!(recorder.times().len(), 50);
        assert!(recorder.times().values().all(|times| *times == 1), "{:?}", recorder.times());
    }

    async fn two_workers_share_two_hundred_jobs_and_each_is_done_once(at: &Deployment) {
        let (one, other) = (Recorder::new(|_| async { Ok(()) }), Recorder::new(|_| async { Ok(()) }));
        let first = at.start(at.work(Arc::new(RunningClock), one.clone())).await;
        let mut work = at.work(Arc::new(RunningClock), other.clone());
        work.random = Arc::new(SeededRandom::new(7));
        let second = at.start(work).await;
        for _ in 0..200 {
            at.publish(Message::new(Topic::Realtime, now())).await;
        }
        at.until_empty().await;
        first.stop().await;
        second.stop().await;
        let mut times = one.times();
        for (id, more) in other.times() {
            *times.entry(id).or_default() += more;
        }
        assert_eq!(times.len(), 200);
        assert!(times.values().all(|times| *times == 1));
        assert!(!one.seen().is_empty() && !other.seen().is_empty(), "one worker did everything");
    }

    async fn a_lane_whose_consumer_hangs_delays_no_other_lane(at: &Deployment) {
        const MANY: usize = 20;
        let gate = Arc::new(Semaphore::new(0));
        let passing = gate.clone();
        let recorder = Recorder::new(move |job: Job| {
            let gate = passing.clone();
            async move {
                match (job.topic, job.value("method").is_ok_and(|method| method == "pm_hangs")) {
                    (Topic::Charge, true) => gate.acquire().await.map(drop).map_err(|error| JobError::Fail(error.to_string())),
                    _ => Ok(()),
                }
            }
        });
        let charge = |method: &str| Message::new(Topic::Charge, now()).with("method", method);
        for _ in 0..MANY {
            at.publish(charge("pm_hangs")).await;
        }
        let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
        eventually("the lane is full", || async { recorder.seen().len() == at.config.concurrency }).await;
        for topic in Topic::ALL {
            at.publish(Message::new(topic, now()).with("method", "pm_other")).await;
        }
        at.publish(Message::new(Topic::SettleAttempt, now()).with("method", "pm_hangs")).await;
        eventually("all others are done", || async { at.rows().await == MANY as u64 }).await;
        assert_eq!(recorder.seen().len(), at.config.concurrency + Topic::ALL.len() + 1);
        gate.add_permits(MANY);
        at.until_empty().await;
        started.stop().await;
        assert!(recorder.times().values().all(|times| *times == 1), "{:?}", recorder.times());
    }

    async fn a_job_that_runs_longer_than_its_lease_keeps_it(at: &Deployment) {
        let gate = Arc::new(Semaphore::new(0));
        let passing = gate.clone();
        let recorder = Recorder::new(move |_| {
            let gate = passing.clone();
            async move { gate.acquire().await.map(drop).map_err(|error| JobError::Fail(error.to_string())) }
        });
        let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
        at.publish(Message::new(Topic::Realtime, now())).await;
        let began = now();
        eventually("three leases have passed", || async { now().since(began) > at.config.lease * 3 }).await;
        assert_eq!(recorder.seen().len(), 1);
        gate.add_permits(1);
        at.until_empty().await;
        started.stop().await;
        assert_eq!(recorder.seen().len(), 1);
    }

    async fn a_shutdown_finishes_the_running_job_and_leaves_the_rest(at: &Deployment) {
        let gate = Arc::new(Semaphore::new(0));
        let passing = gate.clone();
        let recorder = Recorder::new(move |_| {
            let gate = passing.clone();
            async move { gate.acquire().await.map(drop).map_err(|error| JobError::Fail(error.to_string())) }
        });
        let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
        let in_hand = at.publish(Message::new(Topic::Realtime, now())).await;
        eventually("the job runs", || async { recorder.seen().len() == 1 }).await;
        started.shutdown.cancel();
        let left = at.publish(Message::new(Topic::Realtime, now())).await;
        gate.add_permits(2);
        started.stop().await;
        assert_eq!((recorder.times(), at.rows().await), (BTreeMap::from([(in_hand, 1)]), 1));
        let mut connection = at.db.read().await.expect("reads");
        let row = connection.query("SELECT id FROM outbox").one().await.expect("reads");
        assert_eq!(row.get::<EventId>("id").expect("id"), left);
    }

    async fn a_shutdown_stops_at_its_timeout_and_the_job_runs_again(at: &Deployment) {
        let stuck = Recorder::new(|_| std::future::pending());
        let mut work = at.work(Arc::new(RunningClock), stuck.clone());
        work.config.shutdown_timeout = Duration::from_millis(100);
        let id = at.publish(Message::new(Topic::Realtime, now())).await;
        let started = at.start(work).await;
        eventually("the job runs", || async { stuck.seen().len() == 1 }).await;
        let began = now();
        started.stop().await;
        assert!(now().since(began) < Duration::from_secs(3), "stopped after {:?}", now().since(began));
        let recorder = Recorder::new(|_| async { Ok(()) });
        let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
        at.until_empty().await;
        started.stop().await;
        assert_eq!(recorder.times(), BTreeMap::from([(id, 1)]));
    }

    async fn draining_runs_due_jobs_and_the_jobs_they_publish(at: &Deployment) {
        let clock = Arc::new(FixedClock::default());
        let (database, running) = (Database::clone(&at.db), clock.clone());
        let recorder = Recorder::new(move |job: Job| {
            let (database, clock) = (database.clone(), running.clone());
            async move {
                if job.topic == Topic::SettleAttempt {
                    let mut connection = database.begin().await?;
                    let receipt = Message::new(Topic::ReceiptMail, clock.now());
                    SqlOutbox(&mut connection).publish(&new_id(), &receipt, clock.now()).await?;
                    connection.commit().await?;
                }
                Ok(())
            }
        });
        at.publish(Message::new(Topic::SettleAttempt, clock.now())).await;
        at.publish(Message::new(Topic::Realtime, clock.now().plus(Duration::from_secs(60)))).await;
        let work = at.work(clock.clone(), recorder.clone());
        assert_eq!(drain(&work).await.expect("drains"), 2);
        assert_eq!(at.rows().await, 1);
        clock.advance(Duration::from_secs(60));
        assert_eq!(drain(&work).await.expect("drains"), 1);
        assert_eq!(at.rows().await, 0);
    }
}

async fn next_time(at: &Deployment) -> (u32, Timestamp) {
    let mut connection = at.db.read().await.expect("reads");
    let row = connection.query("SELECT attempts, run_at FROM outbox").one().await.expect("reads");
    (row.get("attempts").expect("attempts"), row.get("run_at").expect("run_at"))
}

async fn under_way(at: &Deployment) -> u64 {
    let mut connection = at.db.read().await.expect("reads");
    let row = connection.query("SELECT count(*) AS n FROM outbox WHERE claim = 'relay'").one().await.expect("reads");
    row.get("n").expect("n")
}

#[tokio::test]
async fn the_error_names_a_queue_that_cannot_be_reached() {
    let nobody = QueueBackend::Redis("redis://127.0.0.1:1".to_owned());
    let Err(error) = Queue::open(&nobody, &quick("nobody".to_owned())).await else { panic!("opened") };
    assert!(error.to_string().starts_with("Redis failed: "), "{error}");
}
