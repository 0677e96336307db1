//! Counts the statements and commits of this process, for tests and benchmarks, and records the statements of one task.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

static STATEMENTS: AtomicU64 = AtomicU64::new(0);
static COMMITS: AtomicU64 = AtomicU64::new(0);

tokio::task_local! {
    static RECORD: RefCell<Vec<String>>;
}

pub(super) fn statement(sql: &str) {
    STATEMENTS.fetch_add(1, Ordering::Relaxed);
    // Without a record, nobody asks for the texts.
    RECORD.try_with(|record| record.borrow_mut().push(sql.to_owned())).unwrap_or_default();
}

pub(super) fn commit() {
    COMMITS.fetch_add(1, Ordering::Relaxed);
}

/// What was sent to the databases since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    pub statements: u64,
    pub commits: u64,
}

#[must_use]
pub fn sent() -> Sent {
    Sent { statements: STATEMENTS.load(Ordering::Relaxed), commits: COMMITS.load(Ordering::Relaxed) }
}

/// The result of some work, and the statements that its task ran.
#[derive(Debug)]
pub struct Recorded<T> {
    pub output: T,
    pub statements: Vec<String>,
}

/// Does some work and records its statements, in order.
pub async fn recorded<T>(work: impl Future<Output = T>) -> Recorded<T> {
    let work = async {
        let output = work.await;
        Recorded { output, statements: RECORD.with(RefCell::take) }
    };
    RECORD.scope(RefCell::default(), work).await
}

impl<T> Recorded<T> {
    /// The statements that ran more often than in `other`, without the lists of their values, and how much more often.
    #[must_use]
    pub fn growth_over<U>(&self, other: &Recorded<U>) -> BTreeMap<String, usize> {
        let (counts, mut others) = (counts(&self.statements), counts(&other.statements));
        let more = counts.into_iter().map(|(text, count)| {
            let more = count.saturating_sub(others.remove(&text).unwrap_or_default());
            (text, more)
        });
        more.filter(|(_, more)| *more > 0).collect()
    }
}

/// Counts statements by their text without the values. A write of many rows counts once, although SQLite writes 100 rows as batches of 64,
/// 32 and 4. Repeated statements of the same size are no batches of one write.
fn counts(statements: &[String]) -> BTreeMap<String, usize> {
    let (mut counts, mut run, mut sizes) = (BTreeMap::new(), String::new(), BTreeSet::new());
    for statement in statements {
        // What follows lists the values of the rows.
        let values = [") VALUES ", ") SELECT ", " FROM (SELECT "]
            .into_iter()
            .filter_map(|start| statement.find(start).map(|at| at + usize::from(start.starts_with(')'))))
            .min();
        let text = &statement[..values.unwrap_or(statement.len())];
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text != run {
            (run, sizes) = (text.clone(), BTreeSet::new());
        } else if sizes.insert(statement.len()) {
            continue;
        }
        sizes.insert(statement.len());
        *counts.entry(text).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(statements: &[&str]) -> Recorded<()> {
        Recorded { output: (), statements: statements.iter().map(|text| (*text).to_owned()).collect() }
    }

    #[test]
    fn batches_of_one_write_count_once_and_repeated_statements_each_time() {
        let one = of(&["INSERT INTO a (b) VALUES (?)", "SELECT 1"]);
        assert!(of(&["INSERT INTO a (b) VALUES (?), (?)", "INSERT INTO a (b) VALUES (?)", "SELECT 1"]).growth_over(&one).is_empty());
        let loops = of(&["INSERT INTO a (b) VALUES (?)", "INSERT INTO a (b) VALUES (?)", "SELECT 1", "SELECT 1", "SELECT 2"]);
        let growth = loops.growth_over(&one);
        assert_eq!(growth, [("INSERT INTO a (b)", 1), ("SELECT 1", 1), ("SELECT 2", 1)].map(|(text, n)| (text.to_owned(), n)).into());
    }

    #[tokio::test]
    async fn a_task_records_only_its_own_statements() {
        statement("before");
        let recorded = recorded(async { statement("within") }).await;
        statement("after");
        assert_eq!(recorded.statements, ["within"]);
    }
}
