//! The layout of an invoice. Coordinates are points from the top left corner; `y` grows downwards.

use super::fonts::{Family, InvoiceFonts};
use super::sheet::{Color, HEIGHT, PageElement, TextStyle, WIDTH};
use super::strings::{Strings, page_of, strings};
use super::wrap::wrap;
use super::{DocumentLine, DocumentPayment, DocumentStatus, InvoiceDocument};
use souk_domain::shared::Language;

const LEFT: f32 = 54.0;
const RIGHT: f32 = WIDTH - LEFT;
const TOP: f32 = 62.0;
/// Only the footer is printed below this.
const BOTTOM: f32 = HEIGHT - 72.0;
const LEADING: f32 = 1.45;
/// Aligns a small label with the baseline of the text beside it.
const LABEL_DROP: f32 = 1.0;

const INK: Color = Color(0x1d, 0x1c, 0x1a);
const QUIET: Color = Color(0x5c, 0x5a, 0x55);
const LINE: Color = Color(0xe4, 0xe1, 0xdb);
const ACCENT: Color = Color(0x0b, 0x6e, 0x63);
const TEST: Color = Color(0x6b, 0x3f, 0xa0);
const WHITE: Color = Color(0xff, 0xff, 0xff);

const BODY: TextStyle = TextStyle { family: Family::Text, size: 9.5, bold: false, color: INK };
const STRONG: TextStyle = TextStyle { bold: true, ..BODY };
const SMALL: TextStyle = TextStyle { size: 8.5, color: QUIET, ..BODY };
const CODE: TextStyle = TextStyle { family: Family::Mono, size: 8.5, ..BODY };

/// Right edges and widths of the three number columns; the description column takes the rest.
const AMOUNT: Column = Column { right: RIGHT, width: 108.0 };
const UNIT_PRICE: Column = Column { right: RIGHT - 118.0, width: 98.0 };
const QUANTITY: Column = Column { right: RIGHT - 226.0, width: 52.0 };
const DESCRIPTION_WIDTH: f32 = 206.0;
const TOTALS: Column = Column { right: RIGHT, width: 140.0 };

#[derive(Clone, Copy)]
struct Column {
    right: f32,
    width: f32,
}

pub(super) fn lay_out(invoice: &InvoiceDocument, language: Language, fonts: &InvoiceFonts) -> Vec<Vec<PageElement>> {
    let mut layout = Layout { fonts, strings: strings(language), pages: vec![Vec::new()], y: TOP };
    layout.head(invoice);
    layout.facts(invoice, language);
    layout.table(&invoice.lines);
    layout.totals(invoice);
    if let Some(payment) = &invoice.payment {
        layout.payment(payment);
    }
    layout.margins(invoice, language);
    layout.pages
}

struct Layout<'a> {
    fonts: &'a InvoiceFonts,
    strings: &'static Strings,
    pages: Vec<Vec<PageElement>>,
    y: f32,
}

impl Layout<'_> {
    fn draw(&mut self, element: PageElement) {
        if let Some(page) = self.pages.last_mut() {
            page.push(element);
        }
    }

    fn lines(&self, text: &str, style: TextStyle, width: f32) -> Vec<String> {
        wrap(text, width, |line| self.fonts.width(style.family, style.size, line))
    }

    /// Sets `text` with the top of its first line at `y`; returns its height.
    fn set(&mut self, x: f32, y: f32, width: f32, style: TextStyle, text: &str) -> f32 {
        let lines = self.lines(text, style, width);
        let height = lines.len() as f32 * style.size * LEADING;
        for (index, text) in lines.into_iter().enumerate() {
            self.draw(PageElement::Text { x, y: y + style.size * (1.05 + index as f32 * LEADING), style, text });
        }
        height
    }

    /// As [`Self::set`], aligned to the column's right edge.
    fn set_right(&mut self, column: Column, y: f32, style: TextStyle, text: &str) -> f32 {
        let lines = self.lines(text, style, column.width);
        let height = lines.len() as f32 * style.size * LEADING;
        for (index, text) in lines.into_iter().enumerate() {
            let x = column.right - self.fonts.width(style.family, style.size, &text);
            self.draw(PageElement::Text { x, y: y + style.size * (1.05 + index as f32 * LEADING), style, text });
        }
        height
    }

    fn rule(&mut self, left: f32, y: f32, height: f32, color: Color) {
        self.draw(PageElement::Area { x: left, y, width: RIGHT - left, height, color });
    }

    /// Begins a new page if less than `height` is left on this one; returns whether it did.
    fn make_room(&mut self, height: f32) -> bool {
        let full = self.y + height > BOTTOM;
        if full {
            self.pages.push(Vec::new());
            self.y = TOP;
        }
        full
    }

    fn head(&mut self, invoice: &InvoiceDocument) {
        let top = self.y;
        let title = TextStyle { size: 24.0, ..BODY };
        let right = self.set_right(Column { right: RIGHT, width: 200.0 }, top - 5.0, title, self.strings.invoice);
        let mut left = self.set(LEFT, top, 270.0, TextStyle { size: 15.0, ..STRONG }, &invoice.seller.name) + 2.0;
        for detail in &invoice.seller.details {
            left += self.set(LEFT, top + left, 270.0, SMALL, detail);
        }
        self.y = top + left.max(right) + 16.0;
        self.rule(LEFT, self.y, 1.5, ACCENT);
        self.y += 16.0;
    }

    fn facts(&mut self, invoice: &InvoiceDocument, language: Language) {
        let top = self.y;
        let color = match invoice.status {
            DocumentStatus::Paid => ACCENT,
            _ => INK,
        };
        let mut facts = vec![
            (self.strings.number, BODY, invoice.number.as_str()),
            (self.strings.issued, BODY, invoice.issued.as_str()),
            (self.strings.status, TextStyle { color, ..STRONG }, invoice.status.word(language)),
        ];
        if let Some(paid_on) = &invoice.paid_on {
            facts.push((self.strings.paid_on, BODY, paid_on));
        }
        let mut right = 0.0;
        for (label, style, text) in facts {
            let labelled = self.set(LEFT + 250.0, top + right + LABEL_DROP, 84.0, SMALL, label);
            right += self.set(LEFT + 340.0, top + right, RIGHT - LEFT - 340.0, style, text).max(labelled) + 3.0;
        }
        let mut left = self.set(LEFT, top, 220.0, SMALL, self.strings.bill_to);
        left += self.set(LEFT, top + left, 220.0, STRONG, &invoice.customer.name) + 1.0;
        for detail in &invoice.customer.details {
            left += self.set(LEFT, top + left, 220.0, SMALL, detail);
        }
        self.y = top + left.max(right) + 26.0;
    }

    fn table_head(&mut self) {
        let y = self.y;
        let high = self.set(LEFT, y, DESCRIPTION_WIDTH, SMALL, self.strings.description);
        self.set_right(QUANTITY, y, SMALL, self.strings.quantity);
        self.set_right(UNIT_PRICE, y, SMALL, self.strings.unit_price);
        self.set_right(AMOUNT, y, SMALL, self.strings.amount);
        self.y = y + high + 5.0;
        self.rule(LEFT, self.y, 1.0, INK);
        self.y += 9.0;
    }

    fn table(&mut self, lines: &[DocumentLine]) {
        self.table_head();
        for line in lines {
            if self.make_room(self.line_height(line) + 18.0) {
                self.table_head();
            }
            let top = self.y;
            let mut high = self.set(LEFT, top, DESCRIPTION_WIDTH, BODY, &line.description);
            if let Some(detail) = &line.detail {
                high += self.set(LEFT, top + high, DESCRIPTION_WIDTH, SMALL, detail);
            }
            for (column, text) in [(QUANTITY, &line.quantity), (UNIT_PRICE, &line.unit_price), (AMOUNT, &line.amount)] {
                high = high.max(self.set_right(column, top, BODY, text));
            }
            self.y = top + high + 8.0;
            self.rule(LEFT, self.y, 0.7, LINE);
            self.y += 9.0;
        }
    }

    fn line_height(&self, line: &DocumentLine) -> f32 {
        let high = |text: &str, style: TextStyle, width: f32| self.lines(text, style, width).len() as f32 * style.size * LEADING;
        let detail = line.detail.as_deref().map_or(0.0, |detail| high(detail, SMALL, DESCRIPTION_WIDTH));
        (high(&line.description, BODY, DESCRIPTION_WIDTH) + detail)
            .max(high(&line.quantity, BODY, QUANTITY.width))
            .max(high(&line.unit_price, BODY, UNIT_PRICE.width))
            .max(high(&line.amount, BODY, AMOUNT.width))
    }

    fn totals(&mut self, invoice: &InvoiceDocument) {
        self.make_room(130.0);
        let left = RIGHT - 244.0;
        let mut rows = vec![(self.strings.subtotal, BODY, &invoice.subtotal)];
        rows.extend(invoice.applied_credit.as_ref().map(|credit| (self.strings.applied_credit, BODY, credit)));
        rows.extend([(self.strings.total, TextStyle { size: 13.0, ..STRONG }, &invoice.total), (self.strings.paid, BODY, &invoice.paid)]);
        if let Some(due) = &invoice.due {
            rows.push((self.strings.due, STRONG, due));
        }
        for (label, style, amount) in rows {
            let label_style = TextStyle { bold: false, ..style };
            let labelled = self.set(left, self.y, 100.0, label_style, label);
            self.y += self.set_right(TOTALS, self.y, style, amount).max(labelled) + 5.0;
        }
        self.y += 20.0;
    }

    fn payment(&mut self, payment: &DocumentPayment) {
        self.make_room(90.0);
        self.rule(LEFT, self.y, 0.7, LINE);
        self.y += 14.0;
        self.y += self.set(LEFT, self.y, 300.0, STRONG, self.strings.payment) + 5.0;
        let (indent, width) = (LEFT + 84.0, RIGHT - LEFT - 84.0);
        self.set(LEFT, self.y + LABEL_DROP, 80.0, SMALL, self.strings.method);
        self.y += self.set(indent, self.y, width, BODY, &payment.method) + 4.0;
        if let Some(reference) = &payment.reference {
            self.set(LEFT, self.y, 80.0, SMALL, self.strings.reference);
            let url = payment.reference_url.as_deref().filter(|url| url.starts_with("https://") || url.starts_with("http://"));
            let style = if url.is_some() { TextStyle { color: ACCENT, ..CODE } } else { CODE };
            let high = self.set(indent, self.y, width, style, reference);
            if let Some(url) = url {
                self.draw(PageElement::Link { x: indent, y: self.y, width, height: high, url: url.to_owned() });
            }
            self.y += high;
        }
    }

    /// Adds to every page the test-mode banner at the top and the invoice number and page number at the bottom.
    fn margins(&mut self, invoice: &InvoiceDocument, language: Language) {
        let pages = self.pages.len();
        let mut finished = Vec::with_capacity(pages);
        for (index, elements) in std::mem::take(&mut self.pages).into_iter().enumerate() {
            self.pages.push(elements);
            if !invoice.live {
                self.draw(PageElement::Area { x: 0.0, y: 0.0, width: WIDTH, height: 24.0, color: TEST });
                self.set(LEFT, 6.5, RIGHT - LEFT, TextStyle { size: 9.0, color: WHITE, ..STRONG }, self.strings.test);
            }
            let y = HEIGHT - 50.0;
            self.rule(LEFT, y - 8.0, 0.7, LINE);
            let foot = format!("{} · {}", invoice.seller.name, invoice.number);
            if let Some(text) = self.lines(&foot, SMALL, 360.0).into_iter().next() {
                self.set(LEFT, y, 400.0, SMALL, &text);
            }
            self.set_right(AMOUNT, y, SMALL, &page_of(index + 1, pages, language));
            finished.append(&mut self.pages);
        }
        self.pages = finished;
    }
}
