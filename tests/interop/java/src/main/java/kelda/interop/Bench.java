package kelda.interop;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryRowWriter;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataTypes;

/** One timed run of Java's engine each; the caller keeps the process, so that it is warm, and repeats. */
final class Bench {
    private Bench() {}

    /** Writes ROWS rows; row i is computed as in bench/run_bench.py. */
    static List<String> append(Catalog catalog, Identifier id, long rows, int threads) throws Exception {
        catalog.dropTable(id, true);
        catalog.createTable(id, Main.benchColumns().build(), false);
        FileStoreTable table = (FileStoreTable) catalog.getTable(id);
        System.gc();
        long start = System.nanoTime();
        List<CommitMessage> messages = Collections.synchronizedList(new ArrayList<>());
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        List<Thread> workers = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            long from = rows * t / threads;
            long to = rows * (t + 1) / threads;
            Thread worker = new Thread(() -> {
                try {
                    messages.addAll(appendRange(table, from, to));
                } catch (Throwable e) {
                    failures.add(e);
                }
            });
            workers.add(worker);
            worker.start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException("append failed", failures.get(0));
        }
        try (TableCommitImpl c = table.newCommit("bench")) {
            c.commit(Long.MAX_VALUE, messages);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        long bytes = table.store().newScan().plan().files().stream().mapToLong(e -> e.file().fileSize()).sum();
        return List.of("{\"seconds\":" + seconds + ",\"rows\":" + rows + ",\"output_bytes\":" + bytes
                + ",\"peak_rss_bytes\":" + peakRssBytes() + "}");
    }

    private static List<CommitMessage> appendRange(FileStoreTable table, long from, long to) throws Exception {
        BinaryString[] low = new BinaryString[100];
        for (int i = 0; i < low.length; i++) {
            low[i] = BinaryString.fromString("category_" + i);
        }
        Path spill = Files.createTempDirectory("kelda-bench");
        try (TableWriteImpl<?> w = table.newWrite("bench");
                IOManager io = IOManager.create(spill.toString())) {
            w.withIOManager(io);
            GenericRow row = new GenericRow(6);
            byte[] high = new byte[40];
            for (long i = from; i < to; i++) {
                long h = i * 2654435761L % 4294967296L;
                int n = (int) (h % 2147483647L);
                row.setField(0, i);
                row.setField(1, n);
                row.setField(2, n * 0.001);
                row.setField(3, Decimal.fromUnscaledLong(h % 1000000000L, 12, 2));
                row.setField(4, low[(int) (h / 128 % 100)]);
                int length = digits(high, 0, h);
                high[length++] = '-';
                length = digits(high, length, i);
                row.setField(5, BinaryString.fromBytes(high, 0, length));
                w.write(row);
            }
            return w.prepareCommit(true, Long.MAX_VALUE);
        } finally {
            Files.deleteIfExists(spill);
        }
    }

    private static int digits(byte[] out, int at, long v) {
        int end = at + 1;
        for (long x = v; x >= 10; x /= 10) {
            end++;
        }
        for (int i = end - 1; i >= at; i--, v /= 10) {
            out[i] = (byte) ('0' + v % 10);
        }
        return end;
    }

    /** A table whose manifests name FILES data files in PARTITIONS partitions; the files themselves do not exist. */
    static List<String> makeManyFiles(Catalog catalog, Identifier id, int files, int partitions) throws Exception {
        catalog.dropTable(id, true);
        Schema schema =
                Schema.newBuilder()
                        .column("pt", DataTypes.INT())
                        .column("id", DataTypes.BIGINT())
                        .column("s", DataTypes.STRING())
                        .column("d", DataTypes.DOUBLE())
                        .partitionKeys("pt")
                        .build();
        catalog.createTable(id, schema, false);
        FileStoreTable table = (FileStoreTable) catalog.getTable(id);
        int commits = 20;
        for (int c = 0; c < commits; c++) {
            List<CommitMessage> messages = new ArrayList<>();
            for (int p = 0; p < partitions; p++) {
                List<DataFileMeta> added = new ArrayList<>();
                for (int f = 0; f < files / commits / partitions; f++) {
                    added.add(
                            DataFileMeta.forAppend(
                                    "data-" + new UUID(c, (long) p << 32 | f) + "-0.parquet",
                                    64L << 20, 1000, stats(p, f), 0, 999, 0, List.of(), null,
                                    FileSource.APPEND, null, null, null, null));
                }
                messages.add(
                        new CommitMessageImpl(
                                BinaryRow.singleColumn(p), 0, -1,
                                new DataIncrement(added, List.of(), List.of()),
                                CompactIncrement.emptyIncrement()));
            }
            try (TableCommitImpl x = table.newCommit("bench")) {
                x.commit(Long.MAX_VALUE, messages);
            }
        }
        return List.of();
    }

    private static SimpleStats stats(int partition, int file) {
        BinaryRow[] bounds = {new BinaryRow(4), new BinaryRow(4)};
        for (int b = 0; b < 2; b++) {
            BinaryRowWriter w = new BinaryRowWriter(bounds[b]);
            w.writeInt(0, partition);
            w.writeLong(1, file * 1000L + 999 * b);
            w.writeString(2, BinaryString.fromString(b == 0 ? "aaaaaaaaaaaaaaaa" : "zzzzzzzzzzzzzzzz"));
            w.writeDouble(3, b);
            w.complete();
        }
        return new SimpleStats(bounds[0], bounds[1], BinaryArray.fromLongArray(new Long[] {0L, 0L, 0L, 0L}));
    }

    static List<String> plan(FileStoreTable table, String column, String value) throws Exception {
        System.gc();
        long start = System.nanoTime();
        long files = 0;
        long rows = 0;
        for (Split s : table.newReadBuilder().withPartitionFilter(Map.of(column, value)).newScan().plan().splits()) {
            files += ((DataSplit) s).dataFiles().size();
            rows += s.rowCount();
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        return List.of("{\"seconds\":" + seconds + ",\"files\":" + files + ",\"rows\":" + rows
                + ",\"peak_rss_bytes\":" + peakRssBytes() + "}");
    }

    /** Merges the small files of a table without buckets, tasks spread over THREADS threads, as one commit. */
    static List<String> compact(FileStoreTable table, int threads) throws Exception {
        System.gc();
        long start = System.nanoTime();
        Queue<AppendCompactTask> tasks = new ConcurrentLinkedQueue<>(new AppendCompactCoordinator(table, false).run());
        int count = tasks.size();
        List<CommitMessage> messages = Collections.synchronizedList(new ArrayList<>());
        List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());
        List<Thread> workers = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            Thread worker = new Thread(() -> {
                try {
                    BaseAppendFileStoreWrite w = (BaseAppendFileStoreWrite) (Object) table.store().newWrite("bench");
                    for (AppendCompactTask task = tasks.poll(); task != null; task = tasks.poll()) {
                        messages.add(task.doCompact(table, w));
                    }
                    w.close();
                } catch (Throwable e) {
                    failures.add(e);
                }
            });
            workers.add(worker);
            worker.start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException("compaction failed", failures.get(0));
        }
        try (TableCommitImpl c = table.newCommit("bench")) {
            c.commit(Long.MAX_VALUE, messages);
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        return List.of("{\"seconds\":" + seconds + ",\"tasks\":" + count + ",\"peak_rss_bytes\":" + peakRssBytes() + "}");
    }

    private static long peakRssBytes() throws Exception {
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"), StandardCharsets.US_ASCII)) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) * 1024;
            }
        }
        return 0;
    }
}
