//! Invoices, and the rules of what they come to.

mod calculation;
mod invoice;
mod paper;
mod period;
mod proration;
mod trial;

pub use calculation::*;
pub use invoice::*;
pub use paper::*;
pub use period::*;
pub use proration::*;
pub use trial::*;
