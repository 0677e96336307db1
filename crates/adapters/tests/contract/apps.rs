//! Apps, versions, categories, search and download counters.

use crate::catalogue::{app, at, did, shelve};
use souk_adapters::on_both;
use souk_adapters::persistence::{Database, SqlApps};
use souk_domain::shared::{CategoryId, Page, PaymentLinkId, StorageError, Text, Timestamp, VersionId};
use souk_domain::store::{App, AppFilter, AppSort, AppVersion, Apps, Availability, Screenshot, VersionComponent, VersionFacts};
use std::time::Duration;

fn addresses(list: &[App]) -> Vec<&str> {
    list.iter().map(|app| app.did.as_str()).collect()
}

fn version(id: &str, number: &str, published_at: Timestamp) -> AppVersion {
    AppVersion {
        id: VersionId::parse(id).expect("an id"),
        app: did("z1"),
        version: number.to_owned(),
        readme: Text::new("# Read me", "# 说明"),
        changelog: Text::new("First", "首发"),
        sha256: "ef".repeat(32),
        size: 1_234,
        published_at,
        is_yanked: false,
        facts: None,
    }
}

fn facts() -> VersionFacts {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    VersionFacts {
        screenshots: vec![Screenshot { file: "ab".repeat(32), width: 1_280, height: 720, alt: Text::new("A list", "列表") }],
        license: "MIT".to_owned(),
        website: Some("https://example.com".to_owned()),
        has_docker: true,
        server: ">=1.16.0".to_owned(),
        nodejs: ">=20".to_owned(),
        os: texts(&["linux", "darwin"]),
        cpu: texts(&["arm64"]),
        components: vec![VersionComponent { title: "Images".to_owned(), version: "^1.0.0".to_owned(), is_required: true }],
    }
}

async fn found(db: &Database, filter: &AppFilter) -> Vec<String> {
    let mut connection = db.read().await.expect("reads");
    let listed = SqlApps(&mut connection).list(filter, &Page::new(None, Some(100))).await.expect("lists");
    assert_eq!(listed.count, listed.list.len() as u64);
    addresses(&listed.list).into_iter().map(ToOwned::to_owned).collect()
}

on_both! {
    async fn an_app_and_its_versions_are_read_as_written(db: &TestDatabase) {
        let one = App {
            website: Some("https://example.com".to_owned()),
            test_link: Some(PaymentLinkId::parse("plink_1").expect("an id")),
            downloads: 12,
            ..app("z1", "Time Keeper")
        };
        shelve(db, std::slice::from_ref(&one)).await;
        let mut connection = db.begin().await.expect("begins");
        let mut apps = SqlApps(&mut connection);
        assert_eq!(apps.find(&one.did).await.expect("reads"), Some(one.clone()));
        assert_eq!(apps.find_all(&[did("z1"), did("z2")]).await.expect("reads"), [one]);
        let old = version("ver_1", "1.0.0", at(0));
        let new = AppVersion { facts: Some(facts()), ..version("ver_2", "1.1.0", at(60)) };
        apps.insert_version(&old).await.expect("inserts");
        apps.insert_version(&new).await.expect("inserts");
        assert_eq!(apps.versions(&did("z1")).await.expect("reads"), [new, old.clone()]);
        assert_eq!(apps.version(&did("z1"), "1.0.0").await.expect("reads"), Some(old));
        assert_eq!(apps.version(&did("z1"), "2.0.0").await.expect("reads"), None);
        let again = apps.insert_version(&version("ver_3", "1.0.0", at(90))).await;
        assert!(matches!(again, Err(StorageError::Duplicate(_))), "{again:?}");
    }

    async fn categories_are_listed_in_order_with_their_number_of_apps(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        let mut connection = db.read().await.expect("reads");
        let categories = SqlApps(&mut connection).categories().await.expect("reads");
        let shown: Vec<_> = categories.iter().map(|counted| (counted.category.slug.as_str(), counted.apps)).collect();
        assert_eq!(shown, [("tools", 2), ("games", 0)]);
    }

    async fn a_search_matches_every_word_in_either_language_and_ranks_name_prefixes_first(db: &TestDatabase) {
        let clock = App { downloads: 1, ..app("z1", "Clock 100%") };
        let alarm = App {
            description: Text::new("An alarm CLOCK with\nBells", "闹钟"),
            title: Text::new("Alarm", "时间管理"),
            downloads: 9,
            ..app("z2", "Alarm")
        };
        let other = App { developer: souk_domain::store::Developer { name: "Élan_Studio".to_owned(), ..clock.developer.clone() }, ..app("z3", "Notes") };
        shelve(db, &[clock, alarm, other]).await;
        let search = async |keyword: &str| found(db, &AppFilter { keyword: keyword.to_owned(), ..AppFilter::default() }).await;
        assert_eq!(search("clock").await, ["z1", "z2"]);
        assert_eq!(search("  bells   CLOCK ").await, ["z2"]);
        assert_eq!(search("clock notes").await, Vec::<String>::new());
        assert_eq!(search("间管").await, ["z2"]);
        assert_eq!(search("ÉLAN").await, ["z3"]);
        assert_eq!(search("100%").await, ["z1"]);
        assert_eq!(search("n_s").await, ["z3"]);
        assert_eq!(search("%").await, ["z1"]);
        assert_eq!(search("\\").await, Vec::<String>::new());
        assert_eq!(search("no\0tes").await, ["z3"]);
        assert_eq!(search("").await, ["z2", "z1", "z3"]);
    }

    async fn a_list_is_filtered_and_sorted(db: &TestDatabase) {
        let link = || Some(PaymentLinkId::parse("plink_1").expect("an id"));
        shelve(db, &[
            App { downloads: 5, created_at: at(3), updated_at: at(10), live_link: link(), ..app("z1", "beta") },
            App { downloads: 7, created_at: at(1), updated_at: at(30), ..app("z2", "Gamma") },
            App { downloads: 5, created_at: at(2), updated_at: at(20), category_id: CategoryId::parse("cat_games").expect("an id"), ..app("z3", "Alpha") },
        ]).await;
        for (sort, expected) in [
            (AppSort::Downloads, ["z2", "z1", "z3"]), (AppSort::Updated, ["z2", "z3", "z1"]),
            (AppSort::Created, ["z1", "z3", "z2"]), (AppSort::Name, ["z3", "z1", "z2"]),
        ] {
            assert_eq!(found(db, &AppFilter { sort, ..AppFilter::default() }).await, expected, "{sort:?}");
        }
        assert_eq!(found(db, &AppFilter { free: Some(false), ..AppFilter::default() }).await, ["z1"]);
        assert_eq!(found(db, &AppFilter { free: Some(true), ..AppFilter::default() }).await, ["z2", "z3"]);
        assert_eq!(found(db, &AppFilter { category: Some("games".to_owned()), ..AppFilter::default() }).await, ["z3"]);
        assert_eq!(found(db, &AppFilter { category: Some("none".to_owned()), ..AppFilter::default() }).await, Vec::<String>::new());
        let mut connection = db.read().await.expect("reads");
        let second = SqlApps(&mut connection).list(&AppFilter::default(), &Page::new(Some(2), Some(2))).await.expect("lists");
        assert_eq!((addresses(&second.list), second.count), (vec!["z3"], 3));
    }

    async fn apps_that_are_not_available_are_found_and_neither_listed_nor_counted(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two"), app("z3", "Three")]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut apps = SqlApps(&mut connection);
        apps.set_availability(&did("z1"), Availability::Blocked).await.expect("is set");
        apps.set_availability(&did("z2"), Availability::Withdrawn).await.expect("is set");
        apps.set_availability(&did("z9"), Availability::Blocked).await.expect("sets nothing");
        assert_eq!(apps.find(&did("z1")).await.expect("reads").map(|app| app.availability), Some(Availability::Blocked));
        assert_eq!(apps.categories().await.expect("reads")[0].apps, 1);
        let developer = apps.find(&did("z3")).await.expect("reads").expect("exists").developer.did;
        let counts = apps.count_of_developers(std::slice::from_ref(&developer)).await.expect("counts");
        assert_eq!(counts, [(developer, 1)].into());
        connection.commit().await.expect("commits");
        assert_eq!(found(db, &AppFilter::default()).await, ["z3"]);
    }

    async fn a_yanked_version_is_marked_and_can_be_brought_back(db: &TestDatabase) {
        shelve(db, &[app("z1", "One")]).await;
        let mut connection = db.begin().await.expect("begins");
        let mut apps = SqlApps(&mut connection);
        let one = version("ver_1", "1.0.0", at(0));
        apps.insert_version(&one).await.expect("inserts");
        for is_yanked in [true, false] {
            apps.set_yanked(&one.id, is_yanked).await.expect("is set");
            assert_eq!(apps.version(&did("z1"), "1.0.0").await.expect("reads"), Some(AppVersion { is_yanked, ..one.clone() }));
        }
    }

    async fn concurrent_downloads_are_all_counted(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        let now = at(0);
        let downloads = (0..8).map(|_| {
            let db = Database::clone(db);
            tokio::spawn(async move {
                for _ in 0..5 {
                    let mut connection = db.begin().await.expect("begins");
                    SqlApps(&mut connection).count_download(&did("z1"), now).await.expect("counts");
                    connection.commit().await.expect("commits");
                }
            })
        });
        for one in downloads.collect::<Vec<_>>() {
            one.await.expect("counts");
        }
        let mut connection = db.begin().await.expect("begins");
        let mut apps = SqlApps(&mut connection);
        assert_eq!(apps.find(&did("z1")).await.expect("reads").expect("exists").downloads, 40);
        apps.count_download(&did("z9"), now).await.expect("counts nothing");
        let both = [did("z1"), did("z2")];
        assert_eq!(apps.recent_downloads(&both, now).await.expect("reads"), [(did("z1"), 40)].into());
        let days = |days: u64| Duration::from_secs(days * 86_400);
        assert_eq!(apps.recent_downloads(&both, now.plus(days(29))).await.expect("reads"), [(did("z1"), 40)].into());
        assert_eq!(apps.recent_downloads(&both, now.plus(days(30))).await.expect("reads"), [].into());
    }
}
