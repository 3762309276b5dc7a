"""Plots Iverson's time over each peer's for each row, as docs/book/src/reference/speed.svg.

    python3 benches/plot.py
"""

import html
import json
import math
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
TO = HERE.parent / "docs" / "book" / "src" / "reference" / "speed.svg"

# The colour, the mark and the label of each peer.
PEERS = {
    "limit": ("#444444", "bar", "plain loop of rustc, or gemm"),
    "C++": ("#444444", "bar", "C++ by hand"),
    "C++ fast-math": ("#b07aa1", "diamond", "C++ by hand, -ffast-math"),
    "NumPy": ("#4e79a7", "circle", "NumPy"),
    "JAX": ("#e15759", "square", "JAX"),
}
LEFT, WIDTH, STEP, LEAST, MOST = 330, 520, 20, 0.02, 8


def along(ratio):
    place = math.log(min(max(ratio, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return LEFT + WIDTH * place


def mark(kind, colour, x, y):
    if kind == "bar":
        return f'<rect x="{x - 1.5:.1f}" y="{y - 7:.1f}" width="3" height="14" fill="{colour}"/>'
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
    if kind == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
    return f'<path d="M{x:.1f} {y - 6:.1f} l6 6 l-6 6 l-6 -6 z" fill="{colour}"/>'


def text(x, y, what, anchor="start", weight="normal"):
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-weight="{weight}">{html.escape(what)}</text>'


def rows():
    kernels = json.loads((HERE / "kernels" / "kernels.json").read_text())
    for row in kernels:
        at = " × ".join(f"{n:,}" for n in row["size"].values())
        yield "Kernels", f"{row['kernel']}, {at}", {peer: row["seconds"] / s for peer, s in row["peers"].items()}
    tasks = json.loads((HERE / "gradbench" / "gradbench.json").read_text())["rows"]
    for row in tasks:
        at = ", ".join(f"{name} = {n:,}" for name, n in row["size"].items() if row["task"] == "gmm" and name == "d")
        name = f"{row['task']} {row['function']}" + (f", {at}" if at else "")
        yield "GradBench", name, {peer: row["ns"] / ns for peer, ns in row["peers"].items()}


def main():
    parts, y, group = [], 60, None
    for of, name, ratios in rows():
        if of != group:
            group = of
            y += 14
            parts.append(text(10, y + 4, of, weight="bold"))
            y += STEP
        parts.append(f'<line x1="{LEFT}" y1="{y}" x2="{LEFT + WIDTH}" y2="{y}" stroke="#eeeeee"/>')
        parts.append(text(LEFT - 12, y + 4, name, "end"))
        for peer, ratio in ratios.items():
            colour, kind, _ = PEERS[peer]
            parts.append(mark(kind, colour, along(ratio), y))
        y += STEP
    grid = []
    for ratio in (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5):
        x = along(ratio)
        colour = "#222222" if ratio == 1 else "#dddddd"
        grid.append(f'<line x1="{x:.1f}" y1="56" x2="{x:.1f}" y2="{y}" stroke="{colour}"/>')
        grid.append(text(f"{x:.1f}", y + 16, f"{ratio:g}", "middle"))
    legend, x = [], 20
    for name in ("limit", "C++ fast-math", "NumPy", "JAX"):
        colour, kind, shown = PEERS[name]
        shown = "rustc's loop, gemm, or C++ by hand" if name == "limit" else shown
        legend += [mark(kind, colour, x, 20), text(x + 12, 24, shown)]
        x += 34 + 7 * len(shown)
    legend.append(text(LEFT + WIDTH / 2, 46, "Iverson's time over theirs: left of 1 it is faster", "middle"))
    size = f'width="{LEFT + WIDTH + 40}" height="{y + 30}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">'
    body = '<rect width="100%" height="100%" fill="white"/>'
    TO.write_text("\n".join([head, body, *legend, *grid, *parts, "</svg>"]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
