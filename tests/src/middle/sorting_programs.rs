//! **Sorting and filtering** in drawn programs. Sorts rows, records and integers, also inside
//! binders and loops.

use super::programs::MiddleProgramGenerator;

impl MiddleProgramGenerator {
    /// Draws a real that depends on an order.
    pub(super) fn ordered(&mut self, d: usize) -> String {
        let extent = self.random.pick_or(&['n', 'm'], 'n');
        let (v, w, z) = (self.name("v"), self.name("v"), self.name("z"));
        let row = self.row(extent, d.min(1));
        match self.random.number_below(9) {
            0 => format!("([0 < {extent}] * sort({row})[{extent} // 2])"),
            1 => self.over(extent, |g, i| {
                let times = g.leaf();
                format!("(let {v} = sort({row}) in sum {i} < {extent}: {v}[{i}] * {times})")
            }),
            2 => {
                let other = self.row(extent, d.min(1));
                self.over(extent, |_, i| {
                    format!(
                        "(let ({v}, {w}) = (argsort({row}), {other}) in sum {i} < {extent}: {w}[{v}[{i}]] * f64({i}))"
                    )
                })
            }
            3 => self.over('m', |g, i| {
                let times = g.leaf();
                format!("(let {v} = argsort(k) in sum {i} < m: y[{v}[{i}]] * {times} * f64({i}))")
            }),
            4 => self.over('m', |_, i| format!("(let {v} = sort(k) in sum {i} < m: 0.5 * f64({v}[{i}] * {i}))")),
            5 => {
                let j = self.name("i");
                format!("(let [{z}] {v} = filter(\\{w}: {w}.0 > s, q) in sum {j} < {z}: {v}[{j}].1 * f64({j}))")
            }
            6 => {
                let j = self.name("i");
                format!("(let [{z}] {v} = filter(\\{w}: {w} > 0, k) in sum {j} < {z}: 0.5 * f64({v}[{j}]))")
            }
            _ => {
                let (test, j) = (self.test(&w), self.name("i"));
                let first = self.random.once_in(4);
                if first {
                    return format!("(let [{z}] {v} = filter(\\{w}: {test}, {row}) in [0 < {z}] * {v}[0])");
                }
                let times = self.leaf();
                format!(
                    "(let [{z}] {v} = filter(\\{w}: {test}, {row}) in f64({z}) + (sum {j} < {z}: {v}[{j}] * {v}[{z} - 1 - {j}] * {times}))"
                )
            }
        }
    }

    /// Draws a condition on a real.
    fn test(&mut self, of: &str) -> String {
        let with = self.leaf();
        let all = [format!("{of} > 0.0"), format!("{of} <= {with}"), format!("{of} * {of} < 1.5")];
        self.random.pick(&all).cloned().unwrap_or_default()
    }

    /// Draws a sorted or permuted row.
    pub(super) fn ordered_row(&mut self, extent: char, d: usize) -> String {
        let (v, w, row) = (self.name("v"), self.name("v"), self.row(extent, d));
        if self.random.once_in(2) {
            return format!("sort({row})");
        }
        let other = self.row(extent, d.min(1));
        self.over(extent, |_, i| {
            format!("(let ({v}, {w}) = (argsort({row}), {other}) in for {i} < {extent}: {w}[{v}[{i}]])")
        })
    }
}
