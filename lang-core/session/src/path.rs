//! **Module names.** `import "./mine.iv"` in module `dir/a.iv` refers to module `dir/mine.iv`. This
//! is arithmetic on text; no file is accessed.

use lang_base::ModuleName;

/// Returns the normal spelling of a module name: `/` between components, no `.`, and `..` only at
/// the start. The scheme of a URL stays.
pub fn normalize(name: &str) -> ModuleName {
    if !name.contains(['\\', '.']) && !name.contains("//") {
        return name.into();
    }
    join(Vec::new(), name)
}

/// Returns the module to which the path of an import in `importer` refers.
pub(super) fn relative(importer: &str, path: &str) -> ModuleName {
    let rooted = path.starts_with(['/', '\\']) || path.contains(':');
    let normal = normalize(importer);
    let mut base: Vec<&str> = if rooted { Vec::new() } else { normal.split('/').collect() };
    base.pop();
    join(base, path)
}

fn join<'a>(mut parts: Vec<&'a str>, path: &'a str) -> ModuleName {
    for part in path.split(['/', '\\']) {
        match part {
            "." => {}
            // `file:///a` and `/a` begin with empty components; elsewhere such components are
            // dropped.
            "" if parts.iter().any(|p| !(p.is_empty() || p.ends_with(':'))) => {}
            ".." => match parts.last() {
                None | Some(&"..") => parts.push(part),
                // The root has no parent.
                Some(&"") => {}
                Some(_) => {
                    parts.pop();
                }
            },
            _ => parts.push(part),
        }
    }
    parts.join("/").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_modules() {
        assert_eq!(normalize("./a.iv"), "a.iv");
        assert_eq!(normalize("/x//y/../a.iv"), "/x/a.iv");
        assert_eq!(normalize("file:///home/me/a.iv"), "file:///home/me/a.iv");
        assert_eq!(normalize("linalg"), "linalg");
        assert_eq!(normalize("dir\\a.iv"), "dir/a.iv");
        assert_eq!(normalize(""), "");
    }

    #[test]
    fn paths_of_imports() {
        let check = |importer: &str, path: &str, expected: &str| assert_eq!(relative(importer, path), expected);
        check("dir/a.iv", "./mine.iv", "dir/mine.iv");
        check("dir/a.iv", "mine.iv", "dir/mine.iv");
        check("dir/a.iv", "../mine.iv", "mine.iv");
        check("a.iv", "../mine.iv", "../mine.iv");
        check("../a.iv", "../../mine.iv", "../../../mine.iv");
        check("a.iv", "./sub/./x/../mine.iv", "sub/mine.iv");
        check("/a.iv", "../../mine.iv", "/mine.iv");
        check("/d/a.iv", "/e/mine.iv", "/e/mine.iv");
        check("file:///d/a.iv", "./mine.iv", "file:///d/mine.iv");
        check("", "", "");
    }
}
