package kelda.interop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.stats.ColStats;
import org.apache.paimon.stats.Statistics;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.DataTypes;

/** Java Paimon as a command: one call, or many of them through standard input. */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String USAGE =
            "create WAREHOUSE db.table SPEC.json       {\"fields\":[[name,type,comment?,default?]...],\"partition\":[],\"options\":{}}\n"
                    + "write WAREHOUSE db.table ROWS.jsonl [USER]   one commit\n"
                    + "read WAREHOUSE db.table [SNAPSHOT]           sorted rows\n"
                    + "files WAREHOUSE db.table                     live data files of the newest snapshot\n"
                    + "snapshots WAREHOUSE db.table                 id, kind, user, total rows\n"
                    + "system WAREHOUSE db.table NAME               sorted rows of the system table db.table$NAME\n"
                    + "statistics WAREHOUSE db.table               what ANALYZE found, one column a line\n"
                    + "alter WAREHOUSE db.table CHANGES.json        changes of columns, see Changes\n"
                    + "delete WAREHOUSE db.table BY REST            by deletion vectors, rows where first column mod BY = REST\n"
                    + "filtered WAREHOUSE db.table COUNT SEED       random filters against a full read\n"
                    + "race WAREHOUSE db.table USER FIRST COUNT     one-row commits to a table (k INT, w STRING)\n"
                    + "bench-append WAREHOUSE db.table ROWS THREADS\n"
                    + "bench-compact WAREHOUSE db.table THREADS\n"
                    + "bench-plan-make WAREHOUSE db.table FILES PARTITIONS\n"
                    + "bench-plan[-cached] WAREHOUSE db.table COLUMN VALUE\n"
                    + "serve                                        a JSON array of these words a line";

    private static Catalog planCatalog;

    private Main() {}

    public static void main(String[] args) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        PrintStream out = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err);
        if (args.length == 0) {
            System.err.println(USAGE);
            System.exit(2);
        }
        if (args[0].equals("serve")) {
            serve(out);
            System.exit(0);
        }
        for (String line : run(Arrays.asList(args))) {
            out.println(line);
        }
        System.exit(0);
    }

    /** A reply is one line: {"lines":[...]} or {"error":"..."}. */
    private static void serve(PrintStream out) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                List<String> words = new ArrayList<>();
                JSON.readTree(line).forEach(w -> words.add(w.asText()));
                out.println(JSON.writeValueAsString(Collections.singletonMap("lines", run(words))));
            } catch (Throwable e) {
                StringWriter trace = new StringWriter();
                e.printStackTrace(new PrintWriter(trace));
                out.println(JSON.writeValueAsString(Collections.singletonMap("error", trace.toString())));
            }
        }
    }

    private static List<String> run(List<String> a) throws Exception {
        if (a.get(0).equals("bench-plan-cached")) {
            // As users have it: one catalog for all plans, with its caches.
            if (planCatalog == null) {
                planCatalog = catalog(a.get(1), true);
            }
            Identifier id = Identifier.fromString(a.get(2));
            return Bench.plan((FileStoreTable) planCatalog.getTable(id), a.get(3), a.get(4));
        }
        Catalog catalog = catalog(a.get(1), false);
        String[] name = a.get(2).split("\\.", 2);
        Identifier id = Identifier.create(name[0], name[1]);
        if (a.get(0).equals("create")) {
            catalog.createDatabase(name[0], true);
            catalog.createTable(id, schema(JSON.readTree(Files.readAllBytes(Paths.get(a.get(3))))), false);
            return List.of();
        }
        if (a.get(0).equals("bench-plan-make")) {
            catalog.createDatabase(name[0], true);
            return Bench.makeManyFiles(catalog, id, Integer.parseInt(a.get(3)), Integer.parseInt(a.get(4)));
        }
        if (a.get(0).equals("bench-append")) {
            catalog.createDatabase(name[0], true);
            return Bench.append(catalog, id, Long.parseLong(a.get(3)), Integer.parseInt(a.get(4)));
        }
        if (a.get(0).equals("system")) {
            return read(catalog.getTable(new Identifier(name[0], name[1], null, a.get(3))));
        }
        FileStoreTable table = (FileStoreTable) catalog.getTable(id);
        switch (a.get(0)) {
            case "write":
                return write(table, Paths.get(a.get(3)), a.size() > 4 ? a.get(4) : "java");
            case "read":
                return read(a.size() > 3 ? table.copy(Map.of("scan.snapshot-id", a.get(3))) : table);
            case "files":
                return LiveFiles.of(table);
            case "snapshots":
                return snapshots(table);
            case "statistics":
                return statistics(table);
            case "alter":
                catalog.alterTable(id, Changes.schema(JSON.readTree(Files.readAllBytes(Paths.get(a.get(3))))), false);
                return List.of();
            case "delete":
                return Changes.delete(table, Integer.parseInt(a.get(3)), Integer.parseInt(a.get(4)));
            case "filtered":
                return FilteredReads.compare(table, Integer.parseInt(a.get(3)), Long.parseLong(a.get(4)));
            case "bench-compact":
                return Bench.compact(table, Integer.parseInt(a.get(3)));
            case "bench-plan":
                return Bench.plan(table, a.get(3), a.get(4));
            case "race":
                return race(table, a.get(3), Integer.parseInt(a.get(4)), Integer.parseInt(a.get(5)));
            default:
                throw new IllegalArgumentException("unknown command " + a + "\n" + USAGE);
        }
    }

    private static Catalog catalog(String warehouse, boolean cached) {
        Options options = new Options();
        options.set("warehouse", Paths.get(warehouse).toAbsolutePath().toUri().toString());
        options.set("cache-enabled", Boolean.toString(cached));
        return CatalogFactory.createCatalog(CatalogContext.create(options));
    }

    private static Schema schema(JsonNode spec) {
        // Ids of nested fields are given by the builder, as for every engine that creates tables.
        AtomicInteger ids = new AtomicInteger(-1);
        Schema.Builder schema = Schema.newBuilder();
        for (JsonNode f : spec.get("fields")) {
            schema.column(
                    f.get(0).asText(),
                    DataTypeJsonParser.parseDataType(f.get(1), ids),
                    f.hasNonNull(2) ? f.get(2).asText() : null,
                    f.hasNonNull(3) ? f.get(3).asText() : null);
        }
        List<String> partition = new ArrayList<>();
        spec.withArray("partition").forEach(p -> partition.add(p.asText()));
        spec.path("options").fields().forEachRemaining(o -> schema.option(o.getKey(), o.getValue().asText()));
        return schema.partitionKeys(partition).build();
    }

    private static List<String> write(FileStoreTable table, Path rows, String user) throws Exception {
        List<CommitMessage> messages;
        Path spill = Files.createTempDirectory("kelda-interop");
        try (TableWriteImpl<?> w = table.newWrite(user);
                IOManager io = IOManager.create(spill.toString())) {
            w.withIOManager(io);
            for (String line : Files.readAllLines(rows, StandardCharsets.UTF_8)) {
                w.write(JsonForm.parseRow(JSON.readTree(line), table.rowType()));
            }
            messages = w.prepareCommit(true, Long.MAX_VALUE);
        } finally {
            Files.deleteIfExists(spill);
        }
        try (TableCommitImpl c = table.newCommit(user)) {
            c.commit(Long.MAX_VALUE, messages);
        }
        return List.of();
    }

    private static List<String> read(Table table) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        List<String> out = new ArrayList<>();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(builder.newScan().plan().splits())) {
            reader.forEachRemaining(row -> out.add(JsonForm.row(row, builder.readType())));
        }
        out.sort(JsonForm.BYTES);
        return out;
    }

    private static List<String> snapshots(FileStoreTable table) throws Exception {
        List<String> out = new ArrayList<>();
        Long last = table.snapshotManager().latestSnapshotId();
        for (long i = last == null ? 1 : table.snapshotManager().earliestSnapshotId(); last != null && i <= last; i++) {
            var s = table.snapshotManager().snapshot(i);
            out.add(s.id() + " " + s.commitKind() + " " + s.commitUser() + " " + s.totalRecordCount());
        }
        return out;
    }

    /** Rows, snapshot and schema first; bounds as values of the column's type. */
    private static List<String> statistics(FileStoreTable table) {
        Statistics s = table.statistics().orElseThrow();
        List<String> out = new ArrayList<>();
        out.add(s.mergedRecordCount().getAsLong() + " " + s.snapshotId() + " " + s.schemaId());
        for (var f : table.rowType().getFields()) {
            ColStats<?> c = s.colStats().get(f.name());
            if (c == null) {
                continue;
            }
            out.add(
                    "{\"column\":" + JsonForm.quote(f.name()) + ",\"id\":" + c.colId()
                            + ",\"distinct\":" + number(c.distinctCount()) + ",\"nulls\":" + number(c.nullCount())
                            + ",\"min\":" + JsonForm.text(c.min().orElse(null), f.type())
                            + ",\"max\":" + JsonForm.text(c.max().orElse(null), f.type())
                            + ",\"avg\":" + number(c.avgLen()) + ",\"longest\":" + number(c.maxLen()) + "}");
        }
        return out;
    }

    private static String number(java.util.OptionalLong value) {
        return value.isPresent() ? Long.toString(value.getAsLong()) : "null";
    }

    private static List<String> race(FileStoreTable table, String user, int first, int count) throws Exception {
        var text = org.apache.paimon.data.BinaryString.fromString(user);
        for (int k = first; k < first + count; k++) {
            try (TableWriteImpl<?> w = table.newWrite(user);
                    TableCommitImpl c = table.newCommit(user)) {
                w.write(GenericRow.of(k, text));
                c.commit(k, w.prepareCommit(true, k));
            }
        }
        return List.of();
    }

    static Schema.Builder benchColumns() {
        return Schema.newBuilder()
                .column("id", DataTypes.BIGINT())
                .column("n", DataTypes.INT())
                .column("d", DataTypes.DOUBLE())
                .column("m", DataTypes.DECIMAL(12, 2))
                .column("low", DataTypes.STRING())
                .column("high", DataTypes.STRING());
    }
}
