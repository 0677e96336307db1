//! `souk init`: writes the manifest of a new app.

use crate::Failure;
use crate::args::InitArgs;
use crate::error::FileError;
use anstream::println;
use souk_adapters::identity::CheckedAppDids;
use souk_domain::publishing::bundle::{AppDids, NameError, check_name};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MANIFEST: &str = "blocklet.yml";
const README: &str = "blocklet.md";

#[derive(Debug, thiserror::Error)]
pub enum InitError {
    #[error("{} exists already: edit it, or choose another folder with --dir", .0.display())]
    Exists(PathBuf),
    #[error("the name {name:?} {error}: choose another one with --name")]
    Name { name: String, error: NameError },
    #[error("{0} is not the DID of an app: create one on the page /gen-key-pair of the store, or leave --did out")]
    Did(String),
    #[error(transparent)]
    File(#[from] FileError),
}

pub fn run(args: &InitArgs) -> Result<(), Failure> {
    let written = init(args)?;
    println!("Created {}.", written.display());
    println!("Next: add logo.png (at least 256 by 256 pixels), three pictures in screenshots/, and LICENSE.");
    println!("Then run `souk pack --check`.");
    Ok(())
}

/// Creates the manifest and, unless there is one, a README. Returns the manifest.
fn init(args: &InitArgs) -> Result<PathBuf, InitError> {
    let folder = &args.folder.dir;
    fs::create_dir_all(folder).map_err(FileError::at(folder))?;
    let folder = folder.canonicalize().map_err(FileError::at(folder))?;
    let name = args.name.clone().unwrap_or_else(|| name_of(&folder));
    check_name(&name).map_err(|error| InitError::Name { name: name.clone(), error })?;
    let did = match &args.did {
        Some(did) if CheckedAppDids.is_app_key(did) || *did == CheckedAppDids.of_name(&name) => did.clone(),
        Some(did) => return Err(InitError::Did(did.to_string())),
        None => CheckedAppDids.of_name(&name),
    };
    let title = args.title.clone().unwrap_or_else(|| name.clone());
    let path = folder.join(MANIFEST);
    let manifest = format!(
        "did: {did}\nname: {}\nversion: 0.1.0\ntitle: {}\ndescription: Says in one sentence what {name} does\ngroup: static\n\
         main: .\nlogo: logo.png\nlicense: MIT\nkeywords: []\nscreenshots: [1.png, 2.png, 3.png]\n\
         # The files and folders that are packed; without a list, the whole folder is.\n# files: [dist]\n",
        quoted(&name),
        quoted(&title)
    );
    create(&path, &manifest).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => InitError::Exists(path.clone()),
        _ => FileError { path: path.clone(), error }.into(),
    })?;
    let readme = folder.join(README);
    match create(&readme, &format!("# {title}\n\nSays what {name} does, and how to use it.\n")) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(FileError { path: readme, error }.into()),
        _ => Ok(path),
    }
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(text.as_bytes())
}

/// A name that the folder suggests.
fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = name.chars().map(|letter| if letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.') { letter } else { '-' });
    plain.collect::<String>().trim_matches(['-', '_', '.']).to_owned()
}

/// A text as YAML and JSON write it. YAML accepts every JSON text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::FolderArgs;
    use crate::project::Project;
    use souk_adapters::identity::parse_did;
    use souk_domain::publishing::bundle::Dist;

    fn args(folder: &Path) -> InitArgs {
        InitArgs { folder: FolderArgs { dir: folder.to_owned() }, name: None, title: None, did: None }
    }

    #[test]
    fn a_new_manifest_keeps_the_rules_of_the_store() {
        let home = tempfile::tempdir().expect("a folder");
        let folder = home.path().join("My App");
        let title = "Say \"hello\": # 你好\n".to_owned();
        init(&InitArgs { title: Some(title.clone()), ..args(&folder) }).expect("creates");
        let project = Project::open(&folder).expect("opens");
        let dist = Dist { tarball: "a.tgz".to_owned(), integrity: format!("sha512-{}==", "A".repeat(86)), size: 1 };
        let manifest = project.describe(&dist).map_err(|error| error.to_string()).expect("is valid").manifest;
        assert_eq!((manifest.name.as_str(), manifest.title), ("my-app", title));
        assert_eq!(manifest.did, CheckedAppDids.of_name("my-app"));
        let again = init(&args(&folder)).expect_err("refused").to_string();
        assert!(again.contains("exists already"), "{again}");
    }

    #[test]
    fn a_name_or_a_did_that_the_store_would_refuse_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let with = |name: &str, did: Option<&str>| {
            let did = did.map(|did| parse_did(did).expect("a DID"));
            init(&InitArgs { name: Some(name.to_owned()), did, ..args(home.path()) })
        };
        assert!(with("My App", None).expect_err("refused").to_string().contains("--name"));
        let account = with("my-app", Some("z1muQ3xqHQK2uiACHyChikobsiY5kLqtShA"));
        assert!(account.expect_err("refused").to_string().contains("/gen-key-pair"));
        assert!(!home.path().join(MANIFEST).exists());
        with("my-app", Some("z2qaBUapGHchD8kuea8xvgBj8KCcA14fv6HfA")).expect("creates");
    }
}
