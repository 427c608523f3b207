//! Records for tests: a new SQLite file each time.

use tempfile::TempDir;

use super::{Place, Records};

/// Fresh records; they go with the folder.
pub(crate) async fn fresh() -> (TempDir, Records) {
    let folder = TempDir::new().expect("a temporary folder");
    let place = Place::File(folder.path().join("mowers.db"));
    let records = Records::open(&place).await.expect("fresh records");
    (folder, records)
}
