"""Curves of convergence as inline SVG, for notebooks."""

from __future__ import annotations

import math
from collections.abc import Iterable

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 480, 200, 58, 34, 12


def _points(xs: Iterable[float], ys: Iterable[float]) -> list[tuple[float, float]]:
    """Pairs with a positive finite y, thinned to what the width can show."""
    pairs = [(float(x), math.log10(y)) for x, y in zip(xs, ys) if y > 0 and math.isfinite(y)]
    step = max(1, len(pairs) // WIDTH)
    return pairs[::step] + (pairs[-1:] if pairs and (len(pairs) - 1) % step else [])


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="{anchor}" fill="currentColor">{words}</text>'


def convergence(iterations: Iterable[float], residuals: Iterable[float], target: float | None = None,
                label: str = "residual") -> str:
    """Residuals over iterations, the vertical axis logarithmic; empty where there is nothing to show."""
    pairs = _points(iterations, residuals)
    if len(pairs) < 2:
        return ""
    levels = [y for _, y in pairs] + ([math.log10(target)] if target and target > 0 else [])
    low, high = math.floor(min(levels)), math.ceil(max(levels))
    high = max(high, low + 1)
    first, last = pairs[0][0], max(pairs[-1][0], pairs[0][0] + 1)

    def across(x: float) -> float:
        return LEFT + (x - first) / (last - first) * (WIDTH - LEFT - 12)

    def down(y: float) -> float:
        return TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" '
             f'aria-label="{label} over iterations">']
    for level in range(low, high + 1, max(1, (high - low) // 5)):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{down(level):.1f}" y2="{down(level):.1f}" '
                     'stroke="currentColor" stroke-opacity=".2"/>')
        parts.append(_text(LEFT - 6, down(level) + 4, f"1e{level}", "end"))
    if target and target > 0:
        y = down(math.log10(target))
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 12}" y1="{y:.1f}" y2="{y:.1f}" stroke="#c33" '
                     'stroke-dasharray="4 3"/>')
    line = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in pairs)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#27c" stroke-width="1.5"/>')
    parts.append(_text(LEFT, HEIGHT - 18, f"{first:.0f}", "middle"))
    parts.append(_text(WIDTH - 12, HEIGHT - 18, f"{last:.0f}", "end"))
    parts.append(_text((LEFT + WIDTH) / 2, HEIGHT - 4, f"{label} by iteration", "middle"))
    return "".join(parts) + "</svg>"
