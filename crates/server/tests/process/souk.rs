//! Starts and stops `souk serve` processes for tests.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use url::Url;

/// Maximum time for a process to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The settings of a process; starting it again with the same settings uses the same data.
#[derive(Debug, Clone)]
pub struct Settings {
    pub data: PathBuf,
    /// `None`: SQLite in the data folder.
    pub database: Option<String>,
    /// `None`: the embedded queue.
    pub redis: Option<String>,
    pub listen: String,
    pub options: Vec<String>,
    /// The log file in the data folder.
    pub log: String,
}

impl Settings {
    pub fn sqlite(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            database: None,
            redis: None,
            listen: "127.0.0.1:0".to_owned(),
            options: Vec::new(),
            log: "souk.log".to_owned(),
        }
    }

    /// A `souk` command with these settings, without environment variables of the caller.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_souk"));
        for variable in ["SOUK_LISTEN", "SOUK_SANDBOX", "SOUK_PUBLIC_URL", "SOUK_SECRET_KEY", "SMTP_URL", "DATABASE_URL", "REDIS_URL"] {
            command.env_remove(variable);
        }
        command
            .env("NO_COLOR", "1")
            .env("SOUK_LOG", "warn,souk=debug")
            .env("SOUK_DATA", &self.data)
            .env("SOUK_RESTORE_SETTLING_SECONDS", "0")
            .args(words)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        if let Some(address) = &self.database {
            command.env("DATABASE_URL", address);
        }
        if let Some(address) = &self.redis {
            command.env("REDIS_URL", address);
        }
        command
    }

    /// Starts the demo store on a free port, without waiting until it is open.
    pub fn spawn(&self) -> Starting {
        self.spawn_command(self.command(&["serve", "--demo", "--sandbox-faults", "--listen", &self.listen]))
    }

    /// Starts the demo store in a process that may have this many open files.
    pub async fn start_with_open_files(&self, limit: u32) -> Souk {
        self.start_through(&["sh", "-c", "ulimit -n \"$0\" && exec \"$@\"", &limit.to_string()]).await
    }

    /// Starts the demo store by a command that runs its further arguments.
    pub async fn start_through(&self, command: &[&str]) -> Souk {
        let souk = self.command(&["serve", "--demo", "--sandbox-faults", "--listen", &self.listen]);
        let mut through = Command::new(command[0]);
        through.args(&command[1..]).arg(souk.as_std().get_program()).args(souk.as_std().get_args());
        for (variable, value) in souk.as_std().get_envs() {
            match value {
                Some(value) => through.env(variable, value),
                None => through.env_remove(variable),
            };
        }
        through.stdin(Stdio::null()).kill_on_drop(true);
        self.spawn_command(through).opened().await
    }

    /// Starts a store without demo data, with these options.
    pub async fn start_plain(&self, options: &[&str]) -> Souk {
        let words = [&["serve", "--listen", self.listen.as_str()], options].concat();
        self.spawn_command(self.command(&words)).opened().await
    }

    fn spawn_command(&self, mut command: Command) -> Starting {
        std::fs::create_dir_all(&self.data).expect("a data folder");
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.data.join(&self.log)).expect("a log");
        command.args(&self.options).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("souk starts");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Starting { child, lines, log: self.data.join(&self.log) }
    }

    pub async fn start(&self) -> Souk {
        self.spawn().opened().await
    }
}

/// A started process that is not open yet.
pub struct Starting {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    log: PathBuf,
}

impl Starting {
    /// Waits until the process prints its URL.
    pub async fn opened(mut self) -> Souk {
        let (mut health, mut said) = (None, Vec::new());
        let address = tokio::time::timeout(START_TIMEOUT, async {
            while let Some(line) = self.lines.next_line().await.expect("reads") {
                if let Some(address) = line.strip_prefix("Health checks and metrics are at ") {
                    health = Some(Url::parse(address).expect("an address"));
                }
                if let Some(address) = line.strip_prefix("Souk is running at ") {
                    return Some(Url::parse(address).expect("an address"));
                }
                said.push(line);
            }
            None
        });
        let Ok(Some(address)) = address.await else { panic!("souk did not open:\n{}", tail(&self.log)) };
        // Keep reading its output, so that the process never blocks on the pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = self.lines.next_line().await {} });
        Souk { child: self.child, address, health, said, log: self.log }
    }

    /// Sends SIGKILL during the start.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("kills");
    }
}

/// A process that is open.
pub struct Souk {
    child: Child,
    pub address: Url,
    /// The listener for health checks, if there is one.
    pub health: Option<Url>,
    /// The lines that the process printed before its address.
    pub said: Vec<String>,
    log: PathBuf,
}

impl Souk {
    /// Sends SIGKILL.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("kills");
    }

    /// Sends SIGTERM, after which the process finishes requests and jobs in progress.
    pub async fn terminate(&mut self) {
        let sent = Command::new("sh").args(["-c", "kill -TERM \"$0\"", &self.pid().to_string()]).status().await.expect("sends a signal");
        assert!(sent.success(), "the signal was not sent");
    }

    pub async fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        tokio::time::timeout(within, self.child.wait()).await.ok().map(|status| status.expect("waits"))
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub fn whole_log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The last lines of the log.
    pub fn log(&self) -> String {
        tail(&self.log)
    }
}

fn tail(log: &Path) -> String {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<_> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
