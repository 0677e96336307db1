//! Prerenders the order summary into the checkout page, so that it is visible before any script runs. The scripts replace it with the
//! same content. If they would show something else, nothing is prerendered.

use crate::html_shell::escaped;
use souk_domain::checkout::{self, LineItem, QuoteRequest, SessionMode, SessionStatus, SubscriptionTerms};
use souk_domain::context::Context;
use souk_domain::payment::{Currency, MethodKind};
use souk_domain::pricing::{CatalogueItem, Interval, RecurringInterval, Usage};
use souk_domain::shared::{Amount, CurrencyId, Language, PaymentLinkId, SessionId, StorageError, Text, Timestamp};
use souk_domain::storage::UnitOfWork;
use std::collections::BTreeMap;
use std::sync::LazyLock;

type Catalogue = BTreeMap<String, String>;

/// The English and Chinese catalogues that the page's scripts use.
static CATALOGUES: LazyLock<[Catalogue; 2]> = LazyLock::new(|| {
    let read = |texts: [&str; 2]| texts.into_iter().flat_map(|text| serde_json::from_str::<Catalogue>(text).unwrap_or_default()).collect();
    [
        read([include_str!("../../../web/src/i18n/en/checkout.json"), include_str!("../../../web/src/i18n/en/price.json")]),
        read([include_str!("../../../web/src/i18n/zh/checkout.json"), include_str!("../../../web/src/i18n/zh/price.json")]),
    ]
});

/// Maximum number of displayed decimal places of a token amount.
const PRECISION: u32 = 6;

/// An order of one item, as the page shows it.
#[derive(Debug, Clone)]
pub struct CheckoutPrerender {
    name: Text,
    description: Text,
    picture: Option<String>,
    /// The price of one unit, in both languages.
    price: Text,
    /// The amount due now, including the deposit; `None`: nothing is due.
    total: Option<Text>,
    /// The refundable deposit in `total`.
    deposit: Option<Text>,
    /// The days of the free trial, and the billing interval after it.
    trial: Option<(u32, RecurringInterval)>,
}

/// Returns the order of a checkout page if it consists of one price with a fixed amount. `path` begins with `checkout/`.
pub async fn checkout_prerender(ctx: &Context, path: &str, query: Option<&str>) -> Option<CheckoutPrerender> {
    let id = path.strip_prefix("checkout/pay/")?;
    // An embedded page shows no header, and another currency has another price.
    let has_parameter = |name: &str| query.unwrap_or_default().split('&').any(|pair| pair.split('=').next() == Some(name));
    if has_parameter("mode") || has_parameter("currencyId") {
        return None;
    }
    match read(ctx, id).await {
        Ok(order) => order,
        Err(error) => {
            tracing::warn!(%error, "cannot render the order into a checkout page; the page will load it");
            None
        }
    }
}

async fn read(ctx: &Context, id: &str) -> Result<Option<CheckoutPrerender>, StorageError> {
    let mut unit = ctx.store.read().await?;
    if let Ok(id) = PaymentLinkId::parse(id) {
        let link = unit.links().find(&id).await?.filter(|link| link.active);
        let Some(link) = link else { return Ok(None) };
        return describe(unit.as_mut(), &link.items, &link.terms, &link.currency_id, ctx.now()).await;
    }
    let Ok(id) = SessionId::parse(id) else { return Ok(None) };
    let session = unit.sessions().find(&id).await?;
    let open = session.filter(|session| session.status == SessionStatus::Open && session.expires_at > ctx.now());
    let Some(session) = open else { return Ok(None) };
    describe(unit.as_mut(), &session.items, &session.terms, &session.currency_id, ctx.now()).await
}

async fn describe(
    unit: &mut dyn UnitOfWork,
    items: &[LineItem],
    terms: &SubscriptionTerms,
    currency: &CurrencyId,
    now: Timestamp,
) -> Result<Option<CheckoutPrerender>, StorageError> {
    let [item] = items else { return Ok(None) };
    if item.quantity != 1 || item.adjustable.is_some() || item.upsell.is_some() || item.custom_amount.is_some() {
        return Ok(None);
    }
    let Some(price) = unit.prices().find(&item.price_id).await? else { return Ok(None) };
    let Some(product) = unit.products().find(&price.product_id).await? else { return Ok(None) };
    let Some(currency) = unit.methods().find_currency(currency).await? else { return Ok(None) };
    let method = unit.methods().find(&currency.method_id).await?;
    let is_card = method.is_some_and(|method| method.kind == MethodKind::Stripe);
    let text = |amount: Amount| {
        let in_language = |language| amount_text(amount, &currency, is_card, language);
        Some(Text::new(in_language(Language::English)?, in_language(Language::Chinese)?))
    };
    let Some(shown) = price.unit_amount_in(&currency.id).and_then(text) else { return Ok(None) };
    let mode = SessionMode::of(std::slice::from_ref(&price));
    let trial = match price.recurring {
        None => None,
        Some(recurring) => {
            let is_free = terms.trial.days > 0 && terms.trial.end.is_none() && terms.trial.currencies.is_empty();
            if !is_free || recurring.usage != Usage::Licensed {
                return Ok(None);
            }
            Some((terms.trial.days, recurring.cycle))
        }
    };
    let sold = CatalogueItem { price, product };
    let request = QuoteRequest { kind: mode, terms, items, sold: std::slice::from_ref(&sold), by_wallet: !is_card };
    let Ok(quote) = checkout::quote(&request, &currency, now) else { return Ok(None) };
    let Ok(total) = quote.due.now.plus(quote.stake) else { return Ok(None) };
    let shown_if_any = |amount: Amount| if amount.is_zero() { None } else { text(amount) };
    let (total, deposit) = (shown_if_any(total), shown_if_any(quote.stake));
    let CatalogueItem { product, .. } = sold;
    let picture = product.images.first().cloned();
    let (name, description) = (product.localized_name(), product.localized_description());
    Ok(Some(CheckoutPrerender { name, description, picture, price: shown, total, deposit, trial }))
}

/// Formats an amount as the page's scripts do; returns `None` for currencies that this function does not support.
fn amount_text(amount: Amount, currency: &Currency, is_card: bool, language: Language) -> Option<String> {
    if !is_card {
        return Some(format!("{} {}", grouped(&rounded(amount, currency.decimals)?), currency.symbol));
    }
    let sign = match (currency.symbol.as_str(), language) {
        ("USD", Language::English) => "$",
        ("USD", Language::Chinese) => "US$",
        ("EUR", _) => "€",
        ("GBP", _) => "£",
        _ => return None,
    };
    let digits = amount.to_string();
    let digits = format!("{digits:0>3}");
    let (whole, cents) = digits.split_at(digits.len() - 2);
    (currency.decimals == 2).then(|| format!("{sign}{}", grouped(&format!("{whole}.{cents}"))))
}

/// Rounds half up to [`PRECISION`] decimal places.
fn rounded(amount: Amount, decimals: u32) -> Option<String> {
    if decimals <= PRECISION {
        return Some(amount.to_decimal(decimals));
    }
    let step = 10_u128.checked_pow(decimals - PRECISION)?;
    let units = amount.base_units().checked_add(step / 2)? / step;
    Some(Amount::new(units).to_decimal(PRECISION))
}

fn grouped(decimal: &str) -> String {
    let (whole, fraction) = decimal.split_once('.').map_or((decimal, None), |(whole, fraction)| (whole, Some(fraction)));
    let mut text = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    match fraction {
        Some(fraction) => format!("{text}.{fraction}"),
        None => text,
    }
}

fn translate(language: Language, key: &str, values: &[(&str, &str)]) -> String {
    let [english, chinese] = &*CATALOGUES;
    let catalogue = if language == Language::Chinese { chinese } else { english };
    let text = catalogue.get(key).cloned().unwrap_or_default();
    values.iter().fold(text, |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// The billing interval in words: "per month", "every 2 weeks".
fn interval_text(cycle: &RecurringInterval, language: Language) -> String {
    match (cycle.interval, cycle.count) {
        (interval, 1) => translate(language, &format!("interval.per.{}", interval.name()), &[]),
        (Interval::Month, 3) => translate(language, "interval.every3Months", &[]),
        (Interval::Month, 6) => translate(language, "interval.every6Months", &[]),
        (interval, count) => translate(language, &format!("interval.every.{}", interval.name()), &[("n", &count.to_string())]),
    }
}

/// The billing interval after an amount, as on the page (`web/src/i18n/price.ts`): "/ month", "every 2 weeks", "/ 季度".
fn interval_after_amount(cycle: &RecurringInterval, language: Language) -> String {
    let text = interval_text(cycle, language);
    let short = text.strip_prefix("per ").or_else(|| text.strip_prefix('每').map(str::trim_start)).map(|rest| format!("/ {rest}"));
    short.unwrap_or(text)
}

impl CheckoutPrerender {
    /// The initial content of the page in both languages; the stylesheet shows one of them. Empty for a trial if the visitor is signed
    /// in, because each customer gets a trial only once.
    pub fn html(&self, store: &str, brand: &str, is_signed_in: bool) -> String {
        if is_signed_in && self.trial.is_some() {
            return String::new();
        }
        let columns = |language| self.columns(language, store, is_signed_in);
        format!(
            "<div class=\"checkout checkout-shell\"><div class=\"checkout-test checkout-test-place\"></div>\
             <div class=\"checkout-header\"><div class=\"checkout-brand\">{brand}</div></div>\
             <main>{}{}</main></div>",
            columns(Language::English),
            columns(Language::Chinese)
        )
    }

    fn columns(&self, language: Language, store: &str, is_signed_in: bool) -> String {
        let of = |text: &Text| escaped(text.in_language(language));
        let (name, price) = (self.name.in_language(language), self.price.in_language(language));
        let (headline, large, then) = match &self.trial {
            None => (translate(language, "headline.buy", &[("name", name)]), price.to_owned(), None),
            Some((days, cycle)) => {
                let key = if *days == 1 && language == Language::English { "trial.day_one" } else { "trial.day_other" };
                let amount =
                    translate(language, "price.renewal", &[("amount", price), ("interval", interval_text(cycle, language).as_str())]);
                let free = translate(language, key, &[("count", days.to_string().as_str())]);
                let (large, then) = match &self.total {
                    None => (free, translate(language, "price.then", &[("amount", amount.as_str())])),
                    Some(total) => {
                        let then = translate(language, "price.trialThen", &[("trial", free.as_str()), ("amount", amount.as_str())]);
                        (total.in_language(language).to_owned(), then)
                    }
                };
                (translate(language, "headline.try", &[("name", name)]), large, Some(then))
            }
        };
        let then = then.map(|then| format!("<p class=\"checkout-detail\">{}</p>", escaped(&then))).unwrap_or_default();
        let deposit =
            self.deposit.as_ref().map(|amount| translate(language, "order.depositOnly", &[("amount", amount.in_language(language))]));
        let deposit = deposit.map(|text| format!("<p class=\"checkout-detail\">{}</p>", escaped(&text))).unwrap_or_default();
        let interval = self.trial.as_ref().map(|(_, cycle)| interval_after_amount(cycle, language));
        let interval =
            interval.map(|interval| format!("<small class=\"checkout-detail\">{}</small>", escaped(&interval))).unwrap_or_default();
        let picture = match &self.picture {
            Some(picture) => format!("<img class=\"checkout-picture\" src=\"{}\" alt=\"\" width=\"44\" height=\"44\">", escaped(picture)),
            None => "<span class=\"checkout-picture\"></span>".to_owned(),
        };
        // Signed-in visitors see the form instead of the hint.
        let hint = if is_signed_in { String::new() } else { escaped(&translate(language, "form.connectHint", &[])) };
        let skeleton = |height: u32| format!("<span class=\"k-skeleton\" style=\"height:{height}px\"></span>");
        let tag = if language == Language::Chinese { "zh" } else { "en" };
        format!(
            "<div class=\"checkout-columns\" lang=\"{tag}\"><div class=\"checkout-left\"><span class=\"checkout-back\">{}</span>\
             <section class=\"checkout-summary\"><div class=\"checkout-summary-inner\"><h1>{}</h1>\
             <p class=\"checkout-total money\">{}</p>{then}{deposit}<ul class=\"checkout-items\"><li class=\"checkout-item\">{picture}\
             <div class=\"checkout-item-text\"><p class=\"checkout-item-name\">{}</p><p class=\"checkout-detail checkout-clamp\">{}</p></div>\
             <p class=\"checkout-item-amount money\">{}{interval}</p></li></ul></div></section></div>\
             <div class=\"checkout-form\"><div class=\"checkout-form-inner\">{}{}<p class=\"checkout-detail\">{hint}</p>{}</div></div></div>",
            escaped(&translate(language, "nav.backTo", &[("name", store)])),
            escaped(&headline),
            escaped(&large),
            of(&self.name),
            of(&self.description),
            of(&self.price),
            skeleton(70),
            skeleton(70),
            skeleton(48)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use souk_domain::pricing::Anchoring;

    fn order(name: &str) -> CheckoutPrerender {
        CheckoutPrerender {
            name: Text::new(name, "开单台"),
            description: Text::new("Kept <safe>", "安全保存"),
            picture: Some("/api/apps/z1/logo\"".to_owned()),
            price: Text::new("3 SKT", "3 SKT"),
            total: None,
            deposit: None,
            trial: RecurringInterval::new(Interval::Month, 1, Anchoring::Fixed).ok().map(|cycle| (7, cycle)),
        }
    }

    #[test]
    fn intervals_have_the_words_of_the_page() {
        type Form = fn(&RecurringInterval, Language) -> String;
        let text = |interval, count, form: Form, language| {
            let cycle = RecurringInterval::new(interval, count, Anchoring::Fixed).expect("a cycle");
            form(&cycle, language)
        };
        assert_eq!(text(Interval::Month, 1, interval_text, Language::English), "per month");
        assert_eq!(text(Interval::Month, 1, interval_after_amount, Language::English), "/ month");
        assert_eq!(text(Interval::Year, 1, interval_after_amount, Language::Chinese), "/ 年");
        assert_eq!(text(Interval::Week, 2, interval_after_amount, Language::English), "every 2 weeks");
        assert_eq!(text(Interval::Month, 3, interval_text, Language::Chinese), "每季度");
        assert_eq!(text(Interval::Month, 6, interval_after_amount, Language::Chinese), "/ 半年");
        assert_eq!(text(Interval::Month, 4, interval_after_amount, Language::Chinese), "/ 4 个月");
    }

    #[test]
    fn a_trial_is_shown_in_both_languages_before_its_price() {
        let page = order("Desk").html("Souk", "<img>", false);
        for text in ["Try Desk", "7 days free", "Then 3 SKT per month", "/ month", "试用 开单台", "免费试用 7 天", "之后", "每月"]
        {
            assert!(page.contains(text), "{text}: {page}");
        }
    }

    #[test]
    fn product_texts_are_escaped_in_elements_and_attributes() {
        let page = order("<script>").html("Souk", "", false);
        assert!(!page.contains("<script>") && !page.contains("<safe>") && !page.contains("logo\"\""), "{page}");
        assert!(page.contains("Try &lt;script&gt;"), "{page}");
    }

    #[test]
    fn a_signed_in_visitor_sees_no_hint_to_connect() {
        assert!(order("Desk").html("Souk", "", false).contains("Sign in with your wallet first"));
        assert!(!order("Desk").html("Souk", "", true).contains("Sign in with your wallet first"));
    }

    #[test]
    fn amounts_are_rounded_and_grouped_as_the_scripts_do() {
        assert_eq!(rounded(Amount::new(1_234_567_000_000_000_000_000_000), 18).as_deref(), Some("1234567"));
        assert_eq!(rounded(Amount::new(27_999_998_842_592_592_593), 18).as_deref(), Some("27.999999"));
        assert_eq!(
            (grouped("1234567.5"), grouped("999"), grouped("1000")),
            ("1,234,567.5".to_owned(), "999".to_owned(), "1,000".to_owned())
        );
    }
}
