//! Reports measurements as a table and as JSON.

use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// One measurement. The aim applies to `ratio` if there is a baseline, otherwise to `value`. Smaller is better, except for rates per
/// second. An infinite aim means none.
pub struct Figure {
    pub name: String,
    pub value: f64,
    pub unit: &'static str,
    pub baseline: Option<f64>,
    pub aim: f64,
}

impl Figure {
    fn ratio(&self) -> Option<f64> {
        self.baseline.map(|baseline| self.value / baseline)
    }

    fn is_met(&self) -> bool {
        let reached = self.ratio().unwrap_or(self.value);
        if self.unit.ends_with("/s") { reached >= self.aim } else { reached <= self.aim }
    }
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the root")
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// Prints the table and writes `bench.json`.
pub fn publish(figures: &[Figure]) {
    println!("\n{:<32} {:>10} {:<4} {:>10} {:>7} {:>7}", "", "value", "", "baseline", "ratio", "aim");
    let path = target().join("bench.json");
    // Keep the measurements of the other sets.
    let known = std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
    let mut json: Map<String, Value> = known.unwrap_or_default();
    for figure in figures {
        let shown = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.2}"));
        let met = if figure.is_met() { "" } else { "  missed" };
        let Figure { name, value, unit, baseline, aim } = figure;
        println!("{name:<32} {value:>10.2} {unit:<4} {:>10} {:>7} {aim:>7}{met}", shown(*baseline), shown(figure.ratio()));
        json.insert(name.clone(), json!({ "value": value, "unit": unit, "baseline": baseline, "ratio": figure.ratio(), "aim": aim }));
    }
    std::fs::write(&path, format!("{:#}\n", Value::Object(json))).expect("writes bench.json");
    println!("\nwritten to {}", path.display());
}

/// The bundle sizes that the web build reports; empty without a build.
pub fn sizes() -> Vec<Figure> {
    let Ok(text) = std::fs::read_to_string(workspace().join("web/dist/sizes.json")) else {
        eprintln!("web/dist/sizes.json is missing: make web writes it");
        return Vec::new();
    };
    let sizes: Value = serde_json::from_str(&text).expect("JSON");
    let figure = |name: &str, entry: &str| {
        let size = |field: &str| sizes[entry][field].as_f64().expect("a size") / 1_000.0;
        Figure { name: name.to_owned(), value: size("js_gzip"), unit: "kB", baseline: None, aim: size("js_budget") }
    };
    vec![figure("checkout_js", "checkout"), figure("store_js", "store")]
}
