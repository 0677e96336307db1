//! Archives that are incomplete, altered, of a newer version or of somebody else, and targets that are not empty.

use super::rows::Schema;
use super::{back_up, passphrase, refused, restore, store_bundle};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::Value;
use souk_adapters::backup::{BackupError, inspect};
use souk_adapters::testing::TestDatabase;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use tar::{Archive, Builder, EntryType, Header};

/// An entry of an archive that a test composes.
#[derive(Clone)]
struct Entry {
    name: String,
    kind: EntryType,
    content: Vec<u8>,
}

fn entries_of(archive: &Path) -> Vec<Entry> {
    let mut tar = Archive::new(GzDecoder::new(std::fs::File::open(archive).expect("opens")));
    let read = |entry: std::io::Result<tar::Entry<'_, GzDecoder<std::fs::File>>>| {
        let mut entry = entry.expect("an entry");
        let (name, kind) = (entry.path().expect("a name").display().to_string(), entry.header().entry_type());
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("reads");
        Entry { name, kind, content }
    };
    tar.entries().expect("entries").map(read).collect()
}

/// Writes names as they are, also those that the library refuses to write.
fn write_archive(archive: &Path, entries: &[Entry]) {
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for Entry { name, kind, content } in entries {
        let mut header = Header::new_old();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        header.set_cksum();
        tar.append(&header, content.as_slice()).expect("appends");
    }
    let bytes = tar.into_inner().expect("ends").finish().expect("compresses");
    std::fs::File::create(archive).expect("creates").write_all(&bytes).expect("writes");
}

/// A plain backup of a small store, and its folder.
async fn small() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = TestDatabase::sqlite().await;
    Schema::read().await.fill(&database).await;
    let archive = folder.path().join("souk.tar.gz");
    store_bundle(&archive);
    back_up(&database, &archive, None).await.expect("backs up");
    (folder, archive)
}

#[tokio::test]
async fn an_altered_archive_is_refused_wherever_it_was_altered() {
    let (folder, archive) = small().await;
    let entries = entries_of(&archive);
    let users = entries.iter().position(|entry| entry.name == "database/users/000001.jsonl").expect("users");
    let manifest = entries.len() - 1;
    assert_eq!(entries[manifest].name, "manifest.json");
    let file = |name: &str, kind| Entry { name: name.to_owned(), kind, content: b"x".to_vec() };
    let changed = |change: &dyn Fn(&mut Vec<Entry>)| {
        let mut entries = entries.clone();
        change(&mut entries);
        entries
    };
    let in_manifest = |change: &dyn Fn(&mut Value)| {
        changed(&|entries| {
            let mut json: Value = serde_json::from_slice(&entries[manifest].content).expect("JSON");
            change(&mut json);
            entries[manifest].content = json.to_string().into_bytes();
        })
    };
    let traversal = ["../secret.key", "/tmp/secret.key", "files/../../x", "database/users/../../../x.jsonl", "files/readme"];
    let mut cases = vec![
        ("a value was changed", changed(&|entries| *entries[users].content.last_mut().expect("a byte") = b' ')),
        (
            "a row is missing",
            changed(&|entries| {
                entries[users].content = entries[users].content.splitn(2, |byte| *byte == b'\n').nth(1).expect("a second row").to_vec()
            }),
        ),
        ("an entry is missing", changed(&|entries| drop(entries.remove(users)))),
        ("an entry is there twice", changed(&|entries| entries.insert(users, entries[users].clone()))),
        ("something follows the end", changed(&|entries| entries.push(entries[users].clone()))),
        ("the manifest is missing", changed(&|entries| drop(entries.remove(manifest)))),
        ("the manifest is no JSON", changed(&|entries| entries[manifest].content.truncate(50))),
        ("the key is missing", changed(&|entries| drop(entries.remove(0)))),
        (
            "a stored file has another content",
            changed(&|entries| entries.insert(1, file(&format!("files/{}", "a".repeat(64)), EntryType::Regular))),
        ),
        ("a link", changed(&|entries| entries.insert(1, Entry { kind: EntryType::Symlink, ..entries[0].clone() }))),
        ("the manifest counts more rows", in_manifest(&|json| json["database"]["users"]["rows"] = 4.into())),
        ("the manifest lacks a table", in_manifest(&|json| drop(json["database"].as_object_mut().expect("tables").remove("users")))),
    ];
    cases.extend(traversal.map(|name| (name, changed(&|entries| entries.insert(1, file(name, EntryType::Regular))))));
    for (case, entries) in cases {
        let path = folder.path().join("altered.tar.gz");
        write_archive(&path, &entries);
        let error = refused(&path, None).await;
        assert!(matches!(error, BackupError::Damaged { .. }), "{case}: {error}");
        assert!(error.to_string().contains("altered.tar.gz"), "{case}: {error}");
    }
    // What the test composes is accepted if nothing was altered.
    write_archive(&folder.path().join("same.tar.gz"), &entries);
    assert!(inspect(&folder.path().join("same.tar.gz"), None).await.is_ok());
}

#[tokio::test]
async fn newer_formats_and_schemas_are_refused_by_name() {
    let (folder, archive) = small().await;
    let path = folder.path().join("newer.tar.gz");
    for what in ["format", "schema"] {
        let mut entries = entries_of(&archive);
        let manifest = entries.last_mut().expect("a manifest");
        let mut json: Value = serde_json::from_slice(&manifest.content).expect("JSON");
        json[what] = 9_999.into();
        manifest.content = json.to_string().into_bytes();
        write_archive(&path, &entries);
        let error = refused(&path, None).await;
        assert!(matches!(error, BackupError::Newer { found: 9_999, .. }), "{error}");
        assert!(error.to_string().contains(&format!("{what} 9999")), "{error}");
    }
}

#[tokio::test]
async fn a_truncated_archive_is_refused_at_every_length() {
    let (folder, archive) = small().await;
    let bytes = std::fs::read(&archive).expect("reads");
    let path = folder.path().join("short.tar.gz");
    for length in (0..bytes.len()).step_by(bytes.len() / 60).chain(bytes.len() - 9..bytes.len()) {
        std::fs::write(&path, &bytes[..length]).expect("writes");
        let error = refused(&path, None).await;
        assert!(matches!(error, BackupError::Damaged { .. } | BackupError::NotABackup(_)), "{length}: {error}");
    }
}

#[tokio::test]
async fn an_encrypted_archive_opens_with_its_passphrase_only_and_shows_nothing_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = TestDatabase::sqlite().await;
    Schema::read().await.fill(&database).await;
    let archive = folder.path().join("souk.tar.gz.age");
    store_bundle(&archive);
    back_up(&database, &archive, passphrase("correct horse battery")).await.expect("backs up");
    assert!(matches!(refused(&archive, None).await, BackupError::NeedsPassphrase(_)));
    let error = refused(&archive, passphrase("incorrect horse battery")).await;
    assert!(matches!(error, BackupError::WrongPassphrase(_)), "{error}");
    assert!(!error.to_string().contains("horse"), "{error}");

    let bytes = std::fs::read(&archive).expect("reads");
    assert!(bytes.starts_with(b"age-encryption.org/v1\n-> scrypt "), "the format of age");
    assert!(!bytes.windows(super::KEY.len()).any(|window| window == super::KEY.as_bytes()));
    let path = folder.path().join("altered.age");
    for position in [bytes.len() / 2, bytes.len() - 1] {
        let mut altered = bytes.clone();
        altered[position] ^= 1;
        std::fs::write(&path, &altered).expect("writes");
        let error = refused(&path, passphrase("correct horse battery")).await;
        assert!(matches!(error, BackupError::Damaged { .. }), "{position}: {error}");
    }
    std::fs::write(&path, &bytes[..bytes.len() - 70_000.min(bytes.len() / 3)]).expect("writes");
    assert!(matches!(refused(&path, passphrase("correct horse battery")).await, BackupError::Damaged { .. }));
}

#[tokio::test]
async fn a_backup_is_restored_into_an_empty_database_only_and_a_failed_restore_changes_nothing() {
    let (folder, archive) = small().await;
    let inspected = inspect(&archive, None).await.expect("a backup");
    let (schema, used) = (Schema::read().await, TestDatabase::sqlite().await);
    let mut connection = used.begin().await.expect("begins");
    connection.query("UPDATE number_series SET last_number = 1 WHERE document = 'invoice' AND livemode").execute().await.expect("updates");
    connection.commit().await.expect("commits");
    let before = schema.rows(&used).await;
    let error = restore(&inspected, &used, &folder.path().join("files")).await.expect_err("refused");
    assert!(matches!(&error, BackupError::NotEmpty(table) if table == "number_series"), "{error}");
    assert_eq!(schema.rows(&used).await, before);

    // The archive is replaced between its inspection and its restore.
    let empty = TestDatabase::sqlite().await;
    let before = schema.rows(&empty).await;
    let mut entries = entries_of(&archive);
    let starts = entries.iter_mut().find(|entry| entry.name.starts_with("database/session_starts/")).expect("a table");
    starts.content = starts.content.splitn(2, |byte| *byte == b'\n').nth(1).expect("a second row").to_vec();
    write_archive(&archive, &entries);
    let error = restore(&inspected, &empty, &folder.path().join("files")).await.expect_err("refused");
    assert!(matches!(error, BackupError::Damaged { .. }), "{error}");
    assert_eq!(schema.rows(&empty).await, before);
}

#[tokio::test]
async fn a_backup_never_replaces_a_file_and_leaves_no_draft_when_it_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    let database = TestDatabase::sqlite().await;
    let archive = folder.path().join("souk.tar.gz");
    std::fs::write(&archive, "precious").expect("writes");
    let error = back_up(&database, &archive, None).await.expect_err("refused");
    assert!(matches!(error, BackupError::Exists(_)), "{error}");
    assert_eq!(std::fs::read(&archive).expect("reads"), b"precious");

    // A stored file whose content was damaged on the disk fails the backup.
    let hash = "b".repeat(64);
    std::fs::create_dir_all(folder.path().join("files/bb")).expect("a folder");
    std::fs::write(folder.path().join("files/bb").join(&hash), "other").expect("writes");
    let other = folder.path().join("other.tar.gz");
    let error = back_up(&database, &other, None).await.expect_err("refused");
    assert!(error.to_string().contains(&hash) && error.to_string().contains("not the one that its name says"), "{error}");
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).expect("lists").flatten().map(|entry| entry.file_name()).collect();
    left.sort();
    assert_eq!(left, ["files", "souk.tar.gz"]);
}
