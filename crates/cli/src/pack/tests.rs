//! Packs folders, as developers have them.

use super::{PackError, pack};
use crate::check::check;
use crate::project::{RELEASE_FOLDER, RELEASE_MANIFEST};
use souk_adapters::bundles::{inspect, parse_json};
use souk_adapters::testing::RunningClock;
use souk_adapters::testing::upload::png;
use souk_domain::publishing::bundle::Spooled;
use souk_domain::publishing::bundle::archive::ArchiveLimits;
use souk_domain::shared::{Clock, Json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const MANIFEST: &str = "name: hello\nversion: 1.0.0\ntitle: Hello\ndescription: Says hello\ngroup: static\nlogo: logo.png\nlicense: MIT\n\
                        screenshots: [1.png, 2.png, 3.png]\n";

/// The folder of an app that the store accepts.
fn app() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, content) in [
        ("blocklet.yml", MANIFEST.as_bytes().to_vec()),
        ("blocklet.md", b"# Hello\n".to_vec()),
        ("LICENSE", b"Permission is hereby granted\n".to_vec()),
        ("lib/index.js", b"console.log('hello');\n".to_vec()),
        ("logo.png", png(256, 256, 0)),
        ("screenshots/1.png", png(1_280, 720, 1)),
        ("screenshots/2.png", png(1_280, 720, 2)),
        ("screenshots/3.png", png(1_280, 720, 3)),
    ] {
        write(folder.path(), path, &content);
    }
    folder
}

fn write(folder: &Path, path: &str, content: &[u8]) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("creates");
    fs::write(path, content).expect("writes");
}

async fn refused(folder: &Path) -> String {
    pack(folder).await.map(|_| ()).map_err(|error: PackError| error.to_string()).expect_err("refused")
}

/// Name and state of each check, and the rules that it names.
async fn checked(folder: &Path) -> Vec<(String, String, Vec<String>)> {
    let packed = pack(folder).await.expect("packs");
    let checks = check(&packed, RunningClock.now()).await;
    let rules = |one: &crate::report::Check| one.findings.iter().map(|finding| finding.rule.clone()).collect();
    checks.iter().map(|one| (one.name.clone(), one.state.clone(), rules(one))).collect()
}

#[tokio::test]
async fn the_same_files_give_the_same_bytes() {
    let (one, other) = (app(), app());
    // Neither the time of a file nor the permissions of others are packed.
    let file = other.path().join("lib/index.js");
    fs::File::options().write(true).open(&file).expect("opens").set_modified(std::time::UNIX_EPOCH).expect("sets the time");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("sets the mode");
    let (one, other) = (pack(one.path()).await.expect("packs"), pack(other.path()).await.expect("packs"));
    assert_eq!(one.bundle.integrity(), other.bundle.integrity());
    assert_eq!(fs::read(one.bundle.path()).expect("reads"), fs::read(other.bundle.path()).expect("reads"));
}

#[tokio::test]
async fn the_release_folder_has_a_bundle_below_package_and_the_manifest_that_describes_it() {
    let app = app();
    let long = format!("{}/{}.js", "d".repeat(120), "f".repeat(110));
    write(app.path(), &long, b"");
    let packed = pack(app.path()).await.expect("packs");
    // A second time, the first bundle is not packed.
    let again = pack(app.path()).await.expect("packs");
    assert_eq!(packed.bundle.integrity(), again.bundle.integrity());
    let release = app.path().join(RELEASE_FOLDER);
    let mut files: Vec<_> = fs::read_dir(&release).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    files.sort();
    assert_eq!(files, [RELEASE_MANIFEST, "hello-1.0.0.tgz"]);
    let document = parse_json(&fs::read(release.join(RELEASE_MANIFEST)).expect("reads")).expect("JSON");
    let dist = document.get("dist").expect("describes its bundle");
    let bytes = fs::read(release.join("hello-1.0.0.tgz")).expect("reads");
    assert_eq!(dist.get("size"), Some(&Json::Number(bytes.len().to_string())));
    assert_eq!(dist.get("integrity").and_then(Json::as_text), Some(packed.bundle.integrity()));
    let mut paths = Vec::new();
    inspect(bytes.as_slice(), bytes.len() as u64, &ArchiveLimits::default(), &mut |entry, _| {
        paths.push(entry.path.to_string());
        Ok(())
    })
    .expect("the store accepts it");
    let long = format!("package/{long}");
    let expected = ["package/LICENSE", "package/blocklet.md", "package/blocklet.yml", &long, "package/lib/index.js", "package/logo.png"];
    assert_eq!(paths[..6], expected);
    assert_eq!(paths.len(), 9);
}

#[tokio::test]
async fn a_link_that_has_the_name_of_a_part_is_replaced_and_not_followed() {
    let app = app();
    let outside = tempfile::tempdir().expect("a folder");
    let release = app.path().join(RELEASE_FOLDER);
    fs::create_dir_all(&release).expect("creates");
    for name in [".hello-1.0.0.tgz.part".to_owned(), format!(".{RELEASE_MANIFEST}.part")] {
        let target = outside.path().join(&name);
        fs::write(&target, "kept").expect("writes");
        symlink(&target, release.join(&name)).expect("links");
    }
    pack(app.path()).await.expect("packs");
    for file in fs::read_dir(outside.path()).expect("a folder") {
        assert_eq!(fs::read_to_string(file.expect("an entry").path()).expect("reads"), "kept");
    }
    let mut files: Vec<_> = fs::read_dir(&release).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    files.sort();
    assert_eq!(files, [RELEASE_MANIFEST, "hello-1.0.0.tgz"]);
}

#[tokio::test]
async fn every_path_that_the_store_accepts_is_packed_as_the_store_reads_it() {
    let app = app();
    // What fits into a header, what needs its prefix in the form of POSIX, and what fits into neither.
    for (folder, name) in [(1, 98), (100, 98), (140, 99), (140, 100), (120, 110), (2, 240)] {
        write(app.path(), &format!("{}/{}", "d".repeat(folder), "f".repeat(name)), b"");
    }
    let packed = pack(app.path()).await.expect("the store accepts it");
    assert_eq!(packed.files.len(), 8 + 6);
}

#[tokio::test]
async fn what_the_store_would_refuse_is_refused_by_name_and_leaves_no_bundle() {
    type Change<'a> = &'a dyn Fn(&Path);
    let cases: [(&str, Change<'_>); 6] = [
        ("description must have at least 3 characters", &|app| {
            write(app, "blocklet.yml", MANIFEST.replace("Says hello", "Hi").as_bytes());
        }),
        ("lib/link is a link", &|app| symlink("/etc/passwd", app.join("lib/link")).expect("links")),
        ("files[0] is not a path inside the bundle", &|app| {
            write(app, "blocklet.yml", format!("{MANIFEST}files: [../other]\n").as_bytes());
        }),
        ("lists dist in `files`", &|app| write(app, "blocklet.yml", format!("{MANIFEST}files: [dist]\n").as_bytes())),
        ("ndex.js", &|app| write(app, "lib/Index.js", b"")),
        (".blocklet is a link", &|app| symlink("/tmp", app.join(".blocklet")).expect("links")),
    ];
    for (message, change) in cases {
        let app = app();
        change(app.path());
        let refusal = refused(app.path()).await;
        assert!(refusal.contains(message), "{refusal}");
        let release = app.path().join(RELEASE_FOLDER);
        assert!(!release.exists() || fs::read_dir(release).expect("a folder").count() == 0, "{message}");
    }
}

#[tokio::test]
async fn the_checks_of_the_store_are_run_on_the_bundle() {
    let app = app();
    let passed = checked(app.path()).await;
    let states: Vec<_> = passed.iter().map(|(name, state, _)| (name.as_str(), state.as_str())).collect();
    let expected = ["manifest", "archive", "secrets", "license", "pictures"].map(|name| (name, "passed"));
    assert_eq!(states.iter().filter(|(_, state)| *state == "passed").copied().collect::<Vec<_>>(), expected);
    assert_eq!(states.iter().filter(|(_, state)| *state == "store").count(), 2, "{states:?}");

    write(app.path(), "lib/key.pem", concat!("-----BEGIN ", "PRIVATE KEY-----\n").as_bytes());
    write(app.path(), "blocklet.yml", MANIFEST.replace("title: Hello", "title: Hell\u{43e}").as_bytes());
    fs::remove_file(app.path().join("LICENSE")).expect("removes");
    fs::remove_file(app.path().join("blocklet.md")).expect("removes");
    write(app.path(), "screenshots/2.png", &png(1_280, 720, 1));
    let failed = checked(app.path()).await;
    let rules: Vec<_> = failed.iter().filter(|(_, state, _)| state == "failed").flat_map(|(_, _, rules)| rules.iter()).collect();
    assert_eq!(rules, ["manifest.readme_missing", "secrets.private_key", "look_alike.scripts", "license.text_missing", "pictures.invalid"]);
    fs::remove_file(app.path().join("screenshots/3.png")).expect("removes");
    let missing = checked(app.path()).await;
    let of_pictures = missing.iter().find(|(name, ..)| name == "pictures").map(|(_, state, rules)| (state.as_str(), rules.len()));
    assert_eq!(of_pictures, Some(("failed", 3)), "one is missing, one has the content of another, and there are too few");
}

#[tokio::test]
async fn a_bundle_that_cannot_be_read_says_nothing_about_the_app() {
    let app = app();
    write(app.path(), "blocklet.yml", MANIFEST.replace("title: Hello", "title: Hell\u{43e}").as_bytes());
    let packed = pack(app.path()).await.expect("packs");
    fs::remove_file(packed.bundle.path()).expect("removes");
    let checks = check(&packed, RunningClock.now()).await;
    let states: Vec<_> = checks.iter().map(|check| (check.name.as_str(), check.state.as_str())).collect();
    let errored = |name| (name, "errored");
    let expected = [
        errored("manifest"),
        errored("archive"),
        errored("secrets"),
        ("look_alike", "failed"),
        errored("license"),
        errored("pictures"),
        ("blocked_digests", "store"),
    ];
    assert_eq!(states, expected);
}
