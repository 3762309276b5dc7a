"""Plots Iverson's time over each peer's for each row, as docs/book/src/reference/speed.svg.

    python3 benches/plot.py
"""

import html
import json
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
PLOT_FILE = HERE.parent / "docs" / "book" / "src" / "reference" / "speed.svg"

# For each peer, the colour and shape of its mark, and its label.
PEERS = {
    "limit": ("#444444", "bar", "plain loop of rustc, or gemm"),
    "C++": ("#444444", "bar", "C++ by hand"),
    "C++ fast-math": ("#b07aa1", "diamond", "C++ by hand, -ffast-math"),
    "NumPy": ("#4e79a7", "circle", "NumPy"),
    "JAX": ("#e15759", "square", "JAX"),
}
LEFT, WIDTH, ROW_HEIGHT, MIN_RATIO, MAX_RATIO = 330, 520, 20, 0.02, 8


def x_position(ratio):
    """Returns the horizontal position of a ratio on a logarithmic axis, clamped to its ends."""
    fraction = math.log(min(max(ratio, MIN_RATIO), MAX_RATIO) / MIN_RATIO) / math.log(MAX_RATIO / MIN_RATIO)
    return LEFT + WIDTH * fraction


def mark_element(shape, colour, x, y):
    if shape == "bar":
        return f'<rect x="{x - 1.5:.1f}" y="{y - 7:.1f}" width="3" height="14" fill="{colour}"/>'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
    if shape == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y - 6:.1f} l6 6 l-6 6 l-6 -6 z" fill="{colour}"/>'


def text_element(x, y, content, anchor="start", weight="normal"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}">{html.escape(content)}</text>'


def read_rows():
    """Yields the group, the name and the ratio to each peer for each row of the tables."""
    kernels = json.loads((HERE / "kernels" / "kernels.json").read_text())
    for row in kernels:
        sizes = " × ".join(f"{n:,}" for n in row["size"].values())
        yield "Kernels", f"{row['kernel']}, {sizes}", {peer: row["seconds"] / s for peer, s in row["peers"].items()}
    tasks = json.loads((HERE / "gradbench" / "gradbench.json").read_text())["rows"]
    for row in tasks:
        # Only `gmm` has two rows of each function, which differ in d.
        dimension = f", d = {row['size']['d']:,}" if row["task"] == "gmm" else ""
        name = f"{row['task']} {row['function']}{dimension}"
        yield "GradBench", name, {peer: row["ns"] / ns for peer, ns in row["peers"].items()}


def main():
    parts, y, group = [], 60, None
    for row_group, name, ratios in read_rows():
        if row_group != group:
            group = row_group
            y += 14
            parts.append(text_element(10, y + 4, group, weight="bold"))
            y += ROW_HEIGHT
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#eeeeee"/>')
        parts.append(text_element(LEFT - 12, y + 4, name, "end"))
        for peer, ratio in ratios.items():
            colour, shape, _ = PEERS[peer]
            parts.append(mark_element(shape, colour, x_position(ratio), y))
        y += ROW_HEIGHT
    grid = []
    for ratio in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5):
        x = x_position(ratio)
        colour = "#222222" if ratio == 1 else "#dddddd"
        grid.append(f'<line x1="{x:.1f}" y1="56" x2="{x:.1f}" y2="{y}" stroke="{colour}"/>')
        grid.append(text_element(f"{x:.1f}", y + 16, f"{ratio:g}", "middle"))
    legend, x = [], 20
    for name in ("limit", "C++ fast-math", "NumPy", "JAX"):
        colour, shape, label = PEERS[name]
        label = "rustc's loop, gemm, or C++ by hand" if name == "limit" else label
        legend += [mark_element(shape, colour, x, 20), text_element(x + 12, 24, label)]
        x += 34 + 7 * len(label)
    legend.append(text_element(LEFT + WIDTH / 2, 46, "Iverson's time over theirs: left of 1 it is faster", "middle"))
    size = f'width="{LEFT + WIDTH + 40}" height="{y + 30}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    body = '<rect width="100%" height="100%" fill="white"/>'
    PLOT_FILE.write_text("\n".join([head, body, *legend, *grid, *parts, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
