//! **Builtin functions.** Library functions implemented in Rust. Each has its signature as a line
//! of Iverson, which the ordinary front end parses and checks. The rest of the prelude is
//! `std/prelude.iv`.

macro_rules! builtins {
    ($($variant:ident $signature:literal $doc:literal),* $(,)?) => {
        /// A builtin function.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Builtin { $(#[doc = $doc] $variant),* }

        impl Builtin {
            /// All builtin functions.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns its signature as an Iverson `def` without `= body`.
            #[must_use]
            pub fn signature(self) -> &'static str {
                match self { $(Self::$variant => $signature),* }
            }

            /// Returns its documentation.
            #[must_use]
            pub fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),* }
            }
        }
    };
}

builtins! {
    Len "def len(x: [n]a) -> i64"
        "The number of elements along the first axis.",
    Sort "def sort(x: [n]a) -> [n]a where a: num"
        "The elements in ascending order; NaN comes last.",
    Argsort "def argsort(x: [n]a) -> [n]i64 where a: num"
        "The indices that sort x; equal elements keep their order, NaN comes last.",
    Filter "def filter(p: (a) -> bool, x: [n]a) -> [?k]a"
        "The elements for which p holds, in order.",
}

impl Builtin {
    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.signature().strip_prefix("def ").and_then(|s| s.split('(').next()).unwrap_or_default()
    }

    /// Returns the builtin with this name, if one exists.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|b| b.name() == name)
    }
}
