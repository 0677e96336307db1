//! Name, mail, phone, address: what a checkout accepts (SPEC.md 5). The page applies the same rules.

use super::postal_code_fits;
use crate::shared::{Address, Language, Text};
use std::collections::BTreeMap;
use std::str::FromStr;

/// Longest name we keep.
pub const NAME_MAX: usize = 128;
/// Longest address line we keep.
pub const ADDRESS_LINE_MAX: usize = 200;

/// The fields of the form, with the names that `metadata.page_info.field_validation` gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    Name,
    Email,
    Phone,
    Country,
    State,
    City,
    Line1,
    Line2,
    PostalCode,
}

impl Field {
    pub const ALL: [Self; 9] =
        [Self::Name, Self::Email, Self::Phone, Self::Country, Self::State, Self::City, Self::Line1, Self::Line2, Self::PostalCode];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Name => "customer_name",
            Self::Email => "customer_email",
            Self::Phone => "customer_phone",
            Self::Country => "billing_address.country",
            Self::State => "billing_address.state",
            Self::City => "billing_address.city",
            Self::Line1 => "billing_address.line1",
            Self::Line2 => "billing_address.line2",
            Self::PostalCode => "billing_address.postal_code",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.name() == name)
    }
}

/// A pattern that the seller adds to a field, with its message in each language.
#[derive(Debug, Clone)]
pub struct FieldPattern {
    /// The pattern as written, for the page.
    pub source: String,
    pub message: Text,
    compiled: regex::Regex,
}

impl PartialEq for FieldPattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.message == other.message
    }
}
impl Eq for FieldPattern {}

/// Longest pattern we compile.
pub const PATTERN_MAX: usize = 500;

impl FieldPattern {
    /// `None` when the pattern does not compile or is too large. Matching takes time linear in the text.
    #[must_use]
    pub fn new(source: &str, message: Text) -> Option<Self> {
        if source.len() > PATTERN_MAX {
            return None;
        }
        let compiled = regex::RegexBuilder::new(source).size_limit(1 << 18).build().ok()?;
        Some(Self { source: source.to_owned(), message, compiled })
    }
}

/// What the seller adds to the form: patterns per field and a text that says what the form is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageInfo {
    pub patterns: BTreeMap<Field, FieldPattern>,
    pub purpose: Text,
}

/// What a form must hold beyond name and mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContactRequirements {
    pub phone: bool,
    /// The whole address; otherwise only the postal code, and only for cards.
    pub address: bool,
    pub card: bool,
}

/// What a visitor typed, as it arrived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContactForm {
    pub name: String,
    pub email: String,
    pub phone: String,
    pub address: Address,
}

/// A form that passed every rule, normalised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    pub name: String,
    pub email: String,
    /// E.164, or empty.
    pub phone: String,
    pub address: Address,
}

/// Why a field was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldError {
    Required,
    Invalid,
    TooLong(usize),
    /// The seller's own message.
    Pattern(Text),
}

impl FieldError {
    /// The message shown under the field (SPEC.md 8: required, invalid).
    #[must_use]
    pub fn message(&self, language: Language) -> String {
        match (self, language) {
            (Self::Required, Language::English) => "Required".to_owned(),
            (Self::Required, Language::Chinese) => "必填".to_owned(),
            (Self::Invalid, Language::English) => "Invalid".to_owned(),
            (Self::Invalid, Language::Chinese) => "无效".to_owned(),
            (Self::TooLong(length), Language::English) => format!("input a maximum of {length} characters"),
            (Self::TooLong(length), Language::Chinese) => format!("最多输入 {length} 个字符"),
            (Self::Pattern(text), _) if text.in_language(language).is_empty() => Self::Invalid.message(language),
            (Self::Pattern(text), _) => text.in_language(language).to_owned(),
        }
    }
}

/// Refused fields, each with its first error.
pub type ValidationErrors = BTreeMap<Field, FieldError>;

fn is_mail(text: &str) -> bool {
    email_address::EmailAddress::is_valid(text) && text.rsplit_once('@').is_some_and(|(_, domain)| domain.contains('.'))
}

/// E.164 of a phone number, read in its country unless it begins with `+`.
#[must_use]
pub fn normalise_phone(text: &str, country: &str) -> Option<String> {
    let country = phonenumber::country::Id::from_str(&country.to_ascii_uppercase()).ok();
    let number = phonenumber::parse(country, text).ok()?;
    phonenumber::is_valid(&number).then(|| number.format().mode(phonenumber::Mode::E164).to_string())
}

struct Check<'a> {
    page: &'a PageInfo,
    errors: ValidationErrors,
}

impl Check<'_> {
    fn text(&mut self, field: Field, value: &str, required: bool, max: usize) -> String {
        let value: String = value.trim().chars().filter(|c| !c.is_control()).collect();
        if value.is_empty() {
            if required {
                self.reject(field, FieldError::Required);
            }
        } else if value.chars().count() > max {
            self.reject(field, FieldError::TooLong(max));
        } else if let Some(pattern) = self.page.patterns.get(&field).filter(|pattern| !pattern.compiled.is_match(&value)) {
            let message = pattern.message.clone();
            self.reject(field, FieldError::Pattern(message));
        }
        value
    }

    fn reject(&mut self, field: Field, error: FieldError) {
        self.errors.entry(field).or_insert(error);
    }
}

/// Applies every rule at once, so that a form comes back with all its errors.
pub fn check_contact(form: &ContactForm, demands: ContactRequirements, page: &PageInfo) -> Result<Contact, ValidationErrors> {
    let mut check = Check { page, errors: ValidationErrors::new() };
    let name = check.text(Field::Name, &form.name, true, NAME_MAX);
    let email = check.text(Field::Email, &form.email, true, 254);
    if !email.is_empty() && !is_mail(&email) {
        check.reject(Field::Email, FieldError::Invalid);
    }
    let country = form.address.country.trim().to_ascii_lowercase();
    let is_code = country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_lowercase());
    if !country.is_empty() && !is_code {
        check.reject(Field::Country, FieldError::Invalid);
    }
    let mut phone = if demands.phone { check.text(Field::Phone, &form.phone, true, 32) } else { String::new() };
    if !phone.is_empty() {
        match normalise_phone(&phone, &country) {
            Some(normalised) => phone = normalised,
            None => check.reject(Field::Phone, FieldError::Invalid),
        }
    }
    let address = Address {
        state: check.text(Field::State, &form.address.state, demands.address, ADDRESS_LINE_MAX),
        city: check.text(Field::City, &form.address.city, demands.address, ADDRESS_LINE_MAX),
        line1: check.text(Field::Line1, &form.address.line1, demands.address, ADDRESS_LINE_MAX),
        line2: check.text(Field::Line2, &form.address.line2, false, ADDRESS_LINE_MAX),
        postal_code: check.text(Field::PostalCode, &form.address.postal_code, demands.address || demands.card, 32),
        country,
    };
    if demands.address && address.country.is_empty() {
        check.reject(Field::Country, FieldError::Required);
    }
    if !address.postal_code.is_empty() && !postal_code_fits(&address.country, &address.postal_code) {
        check.reject(Field::PostalCode, FieldError::Invalid);
    }
    if check.errors.is_empty() { Ok(Contact { name, email, phone, address }) } else { Err(check.errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: ContactRequirements = ContactRequirements { phone: false, address: false, card: false };

    fn form() -> ContactForm {
        ContactForm { name: "A Buyer".into(), email: "buyer@shop.example".into(), ..ContactForm::default() }
    }

    fn error(form: &ContactForm, demands: ContactRequirements, field: Field) -> Option<FieldError> {
        check_contact(form, demands, &PageInfo::default()).err().and_then(|errors| errors.get(&field).cloned())
    }

    #[test]
    fn name_and_mail_suffice_for_a_wallet() {
        assert!(check_contact(&form(), NOTHING, &PageInfo::default()).is_ok());
        assert_eq!(error(&ContactForm::default(), NOTHING, Field::Name), Some(FieldError::Required));
        assert_eq!(error(&ContactForm::default(), NOTHING, Field::Email), Some(FieldError::Required));
    }

    #[test]
    fn a_mail_address_has_at_most_64_characters_before_the_at_and_254_in_all() {
        let with = |email: String| error(&ContactForm { email, ..form() }, NOTHING, Field::Email);
        assert_eq!(with(format!("{}@a.example", "a".repeat(64))), None);
        assert_eq!(with(format!("{}@a.example", "a".repeat(65))), Some(FieldError::Invalid));
        assert_eq!(with(format!("a@{}.example", "a.".repeat(125))), Some(FieldError::TooLong(254)));
        assert_eq!(with("no-at".into()), Some(FieldError::Invalid));
        assert_eq!(with("a@nodot".into()), Some(FieldError::Invalid));
    }

    #[test]
    fn a_card_needs_a_postal_code_of_its_country() {
        let card = ContactRequirements { card: true, ..NOTHING };
        assert_eq!(error(&form(), card, Field::PostalCode), Some(FieldError::Required));
        let with = |country: &str, code: &str| {
            let address = Address { country: country.into(), postal_code: code.into(), ..Address::default() };
            error(&ContactForm { address, ..form() }, card, Field::PostalCode)
        };
        assert_eq!(with("us", "94107"), None);
        assert_eq!(with("US", "9410"), Some(FieldError::Invalid));
        assert_eq!(with("xx", "anything"), None);
    }

    #[test]
    fn a_phone_number_becomes_international() {
        assert_eq!(normalise_phone("138 0013 8000", "cn"), Some("+8613800138000".into()));
        assert_eq!(normalise_phone("07911 123456", "gb"), Some("+447911123456".into()));
        assert_eq!(normalise_phone("+1 415 555 2671", ""), Some("+14155552671".into()));
        assert_eq!(normalise_phone("12", "us"), None);
    }

    #[test]
    fn the_sellers_pattern_answers_in_the_sellers_words() {
        let pattern = FieldPattern::new("^[A-Z]{3}$", Text::new("Three letters", "三个字母")).expect("compiles");
        let page = PageInfo { patterns: [(Field::Name, pattern)].into(), ..PageInfo::default() };
        let errors = check_contact(&form(), NOTHING, &page).expect_err("refused");
        assert_eq!(errors[&Field::Name].message(Language::Chinese), "三个字母");
        assert!(FieldPattern::new("(", Text::default()).is_none());
    }
}
