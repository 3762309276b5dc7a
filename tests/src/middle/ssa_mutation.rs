//! **Mutations of Tensor SSA**: random changes that break an invariant, as a mistake of a pass
//! would. Tests count how many of them the verifier reports.

use std::sync::Arc;

use lang_core::ir::core::ScalarOp;
use lang_core::ir::region::{LoopArg, LoopResult, SsaLoop};
use lang_core::ir::ssa::{Rhs, SsaFunction, Statement, StmtId, TensorAccess, statement_index};
use lang_core::predicate::{Poly, Pred};
use lang_core::syntax::ops::Scalar;

use crate::random::Random;

/// A kind of mutation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mutation {
    /// An operand becomes a statement at or after its reader.
    ForwardRead,
    /// An operand becomes an earlier statement of another type or rank.
    OtherOperand,
    /// An access loses its last index.
    IndexDropped,
    /// An access gets one more index.
    IndexAdded,
    /// An index of an access exceeds its extent.
    IndexTooLarge,
    /// An index of an access is negative.
    IndexNegative,
    /// An index of an access is a variable without a range.
    IndexOutOfScope,
    /// A statement gets another scalar type.
    OtherScalar,
    /// An extent of a statement is one more.
    OtherExtent,
    /// A statement loses its last axis.
    AxisDropped,
    /// A guard becomes true.
    GuardDropped,
    /// A statement needs a check that does not exist.
    MissingCheck,
    /// A statement no longer needs its checks.
    ChecksDropped,
    /// An operation loses an operand.
    OperandDropped,
    /// An operation becomes one for other operands.
    OtherOperation,
    /// A statement disappears, and later ones move up without new numbers in their readers.
    StatementRemoved,
    /// An output becomes a statement of another type.
    OtherOutput,
    /// A statement reads an input of another type.
    OtherInput,
    /// A call reads a part of the result that does not exist, or has another type.
    OtherResult,
    /// A call or loop passes one size fewer.
    SizeDropped,
    /// A loop carries an input by an output of another type.
    OtherCarry,
    /// A statement reads another kind of result of a loop.
    OtherLoopResult,
}

impl Mutation {
    /// All kinds.
    pub const ALL: [Self; 22] = [
        Self::ForwardRead,
        Self::OtherOperand,
        Self::IndexDropped,
        Self::IndexAdded,
        Self::IndexTooLarge,
        Self::IndexNegative,
        Self::IndexOutOfScope,
        Self::OtherScalar,
        Self::OtherExtent,
        Self::AxisDropped,
        Self::GuardDropped,
        Self::MissingCheck,
        Self::ChecksDropped,
        Self::OperandDropped,
        Self::OtherOperation,
        Self::StatementRemoved,
        Self::OtherOutput,
        Self::OtherInput,
        Self::OtherResult,
        Self::SizeDropped,
        Self::OtherCarry,
        Self::OtherLoopResult,
    ];

    /// Returns a mutated function, or `None` if the statement at `position` offers no such change.
    pub fn apply(self, ssa: &SsaFunction, position: usize, random: &mut Random) -> Option<SsaFunction> {
        let mut changed = ssa.clone();
        // Half of the mutations of a loop change its body.
        if let Some(Statement { rhs: Rhs::Loop(of), .. }) = changed.stmts.get_mut(position)
            && random.once_in(2)
        {
            let of = Arc::make_mut(of);
            let inside = random.number_below(of.body.stmts.len());
            of.body = Arc::new(self.apply(&of.body, inside, random)?);
            return Some(changed);
        }
        let count = ssa.stmts.len();
        let shape = |v: StmtId| ssa.stmts.get(v.0 as usize).map(|s| (s.scalar, s.dims.len()));
        match self {
            Self::StatementRemoved => {
                changed.stmts.remove(position);
                return Some(changed);
            }
            Self::OtherOutput => {
                let at = random.number_below(ssa.outputs.len().max(1));
                let (leaf, var) = changed.outputs.get_mut(at)?;
                let own = (leaf.scalar, leaf.dims.len());
                *var = pick_statement(random, count, &|v| shape(v) != Some(own))?;
                return Some(changed);
            }
            _ => {}
        }
        let stmt = changed.stmts.get_mut(position)?;
        match self {
            Self::ForwardRead => {
                let var = StmtId(u32::try_from(position + random.number_below(count - position)).ok()?);
                change_access(stmt, random, &mut |a| a.var = var)?;
            }
            Self::OtherOperand => {
                let mut done = None;
                change_access(stmt, random, &mut |a| {
                    let own = shape(a.var);
                    if let Some(var) = pick_statement(&mut Random::new(position as u64), position, &|v| shape(v) != own)
                    {
                        a.var = var;
                        done = Some(());
                    }
                })?;
                done?;
            }
            Self::IndexDropped => change_indices(stmt, random, &mut |at, _| {
                at.pop();
            })?,
            Self::IndexAdded => change_access(stmt, random, &mut |a| a.at.push(Poly::default()))?,
            Self::IndexTooLarge | Self::IndexNegative | Self::IndexOutOfScope => {
                let mut done = None;
                change_indices(stmt, random, &mut |at, var| {
                    let k = position % at.len();
                    let extent = ssa.stmts.get(var.0 as usize).and_then(|s| s.dims.get(k)).cloned();
                    let (Some(p), Some(extent)) = (at.get_mut(k), extent) else { return };
                    *p = match self {
                        Self::IndexTooLarge => p.add(&extent),
                        Self::IndexNegative => p.neg().add_constant(-1),
                        _ => statement_index(900, &Poly::default()).value(),
                    };
                    done = Some(());
                })?;
                done?;
            }
            Self::OtherScalar => {
                stmt.scalar = Some(match stmt.scalar? {
                    Scalar::F64 => Scalar::F32,
                    Scalar::F32 => Scalar::F64,
                    Scalar::I64 => Scalar::Bool,
                    Scalar::Bool => Scalar::I64,
                });
            }
            Self::OtherExtent => {
                let k = random.number_below(stmt.dims.len().max(1));
                let n = stmt.dims.get_mut(k)?;
                *n = n.add_constant(1);
            }
            Self::AxisDropped => {
                stmt.dims.pop()?;
            }
            Self::GuardDropped => drop_guard(&mut stmt.rhs)?,
            Self::MissingCheck => stmt.needs.push(u32::try_from(ssa.checks.len()).ok()?),
            Self::ChecksDropped => {
                if stmt.needs.is_empty() {
                    return None;
                }
                stmt.needs.clear();
            }
            Self::OperandDropped => match &mut stmt.rhs {
                Rhs::Map { args, .. } | Rhs::Call { args, .. } => drop(args.pop()?),
                Rhs::Contract { factors, .. } if factors.len() == 1 => drop(factors.pop()?),
                Rhs::Loop(of) => {
                    let of = Arc::make_mut(of);
                    of.args.pop()?;
                }
                _ => return None,
            },
            Self::OtherOperation => {
                let Rhs::Map { operation, .. } = &mut stmt.rhs else { return None };
                *operation = if *operation == ScalarOp::Not { ScalarOp::Pow } else { ScalarOp::Not };
            }
            Self::OtherInput => {
                let Rhs::Input(k) = &mut stmt.rhs else { return None };
                let own = (stmt.scalar, stmt.dims.clone());
                let other = (0..).zip(&ssa.inputs).filter(|(_, i)| (i.leaf.scalar, &i.leaf.dims) != (own.0, &own.1));
                let all: Vec<u32> = other.map(|(k, _)| k).chain([u32::try_from(ssa.inputs.len()).ok()?]).collect();
                *k = *random.pick(&all)?;
            }
            Self::OtherResult => {
                let Rhs::CallResult(_, output) = &mut stmt.rhs else { return None };
                *output += 100;
            }
            Self::SizeDropped => match &mut stmt.rhs {
                Rhs::Call { sizes, .. } => drop(sizes.pop()?),
                Rhs::Loop(of) => {
                    let of: &mut SsaLoop = Arc::make_mut(of);
                    of.sizes.pop()?;
                }
                _ => return None,
            },
            Self::OtherCarry => {
                let Rhs::Loop(of) = &mut stmt.rhs else { return None };
                let of = Arc::make_mut(of);
                let outputs = &of.body.outputs;
                let mut done = None;
                for (arg, input) in of.args.iter_mut().zip(&of.body.inputs) {
                    let LoopArg::Carried { next, .. } = arg else { continue };
                    let own = (input.leaf.scalar, input.leaf.dims.len());
                    let other = (0..).zip(outputs).find(|(_, (leaf, _))| (leaf.scalar, leaf.dims.len()) != own);
                    *next = other.map_or(u32::try_from(outputs.len()).ok()?, |(k, _)| k);
                    done = Some(());
                    break;
                }
                done?;
            }
            Self::OtherLoopResult => {
                let Rhs::LoopResult(_, part) = &mut stmt.rhs else { return None };
                *part = match *part {
                    LoopResult::Final(k) => LoopResult::Checkpoint(k),
                    LoopResult::TripCount => LoopResult::Final(0),
                    LoopResult::PerIteration(_) | LoopResult::Checkpoint(_) => LoopResult::TripCount,
                };
            }
            Self::StatementRemoved | Self::OtherOutput => return None,
        }
        Some(changed)
    }
}

/// Picks a statement before `end` that satisfies the condition.
fn pick_statement(random: &mut Random, end: usize, good: &dyn Fn(StmtId) -> bool) -> Option<StmtId> {
    let all: Vec<StmtId> = (0..u32::try_from(end).ok()?).map(StmtId).filter(|v| good(*v)).collect();
    random.pick(&all).copied()
}

/// Changes one access of a statement.
fn change_access(stmt: &mut Statement, random: &mut Random, change: &mut dyn FnMut(&mut TensorAccess)) -> Option<()> {
    let mut count = 0;
    stmt.rhs.for_each_access(&mut |_| count += 1);
    let chosen = random.number_below(count.max(1));
    let mut at = 0;
    stmt.rhs = stmt.rhs.map(
        &mut |a| {
            let mut a = a.clone();
            if at == chosen {
                change(&mut a);
            }
            at += 1;
            a
        },
        &Poly::clone,
        &Pred::clone,
    );
    (count > 0).then_some(())
}

/// Changes the indices of one access that has some.
fn change_indices(
    stmt: &mut Statement,
    random: &mut Random,
    change: &mut dyn FnMut(&mut Vec<Poly>, StmtId),
) -> Option<()> {
    // Captured values of a loop may be read out of bounds, where the body does not use them.
    if matches!(stmt.rhs, Rhs::Loop(_)) {
        return None;
    }
    let mut done = None;
    change_access(stmt, random, &mut |a| {
        if !a.at.is_empty() {
            change(&mut a.at, a.var);
            done = Some(());
        }
    })?;
    done
}

/// Removes a guard of a statement.
fn drop_guard(rhs: &mut Rhs) -> Option<()> {
    let guard = match rhs {
        Rhs::Add(items) => items.iter_mut().map(|a| &mut a.pred).find(|p| !p.is_true())?,
        Rhs::Contract { pred, .. } | Rhs::Map { pred, .. } | Rhs::Update { pred, .. } => pred,
        Rhs::Reduce(r) => &mut r.filter,
        _ => return None,
    };
    if guard.is_true() {
        return None;
    }
    *guard = Pred::truth();
    Some(())
}
