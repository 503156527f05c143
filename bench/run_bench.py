#!/usr/bin/env python3
"""Benchmarks of Kelda, each against its peer in the same run.

    bench/run_bench.py [NAME...] [--scale S] [--runs N] [--threads N] [--kelda PROGRAM]

Without a NAME all of them run. --scale multiplies the rows (0.01 for a quick trial; the goals are for 1). Kelda and
the peer take turns on the same input; their rows are compared before anything is reported. Results are printed and
written to build/bench/<name>.json. A benchmark whose peer is missing, or whose rows differ, fails.
"""

import argparse
import fcntl
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, "tests", "interop"))

import engines  # noqa: E402
import measure  # noqa: E402
from measure import BenchError, Side  # noqa: E402

RESULTS = os.path.join(ROOT, "build", "bench")
WORK = os.path.join(RESULTS, "work")
DUCKDB = os.path.join(ROOT, "build", "deps", "duckdb-cli", "duckdb_cli", "duckdb")
BARE = os.path.join(ROOT, "build", "release", "duckdb_bare")

# Row i; tests/interop/java computes the same.
SOURCE_SQL = """
CREATE TABLE rows AS
SELECT i AS id,
       (h % 2147483647)::INTEGER AS n,
       (h % 2147483647)::DOUBLE * 0.001::DOUBLE AS d,
       ((h % 1000000000)::DECIMAL(18, 0) * 0.01)::DECIMAL(12, 2) AS m,
       'category_' || ((h // 128) % 100) AS low,
       h || '-' || i AS high
FROM (SELECT i, (i * 2654435761) % 4294967296 AS h FROM range({rows}) t(i))
"""
TABLE_COLUMNS = "id BIGINT, n INT, d DOUBLE, m DECIMAL(12, 2), low STRING, high STRING"
CHECKSUM = ("SELECT count(*) AS rows, bit_xor(hash(id, n, d, m, low, high)) AS bits, sum(id)::VARCHAR AS ids, "
            "sum(m)::VARCHAR AS money FROM {source}")
CLOCK = "SELECT epoch_us(get_current_timestamp()) AS bench_clock"
AGGREGATE = ("SELECT count(*) AS rows, sum(id)::VARCHAR AS ids, sum(n)::VARCHAR AS ns, max(d) AS d, "
             "sum(m)::VARCHAR AS money, min(low) AS low, max(high) AS high FROM {source}")
FILTER = ("SELECT count(*) AS rows, sum(id)::VARCHAR AS ids, max(high) AS high FROM {source} "
          "WHERE low = 'category_7' AND n BETWEEN 1000000000 AND 1100000000")


def version_of(command):
    return measure.run(command).output.strip().splitlines()[0]


def quoted(paths):
    return "[" + ", ".join(f"'{p}'" for p in paths) + "]"


class Bench:
    def __init__(self, options):
        self.scale = options.scale
        self.runs = options.runs
        self.threads = options.threads
        self.kelda_program = options.kelda
        self.kelda_version = version_of([self.kelda_program, "--version"])
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "fetch_deps.py"), "duckdb-cli"], check=True)
        self.duckdb_version = version_of([DUCKDB, "--version"])
        os.makedirs(WORK, exist_ok=True)

    # ------------------------------------------------------------ programs

    def kelda(self, warehouse, *statements, memory=None, output="jsonl"):
        command = [self.kelda_program, "--threads", str(self.threads), "--format", output, "--progress", "off"]
        if memory:
            command += ["--memory", memory]
        command += [warehouse]
        for statement in statements:
            command += ["-c", statement]
        return measure.run(command)

    def duckdb(self, *statements, database=":memory:"):
        command = [DUCKDB, "-jsonlines", database, "-c", f"SET threads = {self.threads}"]
        for statement in statements:
            command += ["-c", statement]
        return measure.run(command)

    def side(self, name, rows=0):
        versions = {"kelda": self.kelda_version, "duckdb": self.duckdb_version, "java": "paimon-bundle 1.4.2",
                    "duckdb-library": self.duckdb_version}
        return Side(name, versions[name], rows=rows)

    def fresh(self, name):
        folder = os.path.join(WORK, name)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        return folder

    def new_table(self, warehouse, table, columns=TABLE_COLUMNS, partition=""):
        self.kelda(warehouse, f"DROP TABLE IF EXISTS {table}", f"CREATE TABLE {table} ({columns}){partition}")

    def source(self, full_rows):
        """A DuckDB database with the rows of every writing benchmark; (path, rows)."""
        rows = max(1000, int(full_rows * self.scale))
        path = os.path.join(WORK, f"source_{rows}.duckdb")
        if not os.path.exists(path):
            print(f"making {rows:,} rows of input", flush=True)
            measure.run([DUCKDB, path + ".new", "-c", SOURCE_SQL.format(rows=rows)])
            os.rename(path + ".new", path)
        return path, rows

    @staticmethod
    def data_files(warehouse, table):
        folder = os.path.join(warehouse, "default.db", table)
        return sorted(os.path.join(d, f) for d, _, files in os.walk(folder) for f in files if f.endswith(".parquet"))

    def checksum(self, source, database=":memory:"):
        return self.duckdb(CHECKSUM.format(source=source), database=database).output.strip().splitlines()[-1]

    def same_rows(self, want, files, what):
        """`files`: paths, or a glob."""
        source = quoted(files) if isinstance(files, list) else f"'{files}'"
        got = self.checksum(f"read_parquet({source}, hive_partitioning = false)")
        if got != want:
            raise BenchError(f"{what} holds other rows: {got}, want {want}")

    @staticmethod
    def between_clocks(output):
        """Seconds between the last two clock lines, and the lines between them."""
        lines = [line for line in output.splitlines() if line.strip()]
        at = [i for i, line in enumerate(lines) if "bench_clock" in line]
        if len(at) < 2:
            raise BenchError(f"no clocks in {output[-500:]}")
        first, last = at[-2], at[-1]
        ticks = json.loads(lines[last])["bench_clock"] - json.loads(lines[first])["bench_clock"]
        return ticks / 1e6, lines[first + 1:last]

    # ------------------------------------------------------------ writing

    def append_write(self):
        """INSERT ... SELECT into a table, against COPY to Parquet with the same row groups and compression."""
        path, rows = self.source(20_000_000)
        want = self.checksum("rows", path)
        warehouse, out = self.fresh("append-write"), os.path.join(self.fresh("append-write-peer"), "out.parquet")
        attach = f"ATTACH '{path}' AS source (READ_ONLY)"

        def kelda_turn():
            self.new_table(warehouse, "t")
            done = self.kelda(warehouse, attach, "INSERT INTO t SELECT * FROM source.rows")
            return done.seconds, done.peak_rss_bytes, measure.folder_bytes(warehouse)

        kelda_turn()
        files = self.data_files(warehouse, "t")
        self.same_rows(want, files, "Kelda's table")
        group = self.duckdb("SELECT max(row_group_num_rows) AS n FROM "
                            f"parquet_metadata({quoted(files)})").output
        group_rows = json.loads(group.strip().splitlines()[-1])["n"]

        def duckdb_turn():
            if os.path.exists(out):
                os.remove(out)
            done = self.duckdb(attach, f"COPY (SELECT * FROM source.rows) TO '{out}' (FORMAT parquet, COMPRESSION zstd, "
                                       f"COMPRESSION_LEVEL 1, ROW_GROUP_SIZE {group_rows})")
            return done.seconds, done.peak_rss_bytes, os.path.getsize(out)

        duckdb_turn()
        self.same_rows(want, [out], "DuckDB's file")
        kelda, duckdb = self.side("kelda", rows), self.side("duckdb", rows)
        measure.take_turns(self.runs, [(kelda, kelda_turn), (duckdb, duckdb_turn)])
        self.same_rows(want, self.data_files(warehouse, "t"), "Kelda's table")
        ratio = duckdb.median / kelda.median
        measure.report(RESULTS, "append-write", self.scale, kelda, [duckdb], [("ratio >= 0.9", ratio >= 0.9)],
                       f"row groups of {group_rows:,} rows, zstd level 1, {self.threads} threads")

    def append_java(self):
        """The same rows through SQL and through Java's write API, both warmed up in their process.

        Neither reads a file in the time that counts: Java computes its rows as it writes them, Kelda has them in a
        temporary table, which its peak of memory includes.
        """
        path, rows = self.source(5_000_000)
        want = self.checksum("rows", path)
        warehouse, java_warehouse = self.fresh("append-java"), self.fresh("append-java-peer")
        insert = "INSERT INTO {} SELECT * FROM temp.given"

        def kelda_turn():
            for table in ("warm", "t"):
                self.new_table(warehouse, table)
            done = self.kelda(warehouse, f"ATTACH '{path}' AS source (READ_ONLY)",
                              "CREATE TEMP TABLE given AS SELECT * FROM source.rows", insert.format("warm"), CLOCK,
                              insert.format("t"), CLOCK)
            size = sum(os.path.getsize(f) for f in self.data_files(warehouse, "t"))
            return self.between_clocks(done.output)[0], done.peak_rss_bytes, size

        server = self.java_server()
        try:
            def java_turn():
                reply = json.loads(server.call("bench-append", java_warehouse, "default.t", str(rows),
                                               str(self.threads))[0])
                return reply["seconds"], reply["peak_rss_bytes"], reply["output_bytes"]

            java_turn()
            kelda, java = self.side("kelda", rows), self.side("java", rows)
            measure.take_turns(self.runs, [(kelda, kelda_turn), (java, java_turn)])
        finally:
            server.close()
        self.same_rows(want, self.data_files(warehouse, "t"), "Kelda's table")
        self.same_rows(want, self.data_files(java_warehouse, "t"), "Java's table")
        ratio = java.median / kelda.median
        measure.report(RESULTS, "append-java", self.scale, kelda, [java], [("ratio >= 5", ratio >= 5)],
                       f"{self.threads} threads each")

    def append_partitions(self):
        """2,000 partitions, rows of all of them mixed, inside 512 MB."""
        path, rows = self.source(20_000_000)
        want = self.checksum("rows", path)
        warehouse, out = self.fresh("append-partitions"), self.fresh("append-partitions-peer")
        attach = f"ATTACH '{path}' AS source (READ_ONLY)"
        select = "SELECT *, (id % 2000)::INTEGER AS p FROM source.rows"

        def kelda_turn():
            self.new_table(warehouse, "t", TABLE_COLUMNS + ", p INT", " PARTITIONED BY (p)")
            done = self.kelda(warehouse, attach, f"INSERT INTO t {select}", memory="512MB")
            return done.seconds, done.peak_rss_bytes, measure.folder_bytes(warehouse)

        def duckdb_turn():
            shutil.rmtree(out)
            done = self.duckdb(attach, "SET preserve_insertion_order = false", f"COPY ({select}) TO '{out}' "
                               "(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, PARTITION_BY (p))")
            return done.seconds, done.peak_rss_bytes, measure.folder_bytes(out)

        kelda, duckdb = self.side("kelda", rows), self.side("duckdb", rows)
        measure.take_turns(self.runs, [(kelda, kelda_turn), (duckdb, duckdb_turn)])
        self.same_rows(want, f"{warehouse}/default.db/t/*/*/*.parquet", "Kelda's table")
        self.same_rows(want, f"{out}/*/*.parquet", "DuckDB's files")
        count = json.loads(self.kelda(warehouse, "SELECT count(DISTINCT p) AS n FROM t").output)["n"]
        if count != min(2000, rows):
            raise BenchError(f"{count} partitions, want 2000")
        measure.report(RESULTS, "append-partitions", self.scale, kelda, [duckdb],
                       [("peak RSS < 1 GB", kelda.peak_rss_bytes < 1 << 30)],
                       f"Kelda with --memory 512MB; DuckDB without a limit; {len(self.data_files(warehouse, 't')):,} "
                       "files by Kelda")

    def unaware_compact(self):
        """2,000 INSERTs of 10,000 rows each become few files."""
        path, rows = self.source(20_000_000)
        files = max(20, int(2000 * self.scale))
        want = self.checksum("rows", path)
        made, warehouse, java_warehouse = (self.fresh("unaware-compact" + suffix) for suffix in ("-source", "", "-peer"))
        self.new_table(made, "t")
        inserts = [f"INSERT INTO t SELECT * FROM source.rows WHERE id >= {rows * i // files} AND id < {rows * (i + 1) // files}"
                   for i in range(files)]
        print(f"making a table of {files:,} files", flush=True)
        self.kelda(made, f"ATTACH '{path}' AS source (READ_ONLY)", ";".join(inserts))
        live = 'SELECT count(*) AS files, sum(record_count)::VARCHAR AS rows FROM "t$files"'

        def again(folder):
            shutil.rmtree(folder)
            shutil.copytree(made, folder)

        def compacted(folder, sides):
            sides.append(json.loads(self.kelda(folder, live).output))
            got = json.loads(self.kelda(folder, CHECKSUM.format(source="t")).output)
            if {k: str(v) for k, v in got.items()} != {k: str(v) for k, v in json.loads(want).items()}:
                raise BenchError(f"other rows after compaction: {got}, want {want}")

        mine, javas = [], []

        def kelda_turn():
            again(warehouse)
            done = self.kelda(warehouse, CLOCK, "CALL sys.compact(table => 't')", CLOCK)
            compacted(warehouse, mine)
            return self.between_clocks(done.output)[0], done.peak_rss_bytes

        server = self.java_server()
        try:
            def java_turn():
                again(java_warehouse)
                reply = json.loads(server.call("bench-compact", java_warehouse, "default.t", str(self.threads))[0])
                compacted(java_warehouse, javas)
                return reply["seconds"], reply["peak_rss_bytes"]

            java_turn()
            kelda, java = self.side("kelda", rows), self.side("java", rows)
            measure.take_turns(self.runs, [(kelda, kelda_turn), (java, java_turn)])
        finally:
            server.close()
        if mine[-1] != javas[-1]:
            raise BenchError(f"Kelda leaves {mine[-1]}, Java {javas[-1]}")
        ratio = java.median / kelda.median
        measure.report(RESULTS, "unaware-compact", self.scale, kelda, [java], [("ratio >= 4", ratio >= 4)],
                       f"{files:,} files become {mine[-1]['files']}, {self.threads} threads each, Java warmed up")

    # ------------------------------------------------------------ reading

    def scan(self):
        """A full aggregate and a selective filter, against read_parquet on the table's own files."""
        path, rows = self.source(20_000_000)
        warehouse = self.fresh("scan")
        self.new_table(warehouse, "t")
        self.kelda(warehouse, f"ATTACH '{path}' AS source (READ_ONLY)", "INSERT INTO t SELECT * FROM source.rows")
        files = self.data_files(warehouse, "t")
        size = sum(os.path.getsize(f) for f in files)
        for name, query in (("scan", AGGREGATE), ("scan-filter", FILTER)):
            answers = {}

            def turn(who, done):
                seconds, lines = self.between_clocks(done.output)
                answers.setdefault(who, json.loads(lines[0]))
                return seconds, done.peak_rss_bytes, size

            def kelda_turn():
                text = query.format(source="t")
                return turn("kelda", self.kelda(warehouse, text, CLOCK, text, CLOCK))

            def duckdb_turn():
                text = query.format(source=f"read_parquet({quoted(files)})")
                return turn("duckdb", self.duckdb(text, CLOCK, text, CLOCK))

            kelda, duckdb = self.side("kelda", rows), self.side("duckdb", rows)
            measure.take_turns(max(5, self.runs), [(kelda, kelda_turn), (duckdb, duckdb_turn)])
            if answers["kelda"] != answers["duckdb"]:
                raise BenchError(f"{name}: answers differ: {answers}")
            ratio = duckdb.median / kelda.median
            measure.report(RESULTS, name, self.scale, kelda, [duckdb], [("ratio >= 0.95", ratio >= 0.95)],
                           f"{len(files)} files, {answers['kelda']['rows']:,} rows found, {self.threads} threads")

    def index_skip(self):
        """One row by a value that minima and maxima do not tell, in 1,000 files with and without bloom filters."""
        path, rows = self.source(20_000_000)
        files = 1000
        warehouse = self.fresh("index-skip")
        bloom = (f" WITH ('file-index.bloom-filter.columns' = 'high', 'file-index.bloom-filter.high.items' = "
                 f"'{max(1, rows // files)}', 'file-index.bloom-filter.high.fpp' = '0.001')")
        for table, options in (("indexed", bloom), ("plain", "")):
            self.new_table(warehouse, table, TABLE_COLUMNS + ", p INT", " PARTITIONED BY (p)" + options)
            self.kelda(warehouse, f"ATTACH '{path}' AS source (READ_ONLY)",
                       f"INSERT INTO {table} SELECT *, (id % {files})::INTEGER AS p FROM source.rows", memory="1GB")
        wanted = json.loads(self.duckdb(f"SELECT high FROM rows WHERE id = {rows // 2}", database=path).output
                            .strip().splitlines()[-1])["high"]
        answers = {}

        def turn(table):
            query = f"SELECT count(*) AS rows, sum(id)::VARCHAR AS ids FROM {table} WHERE high = '{wanted}'"
            done = self.kelda(warehouse, query, CLOCK, query, CLOCK)
            seconds, lines = self.between_clocks(done.output)
            answers[table] = json.loads(lines[0])
            return seconds, done.peak_rss_bytes

        with_index = self.side("kelda", rows)
        without = Side("without index", self.kelda_version, rows=rows)
        measure.take_turns(max(5, self.runs), [(with_index, lambda: turn("indexed")), (without, lambda: turn("plain"))])
        if answers["indexed"] != answers["plain"] or answers["plain"]["ids"] != str(rows // 2):
            raise BenchError(f"answers differ: {answers}")
        ratio = without.median / with_index.median
        measure.report(RESULTS, "index-skip", self.scale, with_index, [without], [("ratio >= 20", ratio >= 20)],
                       f"{len(self.data_files(warehouse, 'indexed')):,} files of {rows // files:,} rows, "
                       f"{self.threads} threads")

    def many_files(self, files, partitions):
        """A warehouse whose table `many` names so many data files; they do not exist."""
        warehouse = os.path.join(WORK, f"plan_{files}")
        if not os.path.exists(os.path.join(warehouse, "done")):
            shutil.rmtree(warehouse, ignore_errors=True)
            print(f"making a table of {files:,} files", flush=True)
            server = self.java_server()
            try:
                server.call("bench-plan-make", warehouse, "default.many", str(files), str(partitions))
            finally:
                server.close()
            with open(os.path.join(warehouse, "done"), "w", encoding="ascii"):
                pass
        return warehouse

    def plan(self):
        """Which files to read of 100,000, with a filter on the partition.

        plan: both warmed up, Java reads the manifests each time; plan-cached: both as users have them, Java with its
        catalog's caches; plan-cold: the first plan of a new process, without its start.
        """
        partitions = 100
        files = max(2000, int(100_000 * self.scale) // 2000 * 2000)
        rows = files // partitions * 1000
        warehouse = self.many_files(files, partitions)
        query = "SELECT count(*) AS rows FROM many WHERE pt = 7"

        def kelda_turn(warm_ups):
            done = self.kelda(warehouse, *[query] * warm_ups, CLOCK, query, CLOCK)
            seconds, lines = self.between_clocks(done.output)
            if json.loads(lines[0])["rows"] != rows:
                raise BenchError(f"Kelda counts {lines[0]}, want {rows}")
            return seconds, done.peak_rss_bytes

        def java_turn(server, command):
            reply = json.loads(server.call(command, warehouse, "default.many", "pt", "7")[0])
            if reply["rows"] != rows or reply["files"] != files // partitions:
                raise BenchError(f"Java plans {reply}, want {rows} rows")
            return reply["seconds"], reply["peak_rss_bytes"]

        def java_new_process():
            server = self.java_server()
            try:
                return java_turn(server, "bench-plan")
            finally:
                server.close()

        def compare(name, warm_ups, java_function, how, with_goal):
            kelda, java = self.side("kelda"), self.side("java")
            measure.take_turns(max(5, self.runs), [(kelda, lambda: kelda_turn(warm_ups)), (java, java_function)])
            ratio = java.median / kelda.median
            goals = [("ratio >= 5", ratio >= 5), ("peak RSS < 200 MB", kelda.peak_rss_bytes < 200e6)]
            measure.report(RESULTS, name, self.scale, kelda, [java], goals if with_goal else [],
                           f"{files:,} data files, {files // partitions:,} of them planned; {how}")

        warm_ups = 5
        for name, command, how, with_goal in (
                ("plan", "bench-plan", "warmed up, Java without caches", True),
                ("plan-cached", "bench-plan-cached", "warmed up, Java with its catalog's caches", False)):
            server = self.java_server()
            try:
                for _ in range(warm_ups):
                    java_turn(server, command)
                compare(name, warm_ups, lambda: java_turn(server, command), how, with_goal)
            finally:
                server.close()
        compare("plan-cold", 0, java_new_process, "the first plan of a new process, without its start", False)

    # ------------------------------------------------------------ start

    def start(self):
        """From nothing to the answer of `select 1`."""
        subprocess.run(["cmake", "--build", os.path.join(ROOT, "build", "release"), "--target", "duckdb_bare"],
                       check=True, stdout=subprocess.DEVNULL)
        kelda, bare, cli = self.side("kelda"), self.side("duckdb-library"), self.side("duckdb")

        def turn(*command):
            def function():
                done = measure.run(list(command))
                if "1" not in done.output:
                    raise BenchError(f"{command[0]} answered {done.output!r}")
                return done.seconds, done.peak_rss_bytes
            return function

        turns = [(kelda, turn(self.kelda_program, "-c", "select 1")), (bare, turn(BARE, "select 1")),
                 (cli, turn(DUCKDB, "-c", "select 1"))]
        for _, function in turns:
            function()
        measure.take_turns(max(20, self.runs), turns)
        measure.report(RESULTS, "start", self.scale, kelda, [bare, cli],
                       [("time <= 1.5 x duckdb-library", kelda.median <= 1.5 * bare.median),
                        ("time <= 2.5 x duckdb", kelda.median <= 2.5 * cli.median)])

    @staticmethod
    def java_server():
        subprocess.run([os.path.join(engines.HERE, "build_java.sh")], check=True)
        return engines.java_server(heap="-Xmx3g")


def main():
    benchmarks = {"append-write": Bench.append_write, "append-java": Bench.append_java,
                  "append-partitions": Bench.append_partitions, "unaware-compact": Bench.unaware_compact,
                  "scan": Bench.scan, "index-skip": Bench.index_skip,
                  "plan": Bench.plan,
                  "start": Bench.start}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(benchmarks))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--kelda", default=os.path.join(ROOT, "build", "release", "kelda"))
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in benchmarks]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(benchmarks)}")
    if options.runs < 3:
        parser.error("--runs must be 3 or more")
    if not os.path.exists(options.kelda):
        parser.error(f"{options.kelda} does not exist; run `make build`")
    os.makedirs(RESULTS, exist_ok=True)
    guard = open(os.path.join(RESULTS, ".lock"), "w", encoding="ascii")  # held until the process ends
    try:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit(f"error: another run holds {guard.name}; two at once would spoil each other's files and times")
    bench = Bench(options)
    failed = []
    for name in options.names or benchmarks:
        try:
            benchmarks[name](bench)
        except (BenchError, engines.EngineError, subprocess.CalledProcessError, OSError) as error:
            failed.append(name)
            print(f"\n{name}: FAILED: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
