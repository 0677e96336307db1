//! The process that is started and killed, again and again, and where each history stands meanwhile.

use super::cast::Cast;
use super::dice::Dice;
use super::life::Standing;
use super::scratch::Scratch;
use super::teller::Teller;
use super::{Door, Networks};
use crate::compose::Failure;
use crate::config::HistoryArgs;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use souk_domain::shared::{Clock, Timestamp};
use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout_at;

/// A start that takes longer has gone wrong.
const START: Duration = Duration::from_secs(30);
const SHORTEST_LIFE: u64 = 250;
/// The most that passes between two lives, in seconds.
const JUMP: u64 = 36 * 3_600;
const REPORT: Duration = Duration::from_secs(5);
/// What passes at the end, in days: longer than doubts about a refusal, than the waiting time of a stake, than any back-off.
const LAST_DAYS: [u64; 12] = [2, 15, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2];
const LAST_PATIENCE: Duration = Duration::from_secs(60);
/// What has not changed for so long, while nothing is due, waits for a time to come.
const STILL: Duration = Duration::from_secs(1);
const GLANCE: Duration = Duration::from_millis(100);
/// Customers who enter at the same time.
const DOORS: usize = 8;

/// What must come to its end, each told in a line.
const OPEN: [&str; 4] = [
    "SELECT 'attempt ' || id || ' (' || purpose || ', ' || status || ')' AS told FROM attempts WHERE status IN ('open', 'unknown')",
    "SELECT 'message ' || id || ' (' || topic || ')' AS told FROM outbox WHERE dead_at IS NULL",
    "SELECT 'clock ' || id AS told FROM test_clocks WHERE target IS NOT NULL",
    "SELECT 'subscription ' || id AS told FROM subscriptions WHERE status <> 'canceled' AND parked IS NULL",
];

/// What is to be done at `$1`. What a process that died had in hand comes back when its leases are over.
const DUE: &str = "SELECT (SELECT count(*) FROM attempts WHERE status IN ('open', 'unknown') AND check_at <= $1)
        + (SELECT count(*) FROM outbox WHERE dead_at IS NULL AND (run_at <= $1 OR claimed_until > $1))
        + (SELECT count(*) FROM subscriptions WHERE due_at <= $1 AND clock_id IS NULL AND parked IS NULL)
        + (SELECT count(*) FROM invoices WHERE retry_at <= $1 AND clock_id IS NULL) AS n";

pub struct Lives<'a> {
    scratch: &'a Scratch,
    networks: &'a Networks,
    histories: u32,
    args: &'a HistoryArgs,
    seed: u64,
    /// Histories under way.
    standings: BTreeMap<u32, Standing>,
    teller: Teller,
    begun: u32,
    ended: u32,
    number: u32,
    reported: Instant,
    pub kills: u32,
    pub steps: u64,
    pub troubles: Vec<String>,
}

struct Life {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    door: Door,
}

impl<'a> Lives<'a> {
    pub async fn new(
        scratch: &'a Scratch,
        networks: &'a Networks,
        histories: u32,
        args: &'a HistoryArgs,
        seed: u64,
    ) -> Result<Self, Failure> {
        let teller = Teller::open(Arc::clone(&networks.parts), &networks.address, seed).await?;
        Ok(Self {
            scratch,
            networks,
            histories,
            args,
            seed,
            standings: BTreeMap::new(),
            teller,
            begun: 0,
            ended: 0,
            number: 0,
            reported: Instant::now(),
            kills: 0,
            steps: 0,
            troubles: Vec::new(),
        })
    }

    /// Life after life, until each history has met its kills and come to its end.
    pub async fn until_all_have_ended(&mut self) -> Result<(), Failure> {
        while self.ended < self.histories {
            let mut dice = Dice::of(self.seed, u32::MAX, self.number);
            self.number += 1;
            self.networks.clock.jump(dice.below(JUMP));
            if self.args.wipe_queue && dice.one_in(3) {
                self.scratch.wipe_queue();
            }
            self.fill().await?;
            let mut life = self.start().await?;
            if dice.one_in(8) {
                // Killed while it starts.
                tokio::time::sleep(Duration::from_millis(dice.below(400))).await;
            } else {
                self.opened(&mut life).await?;
                let length = Duration::from_millis(SHORTEST_LIFE + dice.below(self.args.life.saturating_sub(SHORTEST_LIFE)));
                self.listen(&mut life, Instant::now() + length).await?;
                self.kills += 1;
                self.standings.values_mut().for_each(|standing| standing.met += 1);
            }
            self.kill(life).await?;
            // Whoever was interrupted does something else next.
            self.standings.values_mut().for_each(|standing| standing.step += 1);
            self.report();
        }
        Ok(())
    }

    /// Days pass, workers work, nobody does anything new, the networks are well, nobody is killed at a bad moment.
    pub async fn until_nothing_is_open(&mut self) -> Result<(), Failure> {
        let mut left = Vec::new();
        for days in LAST_DAYS {
            self.networks.clock.jump(days * 86_400);
            self.networks.end_bad_days().await?;
            let mut life = self.start().await?;
            self.opened(&mut life).await?;
            let begun = Instant::now();
            let mut changed = begun;
            loop {
                self.listen(&mut life, Instant::now() + GLANCE).await?;
                let now_left = self.left().await?;
                if now_left != left {
                    (left, changed) = (now_left, Instant::now());
                }
                let is_still = changed.elapsed() > STILL && self.due().await? == 0;
                if left.is_empty() || is_still || begun.elapsed() > LAST_PATIENCE {
                    break;
                }
            }
            self.kill(life).await?;
            eprintln!("{days} days later, after {} ms: {} left open, such as {:?}", begun.elapsed().as_millis(), left.len(), left.first());
            if left.is_empty() && days < 15 && self.stakes_are_back().await? {
                return Ok(());
            }
        }
        self.troubles.extend(left.into_iter().map(|left| format!("{left} never came to its end")));
        Ok(())
    }

    /// New histories take the places of those that have ended. Their customers enter while the networks are well and nobody is
    /// killed: a hundred who enter at once would not get through the door in one life.
    async fn fill(&mut self) -> Result<(), Failure> {
        self.networks.end_bad_days().await?;
        let free = u32::try_from(self.args.at_once.saturating_sub(self.standings.len()))?;
        let new = self.begun..self.histories.min(self.begun.saturating_add(free));
        let (seed, teller) = (self.seed, &self.teller);
        let enter = |number| async move { Cast::of(seed, number)?.enter(teller).await.map(|()| number) };
        let entered: Vec<_> = stream::iter(new.clone()).map(enter).buffer_unordered(DOORS).try_collect().await?;
        self.standings.extend(entered.into_iter().map(|number| (number, Standing { number, step: 1, met: 0 })));
        self.begun = new.end.max(self.begun);
        Ok(())
    }

    async fn start(&self) -> Result<Life, Failure> {
        let door = self.networks.door().await?;
        let folder = &self.scratch.common.data;
        let log = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("lives.log"))?;
        let stories: Vec<_> = self.standings.values().map(ToString::to_string).collect();
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("history-life").arg("--data").arg(folder).args(["--networks", &door.address]);
        let numbers = [("--ahead", self.networks.clock.seconds()), ("--seed", self.seed), ("--kills", u64::from(self.args.kills))];
        for (option, number) in numbers {
            command.arg(option).arg(number.to_string());
        }
        if !stories.is_empty() {
            command.arg("--stories").arg(stories.join(","));
        }
        for (variable, value) in [("DATABASE_URL", &self.scratch.common.database_url), ("REDIS_URL", &self.scratch.common.redis_url)] {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        command.env_remove("SOUK_SECRET_KEY").env_remove("SMTP_URL").env("NO_COLOR", "1");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true).spawn()?;
        let output = child.stdout.take().ok_or("the process has no output")?;
        Ok(Life { child, lines: BufReader::new(output).lines(), door })
    }

    async fn opened(&mut self, life: &mut Life) -> Result<(), Failure> {
        let until = tokio::time::Instant::now() + START;
        loop {
            match timeout_at(until, life.lines.next_line()).await {
                Ok(Ok(Some(line))) if line == "open" => return Ok(()),
                Ok(Ok(Some(line))) => self.heard(&line),
                _ => return Err(format!("a life did not begin; see {}/lives.log", self.scratch.common.data.display()).into()),
            }
        }
    }

    /// Hears what is told until then, or until all histories have ended.
    async fn listen(&mut self, life: &mut Life, until: Instant) -> Result<(), Failure> {
        let ended_before = self.ended;
        while self.ended == ended_before || self.ended < self.histories {
            match timeout_at(until.into(), life.lines.next_line()).await {
                Err(_) => return Ok(()),
                Ok(Ok(Some(line))) => self.heard(&line),
                Ok(_) => return Err(format!("a life ended by itself; see {}/lives.log", self.scratch.common.data.display()).into()),
            }
        }
        Ok(())
    }

    /// SIGKILL; what was told before it still counts.
    async fn kill(&mut self, mut life: Life) -> Result<(), Failure> {
        life.child.kill().await?;
        while let Ok(Some(line)) = life.lines.next_line().await {
            self.heard(&line);
        }
        life.door.close().await
    }

    fn heard(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut numbers = rest.split(' ').map_while(|text| text.parse::<u32>().ok());
        let number = numbers.next().unwrap_or_default();
        match word {
            "at" => {
                if let (Some(standing), Some(step)) = (self.standings.get_mut(&number), numbers.next()) {
                    standing.step = step;
                    self.steps += 1;
                }
            }
            "ended" => self.ended += u32::from(self.standings.remove(&number).is_some()),
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
                self.standings.len(),
                self.kills
            );
        }
    }

    async fn left(&self) -> Result<Vec<String>, Failure> {
        let mut left = Vec::new();
        for sql in OPEN {
            let rows = self.networks.parts.database.read().await?.query(sql).all().await?;
            for row in &rows {
                left.push(row.get("told")?);
            }
        }
        Ok(left)
    }

    async fn due(&self) -> Result<u64, Failure> {
        let now: Timestamp = self.networks.clock.now();
        let row = self.networks.parts.database.read().await?.query(DUE).bind(now).one().await?;
        Ok(row.get("n")?)
    }

    /// Nothing that lives by everybody's time waits any more.
    async fn stakes_are_back(&self) -> Result<bool, Failure> {
        let now: Timestamp = self.networks.clock.now();
        let waiting = "SELECT count(*) AS n FROM subscriptions WHERE clock_id IS NULL AND parked IS NULL AND due_at <= $1";
        let long_after = now.plus(Duration::from_secs(20 * 86_400));
        let row = self.networks.parts.database.read().await?.query(waiting).bind(long_after).one().await?;
        Ok(row.get::<u64>("n")? == 0)
    }
}
