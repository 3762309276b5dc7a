//! `iverson doctor`: reports the features of this machine, and the backend that will be used.

use lang_jit::Jit;

use crate::cli::CommonOptions;
use crate::engine;
use crate::json;
use crate::out::{OutputWriter, Status};

/// Returns the processor features that affect how loops are compiled.
fn processor_features() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        vec![
            ("sse4.2", std::is_x86_feature_detected!("sse4.2")),
            ("avx", std::is_x86_feature_detected!("avx")),
            ("avx2", std::is_x86_feature_detected!("avx2")),
            ("fma", std::is_x86_feature_detected!("fma")),
            ("avx512f", std::is_x86_feature_detected!("avx512f")),
        ]
    }
    #[cfg(target_arch = "aarch64")]
    {
        vec![
            ("neon", std::arch::is_aarch64_feature_detected!("neon")),
            ("sve", std::arch::is_aarch64_feature_detected!("sve")),
        ]
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        Vec::new()
    }
}

/// A backend: its name, whether it is available, and why or why not.
type BackendStatus = (&'static str, bool, String);

fn backend_statuses(threads: usize) -> [BackendStatus; 3] {
    let cpu = match Jit::new(threads) {
        Ok(_) => (true, format!("machine code on {threads} thread{}", if threads == 1 { "" } else { "s" })),
        Err(why) => (false, format!("no machine code for this processor: {why}")),
    };
    [
        ("interp", true, "the reference interpreter, which runs every program".to_owned()),
        ("cpu", cpu.0, cpu.1),
        ("gpu", false, "not available yet".to_owned()),
    ]
}

pub(crate) fn run(common: &CommonOptions, out: OutputWriter) -> Status {
    let version = env!("CARGO_PKG_VERSION");
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let features = processor_features();
    let threads = engine::thread_count(common);
    let backends = backend_statuses(threads);
    let used = if backends.iter().any(|(name, there, _)| *name == "cpu" && *there) { "cpu" } else { "interp" };
    if out.is_json() {
        let features = features.iter().map(|(name, there)| (*name, there.to_string()));
        let backends = backends.iter().map(|(name, there, why)| {
            let fields = [("available", there.to_string()), ("why", json::string(why))];
            (*name, json::object(fields))
        });
        let document = json::object([
            ("version", json::string(version)),
            ("os", json::string(os)),
            ("arch", json::string(arch)),
            ("cores", cores.to_string()),
            ("features", json::object(features)),
            ("backends", json::object(backends)),
            ("threads", threads.to_string()),
            ("used", json::string(used)),
        ]);
        out.print(&format!("{document}\n"));
        return Status::Success;
    }
    let mut text = format!("iverson {version}\n\nmachine\n  system    {os} {arch}\n  cores     {cores}\n");
    let mark = |there: bool| if there { "yes" } else { "no" };
    for (name, there) in features {
        text += &format!("  {name:<9} {}\n", mark(there));
    }
    text += "\nbackends\n";
    for (name, there, why) in backends {
        text += &format!("  {name:<9} {:<4} {why}\n", mark(there));
    }
    text += match used {
        "cpu" => "\nFunctions, loops and derivatives run as machine code; the interpreter runs the rest.\n",
        _ => "\nThe interpreter runs programs; their generated derivatives run on whole arrays.\n",
    };
    out.print(&text);
    Status::Success
}
