//! Publishing: what developers upload.

pub mod bundle;
