//! Reports the time of payment networks, from the `Date` header of their responses.

use reqwest::Response;
use reqwest::header::DATE;
use souk_domain::operation::ClockWatch;
use souk_domain::shared::Timestamp;
use std::sync::Arc;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;
use url::Url;

/// Hears the time of networks, but not of the store's own sandbox: that has the clock of this machine.
#[derive(Clone)]
pub(crate) struct DateListener {
    watch: Option<Arc<ClockWatch>>,
    own: Option<Url>,
}

impl DateListener {
    /// Hears nothing.
    pub const fn none() -> Self {
        Self { watch: None, own: None }
    }

    /// `own`: the address of the store itself.
    pub fn new(watch: Arc<ClockWatch>, own: Option<Url>) -> Self {
        Self { watch: Some(watch), own }
    }

    pub fn hear(&self, response: &Response) {
        let Some(watch) = &self.watch else { return };
        if self.own.as_ref().is_some_and(|own| own.origin() == response.url().origin()) {
            return;
        }
        let header = response.headers().get(DATE).and_then(|value| value.to_str().ok());
        if let (Some(name), Some(theirs)) = (response.url().host_str(), header.and_then(parse)) {
            watch.hear_network(name, theirs);
        }
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    OffsetDateTime::parse(text, &Rfc2822).ok().map(Timestamp::from_calendar)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_a_response_is_read_to_the_second() {
        assert_eq!(parse("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Timestamp::from_seconds(784_111_777)));
        assert_eq!(parse("yesterday"), None);
    }
}
