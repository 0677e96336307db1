//! Which commands the audit log shows.

use crate::config::Cli;
use clap::{CommandFactory, Parser};
use souk_adapters::arcblock::TestWallet;
use souk_adapters::persistence::{Database, SecretBox, SqlOutbox, SqlStore};
use souk_domain::access::{AuditActor, AuditFilter, Operation};
use souk_domain::events::{Message, Outbox, Topic};
use souk_domain::shared::{EventId, Page, Timestamp};
use souk_domain::storage::Store;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// How the audit log shows a command.
#[derive(Debug, Clone, Copy)]
enum Recording {
    As(&'static [Operation]),
    /// With an option only, and what the command does without it.
    WithOption(&'static [Operation], &'static str),
    /// It has no entry, for this reason.
    None(&'static str),
}
use Recording::{As, None as NotRecorded, WithOption};

const READS: &str = "it changes nothing, and shows no secret and no data of customers";
const INSTALLS: &str = "it is run on a customer's computer, and changes nothing in a store but its own sign-in there";
const PUBLISHES: &str = "it is run on a developer's computer, and a store records the calls that it gets";

/// Every command, in the order of its words.
const COMMANDS: [(&str, Recording); 32] = [
    ("backup", As(&[Operation::TakeBackup])),
    ("clock confirm", As(&[Operation::ConfirmClock])),
    ("clock status", NotRecorded(READS)),
    ("connect", NotRecorded(PUBLISHES)),
    ("dead-letters", WithOption(&[Operation::RetryDeadLetter], READS)),
    ("doctor", WithOption(&[Operation::StakeForGas], READS)),
    ("history-process", NotRecorded("it uses a temporary database only")),
    ("init", NotRecorded(PUBLISHES)),
    ("install", NotRecorded(INSTALLS)),
    ("key create", As(&[Operation::CreateKey])),
    ("key list", NotRecorded(READS)),
    ("key revoke", As(&[Operation::RevokeKey])),
    ("ledger export", NotRecorded("it changes nothing, and prints amounts and ids only")),
    ("login", NotRecorded(INSTALLS)),
    ("logout", NotRecorded(INSTALLS)),
    ("migrate", NotRecorded("each start does the same, and nobody can choose what it does")),
    ("openapi", NotRecorded("it opens no store")),
    ("pack", NotRecorded(PUBLISHES)),
    ("passport issue", As(&[Operation::IssuePassport])),
    ("passport list", NotRecorded(READS)),
    ("passport revoke", As(&[Operation::RevokePassport])),
    ("publish", NotRecorded(PUBLISHES)),
    ("restore", As(&[Operation::RestoreBackup])),
    ("restore confirm", As(&[Operation::ConfirmRestore, Operation::SkipImport])),
    ("restore status", NotRecorded(READS)),
    ("rotate-key", As(&[Operation::RotateKey])),
    ("serve", NotRecorded("what is done through it is recorded as what users and keys do")),
    ("status", NotRecorded(PUBLISHES)),
    ("update", NotRecorded(INSTALLS)),
    ("verify", NotRecorded(READS)),
    ("work", NotRecorded("it runs the jobs that calls have ordered")),
    ("yank", NotRecorded(PUBLISHES)),
];

/// The words of every command that can be run.
fn names(command: &clap::Command, words: &str, found: &mut BTreeSet<String>) {
    let children: Vec<_> = command.get_subcommands().filter(|child| child.get_name() != "help").collect();
    let runs_itself = children.is_empty() || command.get_positionals().next().is_some();
    if runs_itself && !words.is_empty() {
        found.insert(words.to_owned());
    }
    for child in children {
        let words = format!("{words} {}", child.get_name());
        names(child, words.trim_start(), found);
    }
}

#[test]
fn every_command_has_an_entry_in_the_audit_log_or_a_reason_for_having_none() {
    let mut found = BTreeSet::new();
    names(&Cli::command(), "", &mut found);
    assert_eq!(
        found,
        COMMANDS.iter().map(|(name, _)| (*name).to_owned()).collect(),
        "say in COMMANDS how the audit log shows a new command"
    );
    for (name, recording) in COMMANDS {
        if let NotRecorded(reason) | WithOption(_, reason) = recording {
            assert!(!reason.is_empty(), "{name}");
        }
    }
}

/// A store in a folder, on which commands run one after another.
struct Folder<'f>(&'f Path);

impl Folder<'_> {
    async fn run(&self, words: &[&str]) {
        let (command, rest) = words.split_first().expect("a command");
        let common = ["souk", command, "--data", self.0.to_str().expect("text")];
        let cli = Cli::try_parse_from(common.iter().chain(rest)).expect("a command");
        crate::run(cli.command).await.unwrap_or_else(|error| panic!("{words:?}: {error}"));
    }

    async fn database(&self) -> Database {
        Database::open_file(&self.0.join("souk.db")).await.expect("opens")
    }

    /// The operations in the audit log, oldest first, all of commands.
    async fn recorded(&self) -> Vec<Operation> {
        let database = self.database().await;
        let store = SqlStore::new(database.clone(), Arc::new(SecretBox::new(&[0; 32])));
        let listed = store.read().await.expect("reads").audit_log().list(&AuditFilter::default(), &Page::new(None, Some(100))).await;
        let entries = listed.expect("lists").list;
        database.close().await;
        assert!(entries.iter().all(|entry| entry.actor == AuditActor::Command && entry.address.is_none()), "{entries:?}");
        entries.iter().rev().map(|entry| entry.operation).collect()
    }

    async fn insert_user(&self, did: &str) {
        let database = self.database().await;
        let mut connection = database.begin().await.expect("begins");
        let insert = "INSERT INTO users (did, public_key, full_name, email, phone, language, created_at, updated_at, examined_at)
                      VALUES ($1, 'z', '', '', '', 'en', 0, 0, 0)";
        connection.query(insert).bind(did).execute().await.expect("inserts");
        connection.commit().await.expect("commits");
        database.close().await;
    }

    async fn text(&self, sql: &'static str) -> String {
        let database = self.database().await;
        let found = database.read().await.expect("reads").query(sql).one().await.expect("reads").get("id").expect("a text");
        database.close().await;
        found
    }

    /// A message that could not be delivered.
    async fn bury_message(&self) {
        let database = self.database().await;
        let (mut connection, now) = (database.begin().await.expect("begins"), Timestamp::from_seconds(1_800_000_000));
        let message = Message::new(Topic::ReceiptMail, now).with("invoice", "in_1");
        let id = EventId::parse("evt_dead").expect("an id");
        SqlOutbox(&mut connection).publish(&id, &message, now).await.expect("publishes");
        connection.query("UPDATE outbox SET dead_at = 1, attempts = 10, last_error = 'none'").execute().await.expect("buries");
        connection.commit().await.expect("commits");
        database.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_log_shows_what_each_command_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let (original, restored) = (folder.path().join("original"), folder.path().join("restored"));
    let (store, archive) = (Folder(&original), folder.path().join("backup.tar.gz"));
    let archive = archive.to_str().expect("text");
    let mut expected = BTreeMap::<&str, &[Operation]>::new();
    for (name, recording) in COMMANDS {
        if let As(operations) | WithOption(operations, _) = recording {
            expected.insert(name, operations);
        }
    }
    // Needs a network: the process tests run it.
    expected.remove("doctor");
    let (mut seen, mut log) = (BTreeMap::<&str, Vec<Operation>>::new(), Vec::new());
    let mut check = |name: &'static str, after: Vec<Operation>| {
        assert!(after.starts_with(&log), "entries are only added: {after:?}");
        seen.entry(name).or_default().extend(&after[log.len()..]);
        log = after;
    };
    store.run(&["migrate"]).await;
    store.run(&["key", "create", "--name", "shop", "--scope", "products:write"]).await;
    check("key create", store.recorded().await);
    let key = store.text("SELECT id FROM api_keys").await;
    store.run(&["key", "revoke", &key]).await;
    check("key revoke", store.recorded().await);
    let did = TestWallet::from_seed(&[1; 32]).did().to_string();
    store.insert_user(&did).await;
    store.run(&["passport", "issue", "--did", &did, "--role", "admin"]).await;
    check("passport issue", store.recorded().await);
    let passport = store.text("SELECT id FROM passports").await;
    store.run(&["passport", "revoke", &passport]).await;
    check("passport revoke", store.recorded().await);
    store.run(&["clock", "confirm"]).await;
    check("clock confirm", store.recorded().await);
    store.bury_message().await;
    store.run(&["dead-letters", "--retry", "evt_dead"]).await;
    check("dead-letters", store.recorded().await);
    store.run(&["rotate-key"]).await;
    check("rotate-key", store.recorded().await);
    store.run(&["backup", "--plain", "--output", archive]).await;
    check("backup", store.recorded().await);
    for (name, _) in COMMANDS.iter().filter(|(name, recording)| matches!(recording, NotRecorded(_)) && name.ends_with(" list")) {
        store.run(&name.split(' ').collect::<Vec<_>>()).await;
    }
    check("key list", store.recorded().await);
    std::fs::create_dir(&restored).expect("a folder");
    let copy = Folder(&restored);
    copy.run(&["restore", archive]).await;
    check("restore", copy.recorded().await);
    copy.run(&["restore", "confirm", "--skip-import"]).await;
    check("restore confirm", copy.recorded().await);
    assert_eq!(seen.remove("key list"), Some(Vec::new()));
    assert_eq!(seen, expected.into_iter().map(|(name, operations)| (name, operations.to_vec())).collect());
}
