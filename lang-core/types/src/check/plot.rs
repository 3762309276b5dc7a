//! **Type checking of `plot`**: `plot(x, y, "points: label", …, title: "text")`.
//!
//! The checker of special forms calls `infer_plot` with the arguments. The result is a
//! [`TypedForm::Plot`] node, which the interpreter turns into a figure.
//!
//! The arguments are groups of data, each ended by a text with the kind of mark, and named options.
//! Without a text, the type of the group's first value decides the kind.

use std::sync::Arc;

use super::super::tree::{PlotGroup, PlotSpec, TypedExpr as Typed, TypedForm, TypedId};
use super::super::ty::{Scalar, Type};
use super::super::unify::Mismatch;
use super::TypeChecker;
use super::size_names::names_in_sizes;
use lang_base::{Code, Diagnostic, Hint, Name, Span};
use lang_resolve::forms::{AXIS_SCALES, PlotKind, PlotOption};
use lang_resolve::suggest;
use lang_sizes::predicate::Poly;
use lang_syntax::ast::{CallArg, Expr, ExprId, Ident};

/// The error marker: a diagnostic was reported.
struct ErrorReported;

/// A group as written.
struct WrittenPlotGroup {
    data: Vec<ExprId>,
    /// The text that ends the group.
    text: Option<(Name, Span)>,
}

impl TypeChecker<'_> {
    pub(super) fn infer_plot(&mut self, args: &[CallArg], span: Span) -> TypedId {
        let groups = self.written_groups(args);
        // If effects are not allowed here, the caller has reported it. Types may then be unknown,
        // so the plot is not checked.
        if !self.allows_effects {
            args.iter().for_each(|a| {
                self.infer(a.value, None);
            });
            return self.alloc(Typed::Error, Type::unit(), span);
        }
        let mut plot = PlotSpec { groups: Vec::new(), options: Vec::new() };
        let mut nodes = Vec::new();
        let mut has_error = false;
        for group in &groups {
            let inferred: Vec<TypedId> = group.data.iter().map(|e| self.infer(*e, None)).collect();
            match self.check_plot_group(group, inferred) {
                Ok((kind, label, data)) => {
                    let names = group.data.iter().map(|e| self.data_name(*e)).collect();
                    plot.groups.push(PlotGroup { kind, label, data_names: names });
                    nodes.extend(data);
                }
                Err(ErrorReported) => has_error = true,
            }
        }
        has_error |= self.check_exclusive_plot(&plot, &groups).is_err();
        for a in args {
            let Some(name) = &a.name else { continue };
            match self.infer_plot_option(name, a.value, &plot) {
                Ok((option, value)) => {
                    plot.options.push(option);
                    nodes.push(value);
                }
                Err(ErrorReported) => has_error = true,
            }
        }
        if groups.is_empty() {
            let d = Diagnostic::new(Code::E0218, span, "this plot has no data");
            self.report(d.help("put the data first: `plot(x, y, title: \"a title\")`"));
            has_error = true;
        }
        let kind = if has_error { Typed::Error } else { Typed::Form(TypedForm::Plot(Arc::new(plot)), nodes) };
        self.alloc(kind, Type::unit(), span)
    }

    fn written_groups(&self, args: &[CallArg]) -> Vec<WrittenPlotGroup> {
        let mut groups = Vec::new();
        let mut data = Vec::new();
        for a in args.iter().filter(|a| a.name.is_none()) {
            match &self.tree.exprs[a.value].kind {
                Expr::Str(text) => {
                    let text = Some((text.clone(), self.expr_span(a.value)));
                    groups.push(WrittenPlotGroup { data: std::mem::take(&mut data), text });
                }
                _ => data.push(a.value),
            }
        }
        if !data.is_empty() {
            groups.push(WrittenPlotGroup { data, text: None });
        }
        groups
    }

    /// Returns the data as written, if it is a name or a field of one; else an empty name.
    fn data_name(&self, e: ExprId) -> Name {
        match &self.tree.exprs[e].kind {
            Expr::Name(name) => name.clone(),
            Expr::Field(base, field) => match self.data_name(*base) {
                base if base.is_empty() => base,
                base => format!("{base}.{}", field.name).into(),
            },
            _ => Name::default(),
        }
    }

    /// Checks a group. Returns its kind, its label, and its data.
    fn check_plot_group(
        &mut self,
        group: &WrittenPlotGroup,
        mut data: Vec<TypedId>,
    ) -> Result<(PlotKind, Name, Vec<TypedId>), ErrorReported> {
        let said = match &group.text {
            Some((text, span)) => {
                let (kind, label) = text.split_once(':').map_or((text.as_str(), ""), |(kind, label)| (kind, label));
                (Some(self.parse_plot_kind(kind.trim(), *span)?), Name::from(label.trim()))
            }
            None => (None, Name::default()),
        };
        let Some(first) = data.first().copied() else {
            let at = group.text.as_ref().map_or(Span::default(), |t| t.1);
            let d = Diagnostic::new(Code::E0218, at, "no data precedes this string");
            self.report(d.help("put the string after its data: `plot(x, y, \"points\")`"));
            return Err(ErrorReported);
        };
        // The marks depend on the types, so literals take their defaults now and cannot wait for a
        // context.
        self.settle_deferred(false);
        for node in &data {
            let ty = self.nodes[*node].ty.clone();
            self.metas.apply_defaults_in(&ty);
            // The elements of an empty array may be numbers.
            if let (Type::Array(..), elem @ Type::Meta(_)) = (&ty, self.metas.zonk(&ty).split_array().1) {
                let _ = self.unify(elem, &Type::F64);
            }
        }
        self.settle_deferred(false);
        if data.iter().any(|n| self.metas.zonk(&self.nodes[*n].ty).has_error()) {
            return Err(ErrorReported);
        }
        let kind = match said.0 {
            Some(kind) => kind,
            None => self.default_plot_kind(first)?,
        };
        let most = match kind {
            PlotKind::Line | PlotKind::Points => usize::MAX,
            PlotKind::Bars => 2,
            _ => 1,
        };
        if let Some(extra) = data.get(most) {
            let at = self.node_span(*extra);
            let message = format!("{} from {}", plot_kind_phrase(kind), value_count_phrase(most, data.len()));
            let mut d = Diagnostic::new(Code::E0218, at, message).help(plot_data_help(kind));
            if kind == PlotKind::Histogram {
                d = d.help("write a string after each vector: `plot(x, \"histogram\", y, \"histogram\")`");
            }
            self.report(d);
            return Err(ErrorReported);
        }
        for node in &data {
            self.check_plot_data(*node, kind)?;
        }
        self.check_same_lengths(&mut data)?;
        Ok((kind, said.1, data))
    }

    fn parse_plot_kind(&mut self, word: &str, at: Span) -> Result<PlotKind, ErrorReported> {
        if let Some(kind) = PlotKind::from_text(word) {
            return Ok(kind);
        }
        let names = || PlotKind::ALL.iter().map(|k| k.name());
        let near = match word.to_lowercase().as_str() {
            "hist" => Some(Hint::did_you_mean("histogram")),
            "dots" | "point" | "markers" | "scatterplot" => Some(Hint::did_you_mean("points")),
            "heat map" | "heat" | "imagesc" | "pcolor" => Some(Hint::did_you_mean("heatmap")),
            "imshow" | "img" => Some(Hint::did_you_mean("image")),
            "barplot" | "column" | "columns" => Some(Hint::did_you_mean("bars")),
            _ => suggest::did_you_mean(word, names()),
        };
        let all: Vec<String> = names().map(|n| format!("\"{n}\"")).collect();
        let help =
            format!("the kinds are {}; write a label after a colon, `\"line: the label\"`", super::and_list(&all));
        let d = Diagnostic::new(Code::E0218, at, format!("`{word}` is not a kind of plot"));
        self.report(d.help(near.unwrap_or_else(|| help.into())));
        Err(ErrorReported)
    }

    /// Returns the kind of mark for data without a text.
    fn default_plot_kind(&mut self, node: TypedId) -> Result<PlotKind, ErrorReported> {
        let t = self.metas.zonk(&self.nodes[node].ty);
        Ok(match (&t, t.split_array().0.len()) {
            (Type::Rel(_), _) => PlotKind::Spy,
            (_, 1) => PlotKind::Line,
            (_, 2) => PlotKind::Heatmap,
            (_, 3) => PlotKind::Image,
            _ => return Err(self.report_undrawable(node, &t, None)),
        })
    }

    /// Checks that the data has the type that its kind requires.
    fn check_plot_data(&mut self, node: TypedId, kind: PlotKind) -> Result<(), ErrorReported> {
        let t = self.metas.zonk(&self.nodes[node].ty);
        if let (PlotKind::Spy, Type::Rel(dims)) = (kind, &t) {
            return if dims.len() == 2 { Ok(()) } else { Err(self.report_undrawable(node, &t, Some(kind))) };
        }
        let (dims, elem) = t.split_array();
        let numbers = matches!(elem, Type::Scalar(Scalar::F64 | Scalar::F32 | Scalar::I64 | Scalar::Bool));
        let rank = match kind {
            PlotKind::Line | PlotKind::Points | PlotKind::Histogram | PlotKind::Bars => dims.len() == 1,
            PlotKind::Heatmap | PlotKind::Spy => dims.len() == 2,
            PlotKind::Image => dims.len() == 2 || dims.len() == 3,
        };
        if !(numbers && rank) {
            return Err(self.report_undrawable(node, &t, Some(kind)));
        }
        if let (PlotKind::Image, [_, _, channels]) = (kind, dims.as_slice()) {
            let mut goals = Vec::new();
            let found = (*channels).clone();
            if self.metas.unify_size(&found, &Poly::constant(3), &mut goals).is_err() || !goals.is_empty() {
                return Err(self.report_undrawable(node, &t, Some(kind)));
            }
        }
        Ok(())
    }

    fn report_undrawable(&mut self, node: TypedId, t: &Type, kind: Option<PlotKind>) -> ErrorReported {
        let at = self.node_span(node);
        let message = match kind {
            Some(kind) => {
                format!("{} cannot be drawn from a value of type `{t}`", kind.noun().0)
            }
            None => format!("a value of type `{t}` cannot be drawn"),
        };
        let any = || "plot an array of numbers with one to three axes, or a relation with two axes".to_owned();
        let wanted = kind.map_or_else(any, plot_data_help);
        let help = match t {
            Type::Fun(_) => "compute values of the function, `for i < 100: f(f64(i) / 100)`, and plot them".to_owned(),
            Type::Str => "write the kind of plot as a string in quotes".to_owned(),
            Type::Record(_) => format!("{wanted}; write a field of a record as `r.name`"),
            _ => wanted,
        };
        self.report(Diagnostic::new(Code::E0218, at, message).help(help));
        ErrorReported
    }

    /// Checks that all data of a group has one length.
    fn check_same_lengths(&mut self, data: &mut [TypedId]) -> Result<(), ErrorReported> {
        let Some((first, rest)) = data.split_first_mut() else { return Ok(()) };
        for node in rest {
            let length = |t: &Type| t.split_array().0.first().map(|n| (*n).clone());
            let (x, y) = (self.metas.zonk(&self.nodes[*first].ty), self.metas.zonk(&self.nodes[*node].ty));
            let (Some(n), Some(m)) = (length(&x), length(&y)) else { continue };
            let mut goals = Vec::new();
            if let Err(Mismatch::Size(found, wanted)) = self.metas.unify_size(&m, &n, &mut goals) {
                let (there, here) = (self.node_span(*first), self.node_span(*node));
                let message = "data of one group must have the same length";
                let d = Diagnostic::new(Code::E0300, here, message)
                    .label(format!("this has length `{found}`"))
                    .related(there, format!("this has length `{wanted}`"))
                    .size_names(names_in_sizes([&found]));
                self.report(d);
                return Err(ErrorReported);
            }
            *node = self.wrap_in_goal_checks(*node, goals, "the length of the plot data", Code::E0300);
        }
        Ok(())
    }

    /// Checks that a plot that fills its frame is the only group.
    fn check_exclusive_plot(&mut self, plot: &PlotSpec, groups: &[WrittenPlotGroup]) -> Result<(), ErrorReported> {
        let Some(alone) = plot.groups.iter().find(|g| g.kind.is_exclusive()) else { return Ok(()) };
        if groups.len() < 2 {
            return Ok(());
        }
        let span = |g: &WrittenPlotGroup| {
            let first = g.data.first().map(|e| self.expr_span(*e));
            first.or(g.text.as_ref().map(|t| t.1)).unwrap_or_default()
        };
        let second = groups.get(1).map(span).unwrap_or_default();
        let message = format!("{} must be the only group of a plot", alone.kind.noun().0);
        self.report(Diagnostic::new(Code::E0218, second, message).help("write a second `plot(…)`"));
        Err(ErrorReported)
    }

    fn infer_plot_option(
        &mut self,
        name: &Ident,
        value: ExprId,
        plot: &PlotSpec,
    ) -> Result<(PlotOption, TypedId), ErrorReported> {
        let wrong = |message: String| Diagnostic::new(Code::E0217, name.span, message);
        let Some(option) = PlotOption::by_name(&name.name) else {
            self.infer(value, None);
            let names = || PlotOption::ALL.iter().map(|o| o.name());
            let near = match name.name.as_str() {
                "label" | "legend" => {
                    Some(Hint::text("write a label after its data: `plot(x, y, \"line: the label\")`"))
                }
                "out" | "save" | "path" => Some(Hint::did_you_mean("file")),
                _ => suggest::did_you_mean(&name.name, names()),
            };
            let all: Vec<String> = names().map(|n| format!("`{n}:`")).collect();
            let help = near.unwrap_or_else(|| format!("the options are {}", super::and_list(&all)).into());
            self.report(wrong(format!("`plot` has no argument `{}:`", name.name)).help(help));
            return Err(ErrorReported);
        };
        if plot.options.contains(&option) {
            self.infer(value, None);
            self.report(wrong(format!("`{}:` occurs twice", name.name)).help("write it once"));
            return Err(ErrorReported);
        }
        let alone = plot.groups.iter().find(|g| g.kind.is_exclusive());
        let without = match (option, alone) {
            (PlotOption::Bins, _) if plot.groups.iter().all(|g| g.kind != PlotKind::Histogram) => {
                Some(("a histogram", "draw a histogram: `plot(x, \"histogram\", bins: 20)`".to_owned()))
            }
            (PlotOption::Xscale | PlotOption::Yscale, Some(g)) => {
                Some(("line, points or bars", format!("the axes of {} count rows and columns", g.kind.noun().0)))
            }
            _ => None,
        };
        if let Some((of, help)) = without.filter(|_| !plot.groups.is_empty()) {
            self.infer(value, None);
            self.report(wrong(format!("`{}:` applies to {of}, but this plot has none", name.name)).help(help));
            return Err(ErrorReported);
        }
        let (ty, what) = match option {
            PlotOption::Bins => (Type::I64, "the number of intervals"),
            PlotOption::Width | PlotOption::Height => (Type::I64, "the size of the plot"),
            PlotOption::File => (Type::Str, "the file name"),
            PlotOption::Xscale | PlotOption::Yscale => (Type::Str, "a scale"),
            PlotOption::Title | PlotOption::Xlabel | PlotOption::Ylabel => (Type::Str, "a title or label"),
        };
        let node = self.check_expr(value, &ty, what);
        if let (PlotOption::Xscale | PlotOption::Yscale, Expr::Str(text)) = (option, &self.tree.exprs[value].kind)
            && !AXIS_SCALES.contains(&text.as_str())
        {
            let near = suggest::did_you_mean(text, AXIS_SCALES);
            let d = Diagnostic::new(Code::E0218, self.expr_span(value), format!("`{text}` is not an axis scale"));
            self.report(d.help(near.unwrap_or_else(|| "write \"linear\" or \"log\"".into())));
            return Err(ErrorReported);
        }
        if let (PlotOption::File, Expr::Str(text)) = (option, &self.tree.exprs[value].kind) {
            let end = text.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
            if !end.is_some_and(|end| matches!(end.as_str(), "svg" | "png")) {
                let d = Diagnostic::new(Code::E0514, self.expr_span(value), format!("`{text}` is not a plot file"));
                self.report(d.help("use the extension .svg or .png"));
                return Err(ErrorReported);
            }
        }
        Ok((option, node))
    }
}

/// Returns the data that a kind requires, in words.
fn plot_data_help(kind: PlotKind) -> String {
    let of = match kind {
        PlotKind::Line | PlotKind::Points => "vectors of numbers, `y`, or `x` and one or more `y`",
        PlotKind::Histogram => "a vector of numbers",
        PlotKind::Bars => "a vector of heights, or a vector of positions and a vector of heights",
        PlotKind::Heatmap => "a matrix of numbers",
        PlotKind::Image => "an array of numbers, `[h, w]` for grey or `[h, w, 3]` for colour",
        PlotKind::Spy => "a relation of two axes, or a matrix",
    };
    format!("{} from {of}", plot_kind_phrase(kind))
}

/// Returns words such as `a line is drawn`.
fn plot_kind_phrase(kind: PlotKind) -> String {
    let (noun, several) = kind.noun();
    format!("{noun} {} drawn", if several { "are" } else { "is" })
}

/// Returns words such as `one value, found 2`.
fn value_count_phrase(most: usize, there: usize) -> String {
    match most {
        1 => format!("one value, found {there}"),
        _ => format!("at most {most} values, found {there}"),
    }
}
