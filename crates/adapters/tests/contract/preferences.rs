//! The preferences of publishing.

use crate::checkout_fixtures::{all_at_once, at, begin, context, read};
use souk_adapters::on_both;
use souk_domain::publishing::bundle::PictureFormat;
use souk_domain::publishing::{
    ChangePreferencesError, PermissionMode, Preferences, PreferencesRecord, ReviewType, StakePreference, change_preferences,
};

/// Preferences of which each differs from the default.
fn changed() -> Preferences {
    Preferences {
        permission_mode: PermissionMode::Staking,
        review_required: true,
        review_type: ReviewType::FirstVersion,
        stake_currency: "SKT".to_owned(),
        passport_stake: StakePreference { amount: "12.5".parse().expect("a decimal"), waiting_days: 3 },
        publish_stake: StakePreference { amount: "0.000001".parse().expect("a decimal"), waiting_days: 4 },
        bundle_max_mb: 20,
        logo_max_kb: 50,
        logo_types: [PictureFormat::Png].into(),
        image_max_mb: 2,
        image_count_min: 1,
        image_count_max: 9,
        image_width_min: 800,
        image_height_min: 450,
        paid_apps_allowed: true,
        price_min: "1".parse().expect("a decimal"),
        price_max: "99.99".parse().expect("a decimal"),
        store_share: "0.25".parse().expect("a decimal"),
        github_issuers: Vec::new(),
        gitlab_issuers: vec!["https://git.example".to_owned()],
    }
}

on_both! {
    async fn the_defaults_are_in_force_until_a_change_and_every_field_is_stored(db: &TestDatabase) {
        assert_eq!(read(db).await.preferences().find().await.expect("reads"), PreferencesRecord::default());
        let record = PreferencesRecord { preferences: changed(), version: 1, changed_at: Some(at(5)) };
        let mut unit = begin(db).await;
        assert!(unit.preferences().replace(&record).await.expect("writes"));
        unit.commit().await.expect("commits");
        assert_eq!(read(db).await.preferences().find().await.expect("reads"), record);
    }

    async fn a_change_replaces_only_the_version_before_it(db: &TestDatabase) {
        let record = |version| PreferencesRecord { preferences: changed(), version, changed_at: Some(at(0)) };
        let mut unit = begin(db).await;
        for (version, replaces) in [(2, false), (1, true), (1, false), (3, false), (2, true)] {
            assert_eq!(unit.preferences().replace(&record(version)).await.expect("writes"), replaces, "{version}");
        }
    }

    async fn of_several_changes_at_once_one_takes_effect(db: &TestDatabase) {
        for seen in [0, 1] {
            let change = move |db, number| async move {
                let preferences = Preferences { bundle_max_mb: 100 * (seen + 1) + number, ..Preferences::default() };
                change_preferences(&context(&db, at(0)), seen.into(), preferences).await
            };
            let results = all_at_once(db, 4, change).await;
            assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
            assert!(results.iter().all(|result| matches!(result, Ok(_) | Err(ChangePreferencesError::Changed))), "{results:?}");
        }
    }

    async fn preferences_without_a_difference_keep_their_version(db: &TestDatabase) {
        let kept = change_preferences(&context(db, at(0)), 0, Preferences::default()).await.expect("keeps");
        assert_eq!(kept, PreferencesRecord::default());
        assert_eq!(read(db).await.preferences().find().await.expect("reads").version, 0);
    }
}
