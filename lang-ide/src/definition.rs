//! **Go to definition.** Finds the declaration of a name, the type of its value, and the derivative
//! rules of a definition. `lang-lsp` calls one function for each navigation request. A function
//! returns an empty list if the offset has no name.

use lang_core::base::{GlobalName, Name, Span};
use lang_core::session::{ItemRef, Session};
use lang_core::syntax::ast::{Item, TypeBody, TypeExpr};
use lang_core::syntax::split::ItemKind;
use lang_core::types::ty::{GenericArg, Type};

use crate::find::declarations;
use crate::names::{NameRole, NameTarget, NameUse, name_at};
use crate::{Location, fields};

/// Returns the declarations of the name at an offset. A module is declared at the beginning of its
/// text, a field in the types of its record.
#[must_use]
pub fn definition(session: &Session, module: &str, at: u32) -> Vec<Location> {
    let Some((item, found)) = name_at(session, module, at) else { return Vec::new() };
    declarations(session, &item, &found.meaning)
}

/// Like [`definition`], except that a module is declared by the import that introduces it here.
#[must_use]
pub fn declaration(session: &Session, module: &str, at: u32) -> Vec<Location> {
    let Some((item, found)) = name_at(session, module, at) else { return Vec::new() };
    match &found.meaning {
        NameTarget::Module(_) => {
            let imports = session.items(module).into_iter().filter(|i| i.kind == ItemKind::Import);
            let uses = imports.flat_map(|i| crate::names::untyped_uses(session, &i));
            let same =
                |u: &NameUse| u.meaning == found.meaning && matches!(u.role, NameRole::Declaration | NameRole::Import);
            let all: Vec<NameUse> = uses.filter(same).collect();
            let first = all.iter().find(|u| u.role == NameRole::Declaration).or(all.first());
            first.map(|u| Location { module: item.module.clone(), span: u.span }).into_iter().collect()
        }
        target => declarations(session, &item, target),
    }
}

/// Returns the derivative and adjoint rules of the definition named at an offset.
#[must_use]
pub fn implementation(session: &Session, module: &str, at: u32) -> Vec<Location> {
    let Some((_, found)) = name_at(session, module, at) else { return Vec::new() };
    let NameTarget::Value(name) = &found.meaning else { return Vec::new() };
    let rules = ["derivative", "adjoint"].map(|word| GlobalName::new(&name.module, &format!("{word} {}", name.name)));
    rules.iter().filter_map(|rule| session.item(rule)).map(|rule| item_location(session, &rule)).collect()
}

/// Returns the location of the item without its comments.
fn item_location(session: &Session, item: &ItemRef) -> Location {
    let span = session.tree(item).map_or(item.span(), |parsed| parsed.tree.span.shift(item.start));
    Location { module: item.module.clone(), span }
}

/// Returns the declarations of the types that compose the type of the value named at an offset.
#[must_use]
pub fn type_definition(session: &Session, module: &str, at: u32) -> Vec<Location> {
    let Some((item, found)) = name_at(session, module, at) else { return Vec::new() };
    let mut components = ComponentTypes::default();
    match &found.meaning {
        NameTarget::Type(ty) | NameTarget::Ctor(ty, _) => components.data.push(ty.clone()),
        target => {
            if let Some(ty) = type_of(session, &item, &found, target) {
                components.add(&ty);
            }
        }
    }
    let of_types = components.data.iter().flat_map(|ty| declarations(session, &item, &NameTarget::Type(ty.clone())));
    let of_records = components.records.iter().flat_map(|record| record_aliases(session, &item, record));
    let mut places: Vec<Location> = Vec::new();
    for place in of_types.chain(of_records) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns the type of a use of a name whose meaning is `target`, if the type is known.
pub(crate) fn type_of(session: &Session, item: &ItemRef, found: &NameUse, target: &NameTarget) -> Option<Type> {
    let span = Span::new(found.span.start.saturating_sub(item.start), found.span.end.saturating_sub(item.start));
    match target {
        NameTarget::Value(name) => {
            let signature = session.signature(name);
            signature.map(|s| s.result.clone()).or_else(|| session.let_type(name))
        }
        NameTarget::Local(owner, id) if *owner == item.global => {
            let checked = session.checked_item(item)?;
            let declared = session.resolved(item)?.locals.get(id.0 as usize)?.span;
            let local = checked.body.locals.iter().find(|l| l.span == declared);
            local.map(|l| l.ty.clone())
        }
        _ => {
            let checked = session.checked_item(item)?;
            // The span of a field access ends with the field.
            let ends =
                |node: &lang_core::types::tree::TypedNode| node.span.end == span.end && node.span.start <= span.start;
            let nodes = checked.body.nodes.iter().filter(|(_, node)| ends(node));
            nodes.min_by_key(|(_, node)| node.span.end.saturating_sub(node.span.start)).map(|(_, n)| n.ty.clone())
        }
    }
}

/// The types with declarations that compose a type.
#[derive(Default)]
struct ComponentTypes {
    /// The named types.
    data: Vec<GlobalName>,
    /// The records, by their field names.
    records: Vec<Vec<Name>>,
}

impl ComponentTypes {
    /// Adds the components of a type. For a function, adds those of its result.
    fn add(&mut self, ty: &Type) {
        match ty {
            Type::Array(_, element) => self.add(element),
            Type::Tuple(items) => items.iter().for_each(|t| self.add(t)),
            Type::Fun(fun) => self.add(&fun.result),
            Type::Record(all) => self.records.push(fields::sorted_field_names(all)),
            Type::Data(name, args) => {
                self.data.push(name.clone());
                for arg in args.iter() {
                    if let GenericArg::Type(ty) = arg {
                        self.add(ty);
                    }
                }
            }
            Type::Scalar(_) | Type::Str | Type::Rel(_) | Type::Param(..) | Type::Meta(_) | Type::Error => {}
        }
    }
}

/// Returns the `type` items that are aliases of a record with these fields.
fn record_aliases(session: &Session, here: &ItemRef, names: &[Name]) -> Vec<Location> {
    let Some(first) = names.first() else { return Vec::new() };
    let mut found = Vec::new();
    for place in declarations(session, here, &NameTarget::Field(names.to_vec(), first.clone())) {
        let Some(item) = session.item_at(&place.module, place.span.start) else { continue };
        let Some(parsed) = session.tree(&item) else { continue };
        let Item::Type(def) = &parsed.tree.item else { continue };
        let is_alias = match def.body {
            TypeBody::Single(body) => matches!(parsed.tree.types[body].kind, TypeExpr::Record(_)),
            TypeBody::Sum(_) => false,
        };
        let location = Location { module: item.module.clone(), span: def.name.span.shift(item.start) };
        if is_alias && !found.contains(&location) {
            found.push(location);
        }
    }
    found
}
