//! A store for one run: a folder, and a database in it or on the server that `DATABASE_URL` names.

use crate::compose::Failure;
use crate::config::Common;
use souk_adapters::persistence::scratch;
use std::path::PathBuf;
use url::Url;

pub struct Scratch {
    pub common: Common,
    folder: PathBuf,
    /// Server and name of the database that is to be dropped.
    database: Option<(String, String)>,
}

impl Scratch {
    pub async fn make(common: &Common) -> Result<Self, Failure> {
        let name = format!("souk_history_{}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&folder).map_err(|error| format!("the scratch folder {}: {error}", folder.display()))?;
        let server = common.database_url.as_ref().filter(|address| address.starts_with("postgres"));
        let (database_url, database) = match server {
            Some(server) => {
                scratch::create(server, &name).await?;
                let mut address = Url::parse(server)?;
                address.set_path(&name);
                (Some(address.to_string()), Some((server.clone(), name)))
            }
            None => (None, None),
        };
        Ok(Self { common: Common { data: folder.clone(), database_url, secret_key: None, ..common.clone() }, folder, database })
    }

    /// Removes the queue's file: what it held must come again by itself.
    pub fn wipe_queue(&self) {
        for file in ["queue.db", "queue.db-wal", "queue.db-shm"] {
            // What is not there is wiped already.
            let _ = std::fs::remove_file(self.folder.join(file));
        }
    }

    pub async fn remove(self) -> Result<(), Failure> {
        if let Some((server, name)) = &self.database {
            scratch::remove(server, name).await?;
        }
        std::fs::remove_dir_all(&self.folder)?;
        Ok(())
    }

    /// Where it is, for somebody who wants to look.
    pub fn told(&self) -> String {
        let database = self.common.database_url.as_deref().map(|address| format!(" and {address}")).unwrap_or_default();
        format!("{}{database}", self.folder.display())
    }
}
