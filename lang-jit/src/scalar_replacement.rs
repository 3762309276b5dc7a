//! **Scalar replacement.** Keeps elements in variables while a loop runs, although they have
//! memory: accumulators and loop-carried elements. Works around the register allocator in places
//! where it would spill them.

use std::collections::{BTreeSet, HashMap, HashSet};

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use cranelift_frontend::Variable;
use lang_core::ir::ssa::{Rhs, StmtId, TensorAccess, substitute_indices};
use lang_core::nest::{Assignment, NestLoop, NestNode};
use lang_core::predicate::{Atom, LocalId, Poly, Pred};
use lang_core::syntax::ops::Scalar;

use crate::generate::{EmitResult, Generator, clif_type, mentions, spill_and_reload};

/// The variables that are read, each with its indices if all reads have the same.
pub(crate) type ReadAccesses = HashMap<StmtId, Option<Vec<Poly>>>;

impl<'g> Generator<'g> {
    /// Returns a copy of the value that is computed at this point. A real is reloaded from memory
    /// as the bits of an integer, which the compiler does not recognise as the same value.
    pub(crate) fn pin_value(&mut self, value: Value, scalar: Scalar) -> Value {
        let (Scalar::F64 | Scalar::F32) = scalar else { return value };
        let bits = if scalar == Scalar::F64 { types::I64 } else { types::I32 };
        let whole = self.builder.ins().bitcast(bits, MemFlagsData::new(), value);
        spill_and_reload(&mut self.builder, whole, clif_type(scalar))
    }

    /// Moves the accumulators of a loop to new variables after it, if the kernel contains calls.
    /// Otherwise an accumulator that is spilled outside the loop would be spilled inside it too.
    pub(crate) fn move_accumulators(&mut self, of: &'g NestLoop) -> EmitResult<()> {
        if !self.has_calls || self.enclosing_loops.is_empty() {
            return Ok(());
        }
        let mut vars: BTreeSet<StmtId> = BTreeSet::new();
        of.body.iter().for_each(|node| node.for_each_assignment(&mut |set| vars.extend([set.var])));
        for var in vars {
            let of = self.extreme_type(var);
            let registers = [(self.registers.get(&var), Some(self.scalar(var))), (self.best_terms.get(&var), of)];
            for (register, scalar) in registers.map(|(register, scalar)| (register.copied(), scalar)) {
                if let (Some(register), Some(scalar)) = (register, scalar) {
                    let value = self.builder.use_var(register);
                    let value = self.pin_value(value, scalar);
                    self.builder.def_var(register, value);
                }
            }
        }
        Ok(())
    }

    /// Loads into variables the elements at loop-invariant indices that the loop accumulates or
    /// carries. Returns them with their addresses.
    pub(crate) fn load_elements(&mut self, of: &'g NestLoop) -> EmitResult<Vec<(StmtId, Value, Variable)>> {
        let (mut own, mut read, mut sets) =
            (HashSet::new(), ReadAccesses::new(), HashMap::<StmtId, Vec<&Assignment>>::new());
        own.insert(of.index.local);
        of.body.iter().for_each(|node| self.collect_node(node, &mut own, &mut read, &mut sets));
        let mut vars: Vec<StmtId> = sets.keys().copied().collect();
        vars.sort_unstable();
        let mut kept = Vec::new();
        for var in vars {
            let Some(all) = sets.get(&var) else { continue };
            let [first, rest @ ..] = all.as_slice() else { continue };
            let fixed = !first.at.iter().any(|p| mentions(p, &own));
            let one = rest.iter().all(|set| set.at == first.at);
            let joined = all.iter().all(|set| set.accumulate.is_some());
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
            let inside = axes.filter_map(|(n, p)| Some(Pred::in_range(p, n.as_ref()?)));
            if !inside.clone().all(|p| self.context.implies(&p)) {
                continue;
            }
            let address = self.address(var, &first.at)?;
            let scalar = self.scalar(var);
            let before = self.builder.ins().load(clif_type(scalar), MemFlagsData::trusted(), address, 0);
            let register = self.builder.declare_var(clif_type(scalar));
            self.builder.def_var(register, before);
            self.registers.insert(var, register);
            kept.push((var, address, register));
        }
        Ok(kept)
    }

    pub(crate) fn store_elements(&mut self, kept: Vec<(StmtId, Value, Variable)>) -> EmitResult<()> {
        for (var, address, register) in kept {
            let value = self.builder.use_var(register);
            self.builder.ins().store(MemFlagsData::trusted(), value, address, 0);
            self.registers.remove(&var);
        }
        Ok(())
    }

    /// Collects the sets and reads of a node; a clear counts as a read at unknown indices.
    fn collect_node(
        &self,
        node: &'g NestNode,
        own: &mut HashSet<LocalId>,
        read: &mut ReadAccesses,
        sets: &mut HashMap<StmtId, Vec<&'g Assignment>>,
    ) {
        match node {
            NestNode::Loop(NestLoop {
                index,
                lower_bounds: from,
                upper_bounds: to,
                while_condition: goes_on,
                body,
                ..
            }) => {
                own.insert(index.local);
                from.iter().chain(to).for_each(|p| self.collect_poly(p, read));
                goes_on.iter().for_each(|of| self.collect_access(of, read));
                body.iter().for_each(|node| self.collect_node(node, own, read, sets));
            }
            NestNode::Let { index, value, body } => {
                own.insert(index.local);
                self.collect_poly(value, read);
                body.iter().for_each(|node| self.collect_node(node, own, read, sets));
            }
            NestNode::If(p, body) => {
                self.collect_pred(p, read);
                body.iter().for_each(|node| self.collect_node(node, own, read, sets));
            }
            NestNode::MatrixProduct(of) => {
                own.extend(of.indices.iter().map(|index| index.local));
                read.insert(of.var, None);
                of.factors.iter().for_each(|f| {
                    self.collect_access(f, read);
                    read.insert(f.var, None);
                });
                of.fallback_loops.iter().for_each(|node| self.collect_node(node, own, read, sets));
            }
            NestNode::Fill(var, ..) => drop(read.insert(*var, None)),
            NestNode::Assign(set) => {
                sets.entry(set.var).or_default().push(set);
                set.rhs.for_each_access(&mut |a| self.collect_access(a, read));
                set.rhs.for_each_pred(&mut |p| self.collect_pred(p, read));
                set.rhs.for_each_poly(&mut |p| self.collect_poly(p, read));
            }
        }
    }

    pub(crate) fn collect_access(&self, of: &TensorAccess, read: &mut ReadAccesses) {
        of.at.iter().for_each(|p| self.collect_poly(p, read));
        match self.inlined_rhs(of.var) {
            Some(Rhs::Index(p)) => self.collect_poly(&substitute_indices(p, &of.at), read),
            Some(_) => {}
            None => {
                let at = read.entry(of.var).or_insert_with(|| Some(of.at.clone()));
                if at.as_ref() != Some(&of.at) {
                    *at = None;
                }
            }
        }
    }

    pub(crate) fn collect_poly(&self, p: &Poly, read: &mut ReadAccesses) {
        p.for_each_atom(&mut |a| {
            if let Atom::Read(x, _, at) = a
                && let Some(var) = StmtId::from_local(*x)
            {
                self.collect_access(&TensorAccess { var, at: at.to_vec() }, read);
            }
        });
    }

    pub(crate) fn collect_pred(&self, p: &Pred, read: &mut ReadAccesses) {
        match p {
            Pred::And(items) | Pred::Or(items) => items.iter().for_each(|p| self.collect_pred(p, read)),
            Pred::Ge(p) | Pred::Eq(p) | Pred::Ne(p) => self.collect_poly(p, read),
            Pred::Element(x, _, at, _) | Pred::Member(x, _, at, _) => {
                if let Some(var) = StmtId::from_local(*x) {
                    self.collect_access(&TensorAccess { var, at: at.to_vec() }, read);
                }
            }
            Pred::Exists(_, body, _) => self.collect_pred(body, read),
        }
    }
}
