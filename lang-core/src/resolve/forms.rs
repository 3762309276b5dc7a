//! Forms with typing rules of their own, and the constants.

macro_rules! named {
    ($(#[$meta:meta])* $enum:ident { $($variant:ident $name:literal $doc:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $enum { $(#[doc = $doc] $variant),* }

        impl $enum {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name in the language.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// What it does, in a line.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),* }
            }

            /// The one of that name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|x| x.name() == name)
            }
        }
    };
}

named! {
    /// A form: looks like a call, has a typing rule of its own.
    Form {
        Assert "assert" "assert(p, \"text\") is (); fails with the text where p is false.",
        Error "error" "error(\"text\") has any type and fails with the text.",
        Dbg "dbg" "dbg(e) is e, and shows it.",
        Par "par" "par(a, b) is (a, b); both may be computed at once.",
        Stop "stop" "stop(e) is e, a constant to every derivative.",
        Reshape "reshape" "reshape(x, n, m, …) has the elements of x in order, in other extents.",
        Relation "relation" "relation(idx, n, m) is the set of the index tuples in the rows of idx.",
        Print "print" "print(e, …) writes values to the output; only at top level.",
        Time "time" "time(e) is e, and shows how long it took; only at top level.",
        Load "load" "load(\"file\") is the value in a file; only at top level.",
        Save "save" "save(e, \"file\") writes a value to a file; only at top level.",
        Plot "plot" "plot(e, …) draws; only at top level.",
        Deriv "deriv" "deriv(e, x) is the derivative of e by the variable x: axes of e, then of x.",
    }
}

named! {
    /// A derivative operator on functions.
    Derivative {
        Grad "grad" "grad(f)(a, b): the gradient of a real-valued f in each argument.",
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
    /// A constant, of whatever real type its context wants.
    Const {
        Pi "pi" "The circle constant.",
        Inf "inf" "Positive infinity.",
        Nan "nan" "Not a number.",
    }
}
