package io.lanceway.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.OptionalLong;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.collection.immutable.Map.Map1;
import scala.jdk.javaapi.CollectionConverters;

/** Every use of what Spark calls its own: nothing else in this package knows more than Spark's public interfaces. */
final class Internals {
  private static final String FORMAT = "lance";
  private static final StructType PIECES = new StructType().add("piece", DataTypes.BinaryType);

  private Internals() {}

  /** A source whose schema is known, so that Python is not asked for it again. */
  private static PythonDataSourceV2 source(Map<String, String> options, StructType schema) {
    PythonDataSourceV2 source = new PythonDataSourceV2();
    source.setShortName(FORMAT);
    source.getOrCreateDataSourceInPython(FORMAT, new CaseInsensitiveStringMap(options), scala.Some.apply(schema));
    return source;
  }

  static WriteBuilder writeBuilder(LogicalWriteInfo info, Map<String, String> options, StructType schema) {
    return new PythonTable(source(options, schema), FORMAT, schema).newWriteBuilder(new LogicalWriteInfo() {
      @Override
      public CaseInsensitiveStringMap options() {
        return new CaseInsensitiveStringMap(options);
      }

      @Override
      public String queryId() {
        return info.queryId();
      }

      @Override
      public StructType schema() {
        return info.schema();
      }
    });
  }

  /** Before 4.3, Spark hands the rows of UPDATE and DELETE on with a column of its own in front of theirs. */
  static boolean handsOnWholeRows() {
    String[] version = SparkContext.getOrCreate().version().split("[.]", 3);
    int major = Integer.parseInt(version[0]);
    return major > 4 || (major == 4 && Integer.parseInt(version[1]) >= 3);
  }

  /**
   * A write whose rows come one by one, as those of UPDATE and MERGE do. Spark's writer of a Python source takes an
   * iterator alone: it runs in a thread of its own, and is fed through a queue.
   */
  static WriteBuilder oneByOne(LogicalWriteInfo info, Map<String, String> options, StructType schema) {
    Write write = writeBuilder(info, options, schema).build();
    return new WriteBuilder() {
      @Override
      public Write build() {
        return new FedWrite(write, info.schema());
      }
    };
  }

  private record FedWrite(Write inner, StructType rows) implements Write {
    @Override
    public BatchWrite toBatch() {
      return new FedBatch(inner.toBatch(), rows);
    }
  }

  private record FedBatch(BatchWrite inner, StructType rows) implements BatchWrite {
    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new FedFactory(inner.createBatchWriterFactory(info), rows);
    }

    @Override
    public boolean useCommitCoordinator() {
      return inner.useCommitCoordinator();
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      inner.commit(messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      inner.abort(messages);
    }
  }

  private record FedFactory(DataWriterFactory inner, StructType rows) implements DataWriterFactory {
    @Override
    public DataWriter<InternalRow> createWriter(int partition, long task) {
      return new Feeder(inner.createWriter(partition, task), rows);
    }
  }

  private static final class Feeder implements DataWriter<InternalRow> {
    private static final InternalRow END = new GenericInternalRow(0);
    private final BlockingQueue<InternalRow> queue = new ArrayBlockingQueue<>(1024);
    private final DataWriter<InternalRow> inner;
    private final UnsafeProjection projection;
    private final int fields;
    private final FutureTask<Void> writing;
    private final Thread thread;

    Feeder(DataWriter<InternalRow> inner, StructType rows) {
      this.inner = inner;
      this.projection = UnsafeProjection.create(rows);
      this.fields = rows.length();
      TaskContext task = TaskContext.get();
      writing = new FutureTask<>(() -> TaskContext.withTaskContext(task, this::drain));
      thread = new Thread(writing, "lanceway-writer-" + task.taskAttemptId());
      thread.setDaemon(true);
      thread.start();
    }

    private Void drain() {
      try {
        inner.writeAll(new Rows());
        return null;
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    /** What was put into the queue, until its end. */
    private final class Rows implements Iterator<InternalRow> {
      private InternalRow next;

      @Override
      public boolean hasNext() {
        try {
          next = next == null ? queue.take() : next;
        } catch (InterruptedException error) {
          throw new IllegalStateException("The task was ended.", error);
        }
        return next != END;
      }

      @Override
      public InternalRow next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        InternalRow row = next;
        next = null;
        return row;
      }
    }

    @Override
    public void write(InternalRow row) throws IOException {
      if (row.numFields() != fields) {
        throw new IOException("A row of " + fields + " columns came with " + row.numFields() + ".");
      }
      put(projection.apply(row).copy());
    }

    @Override
    public void write(InternalRow metadata, InternalRow row) throws IOException {
      write(row);
    }

    private void put(InternalRow row) throws IOException {
      try {
        while (!queue.offer(row, 100, TimeUnit.MILLISECONDS)) {
          if (writing.isDone()) {
            finish();
            throw new IOException("The writer ended before its rows did.");
          }
        }
      } catch (InterruptedException error) {
        throw new InterruptedIOException("The task was ended.");
      }
    }

    private void finish() throws IOException {
      try {
        writing.get();
      } catch (InterruptedException error) {
        throw new InterruptedIOException("The task was ended.");
      } catch (ExecutionException error) {
        if (error.getCause() instanceof RuntimeException failed) {
          throw failed;
        }
        throw new IOException(error.getCause());
      }
    }

    @Override
    public WriterCommitMessage commit() throws IOException {
      put(END);
      finish();
      return inner.commit();
    }

    @Override
    public void abort() throws IOException {
      thread.interrupt();
      inner.abort();
    }

    @Override
    public void close() throws IOException {
      thread.interrupt();
      inner.close();
    }
  }

  /** `aggregates` are computed of the columns by the tasks, and come out instead; or null. */
  static Scan scan(LanceTable table, StructType columns, Map<String, String> options, Filter[] pushed, int limit,
      Aggregates aggregates) {
    PythonDataSourceV2 source = new PythonDataSourceV2();
    source.setShortName(FORMAT);
    ObjectNode asked = table.scanned(columns, options);
    if (aggregates != null) {
      asked.set("aggregation", aggregates.describe());
    }
    PythonScan scan = pythonScan(source, aggregates == null ? columns : aggregates.schema(), options, pushed);
    StringBuilder told = new StringBuilder("lance ").append(table.name());
    told.append(" PushedFilters: ").append(Arrays.toString(pushed));
    if (limit >= 0) {
      told.append(", PushedLimit: ").append(limit);
    }
    if (aggregates != null) {
      told.append(", ").append(aggregates);
    }
    told.append(", ReadSchema: ").append(columns.simpleString());
    long rows = limit >= 0 ? Math.min(limit, table.rows()) : table.rows();
    boolean single = aggregates != null && !aggregates.isGrouped();
    return new LanceScan(table, source, scan, asked, told.toString(), single ? 1 : rows, options);
  }

  private static PythonScan pythonScan(
      PythonDataSourceV2 source, StructType columns, Map<String, String> options, Filter[] pushed) {
    return new PythonScan(source, FORMAT, columns, new CaseInsensitiveStringMap(options), pushed);
  }

  /** What the driver's Python process has planned, in the form in which Spark's own worker would answer it. */
  private static PythonDataSourceReadInfo planned(byte[] answer) {
    ByteBuffer left = ByteBuffer.wrap(answer);
    byte[] function = next(left);
    List<byte[]> partitions = new ArrayList<>();
    for (int count = left.getInt(); count > 0; count--) {
      partitions.add(next(left));
    }
    return new PythonDataSourceReadInfo(function, CollectionConverters.asScala(partitions).toSeq());
  }

  private static byte[] next(ByteBuffer left) {
    byte[] found = new byte[left.getInt()];
    left.get(found);
    return found;
  }

  /** Spark's own scan of a Python source, which knows neither how much it reads nor what to show of it. */
  private record LanceScan(LanceTable table, PythonDataSourceV2 source, PythonScan scan, ObjectNode asked,
      String description, long rows, Map<String, String> options) implements SupportsReportStatistics {
    @Override
    public StructType readSchema() {
      return scan.readSchema();
    }

    @Override
    public Batch toBatch() {
      try {
        JsonNode answer = table.ask("plan_scan", asked.deepCopy());
        if (answer.isTextual()) {
          source.setReadInfo(planned(Base64.getDecoder().decode(answer.asText())));
          return Columnar.of(pythonScan(source, PIECES, options, new Filter[0]).toBatch());
        }
      } catch (Refusal refusal) {
        throw refusal.plain();
      }
      source.getOrCreateDataSourceInPython(
          FORMAT, new CaseInsensitiveStringMap(options), scala.Some.apply(readSchema()));
      return scan.toBatch();
    }

    @Override
    public MicroBatchStream toMicroBatchStream(String checkpoint) {
      // A stream follows the table: the version that a query would read is none of its options.
      Map<String, String> following = new HashMap<>(options);
      following.remove("version");
      return pythonScan(Internals.source(following, readSchema()), readSchema(), following, new Filter[0])
          .toMicroBatchStream(checkpoint);
    }

    @Override
    public CustomMetric[] supportedCustomMetrics() {
      return scan.supportedCustomMetrics();
    }

    @Override
    public CustomTaskMetric[] reportDriverMetrics() {
      return scan.reportDriverMetrics();
    }

    @Override
    public Statistics estimateStatistics() {
      return new Statistics() {
        @Override
        public OptionalLong sizeInBytes() {
          return OptionalLong.of(rows * Math.max(readSchema().defaultSize(), 1));
        }

        @Override
        public OptionalLong numRows() {
          return OptionalLong.of(rows);
        }
      };
    }
  }

  /** The number of a table's rows, which its metadata has: no task runs. */
  static Scan countScan(String table, long rows, int columns) {
    StructType schema = new StructType();
    Object[] values = new Object[columns];
    for (int i = 0; i < columns; i++) {
      schema = schema.add("count(*)" + (i == 0 ? "" : " " + i), DataTypes.LongType, false);
      values[i] = rows;
    }
    InternalRow[] row = {new GenericInternalRow(values)};
    return new KnownScan(schema, row, "lance " + table + " count from metadata");
  }

  /** Rows that the driver has found by an index while it planned: no task runs. */
  static Scan foundScan(LanceTable table, StructType columns, Filter[] pushed, byte[] stream) {
    UnsafeProjection projection = UnsafeProjection.create(columns);
    try {
      InternalRow[] rows = Columnar.rows(stream, row -> projection.apply(row).copy());
      String told = "lance " + table.name() + " " + rows.length + " rows by an index, PushedFilters: "
          + Arrays.toString(pushed) + ", ReadSchema: " + columns.simpleString();
      return new KnownScan(columns, rows, told);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private record KnownScan(StructType readSchema, InternalRow[] rows, String description) implements LocalScan {}

  /** An exception of Spark's with a sentence of ours: its own conditions cannot carry one. */
  static AnalysisException refused(String condition, String state, String message) {
    return new AnalysisException("INTERNAL_ERROR", new Map1<>("message", message)) {
      @Override
      public String getMessage() {
        return "[" + condition + "] " + message;
      }

      @Override
      public String getCondition() {
        return condition;
      }

      @Override
      public String getSqlState() {
        return state;
      }
    };
  }
}
