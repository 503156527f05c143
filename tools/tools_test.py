#!/usr/bin/env python3
"""Tests of the scripts in this folder."""

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import check_floors  # noqa: E402
import fetch_deps  # noqa: E402
import run_tests  # noqa: E402


def write(root, path, text):
    target = os.path.join(root, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)
    return target


class FetchDeps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        self.saved = (fetch_deps.ROOT, fetch_deps.DEPS, fetch_deps.DOWNLOAD)
        fetch_deps.ROOT = self.root
        fetch_deps.DEPS = os.path.join(self.root, "build/deps")
        fetch_deps.DOWNLOAD = os.path.join(fetch_deps.DEPS, "download")
        os.makedirs(fetch_deps.DOWNLOAD)
        self.addCleanup(self.restore)

    def restore(self):
        fetch_deps.ROOT, fetch_deps.DEPS, fetch_deps.DOWNLOAD = self.saved

    def wheel(self, members):
        path = os.path.join(fetch_deps.DOWNLOAD, "thing.whl")
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def lock(self, sha256, more=""):
        write(self.root, "deps.lock",
              f'[thing]\ngroup = "build"\nclient = "npm"\nspec = "thing"\nfile = "thing.whl"\n'
              f'sha256 = "{sha256}"\n{more}')

    def fetch(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()):
            fetch_deps.main(list(arguments))

    def test_unpacks_what_is_kept_and_leaves_a_stamp(self):
        sha256 = self.wheel({"a/x.h": "x", "a/y.h": "y", "b/z.h": "z"})
        self.lock(sha256, 'strip = 1\nkeep = ["x"]\n')
        self.fetch()
        self.assertEqual(sorted(os.listdir(os.path.join(fetch_deps.DEPS, "thing"))), [".stamp", "x.h"])
        self.assertEqual(fetch_deps.stamp_of("thing"), sha256)

    def test_second_run_does_nothing(self):
        self.lock(self.wheel({"x": "x"}))
        self.fetch()
        os.remove(os.path.join(fetch_deps.DOWNLOAD, "thing.whl"))
        self.fetch()

    def test_damaged_download_is_refused_before_unpacking(self):
        good = self.wheel({"x": "x"})
        self.lock(good)
        path = os.path.join(fetch_deps.DOWNLOAD, "thing.whl")
        with open(path, "ab") as file:
            file.write(b"!")
        with open(path, "rb") as file:
            bad = hashlib.sha256(file.read()).hexdigest()
        with self.assertRaises(fetch_deps.FetchError) as caught:
            self.fetch()
        for part in ("thing.whl", good, bad):
            self.assertIn(part, str(caught.exception))
        self.assertFalse(os.path.exists(os.path.join(fetch_deps.DEPS, "thing")))

    def test_path_that_leaves_the_folder_is_refused(self):
        self.lock(self.wheel({"a/../../evil": "x"}))
        with self.assertRaisesRegex(fetch_deps.FetchError, "unsafe path"):
            self.fetch()
        self.assertFalse(os.path.exists(os.path.join(fetch_deps.DEPS, "thing")))

    def test_links_in_a_tar_are_not_unpacked(self):
        path = os.path.join(fetch_deps.DOWNLOAD, "thing.tgz")
        with tarfile.open(path, "w:gz") as archive:
            link = tarfile.TarInfo("package/link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
            plain = tarfile.TarInfo("package/plain")
            plain.size = 1
            archive.addfile(plain, io.BytesIO(b"x"))
        with open(path, "rb") as file:
            sha256 = hashlib.sha256(file.read()).hexdigest()
        self.lock(sha256, "strip = 1\n")
        write(self.root, "deps.lock", open(os.path.join(self.root, "deps.lock"), encoding="utf-8")
              .read().replace("thing.whl", "thing.tgz"))
        self.fetch()
        self.assertEqual(sorted(os.listdir(os.path.join(fetch_deps.DEPS, "thing"))), [".stamp", "plain"])

    def test_unknown_name_is_an_error(self):
        self.lock("0" * 64)
        with self.assertRaisesRegex(fetch_deps.FetchError, "not in deps.lock: other"):
            self.fetch("other")

    def test_the_lock_of_the_project_is_complete(self):
        lock = fetch_deps.read_lock(os.path.join(self.saved[0], "deps.lock"))
        for name, dep in lock.items():
            with self.subTest(name):
                self.assertLessEqual({"group", "client", "spec", "file", "sha256"}, set(dep))
                self.assertRegex(dep["sha256"], "^[0-9a-f]{64}$")


class CheckFloors(unittest.TestCase):
    def offenders(self, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                write(root, path, text)
            return check_floors.check(root)

    def assert_offends(self, path, text, reason):
        offenders = self.offenders({path: text})
        self.assertTrue(any(reason in line for line in offenders), offenders)

    def assert_fine(self, path, text):
        self.assertEqual(self.offenders({path: text}), [])

    def test_lower_floor_and_own_folder_are_fine(self):
        self.assert_fine("src/kelda/row/a.h",
                         '#include "kelda/row/b.h"\n#include "kelda/base/c.h"\n#include <vector>\n')

    def test_higher_floor_offends(self):
        self.assert_offends("src/kelda/io/a.h", '\n#include "kelda/scan/b.h"\n',
                            "src/kelda/io/a.h:2: io (floor 2) includes kelda/scan/b.h of scan (floor 5)")

    def test_neighbour_offends_unless_named(self):
        self.assert_offends("src/kelda/io/a.h", '#include "kelda/row/b.h"\n', "of row (floor 2)")
        self.assert_fine("src/kelda/read/a.h", '#include "kelda/scan/b.h"\n')

    def test_third_parties_have_a_home(self):
        self.assert_fine("src/kelda/sql/a.h", "#include <duckdb.hpp>\n")
        self.assert_offends("src/kelda/read/a.h", "#include <duckdb/main/config.hpp>\n", "whose home is sql")
        self.assert_fine("src/kelda/format/a.h", "#include <parquet/api/reader.h>\n")
        self.assert_offends("src/kelda/read/a.h", "#include <parquet/arrow/reader.h>\n", "whose home is format")
        self.assert_offends("src/kelda/read/a.h", "#include <arrow/adapters/orc/adapter.h>\n", "format")
        self.assert_offends("src/kelda/read/a.h", "#include <gtest/gtest.h>\n", "whose home is tests")

    def test_quotes_for_third_parties_are_fine(self):
        self.assert_fine("src/kelda/sql/a.h", '#include "duckdb.hpp"\n#include "duckdb/main/config.hpp"\n')

    def test_tests_may_include_everything(self):
        for name in ("a_test.cc", "a_test_util.h", "test_support.h"):
            offenders = self.offenders({"src/kelda/row/" + name: '#include <gtest/gtest.h>\n'
                                        '#include "kelda/commit/b.h"\n'})
            self.assertFalse(any("include" in line for line in offenders), offenders)
        self.assert_offends("src/kelda/row/latest.h", "#include <gtest/gtest.h>\n", "whose home is tests")

    def test_relative_include_and_loose_file_offend(self):
        self.assert_offends("src/kelda/row/a.h", '#include "b.h"\n', "write the path from src/")
        self.assert_offends("src/kelda/a.h", "\n", "is in no folder of the floor table")
        self.assert_offends("src/kelda/misc/a.h", "\n", "is in no folder of the floor table")

    def test_unlisted_source_offends(self):
        self.assertEqual(self.offenders({"src/kelda/row/a_test.cc": "\n"}),
                         ["src/kelda/row/a_test.cc:1: is listed in no CMakeLists.txt"])
        self.assertEqual(self.offenders({
            "src/kelda/row/a_test.cc": "\n", "src/kelda/row/deep/b.cc": "\n", "tests/c.cc": "\n",
            "src/kelda/row/CMakeLists.txt": "kelda_test(NAME x SOURCES a_test.cc deep/b.cc)\n",
            "tests/CMakeLists.txt": "kelda_test(NAME y SOURCES c.cc)\n"}), [])
        self.assertEqual(len(self.offenders({
            "tests/c.cc": "\n", "tests/CMakeLists.txt": "# c.cc\n"})), 1)


class RunTests(unittest.TestCase):
    def run_python(self, code, labels=(), timeout=20.0):
        with tempfile.TemporaryDirectory() as results:
            test = run_tests.Test("t", [sys.executable, "-c", code], results, list(labels), {}, timeout, False)
            return run_tests.run_test(test, results)

    def counts(self, outcome):
        return (outcome.passed, outcome.failed, outcome.skipped)

    def test_command_counts_as_one(self):
        self.assertEqual(self.counts(self.run_python("print(1)")), (1, 0, 0))
        self.assertEqual(self.counts(self.run_python("raise SystemExit(3)")), (0, 1, 0))

    def test_command_that_counts_its_cases(self):
        self.assertEqual(self.counts(self.run_python("print('7 passed, 0 failed, 2 skipped')")), (7, 0, 2))
        outcome = self.run_python("print('7 passed, 2 failed'); raise SystemExit(1)")
        self.assertEqual(self.counts(outcome), (7, 2, 0))

    def test_bad_exit_after_a_good_summary_fails(self):
        outcome = self.run_python("print('7 passed, 0 failed'); raise SystemExit(9)")
        self.assertEqual(self.counts(outcome), (7, 1, 0))
        self.assertIn("exit code 9", outcome.reason)

    def test_nothing_run_fails(self):
        self.assertEqual(self.counts(self.run_python("print('0 passed, 0 failed')")), (0, 1, 0))

    def test_timeout_and_signal_fail(self):
        outcome = self.run_python("import time; time.sleep(60)", timeout=0.3)
        self.assertEqual(self.counts(outcome), (0, 1, 0))
        self.assertIn("was stopped", outcome.reason)
        outcome = self.run_python("import os; print('1 passed, 0 failed', flush=True); os.abort()")
        self.assertEqual(self.counts(outcome), (1, 1, 0))
        self.assertIn("SIGABRT", outcome.reason)

    def test_children_end_with_the_test(self):
        with tempfile.TemporaryDirectory() as folder:
            pid_path = os.path.join(folder, "pid")
            self.run_python(
                "import subprocess, sys\n"
                "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
                f"open({pid_path!r}, 'w').write(str(child.pid))")
            with open(pid_path, encoding="ascii") as file:
                pid = int(file.read())
            deadline = time.monotonic() + 5
            while self.is_running(pid) and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertFalse(self.is_running(pid))

    def is_running(self, pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def test_program_that_is_not_built_fails(self):
        test = run_tests.Test("t", ["/nowhere/t"], "/", [], {}, 1.0, False)
        self.assertEqual(self.counts(run_tests.run_test(test, "/nowhere")), (0, 1, 0))

    def test_gtest_report(self):
        case = {"status": "RUN", "result": "COMPLETED"}
        text = json.dumps({"testsuites": [{"testsuite": [
            case, case | {"failures": [{"failure": "x"}]}, case | {"result": "SKIPPED"},
            case | {"status": "NOTRUN", "result": "SUPPRESSED"}]}]})
        outcome = self.run_python(
            f"import os; open(os.environ['GTEST_OUTPUT'][5:], 'w').write({text!r})", ["gtest"])
        self.assertEqual(self.counts(outcome), (1, 1, 2))

    def test_gtest_crash_keeps_what_ran(self):
        outcome = self.run_python(
            "import os; print('[       OK ] A.B (0 ms)\\n[ RUN      ] A.C', flush=True); os.abort()", ["gtest"])
        self.assertEqual(self.counts(outcome), (1, 1, 0))


class InstallPackages(unittest.TestCase):
    def test_without_root_it_prints_the_one_line(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "install_packages.sh")
        with tempfile.TemporaryDirectory() as fakes:
            for name, body in (("dpkg-query", "exit 0"), ("id", "echo 1000")):
                path = write(fakes, name, f"#!/bin/sh\n{body}\n")
                os.chmod(path, 0o755)
            result = subprocess.run([script], env=os.environ | {"PATH": f"{fakes}:{os.environ['PATH']}"},
                                    capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"apt-get install .* g\+\+ .*libgtest-dev")


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    failed = len(result.failures) + len(result.errors)
    print(f"{result.testsRun - failed - len(result.skipped)} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
