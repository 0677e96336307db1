//! The number of decimals of Stripe's amounts. A currency configured with other decimals would charge, for example, 100 times too much.

/// <https://docs.stripe.com/currencies#zero-decimal>. ISK and UGX have no minor unit either, but their amounts are sent with two digits.
const ZERO_DECIMAL: [&str; 15] = ["bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf"];
/// <https://docs.stripe.com/currencies#three-decimal>
const THREE_DECIMAL: [&str; 5] = ["bhd", "jod", "kwd", "omr", "tnd"];

/// Returns the decimals of a currency; `None` if `code` is not three lower-case letters, the form that Stripe's API uses.
pub(super) fn decimals(code: &str) -> Option<u32> {
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return None;
    }
    Some(match code {
        code if ZERO_DECIMAL.contains(&code) => 0,
        code if THREE_DECIMAL.contains(&code) => 3,
        _ => 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn currencies_have_the_decimals_that_stripe_defines() {
        for (code, digits) in [("usd", 2), ("cny", 2), ("jpy", 0), ("krw", 0), ("kwd", 3), ("isk", 2), ("ugx", 2)] {
            assert_eq!(decimals(code), Some(digits), "{code}");
        }
    }

    #[test]
    fn only_lower_case_codes_are_currencies() {
        for code in ["", "USD", "us", "usdc", "0x12", "ußd"] {
            assert_eq!(decimals(code), None, "{code}");
        }
    }
}
