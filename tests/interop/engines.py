"""The three engines, each behind the same few calls. Java and pypaimon stay in one process each."""

import json
import os
import subprocess
import tempfile
import threading

import values

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
JAVA_DIR = os.path.join(os.environ.get("KELDA_INTEROP_DIR", os.path.join(ROOT, "build", "interop")), "java")


class EngineError(Exception):
    pass


def java_command(*words, heap="-Xmx1g", flags=()):
    return ["java", heap, *flags, "--add-opens=java.base/java.nio=ALL-UNNAMED", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8",
            "-cp", f"{JAVA_DIR}/interop-1.jar:{JAVA_DIR}/lib/*", "kelda.interop.Main", *words]


class Server:
    """A process that answers a JSON array a line with a JSON object a line."""

    def __init__(self, command):
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
                                         text=True, encoding="utf-8")
        self._lock = threading.Lock()

    def call(self, *words):
        with self._lock:
            try:
                self._process.stdin.write(json.dumps(words) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            except BrokenPipeError:
                line = ""
        if not line:
            self._errors.seek(0)
            raise EngineError(f"{words[0]}: the process ended: {self._errors.read()[-2000:].decode(errors='replace')}")
        reply = json.loads(line)
        if "error" in reply:
            text = reply["error"]
            raise EngineError(f"{words}: {text if len(text) < 4000 else text[:2000] + ' ... ' + text[-2000:]}")
        return reply["lines"]

    def close(self):
        self._process.stdin.close()
        self._process.wait()


class Engine:
    """A warehouse as one of the peers sees it."""

    def __init__(self, server, warehouse, scratch):
        self._server = server
        self._warehouse = warehouse
        self._scratch = scratch

    def file(self, text):
        path = os.path.join(self._scratch, "input")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def create(self, table, fields, partition=(), options=None):
        spec = {"fields": fields, "partition": list(partition), "options": options or {}}
        self._server.call("create", self._warehouse, table, self.file(json.dumps(spec)))

    def write(self, table, rows):
        self._server.call("write", self._warehouse, table, self.file(values.json_lines(rows)))

    def read(self, table, snapshot=None):
        return self._server.call("read", self._warehouse, table, *([str(snapshot)] if snapshot else []))

    def files(self, table):
        return [json.loads(line) for line in self._server.call("files", self._warehouse, table)]

    def call(self, command, table, *words):
        return self._server.call(command, self._warehouse, table, *words)


def java_server(heap="-Xmx1g", flags=()):
    return Server(java_command("serve", heap=heap, flags=flags))


def pypaimon_server():
    python = os.path.join(ROOT, "build", "deps", "pypaimon-venv", "bin", "python")
    return Server([python, os.path.join(HERE, "pypaimon_tool.py"), "serve"])


class Kelda:
    """The program; a process for each call."""

    def __init__(self, program, warehouse):
        self._program = program
        self._warehouse = warehouse

    def sql(self, text):
        result = subprocess.run([self._program, self._warehouse, "-f", "-", "--format", "jsonl"], input=text,
                                capture_output=True, text=True, encoding="utf-8", timeout=120)
        if result.returncode != 0:
            raise EngineError(f"kelda: exit code {result.returncode}: {result.stderr[-1500:]}\n  {text[:300]}")
        return result.stdout.splitlines()

    def create(self, table, fields, partition=(), options=None):
        database = table.split(".")[0]
        self.sql(f"CREATE SCHEMA IF NOT EXISTS {database};\n{values.sql_create(table, fields, partition, options)};\n")

    def write(self, table, rows, fields):
        self.sql(values.sql_insert(table, fields, rows))

    def read(self, table, snapshot=None):
        at = f" AT (VERSION => {snapshot})" if snapshot else ""
        return [line for line in self.sql(f"SELECT * FROM {table}{at};\n") if line]
