//! The list of all apps that administrators see.

use crate::catalogue::{app, shelve};
use crate::checkout_fixtures::{at, begin, did, id, read};
use crate::uploads::{number, uploaded_app, version};
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::publishing::ReviewType;
use souk_domain::publishing::bundle::{Group, NewVersion, UploadSource, UploadedApp, UploadedVersion};
use souk_domain::publishing::managed_apps::{AppState, LatestVersion, ManagedApp, ManagedAppFilter};
use souk_domain::publishing::review::{VersionStatus, Yank};
use souk_domain::shared::{Page, Text};
use souk_domain::store::{App, Availability};

/// Uploads an app with a version, which gets a status.
async fn upload(db: &TestDatabase, app: UploadedApp, status: VersionStatus) {
    let mut unit = begin(db).await;
    unit.uploads().insert_app(&app).await.expect("inserts");
    let one = UploadedVersion { app: app.did.clone(), ..version(&format!("ver_{}", app.name), "1.0.0") };
    let new = NewVersion { group: Some(Group::Static), ..NewVersion::default() };
    unit.uploads().insert_version(&one, &new).await.expect("inserts");
    let mut reviewed = unit.reviews().find(&app.did, &number("1.0.0")).await.expect("reads").expect("exists");
    reviewed.review.status = status;
    reviewed.published_at = (status == VersionStatus::Published).then(|| at(9));
    reviewed.review.yank = (app.name == "gone").then_some(Yank::ByStore);
    unit.reviews().update(&reviewed).await.expect("updates");
    unit.commit().await.expect("commits");
}

/// Five apps: one of the catalogue only, one in both, one without a version, one that is blocked and one that was not published.
async fn fill(db: &TestDatabase) {
    let catalogue = |address: &str, title: &str, seconds| App { updated_at: at(seconds), downloads: 7, ..app(address, title) };
    shelve(db, &[catalogue("z1demo", "Demo Clock", 10), catalogue("z2both", "Atlas", 99), catalogue("z3gone", "Gone", 99)]).await;
    let mut unit = begin(db).await;
    unit.apps().set_availability(&did("z3gone"), Availability::Withdrawn).await.expect("is set");
    unit.commit().await.expect("commits");
    let uploaded = |address: &str, name: &str, seconds| UploadedApp { updated_at: at(seconds), ..uploaded_app(address, name) };
    upload(db, uploaded("z2both", "atlas", 40), VersionStatus::Published).await;
    upload(db, uploaded("z3gone", "gone", 30), VersionStatus::Published).await;
    upload(db, UploadedApp { owner: did("zOther"), ..uploaded("z4bad", "bad", 20) }, VersionStatus::Draft).await;
    upload(db, uploaded("z5new", "new", 50), VersionStatus::InReview).await;
    let mut unit = begin(db).await;
    unit.reviews().set_block(&did("z4bad"), Some("harmful"), at(60)).await.expect("is set");
    unit.commit().await.expect("commits");
}

async fn found(db: &TestDatabase, filter: &ManagedAppFilter) -> Vec<String> {
    let listed = read(db).await.managed_apps().list(filter, &Page::new(None, Some(100))).await.expect("lists");
    assert_eq!(listed.count, listed.list.len() as u64);
    listed.list.iter().map(|app| app.did.to_string()).collect()
}

on_both! {
    async fn an_app_is_listed_with_its_latest_version_and_where_it_is(db: &TestDatabase) {
        fill(db).await;
        let mut unit = begin(db).await;
        unit.reviews().decide(&did("z2both"), &id("cat_games"), Some(ReviewType::EveryVersion)).await.expect("decides");
        let both = unit.managed_apps().find(&did("z2both")).await.expect("reads").expect("exists");
        let latest = LatestVersion {
            version: number("1.0.0"),
            status: VersionStatus::Published,
            changes_requested: false,
            yank: None,
            group: Some(Group::Static),
            source: UploadSource::Cli,
        };
        let expected = ManagedApp {
            did: did("z2both"),
            name: "atlas".to_owned(),
            title: Some(Text::new("Atlas", "应用")),
            developer: did("zDev"),
            developer_name: Some("Ada Works".to_owned()),
            category: Some(id("cat_games")),
            review_type: Some(ReviewType::EveryVersion),
            latest: Some(latest.clone()),
            shown: Some("1.0.0".to_owned()),
            state: AppState::Available,
            is_private: false,
            block_reason: None,
            downloads: 7,
            created_at: at(0),
            updated_at: at(40),
        };
        assert_eq!(both, expected);
        let demo = unit.managed_apps().find(&did("z1demo")).await.expect("reads").expect("exists");
        assert_eq!((demo.latest, demo.category, demo.state), (None, Some(id("cat_tools")), AppState::Available));
        assert_eq!((demo.developer, demo.updated_at), (did("zDeveloper"), at(10)));
        let gone = unit.managed_apps().find(&did("z3gone")).await.expect("reads").expect("exists");
        assert_eq!((gone.state, gone.latest), (AppState::Withdrawn, Some(LatestVersion { yank: Some(Yank::ByStore), ..latest })));
        let bad = unit.managed_apps().find(&did("z4bad")).await.expect("reads").expect("exists");
        assert_eq!((bad.state, bad.block_reason.as_deref(), bad.title, bad.shown), (AppState::Blocked, Some("harmful"), None, None));
        let new = unit.managed_apps().find(&did("z5new")).await.expect("reads").expect("exists");
        assert_eq!((new.state, new.category, new.downloads, new.developer_name), (AppState::Unpublished, None, 0, None));
        assert_eq!(unit.managed_apps().find(&did("z9")).await.expect("reads"), None);
    }

    async fn a_developer_lists_their_own_apps(db: &TestDatabase) {
        fill(db).await;
        let mut unit = begin(db).await;
        unit.reviews().set_private(&did("z3gone"), true, at(35)).await.expect("is set");
        let own = unit.managed_apps().of_developer(&did("zDev"), &Page::new(None, None)).await.expect("lists");
        let brief: Vec<_> = own.list.iter().map(|own| (own.app.did.as_str(), own.latest.status, own.shown.as_deref())).collect();
        let expected = [
            ("z5new", VersionStatus::InReview, None),
            ("z2both", VersionStatus::Published, Some("1.0.0")),
            ("z3gone", VersionStatus::Published, Some("1.0.0")),
        ];
        assert_eq!((own.count, brief), (3, expected.to_vec()));
        let [new, both, gone] = own.list.as_slice() else { panic!("{own:?}") };
        assert_eq!((new.published_at, new.downloads, new.created_at), (None, 0, at(0)));
        assert_eq!((both.published_at, both.downloads, both.latest.group), (Some(at(9)), 7, Some(Group::Static)));
        assert_eq!((gone.app.is_private, gone.latest.yank), (true, Some(Yank::ByStore)));
        let second = unit.managed_apps().of_developer(&did("zDev"), &Page::new(Some(2), Some(2))).await.expect("lists");
        assert_eq!((second.count, second.list.len()), (3, 1));
        assert_eq!(unit.managed_apps().of_developer(&did("zNobody"), &Page::new(None, None)).await.expect("lists").count, 0);
    }

    async fn what_was_updated_last_comes_first_and_words_and_filters_match(db: &TestDatabase) {
        fill(db).await;
        let any = ManagedAppFilter::default();
        assert_eq!(found(db, &any).await, ["z4bad", "z5new", "z2both", "z3gone", "z1demo"]);
        let second = read(db).await.managed_apps().list(&any, &Page::new(Some(2), Some(2))).await.expect("lists");
        assert_eq!((second.count, second.list.iter().map(|app| app.did.as_str()).collect::<Vec<_>>()), (5, vec!["z2both", "z3gone"]));
        let search = async |keyword: &str| found(db, &ManagedAppFilter { keyword: keyword.to_owned(), ..any.clone() }).await;
        assert_eq!(search("  CLOCK demo ").await, ["z1demo"]);
        assert_eq!(search("应用").await, ["z2both", "z3gone", "z1demo"]);
        assert_eq!(search("Z5NEW").await, ["z5new"], "a DID");
        assert_eq!(search("zother").await, ["z4bad"], "the DID of a developer");
        assert_eq!(search("ada atlas").await, ["z2both"], "the developer of the catalogue");
        assert_eq!(search("100%").await, Vec::<String>::new());
        assert_eq!(search("_").await, Vec::<String>::new());
        for (state, expected) in [
            (AppState::Available, vec!["z2both", "z1demo"]),
            (AppState::Blocked, vec!["z4bad"]),
            (AppState::Withdrawn, vec!["z3gone"]),
            (AppState::Unpublished, vec!["z5new"]),
        ] {
            assert_eq!(found(db, &ManagedAppFilter { state: Some(state), ..any.clone() }).await, expected, "{state:?}");
        }
        for (status, expected) in [
            (VersionStatus::Published, vec!["z2both", "z3gone"]),
            (VersionStatus::InReview, vec!["z5new"]),
            (VersionStatus::Rejected, vec![]),
        ] {
            assert_eq!(found(db, &ManagedAppFilter { status: Some(status), ..any.clone() }).await, expected, "{status:?}");
        }
        let both = ManagedAppFilter { state: Some(AppState::Withdrawn), status: Some(VersionStatus::Published), ..any.clone() };
        assert_eq!(found(db, &both).await, ["z3gone"]);
        let mut unit = begin(db).await;
        unit.reviews().decide(&did("z5new"), &id("cat_games"), None).await.expect("is set");
        unit.commit().await.expect("commits");
        let games = ManagedAppFilter { category: Some(id("cat_games")), ..any };
        assert_eq!(found(db, &games).await, ["z5new"]);
    }
}
