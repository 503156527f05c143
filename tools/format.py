#!/usr/bin/env python3
"""Formats the C++ sources with the pinned clang-format.

    tools/format.py               formats in place
    tools/format.py --check       lists the files that differ and fails
    tools/format.py [--check] FILE...

Files found to be formatted are remembered by content, so a check without changes takes no time.
"""

import concurrent.futures
import hashlib
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.path.join(ROOT, "build/deps/clang-format/clang_format/data/bin/clang-format")
CACHE = os.path.join(ROOT, "build/format-clean")
FOLDERS = ("src", "include", "apps", "tests", "bench", "python")


def sources():
    found = []
    for folder in FOLDERS:
        for where, folders, files in os.walk(os.path.join(ROOT, folder)):
            folders[:] = sorted(name for name in folders if name not in ("data", "target"))
            found += [os.path.join(where, name) for name in sorted(files)
                      if name.endswith((".cc", ".h"))]
    return found


def key_of(path, salt):
    with open(path, "rb") as file:
        return hashlib.sha256(salt + file.read()).hexdigest()


def is_formatted(path):
    result = subprocess.run([PROGRAM, "--style=file", "--dry-run", "--Werror", path],
                            capture_output=True)
    return result.returncode == 0


def main(arguments):
    check = "--check" in arguments
    paths = [os.path.abspath(name) for name in arguments if name != "--check"] or sources()
    if not os.access(PROGRAM, os.X_OK):
        sys.exit(f"error: {PROGRAM} is missing; run tools/fetch_deps.py")
    with open(os.path.join(ROOT, ".clang-format"), "rb") as style:
        salt = style.read()
    try:
        with open(CACHE, encoding="ascii") as cache:
            clean = set(cache.read().split())
    except OSError:
        clean = set()
    keys = {path: key_of(path, salt) for path in paths}
    suspects = [path for path in paths if keys[path] not in clean]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        dirty = [path for path, ok in zip(suspects, pool.map(is_formatted, suspects)) if not ok]
        if not check:
            list(pool.map(lambda path: subprocess.run([PROGRAM, "--style=file", "-i", path],
                                                      check=True), dirty))
    with open(CACHE + ".new", "w", encoding="ascii") as cache:
        cache.write("\n".join(sorted((clean | set(keys.values())) - {keys[p] for p in dirty})))
    os.replace(CACHE + ".new", CACHE)
    for path in dirty:
        print(f"{'not formatted' if check else 'formatted'}: {os.path.relpath(path, ROOT)}")
    if check and dirty:
        sys.exit(f"error: {len(dirty)} files are not formatted; run `make format`")


if __name__ == "__main__":
    main(sys.argv[1:])
