//! Uploaded apps, versions and stored files.

use crate::catalogue::{app, at, did, shelve};
use crate::checkout_fixtures::user;
use semver::Version;
use souk_adapters::on_both;
use souk_adapters::persistence::{SqlApps, SqlPersonalData, SqlReviews, SqlUploads, SqlUsers};
use souk_domain::access::{ProfilePicture, Users};
use souk_domain::privacy::PersonalData;
use souk_domain::publishing::bundle::checks::{CheckName, CheckResult, Finding, KnownName, Rule};
use souk_domain::publishing::bundle::{FileClaim, FileRole, NewVersion, UploadSource, UploadedApp, UploadedVersion, Uploads, VersionFile};
use souk_domain::publishing::review::{Reviews, RiskProfile, VersionStatus};
use souk_domain::shared::{PictureFormat, VersionId};
use souk_domain::store::{App, Apps};

pub fn number(text: &str) -> Version {
    Version::parse(text).expect(text)
}

pub fn uploaded_app(did_text: &str, name: &str) -> UploadedApp {
    UploadedApp {
        did: did(did_text),
        name: name.to_owned(),
        owner: did("zDev"),
        latest: number("1.0.0"),
        block_reason: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

fn hash(digit: &str) -> String {
    digit.repeat(64)
}

pub fn version(id: &str, text: &str) -> UploadedVersion {
    let file = |role, path: &str, digit: &str| VersionFile { role, path: path.to_owned(), sha256: hash(digit), size: 7 };
    UploadedVersion {
        id: VersionId::parse(id).expect("an id"),
        app: did("z1"),
        version: number(text),
        status: VersionStatus::Draft,
        is_yanked: false,
        document: hash("a"),
        content: hash("b"),
        bundle: hash("c"),
        tarball: format!("hello-{text}.tgz"),
        integrity: "sha512-x".to_owned(),
        size: 500 << 20,
        entries: 12,
        unpacked: 2 << 30,
        source: UploadSource::Cli,
        signer: did("zKey"),
        uploaded_at: at(5),
        files: vec![
            file(FileRole::Logo, "logo.png", "d"),
            file(FileRole::Screenshot, "screenshots/b.png", "e"),
            file(FileRole::Screenshot, "screenshots/a.png", "e"),
        ],
    }
}

fn claims(digits: &[&str]) -> Vec<FileClaim> {
    digits.iter().map(|digit| FileClaim { sha256: hash(digit), size: 7 }).collect()
}

on_both! {
    async fn an_uploaded_version_is_read_as_written(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        let mut uploads = SqlUploads(&mut connection);
        let app = uploaded_app("z1", "hello");
        assert!(uploads.insert_app(&app).await.expect("inserts"));
        assert_eq!(uploads.find_app(&app.did).await.expect("reads"), Some(app.clone()));
        assert_eq!(uploads.find_app_by_name("hello").await.expect("reads"), Some(app));
        assert_eq!(uploads.find_app_by_name("Hello").await.expect("reads"), None);
        let one = version("ver_1", "1.0.0-beta.1");
        assert!(uploads.insert_version(&one, &NewVersion::default()).await.expect("inserts"));
        assert_eq!(uploads.find_version(&one.app, &one.version).await.expect("reads"), Some(one.clone()));
        assert_eq!(uploads.find_by_tarball(&one.app, &one.tarball).await.expect("reads"), Some(one.clone()));
        assert_eq!(uploads.find_version(&one.app, &number("1.0.0")).await.expect("reads"), None);
        let same = UploadedVersion { id: VersionId::parse("ver_2").expect("an id"), ..one };
        assert!(!uploads.insert_version(&same, &NewVersion::default()).await.expect("is refused"), "an app has a version once");
        let of_same_name = UploadedVersion { version: number("2.0.0"), ..same };
        assert!(!uploads.insert_version(&of_same_name, &NewVersion::default()).await.expect("is refused"), "and a bundle of a name");
    }

    async fn a_name_and_a_did_belong_to_one_app(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        let mut uploads = SqlUploads(&mut connection);
        assert!(uploads.insert_app(&uploaded_app("z1", "hello")).await.expect("inserts"));
        for (did, name) in [("z1", "other"), ("z2", "hello")] {
            assert!(!uploads.insert_app(&uploaded_app(did, name)).await.expect("is refused"), "{did} {name}");
        }
    }

    async fn the_latest_version_is_replaced_by_one_of_two_uploads(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        let mut uploads = SqlUploads(&mut connection);
        uploads.insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
        uploads.insert_app(&UploadedApp { block_reason: Some("harmful".to_owned()), ..uploaded_app("z2", "blocked") }).await.expect("inserts");
        let (old, new, other) = (number("1.0.0"), number("1.1.0"), number("1.2.0"));
        assert!(uploads.advance(&did("z1"), &old, &new, at(9)).await.expect("advances"));
        assert!(!uploads.advance(&did("z1"), &old, &other, at(9)).await.expect("is refused"));
        assert!(!uploads.advance(&did("z2"), &old, &new, at(9)).await.expect("is refused"), "a blocked app gets no version");
        let app = uploads.find_app(&did("z1")).await.expect("reads").expect("exists");
        assert_eq!((app.latest, app.updated_at), (new, at(9)));
    }

    async fn published_versions_and_risks_are_found(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        let mut uploads = SqlUploads(&mut connection);
        uploads.insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
        for (index, status) in VersionStatus::ALL.iter().copied().enumerate() {
            let one = UploadedVersion { status, ..version(&format!("ver_{index}"), &format!("1.{index}.0")) };
            let risks = RiskProfile {
                permissions: ["camera".to_owned()].into(),
                scripts: [("preInstall".to_owned(), format!("run {index}"))].into(),
                hosts: ["a.example".to_owned()].into(),
            };
            let new = NewVersion { risks: risks.clone(), ..NewVersion::default() };
            uploads.insert_version(&one, &new).await.expect("inserts");
            assert_eq!(uploads.risks(&one.app, &one.version).await.expect("reads"), Some(risks));
            assert_eq!(uploads.find_version(&one.app, &one.version).await.expect("reads").map(|one| one.status), Some(status));
        }
        assert_eq!(uploads.published(&did("z1")).await.expect("reads"), [number("1.5.0")]);
        assert_eq!(uploads.risks(&did("z2"), &number("1.0.0")).await.expect("reads"), None);
    }

    async fn files_that_nothing_refers_to_become_orphans(db: &TestDatabase) {
        shelve(db, &[App { logo: hash("f"), ..app("z9", "Shown") }]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut uploads = SqlUploads(&mut connection);
        uploads.insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
        uploads.insert_version(&version("ver_1", "1.0.0"), &NewVersion::default()).await.expect("inserts");
        // Those of the version, the logo of a listed app, two orphans, and one that was claimed again.
        assert!(uploads.claim_files(&claims(&["a", "c", "d", "e", "e", "f", "1", "2", "3"]), at(0)).await.expect("claims"));
        assert!(uploads.claim_files(&claims(&["3"]), at(50)).await.expect("claims"));
        assert_eq!(uploads.take_orphans(at(0), 10).await.expect("takes"), Vec::<String>::new(), "they are not old enough");
        assert_eq!(uploads.take_orphans(at(10), 1).await.expect("takes").len(), 1);
        assert_eq!(uploads.take_orphans(at(10), 10).await.expect("takes"), [hash("1"), hash("2")]);
        assert!(!uploads.claim_files(&claims(&["1", "4"]), at(20)).await.expect("is refused"), "it is being deleted");
        assert!(!uploads.confirm_files(&[hash("2")], at(20)).await.expect("is refused"));
        uploads.forget_files(&[hash("1"), hash("2"), hash("3")]).await.expect("forgets");
        assert!(uploads.claim_files(&claims(&["1"]), at(20)).await.expect("claims"), "it can be stored again");
        assert!(uploads.confirm_files(&[hash("1"), hash("3")], at(30)).await.expect("confirms"), "only deleted files are forgotten");
        assert_eq!(uploads.take_orphans(at(25), 10).await.expect("takes"), [hash("4")], "confirmed files stay");
    }

    async fn the_picture_of_a_user_stays_until_it_is_replaced_removed_or_erased(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        for name in ["z1anna", "z1bob"] {
            SqlUsers(&mut connection).upsert(&user(name, name, "")).await.expect("inserts");
        }
        assert!(SqlUploads(&mut connection).claim_files(&claims(&["a", "b", "c"]), at(0)).await.expect("claims"));
        let orphans = [
            // Who shows which file, and which files nobody shows after that.
            ([("z1anna", Some("a")), ("z1bob", Some("b"))], vec![hash("c")]),
            ([("z1anna", Some("b")), ("z1bob", Some("b"))], vec![hash("a"), hash("c")]),
            ([("z1anna", Some("b")), ("z1bob", None)], vec![hash("a"), hash("c")]),
        ];
        for (shown, expected) in orphans {
            for (name, digit) in shown {
                let picture = digit.map(|digit| ProfilePicture { sha256: hash(digit), format: PictureFormat::Png, updated_at: at(1) });
                assert!(SqlUsers(&mut connection).set_picture(&did(name), picture.as_ref(), at(1)).await.expect("sets"));
            }
            assert_eq!(SqlUploads(&mut connection).take_orphans(at(10), 10).await.expect("takes"), expected, "{shown:?}");
        }
        SqlPersonalData(&mut connection).erase(&did("z1anna"), at(2)).await.expect("erases");
        let erased = SqlUsers(&mut connection).find(&did("z1anna")).await.expect("reads").expect("is there");
        assert_eq!(erased.picture, None);
        let orphans = SqlUploads(&mut connection).take_orphans(at(10), 10).await.expect("takes");
        assert_eq!(orphans, [hash("a"), hash("b"), hash("c")]);
    }

    async fn the_results_of_checks_replace_the_former_ones(db: &TestDatabase) {
        let mut connection = db.begin().await.expect("begins");
        let mut uploads = SqlUploads(&mut connection);
        uploads.insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
        let version = version("ver_1", "1.0.0");
        uploads.insert_version(&version, &NewVersion::default()).await.expect("inserts");
        assert_eq!(uploads.find_version_by_id(&version.id).await.expect("reads"), Some(version.clone()));
        let finding = Finding { line: Some(3), ..Finding::in_file(Rule::PrivateKey, "a.js", "") };
        let errored = CheckResult::errored(CheckName::Manifest, at(1));
        let failed = CheckResult::of(CheckName::Secrets, vec![Finding { detail: "é".to_owned(), ..finding }], at(1));
        uploads.set_checks(&version.id, &[failed.clone(), errored.clone()]).await.expect("writes");
        assert_eq!(uploads.checks(&version.id).await.expect("reads"), [errored, failed.clone()]);
        for (since, now, is_ordered) in [(0, 10, true), (9, 19, false), (10, 20, true)] {
            assert_eq!(uploads.order_checks(&version.id, at(since), at(now)).await.expect("orders"), is_ordered, "{now}");
        }
        let passed = CheckResult::of(CheckName::Manifest, Vec::new(), at(2));
        uploads.set_checks(&version.id, std::slice::from_ref(&passed)).await.expect("writes");
        assert_eq!(uploads.checks(&version.id).await.expect("reads"), [passed, failed]);
        assert!(uploads.order_checks(&version.id, at(0), at(21)).await.expect("orders"), "they have run");
    }

    async fn names_of_other_developers_are_found(db: &TestDatabase) {
        shelve(db, &[app("z9", "Time Keeper")]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut uploads = SqlUploads(&mut connection);
        uploads.insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
        let others = uploads.names_of_others(&did("zDev"), 10).await.expect("reads");
        assert!(others.iter().all(|other| other.name != "hello") && others.iter().any(|other| other.title == "Time Keeper"), "{others:?}");
        let others = uploads.names_of_others(&did("zOther"), 10).await.expect("reads");
        assert!(others.contains(&KnownName { name: "hello".to_owned(), title: String::new() }), "{others:?}");
        SqlReviews(&mut connection).set_private(&did("z1"), true, at(0)).await.expect("hides");
        SqlApps(&mut connection).set_listed(&did("z9"), false).await.expect("hides");
        let mut uploads = SqlUploads(&mut connection);
        assert_eq!(uploads.names_of_others(&did("zOther"), 10).await.expect("reads"), Vec::new());
    }
}
