//! **Keywords and symbols.** One table of each. The lexer, the parser, the formatter and the
//! editors' keyword lists read these tables.

macro_rules! vocabulary {
    ($(#[$meta:meta])* $enum:ident { $($variant:ident $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $enum { $(#[doc = concat!("`", $text, "`")] $variant),* }

        impl $enum {
            /// All variants, in order of declaration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the ASCII spelling.
            #[must_use]
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text),* }
            }

            /// Returns the variant with this spelling, if one exists.
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
    /// The reserved words. Each may still be used as a field name.
    Word {
        Def "def", Type "type", Import "import", Let "let", Do "do", In "in", For "for", If "if", Then "then",
        Else "else", Match "match", Fold "fold", Scan "scan", Loop "loop", While "while", With "with",
        Yield "yield", Checkpoint "checkpoint", By "by", True "true", False "false", Where "where", As "as",
    }
}

vocabulary! {
    /// Operators, brackets and punctuation.
    Sym {
        LParen "(", RParen ")", LBracket "[", RBracket "]", LBrace "{", RBrace "}",
        Comma ",", Semi ";", Colon ":", Dot ".", DotDot "..", Assign "=", PlusAssign "+=", Arrow "->",
        Backslash "\\", Question "?", Underscore "_", Bar "|", Pipe "|>", Or "||", And "&&", Bang "!",
        Eq "==", Ne "!=", Lt "<", Le "<=", Gt ">", Ge ">=", Plus "+", Minus "-", Star "*", Slash "/",
        FloorDiv "//", Percent "%", Caret "^",
    }
}

impl Sym {
    /// Returns the closing bracket that matches this opening one.
    #[must_use]
    pub fn closer(self) -> Option<Self> {
        match self {
            Self::LParen => Some(Self::RParen),
            Self::LBracket => Some(Self::RBracket),
            Self::LBrace => Some(Self::RBrace),
            _ => None,
        }
    }

    /// Whether it is a closing bracket.
    #[must_use]
    pub fn is_closer(self) -> bool {
        matches!(self, Self::RParen | Self::RBracket | Self::RBrace)
    }
}
