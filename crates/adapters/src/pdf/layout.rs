//! Layout functions shared by all documents. Coordinates are in points from the top left corner; `y` grows downwards.

use super::Party;
use super::fonts::{Family, InvoiceFonts};
use super::sheet::{Color, HEIGHT, PageElement, TextStyle, WIDTH};
use super::strings::page_of;
use super::wrap::wrap;
use souk_domain::shared::Language;

pub(super) const LEFT: f32 = 54.0;
pub(super) const RIGHT: f32 = WIDTH - LEFT;
const TOP: f32 = 62.0;
/// Only the footer is printed below this.
const BOTTOM: f32 = HEIGHT - 72.0;
pub(super) const LEADING: f32 = 1.45;
/// Aligns a small label with the baseline of the text beside it.
pub(super) const LABEL_DROP: f32 = 1.0;

pub(super) const INK: Color = Color(0x1d, 0x1c, 0x1a);
const QUIET: Color = Color(0x5c, 0x5a, 0x55);
pub(super) const LINE: Color = Color(0xe4, 0xe1, 0xdb);
pub(super) const ACCENT: Color = Color(0x0b, 0x6e, 0x63);
const TEST: Color = Color(0x6b, 0x3f, 0xa0);
const WHITE: Color = Color(0xff, 0xff, 0xff);

pub(super) const BODY: TextStyle = TextStyle { family: Family::Text, size: 9.5, bold: false, color: INK };
pub(super) const STRONG: TextStyle = TextStyle { bold: true, ..BODY };
pub(super) const SMALL: TextStyle = TextStyle { size: 8.5, color: QUIET, ..BODY };
pub(super) const LARGE: TextStyle = TextStyle { size: 13.0, ..STRONG };

/// The right edge and the width of the column of amounts.
pub(super) const AMOUNT: Column = Column { right: RIGHT, width: 108.0 };
const TOTALS: Column = Column { right: RIGHT, width: 140.0 };

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub right: f32,
    pub width: f32,
}

/// A label and its value.
pub(super) struct Row<'a> {
    pub label: &'a str,
    pub style: TextStyle,
    pub text: &'a str,
}

/// The content of the margins of every page.
pub(super) struct Margins<'a> {
    pub seller: &'a str,
    pub number: &'a str,
    /// The banner of test mode; `None` for a live document.
    pub banner: Option<&'a str>,
    pub language: Language,
}

/// The pages of a document, filled from top to bottom.
pub(super) struct Layout<'a> {
    pub fonts: &'a InvoiceFonts,
    pub pages: Vec<Vec<PageElement>>,
    pub y: f32,
}

impl<'a> Layout<'a> {
    pub fn new(fonts: &'a InvoiceFonts) -> Self {
        Self { fonts, pages: vec![Vec::new()], y: TOP }
    }

    pub fn draw(&mut self, element: PageElement) {
        if let Some(page) = self.pages.last_mut() {
            page.push(element);
        }
    }

    pub fn lines(&self, text: &str, style: TextStyle, width: f32) -> Vec<String> {
        wrap(text, width, |line| self.fonts.width(style.family, style.size, line))
    }

    pub fn height(&self, text: &str, style: TextStyle, width: f32) -> f32 {
        self.lines(text, style, width).len() as f32 * style.size * LEADING
    }

    /// Draws `text` with the top of its first line at `y`, and returns its height.
    pub fn set(&mut self, x: f32, y: f32, width: f32, style: TextStyle, text: &str) -> f32 {
        let lines = self.lines(text, style, width);
        let height = lines.len() as f32 * style.size * LEADING;
        for (index, text) in lines.into_iter().enumerate() {
            self.draw(PageElement::Text { x, y: y + style.size * (1.05 + index as f32 * LEADING), style, text });
        }
        height
    }

    /// Like [`Self::set`], aligned to the column's right edge.
    pub fn set_right(&mut self, column: Column, y: f32, style: TextStyle, text: &str) -> f32 {
        let lines = self.lines(text, style, column.width);
        let height = lines.len() as f32 * style.size * LEADING;
        for (index, text) in lines.into_iter().enumerate() {
            let x = column.right - self.fonts.width(style.family, style.size, &text);
            self.draw(PageElement::Text { x, y: y + style.size * (1.05 + index as f32 * LEADING), style, text });
        }
        height
    }

    pub fn rule(&mut self, left: f32, y: f32, height: f32, color: Color) {
        self.draw(PageElement::Area { x: left, y, width: RIGHT - left, height, color });
    }

    /// Begins a new page if less than `height` is left on this one; returns whether it did.
    pub fn make_room(&mut self, height: f32) -> bool {
        let full = self.y + height > BOTTOM;
        if full {
            self.pages.push(Vec::new());
            self.y = TOP;
        }
        full
    }

    /// Draws the seller and the title of the document.
    pub fn head(&mut self, seller: &Party, title: &str) {
        let top = self.y;
        let style = TextStyle { size: 24.0, ..BODY };
        let right = self.set_right(Column { right: RIGHT, width: 240.0 }, top - 5.0, style, title);
        let mut left = self.set(LEFT, top, 230.0, TextStyle { size: 15.0, ..STRONG }, &seller.name) + 2.0;
        for detail in &seller.details {
            left += self.set(LEFT, top + left, 270.0, SMALL, detail);
        }
        self.y = top + left.max(right) + 16.0;
        self.rule(LEFT, self.y, 1.5, ACCENT);
        self.y += 16.0;
    }

    /// Draws the customer on the left and the document's details on the right.
    pub fn facts(&mut self, label: &str, customer: &Party, facts: &[Row<'_>]) {
        let top = self.y;
        let mut right = 0.0;
        for Row { label, style, text } in facts {
            let labeled = self.set(LEFT + 250.0, top + right + LABEL_DROP, 84.0, SMALL, label);
            right += self.set(LEFT + 340.0, top + right, RIGHT - LEFT - 340.0, *style, text).max(labeled) + 3.0;
        }
        let mut left = self.set(LEFT, top, 220.0, SMALL, label);
        left += self.set(LEFT, top + left, 220.0, STRONG, &customer.name) + 1.0;
        for detail in &customer.details {
            left += self.set(LEFT, top + left, 220.0, SMALL, detail);
        }
        self.y = top + left.max(right) + 26.0;
    }

    /// Draws the totals below the table, aligned with its amounts.
    pub fn totals(&mut self, rows: &[Row<'_>]) {
        self.make_room(26.0 * rows.len() as f32);
        let left = RIGHT - 244.0;
        for Row { label, style, text } in rows {
            let label_style = TextStyle { bold: false, ..*style };
            let labeled = self.set(left, self.y, 100.0, label_style, label);
            self.y += self.set_right(TOTALS, self.y, *style, text).max(labeled) + 5.0;
        }
        self.y += 20.0;
    }

    /// Draws the title of a section below the totals.
    pub fn section(&mut self, title: &str, height: f32) {
        self.make_room(height);
        self.rule(LEFT, self.y, 0.7, LINE);
        self.y += 14.0;
        self.y += self.set(LEFT, self.y, 300.0, STRONG, title) + 5.0;
    }

    /// Adds to every page the test-mode banner at the top, and the document's number and the page number at the bottom.
    pub fn margins(&mut self, margins: &Margins<'_>) {
        let pages = self.pages.len();
        let mut finished = Vec::with_capacity(pages);
        for (index, elements) in std::mem::take(&mut self.pages).into_iter().enumerate() {
            self.pages.push(elements);
            if let Some(banner) = margins.banner {
                self.draw(PageElement::Area { x: 0.0, y: 0.0, width: WIDTH, height: 24.0, color: TEST });
                self.set(LEFT, 6.5, RIGHT - LEFT, TextStyle { size: 9.0, color: WHITE, ..STRONG }, banner);
            }
            let y = HEIGHT - 50.0;
            self.rule(LEFT, y - 8.0, 0.7, LINE);
            let foot = format!("{} · {}", margins.seller, margins.number);
            if let Some(text) = self.lines(&foot, SMALL, 360.0).into_iter().next() {
                self.set(LEFT, y, 400.0, SMALL, &text);
            }
            self.set_right(AMOUNT, y, SMALL, &page_of(index + 1, pages, margins.language));
            finished.append(&mut self.pages);
        }
        self.pages = finished;
    }
}
