//! How apps are sold, and the lists of the files of their bundles.

use crate::catalogue::{app, shelve};
use crate::checkout_fixtures::{at, begin, did, id, insert_checkout, link, read};
use crate::uploads::{uploaded_app, version};
use souk_adapters::on_both;
use souk_domain::pricing::PriceShare;
use souk_domain::publishing::bundle::{BUNDLE_FILES_MAX, BundleChanges, ChangedFile, FileDigest, NewVersion};
use souk_domain::publishing::selling::{AppSale, OneTimeTerms, SellingTerms};
use souk_domain::shared::{Amount, Mode};
use souk_domain::store::App;

fn file(path: &str, digit: &str, size: u64) -> FileDigest {
    FileDigest { path: path.to_owned(), sha256: digit.repeat(64), size }
}

fn changed(path: &str, before: Option<u64>, after: Option<u64>) -> ChangedFile {
    ChangedFile { path: path.to_owned(), before, after }
}

on_both! {
    async fn a_sale_is_read_as_written_in_each_mode(db: &TestDatabase) {
        insert_checkout(db, &[]).await;
        let mut unit = begin(db).await;
        unit.uploads().insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
        unit.links().insert(&link("plink_1")).await.expect("inserts");
        let share = |holder: &str, millionths| PriceShare { beneficiary: did(holder), millionths };
        let terms = OneTimeTerms {
            currency_id: id("pc_1"),
            amount: Amount::new(u128::MAX),
            shares: vec![share("z2", 1), share("z1", 999_999)],
        };
        let sale = AppSale { proposed: Some(SellingTerms::OneTime(terms)), ..AppSale::none(did("z1"), Mode::Test, at(1)) };
        let live = AppSale { proposed: Some(SellingTerms::Free), ..AppSale::none(did("z1"), Mode::Live, at(1)) };
        for sale in [&sale, &live] {
            unit.app_sales().put(sale).await.expect("writes");
            assert_eq!(unit.app_sales().find(&did("z1"), sale.mode).await.expect("reads").as_ref(), Some(sale));
        }
        assert_eq!(unit.app_sales().of_app(&did("z1")).await.expect("reads"), [sale.clone(), live]);
        let released = AppSale { link_id: Some(id("plink_1")), proposed: None, updated_at: at(2), ..sale };
        unit.app_sales().put(&released).await.expect("writes");
        assert_eq!(unit.app_sales().find(&did("z1"), Mode::Test).await.expect("reads"), Some(released));
        assert_eq!(unit.app_sales().find(&did("z2"), Mode::Test).await.expect("reads"), None);
        unit.commit().await.expect("commits");
    }

    async fn the_link_that_sells_an_app_is_set_in_its_mode_only(db: &TestDatabase) {
        shelve(db, &[App { test_link: None, live_link: None, ..app("z1", "Hello") }]).await;
        let mut unit = begin(db).await;
        unit.apps().set_link(&did("z1"), Mode::Live, Some(&id("plink_1"))).await.expect("writes");
        let found = unit.apps().find(&did("z1")).await.expect("reads").expect("exists");
        assert_eq!((found.test_link, found.live_link), (None, Some(id("plink_1"))));
        unit.apps().set_link(&did("z1"), Mode::Live, None).await.expect("writes");
        assert!(unit.apps().find(&did("z1")).await.expect("reads").expect("exists").is_free());
        unit.commit().await.expect("commits");
    }

    async fn bundles_are_compared_by_the_digests_of_their_files(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.uploads().insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
        for (name, text) in [("ver_1", "1.0.0"), ("ver_2", "1.1.0")] {
            assert!(unit.uploads().insert_version(&version(name, text), &NewVersion::default()).await.expect("inserts"));
        }
        let (first, second) = (id("ver_1"), id("ver_2"));
        let before = [file("same.js", "a", 1), file("b.js", "b", 2), file("old/x.js", "c", 3)];
        let after = [file("b.js", "d", 5), file("same.js", "a", 1), file("a.js", "e", 4)];
        // The checks of the second version run twice, and are cut once.
        for (version, files) in [(&first, &before[..]), (&second, &after[..1]), (&second, &after[..])] {
            unit.uploads().list_files(version, files).await.expect("lists");
        }
        unit.uploads().set_files_total(&first, 3).await.expect("writes");
        assert_eq!(unit.uploads().bundle_changes(Some(&first), &second, 10).await.expect("reads"), None, "one is not listed yet");
        unit.uploads().set_files_total(&second, 3).await.expect("writes");
        let changes = vec![changed("a.js", None, Some(4)), changed("b.js", Some(2), Some(5)), changed("old/x.js", Some(3), None)];
        let all = BundleChanges { count: 3, changes: changes.clone(), is_cut: false };
        assert_eq!(unit.uploads().bundle_changes(Some(&first), &second, 10).await.expect("reads"), Some(all.clone()));
        let cut = BundleChanges { changes: changes[..2].to_vec(), ..all };
        assert_eq!(unit.uploads().bundle_changes(Some(&first), &second, 2).await.expect("reads"), Some(cut));
        let new = unit.uploads().bundle_changes(None, &first, 10).await.expect("reads").expect("listed");
        assert!(new.count == 3 && new.changes.iter().all(|file| file.before.is_none()), "{new:?}");
        unit.commit().await.expect("commits");
    }

    async fn a_bundle_with_more_files_than_are_compared_says_so(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.uploads().insert_app(&uploaded_app("z1", "hello")).await.expect("inserts");
        assert!(unit.uploads().insert_version(&version("ver_1", "1.0.0"), &NewVersion::default()).await.expect("inserts"));
        let many: Vec<_> = (0..=BUNDLE_FILES_MAX).map(|number| file(&format!("{number:06}.js"), "a", 1)).collect();
        unit.uploads().list_files(&id("ver_1"), &many).await.expect("lists");
        unit.uploads().set_files_total(&id("ver_1"), many.len() as u64).await.expect("writes");
        unit.commit().await.expect("commits");
        let changes = read(db).await.uploads().bundle_changes(None, &id("ver_1"), 3).await.expect("reads").expect("listed");
        assert_eq!((changes.count, changes.changes.len(), changes.is_cut), (u64::from(BUNDLE_FILES_MAX), 3, true));
    }
}
