//! **Parser for heads**, types and callees.

use super::lexer::Token;
use super::parser::{Parser, Read};
use super::tree::{CalleeTree, GlobalTree, HeadTree, Mark, ParamTree, TypeNode, TypeTree};
use lang_base::Name;
use lang_ir::callee_text::PRELUDE;
use lang_ir::core::{Derivation, LocalRule, Rule};
use lang_syntax::ops::Scalar;

impl Parser<'_> {
    /// Parses a head up to its `=`.
    pub(super) fn head(&mut self, form: &str) -> Read<HeadTree> {
        let at = self.at();
        let opaque = form == "ssa" && self.takes_word("opaque");
        self.word(form)?;
        let start = self.next;
        let callee = self.callee()?;
        // A form always belongs to the module for which it is read.
        if callee.def.module.is_some() {
            self.next = start;
            return self.wanted("a name without a module");
        }
        self.sign("(")?;
        let params = self.list(")", Self::param)?;
        self.sign("->")?;
        let result = self.ty()?;
        self.sign("=")?;
        Ok(HeadTree { opaque, callee, params, result, at })
    }

    fn param(&mut self) -> Read<ParamTree> {
        let marked = matches!(self.ahead(1), Token::Name(_));
        let mut mark = match self.ahead(0) {
            Token::Name(word) if marked => match word.as_str() {
                "bounded" => Mark::Bounded,
                "data" => Mark::Data,
                "let" => Mark::Global(None),
                _ => return self.wanted("`bounded`, `data` or `let` before a name"),
            },
            _ => Mark::None,
        };
        self.next += usize::from(marked);
        let at = self.at();
        let name = self.name("a parameter")?;
        if let Mark::Global(global) = &mut mark
            && self.takes("=")
        {
            *global = Some(self.global()?);
        }
        self.sign(":")?;
        Ok(ParamTree { mark, name, ty: self.ty()?, at })
    }

    pub(super) fn ty(&mut self) -> Read<TypeTree> {
        self.deeper(Self::type_here)
    }

    fn type_here(&mut self) -> Read<TypeTree> {
        let at = self.at();
        let node = if self.takes("[") {
            let dims = self.list("]", Self::index)?;
            TypeNode::Array(dims, Box::new(self.ty()?))
        } else if self.takes("(") {
            TypeNode::Tuple(self.list(")", Self::ty)?)
        } else if self.takes("{") {
            TypeNode::Record(self.list("}", |p| {
                let name = p.name("a field")?;
                p.sign(":")?;
                Ok((name, p.ty()?))
            })?)
        } else {
            match (self.ahead(0), self.ahead(1)) {
                (Token::Name(word), Token::Sign("[")) if word == "rel" => {
                    self.next += 2;
                    TypeNode::Rel(self.list("]", Self::index)?)
                }
                (Token::Name(word), _) if Scalar::ALL.iter().any(|s| s.name() == word) => {
                    self.skip();
                    let scalar = Scalar::ALL.into_iter().find(|s| s.name() == word);
                    TypeNode::Scalar(scalar.unwrap_or(Scalar::F64))
                }
                (Token::Name(_) | Token::Quoted(_) | Token::Text(_), _) => {
                    let name = self.global()?;
                    if self.takes("{") {
                        let constructors = self.list("}", |p| {
                            let name = p.name("a constructor")?;
                            Ok((name, if p.takes("(") { p.list(")", Self::ty)? } else { Vec::new() }))
                        });
                        return Ok(TypeTree { node: TypeNode::Sum(name, constructors?), at });
                    }
                    let args = if self.takes("(") { self.list(")", Self::ty)? } else { Vec::new() };
                    TypeNode::Data(name, args)
                }
                _ => return self.wanted("a type"),
            }
        };
        Ok(TypeTree { node, at })
    }

    /// Parses `solve`, `linalg.solve`, `"path/of/file.iv".f`, `derivative f`.
    pub(super) fn global(&mut self) -> Read<GlobalTree> {
        // A number after the dot is a component of the named value.
        let qualified = matches!(self.ahead(1), Token::Sign(".")) && !matches!(self.ahead(2), Token::Int(_));
        let module = match self.ahead(0) {
            Token::Text(module) if qualified => Some(module.as_str()),
            Token::Name(module) if qualified => Some(if module == PRELUDE { "" } else { module }),
            _ => None,
        };
        if module.is_some() {
            self.next += 2;
        }
        let name = match (self.ahead(0), self.ahead(1)) {
            (Token::Quoted(name), _) => name.clone(),
            (Token::Name(word), Token::Name(name)) if word == "derivative" || word == "adjoint" => {
                self.skip();
                format!("{word} {name}")
            }
            (Token::Name(name), _) => name.clone(),
            _ => return self.wanted("a definition"),
        };
        self.skip();
        Ok(GlobalTree { module: module.map(Name::from), name: name.into() })
    }

    /// Parses a callee with its types and sizes.
    pub(super) fn callee(&mut self) -> Read<CalleeTree> {
        let mut def = self.global()?;
        let (mut rules, mut local) = (Vec::new(), None);
        while local.is_none() && self.takes("#") {
            let kind = match self.ahead(0) {
                Token::Name(word) => [Rule::Derivative, Rule::Adjoint].into_iter().find(|kind| kind.word() == word),
                _ => None,
            };
            if kind.is_some() {
                self.skip();
            }
            let number = self.number("the number of a function")?;
            match kind {
                Some(kind) => rules.push(LocalRule { local: number, kind }),
                None => local = Some(number),
            }
        }
        let mut derived = Vec::new();
        // The lexer joins the first suffix to the word before it.
        let mut ending = def.name.as_str();
        let mut own = true;
        loop {
            if let Token::Name(word) = self.ahead(0) {
                ending = word;
                own = false;
            }
            let adjoint = ending.ends_with("_adj");
            let after = self.ahead(usize::from(!own));
            let here = own || ending == "_adj" || ending == "_tan";
            if !here || !(adjoint || ending.ends_with("_tan")) || *after != Token::Sign("{") {
                break;
            }
            if own {
                let length = def.name.len() - "_adj".len();
                def.name = def.name.get(..length).unwrap_or_default().into();
            } else {
                self.skip();
            }
            self.sign("{")?;
            let first = self.numbers("the number of a part")?;
            derived.push(if adjoint {
                self.sign(";")?;
                Derivation::Adjoint { of: first.into(), wrt: self.numbers("the number of a part")?.into() }
            } else {
                Derivation::Forward(first.into())
            });
            self.sign("}")?;
            (ending, own) = ("", false);
        }
        self.sign("[")?;
        let (mut types, mut sizes) = (Vec::new(), Vec::new());
        if self.has_types() {
            while !self.takes(";") {
                if !types.is_empty() {
                    self.sign(",")?;
                }
                types.push(self.ty()?);
            }
        }
        sizes.extend(self.list("]", Self::index)?);
        Ok(CalleeTree { def, rules, local, derived, types, sizes })
    }

    /// Whether a `;` occurs before the closing partner of the bracket that was just opened.
    fn has_types(&self) -> bool {
        let Some(Some(close)) = self.tokens.partners.get(self.next - 1) else { return false };
        let mut k = self.next;
        while k < *close {
            match self.tokens.tokens.get(k) {
                Some((Token::Sign(";"), _)) => return true,
                Some((Token::Sign("(" | "[" | "{"), _)) => match self.tokens.partners.get(k) {
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
    pub(super) fn sees_call(&self) -> bool {
        let token = |k: usize| self.tokens.tokens.get(k).map_or(&Token::End, |t| &t.0);
        let mut k = self.next;
        if matches!(token(k), Token::Name(_) | Token::Text(_)) && *token(k + 1) == Token::Sign(".") {
            k += 2;
        }
        k += match (token(k), token(k + 1)) {
            (Token::Name(word), Token::Name(_)) if word == "derivative" || word == "adjoint" => 2,
            (Token::Name(_) | Token::Quoted(_), _) => 1,
            _ => return false,
        };
        if let (Token::Sign("#"), Token::Int(_)) = (token(k), token(k + 1)) {
            k += 2;
        }
        loop {
            let brace = match (token(k), token(k + 1)) {
                (Token::Sign("{"), _) => k,
                (Token::Name(word), Token::Sign("{")) if word == "_adj" || word == "_tan" => k + 1,
                _ => break,
            };
            let Some(Some(close)) = self.tokens.partners.get(brace) else { return false };
            k = close + 1;
        }
        match (token(k), self.tokens.partners.get(k)) {
            (Token::Sign("["), Some(Some(close))) => *token(close + 1) == Token::Sign("("),
            _ => false,
        }
    }
}
