"""Draws series over two logarithmic axes as an SVG file. Nothing is needed for that but text."""

import math
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 20, 40, 60
_COLOURS = ("#1b6ca8", "#c8553d", "#3d8361", "#7d5ba6")


def _scale(values, low_at, high_at):
    """A function from a value to its place, and the values that are marked: powers of ten, or all where few."""
    low, high = math.log10(min(values)), math.log10(max(values))
    if high - low < 1e-9:
        low, high = low - 0.5, high + 0.5
    marks = [10 ** power for power in range(math.floor(low), math.ceil(high) + 1) if low <= power <= high]
    if len(marks) < 2:
        marks = sorted({min(values), max(values)})
    return (lambda value: low_at + (math.log10(value) - low) / (high - low) * (high_at - low_at)), marks


def _number(value):
    if value >= 1e5:
        return f"2^{round(math.log2(value))}" if math.log2(value).is_integer() else f"{value:.0e}"
    return f"{value:g}" if value >= 1 else f"{value:.2g}"


def draw(title, x_title, y_title, series):
    """`series`: name and points (x, y), all above 0. The text of an SVG file."""
    points = [point for _, of_one in series for point in of_one]
    if not points:
        raise ValueError(f"nothing to draw in {title}")
    xs = sorted({x for x, _ in points})
    place_x, _ = _scale(xs, _LEFT, _WIDTH - _RIGHT)
    place_y, y_marks = _scale([y for _, y in points], _HEIGHT - _BOTTOM, _TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
           f'font-size="12"><title>{escape(title)}</title>',
           f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
           f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
           f'<path d="M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - _RIGHT}" fill="none" stroke="black"/>']
    for x in xs:
        out.append(f'<text x="{place_x(x):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{_number(x)}</text>')
    for y in y_marks:
        out.append(f'<path d="M{_LEFT} {place_y(y):.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>'
                   f'<text x="{_LEFT - 6}" y="{place_y(y) + 4:.1f}" text-anchor="end">{_number(y)}</text>')
    out.append(f'<text x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 20}" text-anchor="middle">{escape(x_title)}</text>')
    out.append(f'<text transform="translate(16 {_HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">'
               f'{escape(y_title)}</text>')
    for number, (name, of_one) in enumerate(series):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in sorted(of_one))
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{place_x(x):.1f}" cy="{place_y(y):.1f}" r="3" fill="{colour}"/>' for x, y in of_one]
        out.append(f'<text x="{_WIDTH - _RIGHT}" y="{_TOP + 14 * number}" text-anchor="end" fill="{colour}">'
                   f'{escape(name)}</text>')
    return "\n".join(out + ["</svg>", ""])
