use super::*;
use flate2::read::GzDecoder;
use souk_domain::shared::Amount;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

fn unpacked(bytes: &[u8]) -> BTreeMap<String, String> {
    let mut archive = tar::Archive::new(GzDecoder::new(bytes));
    let entries = archive.entries().expect("is a tar").map(|entry| {
        let mut entry = entry.expect("is an entry");
        let path = entry.path().expect("has a path").display().to_string();
        let mut content = String::new();
        entry.read_to_string(&mut content).expect("is text");
        (path, content)
    });
    entries.collect()
}

fn is_chinese(text: &str) -> bool {
    text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
}

#[test]
fn every_app_is_complete_in_both_languages() {
    let store = catalogue();
    for app in &store.apps {
        let name = &app.name;
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{name}");
        assert!(app.readme.en.split_whitespace().count() >= 150, "{name}: {} words", app.readme.en.split_whitespace().count());
        assert!(app.readme.zh.chars().filter(|c| !c.is_whitespace()).count() >= 200, "{name}");
        let mut texts = vec![&app.title, &app.description, &app.readme];
        texts.extend(app.screenshots.iter().map(|one| &one.alt));
        texts.extend(app.versions.iter().map(|one| &one.changelog));
        texts.extend(app.plans.iter().flat_map(|one| [&one.name, &one.description]));
        for text in texts {
            assert!(!text.en.is_empty() && !is_chinese(&text.en), "{name}: {}", text.en);
            assert!(is_chinese(&text.zh), "{name}: {}", text.zh);
        }
        assert!(store.categories.iter().any(|one| one.slug == app.category), "{name}: {}", app.category);
        assert!(store.developers.iter().any(|one| one.name == app.developer), "{name}: {}", app.developer);
        assert!((1..=3).contains(&app.versions.len()), "{name}");
        assert!(app.versions.is_sorted_by(|newer, older| newer.days_ago < older.days_ago), "{name}: newest first");
    }
    let names: BTreeSet<_> = store.apps.iter().map(|app| &app.name).collect();
    assert_eq!(names.len(), store.apps.len());
    for category in &store.categories {
        assert!(store.apps.iter().filter(|app| app.category == category.slug).count() >= 2, "{}", category.slug);
    }
}

#[test]
fn pictures_are_distinct_and_load_no_resources_or_scripts() {
    let store = catalogue();
    let pictures: Vec<_> = store.apps.iter().flat_map(|app| app.screenshots.iter().map(|one| one.svg).chain([app.logo])).collect();
    for svg in &pictures {
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
        for word in ["<script", "href=\"http", "url(http", "<image", "<foreignObject", " on", "@import"] {
            let found = if word == " on" { svg.contains(" onload=") || svg.contains(" onclick=") } else { svg.contains(word) };
            assert!(!found, "{word} in {svg}");
        }
    }
    assert_eq!(pictures.iter().collect::<BTreeSet<_>>().len(), pictures.len());
    for app in &store.apps {
        assert!(app.logo.contains("viewBox=\"0 0 96 96\""), "{}", app.name);
        for screenshot in &app.screenshots {
            assert!(screenshot.svg.contains("viewBox=\"0 0 1280 800\""), "{}", app.name);
        }
    }
}

#[test]
fn prices_are_exact_and_the_demo_has_every_kind_of_sale() {
    let store = catalogue();
    let sales: Vec<_> = store.apps.iter().filter_map(|app| app.sale.as_ref()).collect();
    for sale in &sales {
        assert!(Amount::parse_decimal(&sale.token, 18, 6).is_ok_and(|amount| !amount.is_zero()), "{}", sale.token);
        assert!(Amount::parse_decimal(&sale.usd, 2, 2).is_ok_and(|amount| !amount.is_zero()), "{}", sale.usd);
    }
    assert!(sales.len() < store.apps.len(), "some are free");
    assert!(sales.iter().any(|sale| sale.quantity_available == Some(5)));
    assert!(sales.iter().any(|sale| sale.quantity_limit_per_checkout == Some(2)));
    assert!(sales.iter().any(|sale| sale.confirmation.is_some()));
    assert!(sales.iter().any(|sale| sale.collects_phone));
    assert!(sales.iter().any(|sale| sale.requires_address && sale.form_purpose.is_some() && !sale.field_rules.is_empty()));
}

#[test]
fn plan_prices_are_exact_and_upsell_to_a_longer_interval_of_the_same_plan() {
    let store = catalogue();
    let plans: Vec<_> = store.apps.iter().flat_map(|app| &app.plans).collect();
    let prices: Vec<_> = plans.iter().flat_map(|plan| &plan.prices).collect();
    for plan in &plans {
        assert!(
            !plan.prices.is_empty() && plan.unit_label.as_ref().is_none_or(|label| label.en.len() <= 12 && !label.zh.is_empty()),
            "{}",
            plan.name.en
        );
        for price in &plan.prices {
            assert!(Amount::parse_decimal(&price.token, 18, 6).is_ok_and(|amount| !amount.is_zero()), "{}", price.token);
            assert!(Amount::parse_decimal(&price.usd, 2, 2).is_ok_and(|amount| !amount.is_zero()), "{}", price.usd);
            if let Some(target) = &price.upsells_to {
                let target = plan.prices.iter().find(|other| other.lookup_key == *target).expect("a price of the plan");
                assert!(target.recurring.cycle.seconds() > price.recurring.cycle.seconds(), "{}", price.lookup_key);
            }
        }
    }
    let keys: BTreeSet<_> = prices.iter().map(|price| &price.lookup_key).collect();
    assert_eq!(keys.len(), prices.len());
    let intervals: BTreeSet<_> = prices.iter().map(|price| price.recurring.cycle.interval.name()).collect();
    assert_eq!(intervals.into_iter().collect::<Vec<_>>(), ["hour", "month", "year"]);
    assert!(prices.iter().any(|price| price.recurring.is_metered()));
}

#[test]
fn a_bundle_is_reproducible_and_differs_by_version() {
    let mut seen = BTreeSet::new();
    for app in &catalogue().apps {
        for version in &app.versions {
            let bytes = bundle(app, version).expect("is packed");
            assert_eq!(bytes, bundle(app, version).expect("is packed"));
            assert!(seen.insert(bytes), "{} {}", app.name, version.version);
        }
    }
}

#[test]
fn a_bundle_contains_a_manifest_a_readme_and_a_self_contained_page() {
    for app in &catalogue().apps {
        let files = unpacked(&bundle(app, &app.versions[0]).expect("is packed"));
        let paths: Vec<_> = files.keys().map(String::as_str).collect();
        let expected = [
            "package/CHANGELOG.md",
            "package/README.md",
            "package/README.zh.md",
            "package/app.yml",
            "package/index.html",
            "package/logo.svg",
        ];
        assert_eq!(paths, expected);
        assert!(files["package/app.yml"].contains(&format!("name: {}\n", app.name)), "{}", files["package/app.yml"]);
        let page = &files["package/index.html"];
        assert!(page.contains("<script>") && !page.contains("{{") && !page.contains("src=\"http"), "{page}");
    }
}
