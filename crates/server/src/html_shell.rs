//! What a page shows and knows before its scripts run: the store's facts, its name, and on the store front its statement.

use crate::checkout_prerender::CheckoutPrerender;
use souk_api::routes::store::StoreModel;

/// The words of `index.html` and `checkout.html` that are replaced.
const FACTS: &str = "<!-- souk:facts -->";
const BRAND: &str = "<!-- souk:brand -->";
const STATEMENT: &str = "<!-- souk:statement -->";
const ORDER: &str = "<!-- souk:order -->";
const TITLE: &str = "<title>Souk</title>";

/// Parameters that turn the store front into a list of results, which has a heading of its own.
const ASKED: [&str; 4] = ["keyword", "price", "sort", "page"];

pub struct HtmlShell {
    facts: String,
    brand: String,
    /// The same as the checkout's header has it.
    mark: String,
    name: String,
    statement: String,
    title: String,
}

impl HtmlShell {
    pub fn of(store: &StoreModel) -> Self {
        let name = escaped(&store.name);
        // Both languages are sent; the page shows the one it is in, which the browser may know better than the request.
        let statement = [("en", &store.description.en), ("zh", &store.description.zh)].map(|(language, text)| {
            let text = escaped(if text.is_empty() { &store.description.en } else { text });
            format!("<h1 class=\"statement\" lang=\"{language}\">{text}</h1>")
        });
        Self {
            // Within a script element only `<` could begin something else; JSON writes it otherwise as well.
            facts: format!("<script type=\"application/json\" id=\"store\">{}</script>", store.json().replace('<', "\\u003c")),
            brand: format!("<img src=\"{}\" alt=\"\" width=\"32\" height=\"32\" /><span>{name}</span>", escaped(&store.logo)),
            mark: format!("<img src=\"{}\" alt=\"\" width=\"28\" height=\"28\" /><span>{name}</span>", escaped(&store.logo)),
            name: store.name.clone(),
            statement: if store.description.en.is_empty() { String::new() } else { statement.concat() },
            title: format!("<title>{name}</title>"),
        }
    }

    /// The checkout with what is bought in it. `is_signed_in`: whoever asks has signed in here before.
    pub fn fill_checkout(&self, page: &str, order: Option<&CheckoutPrerender>, is_signed_in: bool) -> String {
        let order = order.map(|order| order.html((self.name.as_str(), self.mark.as_str()), is_signed_in)).unwrap_or_default();
        self.fill(page, false).replacen(ORDER, &order, 1)
    }

    /// `front`: the page is the store front, with nothing asked.
    pub fn fill(&self, page: &str, front: bool) -> String {
        let statement = if front { self.statement.as_str() } else { "" };
        page.replacen(FACTS, &self.facts, 1).replacen(BRAND, &self.brand, 1).replacen(STATEMENT, statement, 1).replacen(
            TITLE,
            &self.title,
            1,
        )
    }
}

/// Whether an address shows the store front itself.
pub fn is_front(path: &str, query: Option<&str>) -> bool {
    let names = query.unwrap_or_default().split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    path.is_empty() && !names.into_iter().any(|name| ASKED.contains(&name))
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{HtmlShell, escaped, is_front};
    use souk_api::routes::checkout_sessions::TextModel;
    use souk_api::routes::store::{AnalyticsModel, ErrorReportingModel, StoreModel};

    fn store(name: &str, zh: &str) -> StoreModel {
        StoreModel {
            name: name.to_owned(),
            description: TextModel { en: "Apps & more".to_owned(), zh: zh.to_owned() },
            url: "http://127.0.0.1:8080/".to_owned(),
            app_pid: "zNK".to_owned(),
            logo: "/logo.svg".to_owned(),
            demo: true,
            languages: vec!["en".to_owned(), "zh".to_owned()],
            analytics: AnalyticsModel { script: None },
            errors: ErrorReportingModel { url: None, sample_rate: 0.0 },
        }
    }

    const PAGE: &str = "<title>Souk</title><!-- souk:facts --><!-- souk:brand --><!-- souk:statement -->";

    #[test]
    fn a_stores_name_cannot_end_the_script_that_carries_it() {
        let page = HtmlShell::of(&store("</script><img src=x>", "应用")).fill(PAGE, true);
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(page.contains("\\u003c/script>") && !page.contains("<img src=x>"), "{page}");
        assert!(page.starts_with("<title>&lt;/script&gt;"), "{page}");
    }

    #[test]
    fn the_store_front_carries_its_statement_in_both_languages() {
        let page = HtmlShell::of(&store("Souk", "应用")).fill(PAGE, true);
        assert!(page.contains("lang=\"en\">Apps &amp; more</h1>") && page.contains("lang=\"zh\">应用</h1>"), "{page}");
        let untranslated = HtmlShell::of(&store("Souk", "")).fill(PAGE, true);
        assert!(untranslated.contains("lang=\"zh\">Apps &amp; more</h1>"), "{untranslated}");
    }

    #[test]
    fn other_pages_have_headings_of_their_own() {
        assert!(!HtmlShell::of(&store("Souk", "应用")).fill(PAGE, false).contains("<h1"));
        assert!(is_front("", None) && is_front("", Some("locale=zh&utm=1")));
        assert!(!is_front("", Some("a=1&keyword=x")) && !is_front("search", None));
    }

    #[test]
    fn what_ends_an_attribute_is_escaped() {
        assert_eq!(escaped("\"<&>"), "&quot;&lt;&amp;&gt;");
    }
}
