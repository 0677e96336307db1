//! The temporary store of a run: a folder, with a SQLite database in it or a database on the server of `DATABASE_URL`.

use crate::{Failure, Site};
use souk_adapters::persistence::temp_db;
use souk_adapters::system::SystemRandom;
use souk_domain::shared::Random;
use url::Url;

pub struct TempStore {
    pub site: Site,
    /// Server and name of the database to drop at the end.
    database: Option<(String, String)>,
}

impl TempStore {
    /// `server`: the database URL of the binary, if it has one.
    pub async fn create(server: Option<&str>) -> Result<Self, Failure> {
        let suffix = u32::from_le_bytes((&SystemRandom as &dyn Random).bytes());
        let name = format!("souk_history_{}_{suffix:x}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&folder).map_err(|error| format!("the temporary folder {}: {error}", folder.display()))?;
        let server = server.filter(|address| address.starts_with("postgres"));
        let (database_url, database) = match server {
            Some(server) => {
                temp_db::create(server, &name).await?;
                let mut address = Url::parse(server)?;
                address.set_path(&name);
                (Some(address.to_string()), Some((server.to_owned(), name)))
            }
            None => (None, None),
        };
        Ok(Self { site: Site { data: folder, database_url }, database })
    }

    /// Removes the queue's files; the store must recover the lost jobs from its database.
    pub fn wipe_queue(&self) {
        for file in ["queue.db", "queue.db-wal", "queue.db-shm"] {
            if let Err(error) = std::fs::remove_file(self.site.data.join(file)) {
                assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{file} is removed, or was missing");
            }
        }
    }

    pub async fn remove(self) -> Result<(), Failure> {
        if let Some((server, name)) = &self.database {
            temp_db::remove(server, name).await?;
        }
        std::fs::remove_dir_all(&self.site.data)?;
        Ok(())
    }

    /// The location of the store, for inspection after a failed run.
    pub fn location(&self) -> String {
        let database = self.site.database_url.as_deref().map(|address| format!(" and {address}")).unwrap_or_default();
        format!("{}{database}", self.site.data.display())
    }
}
