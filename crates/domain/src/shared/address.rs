//! A postal address.

/// A postal address. `country` is a lower-case ISO 3166-1 alpha-2 code, as the published client sends it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Address {
    pub country: String,
    pub state: String,
    pub city: String,
    pub line1: String,
    pub line2: String,
    pub postal_code: String,
}

impl Address {
    /// Whether all fields except the country are empty.
    #[must_use]
    pub fn has_only_country(&self) -> bool {
        *self == Self { country: self.country.clone(), ..Self::default() }
    }
}
