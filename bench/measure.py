"""Running programs with time and peak memory, and the files and tables in which results are shown."""

import dataclasses
import json
import os
import statistics
import subprocess
import tempfile
import time


class BenchError(Exception):
    pass


@dataclasses.dataclass
class Run:
    seconds: float
    peak_rss_bytes: int
    output: str


def run(command, cwd=None, timeout=3600):
    """Runs `command` to its end; its standard output is kept, a failure is an error with what it printed."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd)
        # wait4 tells the peak of this child alone.
        deadline = start + timeout
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > deadline:
                process.kill()
                os.wait4(process.pid, 0)
                raise BenchError(f"{command[0]}: no end after {timeout} s")
            # Fine enough for programs of a few milliseconds, cheap for long ones.
            time.sleep(0.0002 if time.monotonic() - start < 0.5 else 0.01)
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        output = out.read().decode(errors="replace")
        if process.returncode != 0:
            err.seek(0)
            raise BenchError(f"{' '.join(command)[:400]}\n  exit code {process.returncode}: "
                             f"{err.read().decode(errors='replace')[-2000:]}")
    return Run(seconds, usage.ru_maxrss * 1024, output)


@dataclasses.dataclass
class Side:
    """Kelda or a peer in one benchmark."""

    name: str
    version: str
    seconds: list = dataclasses.field(default_factory=list)
    rows: int = 0
    peak_rss_bytes: int = 0
    output_bytes: int = 0

    def add(self, seconds, peak_rss_bytes=0, output_bytes=0):
        self.seconds.append(seconds)
        self.peak_rss_bytes = max(self.peak_rss_bytes, peak_rss_bytes)
        self.output_bytes = output_bytes

    @property
    def median(self):
        return statistics.median(self.seconds)

    def to_json(self):
        return {"name": self.name, "version": self.version, "seconds": [round(s, 6) for s in self.seconds],
                "rows_per_second": round(self.rows / self.median) if self.rows else 0,
                "peak_rss_bytes": self.peak_rss_bytes, "output_bytes": self.output_bytes}


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"cores": len(os.sched_getaffinity(0)), "memory_bytes": memory}


def folder_bytes(folder, suffix=".parquet"):
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(folder) for f in files
               if f.endswith(suffix))


def take_turns(runs, sides):
    """A B A B ...: calls each side's function `runs` times; `sides` are (side, function) pairs."""
    for _ in range(runs):
        for side, function in sides:
            os.sync()
            side.add(*function())


def megabytes(value):
    return f"{value / 1e6:,.0f} MB" if value else "-"


def time_text(seconds):
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def report(folder, name, scale, kelda, peers, goals, notes=""):
    """Writes <folder>/<name>.json and prints the same. `goals`: (text, met) pairs."""
    ratios = {peer.name: round(peer.median / kelda.median, 3) for peer in peers}
    result = {"name": name, "machine": machine(), "scale": scale, "kelda": kelda.to_json(),
              "peers": [peer.to_json() for peer in peers], "ratio": ratios,
              "goal": "; ".join(text for text, _ in goals) or None,
              "goal_met": all(met for _, met in goals) if goals else None}
    if notes:
        result["notes"] = notes
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2)
        file.write("\n")
    print(f"\n{name} (scale {scale:g})")
    print(f"  {'':24}{'median':>11}{'fastest':>11}{'slowest':>11}{'rows/s':>14}{'peak RSS':>12}{'output':>12}"
          f"{'ratio':>8}")
    for side in [kelda, *peers]:
        ratio = f"{ratios[side.name]:.2f}" if side.name in ratios else ""
        rate = f"{side.rows / side.median:,.0f}" if side.rows else "-"
        print(f"  {side.name:24}{time_text(side.median):>11}{time_text(min(side.seconds)):>11}"
              f"{time_text(max(side.seconds)):>11}{rate:>14}{megabytes(side.peak_rss_bytes):>12}"
              f"{megabytes(side.output_bytes):>12}{ratio:>8}")
    for text, met in goals:
        print(f"  goal {text}: {'met' if met else 'NOT met'}")
    if notes:
        print(f"  {notes}")
