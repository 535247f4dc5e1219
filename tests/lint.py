"""clang-tidy on sources, once for each text: lint.py BUILD_FOLDER FILE...

A file is left out when the very text that the compiler would see of it, headers and comments included, was found clean
before by the same clang-tidy under the same rules, in this clone or another. What is clean is kept as an empty file in
$XDG_CACHE_HOME/regtune/lint; REGTUNE_LINT_ANEW=1 checks everything again.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import time

FORGOTTEN_AFTER_S = 60 * 24 * 3600


def cache_folder():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = pathlib.Path(home) / "regtune" / "lint"
    folder.mkdir(parents=True, exist_ok=True)
    for mark in folder.iterdir():
        if time.time() - mark.stat().st_mtime > FORGOTTEN_AFTER_S:
            mark.unlink()
    return folder


def commands(build):
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        return {entry["file"]: entry for entry in json.load(file)}


def text_of(entry):
    """What clang reads once all is included; no line markers, for these name the folder of the clone."""
    arguments = shlex.split(entry["command"])
    first = next(i for i, argument in enumerate(arguments) if argument.startswith("-"))
    options = arguments[first : arguments.index("-o")]
    return subprocess.run(
        ["clang++", *options, "-E", "-P", "-C", entry["file"]],
        cwd=entry["directory"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
    )


def key_of(entry, rules):
    """Empty where there is no clang++, or it could not make the text: clang-tidy will say why."""
    if not shutil.which("clang++"):
        return ""
    text = text_of(entry)
    return hashlib.sha256(rules + text.stdout).hexdigest() if text.returncode == 0 else ""


def check(entry, build, rules, folder):
    """What clang-tidy said, empty when clean; and whether that was known."""
    key = key_of(entry, rules)
    if key and not os.environ.get("REGTUNE_LINT_ANEW") and (folder / key).exists():
        (folder / key).touch()
        return "", True
    tidy = subprocess.run(
        ["clang-tidy", "-p", str(build), "--quiet", entry["file"]], capture_output=True, text=True, check=False
    )
    if tidy.returncode != 0:
        return tidy.stdout or tidy.stderr or f"{entry['file']}: clang-tidy ended with {tidy.returncode}", False
    if key:
        (folder / key).touch()
    return "", False


def main():
    build = pathlib.Path(sys.argv[1])
    known = commands(build)
    files = [str(pathlib.Path(name).resolve()) for name in sys.argv[2:]]
    unknown = [name for name in files if name not in known]
    if unknown:
        sys.exit(f"error: no build command for {', '.join(unknown)}; is it in CMakeLists.txt?")
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
    rules = version + pathlib.Path(".clang-tidy").read_bytes()
    folder = cache_folder()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(lambda name: check(known[name], build, rules, folder), files))
    findings = [said for said, _ in results if said]
    print("\n".join(findings))
    left_out = sum(1 for _, was_known in results if was_known)
    print(f"{len(files)} files, {left_out} of them known to be clean, {len(findings)} with findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
