//! Chooses the font for each character, and measures text.

use super::PdfError;
use krilla::text::Font;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use ttf_parser::{Face, name_id};

static TEXT: &[u8] = include_bytes!("../../assets/fonts/invoice.otf");
static MONO: &[u8] = include_bytes!("../../assets/fonts/invoice-mono.otf");

static BUNDLED: LazyLock<Option<Bundled>> =
    LazyLock::new(|| Some(Bundled { text: Typeface::new(Arc::new(TEXT), 0)?, mono: Typeface::new(Arc::new(MONO), 0)? }));

struct Bundled {
    text: Typeface,
    mono: Typeface,
}

/// The fonts of a document: the bundled fonts, and an optional one for characters that these lack.
#[derive(Clone, Default)]
pub struct InvoiceFonts {
    extra: Option<Typeface>,
}

impl InvoiceFonts {
    /// `font` is an OpenType or TrueType file or a collection. From a collection, this takes the Simplified Chinese face, else the first.
    pub fn with_extra(font: Vec<u8>) -> Result<Self, PdfError> {
        let index = simplified_chinese_face(&font);
        Ok(Self { extra: Some(Typeface::new(Arc::new(font), index).ok_or(PdfError::Font)?) })
    }

    /// Returns the font for `character`. A character that no font has is drawn as the bundled font's empty box.
    pub(super) fn choose(&self, family: Family, character: char) -> Result<&Typeface, PdfError> {
        let bundled = BUNDLED.as_ref().ok_or(PdfError::Font)?;
        if family == Family::Mono && bundled.mono.has(character) {
            return Ok(&bundled.mono);
        }
        match &self.extra {
            Some(extra) if !bundled.text.has(character) && extra.has(character) => Ok(extra),
            _ => Ok(&bundled.text),
        }
    }

    /// Returns the width of `text` at `size`, in points.
    pub(super) fn width(&self, family: Family, size: f32, text: &str) -> f32 {
        text.chars().map(|c| self.choose(family, c).map_or(0.0, |face| face.advance(c))).sum::<f32>() * size
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Text,
    Mono,
}

#[derive(Clone)]
pub(super) struct Typeface {
    pub font: Font,
    /// In ems. Cached: measuring each letter for each possible line break takes seconds per invoice.
    advances: Arc<HashMap<char, f32>>,
}

impl Typeface {
    fn new(data: Arc<dyn AsRef<[u8]> + Send + Sync>, index: u32) -> Option<Self> {
        let advances = Arc::new(advances(&Face::parse((*data).as_ref(), index).ok()?));
        Some(Self { font: Font::new(data.into(), index)?, advances })
    }

    fn has(&self, character: char) -> bool {
        self.advances.contains_key(&character)
    }

    /// Returns the width in ems. The box for a missing character is one em wide.
    fn advance(&self, character: char) -> f32 {
        self.advances.get(&character).copied().unwrap_or(1.0)
    }
}

fn advances(face: &Face<'_>) -> HashMap<char, f32> {
    let mut advances = HashMap::new();
    let ems = f32::from(face.units_per_em());
    for subtable in face.tables().cmap.iter().flat_map(|cmap| cmap.subtables).filter(|subtable| subtable.is_unicode()) {
        subtable.codepoints(|code| {
            let known = char::from_u32(code).and_then(|c| Some((c, face.glyph_hor_advance(face.glyph_index(c)?)?)));
            if let Some((character, advance)) = known {
                advances.insert(character, f32::from(advance) / ems);
            }
        });
    }
    advances
}

fn simplified_chinese_face(font: &[u8]) -> u32 {
    let named_so = |index: &u32| {
        Face::parse(font, *index).is_ok_and(|face| {
            let families = face.names().into_iter().filter(|name| name.name_id == name_id::FAMILY);
            families.filter_map(|name| name.to_string()).any(|family| family.ends_with(" SC"))
        })
    };
    (0..ttf_parser::fonts_in_collection(font).unwrap_or(1)).find(named_so).unwrap_or(0)
}
