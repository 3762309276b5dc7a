//! **Value traversal.** Searches the parts of a value. Visits a shared constructor once per nesting
//! depth, and rejects deeply nested values.

use std::collections::HashSet;
use std::sync::Arc;

use super::value::Value;

/// The depth of nested constructors beyond which a value counts as one of a recursive type.
const MAX_NESTING: usize = 8;

/// The error for a value with more than [`MAX_NESTING`] nested constructors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestingTooDeep;

/// Returns the first answer of `ask` for a part of a value. The value itself comes first, then its
/// parts. Captures of functions are not visited.
///
/// # Errors
/// [`NestingTooDeep`] if the value is too deep, unless an earlier part answers.
pub fn find_in_value<T>(value: &Value, mut ask: impl FnMut(&Value) -> Option<T>) -> Result<Option<T>, NestingTooDeep> {
    let mut open = vec![(value, 0)];
    let mut seen = HashSet::new();
    while let Some((value, nested)) = open.pop() {
        if let Some(answer) = ask(value) {
            return Ok(Some(answer));
        }
        let parts = match value {
            Value::Tuple(items) => items.values(),
            Value::Record(record) => record.values(),
            Value::Array(array) => array.elements().unwrap_or_default(),
            Value::Data(cell) => {
                if nested == MAX_NESTING {
                    return Err(NestingTooDeep);
                }
                // Trees may share subtrees.
                if nested > 0 && !seen.insert((nested, Arc::as_ptr(cell))) {
                    continue;
                }
                open.extend(cell.args().iter().map(|part| (part, nested + 1)));
                continue;
            }
            _ => continue,
        };
        open.extend(parts.iter().map(|part| (part, nested)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConstructorTag;

    fn tree(depth: usize, of: usize) -> Value {
        let tag = Arc::new(ConstructorTag {
            ty: lang_base::GlobalName::new("test", "T"),
            index: 0,
            name: "T".into(),
            arity: of,
        });
        (0..depth).fold(Value::F64(1.0), |t, _| Value::data(Arc::clone(&tag), vec![t; of]))
    }

    #[test]
    fn shared_parts_are_looked_at_once() {
        let mut visit_count = 0;
        let found = find_in_value(&tree(MAX_NESTING, 30), |_| {
            visit_count += 1;
            None::<()>
        });
        assert_eq!(found, Ok(None));
        assert!(visit_count < 10_000, "{visit_count}");
        assert_eq!(find_in_value(&tree(MAX_NESTING + 1, 2), |_| None::<()>), Err(NestingTooDeep));
        assert_eq!(find_in_value(&tree(60, 2), |_| None::<()>), Err(NestingTooDeep));
    }

    #[test]
    fn the_first_answer_is_taken() {
        assert_eq!(find_in_value(&tree(3, 2), |v| if let Value::F64(x) = v { Some(*x) } else { None }), Ok(Some(1.0)));
    }
}
