//! This binary again, as the server of a baseline.

use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use url::Url;

/// A running server, which ends when this is dropped.
pub struct BaselineServer {
    _process: Child,
    pub address: Url,
}

impl BaselineServer {
    /// Starts this binary with these words. Its first line is its address.
    pub async fn start(words: &[&str]) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        let mut process = command.args(words).stdout(Stdio::piped()).kill_on_drop(true).spawn().expect("starts");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines();
        let address = lines.next_line().await.expect("reads").expect("an address");
        Self { _process: process, address: Url::parse(&address).expect("an address") }
    }
}
