#!/usr/bin/env python3
"""Reads what regtune writes for other tuners with Kernel Tuner itself (from PyPI), and validates T4 by its schema.

    FOLDER/bin/python tests/exchange_with_kernel_tuner.py build/dev/regtune tests/data/h200

Exit code 0: it is all taken; 1: it is not, which is said; 77: Kernel Tuner is not installed (tests/with_kernel_tuner.sh does).
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77

try:
    import jsonschema
    import kernel_tuner
    from kernel_tuner import file_utils, util
except ImportError as missing:
    print(f"skipped: {missing}; tests/with_kernel_tuner.sh build/kernel_tuner installs Kernel Tuner there")
    sys.exit(SKIPPED)


def export(regtune, record, name, folder):
    file = folder / f"{record.stem}.{name}.json"
    subprocess.run([regtune, "export", "-q", str(record), "--format", name, "-o", str(file)], check=True)
    return file


def best_of(record):
    verdict = record["verdict"]
    times = [trial["outcome"]["measurement"]["time_ms"]["median"] for trial in record["trials"]
             if "measurement" in trial["outcome"] and trial["outcome"]["measurement"]["time_ms"]["median"] > 0]
    return verdict, min(times)


def check_t4(file, record):
    document = json.loads(file.read_text())
    for target in ("results", "metadata"):
        version, schema = file_utils.output_file_schema(target)
        jsonschema.validate(document, schema)
    assert document["schema_version"] == version, document["schema_version"]
    assert len(document["results"]) == len(record["trials"]), "a result for every variant"
    ours = set(document["results"][0]) | {"times." + key for key in document["results"][0]["times"]}
    theirs = {"configuration", "times", "invalidity", "correctness", "measurements", "objectives", "times.runtimes"}
    assert theirs <= ours, theirs - ours


def check_cache(file, record):
    cached = util.read_cache(str(file), open_cache=False)
    assert len(cached["cache"]) == len(record["trials"]), "a configuration for every variant"
    _, fastest = best_of(record)
    # A simulated run is served from the file alone: Kernel Tuner finds the time that regtune found.
    results, environment = kernel_tuner.tune_kernel(
        cached["kernel_name"], "extern \"C\" __global__ void k() {}", cached["problem_size"], [], cached["tune_params"],
        cache=str(file), simulation_mode=True, strategy="brute_force", quiet=True, verbose=False,
        restrictions=util.infer_restrictions_from_cache(cached), lang="CUDA")
    assert environment["device_name"] == record["gpu"]["id"]["name"]
    found = min(result["time"] for result in results if "__error__" not in result)
    assert found == fastest, (found, fastest)



def check_continued(file, folder):
    """Kernel Tuner opens a cache to continue it, and closes it again."""
    copy = folder / "continued.json"
    shutil.copy(file, copy)
    before = util.read_cache(str(copy))["cache"]
    util.close_cache(str(copy))
    assert len(json.loads(copy.read_text())["cache"]) == len(before)


def main():
    regtune, data = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path in sorted(data.glob("*.json")):
            record = json.loads(path.read_text())
            check_t4(export(regtune, path, "t4", folder), record)
            cache = export(regtune, path, "kernel-tuner", folder)
            check_continued(cache, folder)
            check_cache(cache, record)
            print(f"{path.stem}: taken")
    return 0


if __name__ == "__main__":
    sys.exit(main())
