//! The pages of a document, their elements, and the writing of the PDF file. Coordinates are in points from the top left corner.

use super::PdfError;
use super::fonts::{Family, InvoiceFonts};
use krilla::Document;
use krilla::action::{Action, LinkAction};
use krilla::annotation::{Annotation, LinkAnnotation, Target};
use krilla::color::rgb;
use krilla::geom::{PathBuilder, Point, Rect};
use krilla::metadata::Metadata;
use krilla::page::PageSettings;
use krilla::paint::{Fill, Stroke};
use krilla::surface::Surface;
use krilla::text::TextDirection;
use souk_domain::shared::Language;

/// The size of ISO 216 A4 in points.
pub(super) const WIDTH: f32 = 595.28;
pub(super) const HEIGHT: f32 = 841.89;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Color(pub u8, pub u8, pub u8);

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TextStyle {
    pub family: Family,
    pub size: f32,
    pub bold: bool,
    pub color: Color,
}

pub(super) enum PageElement {
    /// `y` is the baseline.
    Text {
        x: f32,
        y: f32,
        style: TextStyle,
        text: String,
    },
    Area {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        color: Color,
    },
    Link {
        x: f32,
        y: f32,
        width: f32,
        height: f32,
        url: String,
    },
}

pub(super) struct Title {
    pub title: String,
    pub author: String,
    pub language: Language,
}

/// Writes one page per list of elements.
pub(super) fn write(pages: &[Vec<PageElement>], fonts: &InvoiceFonts, title: Title) -> Result<Vec<u8>, PdfError> {
    let mut document = Document::new();
    document.set_metadata(
        Metadata::new().title(title.title).authors(vec![title.author]).creator("Souk".to_owned()).language(title.language.tag().to_owned()),
    );
    let settings = PageSettings::from_wh(WIDTH, HEIGHT).ok_or_else(|| PdfError::Write("page size".to_owned()))?;
    for elements in pages {
        let mut page = document.start_page_with(settings.clone());
        let mut surface = page.surface();
        for element in elements {
            match element {
                PageElement::Text { x, y, style, text } => draw_text(&mut surface, fonts, Point::from_xy(*x, *y), *style, text)?,
                PageElement::Area { x, y, width, height, color } => {
                    draw_area(&mut surface, Rect::from_xywh(*x, *y, *width, *height), *color)
                }
                PageElement::Link { .. } => {}
            }
        }
        surface.finish();
        for element in elements {
            if let PageElement::Link { x, y, width, height, url } = element
                && let Some(area) = Rect::from_xywh(*x, *y, *width, *height)
            {
                let target = Target::Action(Action::Link(LinkAction::new(url.clone())));
                page.add_annotation(Annotation::new_link(LinkAnnotation::new(area, target), Some(url.clone())));
            }
        }
        page.finish();
    }
    document.finish().map_err(|error| PdfError::Write(format!("{error:?}")))
}

fn fill(color: Color) -> Fill {
    Fill { paint: rgb::Color::new(color.0, color.1, color.2).into(), ..Fill::default() }
}

fn draw_area(surface: &mut Surface<'_>, area: Option<Rect>, color: Color) {
    let Some(area) = area else { return };
    let mut path = PathBuilder::new();
    path.push_rect(area);
    if let Some(path) = path.finish() {
        surface.set_stroke(None);
        surface.set_fill(Some(fill(color)));
        surface.draw_path(&path);
    }
}

/// Draws a text in runs that use one font each.
fn draw_text(surface: &mut Surface<'_>, fonts: &InvoiceFonts, at: Point, style: TextStyle, text: &str) -> Result<(), PdfError> {
    surface.set_fill(Some(fill(style.color)));
    // No bold font is bundled, because it would add 3 MB for a few words. An outline in the same color imitates it.
    let outline = Stroke {
        paint: rgb::Color::new(style.color.0, style.color.1, style.color.2).into(),
        width: style.size / 34.0,
        ..Stroke::default()
    };
    surface.set_stroke(style.bold.then_some(outline));
    let mut x = at.x;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let face = fonts.choose(style.family, first)?;
        let mut end = rest.len();
        for (index, character) in rest.char_indices() {
            if !std::ptr::eq(fonts.choose(style.family, character)?, face) {
                end = index;
                break;
            }
        }
        let (run, after) = rest.split_at(end);
        surface.draw_text(Point::from_xy(x, at.y), face.font.clone(), style.size, run, false, TextDirection::LeftToRight);
        x += fonts.width(style.family, style.size, run);
        rest = after;
    }
    surface.set_stroke(None);
    Ok(())
}
