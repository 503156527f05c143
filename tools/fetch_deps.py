#!/usr/bin/env python3
"""Downloads, verifies and unpacks what deps.lock pins.

    tools/fetch_deps.py                 everything of the group "build"
    tools/fetch_deps.py NAME...         these sections, or whole groups

Each dependency lands in build/deps/<name>. The file .stamp inside holds the hash that was unpacked;
a stamp equal to the lock means there is nothing to do. Downloads are kept in build/deps/download and
are checked against the lock before they are unpacked, whether they are new or were there already.
"""

import os
import sys
import tomllib

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEPS = os.path.join(ROOT, "build", "deps")
DOWNLOAD = os.path.join(DEPS, "download")


class FetchError(Exception):
    pass


def read_lock(path):
    with open(path, "rb") as lock:
        return tomllib.load(lock)


def stamp_of(name):
    try:
        with open(os.path.join(DEPS, name, ".stamp"), encoding="ascii") as stamp:
            return stamp.read().strip()
    except OSError:
        return None


def sha256_of(path):
    import hashlib

    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def client_command(name, dep, folder):
    """The command that downloads into `folder`, which is empty."""
    options = dep.get("options", [])
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download",
           "--no-deps", "--dest", folder]
    if dep["client"] == "pip-wheel":
        return pip + ["--only-binary", ":all:"] + options + [dep["spec"]]
    if dep["client"] == "pip-sdist":
        # Naming the package keeps its build backend a wheel; ":all:" would compile cmake.
        package = dep["spec"].split("==")[0]
        return pip + ["--no-binary", package] + options + [dep["spec"]]
    if dep["client"] == "npm":
        return ["npm", "pack", "--silent", "--pack-destination", folder] + options + [dep["spec"]]
    raise FetchError(f"deps.lock: {name}: unknown client {dep['client']!r}")


def download(name, dep):
    """Returns the path of the downloaded file; its content is not trusted yet."""
    import shutil
    import subprocess
    import tempfile

    target = os.path.join(DOWNLOAD, dep["file"])
    if os.path.exists(target):
        return target
    print(f"fetching {dep['spec']} ({dep['client']})", flush=True)
    os.makedirs(DOWNLOAD, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=DOWNLOAD) as folder:
        command = client_command(name, dep, folder)
        try:
            result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    cwd=folder)
        except FileNotFoundError as error:
            raise FetchError(
                f"{name}: {command[0]} is not installed; run tools/install_packages.sh") from error
        if result.returncode != 0:
            raise FetchError(f"{name}: download failed: {' '.join(command)}")
        produced = os.path.join(folder, dep["file"])
        if not os.path.exists(produced):
            raise FetchError(
                f"{name}: the client wrote {sorted(os.listdir(folder))}, expected {dep['file']}")
        shutil.move(produced, target)
    return target


def verify(name, dep, path):
    actual = sha256_of(path)
    if actual != dep["sha256"]:
        raise FetchError(
            f"{name}: wrong hash of {path}\n"
            f"  expected sha256 {dep['sha256']}\n"
            f"  actual   sha256 {actual}\n"
            f"  nothing was unpacked; delete the file to download it again, or correct deps.lock")


def inner_path(dep, member):
    """The path of an archive member below the unpack folder, or None if it is not wanted."""
    parts = member.split("/")[dep.get("strip", 0):]
    path = "/".join(parts)
    if not path or path.endswith("/"):
        return None
    if path.startswith("/") or ".." in parts:
        raise FetchError(f"{dep['file']}: unsafe path in archive: {member}")
    keep = dep.get("keep")
    if keep is not None and not any(path.startswith(prefix) for prefix in keep):
        return None
    return path


def write_member(folder, path, source):
    import shutil

    target = os.path.join(folder, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "wb") as out:
        shutil.copyfileobj(source, out, 1 << 20)


def unpack(dep, archive, folder):
    import tarfile
    import zipfile

    count = 0
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                path = inner_path(dep, info.filename)
                if path is not None:
                    with wheel.open(info) as source:
                        write_member(folder, path, source)
                    count += 1
    else:
        with tarfile.open(archive, "r:*") as tar:
            for info in tar:
                path = inner_path(dep, info.name) if info.isfile() else None
                if path is not None:
                    write_member(folder, path, tar.extractfile(info))
                    count += 1
    if count == 0:
        raise FetchError(f"{dep['file']}: nothing in it matches {dep.get('keep')}")
    for path in dep.get("executables", []):
        os.chmod(os.path.join(folder, path), 0o755)


def install(name, dep):
    import shutil

    archive = download(name, dep)
    verify(name, dep, archive)
    target = os.path.join(DEPS, name)
    fresh = target + ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    unpack(dep, archive, fresh)
    with open(os.path.join(fresh, ".stamp"), "w", encoding="ascii") as stamp:
        stamp.write(dep["sha256"] + "\n")
    shutil.rmtree(target, ignore_errors=True)
    os.rename(fresh, target)
    print(f"{name}: {dep['file']} is in {os.path.relpath(target, ROOT)}", flush=True)


def main(arguments):
    lock = read_lock(os.path.join(ROOT, "deps.lock"))
    wanted = arguments or ["build"]
    unknown = set(wanted) - set(lock) - {dep["group"] for dep in lock.values()}
    if unknown:
        raise FetchError(f"not in deps.lock: {', '.join(sorted(unknown))}")
    missing = [name for name, dep in lock.items()
               if (name in wanted or dep["group"] in wanted) and stamp_of(name) != dep["sha256"]]
    if not missing:
        return
    import fcntl

    os.makedirs(DEPS, exist_ok=True)
    with open(os.path.join(DEPS, ".lock"), "w", encoding="ascii") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        for name in missing:
            if stamp_of(name) != lock[name]["sha256"]:
                install(name, lock[name])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except FetchError as error:
        sys.exit(f"error: {error}")
