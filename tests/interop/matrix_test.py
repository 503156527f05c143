#!/usr/bin/env python3
"""The interop matrix: every type and feature x format x writer x reader, each cell compared row by row.

    tests/interop/matrix_test.py [--kelda PROGRAM] [--only PREFIX] [--keep]

Prints the matrix (`ok`, `fail`, or `-` where a peer cannot do it), what is behind each `fail`, the reasons of
every `-`, and at the end `N cells, N ok, N failed, N not possible` and the same as `N passed, N failed, N skipped`.
A cell that is declared not possible is tried all the same, as far as there is a call to try; if it works, it fails.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import engines
import matrix_cases as cases
import matrix_limits
import values

NAMES = {"java": "Java", "kelda": "Kelda", "python": "pypaimon"}


class Table:
    """A table, how it comes about, and what became of it."""

    def __init__(self, name, fields, steps, want, partition=(), options=None):
        self.name, self.fields, self.steps = name, fields, steps
        self.want = want  # rows, or another table that Java reads
        self.partition, self.options = partition, options or {}
        self.readers = {"java"} if isinstance(want, Table) else set()
        self.queries = []  # (SQL, expected line) of Kelda
        self.errors = {}  # engine or "write" -> message
        self.lines = {}  # engine -> lines read
        self.answers = []

    def engine_of(self, round_number):
        return self.steps[round_number][0] if round_number < len(self.steps) and "write" not in self.errors else None

    def rows(self, reader):
        """Comparable rows as `reader` sees them; raises what went wrong."""
        for key in ("write", reader):
            if key in self.errors:
                raise engines.EngineError(f"{self.name}: {self.errors[key]}")
        return values.canonical_rows(self.lines[reader], self.fields)

    def wanted(self):
        return self.want.rows("java") if isinstance(self.want, Table) else values.canonical_rows(self.want, self.fields)


def difference(got, want):
    """Empty if they are the same."""
    if got == want:
        return ""
    more = collections.Counter(got) - collections.Counter(want)
    less = collections.Counter(want) - collections.Counter(got)
    return (f"{len(got)} rows, want {len(want)}; missing {list(less)[:1]}, extra {list(more)[:1]}")[:900]


class Cell:
    def __init__(self, feature, column, form, table=None, check=None, limit=None, like=None):
        self.feature, self.column, self.form, self.table, self.check = feature, column, form, table, check
        self.like = like  # a table that Java reads the way it has to be
        self.limit = limit or matrix_limits.reason(feature, column, form)

    def judge(self):
        """(`ok`, `fail` or `-`, detail)."""
        if self.table is None:
            return "-", self.limit
        try:
            want = self.like.rows("java") if self.like else self.table.wanted()
            problem = difference(self.table.rows(self.column[1]), want)
            if not problem and self.check:
                problem = self.check(self.table)
        except (engines.EngineError, ValueError, KeyError) as error:
            problem = str(error)
        if self.limit:
            return ("-", self.limit) if problem else ("fail", f"works, though it is declared not possible: {self.limit}")
        return ("fail", problem) if problem else ("ok", "")


# ---------------------------------------------------------------- tables and cells


class Plan:
    def __init__(self):
        self.tables, self.cells = {}, []

    def table(self, name, *arguments, **named):
        self.tables[name] = Table(name, *arguments, **named)
        return self.tables[name]

    def cell(self, feature, column, form, table, check=None, limit=None, like=None):
        if table:
            table.readers.add(column[1])
        if like:
            like.readers.add("java")
        self.cells.append(Cell(feature, column, form, table, check, limit, like))

    def written_by_each(self, feature, number, form, fields, rows, partition=(), options=None):
        """One table of each writer, read by the others; {writer: table}. What the writers' ORC cannot do is left out of the rows."""
        codecs = cases.COMPRESSIONS[form]
        all_rows = {writer: rows for writer in ("java", "kelda", "python")}
        if form == "orc":
            tame = cases.tamed_rows(rows, fields, True)
            all_rows = dict.fromkeys(("java", "kelda"), cases.tamed_rows(rows, fields, False)) | {"python": tame}
            if tame != all_rows["kelda"]:
                all_rows["kelda_tame"] = tame
        out = {}
        for at, (writer, some) in enumerate(all_rows.items()):
            codec = codecs[(number // 3 + at) % len(codecs)]
            if writer == "python" and form == "orc" and codec == "none":
                codec = "zstd"  # the word is another there: see the row of this compression
            out[writer] = self.written(f"{form}.t{number}_{writer}", writer.removesuffix("_tame"), fields, some, partition,
                                       {"file.format": form, "file.compression": codec, **(options or {})})
        for writer, reader in cases.COLUMNS:
            self.cell(feature, (writer, reader), form, out.get("kelda_tame") if reader == "python" and "kelda_tame" in out else out[writer])
        return out

    def written(self, name, writer, fields, rows, partition, options):
        """A table, in buckets with two commits; pypaimon has its tables made by Java."""
        half = len(rows) // 2 if "bucket" in options else 0
        steps = [("java" if writer == "python" else writer, "create")]
        steps += [(writer, "write", part, fields) for part in (rows[:half], rows[half:]) if part]
        return self.table(name, fields, steps, rows, partition, options)


def plan_types(plan):
    for name, kinds in cases.TYPES.items():
        fields = [["id", "INT NOT NULL"]] + [[f"c{i}", kind] for i, kind in enumerate(kinds)]
        rows = cases.rows_of(fields, name)
        for form in cases.FORMATS:
            plan.written_by_each(name, len(plan.tables), form, fields, rows)


def plan_odd(plan):
    for name, (fields, rows, writers) in cases.ODD_IN_ORC.items():
        for form in cases.FORMATS:
            number = len(plan.tables)
            made = {w: plan.written(f"{form}.t{number}_{w}", w, fields, rows, (), {"file.format": form}) for w in ("java", "kelda", "python")}
            for column in cases.COLUMNS:
                odd = form == "orc" and "python" not in column and column[0] in writers
                plan.cell(name, column, form, made[column[0]], like=made["java"] if odd else None)


def plan_compressions(plan):
    fields = [["id", "INT"], ["n", "BIGINT"], ["d", "DOUBLE"], ["m", "DECIMAL(12, 2)"], ["s", "STRING"], ["u", "STRING"],
              ["t", "TIMESTAMP(6)"], ["a", cases.array("INT")]]
    rows = [{"id": i, "n": i * i * 1000003 % 10 ** 12, "d": i / 7, "m": f"{i * 37 % 99991}.{i % 100:02}", "s": f"word {i % 17}",
             "u": f"{i * 2654435761 % 2**32:08x}", "t": f"2024-05-14T10:{i // 60 % 60:02}:{i % 60:02}.{i:06}",
             "a": list(range(i % 5)) if i % 7 else None} for i in range(1500)]
    for codec in ["zstd", "snappy", "gzip, zlib, deflate", "lz4", "none"]:
        for form in cases.FORMATS:
            own = [c for c in codec.split(", ") if c in cases.COMPRESSIONS[form]]
            if form == "avro" and codec == "none":
                own = ["null"]
            if own:
                plan.written_by_each(f"compression {codec}", len(plan.tables), form, fields, rows, options={"file.compression": own[0]})
            else:
                for column in cases.COLUMNS:
                    plan.cell(f"compression {codec}", column, form, None, limit="Avro has no lz4")


def plan_partitions(plan):
    for name, kinds in cases.PARTITIONS.items():
        fields = [["id", "INT"]] + [[f"p{i}", kind] for i, kind in enumerate(kinds)] + [["v", "STRING"]]
        rows = cases.rows_of([f for f in fields if f[0] in ("id", "v")], name, 12)
        for i, r in enumerate(rows):
            for at, kind in enumerate(kinds):
                ends = cases.SPECIAL_TEXTS if kind == "STRING" else cases.edges(values.Type(kind))[:6] + [None]
                r[f"p{at}"] = ends[(i // (at + 1)) % len(ends)]
        rows = [{f[0]: r[f[0]] for f in fields} for r in rows]
        for form in cases.FORMATS:
            plan.written_by_each(f"partition {name}", len(plan.tables), form, fields, rows, [f"p{i}" for i in range(len(kinds))])


def plan_buckets(plan):
    for name, kinds in cases.BUCKETS.items():
        fields = [["id", "INT"]] + [[f"k{i}", kind] for i, kind in enumerate(kinds)]
        rows = cases.rows_of(fields, name, 20)
        function = name.split(":")[0]
        keys = [f[0] for f in fields[1:]]
        for form in cases.FORMATS:
            options = {"bucket": "4", "bucket-key": ",".join(keys), "bucket-function.type": function}
            made = plan.written_by_each(f"bucket {name}", len(plan.tables), form, fields, rows, options=options)
            # Which bucket a row is in: Kelda finds each key of Java's table where its own function says.
            seen = {}
            for r in made["java"].want:
                seen.setdefault(json.dumps([r[k] for k in keys]), []).append(r["id"])
            for key, ids in list(seen.items())[:8]:
                tests = [f"{k} IS NULL" if v is None else f"{k} = {values.sql_literal(v, values.Type(kind))}"
                         for k, v, kind in zip(keys, json.loads(key), kinds)]
                if not any(v in (0, -0.0) and kind == "DOUBLE" for v, kind in zip(json.loads(key), kinds)):
                    made["java"].queries.append((f"SELECT list(id ORDER BY id) AS i FROM {made['java'].name} WHERE {' AND '.join(tests)}",
                                                 {"i": ids}))
            for cell in plan.cells[-len(cases.COLUMNS):]:
                if cell.column == ("java", "kelda"):
                    cell.check = lambda t: difference([json.dumps(a) for a in t.answers], [json.dumps(q[1]) for q in t.queries])
                elif cell.column == ("kelda", "java"):
                    cell.check = lambda t, other=made["java"]: same_buckets(t, other)


def same_buckets(table, other):
    def of(t):
        sums = collections.Counter()
        for f in t.files:
            sums[f["bucket"]] += f["rowCount"]
        return [f"bucket {b}: {n} rows" for b, n in sorted(sums.items())]
    return difference(of(table), of(other))


def plan_histories(plan):
    for name, (first, *changes) in cases.HISTORIES.items():
        for form in cases.FORMATS:
            stages = [first]
            for some in changes:
                stages.append(cases.change_all(stages[-1], some))
            batches = [cases.rows_of(fields, f"{name}{i}", 6, i * 1000) for i, fields in enumerate(stages)]
            if form == "orc":
                batches = [cases.tamed_rows(batch, fields, True) for batch, fields in zip(batches, stages)]
            if name == "narrower numbers":
                # What does not fit any more is another question.
                for batch in batches:
                    for r in batch:
                        r.update({k: (v if k == "c" else v % 100) for k, v in r.items() if isinstance(v, int) and k != "id"})
            number = len(plan.tables)
            writers = {"java": ["java"] * 3, "kelda": ["kelda"] * 3, "python": ["python"] * 3, "turn_java": ["java", "kelda", "java"],
                       "turn_kelda": ["kelda", "java", "kelda"]}
            made = {}
            for writer, turns in writers.items():
                steps = [("java" if writer == "python" else turns[0], "create", first)]
                for i, engine in enumerate(turns):
                    if i:
                        # In turns, the columns are changed by the one who does not write next.
                        changer = "java" if writer == "python" else turns[i - 1] if "turn" in writer else engine
                        steps.append((changer, "alter", changes[i - 1]))
                    steps.append((engine, "write", batches[i], stages[i]))
                made[writer] = plan.table(f"{form}.h{number}_{writer}", stages[-1], steps, made.get("java"), (),
                                          {"file.format": form, "file.compression": cases.COMPRESSIONS[form][number % 4]})
            made["java"].want = made["java"]
            made["java"].readers.add("java")
            for column in cases.COLUMNS:
                plan.cell(f"history: {name}", column, form, made[column[0]])
            plan.cell(f"history in turns: {name}", ("java", "kelda"), form, made["turn_java"])
            plan.cell(f"history in turns: {name}", ("kelda", "java"), form, made["turn_kelda"])
            plan.cell(f"history in turns: {name}", ("kelda", "python"), form, made["turn_kelda"])


def plan_indexes(plan):
    fields = cases.INDEXED
    rows = [{"id": i, "n": None if i % 11 == 0 else (i // 50 * 9 + i % 7) * 1000003 % 2001 - 1000, "s": "" if i % 13 == 0 else f"é{i // 50 * 9 + i % 7}",
             "de": None if i % 11 == 0 else f"{i // 50 - 2}.{i % 7:02}", "da": f"20{10 + i // 50:02}-01-0{1 + i % 7}",
             "ok": None if i % 11 == 0 else i % 7 < 3} for i in range(300)]
    filters = [f"n = {rows[120]['n']}", "n < -500", "s = 'é30'", "s IN ('é3', 'none')", "de = -1.02", "de >= 2.5", "da = DATE '2012-01-03'", "ok",
               "n IS NULL", "NOT (n < 0 AND ok)", "n <> 12 AND s <> ''"]
    for kind, indexed in cases.INDEXES.items():
        for form in cases.FORMATS:
            number = len(plan.tables)
            made = {}
            for writer in ("java", "kelda"):
                options = {"file.format": form, f"file-index.{kind}.columns": indexed, "metadata.stats-mode": "none",
                           "file-index.in-manifest-threshold": "1 mb" if number % 4 < 2 else "100 b"}
                steps = [(writer, "create")] + [(writer, "write", rows[i:i + 100], fields) for i in (0, 100, 200)]
                made[writer] = plan.table(f"{form}.i{number}_{writer}", fields, steps, rows, (), options)
            table = made["java"]
            for text in filters:
                query = f"SELECT count(*) AS c, sum(id)::VARCHAR AS i FROM {table.name} WHERE {text}"
                table.queries += [(query, None), (query.replace(" FROM ", " FROM /* all */ "), None)]
            plan.cell(f"index {kind}", ("java", "kelda"), form, table, indexes_used)
            plan.cell(f"index {kind}", ("kelda", "java"), form, made["kelda"],
                      lambda t: indexes_used(t) or "".join(t.filtered[:-1]))
            made["kelda"].filtered = []
            plan.cell(f"index {kind}", ("kelda", "python"), form, made["kelda"])
            plan.cell(f"index {kind}", ("python", "kelda"), form, None, limit="pypaimon writes no file indexes")


def indexes_used(table):
    if not all(f["embeddedIndex"] or f["extraFiles"] for f in table.files):
        return "a file has no index"
    pairs = list(zip(table.answers[::2], table.answers[1::2]))
    wrong = [f"{table.queries[2 * i][0]}: {a}, without pruning {b}" for i, (a, b) in enumerate(pairs) if a != b]
    if table.queries and not any(a.get("c") for a, _ in pairs):
        return "no filter finds a row"
    return "; ".join(wrong)


def plan_deletions(plan):
    fields = [["id", "INT"], ["s", "STRING"], ["a", cases.array("INT")], ["dt", "STRING"]]
    rows = [{"id": i, "s": None if i % 5 == 0 else f"s{i}", "a": [i, None] if i % 3 else None, "dt": "ab"[i % 2]} for i in range(400)]
    for bits in ("32", "64"):
        for partition in ([], ["dt"]):
            for form in cases.FORMATS:
                name = f"deletion vectors, {bits} bits" + (", partitions" if partition else "")
                options = {"file.format": form, "deletion-vectors.enabled": "true", "deletion-vectors.bitmap64": str(bits == "64").lower(),
                           "compaction.min.file-num": "2"}
                steps = [("java", "create"), ("java", "write", rows[:150], fields), ("java", "write", rows[150:300], fields),
                         ("java", "delete", 3, 1), ("java", "write", rows[300:], fields), ("java", "delete", 4, 3)]
                left = [r for r in rows if not (r["id"] < 300 and r["id"] % 3 == 1) and r["id"] % 4 != 3]
                number = len(plan.tables)
                read = plan.table(f"{form}.d{number}", fields, steps, left, partition, options)
                packed = plan.table(f"{form}.d{number}_compacted", fields, steps + [("kelda", "compact")], left, partition, options)
                plan.cell(name, ("java", "kelda"), form, read)
                plan.cell(f"{name}, compacted", ("kelda", "java"), form, packed)
                plan.cell(f"{name}, compacted", ("kelda", "python"), form, packed)
                plan.cell(name, ("kelda", "java"), form, None, limit="Kelda has no DELETE with a condition yet")
                plan.cell(name, ("python", "kelda"), form, None, limit="pypaimon deletes rows of data-evolution tables only")


def plan_tracking(plan):
    fields = [["id", "INT"], ["s", "STRING"]]
    rows = cases.rows_of(fields, "tracking", 20)
    seen = fields + [["_ROW_ID", "BIGINT"], ["_SEQUENCE_NUMBER", "BIGINT"]]
    for form in cases.FORMATS:
        made = {}
        for writer in ("java", "kelda"):
            steps = [(writer, "create"), (writer, "write", rows[:9], fields), (writer, "write", rows[9:], fields)]
            made[writer] = plan.table(f"{form}.r{len(plan.tables)}_{writer}", seen, steps, None, (),
                                      {"file.format": form, "row-tracking.enabled": "true"})
            made[writer].system = "row_tracking"
            made[writer].readers.add("java")
        made["java"].want = made["java"]
        made["kelda"].want = made["java"]
        plan.cell("row tracking", ("java", "kelda"), form, made["java"])
        plan.cell("row tracking", ("kelda", "java"), form, made["kelda"])


# ---------------------------------------------------------------- running


class Runner:
    def __init__(self, program, scratch):
        self.warehouse = os.path.join(scratch, "warehouse")
        os.makedirs(self.warehouse)
        self._program = program
        self._scratch = scratch
        self._servers = {"java": engines.java_server(flags=("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")), "python": engines.pypaimon_server()}
        self._engines = {}
        for name, server in self._servers.items():
            os.makedirs(os.path.join(scratch, name))
            self._engines[name] = engines.Engine(server, self.warehouse, os.path.join(scratch, name))

    def close(self):
        for server in self._servers.values():
            server.close()

    def parallel(self, *calls):
        """Runs the three engines at once."""
        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            for future in [pool.submit(call) for call in calls]:
                future.result()

    def run(self, tables):
        for number in range(max(len(t.steps) for t in tables)):
            todo = {e: [t for t in tables if t.engine_of(number) == e] for e in ("java", "kelda", "python")}
            self.parallel(lambda: self.peer_steps("java", todo["java"], number), lambda: self.peer_steps("python", todo["python"], number),
                          lambda: self.kelda_steps(todo["kelda"], number))
        self.parallel(lambda: self.peer_reads("java", tables), lambda: self.peer_reads("python", tables), lambda: self.kelda_reads(tables))

    # ------------------------------------------------------------ Java and pypaimon

    def attempt(self, table, key, call):
        try:
            return call()
        except engines.EngineError as error:
            table.errors[key] = brief(str(error))
        return None

    def peer_steps(self, name, tables, number):
        for table in tables:
            _, verb, *given = table.steps[number]
            self.attempt(table, "write", lambda: self.peer_step(self._engines[name], table, verb, given))

    def peer_step(self, engine, table, verb, given):
        if verb == "create":
            engine.create(table.name, given[0] if given else table.fields[:len(table.fields) - 2 * hasattr(table, "system")],
                          table.partition, table.options)
        elif verb == "write":
            engine.write(table.name, given[0])
        elif verb == "alter":
            engine.call("alter", table.name, engine.file(json.dumps(given[0])))
        else:
            engine.call(verb, table.name, *map(str, given))

    def peer_reads(self, name, tables):
        engine = self._engines[name]
        for table in tables:
            if "write" in table.errors:
                continue
            if name in table.readers:
                if hasattr(table, "system"):
                    read = lambda: engine.call("system", table.name, table.system)
                else:
                    read = lambda: engine.read(table.name)
                table.lines[name] = self.attempt(table, name, read)
            if name == "java" and (".i" in table.name or "bucket" in table.options):
                table.files = self.attempt(table, name, lambda: engine.files(table.name))
            if name == "java" and hasattr(table, "filtered"):
                table.filtered = self.attempt(table, name, lambda: engine.call("filtered", table.name, "40", "7"))

    # ------------------------------------------------------------ Kelda, many statements in one process

    def kelda(self, statements):
        """Runs [(table, key, SQL, out)]; lines printed by a statement are appended to `out`, its error goes to the table."""
        if not statements:
            return
        text = []
        for number, (_, _, sql, _) in enumerate(statements):
            if "\n" in sql:
                raise ValueError("a statement is one line, its number tells whose error it is")
            text += [f"SELECT {number} AS kelda_cell;", sql + ";"]
        result = subprocess.run([self._program, self.warehouse, "-f", "-", "--keep-going", "--format", "jsonl", "--threads", "2"],
                                input="\n".join(text) + "\n", capture_output=True, text=True, encoding="utf-8", timeout=300)
        if result.returncode not in (0, 1):
            with open(os.path.join(self._scratch, "kelda.sql"), "w", encoding="utf-8") as file:
                file.write("\n".join(text) + "\n")
        at = None
        for line in filter(None, result.stdout.splitlines()):
            if line.startswith('{"kelda_cell":'):
                at = json.loads(line)["kelda_cell"]
            elif statements[at][3] is not None:
                statements[at][3].append(line)
        if at != len(statements) - 1:
            raise engines.EngineError(f"kelda ended with code {result.returncode} after statement {at}: {result.stderr[-2000:]}")
        for match in re.finditer(r"^error: standard input:(\d+): (.*(?:\n(?!error: ).*)*)", result.stderr, re.MULTILINE):
            table, key, sql, _ = statements[(int(match[1]) - 1) // 2]
            if table is None:
                raise engines.EngineError(f"{sql}: {match[2]}")
            table.errors.setdefault(key, f"{match[2].strip()} [{sql[:160]}]")

    def kelda_steps(self, tables, number):
        statements = []
        for table in tables:
            _, verb, *given = table.steps[number]
            if verb == "create":
                fields = given[0] if given else table.fields[:len(table.fields) - 2 * hasattr(table, "system")]
                sql = [values.sql_create(table.name, fields, table.partition, table.options)]
            elif verb == "write":
                sql = [values.sql_insert(table.name, given[1], given[0]).strip().rstrip(";").replace("\n", " ")]
            elif verb == "alter":
                sql = [cases.sql_change(table.name, change) for change in given[0]]
            else:
                sql = [f"CALL sys.compact(table => '{table.name}')"]
            statements += [(table, "write", text, None) for text in sql]
        if number == 0:
            statements = [(None, None, f"CREATE SCHEMA IF NOT EXISTS {form}", None) for form in cases.FORMATS] + statements
        self.kelda(statements)

    def kelda_reads(self, tables):
        statements, plain, unpruned = [], [], []
        for table in tables:
            if "kelda" not in table.readers or "write" in table.errors:
                continue
            table.lines["kelda"] = []
            source = table.name
            if hasattr(table, "system"):
                form, name = table.name.split(".")
                source = f'{form}."{name}${table.system}"'
            statements.append((table, "kelda", f"SELECT * FROM {source}", table.lines["kelda"]))
            for query, _ in table.queries:
                out = []
                table.answers.append(out)
                (unpruned if "/* all */" in query else plain).append((table, "kelda", query, out))
        self.kelda(statements + plain)
        if unpruned:
            self.kelda([(None, None, "SET kelda_disable_pruning = true", None)] + unpruned)
        for table in tables:
            table.answers = [json.loads(a[0]) if a else {} for a in table.answers]


def brief(text):
    """Of a stack trace the message at the top, of Python's the one at the end."""
    lines = [line for line in text.splitlines() if line.strip()]
    if "Traceback" in text:
        words = [line for line in lines if re.match(r"[\w.]+(Error|Exception)\b", line)]
        return (words or lines)[-1][:400]
    causes = [line for line in lines if line.startswith("Caused by")]
    return f"{lines[0][:400]}" + (f" ({causes[-1][:300]})" if causes else "")


# ---------------------------------------------------------------- printing


def print_matrix(cells, verdicts):
    width = max(len(c.feature) for c in cells)
    pad = lambda text, form: text.ljust(max(len(form), 4) + 1)
    wide = sum(len(pad("", f)) for f in cases.FORMATS)
    print(" " * width + "".join(" | " + f"{NAMES[w]} > {NAMES[r]}".ljust(wide) for w, r in cases.COLUMNS))
    print(" " * width + "".join(" | " + "".join(pad(f, f) for f in cases.FORMATS) for _ in cases.COLUMNS))
    table = {(c.feature, c.column, c.form): v[0] for c, v in zip(cells, verdicts)}
    for feature in dict.fromkeys(c.feature for c in cells):
        line = feature.ljust(width)
        for column in cases.COLUMNS:
            line += " | " + "".join(pad(table.get((feature, column, form), ""), form) for form in cases.FORMATS)
        print(line.rstrip())


def report(cells):
    verdicts = [cell.judge() for cell in cells]
    print_matrix(cells, verdicts)
    reasons = collections.defaultdict(list)
    for cell, (verdict, detail) in zip(cells, verdicts):
        where = f"{cell.feature}, {NAMES[cell.column[0]]} > {NAMES[cell.column[1]]}, {cell.form}"
        if verdict == "fail":
            print(f"fail {where}: {detail}")
        elif verdict == "-":
            reasons[detail].append(cell)
    for reason, some in reasons.items():
        print(f"- {reason}: {len(some)} cells")
    count = collections.Counter(v for v, _ in verdicts)
    print(f"{len(cells)} cells, {count['ok']} ok, {count['fail']} failed, {count['-']} not possible")
    print(f"{count['ok']} passed, {count['fail']} failed, {count['-']} skipped")
    return count["fail"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kelda", default=os.path.join(engines.ROOT, "build", "dev", "kelda"))
    parser.add_argument("--only", default="", help="rows whose name starts so")
    parser.add_argument("--keep", action="store_true", help="leave the warehouse and print where it is")
    options = parser.parse_args()
    if not os.path.exists(options.kelda):
        sys.exit(f"error: {options.kelda} does not exist; build it or give --kelda PROGRAM")
    for script in ("build_java.sh", "build_python.sh"):
        subprocess.run([os.path.join(engines.HERE, script)], check=True)
    plan = Plan()
    for part in (plan_types, plan_odd, plan_compressions, plan_partitions, plan_buckets, plan_histories, plan_indexes, plan_deletions, plan_tracking):
        part(plan)
    cells = [c for c in plan.cells if c.feature.startswith(options.only)]
    tables = {c.table.name: c.table for c in cells if c.table}
    tables.update({c.like.name: c.like for c in cells if c.like})
    tables.update({t.want.name: t.want for t in list(tables.values()) if isinstance(t.want, Table)})
    if any("bucket" in t.options for t in tables.values()):
        tables.update({n: t for n, t in plan.tables.items() if "bucket" in t.options and n.replace("java", "kelda") in tables})
    scratch = tempfile.mkdtemp(prefix="kelda-matrix-")
    runner = Runner(options.kelda, scratch)
    start = time.monotonic()
    try:
        runner.run(list(tables.values()))
    finally:
        runner.close()
        if options.keep:
            print(f"warehouse: {runner.warehouse}", flush=True)
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    good = report(cells)
    print(f"{len(tables)} tables in {time.monotonic() - start:.0f} s", file=sys.stderr)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
