#!/usr/bin/env python3
"""Checks what the layout of the sources promises (docs/architecture.md, "Floors").

  - a file includes only its own folder and folders on lower floors;
  - third parties are included only where they have their home;
  - no loose sources in src/kelda, and every source is listed in a CMakeLists.txt.

Prints each offender as path:line: reason and fails if there is one.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

FLOORS = {
    "base": 0,
    "types": 1, "options": 1,
    "row": 2, "io": 2, "avro": 2,
    "format": 3, "metadata": 3,
    "index": 4, "merge": 4,
    "scan": 5, "write": 5, "read": 5,
    "commit": 6,
    "maintain": 7, "catalog": 7,
    "sql": 8, "capi": 8, "server": 8, "ingest": 8,
    "apps": 9, "python": 9,
}

# Neighbours on one floor of which the first may include the second, and why.
NEIGHBOURS = {
    ("metadata", "format"): "manifests may be in a format of data files",
    ("read", "scan"): "a reader takes the splits that a plan made",
    ("write", "scan"): "a writer of a bucket goes on from the files that are there",
    ("write", "read"): "compaction reads what it rewrites",
}

# Include pattern -> the folders that may use it.
HOMES = {
    r"duckdb": ("sql", "apps"),
    r"(parquet/|arrow/adapters/orc/|orc/)": ("format",),
    r"(httplib\.h|curl/)": ("io", "catalog/rest", "server"),
    r"thrift/": ("catalog/hive",),
    r"(gtest|gmock|rapidcheck)": (),
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def walk(root, folder, suffixes):
    for where, folders, files in os.walk(os.path.join(root, folder)):
        folders[:] = sorted(name for name in folders if name not in ("data", "target"))
        for name in sorted(files):
            if name.endswith(suffixes):
                yield os.path.relpath(os.path.join(where, name), root)


def folder_of(path):
    """The folder of FLOORS that a source belongs to, or None."""
    parts = path.split("/")
    if parts[:2] == ["src", "kelda"]:
        return parts[2] if len(parts) > 3 else None
    return parts[0]


def is_test(path):
    """Tests and what supports them have "test" as a word of their name; they may include everything."""
    return re.search(r"(^|_)test(_|\.|$)", os.path.basename(path)) is not None


def check_include(root, path, folder, quote, include):
    """The reason why `path` may not have this include, or None."""
    place = path[len("src/kelda/"):] if path.startswith("src/kelda/") else path
    for pattern, homes in HOMES.items():
        if re.match(pattern, include):
            if any(place.startswith(home + "/") for home in homes):
                return None
            return f"includes {include}, whose home is {', '.join(homes) or 'tests'}"
    if not include.startswith("kelda/"):
        beside = os.path.join(root, os.path.dirname(path), include)
        if quote == '"' and ("/" not in include or os.path.exists(beside)):
            return f'includes "{include}"; write the path from src/ ("kelda/...") or <> for third parties'
        return None
    parts = include.split("/")
    if len(parts) < 3:
        return None  # the public headers and the generated build information belong to no floor
    target = parts[1]
    if target not in FLOORS:
        return f"includes {include}, and {target} is on no floor"
    if target == folder or FLOORS[target] < FLOORS[folder] or (folder, target) in NEIGHBOURS:
        return None
    return (f"{folder} (floor {FLOORS[folder]}) includes {include}"
            f" of {target} (floor {FLOORS[target]})")


def check_includes(root):
    for tree in ("src", "apps", "python"):
        for path in walk(root, tree, (".h", ".cc")):
            folder = folder_of(path)
            if folder not in FLOORS:
                yield f"{path}:1: is in no folder of the floor table"
                continue
            if is_test(path):
                continue
            with open(os.path.join(root, path), encoding="utf-8") as source:
                for number, line in enumerate(source, 1):
                    match = INCLUDE.match(line)
                    reason = match and check_include(root, path, folder, match[1], match[2])
                    if reason:
                        yield f"{path}:{number}: {reason}"


def check_listed(root):
    """Every source is named by a CMakeLists.txt in its folder or one above it."""
    listed = set()
    trees = ("src", "apps", "tests", "bench", "python")
    for tree in trees:
        for path in walk(root, tree, ("CMakeLists.txt",)):
            folder = os.path.dirname(path)
            with open(os.path.join(root, path), encoding="utf-8") as file:
                text = re.sub(r"#.*", "", file.read())
            for name in re.findall(r"[\w./${}-]+\.cc\b", text):
                name = name.replace("${CMAKE_CURRENT_SOURCE_DIR}/", "")
                if name.startswith("${PROJECT_SOURCE_DIR}/"):
                    listed.add(os.path.normpath(name.removeprefix("${PROJECT_SOURCE_DIR}/")))
                else:
                    listed.add(os.path.normpath(os.path.join(folder, name)))
    for tree in trees:
        for path in walk(root, tree, (".cc",)):
            if path not in listed:
                yield f"{path}:1: is listed in no CMakeLists.txt"


def check(root):
    return list(check_includes(root)) + list(check_listed(root))


def main():
    offenders = check(ROOT)
    for line in offenders:
        print(line)
    if offenders:
        sys.exit(f"error: {len(offenders)} offenders")


if __name__ == "__main__":
    main()
