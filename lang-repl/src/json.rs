//! JSON output. Parts are strings, so that objects keep the order of their fields.

/// Returns a JSON string.
pub(crate) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a JSON array of the parts.
pub(crate) fn array(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(", "))
}

/// Returns a JSON object of the parts, in this order.
pub(crate) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|(name, value)| format!("{}: {value}", string(name))).collect();
    format!("{{{}}}", fields.join(", "))
}
