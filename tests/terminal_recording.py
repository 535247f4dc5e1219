#!/usr/bin/env python3
"""Records what a command shows in a terminal of that width, through tmux, as a picture in SVG.

    tests/terminal_recording.py [--frames FOLDER] COLUMNS FILE.svg 'regtune replay tests/data/h200/decay_wide.json'

The picture holds the whole scroll-back as text, in the terminal's colours. --frames also keeps each screen that was
seen on the way, as text, one file each: the live lines of progress. The program is found on the PATH.
Exit code 0: recorded; 77: there is no tmux here.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from xml.sax.saxutils import escape

SKIPPED = 77
ROWS = 50
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 12  # of a letter of 14 pixels
BACKGROUND, FOREGROUND = "#1b1f24", "#d5dae0"
COLOURS = {30: "#5c6370", 31: "#f07178", 32: "#8ccf7e", 33: "#e5c76b", 34: "#67b0e8", 35: "#c47fd5", 36: "#6cbfbf",
           37: "#d5dae0", 90: "#7d8590"}


class Terminal:
    """A tmux server of its own, with one window."""

    def __init__(self, columns, folder):
        self._tmux = ["tmux", "-u", "-f", "/dev/null", "-S", str(pathlib.Path(folder) / "socket")]
        self._columns = columns

    def start(self, command, done):
        # As a user's terminal: the prompt's line first, and a file once all has been said.
        script = f"printf '\\033[1m$ %s\\033[0m\\n' {shell_quoted(command)}; {command}; touch {done}; sleep 1000"
        self._run("new-session", "-d", "-x", str(self._columns), "-y", str(ROWS), "bash", "-c", script)

    def screen(self, colours=False, whole=False):
        options = (["-e"] if colours else []) + (["-S", "-"] if whole else [])
        return self._run("capture-pane", "-p", *options).rstrip("\n").split("\n")

    def end(self):
        self._run("kill-server")

    def _run(self, *arguments):
        return subprocess.run(self._tmux + list(arguments), check=True, capture_output=True, text=True).stdout


def shell_quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def record(command, columns, frames):
    """The lines of the whole session with their colours."""
    with tempfile.TemporaryDirectory() as folder:
        terminal = Terminal(columns, folder)
        done = pathlib.Path(folder) / "done"
        terminal.start(command, done)
        seen = 0
        last = None
        try:
            while True:
                is_done = done.exists()
                screen = terminal.screen()
                if frames and screen != last:
                    (frames / f"{seen:04}.txt").write_text("\n".join(screen) + "\n")
                    seen += 1
                last = screen
                if is_done:
                    return terminal.screen(colours=True, whole=True)
                time.sleep(0.05)
        finally:
            terminal.end()


def runs_of(line, style):
    """(column, text, style) for each run of letters that look alike; `style` goes on from line to line."""
    runs, column = [], 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not part.startswith("\x1b"):
            if part:
                runs.append((column, part, dict(style)))
            column += len(part)
            continue
        codes = [int(code or 0) for code in part[2:-1].split(";")]
        for code in codes:
            if code == 0:
                style.clear()
            elif code in (1, 2):
                style["bold" if code == 1 else "dim"] = True
            elif code == 22:
                style.pop("bold", None)
                style.pop("dim", None)
            elif code in COLOURS:
                style["colour"] = COLOURS[code]
            elif code == 39:
                style.pop("colour", None)
    return runs


def span(column, text, look):
    attributes = f' x="{MARGIN + column * CELL_WIDTH:.1f}" textLength="{len(text) * CELL_WIDTH:.1f}"'
    if look.get("bold"):
        attributes += ' font-weight="bold"'
    if look.get("dim"):
        attributes += ' opacity="0.65"'
    if "colour" in look:
        attributes += f' fill="{look["colour"]}"'
    return f"<tspan{attributes}>{escape(text)}</tspan>"


def picture(lines, columns, title):
    width = columns * CELL_WIDTH + 2 * MARGIN
    height = len(lines) * CELL_HEIGHT + 2 * MARGIN
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
           f'height="{height}" font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" '
           f'fill="{FOREGROUND}">',
           f"<title>{escape(title)}</title>",
           f'<rect width="100%" height="100%" rx="6" fill="{BACKGROUND}"/>']
    style = {}
    for row, line in enumerate(lines):
        spans = []
        for column, text, look in runs_of(line, style):
            # Viewers fold blanks in their own ways, so that each word has its place.
            for word in re.finditer(r"\S+", text):
                spans.append(span(column + word.start(), word.group(), look))
        if spans:
            baseline = MARGIN + row * CELL_HEIGHT + 14
            svg.append(f'<text y="{baseline}">{"".join(spans)}</text>')
    return "\n".join(svg + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=pathlib.Path)
    parser.add_argument("columns", type=int)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("command")
    given = parser.parse_args()
    if not shutil.which("tmux"):
        print("there is no tmux here", file=sys.stderr)
        return SKIPPED
    os.environ.pop("TMUX", None)
    os.environ.pop("COLUMNS", None)
    os.environ["LC_ALL"] = "C.UTF-8"
    if given.frames:
        given.frames.mkdir(parents=True, exist_ok=True)
    lines = record(given.command, given.columns, given.frames)
    given.file.write_text(picture(lines, given.columns, given.command))
    return 0


if __name__ == "__main__":
    sys.exit(main())
