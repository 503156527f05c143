"""A machine that fails: no permission, full disk, killed and interrupted processes, competitors."""

import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import time

import program
from program import ProgramTest, files_below, kelda, names_below

IS_ROOT = os.geteuid() == 0


class Permissions(ProgramTest):
    def setUp(self):
        super().setUp()
        self.run_ok("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
        self.prefix = []
        if not IS_ROOT:
            return  # the modes of files hold for us
        tool = shutil.which("setpriv")
        if tool is None:
            self.skipTest("root ignores the modes of files, and setpriv, to become somebody else, is not there")
        nobody = pwd.getpwnam("nobody")
        self.prefix = [tool, f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
        if subprocess.run([*self.prefix, program.PROGRAM, "--version"], capture_output=True, cwd="/").returncode != 0:
            self.skipTest("the program lies where user nobody cannot run it")

    def denied(self, statement, *patterns):
        before = files_below(self.lake)
        done = kelda(self.lake, "--format", "jsonl", "-c", statement, prefix=self.prefix, cwd="/")
        self.check_civil(done)
        self.assertEqual((done.code, done.out), (1, ""), done.err)
        for pattern in ("(?i)permission denied", *patterns):
            self.assertRegex(done.err, pattern)
        self.assertEqual(files_below(self.lake), before)

    def chmod(self, path, mode):
        self.addCleanup(os.chmod, path, os.stat(path).st_mode)
        os.chmod(path, mode)

    def test_tables_that_cannot_be_written(self):
        for folder, names, _ in list(os.walk(self.lake)):
            self.chmod(folder, 0o555)
        done = kelda(self.lake, "--format", "jsonl", "-c", "SELECT * FROM t", prefix=self.prefix, cwd="/")
        self.assertEqual((done.code, done.out), (0, '{"a":1}\n'), done.err)
        self.denied("INSERT INTO t VALUES (2)", "default.db/t/")
        self.denied("INSERT OVERWRITE t VALUES (2)", "default.db/t/")
        self.denied("TRUNCATE TABLE t", "default.db/t/")
        self.denied("CREATE TABLE u (a INT)", "default.db/u")
        self.denied("CREATE SCHEMA s", "s.db")
        self.denied("DROP TABLE t", "default.db/t")
        self.denied("ALTER TABLE t RENAME TO u", "default.db/")

    def test_snapshots_that_cannot_be_written(self):
        for folder, _, _ in list(os.walk(self.lake)):
            self.chmod(folder, 0o777)
        self.chmod(self.table_folder("t") + "/snapshot", 0o555)
        self.denied("INSERT INTO t VALUES (2)", "default.db/t/snapshot")

    def test_files_that_cannot_be_read(self):
        for pattern in ("bucket-0/data-*", "manifest/manifest-list-*-1", "manifest/manifest-[!l]*", "snapshot/snapshot-1",
                        "schema/schema-0"):
            with self.subTest(pattern):
                path = glob.glob(f"{self.table_folder('t')}/{pattern}")[0]
                mode = os.stat(path).st_mode
                os.chmod(path, 0)
                try:
                    self.denied_to_read(path)
                finally:
                    os.chmod(path, mode)

    def denied_to_read(self, path):
        done = kelda(self.lake, "-c", "SELECT * FROM t", prefix=self.prefix, cwd="/")
        self.check_civil(done)
        self.assertEqual(done.code, 1, done.out)
        self.assertRegex(done.err, "(?i)permission denied")
        self.assertIn(os.path.basename(path), done.err)

    def test_warehouse_that_cannot_be_entered(self):
        self.chmod(self.lake, 0)
        done = kelda(self.lake, "-c", "SELECT * FROM t", prefix=self.prefix, cwd="/")
        self.check_civil(done)
        self.assertEqual(done.code, 1)
        self.assertRegex(done.err, r"(?i)error: .*lake.*permission denied|error: .*permission denied.*lake")


class FullDisk(ProgramTest):
    def setUp(self):
        super().setUp()
        if not IS_ROOT:
            self.skipTest("only root can mount a small file system")
        os.mkdir(self.lake)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "kelda-safety", self.lake], capture_output=True, text=True)
        if done.returncode != 0:
            self.skipTest(f"mounting a tmpfs is not allowed here: {done.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.lake], check=True)
        self.run_ok("CREATE TABLE t (a BIGINT, s STRING)", "INSERT INTO t VALUES (1, 'x')")
        # Texts that no codec makes small: 100,000 rows need more than 6 MB.
        self.large = "SELECT i, md5(i::VARCHAR) || md5((i + 7)::VARCHAR) || md5((i * 3)::VARCHAR) FROM range({}) t(i)"

    def test_insert_larger_than_the_disk(self):
        before = files_below(self.lake)
        for statement in ("INSERT INTO t ", "INSERT OVERWRITE t ", "CREATE TABLE u AS "):
            with self.subTest(statement):
                self.run_error(statement + self.large.format(200000), "(?i)no space left on device", "default.db/[tu]/")
                self.assertEqual(files_below(self.lake), before)
        self.assertEqual(self.run_ok("SELECT * FROM t"), '{"a":1,"s":"x"}\n')
        self.run_ok("INSERT INTO t VALUES (2, 'y')")
        self.assertEqual(self.run_ok("SELECT * FROM t ORDER BY a"), '{"a":1,"s":"x"}\n{"a":2,"s":"y"}\n')

    def test_no_byte_left(self):
        """Whatever the last free bytes allow: the data, a manifest, a list, the snapshot, or nothing."""
        ballast = os.path.join(self.lake, "ballast")
        rows = 1
        for free_kb in (0, 4, 8, 12, 16, 20, 24, 28, 32, 40):
            with self.subTest(free_kb=free_kb):
                with open(ballast, "wb", buffering=0) as stream:
                    try:
                        while True:
                            stream.write(b"\1" * 4096)
                    except OSError:
                        pass
                os.truncate(ballast, max(os.path.getsize(ballast) // 4096 * 4096 - free_kb * 1024, 0))
                before = names_below(self.lake)
                done = kelda(self.lake, "-c", "INSERT INTO t VALUES (2, 'y')")
                self.check_civil(done)
                os.remove(ballast)
                if done.code == 0:
                    rows += 1
                else:
                    self.assertRegex(done.err, "(?i)no space left on device")
                    self.assertEqual(names_below(self.lake), before - {"ballast"})
                self.assertEqual(self.run_ok("SELECT count(*) AS n, count(s) AS m FROM t"), f'{{"n":{rows},"m":{rows}}}\n')
        self.assertGreater(rows, 1)
        self.run_ok("INSERT INTO t VALUES (3, 'z')")
        self.assertEqual(self.run_ok("SELECT count(*) AS n FROM t"), f'{{"n":{rows + 1}}}\n')


class Kills(ProgramTest):
    KILLS = 66
    ROWS = 8000

    def test_kill_at_any_moment_of_an_insert(self):
        """After each kill all or nothing of that INSERT is there; the rows of attempt k carry the mark k."""
        self.run_ok("CREATE TABLE t (k INT, i BIGINT, s STRING, p INT) PARTITIONED BY (p)")
        insert = f"INSERT INTO t SELECT {{}}, i, md5(i::VARCHAR), i % 3 FROM range({self.ROWS}) t(i)"
        begin = time.monotonic()
        self.run_ok(insert.format(1000))
        whole_seconds = time.monotonic() - begin
        ended = {1000}
        for k in range(self.KILLS):
            # Evenly over the whole life of the process and a little beyond.
            process = subprocess.Popen([program.PROGRAM, self.lake, "-c", insert.format(k)], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
            time.sleep(whole_seconds * 1.1 * k / self.KILLS)
            process.kill()
            _, err = process.communicate()
            self.assertIn(process.returncode, (0, -signal.SIGKILL), err)
            if process.returncode == 0:
                ended.add(k)
            if k % 6 == 5:
                present = self.check_table(k, ended)
        self.assertLess(len(present), self.KILLS, "no kill came in time")

    def check_table(self, k, ended):
        out = self.run_ok("SELECT k, count(*) AS n, count(DISTINCT i) AS d, sum(i)::BIGINT AS s FROM t GROUP BY k")
        present = set()
        for line in out.splitlines():
            row = json.loads(line)
            self.assertEqual((row["n"], row["d"], row["s"]), (self.ROWS, self.ROWS, self.ROWS * (self.ROWS - 1) // 2), row)
            present.add(row["k"])
        self.assertLessEqual(ended, present, "an INSERT that had ended is lost")
        # The next one works.
        self.run_ok(f"INSERT INTO t VALUES ({2000 + k}, 0, 'next', 0)", "INSERT OVERWRITE t SELECT * FROM t WHERE k < 2000")
        self.assertEqual(self.run_ok("SELECT count(*) AS n FROM t"), f'{{"n":{len(present) * self.ROWS}}}\n')
        return present


class Interrupts(ProgramTest):
    def test_long_insert(self):
        self.run_ok("CREATE TABLE t (a BIGINT, s STRING) WITH ('target-file-size' = '2 mb')", "INSERT INTO t VALUES (1, 'x')")
        before = files_below(self.lake)
        for statement in ("INSERT INTO t", "INSERT OVERWRITE t", "CREATE TABLE u AS"):
            with self.subTest(statement):
                process = subprocess.Popen([program.PROGRAM, self.lake, "-c", statement +
                                            " SELECT i AS a, md5(i::VARCHAR) AS s FROM range(2000000000) t(i)"],
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                table = self.table_folder("u" if statement.startswith("CREATE") else "t")
                wanted = 1 + len(glob.glob(table + "/bucket-0/*"))
                deadline = time.monotonic() + 60
                while len(glob.glob(table + "/bucket-0/*")) < wanted and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertGreaterEqual(len(glob.glob(table + "/bucket-0/*")), wanted, "no files came")
                begin = time.monotonic()
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 130, err)
                self.assertRegex(err, "error: interrupted")
                self.assertLess(time.monotonic() - begin, 10, "slow to stop")
                self.assertEqual(files_below(self.lake), before)
        self.assertEqual(self.run_ok("SELECT * FROM t"), '{"a":1,"s":"x"}\n')
        self.run_ok("INSERT INTO t VALUES (2, 'y')")
        self.assertEqual(self.run_ok("SELECT count(*) AS n FROM t"), '{"n":2}\n')


class Competitors(ProgramTest):
    INSERTS = 200

    def test_two_processes_insert_into_one_table(self):
        self.run_ok("CREATE TABLE t (who INT, i INT)")
        processes = []
        for who in (1, 2):
            process = subprocess.Popen([program.PROGRAM, self.lake, "-f", "-"], stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            processes.append(process)
        for who, process in enumerate(processes):
            process.stdin.write("".join(f"INSERT INTO t VALUES ({who}, {i});\n" for i in range(self.INSERTS)))
            process.stdin.close()
        for process in processes:
            err = process.stderr.read()
            process.stderr.close()
            self.assertEqual(process.wait(timeout=180), 0, err)
        total = 2 * self.INSERTS
        self.assertEqual(self.run_ok("SELECT count(*) AS n, count(DISTINCT who * 1000 + i) AS d, min(i) AS a, max(i) AS b FROM t"),
                         f'{{"n":{total},"d":{total},"a":0,"b":{self.INSERTS - 1}}}\n')
        snapshots = sorted(os.listdir(self.table_folder("t") + "/snapshot"))
        self.assertEqual(len([name for name in snapshots if name.startswith("snapshot-")]), total)
        with open(self.table_folder("t") + "/snapshot/LATEST") as stream:
            self.assertEqual(stream.read(), str(total))
        both, numbers = set(), []
        for n in range(1, total + 1):
            with open(self.table_folder("t") + f"/snapshot/snapshot-{n}") as stream:
                snapshot = json.load(stream)
            self.assertEqual((snapshot["id"], snapshot["totalRecordCount"], snapshot["deltaRecordCount"]), (n, n, 1))
            both.add(snapshot["commitUser"])
            numbers.append(snapshot["commitUser"])
        turns = sum(a != b for a, b in zip(numbers, numbers[1:]))
        self.assertGreater(turns, 10, "the processes did not meet")
        # Only files that the last snapshot or an older one names.
        data = glob.glob(self.table_folder("t") + "/bucket-0/*")
        self.assertEqual(len(data), total)
