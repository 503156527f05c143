#!/usr/bin/env python3
"""Runs the program `kelda` and compares what it prints and how it exits: cli_test.py PROGRAM [-v] [TEST...]

Needs no warehouse: only formats, options, exit codes, signals and the shell.
"""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
ENDLESS = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range = 3"


def run(*arguments, stdin="", env=None):
    return subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **(env or {})})


class Formats(unittest.TestCase):
    QUERY = ("SELECT i AS a, CASE i WHEN 0 THEN 'x|\"y\",z' WHEN 1 THEN NULL WHEN 2 THEN '' ELSE 't\tn\nb\\' END AS b"
             " FROM range(4) t(i); SELECT 1 AS c WHERE false")

    def output(self, form, query=None):
        done = run("--format", form, "-c", query or self.QUERY)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_csv(self):
        self.assertEqual(self.output("csv"), 'a,b\n0,"x|""y"",z"\n1,\n2,""\n3,"t\tn\nb\\"\nc\n')

    def test_tsv(self):
        self.assertEqual(self.output("tsv"), 'a\tb\n0\tx|"y",z\n1\t\\N\n2\t\n3\tt\\tn\\nb\\\\\nc\n')

    def test_json(self):
        text = self.output("json")
        first, second = text[:text.rindex("[")], text[text.rindex("["):]
        self.assertEqual(json.loads(first), [{"a": 0, "b": 'x|"y",z'}, {"a": 1, "b": None}, {"a": 2, "b": ""},
                                             {"a": 3, "b": "t\tn\nb\\"}])
        self.assertEqual(json.loads(second), [])

    def test_markdown(self):
        self.assertEqual(self.output("markdown"),
                         '| a | b |\n|---|---|\n| 0 | x\\|"y",z |\n| 1 | NULL |\n| 2 |  |\n| 3 | t\tn<br>b\\\\ |\n| c |\n|---|\n')

    def test_line(self):
        self.assertEqual(self.output("line", "SELECT 1 AS a, 'x' AS long UNION ALL SELECT 2, NULL ORDER BY 1"),
                         "   a = 1\nlong = x\n\n   a = 2\nlong = NULL\n")

    def test_box_shows_every_row_outside_of_a_terminal(self):
        text = self.output("box", "SELECT range AS a FROM range(100)")
        self.assertEqual(len(re.findall(r"│\s+\d+ │", text)), 100)
        self.assertIn("int64", text)

    def test_default_is_csv_outside_of_a_terminal(self):
        self.assertEqual(run("-c", "SELECT 1 AS a").stdout, "a\n1\n")

    def jsonl(self, expression):
        text = self.output("jsonl", f"SELECT {expression} AS v")
        self.assertTrue(text.startswith('{"v":') and text.endswith("}\n"), text)
        return text[5:-2]

    def test_jsonl_values(self):
        for expression, expected in [
                ("NULL", "null"), ("true", "true"), ("(-128)::TINYINT", "-128"), ("9223372036854775807", "9223372036854775807"),
                ("170141183460469231731687303715884105727::HUGEINT", "170141183460469231731687303715884105727"),
                ("255::UTINYINT", "255"), ("1.5::DECIMAL(10,3)", '"1.500"'), ("(-0.05)::DECIMAL(4,2)", '"-0.05"'),
                ("123456789012345678901234567890.12345678::DECIMAL(38,8)", '"123456789012345678901234567890.12345678"'),
                ("0.1::FLOAT", "0.1"), ("1::DOUBLE", "1"), ("1e300::DOUBLE", "1e+300"), ("0.1::DOUBLE + 0.2::DOUBLE", "0.30000000000000004"),
                ("'nan'::DOUBLE", '"NaN"'), ("'inf'::FLOAT", '"Infinity"'), ("'-inf'::DOUBLE", '"-Infinity"'),
                ("DATE '2024-02-03'", '"2024-02-03"'), ("DATE '0001-01-01'", '"0001-01-01"'),
                ("TIME '01:02:03'", '"01:02:03"'), ("TIME '01:02:03.050'", '"01:02:03.05"'),
                ("TIMESTAMP '2024-01-01 00:00:00'", '"2024-01-01T00:00:00"'),
                ("TIMESTAMP '1969-12-31 23:59:59.999999'", '"1969-12-31T23:59:59.999999"'),
                ("TIMESTAMP_S '2024-01-01 01:02:03'", '"2024-01-01T01:02:03"'),
                ("TIMESTAMP_MS '2024-01-01 01:02:03.120'", '"2024-01-01T01:02:03.12"'),
                ("TIMESTAMP_NS '1969-12-31 23:59:59.123456789'", '"1969-12-31T23:59:59.123456789"'),
                ("TIMESTAMPTZ '2024-01-01 00:00:00+02'", '"2023-12-31T22:00:00Z"'),
                (r"'\xAB\x00z'::BLOB", '"ab007a"'), ("''::BLOB", '""'), ("'a\"b\\c' || chr(10) || chr(1)", '"a\\"b\\\\c\\n\\u0001"'),
                ("'größe'", '"größe"'), ("[1, NULL, 3]", "[1,null,3]"), ("[]::INT[]", "[]"), ("[1, 2]::INT[2]", "[1,2]"),
                ("MAP {'b': 1, 'a': NULL}", '[{"key":"b","value":1},{"key":"a","value":null}]'),
                ("{'x': 1, 'y': [{'z': 2.5::DECIMAL(3,1)}, NULL]}", '{"x":1,"y":[{"z":"2.5"},null]}'),
                ("'a'::ENUM('b', 'a')", '"a"'), ("INTERVAL 1 DAY", '"1 day"'),
                ("'00000000-0000-0000-0000-000000000001'::UUID", '"00000000-0000-0000-0000-000000000001"')]:
            with self.subTest(expression):
                self.assertEqual(self.jsonl(expression), expected)

    def test_jsonl_of_nested_columns_with_many_rows(self):
        text = self.output("jsonl", "SELECT i, CASE WHEN i % 3 = 0 THEN NULL ELSE [{'a': i, 'b': [i, NULL]}, NULL] END AS l, "
                                    "[i, i + 1]::BIGINT[2] AS r FROM range(5000) t(i) WHERE i % 7 <> 1")
        rows = [json.loads(line) for line in text.splitlines()]
        wanted = [i for i in range(5000) if i % 7 != 1]
        self.assertEqual(rows, [{"i": i, "l": None if i % 3 == 0 else [{"a": i, "b": [i, None]}, None],
                                 "r": [i, i + 1]} for i in wanted])

    def test_explain_is_drawn(self):
        text = run("-c", "EXPLAIN SELECT 42").stdout
        self.assertIn("DUMMY_SCAN", text)
        self.assertNotIn('"', text)


class Program(unittest.TestCase):
    def test_version_and_help(self):
        done = run("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^kelda \d+\.\d+\.\d+ \(.+\)\nArrow \d+.*\nDuckDB \d+.*\nPaimon format .*1\.4\.2")
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        for option in ("--command", "--file", "--format", "--option", "--memory", "--threads", "--progress", "--log-level",
                       "--log-file", "--keep-going", "--version"):
            self.assertIn(option, done.stdout)

    def test_compact(self):
        done = run("compact", "--help")
        self.assertEqual(done.returncode, 0)
        for option in ("WAREHOUSE", "TABLE", "--where", "--partitions", "--order-by", "--idle-time", "--table-option"):
            self.assertIn(option, done.stdout)
        for arguments in ([], ["lake"], ["lake", "t", "x"], ["lake", "t", "--where", "a", "--partitions", "b"],
                          ["lake", "t", "-t", "x"]):
            with self.subTest(arguments):
                self.assertEqual(run("compact", *arguments).returncode, 2)
        with tempfile.TemporaryDirectory() as folder:
            lake = folder + "/lake"
            inserts = "".join(f"INSERT INTO t VALUES ({i}, 'it''s');" for i in range(6))
            self.assertEqual(run(lake, "-c", "CREATE TABLE t (a INT, p STRING) PARTITIONED BY (p);" + inserts).returncode, 0)
            done = run("compact", lake, "default.t", "--where", "p = 'it''s'", "-t", "compaction.min.file-num=2")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "result\ntrue\n", ""))
            done = run(lake, "-c", 'SELECT count(*) AS n FROM "t$files"')
            self.assertEqual(done.stdout, "n\n1\n")
            done = run("compact", lake, "nope")
            self.assertEqual(done.returncode, 1)
            self.assertIn("table default.nope does not exist", done.stderr)

    def test_wrong_use(self):
        for arguments in (["--nope"], ["--format", "xml"], ["--memory", "lots"], ["--threads", "0"], ["--threads", "x"],
                          ["-o", "a"], ["-o", "a=b"], ["--progress", "maybe"], ["--log-level", "loud"], ["-c"], ["a", "b"],
                          ["--log-file", "/nonexistent/x", "-c", "SELECT 1"]):
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertTrue(done.stderr.startswith("error: "), done.stderr)

    def test_several_statements_and_commands(self):
        done = run("-c", "CREATE TABLE t (a STRING COMMENT 'x'); INSERT INTO t VALUES (';'), ('b')", "-c", "SELECT count(*) AS n FROM t;")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "n\n2\n", ""))

    def test_first_error_ends(self):
        done = run("-c", "SELECT 1 AS a; SELECT nope; SELECT 2 AS b", "-c", "SELECT 3")
        self.assertEqual((done.returncode, done.stdout), (1, "a\n1\n"))
        self.assertTrue(done.stderr.startswith("error: Binder Error: "), done.stderr)
        self.assertIn("LINE 1: SELECT nope\n               ^", done.stderr)

    def test_keep_going(self):
        done = run("--keep-going", "-c", "SELECT 1 AS a; SELECT nope; SELEC; SELECT 2 AS b")
        self.assertEqual((done.returncode, done.stdout), (1, "a\n1\nb\n2\n"))
        self.assertEqual(done.stderr.count("error: "), 2)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.sql")
            with open(path, "w", encoding="utf-8") as file:
                file.write("-- a script\nSELECT 1 AS a;\n\nSELECT\n  nope;\nSELECT 2")
            done = run("-f", path)
            self.assertEqual((done.returncode, done.stdout), (1, "a\n1\n"))
            self.assertTrue(done.stderr.startswith(f"error: {path}:4: "), done.stderr)
            self.assertEqual(run("-c", "SELECT 0 AS z", "-f", path).stdout, "z\n0\na\n1\n")
            done = run("-f", os.path.join(folder, "nope.sql"))
            self.assertEqual(done.returncode, 1)
            self.assertIn("No such file", done.stderr)

    def test_standard_input(self):
        for arguments in (["-f", "-"], []):
            done = run(*arguments, stdin="SELECT 1 AS a;\nSELECT 2 AS b")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "a\n1\nb\n2\n", ""))
        self.assertEqual(run(stdin="").returncode, 0)

    def test_budgets(self):
        done = run("--memory", "300MiB", "--threads", "1", "-c",
                   "SELECT current_setting('memory_limit') AS m, current_setting('threads') AS t")
        self.assertEqual(done.stdout, "m,t\n150.0 MiB,1\n")

    def test_closed_pipe_ends_quietly(self):
        done = subprocess.run(["bash", "-c", f"set -o pipefail; '{PROGRAM}' -c 'SELECT * FROM range(1000000000)' | head -2"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("range\n0\n", ""))

    def test_full_disk_is_an_error(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([PROGRAM, "-c", "SELECT * FROM range(100000)"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No space left", done.stderr)

    def test_memory_stays_bounded_while_rows_stream(self):
        # 600 MB of text; all of it in memory would be more than allowed here.
        process = subprocess.Popen([PROGRAM, "--threads", "1", "-c", "SELECT range AS a, repeat('x', 1000) AS b FROM range(600000)"],
                                   stdout=subprocess.PIPE)
        lines = sum(part.count(b"\n") for part in iter(lambda: process.stdout.read(1 << 20), b""))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        self.assertEqual((process.returncode, lines), (0, 600001))
        self.assertLess(usage.ru_maxrss, 400 << 10)

    def interrupt_endless(self, *extra):
        """Exit code and error text of an endless statement that gets Ctrl-C once its progress shows."""
        process = subprocess.Popen([PROGRAM, "--progress", "on", *extra, "-c", f"{ENDLESS}; SELECT 2"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, bufsize=0)
        shown = process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual(out, b"")
        return process.returncode, (shown + err).decode()

    def test_interrupt(self):
        for extra in ([], ["--keep-going"]):
            code, text = self.interrupt_endless(*extra)
            self.assertEqual(code, 130)
            self.assertTrue(text.endswith("error: interrupted\n"), text)

    def test_progress(self):
        begin = time.monotonic()
        _, text = self.interrupt_endless()
        self.assertGreater(time.monotonic() - begin, 2)
        self.assertRegex(text, r"^\r.* s.*\r\x1b\[Kerror: interrupted\n$")
        self.assertEqual(run("--progress", "on", "-c", "SELECT 1 AS a").stderr, "")

    def test_interrupt_without_progress(self):
        process = subprocess.Popen([PROGRAM, "-c", f"SELECT 1 AS a; {ENDLESS}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   bufsize=0)
        self.assertEqual(process.stdout.read(4), b"a\n1\n")  # the first statement is done, so the second runs
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        self.assertEqual((process.returncode, out, err), (130, b"", b"error: interrupted\n"))


class Shell(unittest.TestCase):
    """The interactive shell, on a pseudo terminal."""

    def setUp(self):
        self.home = tempfile.TemporaryDirectory()
        self.start()

    def start(self):
        self.seen = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(HOME=self.home.name, TERM="xterm", COLUMNS="100")
            os.execv(PROGRAM, [PROGRAM, "--format", "csv"])
        self.prompt()

    def tearDown(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.terminal)
        self.home.cleanup()

    def expect(self, text, timeout=20):
        """Reads until `text` has come; what came behind it is kept for the next call."""
        end = time.monotonic() + timeout
        while text not in self.seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            if not ready:
                self.fail(f"{text!r} did not come; got {self.seen!r}")
            try:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
            except OSError:
                self.fail(f"the shell ended before {text!r}; got {self.seen!r}")
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def prompt(self, text="kelda> "):
        """Waits for a prompt, and until the shell takes keys: only then is Ctrl-C one."""
        self.expect(text)
        end = time.monotonic() + 20
        while termios.tcgetattr(self.terminal)[3] & termios.ICANON:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)

    def send(self, text):
        os.write(self.terminal, text.encode())

    def exit_code(self, timeout=20):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.05)[0]:
                try:
                    os.read(self.terminal, 65536)  # a full terminal would hold the shell up
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                return os.waitstatus_to_exitcode(status)
        self.fail("the shell did not end")

    def test_statements_over_several_lines(self):
        self.send("SELECT 40\n")
        self.prompt("...> ")
        self.send("+ 2 AS answer; SELECT 'x;y' AS z;\n")
        self.expect("answer\r\n42\r\n")
        self.expect("z\r\nx;y\r\n")

    def test_errors_do_not_end_the_shell(self):
        self.send("SELECT nope;\n")
        self.expect("error: Binder Error")
        self.prompt()
        self.send("SELECT 1 AS one;\n")
        self.expect("one\r\n1\r\n")

    def test_dot_commands(self):
        self.send("CREATE TABLE tab1 (a INT);\n")
        self.prompt()
        self.send(".tables\n")
        self.expect("name\r\ntab1")
        self.send(".schema tab1\n")
        self.expect("CREATE TABLE memory.main.tab1(a INTEGER);")
        self.send(".mode jsonl\n")
        self.send("SELECT 1 AS one;\n")
        self.expect('{"one":1}')
        self.send(".timer on\n")
        self.send("INSERT INTO tab1 VALUES (1), (2);\n")
        self.expect("2 rows")
        self.expect("Run time: ")
        self.send(".help\n")
        self.expect(".read FILE")
        script = os.path.join(self.home.name, "s.sql")
        with open(script, "w", encoding="utf-8") as file:
            file.write("SELECT 7 AS seven;\n")
        self.send(f".read {script}\n")
        self.expect('{"seven":7}')
        self.send(".nope\n")
        self.expect("error: unknown command .nope")
        self.send(".quit\n")
        self.assertEqual(self.exit_code(), 0)

    def test_interrupt_cancels_the_statement_only(self):
        self.send(ENDLESS + ";\n")
        self.expect("= 3;")
        time.sleep(0.7)
        self.send("\x03")
        self.expect("error: interrupted")
        self.prompt()
        self.send("SELECT 5 AS five;\n")
        self.expect("five\r\n5\r\n")

    def test_interrupt_at_the_prompt_drops_the_line(self):
        self.send("SELECT 1,\n")
        self.prompt("...> ")
        self.send("rubbish\x03")
        self.expect("^C")
        self.prompt()
        self.send("SELECT 6 AS six;\n")
        self.expect("six\r\n6\r\n")

    def test_end_of_file_leaves(self):
        self.send("\x04")
        self.assertEqual(self.exit_code(), 0)

    def test_completion(self):
        self.send("CREATE TABLE flights_of_2013 (a INT);\n")
        self.prompt()
        self.send("SELECT count(*) AS n FROM flights\t")
        self.expect("_of_2013")
        self.send(";\n")
        self.expect("n\r\n0\r\n")

    def test_history_is_kept_and_private(self):
        self.send("SELECT 'remember me' AS\n")
        self.prompt("...> ")
        self.send("m;\n")
        self.expect("m\r\nremember me\r\n")
        self.prompt()
        self.send(".quit\n")
        self.assertEqual(self.exit_code(), 0)
        path = os.path.join(self.home.name, ".kelda_history")
        self.assertEqual(os.stat(path).st_mode & 0o077, 0)
        os.close(self.terminal)
        self.start()
        self.send("\x1b[A\x1b[A")  # up: .quit, then the statement
        self.expect("remember me")
        self.send("\n")
        self.expect("m\r\nremember me\r\n")


def main():
    arguments = sys.argv[2:]
    verbose = "-v" in arguments
    names = [name for name in arguments if name != "-v"]
    loader = unittest.TestLoader()
    module = sys.modules[__name__]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2 if verbose else 1).run(suite)
    failed = len({str(test) for test, _ in result.failures + result.errors})
    print(f"{result.testsRun - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
