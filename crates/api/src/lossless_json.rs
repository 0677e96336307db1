//! JSON request bodies in which amounts keep every digit: a number is read from its text and never converted to a float.

use poem::{FromRequest, Request, RequestBody};
use poem_openapi::error::{ContentTypeError, ParseRequestPayloadError};
use poem_openapi::payload::{Json, ParsePayload, Payload};
use poem_openapi::registry::{MetaMediaType, MetaRequest, MetaSchema, MetaSchemaRef, Registry};
use poem_openapi::types::{ParseError, ParseFromJSON, ParseResult, ToJSON, Type};
use poem_openapi::{ApiExtractor, ApiExtractorType, ExtractParamOptions};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A JSON body. Numbers other than 64-bit integers become strings without an exponent, which [`Decimal`] accepts and numeric
/// fields reject.
#[derive(Debug, Clone)]
pub struct LosslessJson<T>(pub T);

/// A human decimal, from a JSON string or from the text of a JSON number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal(pub String);

/// Maximum absolute exponent of a number that is expanded; no amount has more digits.
const EXPONENT_MAX: i32 = 60;

impl<T: Type> Payload for LosslessJson<T> {
    const CONTENT_TYPE: &'static str = Json::<T>::CONTENT_TYPE;

    fn check_content_type(content_type: &str) -> bool {
        Json::<T>::check_content_type(content_type)
    }

    fn schema_ref() -> MetaSchemaRef {
        T::schema_ref()
    }

    fn register(registry: &mut Registry) {
        T::register(registry);
    }
}

impl<T: ParseFromJSON> ParsePayload for LosslessJson<T> {
    const IS_REQUIRED: bool = T::IS_REQUIRED;

    async fn from_request(request: &Request, body: &mut RequestBody) -> poem::Result<Self> {
        let invalid = |reason: String| ParseRequestPayloadError { reason };
        let body = <String as FromRequest>::from_request(request, body).await?;
        let value = if body.is_empty() { Value::Null } else { read(&body).map_err(|error| invalid(error.to_string()))? };
        let value = T::parse_from_json(Some(value)).map_err(|error| invalid(error.into_message()))?;
        Ok(Self(value))
    }
}

impl<'a, T: ParseFromJSON> ApiExtractor<'a> for LosslessJson<T> {
    const TYPES: &'static [ApiExtractorType] = &[ApiExtractorType::RequestObject];

    type ParamType = ();
    type ParamRawType = ();

    fn register(registry: &mut Registry) {
        <Self as Payload>::register(registry);
    }

    fn request_meta() -> Option<MetaRequest> {
        let content = vec![MetaMediaType { content_type: Self::CONTENT_TYPE, schema: Self::schema_ref() }];
        Some(MetaRequest { description: None, content, required: <Self as ParsePayload>::IS_REQUIRED })
    }

    async fn from_request(request: &'a Request, body: &mut RequestBody, _: ExtractParamOptions<()>) -> poem::Result<Self> {
        match request.content_type() {
            Some(kind) if Self::check_content_type(kind) => <Self as ParsePayload>::from_request(request, body).await,
            Some(kind) => Err(ContentTypeError::NotSupported { content_type: kind.to_owned() }.into()),
            None => Err(ContentTypeError::ExpectContentType.into()),
        }
    }
}

fn read(body: &str) -> Result<Value, serde_json::Error> {
    // The standard parser runs first because it enforces a depth limit, which `exact` does not.
    let _: Value = serde_json::from_str(body)?;
    exact(serde_json::from_str(body)?)
}

fn exact(raw: &RawValue) -> Result<Value, serde_json::Error> {
    let text = raw.get();
    Ok(match text.as_bytes().first() {
        Some(b'{') => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
            Value::Object(fields.into_iter().map(|(name, raw)| Ok((name, exact(raw)?))).collect::<Result<_, serde_json::Error>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text)?;
            Value::Array(items.into_iter().map(exact).collect::<Result<_, _>>()?)
        }
        Some(b'-' | b'0'..=b'9') => match serde_json::from_str(text)? {
            Value::Number(number) if number.is_f64() => Value::String(without_exponent(text)),
            number => number,
        },
        _ => serde_json::from_str(text)?,
    })
}

/// Expands `1e-7` to `0.0000001`, because JavaScript writes small numbers with an exponent and amounts are parsed without one.
/// Any other text is returned unchanged.
fn without_exponent(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return text.to_owned() };
    let Ok(exponent) = exponent.parse::<i32>() else { return text.to_owned() };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_valid = whole.len() + fraction.len() <= 80 && whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !is_valid || exponent.abs() > EXPONENT_MAX {
        return text.to_owned();
    }
    let digits = format!("{zeros}{whole}{fraction}{zeros}", zeros = "0".repeat(EXPONENT_MAX as usize));
    let point = (EXPONENT_MAX + whole.len() as i32 + exponent) as usize;
    let whole = digits[..point].trim_start_matches('0');
    let fraction = digits[point..].trim_end_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

impl Type for Decimal {
    const IS_REQUIRED: bool = true;

    type RawValueType = Self;
    type RawElementValueType = Self;

    fn name() -> Cow<'static, str> {
        "string_decimal".into()
    }

    fn schema_ref() -> MetaSchemaRef {
        MetaSchemaRef::Inline(Box::new(MetaSchema::new_with_format("string", "decimal")))
    }

    fn as_raw_value(&self) -> Option<&Self> {
        Some(self)
    }

    fn raw_element_iter<'a>(&'a self) -> Box<dyn Iterator<Item = &'a Self> + 'a> {
        Box::new(std::iter::once(self))
    }
}

impl ParseFromJSON for Decimal {
    fn parse_from_json(value: Option<Value>) -> ParseResult<Self> {
        match value.unwrap_or_default() {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            other => Err(ParseError::expected_type(other)),
        }
    }
}

impl ToJSON for Decimal {
    fn to_json(&self) -> Option<Value> {
        Some(Value::String(self.0.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(body: &str) -> Result<String, String> {
        let value = read(body).map_err(|error| error.to_string())?;
        Decimal::parse_from_json(value.get("amount").cloned()).map(|decimal| decimal.0).map_err(|error| error.into_message())
    }

    #[test]
    fn every_digit_of_a_number_survives() {
        assert_eq!(amount(r#"{"amount": 0.100000000000000001}"#).as_deref(), Ok("0.100000000000000001"));
        assert_eq!(amount(r#"{"amount": 123456789012345678901234567890}"#).as_deref(), Ok("123456789012345678901234567890"));
        assert_eq!(amount(r#"{"amount": 18446744073709551615}"#).as_deref(), Ok("18446744073709551615"));
        assert_eq!(amount(r#"{"amount": "1.50"}"#).as_deref(), Ok("1.50"));
        assert_eq!(amount(r#"{"amount": 5}"#).as_deref(), Ok("5"));
    }

    #[test]
    fn exponents_are_expanded() {
        assert_eq!(amount(r#"{"amount": 1e-7}"#).as_deref(), Ok("0.0000001"));
        assert_eq!(amount(r#"{"amount": 1.25E3}"#).as_deref(), Ok("1250"));
        assert_eq!(amount(r#"{"amount": 12.5e-1}"#).as_deref(), Ok("1.25"));
        assert_eq!(
            amount(r#"{"amount": "1e3"}"#).as_deref(),
            Ok("1e3"),
            "the exponent of a string is not expanded, so that no amount is read from it"
        );
        assert_eq!(without_exponent("1e999999"), "1e999999");
        assert_eq!(without_exponent("ä1e2"), "ä1e2");
    }

    #[test]
    fn malformed_or_deeply_nested_json_is_rejected() {
        assert!(read("{").is_err());
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&format!("{}1{}", "[".repeat(500), "]".repeat(500))).is_err());
        assert!(amount(r#"{"amount": true}"#).is_err());
    }
}
