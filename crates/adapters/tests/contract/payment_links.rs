//! Payment links.

use crate::catalogue::{price, stock};
use crate::checkout_fixtures::{at, begin, id, link};
use souk_adapters::on_both;
use souk_domain::checkout::{FormOptions, PaymentLink, SubscriptionTerms};
use souk_domain::pricing::CatalogueFilter;
use souk_domain::shared::{Mode, Page, Text};

fn tagged(name: &str, tags: &[(&str, &str)]) -> PaymentLink {
    let metadata = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    PaymentLink { metadata, ..link(name) }
}

fn names(links: &[PaymentLink]) -> Vec<&str> {
    links.iter().map(|link| link.id.as_str()).collect()
}

on_both! {
    async fn a_link_is_read_as_written_and_as_updated(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.links().insert(&link("plink_1")).await.expect("inserts");
        assert_eq!(unit.links().find(&id("plink_1")).await.expect("reads"), Some(link("plink_1")));
        let changed = PaymentLink {
            active: false, form: FormOptions::default(), terms: SubscriptionTerms::default(), requires_cross_sell: false, redirect_url: None, custom_message: Text::default(), items: Vec::new(),
            updated_at: at(3), ..tagged("plink_1", &[("a", "b")])
        };
        unit.links().update(&changed).await.expect("updates");
        assert_eq!(unit.links().find(&id("plink_1")).await.expect("reads"), Some(changed));
        assert_eq!(unit.links().find(&id("plink_2")).await.expect("reads"), None);
    }

    async fn several_links_are_read_by_their_ids(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for name in ["plink_1", "plink_2", "plink_3"] {
            unit.links().insert(&link(name)).await.expect("inserts");
        }
        let found = unit.links().find_all(&[id("plink_3"), id("plink_1"), id("plink_9")]).await.expect("reads");
        assert_eq!(names(&found), ["plink_1", "plink_3"]);
        assert!(unit.links().find_all(&[]).await.expect("reads").is_empty());
    }

    async fn a_list_is_filtered_by_state_name_and_metadata(db: &TestDatabase) {
        let mut unit = begin(db).await;
        unit.links().insert(&tagged("plink_1", &[("shop", "a"), ("it's \"odd\".key", "1")])).await.expect("inserts");
        unit.links().insert(&PaymentLink { active: false, name: "100% off".to_owned(), ..tagged("plink_2", &[("shop", "a")]) }).await.expect("inserts");
        unit.links().insert(&tagged("plink_3", &[("shop", "b")])).await.expect("inserts");
        unit.links().insert(&PaymentLink { mode: Mode::Live, ..tagged("plink_4", &[("shop", "a")]) }).await.expect("inserts");
        let all = CatalogueFilter::default();
        let cases = [
            (all.clone(), vec!["plink_3", "plink_2", "plink_1"]),
            (CatalogueFilter { active: Some(true), ..all.clone() }, vec!["plink_3", "plink_1"]),
            (CatalogueFilter { query: "LINK_1".to_owned(), ..all.clone() }, vec!["plink_1"]),
            (CatalogueFilter { query: "0%".to_owned(), ..all.clone() }, vec!["plink_2"]),
            (CatalogueFilter { query: "1_0".to_owned(), ..all.clone() }, vec![]),
            (CatalogueFilter { metadata: tagged("plink_1", &[("shop", "a")]).metadata, ..all.clone() }, vec!["plink_2", "plink_1"]),
            (CatalogueFilter { metadata: tagged("plink_1", &[("it's \"odd\".key", "1"), ("shop", "a")]).metadata, ..all.clone() }, vec!["plink_1"]),
            (CatalogueFilter { metadata: tagged("plink_1", &[("shop", "c")]).metadata, ..all }, vec![]),
        ];
        for (filter, expected) in cases {
            let listed = unit.links().list(Mode::Test, &filter, &Page::new(None, None)).await.expect("lists");
            assert_eq!(names(&listed.list), expected, "{filter:?}");
            assert_eq!(listed.count, expected.len() as u64, "{filter:?}");
        }
    }

    async fn a_list_is_filtered_to_links_that_sell_a_product(db: &TestDatabase) {
        stock(db, &[price("price_1", 0)]).await;
        let mut unit = begin(db).await;
        unit.links().insert(&link("plink_1")).await.expect("inserts");
        unit.links().insert(&PaymentLink { items: Vec::new(), ..link("plink_2") }).await.expect("inserts");
        let of = |product| CatalogueFilter { product: Some(id(product)), ..CatalogueFilter::default() };
        let listed = unit.links().list(Mode::Test, &of("prod_1"), &Page::new(None, None)).await.expect("lists");
        assert_eq!(names(&listed.list), ["plink_1"]);
        let listed = unit.links().list(Mode::Test, &of("prod_2"), &Page::new(None, None)).await.expect("lists");
        assert_eq!(listed.count, 0);
    }

    async fn pages_by_number_and_by_key_show_every_link_once(db: &TestDatabase) {
        let mut unit = begin(db).await;
        for number in 1..=5 {
            unit.links().insert(&link(&format!("plink_{number}"))).await.expect("inserts");
        }
        let second = unit.links().list(Mode::Test, &CatalogueFilter::default(), &Page::new(Some(2), Some(2))).await.expect("lists");
        assert_eq!((second.count, names(&second.list)), (5, vec!["plink_3", "plink_2"]));
        let after = Page { starting_after: Some("plink_2".to_owned()), ..Page::new(Some(2), Some(2)) };
        let last = unit.links().list(Mode::Test, &CatalogueFilter::default(), &after).await.expect("lists");
        assert_eq!((last.count, names(&last.list)), (5, vec!["plink_1"]));
    }
}
