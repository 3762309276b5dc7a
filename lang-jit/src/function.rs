//! **Compilation of one kernel** in a module of its own: the function's signature, the functions
//! that it imports, and its finalisation. [`Generator`] emits the body.

use std::sync::Arc;

use cranelift_codegen::Context;
use cranelift_codegen::ir::{AbiParam, InstBuilder, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use lang_core::exec::native::KernelCode;
use lang_core::ir::ssa::SsaFunction;
use lang_core::nest::{Kernel, NestNode};

use crate::argument_layout::{is_written, places_with_memory};
use crate::code::{CompiledKernel, ExpectedPlace};
use crate::fused::has_fused;
use crate::generate::{EmitResult, Generator, RuntimeOps};
use crate::matrix_product::multiply;
use crate::runtime_calls::{apply, report_progress};
use crate::thread_pool::ThreadPool;

/// The maximal number of instructions of a kernel with code. The time of register allocation is
/// quadratic in it, and nothing can interrupt it. The longest of the examples has about 8,000.
const MAX_INSTRUCTIONS: usize = 40_000;

/// The maximal size in bytes of the stack frame of a kernel with code. Tiles of many functions may
/// fill it.
const MAX_FRAME: usize = 4 << 20;

/// A bound of the stack that the callees of a kernel use, in bytes.
const CALLEE_STACK: usize = 128 << 10;

/// Returns the function of a kernel as text.
pub(crate) fn kernel_text(isa: &OwnedTargetIsa, ssa: &SsaFunction, kernel: &Kernel) -> EmitResult<String> {
    let mut module = new_module(isa);
    let (context, _) = build_function(&mut module, ssa, kernel)?;
    Ok(context.func.display().to_string())
}

/// Compiles the function of a kernel. The error is the reason why it has no code.
pub(crate) fn compile_kernel(
    isa: &OwnedTargetIsa,
    pool: &Arc<ThreadPool>,
    ssa: &SsaFunction,
    kernel: &Kernel,
) -> EmitResult<Arc<dyn KernelCode>> {
    let mut module = new_module(isa);
    let (mut context, applied) = build_function(&mut module, ssa, kernel)?;
    if context.func.dfg.num_insts() > MAX_INSTRUCTIONS {
        return Err("the kernel has too many instructions".to_owned());
    }
    let slots = context.func.sized_stack_slots.values().map(|slot| slot.size as usize).sum::<usize>();
    // Each instruction has at most one register to spill.
    let frame = slots.saturating_add(context.func.dfg.num_insts().saturating_mul(16));
    if frame > MAX_FRAME {
        return Err("the stack frame of the kernel is too large".to_owned());
    }
    let said = |why: cranelift_module::ModuleError| why.to_string();
    let id = module.declare_anonymous_function(&context.func.signature).map_err(said)?;
    module.define_function(id, &mut context).map_err(said)?;
    if reports_progress(kernel) {
        let tell = declare_report(&mut module)?;
        let mut context = build_report(&mut module)?;
        module.define_function(tell, &mut context).map_err(said)?;
    }
    module.finalize_definitions().map_err(said)?;
    let address = module.get_finalized_function(id);
    let places = places_with_memory(kernel).map(|p| ExpectedPlace {
        scalar: p.scalar,
        is_written: is_written(p),
        axes: p.axes.iter().flatten().count(),
    });
    let places = places.collect();
    #[allow(unsafe_code, reason = "this is the function that was just made")]
    // SAFETY: the signature is that of a `KernelEntry` of `crate::code`, and the function reads its
    // arguments in the layout of `argument_words`.
    let native = unsafe {
        CompiledKernel::new(
            address,
            module,
            places,
            kernel.entry_integers.len(),
            frame + CALLEE_STACK,
            applied,
            Arc::clone(pool),
        )
    };
    Ok(Arc::new(native))
}

fn new_module(isa: &OwnedTargetIsa) -> JITModule {
    let mut builder = JITBuilder::with_isa(isa.clone(), default_libcall_names());
    builder.symbol("apply", apply as *const u8);
    builder.symbol("multiply", multiply as *const u8);
    builder.symbol("report_progress", report_progress as *const u8);
    JITModule::new(builder)
}

/// Returns whether an outermost loop runs in order.
fn reports_progress(kernel: &Kernel) -> bool {
    kernel.body.iter().any(|node| matches!(node, NestNode::Loop(of) if of.is_sequential))
}

/// Declares the function that a loop calls to report progress. It preserves all registers, so it
/// costs nothing on the path that does not call it.
fn declare_report(module: &mut JITModule) -> EmitResult<FuncId> {
    let mut signature = module.make_signature();
    signature.call_conv = CallConv::PreserveAll;
    signature.params.extend([AbiParam::new(types::I64); 3]);
    module.declare_function("tell", Linkage::Local, &signature).map_err(|why| why.to_string())
}

/// Builds the body of `tell`: a call of [`report_progress`].
fn build_report(module: &mut JITModule) -> EmitResult<Context> {
    let mut context = module.make_context();
    context.func.signature.call_conv = CallConv::PreserveAll;
    context.func.signature.params.extend([AbiParam::new(types::I64); 3]);
    let mut signature = module.make_signature();
    signature.params.extend([AbiParam::new(types::I64); 3]);
    let id = module.declare_function("report_progress", Linkage::Import, &signature).map_err(|why| why.to_string())?;
    let callee = module.declare_func_in_func(id, &mut context.func);
    let mut frontend = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut frontend);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    let arguments = builder.block_params(entry).to_vec();
    builder.ins().call(callee, &arguments);
    builder.ins().return_(&[]);
    builder.seal_all_blocks();
    builder.finalize(module.target_config());
    Ok(context)
}

/// Emits the code of a kernel. Returns it with the operations that it calls.
fn build_function(module: &mut JITModule, ssa: &SsaFunction, kernel: &Kernel) -> EmitResult<(Context, RuntimeOps)> {
    let mut context = module.make_context();
    let pointer = module.target_config().pointer_type();
    if pointer != types::I64 {
        return Err("the processor must have 64-bit addresses".to_owned());
    }
    context.func.signature.params.push(AbiParam::new(pointer));
    context.func.signature.returns.push(AbiParam::new(types::I32));
    let mut signature = module.make_signature();
    signature.params.extend([AbiParam::new(types::I64); 3]);
    signature.returns.push(AbiParam::new(types::I64));
    let id = module.declare_function("apply", Linkage::Import, &signature).map_err(|why| why.to_string())?;
    let apply = module.declare_func_in_func(id, &mut context.func);
    let mut signature = module.make_signature();
    signature.params.push(AbiParam::new(types::I64));
    signature.returns.push(AbiParam::new(types::I64));
    let id = module.declare_function("multiply", Linkage::Import, &signature).map_err(|why| why.to_string())?;
    let multiply = module.declare_func_in_func(id, &mut context.func);
    let tell = match reports_progress(kernel) {
        true => Some(declare_report(module).map(|id| module.declare_func_in_func(id, &mut context.func))?),
        false => None,
    };
    let mut frontend = FunctionBuilderContext::new();
    let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
    let mut generator = Generator::new(builder, ssa, kernel, [apply, multiply], has_fused(module.isa()))?;
    generator.report = tell;
    generator.emit_body()?;
    let operations = std::mem::take(&mut generator.operations);
    generator.builder.seal_all_blocks();
    generator.builder.finalize(module.target_config());
    Ok((context, operations))
}
