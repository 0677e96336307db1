//! The validation of names, emails, phones and addresses at checkout (SPEC.md 5). The page applies the same rules.

use super::postal_code_fits;
use crate::shared::{Address, Text};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The longest name in characters.
pub const NAME_MAX: usize = 128;
/// The longest address line in characters.
pub const ADDRESS_LINE_MAX: usize = 200;

/// The fields of the form, named as in `metadata.page_info.field_validation`.
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
    /// The source of the pattern, for the page.
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

/// The longest accepted pattern in bytes.
pub const PATTERN_MAX: usize = 500;

impl FieldPattern {
    /// `None`: the pattern does not compile or is too large. Matching takes time linear in the text.
    #[must_use]
    pub fn new(source: &str, message: Text) -> Option<Self> {
        if source.len() > PATTERN_MAX {
            return None;
        }
        let compiled = regex::RegexBuilder::new(source).size_limit(1 << 18).build().ok()?;
        Some(Self { source: source.to_owned(), message, compiled })
    }
}

/// The seller's additions to the form: patterns for fields, and a text about the form's purpose.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageInfo {
    pub patterns: BTreeMap<Field, FieldPattern>,
    pub purpose: Text,
}

/// The required fields beyond name and email.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContactRequirements {
    pub phone: bool,
    /// The full address; otherwise only the postal code, and only for cards.
    pub address: bool,
    pub card: bool,
}

/// The form as the visitor sent it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContactForm {
    pub name: String,
    pub email: String,
    pub phone: String,
    pub address: Address,
}

/// A valid and normalized form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    pub name: String,
    pub email: String,
    /// E.164, or empty.
    pub phone: String,
    pub address: Address,
}

/// Why a field is invalid (SPEC.md 8).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("Required")]
    Required,
    #[error("Invalid")]
    Invalid,
    /// The longest accepted length in characters.
    #[error("input a maximum of {0} characters")]
    TooLong(usize),
    /// The value does not match the seller's pattern. The seller's own message, or empty.
    #[error("{}", if .0.en.is_empty() { "Invalid" } else { &.0.en })]
    Pattern(Text),
}

/// Invalid fields, each with its first error.
pub type ValidationErrors = BTreeMap<Field, FieldError>;

fn is_email(text: &str) -> bool {
    email_address::EmailAddress::is_valid(text) && text.rsplit_once('@').is_some_and(|(_, domain)| domain.contains('.'))
}

/// Converts a phone number to E.164, parsed as a number of its country unless it begins with `+`.
#[must_use]
pub fn normalize_phone(text: &str, country: &str) -> Option<String> {
    let country = phonenumber::country::Id::from_str(&country.to_ascii_uppercase()).ok();
    let number = phonenumber::parse(country, text).ok()?;
    phonenumber::is_valid(&number).then(|| number.format().mode(phonenumber::Mode::E164).to_string())
}

struct Validator<'a> {
    page: &'a PageInfo,
    errors: ValidationErrors,
}

impl Validator<'_> {
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

/// Applies all rules, so that the result contains the errors of all fields.
pub fn check_contact(form: &ContactForm, requirements: ContactRequirements, page: &PageInfo) -> Result<Contact, ValidationErrors> {
    let mut validator = Validator { page, errors: ValidationErrors::new() };
    let name = validator.text(Field::Name, &form.name, true, NAME_MAX);
    let email = validator.text(Field::Email, &form.email, true, 254);
    if !email.is_empty() && !is_email(&email) {
        validator.reject(Field::Email, FieldError::Invalid);
    }
    let country = form.address.country.trim().to_ascii_lowercase();
    let is_code = country.len() == 2 && country.bytes().all(|byte| byte.is_ascii_lowercase());
    if !country.is_empty() && !is_code {
        validator.reject(Field::Country, FieldError::Invalid);
    }
    let mut phone = if requirements.phone { validator.text(Field::Phone, &form.phone, true, 32) } else { String::new() };
    if !phone.is_empty() {
        match normalize_phone(&phone, &country) {
            Some(normalized) => phone = normalized,
            None => validator.reject(Field::Phone, FieldError::Invalid),
        }
    }
    let address = Address {
        state: validator.text(Field::State, &form.address.state, requirements.address, ADDRESS_LINE_MAX),
        city: validator.text(Field::City, &form.address.city, requirements.address, ADDRESS_LINE_MAX),
        line1: validator.text(Field::Line1, &form.address.line1, requirements.address, ADDRESS_LINE_MAX),
        line2: validator.text(Field::Line2, &form.address.line2, false, ADDRESS_LINE_MAX),
        postal_code: validator.text(Field::PostalCode, &form.address.postal_code, requirements.address || requirements.card, 32),
        country,
    };
    if requirements.address && address.country.is_empty() {
        validator.reject(Field::Country, FieldError::Required);
    }
    if !address.postal_code.is_empty() && !postal_code_fits(&address.country, &address.postal_code) {
        validator.reject(Field::PostalCode, FieldError::Invalid);
    }
    if validator.errors.is_empty() { Ok(Contact { name, email, phone, address }) } else { Err(validator.errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME_AND_EMAIL: ContactRequirements = ContactRequirements { phone: false, address: false, card: false };

    fn form() -> ContactForm {
        ContactForm { name: "A Buyer".into(), email: "buyer@shop.example".into(), ..ContactForm::default() }
    }

    fn error(form: &ContactForm, requirements: ContactRequirements, field: Field) -> Option<FieldError> {
        check_contact(form, requirements, &PageInfo::default()).err().and_then(|errors| errors.get(&field).cloned())
    }

    #[test]
    fn a_wallet_needs_name_and_email_only() {
        assert!(check_contact(&form(), NAME_AND_EMAIL, &PageInfo::default()).is_ok());
        assert_eq!(error(&ContactForm::default(), NAME_AND_EMAIL, Field::Name), Some(FieldError::Required));
        assert_eq!(error(&ContactForm::default(), NAME_AND_EMAIL, Field::Email), Some(FieldError::Required));
    }

    #[test]
    fn an_email_has_at_most_64_characters_before_the_at_and_254_in_total() {
        let with = |email: String| error(&ContactForm { email, ..form() }, NAME_AND_EMAIL, Field::Email);
        assert_eq!(with(format!("{}@a.example", "a".repeat(64))), None);
        assert_eq!(with(format!("{}@a.example", "a".repeat(65))), Some(FieldError::Invalid));
        assert_eq!(with(format!("a@{}.example", "a.".repeat(125))), Some(FieldError::TooLong(254)));
        assert_eq!(with("no-at".into()), Some(FieldError::Invalid));
        assert_eq!(with("a@nodot".into()), Some(FieldError::Invalid));
    }

    #[test]
    fn a_card_needs_a_postal_code_of_its_country() {
        let card = ContactRequirements { card: true, ..NAME_AND_EMAIL };
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
    fn phone_numbers_are_converted_to_e164() {
        assert_eq!(normalize_phone("138 0013 8000", "cn"), Some("+8613800138000".into()));
        assert_eq!(normalize_phone("07911 123456", "gb"), Some("+447911123456".into()));
        assert_eq!(normalize_phone("+1 415 555 2671", ""), Some("+14155552671".into()));
        assert_eq!(normalize_phone("12", "us"), None);
    }

    #[test]
    fn a_failed_pattern_has_the_sellers_message() {
        let pattern = FieldPattern::new("^[A-Z]{3}$", Text::new("Three letters", "三个字母")).expect("compiles");
        let page = PageInfo { patterns: [(Field::Name, pattern)].into(), ..PageInfo::default() };
        let errors = check_contact(&form(), NAME_AND_EMAIL, &page).expect_err("refused");
        assert_eq!(errors[&Field::Name], FieldError::Pattern(Text::new("Three letters", "三个字母")));
        assert!(FieldPattern::new("(", Text::default()).is_none());
    }
}
