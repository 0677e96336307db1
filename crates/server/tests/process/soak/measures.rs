//! The memory of a process, and the speed of the customers' requests with and without strangers.

use crate::connections::resident;
use crate::souk::Souk;
use crate::store_client::{CallTime, StoreClient};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// A shorter run measures without a verdict.
pub const MINUTES_MIN: u64 = 10;
/// The time after which a process has what it needs.
const WARM: Duration = Duration::from_secs(300);
const MEMORY_RATIO_MAX: f64 = 1.3;
const SPEED_RATIO_MAX: f64 = 2.0;
/// The memory of a moment is the median of this time, so that no single request counts.
const WINDOW: usize = 60;
const SECOND: Duration = Duration::from_secs(1);
const PERCENTILE: usize = 99;

/// A time in which something happened.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: Instant,
    until: Instant,
}

impl Span {
    fn contains(&self, call: &CallTime) -> bool {
        self.from <= call.begun && call.begun + call.took <= self.until
    }

    fn overlaps(&self, call: &CallTime) -> bool {
        self.from <= call.begun + call.took && call.begun <= self.until
    }
}

/// The numbers of disturbances.
#[derive(Debug, Clone, Copy, Default)]
pub struct Done {
    pub kills: u32,
    pub flushes: u32,
    pub hangs: u32,
}

/// When what happened.
#[derive(Default)]
pub struct Measures {
    disturbed: Mutex<Vec<Span>>,
    harassed: Mutex<Vec<Span>>,
    quiet: Mutex<Vec<Span>>,
    done: Mutex<Done>,
}

impl Measures {
    /// Customers' requests from then on until now waited for a process or a network that was gone.
    pub fn disturbed_since(&self, from: Instant) {
        self.disturbed.lock().expect("no panic").push(Span { from, until: Instant::now() });
    }

    pub fn count(&self, count: impl FnOnce(&mut Done)) {
        count(&mut self.done.lock().expect("no panic"));
    }

    pub fn done(&self) -> Done {
        *self.done.lock().expect("no panic")
    }

    pub fn harassed(&self, from: Instant, until: Instant) {
        self.harassed.lock().expect("no panic").push(Span { from, until });
    }

    pub fn quiet(&self, from: Instant, until: Instant) {
        self.quiet.lock().expect("no panic").push(Span { from, until });
    }
}

/// The 99th percentile of some requests.
#[derive(Debug, Clone, Copy)]
struct Percentile {
    requests: usize,
    took: Duration,
}

impl Percentile {
    fn of(calls: &[CallTime], within: &[Span], without: &[Span]) -> Self {
        let counts = |call: &&CallTime| within.iter().any(|span| span.contains(call)) && !without.iter().any(|span| span.overlaps(call));
        let mut times: Vec<_> = calls.iter().filter(counts).map(|call| call.took).collect();
        times.sort();
        let took = times.get(times.len() * PERCENTILE / 100).copied().unwrap_or_default();
        Self { requests: times.len(), took }
    }
}

/// The speed of the customers' requests that waited for nothing that was gone.
pub struct Speed {
    alone: Percentile,
    harassed: Percentile,
}

impl Speed {
    pub fn of(client: &StoreClient, measures: &Measures) -> Self {
        let times = client.times.lock().expect("no panic");
        let disturbed = measures.disturbed.lock().expect("no panic");
        let of = |spans: &Mutex<Vec<Span>>| Percentile::of(&times, &spans.lock().expect("no panic"), &disturbed);
        Self { alone: of(&measures.quiet), harassed: of(&measures.harassed) }
    }

    fn ratio(&self) -> f64 {
        self.harassed.took.as_secs_f64() / self.alone.took.as_secs_f64().max(f64::EPSILON)
    }

    pub fn is_bounded(&self) -> bool {
        self.ratio() <= SPEED_RATIO_MAX
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = |percentile: &Percentile| percentile.took.as_secs_f64() * 1_000.0;
        writeln!(f, "  p99 of {:>6} requests without strangers                {:>9.1} ms", self.alone.requests, millis(&self.alone))?;
        writeln!(f, "  p99 of {:>6} requests with strangers                   {:>9.1} ms", self.harassed.requests, millis(&self.harassed))?;
        write!(f, "  ratio of the two                                           {:>7.2}  at most {SPEED_RATIO_MAX}", self.ratio())
    }
}

/// A task that reads the memory of a process each second.
pub struct Memory {
    samples: Arc<Mutex<Vec<u64>>>,
    reading: JoinHandle<()>,
}

impl Memory {
    pub fn watch(souk: &Souk, begun: Instant) -> Self {
        let (pid, samples) = (souk.pid(), Arc::new(Mutex::new(Vec::new())));
        let reading = {
            let samples = Arc::clone(&samples);
            tokio::spawn(async move {
                let mut ticks = tokio::time::interval_at(begun.into(), SECOND);
                loop {
                    ticks.tick().await;
                    samples.lock().expect("no panic").push(resident(pid));
                }
            })
        };
        Self { samples, reading }
    }

    pub fn stop(self) -> MemoryGrowth {
        self.reading.abort();
        MemoryGrowth::of(&self.samples.lock().expect("no panic"))
    }
}

/// The memory of a process in KiB.
pub struct MemoryGrowth {
    warm: u64,
    most: u64,
    seconds: usize,
}

impl MemoryGrowth {
    /// `samples`: one per second. A run too short for the usual time counts as warm after a third of it.
    fn of(samples: &[u64]) -> Self {
        let warm = usize::try_from(WARM.as_secs()).expect("few seconds").min(samples.len() / 3);
        let medians = samples.windows(WINDOW.min(warm.max(1))).map(|window| {
            let mut window = window.to_vec();
            window.sort_unstable();
            window[window.len() / 2]
        });
        let medians: Vec<_> = medians.skip(warm.saturating_sub(WINDOW)).collect();
        let (warm, most) = (medians.first().copied().unwrap_or_default(), medians.iter().max().copied().unwrap_or_default());
        Self { warm, most, seconds: samples.len() }
    }

    fn ratio(&self) -> f64 {
        let kib = |memory: u64| f64::from(u32::try_from(memory).expect("less than 4 TiB"));
        kib(self.most) / kib(self.warm.max(1))
    }

    pub fn is_bounded(&self) -> bool {
        self.ratio() <= MEMORY_RATIO_MAX
    }
}

impl fmt::Display for MemoryGrowth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let after = WARM.as_secs().min(self.seconds as u64 / 3);
        writeln!(f, "  memory after {after:>4} s                                        {:>9} KiB", self.warm)?;
        writeln!(f, "  most memory afterwards                                    {:>9} KiB", self.most)?;
        write!(f, "  ratio of the two                                           {:>7.2}  at most {MEMORY_RATIO_MAX}", self.ratio())
    }
}
