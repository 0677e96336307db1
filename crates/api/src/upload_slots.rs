//! How many uploads this process receives at a time.

use crate::problem::Problem;
use souk_domain::access::Did;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Uploads of all developers, and of one.
const TOTAL_MAX: usize = 8;
const EACH_MAX: usize = 2;

/// Uploads in progress, by developer.
#[derive(Debug, Clone, Default)]
pub struct UploadSlots(Arc<Mutex<HashMap<Did, usize>>>);

/// One upload. Dropped when it ends.
#[derive(Debug)]
pub struct UploadSlot {
    slots: UploadSlots,
    owner: Did,
}

impl UploadSlots {
    pub fn enter(&self, owner: &Did) -> Result<UploadSlot, Problem> {
        let mut uploads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = uploads.values().sum();
        let own = uploads.get(owner).copied().unwrap_or_default();
        if total >= TOTAL_MAX || own >= EACH_MAX {
            return Err(Problem::too_many_uploads());
        }
        uploads.insert(owner.clone(), own + 1);
        Ok(UploadSlot { slots: self.clone(), owner: owner.clone() })
    }
}

impl Drop for UploadSlot {
    fn drop(&mut self) {
        let mut uploads = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = uploads.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                uploads.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_developer_has_few_uploads_at_a_time_and_all_together_have_a_limit() {
        let (slots, did) = (UploadSlots::default(), |n: usize| Did::from_verified(format!("z{n}")));
        let mut own: Vec<_> = (0..EACH_MAX).map(|_| slots.enter(&did(0)).expect("a slot")).collect();
        assert!(slots.enter(&did(0)).is_err());
        let others: Vec<_> = (1..TOTAL_MAX - EACH_MAX + 1).map(|n| slots.enter(&did(n)).expect("a slot")).collect();
        assert!(slots.enter(&did(99)).is_err());
        own.pop();
        assert!(slots.enter(&did(99)).is_ok());
        drop((own, others));
        assert!(slots.0.lock().expect("the map").is_empty(), "nothing remains of ended uploads");
    }
}
