"""Running the program on warehouses in scratch folders, and looking at what it left on disk."""

import hashlib
import os
import re
import subprocess
import tempfile
import unittest

PROGRAM = ""

# Words of a crash or of an error that no user should see.
UNCIVIL = re.compile(r"INTERNAL Error|Stack Trace|terminate called|core dumped|Segmentation|Assertion|AddressSanitizer"
                     r"|std::|0x[0-9a-f]{8,}", re.IGNORECASE)


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.errors = [line for line in err.splitlines() if line.startswith("error: ")]


def kelda(*arguments, script=None, timeout=120, prefix=(), cwd=None):
    done = subprocess.run([*prefix, PROGRAM, *arguments], input=script, capture_output=True, timeout=timeout, cwd=cwd,
                          encoding="utf-8", errors="replace")
    return Result(done.returncode, done.stdout, done.stderr)


def files_below(folder):
    """Every file with the hash of its content: what `the table as it was` means."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            with open(full, "rb") as stream:
                found[os.path.relpath(full, folder)] = hashlib.sha1(stream.read()).hexdigest()
    return found


def names_below(folder):
    return {os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names}


def marks_below(folder):
    """Every file with its size and the time of its last change: a cheap look at many files."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            info = os.stat(os.path.join(path, name))
            found[os.path.relpath(os.path.join(path, name), folder)] = (info.st_size, info.st_mtime_ns)
    return found


def flip_bit(path, position, bit):
    with open(path, "r+b") as stream:
        stream.seek(position)
        byte = stream.read(1)[0]
        stream.seek(position)
        stream.write(bytes([byte ^ (1 << bit)]))


class ProgramTest(unittest.TestCase):
    """A fresh folder with an empty warehouse `self.lake` for each test."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kelda-safety-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        self.lake = os.path.join(self.folder, "lake")

    def table_folder(self, table):
        return os.path.join(self.lake, "default.db", table)

    def check_civil(self, result):
        self.assertIn(result.code, (0, 1), f"exit code {result.code}\n{result.err}")
        self.assertNotRegex(result.err, UNCIVIL)

    def run_ok(self, *statements):
        result = kelda(self.lake, "--format", "jsonl", "-f", "-", script=";\n".join(statements) + ";\n")
        self.assertEqual(result.code, 0, result.err)
        return result.out

    def run_error(self, statement, *patterns):
        """The statement fails with exit code 1 and one error that matches every pattern."""
        result = kelda(self.lake, "--format", "jsonl", "-c", statement)
        self.check_civil(result)
        self.assertEqual(result.code, 1, f"{statement}\n{result.out[:500]}{result.err}")
        self.assertEqual(len(result.errors), 1, result.err)
        for pattern in patterns:
            self.assertRegex(result.err, pattern, statement)
        return result

    def run_each(self, statements, first=()):
        """One process runs every statement, going on after errors; for each: (rows as text, error or None)."""
        script = "".join(f"{s}; " for s in first) + "".join(f"SELECT '#{i}' AS mark; {s};\n" for i, s in enumerate(statements))
        result = kelda(self.lake, "--format", "jsonl", "--keep-going", "-f", "-", script=script)
        self.check_civil(result)
        outs = re.split(r'^\{"mark":"#\d+"\}\n', result.out, flags=re.MULTILINE)[1:]
        self.assertEqual(len(outs), len(statements), f"the program ended early:\n{result.err[-2000:]}")
        errors = {}
        for text in re.split(r"^error: ", result.err, flags=re.MULTILINE)[1:]:
            place = re.match(r"standard input:(\d+): ", text)
            self.assertIsNotNone(place, text)
            errors[int(place.group(1)) - 1] = "error: " + text
        return [(out, errors.get(i)) for i, out in enumerate(outs)]
