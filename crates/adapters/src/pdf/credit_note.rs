//! The layout of a credit note.

use super::fonts::InvoiceFonts;
use super::layout::{AMOUNT, BODY, INK, LARGE, LEFT, LINE, Layout, Margins, RIGHT, Row, SMALL};
use super::sheet::PageElement;
use super::strings::{Strings, strings};
use super::{CreditNoteDocument, CreditNoteLine};
use souk_domain::shared::Language;

const DESCRIPTION_WIDTH: f32 = RIGHT - LEFT - 128.0;

pub(super) fn lay_out(note: &CreditNoteDocument, language: Language, fonts: &InvoiceFonts) -> Vec<Vec<PageElement>> {
    let strings = strings(language);
    let mut layout = Layout::new(fonts);
    layout.head(&note.seller, strings.credit_note);
    let facts = [
        Row { label: strings.note_number, style: BODY, text: &note.number },
        Row { label: strings.issued, style: BODY, text: &note.issued },
        Row { label: strings.number, style: BODY, text: &note.invoice_number },
        Row { label: strings.reason, style: BODY, text: &note.reason },
    ];
    layout.facts(strings.bill_to, &note.customer, &facts);
    table(&mut layout, &note.lines, strings);
    layout.totals(&[Row { label: strings.credited_total, style: LARGE, text: &note.total }]);
    layout.section(strings.destinations, 40.0 + 20.0 * note.destinations.len() as f32);
    for destination in &note.destinations {
        let labeled = layout.set(LEFT, layout.y, DESCRIPTION_WIDTH, BODY, &destination.description);
        layout.y += layout.set_right(AMOUNT, layout.y, BODY, &destination.amount).max(labeled) + 4.0;
    }
    if let Some(memo) = &note.memo {
        layout.y += 16.0;
        layout.section(strings.memo, 60.0);
        layout.y += layout.set(LEFT, layout.y, RIGHT - LEFT, BODY, memo);
    }
    let banner = (!note.live).then_some(strings.test);
    layout.margins(&Margins { seller: &note.seller.name, number: &note.number, banner, language });
    layout.pages
}

fn table_head(layout: &mut Layout<'_>, strings: &Strings) {
    let y = layout.y;
    let high = layout.set(LEFT, y, DESCRIPTION_WIDTH, SMALL, strings.description);
    layout.set_right(AMOUNT, y, SMALL, strings.amount);
    layout.y = y + high + 5.0;
    layout.rule(LEFT, layout.y, 1.0, INK);
    layout.y += 9.0;
}

fn table(layout: &mut Layout<'_>, lines: &[CreditNoteLine], strings: &Strings) {
    table_head(layout, strings);
    for line in lines {
        let detail = line.detail.as_deref().unwrap_or_default();
        let high = layout.height(&line.description, BODY, DESCRIPTION_WIDTH) + layout.height(detail, SMALL, DESCRIPTION_WIDTH);
        if layout.make_room(high.max(layout.height(&line.amount, BODY, AMOUNT.width)) + 18.0) {
            table_head(layout, strings);
        }
        let top = layout.y;
        let mut high = layout.set(LEFT, top, DESCRIPTION_WIDTH, BODY, &line.description);
        if !detail.is_empty() {
            high += layout.set(LEFT, top + high, DESCRIPTION_WIDTH, SMALL, detail);
        }
        high = high.max(layout.set_right(AMOUNT, top, BODY, &line.amount));
        layout.y = top + high + 8.0;
        layout.rule(LEFT, layout.y, 0.7, LINE);
        layout.y += 9.0;
    }
}
