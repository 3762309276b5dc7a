//! The priority of threads whose work can wait.

/// Schedules this thread below others, as far as `nice` says, from 1 to 19. Linux alone does so for one thread; elsewhere
/// nothing happens.
pub fn lower_priority(niceness: i32) {
    #[cfg(target_os = "linux")]
    if niceness > 0 {
        // Where it is refused, the thread runs as before.
        let _ = rustix::process::nice(niceness);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = niceness;
}
