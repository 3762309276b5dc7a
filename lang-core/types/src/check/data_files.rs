//! **Data files**: the rules of `load` and `save` that need no file.
//!
//! The extension of a literal file name determines the format, and each format holds values of
//! certain types. So a `save` that cannot succeed is an error before anything runs.

use super::super::tree::{TypedExpr as Typed, TypedForm, TypedId};
use super::super::ty::{Scalar, Type};
use super::TypeChecker;
use lang_base::{Code, Diagnostic, Fix, FixPiece, Hint, Span};
use lang_resolve::forms::{DataFormat, LoadOption};
use lang_resolve::suggest;
use lang_sizes::predicate::Poly;
use lang_syntax::ast::{CallArg, Expr, ExprId, Ident};

/// Help on names of files.
const FILE_FORMATS_HELP: &str = "use .npy, .npz, .csv, .json or .png; text tables (.txt) can only be written";

impl TypeChecker<'_> {
    /// Infers `load("file", option: e, …)`.
    pub(super) fn infer_load(&mut self, args: &[CallArg], hint: Option<&Type>, span: Span) -> TypedId {
        let Some(first) = args.iter().find(|a| a.name.is_none()) else { return self.error_node(span) };
        let file = self.check_expr(first.value, &Type::Str, "the file name");
        let format = self.literal_file_format(first.value);
        let no_data =
            self.allows_effects && format.is_none() && matches!(self.tree.exprs[first.value].kind, Expr::Str(_));
        let ty = match hint {
            Some(t) => t.clone(),
            // The type may be in a part that the parser could not read. A file that holds no data
            // has no type.
            None if no_data || !self.tree.skipped_names.is_empty() => Type::Error,
            None => {
                self.report(
                    Diagnostic::new(Code::E0210, span, "a loaded value must have a written type")
                        .help("write it at the `let`: `let xs: [?n]f64 = load(\"file\")`"),
                );
                Type::Error
            }
        };
        let known = self.metas.zonk(&ty);
        if let Some((format, name)) = &format
            && !known.has_error()
            && self.allows_effects
        {
            let refused = match format {
                DataFormat::Txt => Some((Code::E0603, format!("`{name}` is a text table, which cannot be read"))),
                _ if can_read(*format, &known) => None,
                _ => Some((
                    Code::E0604,
                    format!("`{name}`: {} cannot contain a value of type `{known}`", file_phrase(*format)),
                )),
            };
            if let Some((code, message)) = refused {
                self.report(
                    Diagnostic::new(code, self.expr_span(first.value), message).help(readable_types_help(*format)),
                );
            }
        }
        let (mut options, mut nodes) = (Vec::new(), vec![file]);
        for arg in args {
            let Some(name) = &arg.name else { continue };
            if let Some((option, value)) =
                self.infer_load_option(name, arg.value, &options, format.as_ref().map(|f| f.0))
            {
                options.push(option);
                nodes.push(value);
            }
        }
        let load = self.alloc(Typed::Form(TypedForm::Load(options.into()), nodes), ty, span);
        self.open_loaded_extents(load)
    }

    fn infer_load_option(
        &mut self,
        name: &Ident,
        value: ExprId,
        before: &[LoadOption],
        format: Option<DataFormat>,
    ) -> Option<(LoadOption, TypedId)> {
        let wrong = |message: String| Diagnostic::new(Code::E0217, name.span, message);
        let Some(option) = LoadOption::by_name(&name.name) else {
            self.infer(value, None);
            let names = || LoadOption::ALL.iter().map(|o| o.name());
            let near = match name.name.as_str() {
                "sep" | "delimiter" | "delim" => Some(Hint::did_you_mean("separator")),
                "na_values" | "na" | "nan" | "null" => Some(Hint::did_you_mean("missing")),
                "comments" => Some(Hint::did_you_mean("comment")),
                _ => suggest::did_you_mean(&name.name, names()),
            };
            let all: Vec<String> = names().map(|n| format!("`{n}:`")).collect();
            let help = near.unwrap_or_else(|| format!("the options are {}", super::and_list(&all)).into());
            self.report(wrong(format!("`load` has no argument `{}:`", name.name)).help(help));
            return None;
        };
        if before.contains(&option) {
            self.infer(value, None);
            self.report(wrong(format!("`{}:` occurs twice", name.name)).help("write it once"));
            return None;
        }
        if let Some(format) = format.filter(|f| *f != DataFormat::Csv) {
            self.infer(value, None);
            let message = format!("`{}:` applies to tables, but {} is not a table", name.name, file_phrase(format));
            self.report(wrong(message).help("remove it, or load a .csv file"));
            return None;
        }
        let node = match option {
            LoadOption::Header => self.check_expr(value, &Type::BOOL, "the option `header:`"),
            LoadOption::Missing if matches!(self.tree.exprs[value].kind, Expr::Array { .. }) => {
                let words = self.infer(value, None);
                let ty = self.metas.zonk(&self.nodes[words].ty);
                match ty.split_array() {
                    (axes, Type::Str) if axes.len() == 1 => words,
                    _ if ty.has_error() => words,
                    _ => self.check_expr(value, &Type::Str, "a word for missing values"),
                }
            }
            _ => self.check_expr(value, &Type::Str, "this option"),
        };
        if let Expr::Str(text) = &self.tree.exprs[value].kind
            && let Err(message) = option.validate(text)
        {
            let at = self.expr_span(value);
            self.report(Diagnostic::new(Code::E0217, at, message).help(option.doc()));
            return None;
        }
        Some((option, node))
    }

    /// Infers `save(e, "file")`.
    pub(super) fn infer_save(&mut self, args: &[CallArg], span: Span) -> TypedId {
        let value = args.first().map(|a| self.infer(a.value, None));
        if let (Some(first), [a, b]) = (value, args)
            && self.node_type(first) == Type::Str
        {
            let second = self.infer(b.value, None);
            if !matches!(self.node_type(second), Type::Str | Type::Error) {
                let (at, value) = (self.expr_span(a.value), self.expr_span(b.value));
                let name = match &self.tree.exprs[a.value].kind {
                    Expr::Str(file) => format!("\"{file}\""),
                    _ => "file".to_owned(),
                };
                let of = self.name_expr_at(value).map_or_else(|| "…".to_owned(), ToString::to_string);
                let pieces = vec![FixPiece::Source(value), FixPiece::Text(", ".to_owned()), FixPiece::Source(at)];
                let d = Diagnostic::new(Code::E0200, at, "`save` takes the value first, then the file name");
                let d = d.help(format!("write `save({of}, {name})`")).fix(Fix { span: at.to(value), pieces });
                self.report(d);
                return self.error_node(span);
            }
        }
        let file = match args.get(1) {
            Some(a) => self.check_expr(a.value, &Type::Str, "the file name"),
            None => self.error_node(Span::default()),
        };
        if let (Some(value), Some(a), true) = (value, args.get(1), self.allows_effects)
            && let Some((format, name)) = self.literal_file_format(a.value)
        {
            // Formats hold certain types, so literals take their defaults now and cannot wait for a
            // context.
            self.settle_deferred(false);
            let ty = self.nodes[value].ty.clone();
            self.metas.apply_defaults_in(&ty);
            self.settle_deferred(false);
            let ty = self.metas.zonk(&ty);
            if let Err(what) = check_writable(format, &ty) {
                let message = format!("`{name}`: {what}");
                let d = Diagnostic::new(Code::E0605, self.node_span(value), message);
                self.report(d.label(format!("this has type `{ty}`")).help(writable_types_help(format)));
            }
        }
        self.alloc(Typed::Form(TypedForm::Save, value.into_iter().chain([file]).collect()), Type::unit(), span)
    }

    /// Returns the format of a file with a literal name, and the name. Reports an unknown
    /// extension.
    fn literal_file_format(&mut self, file: ExprId) -> Option<(DataFormat, String)> {
        let Expr::Str(name) = &self.tree.exprs[file].kind else { return None };
        let name = name.to_string();
        let format = DataFormat::from_file_name(&name);
        if format.is_none() && self.allows_effects {
            let at = self.expr_span(file);
            self.report(
                Diagnostic::new(Code::E0603, at, format!("`{name}` is not a data file")).help(FILE_FORMATS_HELP),
            );
        }
        Some((format?, name))
    }
}

fn file_phrase(format: DataFormat) -> String {
    format!("a .{} file", format.name())
}

/// Describes the types that can be read from the format.
fn readable_types_help(format: DataFormat) -> &'static str {
    match format {
        DataFormat::Npy => "a .npy file contains a number or an array of numbers, `[?n]f64`; load records from .npz",
        DataFormat::Npz => "a .npz file contains a record of arrays, `{x: [?n]f64, y: [?m]f64}`, or a tuple of arrays",
        DataFormat::Csv => {
            "load a table as a matrix, `[?n, ?m]f64`, a record of columns, `{x: [?n]f64}`, or an array of records, `[?n]{x: f64}`"
        }
        DataFormat::Json => "JSON contains numbers, truth values, arrays, tuples, records and constructors",
        DataFormat::Png => "load a grey image as `[?h, ?w]f64`, a colour image as `[?h, ?w, 3]f64`",
        DataFormat::Txt => "save and load it as .csv",
    }
}

/// Describes the types that can be written to the format.
fn writable_types_help(format: DataFormat) -> &'static str {
    match format {
        DataFormat::Npy => "write records and tuples of arrays as .npz, or any value as .json",
        DataFormat::Npz => "write one array as .npy, or any value as .json",
        DataFormat::Csv | DataFormat::Txt => {
            "a table is a matrix, a vector, a record of equally long vectors, or a vector of records; write other values as .json"
        }
        DataFormat::Json => "apply the function, and save the values",
        DataFormat::Png => {
            "an image is `[h, w]` (grey) or `[h, w, 3]` (colour), with reals from 0 to 1 or integers from 0 to 255"
        }
    }
}

/// Returns whether the type may be a scalar, or an array of scalars of an accepted rank. An unknown
/// element type may be.
fn is_numeric_array(ty: &Type, axes: impl Fn(usize) -> bool) -> bool {
    let (dims, element) = ty.split_array();
    is_undetermined(element) || matches!(element, Type::Scalar(_)) && axes(dims.len())
}

fn is_undetermined(ty: &Type) -> bool {
    matches!(ty, Type::Error | Type::Meta(_) | Type::Param(..))
}

/// Returns whether the leaves of records and tuples are arrays of scalars. If `outer`, the type
/// itself must be a record or a tuple.
fn is_archive(ty: &Type, outer: bool) -> bool {
    match ty {
        Type::Record(fields) => fields.iter().all(|(_, ty)| is_archive(ty, false)),
        Type::Tuple(types) => types.iter().all(|ty| is_archive(ty, false)),
        _ => is_undetermined(ty) || !outer && is_numeric_array(ty, |_| true),
    }
}

fn is_scalar_row(ty: &Type) -> bool {
    let scalar = |ty: &Type| is_undetermined(ty) || matches!(ty, Type::Scalar(_));
    match ty {
        Type::Record(fields) => !fields.is_empty() && fields.iter().all(|(_, ty)| scalar(ty)),
        Type::Tuple(types) => !types.is_empty() && types.iter().all(scalar),
        _ => false,
    }
}

/// Returns whether the type contains a function or, if `relations`, a relation or text, which a
/// JSON file cannot represent.
fn has_function(ty: &Type, relations: bool) -> bool {
    let mut found = false;
    ty.visit(
        &mut |t| found |= matches!(t, Type::Fun(_)) || relations && matches!(t, Type::Rel(_) | Type::Str),
        &mut |_| {},
    );
    found
}

fn is_image(ty: &Type) -> bool {
    let (dims, element) = ty.split_array();
    let colours = |n: &Poly| n.as_constant().is_none_or(|n| n == 3);
    let numbers = is_undetermined(element) || matches!(element, Type::Scalar(s) if *s != Scalar::Bool);
    is_undetermined(ty) || numbers && (dims.len() == 2 || dims.len() == 3 && dims.last().is_some_and(|n| colours(n)))
}

/// Returns whether a file of the format can yield a value of the type.
fn can_read(format: DataFormat, ty: &Type) -> bool {
    match format {
        DataFormat::Npy => is_numeric_array(ty, |_| true),
        DataFormat::Npz => is_archive(ty, true),
        DataFormat::Csv => match ty {
            Type::Record(fields) => fields.iter().all(|(_, ty)| is_numeric_array(ty, |axes| axes <= 1)),
            Type::Array(_, element) if is_scalar_row(element) => true,
            _ => is_numeric_array(ty, |axes| axes <= 2),
        },
        DataFormat::Json => !has_function(ty, true),
        DataFormat::Png => is_image(ty),
        DataFormat::Txt => false,
    }
}

/// Checks that the format can hold values of the type; the error is the reason.
fn check_writable(format: DataFormat, ty: &Type) -> Result<(), String> {
    if ty.has_error() {
        return Ok(());
    }
    let no = |what: &str| Err(format!("{} {what}", file_phrase(format)));
    match format {
        DataFormat::Npy if !is_numeric_array(ty, |_| true) => no("must contain a number or an array of numbers"),
        DataFormat::Npz if !is_archive(ty, true) => no("must contain a record or tuple of arrays of numbers"),
        DataFormat::Csv | DataFormat::Txt => match ty {
            Type::Record(fields) if !fields.is_empty() => {
                if !fields.iter().all(|(_, ty)| is_numeric_array(ty, |axes| axes == 1)) {
                    return no(
                        "must contain a table, and a record is a table only if its fields are vectors of numbers",
                    );
                }
                let length = |ty: &Type| ty.split_array().0.first().and_then(|n| n.as_constant());
                let mut known = fields.iter().filter_map(|(name, ty)| Some((name, length(ty)?)));
                let Some((first, n)) = known.next() else { return Ok(()) };
                match known.find(|(_, m)| *m != n) {
                    Some((other, m)) => {
                        Err(format!("the columns differ in length: `{first}` has {n}, `{other}` has {m}"))
                    }
                    None => Ok(()),
                }
            }
            Type::Array(_, element) if is_scalar_row(element) => Ok(()),
            _ if is_numeric_array(ty, |axes| axes <= 2) => Ok(()),
            _ => no("must contain a table"),
        },
        DataFormat::Json if has_function(ty, false) => no("cannot contain functions"),
        DataFormat::Png if !is_image(ty) => no("must contain an image"),
        _ => Ok(()),
    }
}
