//! **Parser for heads**, types and callees.

use super::lexer::FormToken;
use super::parser::{FormParser, ParseResult};
use super::tree::{CalleeTree, GlobalTree, HeadTree, ParamMark, ParamTree, TypeNode, TypeTree};
use lang_base::Name;
use lang_ir::callee_text::PRELUDE;
use lang_ir::core::{DerivativeKind, LocalFunctionRule, RuleKind};
use lang_syntax::ops::Scalar;

impl FormParser<'_> {
    /// Parses a head up to its `=`.
    pub(super) fn head(&mut self, form: &str) -> ParseResult<HeadTree> {
        let at = self.offset();
        let opaque = form == "ssa" && self.eat_word("opaque");
        self.expect_word(form)?;
        let start = self.next;
        let callee = self.callee()?;
        // A form always belongs to the module for which it is read.
        if callee.def.module.is_some() {
            self.next = start;
            return self.expected("a name without a module");
        }
        self.expect_symbol("(")?;
        let params = self.list(")", Self::param)?;
        self.expect_symbol("->")?;
        let result = self.ty()?;
        self.expect_symbol("=")?;
        Ok(HeadTree { opaque, callee, params, result, at })
    }

    fn param(&mut self) -> ParseResult<ParamTree> {
        let marked = matches!(self.peek(1), FormToken::Name(_));
        let mut mark = match self.peek(0) {
            FormToken::Name(word) if marked => match word.as_str() {
                "bounded" => ParamMark::Bounded,
                "data" => ParamMark::Data,
                "let" => ParamMark::Global(None),
                _ => return self.expected("`bounded`, `data` or `let` before a name"),
            },
            _ => ParamMark::None,
        };
        self.next += usize::from(marked);
        let at = self.offset();
        let name = self.name("a parameter")?;
        if let ParamMark::Global(global) = &mut mark
            && self.eat("=")
        {
            *global = Some(self.global()?);
        }
        self.expect_symbol(":")?;
        Ok(ParamTree { mark, name, ty: self.ty()?, at })
    }

    pub(super) fn ty(&mut self) -> ParseResult<TypeTree> {
        self.nested(Self::parse_type)
    }

    fn parse_type(&mut self) -> ParseResult<TypeTree> {
        let at = self.offset();
        let node = if self.eat("[") {
            let dims = self.list("]", Self::index)?;
            TypeNode::Array(dims, Box::new(self.ty()?))
        } else if self.eat("(") {
            TypeNode::Tuple(self.list(")", Self::ty)?)
        } else if self.eat("{") {
            TypeNode::Record(self.list("}", |p| {
                let name = p.name("a field")?;
                p.expect_symbol(":")?;
                Ok((name, p.ty()?))
            })?)
        } else {
            match (self.peek(0), self.peek(1)) {
                (FormToken::Name(word), FormToken::Symbol("[")) if word == "rel" => {
                    self.next += 2;
                    TypeNode::Rel(self.list("]", Self::index)?)
                }
                (FormToken::Name(word), _) if Scalar::ALL.iter().any(|s| s.name() == word) => {
                    self.advance();
                    let scalar = Scalar::ALL.into_iter().find(|s| s.name() == word);
                    TypeNode::Scalar(scalar.unwrap_or(Scalar::F64))
                }
                (FormToken::Name(_) | FormToken::Quoted(_) | FormToken::Text(_), _) => {
                    let name = self.global()?;
                    if self.eat("{") {
                        let constructors = self.list("}", |p| {
                            let name = p.name("a constructor")?;
                            Ok((name, if p.eat("(") { p.list(")", Self::ty)? } else { Vec::new() }))
                        });
                        return Ok(TypeTree { node: TypeNode::Sum(name, constructors?), at });
                    }
                    let args = if self.eat("(") { self.list(")", Self::ty)? } else { Vec::new() };
                    TypeNode::Data(name, args)
                }
                _ => return self.expected("a type"),
            }
        };
        Ok(TypeTree { node, at })
    }

    /// Parses `solve`, `linalg.solve`, `"path/of/file.iv".f`, `derivative f`.
    pub(super) fn global(&mut self) -> ParseResult<GlobalTree> {
        // A number after the dot is a component of the named value.
        let qualified = matches!(self.peek(1), FormToken::Symbol(".")) && !matches!(self.peek(2), FormToken::Int(_));
        let module = match self.peek(0) {
            FormToken::Text(module) if qualified => Some(module.as_str()),
            FormToken::Name(module) if qualified => Some(if module == PRELUDE { "" } else { module }),
            _ => None,
        };
        if module.is_some() {
            self.next += 2;
        }
        let name = match (self.peek(0), self.peek(1)) {
            (FormToken::Quoted(name), _) => name.clone(),
            (FormToken::Name(word), FormToken::Name(name)) if word == "derivative" || word == "adjoint" => {
                self.advance();
                format!("{word} {name}")
            }
            (FormToken::Name(name), _) => name.clone(),
            _ => return self.expected("a definition"),
        };
        self.advance();
        Ok(GlobalTree { module: module.map(Name::from), name: name.into() })
    }

    /// Parses a callee with its types and sizes.
    pub(super) fn callee(&mut self) -> ParseResult<CalleeTree> {
        let mut def = self.global()?;
        let (mut rules, mut local) = (Vec::new(), None);
        while local.is_none() && self.eat("#") {
            let kind = match self.peek(0) {
                FormToken::Name(word) => {
                    [RuleKind::Derivative, RuleKind::Adjoint].into_iter().find(|kind| kind.keyword() == word)
                }
                _ => None,
            };
            if kind.is_some() {
                self.advance();
            }
            let number = self.number("a function number")?;
            match kind {
                Some(kind) => rules.push(LocalFunctionRule { local: number, kind }),
                None => local = Some(number),
            }
        }
        let mut derived = Vec::new();
        // The lexer joins the first suffix to the word before it.
        let mut ending = def.name.as_str();
        let mut own = true;
        loop {
            if let FormToken::Name(word) = self.peek(0) {
                ending = word;
                own = false;
            }
            let adjoint = ending.ends_with("_adj");
            let after = self.peek(usize::from(!own));
            let here = own || ending == "_adj" || ending == "_tan";
            if !here || !(adjoint || ending.ends_with("_tan")) || *after != FormToken::Symbol("{") {
                break;
            }
            if own {
                let length = def.name.len() - "_adj".len();
                def.name = def.name.get(..length).unwrap_or_default().into();
            } else {
                self.advance();
            }
            self.expect_symbol("{")?;
            let first = self.numbers("a component number")?;
            derived.push(if adjoint {
                self.expect_symbol(";")?;
                DerivativeKind::Adjoint { outputs: first.into(), wrt: self.numbers("a component number")?.into() }
            } else {
                DerivativeKind::Forward(first.into())
            });
            self.expect_symbol("}")?;
            (ending, own) = ("", false);
        }
        self.expect_symbol("[")?;
        let (mut types, mut sizes) = (Vec::new(), Vec::new());
        if self.has_type_args() {
            while !self.eat(";") {
                if !types.is_empty() {
                    self.expect_symbol(",")?;
                }
                types.push(self.ty()?);
            }
        }
        sizes.extend(self.list("]", Self::index)?);
        Ok(CalleeTree { def, rules, local, derived, types, sizes })
    }

    /// Whether a `;` occurs before the closing partner of the bracket that was just opened.
    fn has_type_args(&self) -> bool {
        let Some(Some(close)) = self.tokens.partners.get(self.next - 1) else { return false };
        let mut k = self.next;
        while k < *close {
            match self.tokens.tokens.get(k) {
                Some((FormToken::Symbol(";"), _)) => return true,
                Some((FormToken::Symbol("(" | "[" | "{"), _)) => match self.tokens.partners.get(k) {
                    Some(Some(partner)) => k = *partner,
                    _ => return false,
                },
                _ => {}
            }
            k += 1;
        }
        false
    }

    /// Whether the next tokens form a callee with its brackets and arguments. Consumes nothing.
    pub(super) fn at_call(&self) -> bool {
        let token = |k: usize| self.tokens.tokens.get(k).map_or(&FormToken::End, |t| &t.0);
        let mut k = self.next;
        if matches!(token(k), FormToken::Name(_) | FormToken::Text(_)) && *token(k + 1) == FormToken::Symbol(".") {
            k += 2;
        }
        k += match (token(k), token(k + 1)) {
            (FormToken::Name(word), FormToken::Name(_)) if word == "derivative" || word == "adjoint" => 2,
            (FormToken::Name(_) | FormToken::Quoted(_), _) => 1,
            _ => return false,
        };
        if let (FormToken::Symbol("#"), FormToken::Int(_)) = (token(k), token(k + 1)) {
            k += 2;
        }
        loop {
            let brace = match (token(k), token(k + 1)) {
                (FormToken::Symbol("{"), _) => k,
                (FormToken::Name(word), FormToken::Symbol("{")) if word == "_adj" || word == "_tan" => k + 1,
                _ => break,
            };
            let Some(Some(close)) = self.tokens.partners.get(brace) else { return false };
            k = close + 1;
        }
        match (token(k), self.tokens.partners.get(k)) {
            (FormToken::Symbol("["), Some(Some(close))) => *token(close + 1) == FormToken::Symbol("("),
            _ => false,
        }
    }
}
