//! The words and symbols of the language, one table each: the lexer, the parser, the formatter
//! and the editors' keyword lists read them.

macro_rules! vocabulary {
    ($(#[$meta:meta])* $enum:ident { $($variant:ident $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $enum { $(#[doc = concat!("`", $text, "`")] $variant),* }

        impl $enum {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its ASCII spelling.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            /// The one so spelled.
            #[must_use]
            pub fn from_text(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.text())
            }
        }
    };
}

vocabulary! {
    /// Reserved words. As a field name each may still be used.
    Word {
        Def "def", Type "type", Import "import", Let "let", Do "do", In "in", For "for", If "if", Then "then",
        Else "else", Match "match", Fold "fold", Scan "scan", Loop "loop", While "while", With "with",
        Yield "yield", Checkpoint "checkpoint", By "by", True "true", False "false", Where "where", As "as",
    }
}

vocabulary! {
    /// Operators, brackets and other marks.
    Sym {
        LParen "(", RParen ")", LBracket "[", RBracket "]", LBrace "{", RBrace "}",
        Comma ",", Semi ";", Colon ":", Dot ".", DotDot "..", Assign "=", PlusAssign "+=", Arrow "->",
        Backslash "\\", Question "?", Underscore "_", Bar "|", Pipe "|>", Or "||", And "&&", Bang "!",
        Eq "==", Ne "!=", Lt "<", Le "<=", Gt ">", Ge ">=", Plus "+", Minus "-", Star "*", Slash "/",
        FloorDiv "//", Percent "%", Caret "^",
    }
}

impl Sym {
    /// The bracket that closes this one.
    #[must_use]
    pub fn closer(self) -> Option<Self> {
        match self {
            Self::LParen => Some(Self::RParen),
            Self::LBracket => Some(Self::RBracket),
            Self::LBrace => Some(Self::RBrace),
            _ => None,
        }
    }

    /// Does it close a bracket?
    #[must_use]
    pub fn is_closer(self) -> bool {
        matches!(self, Self::RParen | Self::RBracket | Self::RBrace)
    }
}
