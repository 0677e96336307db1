//! Two HTML pages: the processor's view of a payment, and the second step of a card.

use super::call::CallError;
use super::charge;
use super::intent;
use super::state::State;

pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

fn page(title: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>:root{{color-scheme:light dark}}body{{font:16px/1.5 system-ui,sans-serif;max-width:42rem;margin:2rem auto;\
         padding:0 1rem}}dl{{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.5rem}}dt{{opacity:.7}}dd{{margin:0;\
         overflow-wrap:anywhere}}button{{font:inherit;min-height:2.75rem;padding:0 1.25rem;margin:0 .5rem .5rem 0}}</style></head>\
         <body><main><h1>{title}</h1>{body}</main></body></html>"
    )
}

/// The public page of a payment. It contains no secrets and no personal data.
pub(super) async fn payment(state: &mut State<'_>, id: &str) -> Result<String, CallError> {
    let intent = intent::load(state, id).await?.value;
    let mut rows = vec![
        ("Payment", intent.id.clone()),
        ("Status", intent.status.name().to_owned()),
        ("Amount", format!("{} {} (minor units)", intent.amount, intent.currency)),
        ("Created", crate::time::Timestamp::from_seconds(intent.created).to_iso()),
    ];
    rows.extend(intent.description.map(|text| ("Description", text)));
    for charge in charge::of_intent(state, id).await? {
        rows.push(("Charge", charge.id));
        rows.push(("Refunded", format!("{} of {}", charge.amount_refunded, charge.amount)));
    }
    let list: String = rows.iter().map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>", escape(value))).collect();
    Ok(page("Sandbox card payment", &format!("<dl>{list}</dl><p>A test payment: no money moved.</p>")))
}

/// The bank's confirmation page. The form posts to the page's own URL, which contains the client secret.
pub(super) fn challenge() -> String {
    page(
        "Confirm your payment",
        "<p>This stands in for your bank's own page. Do you want to allow this test payment?</p><form method=\"post\">\
         <button name=\"success\" value=\"true\">Complete</button><button name=\"success\" value=\"false\">Fail</button></form>",
    )
}

pub(super) fn challenged(status: u16) -> String {
    let title = if status == 200 { "Payment confirmed" } else { "Payment not confirmed" };
    page(title, "<p>You can close this window and go back to the shop.</p>")
}

pub(super) fn missing() -> String {
    page("No such payment", "<p>The sandbox knows no payment of this name.</p>")
}
