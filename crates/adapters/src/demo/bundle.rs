//! Builds the downloadable bundle: a gzipped tar archive with every entry under `package/`.

use super::{DemoApp, DemoVersion};
use flate2::{Compression, GzBuilder};
use std::io;
use tar::{Builder, EntryType, Header};

static SHELL: &str = include_str!("../../assets/demo/shell.html");

/// Returns the file name of a bundle, `{name}-{version}.tgz`.
#[must_use]
pub fn bundle_name(app: &DemoApp, version: &DemoVersion) -> String {
    format!("{}-{}.tgz", app.name, version.version)
}

/// Builds the bundle of one version. The bytes are reproducible: the archive contains neither dates nor owners.
pub fn bundle(app: &DemoApp, version: &DemoVersion) -> io::Result<Vec<u8>> {
    // 255 means an unknown operating system, so that the bytes do not depend on the system that builds them.
    let gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::best());
    let mut tar = Builder::new(gzip);
    let files = [
        ("package/app.yml", manifest(app, version)),
        ("package/README.md", app.readme.en.clone()),
        ("package/README.zh.md", app.readme.zh.clone()),
        ("package/CHANGELOG.md", format!("# {}\n\n{}\n", version.version, version.changelog.en)),
        ("package/logo.svg", app.logo.to_owned()),
        ("package/index.html", page(app, version)),
    ];
    for (path, content) in files {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, path, content.as_bytes())?;
    }
    tar.into_inner()?.finish()
}

fn page(app: &DemoApp, version: &DemoVersion) -> String {
    SHELL.replace("{{title}}", &app.title.en).replace("{{version}}", &version.version).replace("{{page}}", app.page)
}

/// Writes the YAML manifest. Strings are quoted as JSON, which is valid YAML.
fn manifest(app: &DemoApp, version: &DemoVersion) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        "name: {}\nversion: {}\ntitle: {}\ndescription: {}\ngroup: static\nmain: index.html\nlogo: logo.svg\nlicense: {}\nauthor:\n  name: {}\n",
        app.name,
        quoted(&version.version),
        quoted(&app.title.en),
        quoted(&app.description.en),
        quoted(&app.license),
        quoted(&app.developer)
    )
}
