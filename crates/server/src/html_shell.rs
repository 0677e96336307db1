//! Fills the entry pages with data that they need before scripts run: store data, name, and the statement of the store front.

use crate::checkout_prerender::CheckoutPrerender;
use souk_api::routes::store::StoreModel;

/// Placeholders in `index.html` and `checkout.html`.
const FACTS: &str = "<!-- souk:facts -->";
const BRAND: &str = "<!-- souk:brand -->";
const STATEMENT: &str = "<!-- souk:statement -->";
const ORDER: &str = "<!-- souk:order -->";
const TITLE: &str = "<title>Souk</title>";

/// Query parameters that turn the store front into a search result, which has its own heading.
const SEARCH_PARAMETERS: [&str; 4] = ["keyword", "price", "sort", "page"];

pub struct HtmlShell {
    facts: String,
    brand: String,
    /// The brand in the size of the checkout's header.
    checkout_brand: String,
    name: String,
    statement: String,
    title: String,
}

impl HtmlShell {
    pub fn of(store: &StoreModel) -> Self {
        let name = escaped(&store.name);
        // Both languages are sent, because the page's language can differ from that of the request.
        let statement = [("en", &store.description.en), ("zh", &store.description.zh)].map(|(language, text)| {
            let text = escaped(if text.is_empty() { &store.description.en } else { text });
            format!("<h1 class=\"statement\" lang=\"{language}\">{text}</h1>")
        });
        Self {
            // In a script element only `<` could end the script; JSON allows it to be escaped.
            facts: format!("<script type=\"application/json\" id=\"store\">{}</script>", store.json().replace('<', "\\u003c")),
            brand: format!("<img src=\"{}\" alt=\"\" width=\"32\" height=\"32\" /><span>{name}</span>", escaped(&store.logo)),
            checkout_brand: format!("<img src=\"{}\" alt=\"\" width=\"28\" height=\"28\" /><span>{name}</span>", escaped(&store.logo)),
            name: store.name.clone(),
            statement: if store.description.en.is_empty() { String::new() } else { statement.concat() },
            title: format!("<title>{name}</title>"),
        }
    }

    /// The checkout page with its prerendered order. `is_signed_in`: the request has a login cookie.
    pub fn fill_checkout(&self, page: &str, order: Option<&CheckoutPrerender>, is_signed_in: bool) -> String {
        let order = order.map(|order| order.html(&self.name, &self.checkout_brand, is_signed_in)).unwrap_or_default();
        self.fill(page, false).replacen(ORDER, &order, 1)
    }

    /// The page with its placeholders filled. `front`: the page is the store front without a search.
    pub fn fill(&self, page: &str, front: bool) -> String {
        let statement = if front { self.statement.as_str() } else { "" };
        page.replacen(FACTS, &self.facts, 1).replacen(BRAND, &self.brand, 1).replacen(STATEMENT, statement, 1).replacen(
            TITLE,
            &self.title,
            1,
        )
    }
}

/// Returns whether a URL shows the store front rather than a search result.
pub fn is_front(path: &str, query: Option<&str>) -> bool {
    let names = query.unwrap_or_default().split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    path.is_empty() && !names.into_iter().any(|name| SEARCH_PARAMETERS.contains(&name))
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
            sandbox: true,
            mail_server: false,
            languages: vec!["en".to_owned(), "zh".to_owned()],
            analytics: AnalyticsModel { script: None },
            errors: ErrorReportingModel { url: None, sample_rate: 0.0 },
        }
    }

    const PAGE: &str = "<title>Souk</title><!-- souk:facts --><!-- souk:brand --><!-- souk:statement -->";

    #[test]
    fn the_store_name_cannot_end_the_script_element() {
        let page = HtmlShell::of(&store("</script><img src=x>", "应用")).fill(PAGE, true);
        assert_eq!(page.matches("</script>").count(), 1);
        assert!(page.contains("\\u003c/script>") && !page.contains("<img src=x>"), "{page}");
        assert!(page.starts_with("<title>&lt;/script&gt;"), "{page}");
    }

    #[test]
    fn the_store_front_contains_its_statement_in_both_languages() {
        let page = HtmlShell::of(&store("Souk", "应用")).fill(PAGE, true);
        assert!(page.contains("lang=\"en\">Apps &amp; more</h1>") && page.contains("lang=\"zh\">应用</h1>"), "{page}");
        let untranslated = HtmlShell::of(&store("Souk", "")).fill(PAGE, true);
        assert!(untranslated.contains("lang=\"zh\">Apps &amp; more</h1>"), "{untranslated}");
    }

    #[test]
    fn other_pages_do_not_contain_the_statement() {
        assert!(!HtmlShell::of(&store("Souk", "应用")).fill(PAGE, false).contains("<h1"));
        assert!(is_front("", None) && is_front("", Some("locale=zh&utm=1")));
        assert!(!is_front("", Some("a=1&keyword=x")) && !is_front("search", None));
    }

    #[test]
    fn markup_characters_are_escaped() {
        assert_eq!(escaped("\"<&>"), "&quot;&lt;&amp;&gt;");
    }
}
