//! The emails that the store writes into its folder. The folder keeps the latest 5,000, which are fewer than those of a long run.

use crate::audit::emails_in;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinHandle;

/// Far shorter than the time in which 5,000 newer emails are written.
const BETWEEN: Duration = Duration::from_secs(10);

/// A task that notes the names of all emails.
pub struct Emails {
    folder: PathBuf,
    seen: Arc<Mutex<BTreeSet<String>>>,
    reading: JoinHandle<()>,
}

impl Emails {
    pub fn watch(folder: PathBuf) -> Self {
        let seen = Arc::<Mutex<BTreeSet<String>>>::default();
        let reading = {
            let (folder, seen) = (folder.clone(), Arc::clone(&seen));
            tokio::spawn(async move {
                let mut ticks = tokio::time::interval(BETWEEN);
                loop {
                    ticks.tick().await;
                    let names = emails_in(&folder);
                    seen.lock().expect("no panic").extend(names);
                }
            })
        };
        Self { folder, seen, reading }
    }

    /// The names of all emails that were written until now.
    pub fn stop(self) -> BTreeSet<String> {
        self.reading.abort();
        let mut seen = self.seen.lock().expect("no panic").clone();
        seen.extend(emails_in(&self.folder));
        seen
    }
}
