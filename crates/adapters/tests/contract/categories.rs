//! Categories as administrators create, rename, order and delete them.

use crate::catalogue::{app, shelve};
use crate::checkout_fixtures::{all_at_once, at, begin, context, did, id, read};
use crate::uploads::{uploaded_app, version};
use souk_adapters::on_both;
use souk_adapters::testing::TestDatabase;
use souk_domain::access::Caller;
use souk_domain::context::Context;
use souk_domain::publishing::ReviewType;
use souk_domain::publishing::bundle::NewVersion;
use souk_domain::publishing::managed_apps::{SetCategoryError, set_app_category};
use souk_domain::shared::{CategoryId, Language, StorageError, Text};
use souk_domain::store::{
    App, CATEGORIES_MAX, Category, CategoryChange, CategoryError, change_category, create_category, create_default_categories,
    delete_category,
};

/// The slugs in their order, each with its English name and the number of all its apps.
async fn shown(db: &TestDatabase) -> Vec<String> {
    let categories = read(db).await.apps().categories_with_all_apps().await.expect("reads");
    categories.iter().map(|counted| format!("{} {} {}", counted.category.slug, counted.category.name.en, counted.apps)).collect()
}

async fn create(ctx: &Context, en: &str, zh: &str) -> Result<Category, CategoryError> {
    create_category(ctx, &Text::new(en, zh)).await
}

fn renamed(en: &str, zh: &str) -> CategoryChange {
    CategoryChange { name: Some(Text::new(en, zh)), position: None }
}

fn moved(position: u32) -> CategoryChange {
    CategoryChange { name: None, position: Some(position) }
}

/// Uploads an app of `zDev` without publishing it.
async fn upload(db: &TestDatabase, address: &str, name: &str) {
    let mut unit = begin(db).await;
    unit.uploads().insert_app(&uploaded_app(address, name)).await.expect("inserts");
    let mut first = version(&format!("ver_{name}"), "1.0.0");
    first.app = did(address);
    unit.uploads().insert_version(&first, &NewVersion::default()).await.expect("inserts");
    unit.commit().await.expect("commits");
}

fn administrator(address: &str) -> Caller {
    Caller { user: crate::checkout_fixtures::user(address, "Ada", ""), passports: Vec::new(), signed_in_at: at(0) }
}

on_both! {
    async fn categories_are_created_renamed_and_moved(db: &TestDatabase) {
        let ctx = context(db, at(0));
        let tools = create(&ctx, "Tools", "工具").await.expect("creates");
        assert_eq!((tools.slug.as_str(), tools.position), ("tools", 0));
        let games = create(&ctx, " Small  games ", "小游戏").await.expect("creates");
        assert_eq!((games.slug.as_str(), games.name.en.as_str(), games.position), ("small-games", "Small games", 1));
        create(&ctx, "News", "新闻").await.expect("creates");
        change_category(&ctx, &games.id, renamed("Play", "玩")).await.expect("renames");
        assert_eq!(shown(db).await, ["tools Tools 0", "small-games Play 0", "news News 0"], "the slug stays");
        change_category(&ctx, &games.id, renamed("PLAY", "玩")).await.expect("its own name is not taken");
        for (position, expected) in [
            (0, ["small-games", "tools", "news"]), (1, ["tools", "small-games", "news"]), (99, ["tools", "news", "small-games"]),
        ] {
            change_category(&ctx, &games.id, moved(position)).await.expect("moves");
            let slugs: Vec<_> = shown(db).await.iter().map(|shown| shown.split(' ').next().expect("a slug").to_owned()).collect();
            assert_eq!(slugs, expected);
        }
        let unknown = change_category(&ctx, &id("cat_9"), moved(0)).await;
        assert!(matches!(unknown, Err(CategoryError::NotFound)), "{unknown:?}");
    }

    async fn a_name_is_unique_in_its_language(db: &TestDatabase) {
        let ctx = context(db, at(0));
        create(&ctx, "Tools", "工具").await.expect("creates");
        let games = create(&ctx, "Games", "游戏").await.expect("creates");
        let taken = |result: Result<(), CategoryError>, language| match result {
            Err(CategoryError::NameTaken { language: taken, name }) => assert_eq!(taken, language, "{name}"),
            other => panic!("{other:?}"),
        };
        taken(create(&ctx, "tOOLS", "别的").await.map(drop), Language::English);
        taken(create(&ctx, "Other", "工具").await.map(drop), Language::Chinese);
        taken(change_category(&ctx, &games.id, renamed("Tools", "游戏")).await, Language::English);
        create(&ctx, "工具", "Tools").await.expect("the names of the other language are free");
        // The database is the last guard.
        let mut unit = begin(db).await;
        let twin = Category { id: id("cat_twin"), slug: "twin".to_owned(), name: Text::new("TOOLS", "双"), position: 9 };
        let refused = unit.apps().insert_category(&twin).await;
        assert!(matches!(refused, Err(StorageError::Duplicate(_))), "{refused:?}");
    }

    async fn of_equal_categories_that_are_created_at_once_one_is(db: &TestDatabase) {
        let created = all_at_once(db, 4, |db, _| async move { create_category(&context(&db, at(0)), &Text::new("Tools", "工具")).await });
        let created = created.await;
        assert_eq!(created.iter().filter(|result| result.is_ok()).count(), 1, "{created:?}");
        assert!(created.iter().all(|result| matches!(result, Ok(_) | Err(CategoryError::NameTaken { .. }))), "{created:?}");
    }

    async fn a_category_with_apps_is_not_deleted(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        upload(db, "z1", "one").await;
        upload(db, "z3", "three").await;
        let ctx = context(db, at(1));
        let admin = administrator("zAdmin");
        for address in ["z1", "z3"] {
            set_app_category(&ctx, &admin, &did(address), Some(&id("cat_games")), None).await.expect("is set");
        }
        assert_eq!(shown(db).await, ["tools tools 1", "games games 2"], "an unpublished app counts, and one in both counts once");
        for (category, apps) in [("cat_tools", 1), ("cat_games", 2)] {
            let refused = delete_category(&ctx, &id(category)).await;
            assert!(matches!(refused, Err(CategoryError::InUse(count)) if count == apps), "{refused:?}");
        }
        set_app_category(&ctx, &admin, &did("z2"), Some(&id("cat_games")), None).await.expect("is set");
        delete_category(&ctx, &id("cat_tools")).await.expect("deletes");
        assert_eq!(shown(db).await, ["games games 3"]);
        assert!(matches!(delete_category(&ctx, &id("cat_tools")).await, Err(CategoryError::NotFound)));
    }

    async fn an_app_gets_into_a_category_or_the_category_is_deleted(db: &TestDatabase) {
        shelve(db, &[]).await;
        upload(db, "z1", "one").await;
        let results = all_at_once(db, 2, |db, number| async move {
            let ctx = context(&db, at(1));
            match number {
                0 => delete_category(&ctx, &id("cat_games")).await.map_err(|error| matches!(error, CategoryError::InUse(1))),
                _ => {
                    let set = set_app_category(&ctx, &administrator("zAdmin"), &did("z1"), Some(&id("cat_games")), None).await;
                    set.map_err(|error| matches!(error, SetCategoryError::UnknownCategory))
                }
            }
        });
        let results = results.await;
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        assert!(results.iter().all(|result| *result != Err(false)), "refused by name: {results:?}");
    }

    async fn the_default_categories_are_created_in_a_store_without_any(db: &TestDatabase) {
        let ctx = context(db, at(0));
        create_default_categories(&ctx).await.expect("creates");
        let shown = shown(db).await;
        assert_eq!((shown.len(), shown[0].as_str(), shown[2].as_str()), (11, "blog Blog 0", "web-development Web Development 0"));
        assert!(matches!(create_default_categories(&ctx).await, Err(CategoryError::Exists)));
        for number in 11..CATEGORIES_MAX {
            create(&ctx, &format!("Category {number}"), &format!("分类 {number}")).await.expect("creates");
        }
        assert!(matches!(create(&ctx, "One more", "多一个").await, Err(CategoryError::TooMany)));
    }

    async fn an_app_gets_a_category_and_a_review_type(db: &TestDatabase) {
        shelve(db, &[app("z1", "One"), app("z2", "Two")]).await;
        upload(db, "z1", "one").await;
        let ctx = context(db, at(1));
        let set = async |by: &str, app: &str, category: Option<CategoryId>, kind| {
            set_app_category(&ctx, &administrator(by), &did(app), category.as_ref(), kind).await
        };
        let games: fn() -> Option<CategoryId> = || Some(id("cat_games"));
        set("zAdmin", "z1", games(), Some(ReviewType::FirstVersion)).await.expect("is set");
        set("zAdmin", "z1", games(), None).await.expect("the review type stays");
        let mut unit = begin(db).await;
        let uploaded = unit.reviews().find_app(&did("z1")).await.expect("reads").expect("exists");
        assert_eq!((uploaded.category, uploaded.review_type), (games(), Some(ReviewType::FirstVersion)));
        assert_eq!(unit.apps().find(&did("z1")).await.expect("reads").map(|App { category_id, .. }| category_id), games());
        drop(unit);
        // The developer of the app, as an administrator.
        assert!(matches!(set("zDev", "z1", games(), Some(ReviewType::EveryVersion)).await, Err(SetCategoryError::OwnApp)));
        set("zDev", "z1", games(), Some(ReviewType::FirstVersion)).await.expect("changes nothing");
        set("zDev", "z1", Some(id("cat_tools")), None).await.expect("the category is theirs to choose");
        assert!(matches!(set("zAdmin", "z1", None, None).await, Err(SetCategoryError::CategoryRequired)));
        assert!(matches!(set("zAdmin", "z1", Some(id("cat_9")), None).await, Err(SetCategoryError::UnknownCategory)));
        assert!(matches!(set("zAdmin", "z9", games(), None).await, Err(SetCategoryError::NotFound)));
        assert!(matches!(set("zAdmin", "z2", games(), Some(ReviewType::EveryVersion)).await, Err(SetCategoryError::NotUploaded)));
        set("zAdmin", "z2", games(), None).await.expect("an app of the catalogue only");
    }
}
