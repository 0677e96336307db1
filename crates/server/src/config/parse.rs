//! The formats of options. No message contains the value, which may be a secret.

use super::files::BucketName;
use super::{DailyCaps, RetryDays, SecretSeed};
use souk_adapters::identity::parse_did;
use souk_adapters::mail::{check_sender, check_smtp};
use souk_domain::access::{Did, Role};
use souk_domain::checkout::DAYS_UNTIL_CANCEL_MAX;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use url::Url;

/// The longest name of a store, in characters.
const NAME_MAX: usize = 100;
/// The shortest token, in characters.
const TOKEN_MIN: usize = 16;

pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an address and a port, such as 127.0.0.1:8080".to_owned())
}

pub fn parse_proxy(text: &str) -> Result<IpAddr, String> {
    text.trim().parse().map_err(|_| "expected the addresses of proxies, such as 10.0.0.2,10.0.0.3".to_owned())
}

pub fn parse_holder(text: &str) -> Result<Did, String> {
    parse_did(text).map_err(|error| error.to_string())
}

pub fn parse_role(text: &str) -> Result<Role, String> {
    Role::from_name(text).ok_or_else(|| "expected developer, reviewer, admin or owner".to_owned())
}

pub fn parse_http(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some());
    url.ok_or_else(|| "expected an address that begins with http:// or https://".to_owned())
}

pub fn parse_bucket(text: &str) -> Result<BucketName, String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "s3" && url.username().is_empty() && url.query().is_none());
    let bucket = url.as_ref().and_then(Url::host_str).filter(|bucket| !bucket.is_empty());
    let name = url
        .as_ref()
        .zip(bucket)
        .map(|(url, bucket)| BucketName { bucket: bucket.to_owned(), prefix: url.path().trim_matches('/').to_owned() });
    name.ok_or_else(|| "expected s3://bucket or s3://bucket/prefix".to_owned())
}

pub fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}

pub fn parse_concurrency(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|limit| (1..=1_000).contains(limit)).ok_or_else(|| "expected a number from 1 to 1000".to_owned())
}

pub fn parse_days(text: &str) -> Result<u32, String> {
    let days = text.trim().parse::<u32>().ok().filter(|days| (1..=DAYS_UNTIL_CANCEL_MAX).contains(days));
    days.ok_or_else(|| format!("expected a number of days from 1 to {DAYS_UNTIL_CANCEL_MAX}"))
}

pub fn parse_retry_days(text: &str) -> Result<RetryDays, String> {
    if text.trim().is_empty() {
        return Ok(RetryDays(Vec::new()));
    }
    let days = text.split(',').map(parse_days).collect::<Result<Vec<_>, _>>().ok().filter(|days| days.is_sorted_by(|a, b| a < b));
    days.map(RetryDays).ok_or_else(|| "expected ascending numbers of days, such as 1,3,5,7,10,14".to_owned())
}

pub fn parse_caps(text: &str) -> Result<DailyCaps, String> {
    let mut caps = BTreeMap::new();
    for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
        let cap = entry.split_once('=').and_then(|(symbol, units)| Some((symbol.trim(), units.trim().parse().ok()?)));
        let is_new = cap.is_some_and(|(symbol, units): (_, u64)| !symbol.is_empty() && caps.insert(symbol.to_owned(), units).is_none());
        if !is_new {
            return Err("expected currencies and whole amounts, such as USD=5000,SKT=200".to_owned());
        }
    }
    Ok(DailyCaps(caps))
}

pub fn parse_database(text: &str) -> Result<String, String> {
    let known = text.starts_with("sqlite://") || has_scheme(text, &["postgres", "postgresql"]);
    known.then(|| text.to_owned()).ok_or_else(|| "expected postgres://user@host/name, or sqlite://path/to/file".to_owned())
}

pub fn parse_redis(text: &str) -> Result<String, String> {
    has_scheme(text, &["redis", "rediss"]).then(|| text.to_owned()).ok_or_else(|| "expected redis://host:6379".to_owned())
}

pub fn parse_smtp(text: &str) -> Result<String, String> {
    check_smtp(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

pub fn parse_secret(text: &str) -> Result<SecretSeed, String> {
    let expected = "expected 64 hex digits (32 random bytes)";
    let digits = text.trim().as_bytes();
    if digits.len() != 64 {
        return Err(expected.to_owned());
    }
    let mut seed = [0; 32];
    for (byte, pair) in seed.iter_mut().zip(digits.chunks(2)) {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|digit| digit.is_ascii_hexdigit()));
        *byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(expected)?;
    }
    Ok(SecretSeed(seed))
}

pub fn parse_sender(text: &str) -> Result<String, String> {
    check_sender(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

pub fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let is_valid = !name.is_empty() && name.chars().count() <= NAME_MAX && !name.chars().any(char::is_control);
    is_valid.then(|| name.to_owned()).ok_or_else(|| format!("expected a name of at most {NAME_MAX} characters"))
}

pub fn parse_token(text: &str) -> Result<String, String> {
    let is_valid = text.len() >= TOKEN_MIN && text.bytes().all(|byte| byte.is_ascii_graphic());
    is_valid.then(|| text.to_owned()).ok_or_else(|| format!("expected at least {TOKEN_MIN} characters without spaces"))
}

/// The address is complete and has one of the schemes.
fn has_scheme(text: &str, schemes: &[&str]) -> bool {
    schemes.iter().any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| rest.starts_with("://"))) && Url::parse(text).is_ok()
}
