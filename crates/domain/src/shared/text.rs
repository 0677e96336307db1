//! Text in the two languages of Souk.

/// English is the default and the fallback (SPEC.md 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Language {
    #[default]
    English,
    Chinese,
}

impl Language {
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// `zh`, `zh-CN`, `zh_Hans` and the like are Chinese; all other tags are English.
    #[must_use]
    pub fn from_tag(tag: &str) -> Self {
        let primary = tag.split(['-', '_']).next().unwrap_or_default();
        if primary.eq_ignore_ascii_case("zh") { Self::Chinese } else { Self::English }
    }
}

/// One text in both languages. An empty Chinese text falls back to the English one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    pub en: String,
    pub zh: String,
}

impl Text {
    #[must_use]
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Self {
        Self { en: en.into(), zh: zh.into() }
    }

    /// Uses the English text if there is no Chinese one.
    #[must_use]
    pub fn with_fallback(en: &str, zh: Option<&str>) -> Self {
        Self::new(en, zh.unwrap_or(en))
    }

    #[must_use]
    pub fn in_language(&self, language: Language) -> &str {
        match language {
            Language::Chinese if !self.zh.is_empty() => &self.zh,
            _ => &self.en,
        }
    }
}
