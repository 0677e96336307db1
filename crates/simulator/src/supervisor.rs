//! Starts and kills processes repeatedly, and tracks the progress of each history.

use super::card_incidents::settle_all;
use super::fixtures::Fixtures;
use super::network_client::NetworkClient;
use super::open_work;
use super::process::Progress;
use super::refunds::move_all_failed;
use super::rng::Rng;
use super::temp_store::TempStore;
use super::{NetworkListener, Networks};
use crate::{Failure, HistoryArgs, Host};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout_at;

/// Maximum time for a process to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Minimum time before a kill, in milliseconds.
const LIFETIME_MIN: u64 = 250;
/// Maximum simulated time between two processes, in seconds.
const JUMP_MAX: u64 = 36 * 3_600;
const REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// Clock jumps at the end, in days. They exceed the confirmation window of declines, the waiting time of stakes and every back-off.
pub const FINAL_JUMPS: [u64; 12] = [2, 15, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];
/// Maximum time for a process to finish the work after one of these jumps.
const FINAL_TIMEOUT: Duration = Duration::from_secs(60);
/// If nothing is due and nothing has changed for this long, the remaining work waits for a later time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(100);
/// Number of customers that are created concurrently.
const CONCURRENT_SETUPS: usize = 8;

pub struct Supervisor<'a> {
    host: &'a dyn Host,
    temp: &'a TempStore,
    networks: &'a Networks,
    histories: u32,
    args: &'a HistoryArgs,
    seed: u64,
    /// The running histories by number.
    progress: BTreeMap<u32, Progress>,
    client: NetworkClient,
    started: u32,
    ended: u32,
    /// Number of processes started so far.
    processes: u32,
    reported: Instant,
    pub kills: u32,
    pub steps: u64,
    pub troubles: Vec<String>,
}

struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    listener: NetworkListener,
}

impl<'a> Supervisor<'a> {
    pub async fn new(
        host: &'a dyn Host,
        temp: &'a TempStore,
        networks: &'a Networks,
        histories: u32,
        args: &'a HistoryArgs,
        seed: u64,
    ) -> Result<Self, Failure> {
        let client = NetworkClient::open(Arc::clone(&networks.store), &networks.address, seed).await?;
        Ok(Self {
            host,
            temp,
            networks,
            histories,
            args,
            seed,
            progress: BTreeMap::new(),
            client,
            started: 0,
            ended: 0,
            processes: 0,
            reported: Instant::now(),
            kills: 0,
            steps: 0,
            troubles: Vec::new(),
        })
    }

    /// Starts and kills processes until every history has survived its kills and ended.
    pub async fn run_all(&mut self) -> Result<(), Failure> {
        while self.ended < self.histories {
            let mut rng = Rng::of(self.seed, u32::MAX, self.processes);
            self.processes += 1;
            self.networks.clock.jump(rng.below(JUMP_MAX));
            if self.args.wipe_queue && rng.one_in(3) {
                self.temp.wipe_queue();
            }
            self.fill().await?;
            let mut process = self.start().await?;
            if rng.one_in(8) {
                // Kill the process while it starts.
                tokio::time::sleep(Duration::from_millis(rng.below(400))).await;
            } else {
                self.wait_until_open(&mut process).await?;
                let length = Duration::from_millis(LIFETIME_MIN + rng.below(self.args.lifetime.saturating_sub(LIFETIME_MIN)));
                self.listen(&mut process, Instant::now() + length).await?;
                self.kills += 1;
                self.progress.values_mut().for_each(|progress| progress.kills += 1);
            }
            self.kill(process).await?;
            // An interrupted history continues with the next step.
            self.progress.values_mut().for_each(|progress| progress.step += 1);
            self.report();
        }
        Ok(())
    }

    /// Lets days pass without new actions or faults, until the workers have finished all work.
    pub async fn run_until_nothing_is_open(&mut self) -> Result<(), Failure> {
        let store = &self.networks.store;
        let mut unfinished = Vec::new();
        for days in FINAL_JUMPS {
            self.networks.clock.jump(days * 86_400);
            self.networks.clear_faults().await?;
            settle_all(&self.client).await?;
            move_all_failed(&self.client).await?;
            let mut process = self.start().await?;
            self.wait_until_open(&mut process).await?;
            let started = Instant::now();
            let mut changed = started;
            loop {
                self.listen(&mut process, Instant::now() + POLL).await?;
                let current = open_work::unfinished(store).await?;
                if current != unfinished {
                    (unfinished, changed) = (current, Instant::now());
                }
                let is_idle = changed.elapsed() > IDLE_TIMEOUT && open_work::due(store).await? == 0;
                if unfinished.is_empty() || is_idle || started.elapsed() > FINAL_TIMEOUT {
                    break;
                }
            }
            self.kill(process).await?;
            eprintln!(
                "{days} days later, after {} ms: {} left open, such as {:?}",
                started.elapsed().as_millis(),
                unfinished.len(),
                unfinished.first()
            );
            if unfinished.is_empty() && days < 15 && open_work::stakes_are_returned(store).await? {
                return Ok(());
            }
        }
        self.troubles.extend(unfinished.into_iter().map(|work| format!("{work} never came to its end")));
        Ok(())
    }

    /// Starts new histories in place of those that have ended. Their customers are created without faults and kills, because creating
    /// many at once would not finish within the lifetime of one process.
    async fn fill(&mut self) -> Result<(), Failure> {
        self.networks.clear_faults().await?;
        let free = u32::try_from(self.args.at_once.saturating_sub(self.progress.len()))?;
        let new = self.started..self.histories.min(self.started.saturating_add(free));
        let (seed, client) = (self.seed, &self.client);
        let enter = |number| async move { Fixtures::of(seed, number)?.enter(client).await.map(|()| number) };
        let entered: Vec<_> = stream::iter(new.clone()).map(enter).buffer_unordered(CONCURRENT_SETUPS).try_collect().await?;
        self.progress.extend(entered.into_iter().map(|number| (number, Progress { number, step: 1, kills: 0 })));
        self.started = new.end.max(self.started);
        Ok(())
    }

    async fn start(&self) -> Result<Process, Failure> {
        let listener = self.networks.listener().await?;
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.log())?;
        let progress: Vec<_> = self.progress.values().map(ToString::to_string).collect();
        let mut command = self.host.process_command(&self.temp.site)?;
        command.args(["--networks", &listener.address]);
        let numbers = [("--ahead", self.networks.clock.seconds()), ("--seed", self.seed), ("--kills", u64::from(self.args.kills))];
        for (option, number) in numbers {
            command.arg(option).arg(number.to_string());
        }
        if !progress.is_empty() {
            command.arg("--progress").arg(progress.join(","));
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true).spawn()?;
        let output = child.stdout.take().ok_or("the process has no output")?;
        Ok(Process { child, lines: BufReader::new(output).lines(), listener })
    }

    /// The log file with the standard error of all processes.
    fn log(&self) -> PathBuf {
        self.temp.site.data.join("processes.log")
    }

    async fn wait_until_open(&mut self, process: &mut Process) -> Result<(), Failure> {
        let until = tokio::time::Instant::now() + START_TIMEOUT;
        loop {
            match timeout_at(until, process.lines.next_line()).await {
                Ok(Ok(Some(line))) if line == "open" => return Ok(()),
                Ok(Ok(Some(line))) => self.record(&line),
                _ => return Err(format!("a process did not start; see {}", self.log().display()).into()),
            }
        }
    }

    /// Records the output of the process until `until`, or until all histories have ended.
    async fn listen(&mut self, process: &mut Process, until: Instant) -> Result<(), Failure> {
        let ended_before = self.ended;
        while self.ended == ended_before || self.ended < self.histories {
            match timeout_at(until.into(), process.lines.next_line()).await {
                Err(_) => return Ok(()),
                Ok(Ok(Some(line))) => self.record(&line),
                Ok(_) => return Err(format!("a process exited unexpectedly; see {}", self.log().display()).into()),
            }
        }
        Ok(())
    }

    /// Sends SIGKILL and records the output that was printed before it.
    async fn kill(&mut self, mut process: Process) -> Result<(), Failure> {
        process.child.kill().await?;
        while let Ok(Some(line)) = process.lines.next_line().await {
            self.record(&line);
        }
        process.listener.close().await
    }

    fn record(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut numbers = rest.split(' ').map_while(|text| text.parse::<u32>().ok());
        let number = numbers.next().unwrap_or_default();
        match word {
            "at" => {
                if let (Some(progress), Some(step)) = (self.progress.get_mut(&number), numbers.next()) {
                    progress.step = step;
                    self.steps += 1;
                }
            }
            "ended" => self.ended += u32::from(self.progress.remove(&number).is_some()),
            "trouble" => {
                eprintln!("{line}");
                self.troubles.push(rest.to_owned());
            }
            _ => {}
        }
    }

    fn report(&mut self) {
        if self.reported.elapsed() > REPORT_INTERVAL {
            self.reported = Instant::now();
            eprintln!(
                "{} of {} histories have ended, {} are under way; {} kills",
                self.ended,
                self.histories,
                self.progress.len(),
                self.kills
            );
        }
    }
}
