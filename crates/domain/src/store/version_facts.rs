//! What a version says of itself besides its texts.

use super::Screenshot;

/// Another app that a version needs or can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionComponent {
    /// Its title, or else its name or address.
    pub title: String,
    /// Empty: any.
    pub version: String,
    pub is_required: bool,
}

/// What a version says of itself in its manifest. Empty texts and lists say nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VersionFacts {
    pub screenshots: Vec<Screenshot>,
    pub license: String,
    pub website: Option<String>,
    /// Whether it brings an image for Docker.
    pub has_docker: bool,
    /// The versions of the server on which it runs.
    pub server: String,
    /// The versions of Node.js on which it runs.
    pub nodejs: String,
    /// The operating systems on which it runs.
    pub os: Vec<String>,
    /// The processors on which it runs.
    pub cpu: Vec<String>,
    pub components: Vec<VersionComponent>,
}
