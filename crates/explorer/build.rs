//! Writes the table of the files in `web/dist`. The folder is part of the checkout and empty until `web/` is built:
//! so a build without Node works, and cargo looks at one folder to see whether anything has changed.

use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::{env, fs, io};

/// The endings of files that are served, and their content types.
const MEDIA: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("md", "text/plain; charset=utf-8"),
];

fn main() -> io::Result<()> {
    let folder =
        Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).into_iter().flatten() {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if let Some(name) = name.strip_suffix(".gz") {
            names.push(name.to_owned());
        }
    }
    names.sort();
    let mut table = String::from("&[\n");
    let mut export = String::from("None\n");
    for name in names {
        let Some((_, media)) =
            MEDIA.iter().find(|(ending, _)| name.ends_with(&format!(".{ending}")))
        else {
            continue;
        };
        let path = |ending: &str| folder.join(format!("{name}.{ending}"));
        let mut hasher = DefaultHasher::new();
        hasher.write(&fs::read(path("gz"))?);
        let tag = format!("{:016x}", hasher.finish());
        let brotli = match path("br").exists() {
            true => format!("include_bytes!({:?})", path("br")),
            false => "&[]".to_owned(),
        };
        let gzip = path("gz");
        let file = format!(
            "File {{ name: {name:?}, media: {media:?}, tag: {tag:?}, gzip: include_bytes!({gzip:?}), brotli: {brotli} }}"
        );
        table += &format!("{file},\n");
        if name == "export.html" {
            export = format!("Some({file})\n");
        }
    }
    table += "]\n";
    let out = env::var("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&out).join("export.rs"), export)?;
    fs::write(Path::new(&out).join("files.rs"), table)
}
