//! **Special forms.** The forms with typing rules of their own, the derivative operators, the
//! options of `plot` and `load`, the data formats, and the constants.

macro_rules! named {
    ($(#[$meta:meta])* $enum:ident { $($variant:ident $name:literal $doc:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $enum { $(#[doc = $doc] $variant),* }

        impl $enum {
            /// All variants, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns its name in the language.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// Returns its one-line documentation.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),* }
            }

            /// Returns the variant with this name, if one exists.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|x| x.name() == name)
            }
        }
    };
}

named! {
    /// A special form: call syntax, with a typing rule of its own.
    SpecialForm {
        Assert "assert" "assert(p, \"text\") is (); it fails with the text if p is false.",
        Error "error" "error(\"text\") has any type and fails with the text.",
        Dbg "dbg" "dbg(e) is e; it also prints e.",
        Par "par" "par(a, b) is (a, b); both may run in parallel.",
        Stop "stop" "stop(e) is e, a constant to every derivative.",
        Reshape "reshape" "reshape(x, n, m, …) has the elements of x in order, with new extents.",
        Relation "relation" "relation(idx, n, m) is the set of index tuples in the rows of idx.",
        Print "print" "print(e, …) writes values to the output; only at top level.",
        Time "time" "time(e) is e; it also prints the elapsed time; only at top level.",
        Load "load" "load(\"file\", option: e) is the value in a file; only at top level.",
        Save "save" "save(e, \"file\") writes a value to a file; only at top level.",
        Plot "plot" "plot(x, y, …, \"kind: label\", …, option: e) draws a plot; only at top level.",
        Deriv "deriv" "deriv(e, x) is the derivative of e with respect to the variable x: axes of e, then of x.",
    }
}

named! {
    /// A derivative operator on functions.
    DerivativeOp {
        Grad "grad" "grad(f)(a, b): the gradient of a real-valued f with respect to each argument; grad(f, wrt: a)(a, b): with respect to a only.",
        ValueAndGrad "value_and_grad" "value_and_grad(f)(a, b): the value and the gradient.",
        Jvp "jvp" "jvp(f)((a, b), (da, db)): the tangent of the result.",
        Jvp2 "jvp2" "jvp2(f)((a, b), (da, db)): the value and the tangent of the result.",
        Vjp "vjp" "vjp(f)((a, b), dc): the cotangents of the arguments.",
        Vjp2 "vjp2" "vjp2(f)((a, b), dc): the value and the cotangents of the arguments.",
        Jacobian "jacobian" "jacobian(f)(a, b): blocks of partial derivatives, output axes first.",
        Hessian "hessian" "hessian(f)(a, b): blocks of second derivatives of a real-valued f.",
        Hvp "hvp" "hvp(f)((a, b), (va, vb)): the Hessian of a real-valued f times a vector.",
    }
}

named! {
    /// A kind of plot, named by the text at the end of a group of data.
    PlotKind {
        Line "line" "y, or x and y, …: a line through the points in order.",
        Points "points" "y, or x and y, …: a mark for each point.",
        Histogram "histogram" "x: the number of values in each of several intervals of equal width.",
        Bars "bars" "y, or x and y: a bar from 0 to each y.",
        Heatmap "heatmap" "a matrix: a colour for each element, row 0 at the top.",
        Image "image" "[h, w] for grey, or [h, w, 3] for colour: reals from 0 to 1, integers from 0 to 255.",
        Spy "spy" "a relation of two axes, or a matrix: a dot for each member or nonzero element.",
    }
}

named! {
    /// A named argument of `plot`.
    PlotOption {
        Title "title" "The title above the plot.",
        Xlabel "xlabel" "The label of the horizontal axis.",
        Ylabel "ylabel" "The label of the vertical axis.",
        Xscale "xscale" "\"linear\" or \"log\".",
        Yscale "yscale" "\"linear\" or \"log\".",
        Bins "bins" "The number of intervals of a histogram.",
        Width "width" "In columns on a terminal; in pixels in a file.",
        Height "height" "In lines on a terminal; in pixels in a file.",
        File "file" "The file, .svg or .png, to write the plot to instead of showing it.",
    }
}

named! {
    /// A named argument of `load`, for tables.
    LoadOption {
        Separator "separator" "The cell separator: one character, or \" \" for any number of blanks.",
        Decimal "decimal" "The decimal point: \".\" or \",\".",
        Comment "comment" "The text that starts a comment; the rest of the line is ignored.",
        Missing "missing" "A word, or an array of words, for a missing value.",
        Header "header" "Whether the first row contains the column names.",
    }
}

named! {
    /// A format of data files, determined by the extension.
    DataFormat {
        Npy "npy" "One NumPy array.",
        Npz "npz" "Several named NumPy arrays.",
        Csv "csv" "A table.",
        Json "json" "Any value except functions.",
        Png "png" "An image.",
        Txt "txt" "A text table for people; it can only be written.",
    }
}

impl DataFormat {
    /// Returns the format of a file, by its extension.
    #[must_use]
    pub fn from_file_name(file: &str) -> Option<Self> {
        let name = file.rsplit(['/', '\\']).next()?;
        let (stem, end) = name.rsplit_once('.')?;
        if stem.is_empty() { None } else { Self::by_name(&end.to_ascii_lowercase()) }
    }
}

impl LoadOption {
    /// Checks whether a text is a valid value of the option.
    ///
    /// # Errors
    /// Returns the reason if the text is invalid.
    pub fn validate(self, text: &str) -> Result<(), String> {
        let mut all = text.chars();
        match self {
            Self::Separator => match (all.next(), all.next()) {
                (Some(c), None) if !c.is_alphanumeric() && !matches!(c, '"' | '\n' | '\r' | '\0' | '.' | '-' | '+') => {
                    Ok(())
                }
                _ => Err(format!("{text:?} is not a cell separator")),
            },
            Self::Decimal if !matches!(text, "." | ",") => Err(format!("{text:?} is not a decimal point")),
            Self::Comment if text.is_empty() || text.starts_with(['\n', '\r', '"']) => {
                Err(format!("{text:?} cannot start a comment"))
            }
            _ => Ok(()),
        }
    }
}

impl PlotKind {
    /// Returns the plot kind that a text names; some have a second name.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "scatter" => Some(Self::Points),
            "bar" => Some(Self::Bars),
            _ => Self::by_name(text),
        }
    }

    /// Returns the noun for messages, and whether it is plural.
    #[must_use]
    pub fn noun(self) -> (&'static str, bool) {
        match self {
            Self::Line => ("a line", false),
            Self::Points => ("points", true),
            Self::Histogram => ("a histogram", false),
            Self::Bars => ("bars", true),
            Self::Heatmap => ("a heat map", false),
            Self::Image => ("an image", false),
            Self::Spy => ("`spy`", false),
        }
    }

    /// Whether the kind fills the whole plot and excludes others beside it.
    #[must_use]
    pub fn is_exclusive(self) -> bool {
        matches!(self, Self::Heatmap | Self::Image | Self::Spy)
    }
}

/// The scales of an axis.
pub const AXIS_SCALES: [&str; 2] = ["linear", "log"];

named! {
    /// A constant of any real type, as its context requires.
    Const {
        Pi "pi" "The ratio of a circle's circumference to its diameter.",
        Inf "inf" "Positive infinity.",
        Nan "nan" "Not a number.",
    }
}
