//! Command-line options of the supervisor and of its processes.

use crate::process::Progress;
use clap::Args;

/// How histories are run: on SQLite, or on the server of DATABASE_URL.
#[derive(Debug, Clone, Args)]
pub struct HistoryArgs {
    /// The kills that each history survives.
    #[arg(long, value_name = "K", default_value = "5", requires = "history")]
    pub kills: u32,
    /// Repeats the decisions of a run.
    #[arg(long, value_name = "S", requires = "history")]
    pub seed: Option<u64>,
    /// Wipe the queue between processes, at random.
    #[arg(long, requires = "history")]
    pub wipe_queue: bool,
    /// Histories beside each other.
    #[arg(long, hide = true, default_value = "30", requires = "history")]
    pub at_once: usize,
    /// The longest time before a kill, in milliseconds.
    #[arg(long, hide = true, default_value = "4000", requires = "history")]
    pub lifetime: u64,
}

/// Options of the process that is killed.
#[derive(Debug, Clone, Args)]
pub struct ProcessArgs {
    /// The URL of the networks.
    #[arg(long)]
    pub networks: String,
    /// Seconds that this process is ahead of the machine's time.
    #[arg(long)]
    pub ahead: u64,
    #[arg(long)]
    pub seed: u64,
    #[arg(long)]
    pub kills: u32,
    /// The progress of each running history.
    #[arg(long, value_delimiter = ',', value_parser = Progress::parse)]
    pub progress: Vec<Progress>,
}
