//! The public log of publications, as everybody can read and check it.

use super::sha256;
use crate::store_client::StoreClient;
use serde_json::Value;

/// The entries that are asked for at a time.
const PAGE: usize = 1_000;

/// An entry without its place in the chain.
struct Entry {
    action: String,
    app_digest: String,
    /// Empty: the entry is about the app.
    version: String,
    document: String,
}

/// What was read of the log so far.
#[derive(Default)]
pub struct PublicLog {
    entries: Vec<Entry>,
    /// The hash of the last entry.
    head: String,
}

impl PublicLog {
    /// Reads the entries that were appended since the last time, also if a process died in between. Returns what breaks the chain.
    pub async fn read_on(&mut self, client: &StoreClient) -> Vec<String> {
        let mut wrong = Vec::new();
        loop {
            let path = format!("api/publication-log?after={}&limit={PAGE}", self.entries.len());
            let page = client.get(&path, None).await.unwrap_or_else(|error| panic!("the log is not readable: {error:?}"));
            let list = page["list"].as_array().expect("a list");
            list.iter().for_each(|entry| wrong.extend(self.append(entry)));
            let (read, count) = (self.entries.len() as u64, page["count"].as_u64().unwrap_or_default());
            if count > read && !list.is_empty() {
                continue;
            }
            // The store may append an entry between its two reads for one answer.
            if count < read || (count == read && page["head"] != self.head) {
                wrong.push(format!("the log has {count} entries and ends with {}, after {read} that end with {}", page["head"], self.head));
            }
            return wrong;
        }
    }

    fn append(&mut self, entry: &Value) -> Option<String> {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let sequence = entry["sequence"].as_u64().unwrap_or_default();
        let found = Entry { action: text("action"), app_digest: text("app_digest"), version: text("version"), document: text("document") };
        let Entry { action, app_digest, version, document } = &found;
        let previous = if self.head.is_empty() { "0".repeat(64) } else { self.head.clone() };
        let lines = format!("{sequence}\n{}\n{action}\n{app_digest}\n{version}\n{document}\n{previous}\n", text("created_at"));
        let is_next = sequence == self.entries.len() as u64 + 1 && text("previous") == previous && text("hash") == sha256(lines.as_bytes());
        self.entries.push(found);
        self.head = text("hash");
        (!is_next).then(|| format!("the log's entry {sequence} does not continue its chain: {entry}"))
    }

    /// The entries about a version with these actions, oldest first.
    fn entries_about(&self, app: &str, version: &str, actions: &[&str]) -> Vec<&Entry> {
        let app_digest = sha256(app.as_bytes());
        let is_about = |entry: &&Entry| entry.app_digest == app_digest && entry.version == version;
        self.entries.iter().filter(is_about).filter(|entry| actions.contains(&entry.action.as_str())).collect()
    }

    /// The digest of the document of each publication of a version. There should be at most one.
    pub fn publications(&self, app: &str, version: &str) -> Vec<String> {
        self.entries_about(app, version, &["publish"]).iter().map(|entry| entry.document.clone()).collect()
    }

    /// Whether the log says that a version is yanked.
    pub fn is_yanked(&self, app: &str, version: &str) -> bool {
        self.entries_about(app, version, &["yank", "undo_yank"]).last().is_some_and(|last| last.action == "yank")
    }
}
