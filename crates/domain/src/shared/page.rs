//! Paging of lists.

/// The most rows of one page.
pub const MAX_PAGE_SIZE: u32 = 100;
/// The default page size (SPEC.md 9).
pub const DEFAULT_PAGE_SIZE: u32 = 10;

/// A page by its 1-based number, as published clients request it. `starting_after` pages by key instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub number: u32,
    pub size: u32,
    /// The last id of the previous page; lists are newest first. Takes precedence over `number`.
    pub starting_after: Option<String>,
}

impl Page {
    /// Clamps the number to at least 1, and the size to 1..=[`MAX_PAGE_SIZE`].
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

/// One page of a list, and the number of its rows: all rows of a customer's list, at most 10,000 of a list of the whole store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    pub count: u64,
    pub list: Vec<T>,
}
