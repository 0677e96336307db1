//! Pages of lists.

/// The most rows one page may hold.
pub const MAX_PAGE_SIZE: u32 = 100;
/// SPEC.md 9: invoice page size.
pub const DEFAULT_PAGE_SIZE: u32 = 10;

/// A page by number, 1-based, as the published clients ask for it. `starting_after` pages by key instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub number: u32,
    pub size: u32,
    /// The last id of the page before; newest first. Takes the place of `number`.
    pub starting_after: Option<String>,
}

impl Page {
    /// Clamps to at least page 1 and to 1..=[`MAX_PAGE_SIZE`] rows.
    #[must_use]
    pub fn new(number: Option<u32>, size: Option<u32>) -> Self {
        Self {
            number: number.unwrap_or(1).clamp(1, 1_000_000),
            size: size.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE),
            starting_after: None,
        }
    }

    #[must_use]
    pub fn offset(&self) -> i64 {
        i64::from(self.number - 1) * i64::from(self.size)
    }
}

/// One page of a list and how many rows the list has in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    pub count: u64,
    pub list: Vec<T>,
}
