//! **Scalar replacement.** Keeps elements in variables while a loop runs, although they have
//! memory: accumulators and loop-carried elements. Works around the register allocator in places
//! where it would spill them.

use std::collections::{BTreeSet, HashMap, HashSet};

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use lang_core::ir::ssa::{Access, Rhs, Var, at_indices};
use lang_core::nest::{Loop, Node, Set};
use lang_core::predicate::{Atom, LocalId, Poly, Pred};
use lang_core::syntax::ops::Scalar;

use crate::generate::{Generator, Made, mentions, stored, ty};

/// The variables that are read, each with its indices if all reads have the same.
pub(crate) type Read = HashMap<Var, Option<Vec<Poly>>>;

impl<'g> Generator<'g> {
    /// Returns a copy of the value that is computed at this point. A real is reloaded from memory
    /// as the bits of an integer, which the compiler does not recognise as the same value.
    pub(crate) fn here(&mut self, value: Value, scalar: Scalar) -> Value {
        let (Scalar::F64 | Scalar::F32) = scalar else { return value };
        let bits = if scalar == Scalar::F64 { types::I64 } else { types::I32 };
        let whole = self.builder.ins().bitcast(bits, MemFlagsData::new(), value);
        stored(&mut self.builder, whole, ty(scalar))
    }

    /// Moves the accumulators of a loop to new variables after it, if the kernel contains calls.
    /// Otherwise an accumulator that is spilled outside the loop would be spilled inside it too.
    pub(crate) fn settled(&mut self, of: &'g Loop) -> Made<()> {
        if !self.calls || self.around.is_empty() {
            return Ok(());
        }
        let mut vars: BTreeSet<Var> = BTreeSet::new();
        of.body.iter().for_each(|node| node.for_each_set(&mut |set| vars.extend([set.var])));
        for var in vars {
            let of = self.chosen_of(var);
            let registers = [(self.registers.get(&var), Some(self.scalar(var))), (self.best.get(&var), of)];
            for (register, scalar) in registers.map(|(register, scalar)| (register.copied(), scalar)) {
                if let (Some(register), Some(scalar)) = (register, scalar) {
                    let value = self.builder.use_var(register);
                    let value = self.here(value, scalar);
                    self.builder.def_var(register, value);
                }
            }
        }
        Ok(())
    }

    /// Loads into variables the elements at loop-invariant indices that the loop accumulates or
    /// carries. Returns them with their addresses.
    pub(crate) fn kept(&mut self, of: &'g Loop) -> Made<Vec<(Var, Value, Variable)>> {
        let (mut own, mut read, mut sets) = (HashSet::new(), Read::new(), HashMap::<Var, Vec<&Set>>::new());
        own.insert(of.index.local);
        of.body.iter().for_each(|node| self.seen(node, &mut own, &mut read, &mut sets));
        let mut vars: Vec<Var> = sets.keys().copied().collect();
        vars.sort_unstable();
        let mut kept = Vec::new();
        for var in vars {
            let Some(all) = sets.get(&var) else { continue };
            let [first, rest @ ..] = all.as_slice() else { continue };
            let fixed = !first.at.iter().any(|p| mentions(p, &own));
            let one = rest.iter().all(|set| set.at == first.at);
            let joined = all.iter().all(|set| set.join.is_some());
            let alone = match read.get(&var) {
                None => joined,
                Some(at) => at.as_ref() == Some(&first.at),
            };
            if !fixed || !one || !alone || self.registers.contains_key(&var) {
                continue;
            }
            // The element must exist even if the loop runs no iteration.
            let place = self.place(var)?;
            let axes = place.axes.iter().zip(&first.at);
            let inside = axes.filter_map(|(n, p)| Some(Pred::inside(p, n.as_ref()?)));
            if !inside.clone().all(|p| self.context.implies(&p)) {
                continue;
            }
            let address = self.address(var, &first.at)?;
            let scalar = self.scalar(var);
            let before = self.builder.ins().load(ty(scalar), MemFlagsData::trusted(), address, 0);
            let register = self.builder.declare_var(ty(scalar));
            self.builder.def_var(register, before);
            self.registers.insert(var, register);
            kept.push((var, address, register));
        }
        Ok(kept)
    }

    pub(crate) fn give_back(&mut self, kept: Vec<(Var, Value, Variable)>) -> Made<()> {
        for (var, address, register) in kept {
            let value = self.builder.use_var(register);
            self.builder.ins().store(MemFlagsData::trusted(), value, address, 0);
            self.registers.remove(&var);
        }
        Ok(())
    }

    /// Collects the sets and reads of a node; a clear counts as a read at unknown indices.
    fn seen(&self, node: &'g Node, own: &mut HashSet<LocalId>, read: &mut Read, sets: &mut HashMap<Var, Vec<&'g Set>>) {
        match node {
            Node::Loop(Loop { index, from, to, goes_on, body, .. }) => {
                own.insert(index.local);
                from.iter().chain(to).for_each(|p| self.read_in(p, read));
                goes_on.iter().for_each(|of| self.read_at(of, read));
                body.iter().for_each(|node| self.seen(node, own, read, sets));
            }
            Node::Told { index, value, body } => {
                own.insert(index.local);
                self.read_in(value, read);
                body.iter().for_each(|node| self.seen(node, own, read, sets));
            }
            Node::If(p, body) => {
                self.read_by(p, read);
                body.iter().for_each(|node| self.seen(node, own, read, sets));
            }
            Node::Product(of) => {
                own.extend(of.along.iter().map(|index| index.local));
                read.insert(of.var, None);
                of.factors.iter().for_each(|f| {
                    self.read_at(f, read);
                    read.insert(f.var, None);
                });
                of.body.iter().for_each(|node| self.seen(node, own, read, sets));
            }
            Node::Clear(var, ..) => drop(read.insert(*var, None)),
            Node::Set(set) => {
                sets.entry(set.var).or_default().push(set);
                set.rhs.for_each_access(&mut |a| self.read_at(a, read));
                set.rhs.for_each_pred(&mut |p| self.read_by(p, read));
                set.rhs.for_each_poly(&mut |p| self.read_in(p, read));
            }
        }
    }

    pub(crate) fn read_at(&self, of: &Access, read: &mut Read) {
        of.at.iter().for_each(|p| self.read_in(p, read));
        match self.written(of.var) {
            Some(Rhs::Index(p)) => self.read_in(&at_indices(p, &of.at), read),
            Some(_) => {}
            None => {
                let at = read.entry(of.var).or_insert_with(|| Some(of.at.clone()));
                if at.as_ref() != Some(&of.at) {
                    *at = None;
                }
            }
        }
    }

    pub(crate) fn read_in(&self, p: &Poly, read: &mut Read) {
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a
                && let Some(var) = Var::of_local(*x)
            {
                self.read_at(&Access { var, at: at.to_vec() }, read);
            }
        });
    }

    pub(crate) fn read_by(&self, p: &Pred, read: &mut Read) {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| self.read_by(p, read)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.read_in(p, read),
            Pred::Is(x, _, at, _) | Pred::Member(x, _, at, _) => {
                if let Some(var) = Var::of_local(*x) {
                    self.read_at(&Access { var, at: at.to_vec() }, read);
                }
            }
            Pred::Any(_, body, _) => self.read_by(body, read),
        }
    }
}
