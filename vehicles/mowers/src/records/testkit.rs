//! Records for tests: a new SQLite file or a new Postgres database each time.

mod postgres;

use tempfile::TempDir;

use super::{Place, Records};

/// Fresh records in a SQLite file; they go with the folder.
pub(crate) async fn fresh() -> (TempDir, Records) {
    let folder = TempDir::new().expect("a temporary folder");
    let place = Place::File(folder.path().join("mowers.db"));
    let records = Records::open(&place).await.expect("fresh records");
    (folder, records)
}

/// Fresh records and where they are, to be opened again.
pub(crate) struct Store {
    pub(crate) records: Records,
    pub(crate) place: Place,
    _folder: TempDir,
}

impl Store {
    /// In a SQLite file.
    pub(crate) async fn sqlite() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        Self::open(Place::File(folder.path().join("mowers.db")), folder).await
    }

    /// In a database of the one Postgres server of these tests.
    pub(crate) async fn postgres() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        Self::open(Place::Postgres(postgres::fresh_database().await), folder).await
    }

    async fn open(place: Place, folder: TempDir) -> Self {
        Self {
            records: Records::open(&place).await.expect("fresh records"),
            place,
            _folder: folder,
        }
    }

    /// Whether it is Postgres.
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.place, Place::Postgres(_))
    }
}

/// Runs one test on SQLite and on Postgres: both must pass it.
pub(crate) async fn on_both(test: impl AsyncFn(Store)) {
    test(Store::sqlite().await).await;
    test(Store::postgres().await).await;
}
