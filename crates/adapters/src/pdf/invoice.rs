//! The layout of an invoice.

use super::fonts::{Family, InvoiceFonts};
use super::layout::{ACCENT, AMOUNT, BODY, Column, INK, LABEL_DROP, LARGE, LEFT, LINE, Layout, Margins, RIGHT, Row, SMALL, STRONG};
use super::sheet::{PageElement, TextStyle};
use super::strings::{Strings, strings};
use super::{DocumentLine, DocumentPayment, DocumentStatus, InvoiceDocument};
use souk_domain::shared::Language;

const CODE: TextStyle = TextStyle { family: Family::Mono, size: 8.5, ..BODY };

/// Right edges and widths of the number columns left of the amounts. The description column takes the remaining width.
const UNIT_PRICE: Column = Column { right: RIGHT - 118.0, width: 98.0 };
const QUANTITY: Column = Column { right: RIGHT - 226.0, width: 52.0 };
const DESCRIPTION_WIDTH: f32 = 206.0;

pub(super) fn lay_out(invoice: &InvoiceDocument, language: Language, fonts: &InvoiceFonts) -> Vec<Vec<PageElement>> {
    let strings = strings(language);
    let mut layout = Layout::new(fonts);
    layout.head(&invoice.seller, strings.invoice);
    facts(&mut layout, invoice, strings, language);
    table(&mut layout, &invoice.lines, strings);
    totals(&mut layout, invoice, strings);
    if let Some(payment) = &invoice.payment {
        show_payment(&mut layout, payment, strings);
    }
    let banner = (!invoice.live).then_some(strings.test);
    layout.margins(&Margins { seller: &invoice.seller.name, number: &invoice.number, banner, language });
    layout.pages
}

fn facts(layout: &mut Layout<'_>, invoice: &InvoiceDocument, strings: &Strings, language: Language) {
    let color = match invoice.status {
        DocumentStatus::Paid => ACCENT,
        _ => INK,
    };
    let mut facts = vec![
        Row { label: strings.number, style: BODY, text: &invoice.number },
        Row { label: strings.issued, style: BODY, text: &invoice.issued },
        Row { label: strings.status, style: TextStyle { color, ..STRONG }, text: invoice.status.word(language) },
    ];
    facts.extend(invoice.paid_on.as_ref().map(|text| Row { label: strings.paid_on, style: BODY, text }));
    layout.facts(strings.bill_to, &invoice.customer, &facts);
}

fn table_head(layout: &mut Layout<'_>, strings: &Strings) {
    let y = layout.y;
    let high = layout.set(LEFT, y, DESCRIPTION_WIDTH, SMALL, strings.description);
    layout.set_right(QUANTITY, y, SMALL, strings.quantity);
    layout.set_right(UNIT_PRICE, y, SMALL, strings.unit_price);
    layout.set_right(AMOUNT, y, SMALL, strings.amount);
    layout.y = y + high + 5.0;
    layout.rule(LEFT, layout.y, 1.0, INK);
    layout.y += 9.0;
}

fn table(layout: &mut Layout<'_>, lines: &[DocumentLine], strings: &Strings) {
    table_head(layout, strings);
    for line in lines {
        if layout.make_room(line_height(layout, line) + 18.0) {
            table_head(layout, strings);
        }
        let top = layout.y;
        let mut high = layout.set(LEFT, top, DESCRIPTION_WIDTH, BODY, &line.description);
        if let Some(detail) = &line.detail {
            high += layout.set(LEFT, top + high, DESCRIPTION_WIDTH, SMALL, detail);
        }
        for (column, text) in [(QUANTITY, &line.quantity), (UNIT_PRICE, &line.unit_price), (AMOUNT, &line.amount)] {
            high = high.max(layout.set_right(column, top, BODY, text));
        }
        layout.y = top + high + 8.0;
        layout.rule(LEFT, layout.y, 0.7, LINE);
        layout.y += 9.0;
    }
}

fn line_height(layout: &Layout<'_>, line: &DocumentLine) -> f32 {
    let detail = line.detail.as_deref().map_or(0.0, |detail| layout.height(detail, SMALL, DESCRIPTION_WIDTH));
    (layout.height(&line.description, BODY, DESCRIPTION_WIDTH) + detail)
        .max(layout.height(&line.quantity, BODY, QUANTITY.width))
        .max(layout.height(&line.unit_price, BODY, UNIT_PRICE.width))
        .max(layout.height(&line.amount, BODY, AMOUNT.width))
}

fn totals(layout: &mut Layout<'_>, invoice: &InvoiceDocument, strings: &Strings) {
    let body = |label, text| Row { label, style: BODY, text };
    let mut rows = vec![Row { label: strings.total, style: LARGE, text: &invoice.total }];
    rows.extend(invoice.credited.as_ref().map(|text| body(strings.credited, text)));
    rows.extend(invoice.applied_credit.as_ref().map(|text| body(strings.applied_credit, text)));
    rows.push(body(strings.paid, &invoice.paid));
    rows.extend(invoice.due.as_ref().map(|text| Row { label: strings.due, style: STRONG, text }));
    layout.totals(&rows);
}

fn show_payment(layout: &mut Layout<'_>, payment: &DocumentPayment, strings: &Strings) {
    layout.section(strings.payment, 90.0);
    let (indent, width) = (LEFT + 84.0, RIGHT - LEFT - 84.0);
    layout.set(LEFT, layout.y + LABEL_DROP, 80.0, SMALL, strings.method);
    layout.y += layout.set(indent, layout.y, width, BODY, &payment.method) + 4.0;
    if let Some(reference) = &payment.reference {
        layout.set(LEFT, layout.y, 80.0, SMALL, strings.reference);
        let url = payment.reference_url.as_deref().filter(|url| url.starts_with("https://") || url.starts_with("http://"));
        let style = if url.is_some() { TextStyle { color: ACCENT, ..CODE } } else { CODE };
        let high = layout.set(indent, layout.y, width, style, reference);
        if let Some(url) = url {
            layout.draw(PageElement::Link { x: indent, y: layout.y, width, height: high, url: url.to_owned() });
        }
        layout.y += high;
    }
}
