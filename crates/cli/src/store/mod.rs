//! A store, as the commands call it.

mod client;
mod model;
mod upload;

pub use client::{Http, Signer, Step, Store, StoreError};
pub use model::{ReviewAnswer, UploadedVersion};
pub use upload::UploadError;
