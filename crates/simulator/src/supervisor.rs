//! The process that is started and killed, again and again, and where each history stands meanwhile.

use super::card_incidents::settle_all;
use super::fixtures::Fixtures;
use super::money_back::move_all_failed;
use super::network_client::NetworkClient;
use super::open_work;
use super::process::Progress;
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

/// A start that takes longer has gone wrong.
const START: Duration = Duration::from_secs(30);
const SHORTEST_LIFETIME: u64 = 250;
/// The most time that passes between two processes, in seconds.
const JUMP: u64 = 36 * 3_600;
const REPORT: Duration = Duration::from_secs(5);
/// What passes at the end, in days: longer than doubts about a refusal, than the waiting time of a stake, than any back-off.
pub const LAST_DAYS: [u64; 12] = [2, 15, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];
const LAST_DEADLINE: Duration = Duration::from_secs(60);
/// What has not changed for so long, while nothing is due, waits for a time to come.
const STILL: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(100);
/// Customers who enter at the same time.
const DOORS: usize = 8;

pub struct Supervisor<'a> {
    host: &'a dyn Host,
    temp: &'a TempStore,
    networks: &'a Networks,
    histories: u32,
    args: &'a HistoryArgs,
    seed: u64,
    /// Histories under way.
    progress: BTreeMap<u32, Progress>,
    client: NetworkClient,
    begun: u32,
    ended: u32,
    number: u32,
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
            begun: 0,
            ended: 0,
            number: 0,
            reported: Instant::now(),
            kills: 0,
            steps: 0,
            troubles: Vec::new(),
        })
    }

    /// Process after process, until each history has survived its kills and come to its end.
    pub async fn run_all(&mut self) -> Result<(), Failure> {
        while self.ended < self.histories {
            let mut rng = Rng::of(self.seed, u32::MAX, self.number);
            self.number += 1;
            self.networks.clock.jump(rng.below(JUMP));
            if self.args.wipe_queue && rng.one_in(3) {
                self.temp.wipe_queue();
            }
            self.fill().await?;
            let mut process = self.start().await?;
            if rng.one_in(8) {
                // Killed while it starts.
                tokio::time::sleep(Duration::from_millis(rng.below(400))).await;
            } else {
                self.opened(&mut process).await?;
                let length = Duration::from_millis(SHORTEST_LIFETIME + rng.below(self.args.lifetime.saturating_sub(SHORTEST_LIFETIME)));
                self.listen(&mut process, Instant::now() + length).await?;
                self.kills += 1;
                self.progress.values_mut().for_each(|progress| progress.met += 1);
            }
            self.kill(process).await?;
            // Whoever was interrupted does something else next.
            self.progress.values_mut().for_each(|progress| progress.step += 1);
            self.report();
        }
        Ok(())
    }

    /// Days pass, workers work, nobody does anything new, the networks are well, nobody is killed at a bad moment.
    pub async fn run_until_nothing_is_open(&mut self) -> Result<(), Failure> {
        let store = &self.networks.store;
        let mut left = Vec::new();
        for days in LAST_DAYS {
            self.networks.clock.jump(days * 86_400);
            self.networks.clear_faults().await?;
            settle_all(&self.client).await?;
            move_all_failed(&self.client).await?;
            let mut process = self.start().await?;
            self.opened(&mut process).await?;
            let begun = Instant::now();
            let mut changed = begun;
            loop {
                self.listen(&mut process, Instant::now() + POLL).await?;
                let now_left = open_work::left(store).await?;
                if now_left != left {
                    (left, changed) = (now_left, Instant::now());
                }
                let is_still = changed.elapsed() > STILL && open_work::due(store).await? == 0;
                if left.is_empty() || is_still || begun.elapsed() > LAST_DEADLINE {
                    break;
                }
            }
            self.kill(process).await?;
            eprintln!("{days} days later, after {} ms: {} left open, such as {:?}", begun.elapsed().as_millis(), left.len(), left.first());
            if left.is_empty() && days < 15 && open_work::stakes_are_returned(store).await? {
                return Ok(());
            }
        }
        self.troubles.extend(left.into_iter().map(|left| format!("{left} never came to its end")));
        Ok(())
    }

    /// New histories take the places of those that have ended. Their customers enter while the networks are well and nobody is
    /// killed: a hundred who enter at once would not get through in one process.
    async fn fill(&mut self) -> Result<(), Failure> {
        self.networks.clear_faults().await?;
        let free = u32::try_from(self.args.at_once.saturating_sub(self.progress.len()))?;
        let new = self.begun..self.histories.min(self.begun.saturating_add(free));
        let (seed, client) = (self.seed, &self.client);
        let enter = |number| async move { Fixtures::of(seed, number)?.enter(client).await.map(|()| number) };
        let entered: Vec<_> = stream::iter(new.clone()).map(enter).buffer_unordered(DOORS).try_collect().await?;
        self.progress.extend(entered.into_iter().map(|number| (number, Progress { number, step: 1, met: 0 })));
        self.begun = new.end.max(self.begun);
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

    /// What the processes print to standard error.
    fn log(&self) -> PathBuf {
        self.temp.site.data.join("processes.log")
    }

    async fn opened(&mut self, process: &mut Process) -> Result<(), Failure> {
        let until = tokio::time::Instant::now() + START;
        loop {
            match timeout_at(until, process.lines.next_line()).await {
                Ok(Ok(Some(line))) if line == "open" => return Ok(()),
                Ok(Ok(Some(line))) => self.record(&line),
                _ => return Err(format!("a process did not start; see {}", self.log().display()).into()),
            }
        }
    }

    /// Records what the process prints until then, or until all histories have ended.
    async fn listen(&mut self, process: &mut Process, until: Instant) -> Result<(), Failure> {
        let ended_before = self.ended;
        while self.ended == ended_before || self.ended < self.histories {
            match timeout_at(until.into(), process.lines.next_line()).await {
                Err(_) => return Ok(()),
                Ok(Ok(Some(line))) => self.record(&line),
                Ok(_) => return Err(format!("a process ended by itself; see {}", self.log().display()).into()),
            }
        }
        Ok(())
    }

    /// SIGKILL; what was printed before it still counts.
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
        if self.reported.elapsed() > REPORT {
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
