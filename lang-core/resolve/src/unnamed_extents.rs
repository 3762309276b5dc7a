//! **Unnamed extents.** Help for the extents `?n` in the type of a top-level `let`, which have no
//! name in later items. The help explains how to name them.

use lang_base::Name;
use lang_syntax::ast::{Item, Pat, SizeExpr, Tree, TypeArg, TypeExpr, TypeId};

/// Returns the unnamed extents of a `let` item, each with the help for a use of its name.
pub fn unnamed_extents(tree: &Tree) -> Vec<(Name, String)> {
    let Item::Let(top) = &tree.item else { return Vec::new() };
    let Some(ty) = top.ty else { return Vec::new() };
    let path = match &tree.pats[top.pat].kind {
        Pat::Name(name) => Some(name.to_string()),
        _ => None,
    };
    let mut found = UnnamedExtentSearch { tree, extent_helps: Vec::new() };
    found.search_type(ty, path.as_deref(), true);
    found.extent_helps
}

struct UnnamedExtentSearch<'t> {
    tree: &'t Tree,
    extent_helps: Vec<(Name, String)>,
}

impl UnnamedExtentSearch<'_> {
    /// Searches a type. `path` is the expression for the value of this type, if one exists. `whole`
    /// means that the value is the whole value of the `let`.
    fn search_type(&mut self, ty: TypeId, path: Option<&str>, whole: bool) {
        match &self.tree.types[ty].kind {
            TypeExpr::Error => {}
            TypeExpr::Array(..) => self.search_array(ty, path, whole),
            TypeExpr::Tuple(items) => {
                for (k, item) in items.iter().enumerate() {
                    self.search_type(*item, path.map(|p| format!("{p}.{k}")).as_deref(), false);
                }
            }
            TypeExpr::Record(fields) => {
                for (field, item) in fields {
                    self.search_type(*item, path.map(|p| format!("{p}.{}", field.name)).as_deref(), false);
                }
            }
            TypeExpr::Fun(params, result) => {
                params.iter().for_each(|(_, t)| self.search_type(*t, None, false));
                self.search_type(*result, None, false);
            }
            TypeExpr::Rel(sizes) => self.search_sizes(&sizes.iter().collect::<Vec<_>>(), path, whole),
            TypeExpr::Name { args, .. } => {
                for arg in args {
                    match arg {
                        TypeArg::Type(t) => self.search_type(*t, None, false),
                        TypeArg::Size(size) => self.record_unnamed(size, path, |p| {
                            format!("it is the extent of an array in `{p}`: its value is `len(…)` of that array")
                        }),
                    }
                }
            }
        }
    }

    /// Searches an array type; `[n][m]T` is one array.
    fn search_array(&mut self, mut ty: TypeId, path: Option<&str>, whole: bool) {
        let tree = self.tree;
        let mut all = Vec::new();
        while let TypeExpr::Array(sizes, element) = &tree.types[ty].kind {
            all.extend(sizes);
            ty = *element;
        }
        self.search_sizes(&all, path, whole);
        self.search_type(ty, None, false);
    }

    fn search_sizes(&mut self, sizes: &[&SizeExpr], path: Option<&str>, whole: bool) {
        for (axis, size) in sizes.iter().enumerate() {
            // The pattern must name the preceding extents too.
            let names: Vec<String> = sizes
                .iter()
                .take(axis + 1)
                .enumerate()
                .map(|(k, size)| match size {
                    SizeExpr::Unknown(name) => name.name.to_string(),
                    SizeExpr::Expr(_) => format!("n{}", k + 1),
                })
                .collect();
            let names = names.join(", ");
            self.record_unnamed(size, path, |p| match whole {
                true => format!("name the extent with `let [{names}] {p}: … = …`"),
                false => format!("name the extent with `let [{names}] x = {p}`"),
            });
        }
    }

    fn record_unnamed(&mut self, size: &SizeExpr, path: Option<&str>, help: impl FnOnce(&str) -> String) {
        let SizeExpr::Unknown(name) = size else { return };
        let help = match path {
            Some(path) => format!("`?{}` is known only in the type of that `let`; {}", name.name, help(path)),
            None => format!(
                "`?{}` is known only in the type of that `let`; name the extent of an array with `let [{0}] x = …`",
                name.name
            ),
        };
        self.extent_helps.push((name.name.clone(), help));
    }
}
