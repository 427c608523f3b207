//! Metrics that every request counts, each looked up in the recorder once: that
//! look-up builds a key of owned labels and takes a lock.

use std::fmt;
use std::hash::Hash;

use quick_cache::sync::Cache;

/// More than the rows of the table times the answers they give.
const SERIES: usize = 4096;

/// Series of one metric, by their labels.
pub struct Known<Labels, Series>(Cache<Labels, Series>);

impl<Labels: Eq + Hash + Clone, Series: Clone> Default for Known<Labels, Series> {
    fn default() -> Self {
        Self(Cache::new(SERIES))
    }
}

impl<Labels: Eq + Hash + Clone, Series: Clone> Known<Labels, Series> {
    /// The series of these labels; the first time, `look_up` finds it.
    pub fn get(&self, labels: Labels, look_up: impl FnOnce() -> Series) -> Series {
        if let Some(series) = self.0.get(&labels) {
            return series;
        }
        let series = look_up();
        self.0.insert(labels, series.clone());
        series
    }
}

impl<Labels, Series> fmt::Debug for Known<Labels, Series> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Known").finish_non_exhaustive()
    }
}
