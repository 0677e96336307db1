//! Crashing workers: real processes that are killed from outside or by their own job.

use super::queue::{Deployment, Recorder, eventually, now, on_each, quick};
use async_trait::async_trait;
use souk_adapters::persistence::Database;
use souk_adapters::queue::{Queue, QueueBackend, Work, run};
use souk_adapters::testing::{RunningClock, SeededRandom};
use souk_domain::events::{Handler, Job, JobError, Message, Topic};
use souk_domain::operation::TrustedClock;
use std::env::var;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

/// The handler in the other process. It writes each job to a file, then hangs or aborts the process.
struct Doomed {
    notes: PathBuf,
    aborts: bool,
}

#[async_trait]
impl Handler for Doomed {
    async fn handle(&self, job: Job) -> Result<(), JobError> {
        let mut notes = std::fs::OpenOptions::new().create(true).append(true).open(&self.notes).expect("opens the notes");
        writeln!(notes, "{} {}", job.id, job.attempt).expect("notes");
        if self.aborts {
            std::process::abort();
        }
        std::future::pending().await
    }
}

#[tokio::test]
#[ignore = "the worker process that other tests start"]
async fn worker_process() {
    let database = Database::open(&var("SOUK_TEST_DATABASE").expect("an address")).await.expect("opens");
    let queue = var("SOUK_TEST_QUEUE").expect("an address");
    let backend = if queue.starts_with("redis") { QueueBackend::Redis(queue) } else { QueueBackend::Sqlite(queue.into()) };
    let config = quick(var("SOUK_TEST_NAME").expect("a name"));
    let handler = Doomed { notes: var("SOUK_TEST_NOTES").expect("a path").into(), aborts: var("SOUK_TEST_ABORTS").is_ok() };
    let random = Arc::new(SeededRandom::new(u64::from(std::process::id())));
    let work = Work {
        database,
        handler: Arc::new(handler),
        clock: Arc::new(RunningClock),
        trust: Arc::new(TrustedClock),
        random,
        config: config.clone(),
    };
    run(Queue::open(&backend, &config).await.expect("opens"), work, CancellationToken::new()).await;
}

fn start(at: &Deployment, notes: &Path, aborts: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "queue_processes::worker_process", "--include-ignored", "--nocapture"]);
    let queue = match &at.backend {
        QueueBackend::Sqlite(path) => path.display().to_string(),
        QueueBackend::Redis(address) => address.clone(),
    };
    command.env("SOUK_TEST_DATABASE", at.db.address()).env("SOUK_TEST_QUEUE", queue);
    command.env("SOUK_TEST_NAME", &at.config.name).env("SOUK_TEST_NOTES", notes);
    if aborts {
        command.env("SOUK_TEST_ABORTS", "1");
    }
    let quiet = std::process::Stdio::null;
    command.stdin(quiet()).stdout(quiet()).stderr(quiet()).kill_on_drop(true).spawn().expect("starts a worker process")
}

fn lines(notes: &Path) -> Vec<String> {
    std::fs::read_to_string(notes).unwrap_or_default().lines().map(str::to_owned).collect()
}

on_each! {
    async fn a_job_of_a_killed_worker_runs_again_after_its_lease(at: &Deployment) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let notes = folder.path().join("notes");
        let id = at.publish(Message::new(Topic::Realtime, now())).await;
        let mut doomed = start(at, &notes, false);
        eventually("the job runs in the other process", || async { !lines(&notes).is_empty() }).await;
        doomed.kill().await.expect("kills");
        assert_eq!(lines(&notes), [format!("{id} 1")]);
        let recorder = Recorder::new(|_| async { Ok(()) });
        let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
        at.until_empty().await;
        started.stop().await;
        assert_eq!(recorder.seen().iter().map(|job| (&job.id, job.attempt)).collect::<Vec<_>>(), [(&id, 2)]);
    }

    async fn a_job_that_kills_its_process_stops_at_its_limit_and_affects_no_other(at: &Deployment) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let notes = folder.path().join("notes");
        let poison = at.publish(Message::new(Topic::Realtime, now())).await;
        let mut connection = at.db.begin().await.expect("begins");
        connection.query("UPDATE outbox SET max_attempts = 3").execute().await.expect("limits");
        connection.commit().await.expect("commits");
        for round in 1..=3 {
            let mut doomed = start(at, &notes, true);
            assert!(!doomed.wait().await.expect("ends").success(), "the process of round {round} survived");
        }
        assert_eq!(lines(&notes), (1..=3).map(|attempt| format!("{poison} {attempt}")).collect::<Vec<_>>());
        let recorder = Recorder::new(|_| async { Ok(()) });
        let innocent = at.publish(Message::new(Topic::Realtime, now())).await;
        let started = at.start(at.work(Arc::new(RunningClock), recorder.clone())).await;
        eventually("the poison is a dead letter and the other is done", || async { at.dead().await.len() == 1 && at.rows().await == 1 }).await;
        started.stop().await;
        assert_eq!((at.dead().await[0].id.clone(), at.dead().await[0].attempts), (poison, 3));
        assert_eq!(recorder.seen().iter().map(|job| &job.id).collect::<Vec<_>>(), [&innocent]);
    }
}
