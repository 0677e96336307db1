//! The refusals of public instances, whose texts are those of the published protocol (reference/store.md 1.7).

use super::{Problem, conflict, rejected};
use poem::http::StatusCode;
use souk_domain::publishing::instances::InstanceError;

impl From<InstanceError> for Problem {
    fn from(error: InstanceError) -> Self {
        match error {
            InstanceError::Required(name) => rejected(&error, "INSTANCE_PARAMETER_REQUIRED").param("name", name),
            InstanceError::NotApplication => rejected(&error, "INSTANCE_NOT_APPLICATION"),
            InstanceError::Invalid(name) => rejected(&error, "INSTANCE_PARAMETER_INVALID").param("name", name),
            InstanceError::Used => rejected(&error, "INSTANCE_TOKEN_USED"),
            InstanceError::UnknownApp => rejected(&error, "INSTANCE_APP_UNKNOWN"),
            InstanceError::NoInstance => rejected(&error, "INSTANCE_UNKNOWN"),
            InstanceError::TooMany => conflict(&error, "TOO_MANY_INSTANCES"),
            InstanceError::Busy => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()).code("TOO_MANY_INSTANCE_CHECKS"),
            InstanceError::Storage(error) => error.into(),
        }
    }
}
