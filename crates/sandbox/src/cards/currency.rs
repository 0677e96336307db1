//! The currencies that the processor charges in.

use super::call::ApiError;

/// Stripe's presentment currencies (<https://docs.stripe.com/currencies>).
const KNOWN: [&str; 139] = [
    "aed", "afn", "all", "amd", "ang", "aoa", "ars", "aud", "awg", "azn", "bam", "bbd", "bdt", "bgn", "bhd", "bif", "bmd", "bnd", "bob",
    "brl", "bsd", "bwp", "byn", "bzd", "cad", "cdf", "chf", "clp", "cny", "cop", "crc", "cve", "czk", "djf", "dkk", "dop", "dzd", "egp",
    "etb", "eur", "fjd", "fkp", "gbp", "gel", "gip", "gmd", "gnf", "gtq", "gyd", "hkd", "hnl", "htg", "huf", "idr", "ils", "inr", "isk",
    "jmd", "jod", "jpy", "kes", "kgs", "khr", "kmf", "krw", "kwd", "kyd", "kzt", "lak", "lbp", "lkr", "lrd", "lsl", "mad", "mdl", "mga",
    "mkd", "mmk", "mnt", "mop", "mur", "mvr", "mwk", "mxn", "myr", "mzn", "nad", "ngn", "nio", "nok", "npr", "nzd", "omr", "pab", "pen",
    "pgk", "php", "pkr", "pln", "pyg", "qar", "ron", "rsd", "rub", "rwf", "sar", "sbd", "scr", "sek", "sgd", "shp", "sle", "sos", "srd",
    "std", "szl", "thb", "tjs", "tnd", "top", "try", "ttd", "twd", "tzs", "uah", "ugx", "usd", "uyu", "uzs", "vnd", "vuv", "wst", "xaf",
    "xcd", "xof", "xpf", "yer", "zar", "zmw",
];
/// Maximum amount: eight digits, as at Stripe.
const MAX_AMOUNT: i64 = 99_999_999;

/// Reads a currency code in either case. Objects show it in lower case.
pub(super) fn parse(code: &str) -> Result<String, ApiError> {
    let lower = code.to_ascii_lowercase();
    if KNOWN.contains(&lower.as_str()) {
        return Ok(lower);
    }
    Err(ApiError::invalid("parameter_invalid", format!("Invalid currency: {code}.")).with_param("currency"))
}

/// Checks an amount in minor units against Stripe's minimum charges of common currencies and the maximum.
pub(super) fn check_amount(amount: i64, currency: &str) -> Result<(), ApiError> {
    let minimum = match currency {
        "usd" | "eur" | "jpy" => 50,
        "gbp" => 30,
        _ => 1,
    };
    match amount {
        _ if amount < minimum => {
            let message = format!("Amount must be at least {minimum} minor units of {currency}.");
            Err(ApiError::invalid("amount_too_small", message).with_param("amount"))
        }
        _ if amount > MAX_AMOUNT => {
            Err(ApiError::invalid("amount_too_large", format!("Amount must be no more than {MAX_AMOUNT}.")).with_param("amount"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_currencies_are_read_in_either_case_and_others_rejected() {
        for (code, read) in [("usd", Some("usd")), ("USD", Some("usd")), ("Jpy", Some("jpy")), ("xyz", None), ("us", None), ("usdc", None)]
        {
            assert_eq!(parse(code).ok().as_deref(), read, "{code}");
        }
    }

    #[test]
    fn the_known_currencies_are_sorted() {
        assert!(KNOWN.is_sorted());
    }
}
