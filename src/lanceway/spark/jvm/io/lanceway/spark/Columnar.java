package io.lanceway.spark;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.util.ArrayList;
import java.util.List;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Whole columns for Spark, of an Arrow stream that comes in pieces: each is the one value of a row (pieces.py). */
final class Columnar {
  private static final BufferAllocator MEMORY = new RootAllocator();

  private Columnar() {}

  /** The same batch, of which tasks read columns. */
  static Batch of(Batch pieces) {
    return new Batch() {
      @Override
      public InputPartition[] planInputPartitions() {
        return pieces.planInputPartitions();
      }

      @Override
      public PartitionReaderFactory createReaderFactory() {
        return new Factory(pieces.createReaderFactory());
      }
    };
  }

  /** The rows of a stream that is whole; each may be kept. */
  static InternalRow[] rows(byte[] stream, Internals.Copier copier) throws IOException {
    List<InternalRow> rows = new ArrayList<>();
    try (BufferAllocator memory = child();
        Columns columns = new Columns(Channels.newChannel(new ByteArrayInputStream(stream)), memory)) {
      while (columns.next()) {
        columns.batch().rowIterator().forEachRemaining(row -> rows.add(copier.copy(row)));
      }
    }
    return rows.toArray(InternalRow[]::new);
  }

  private static BufferAllocator child() {
    return MEMORY.newChildAllocator("lanceway", 0, Long.MAX_VALUE);
  }

  private record Factory(PartitionReaderFactory pieces) implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      throw new UnsupportedOperationException("Columns are read, not rows.");
    }

    @Override
    public boolean supportColumnarReads(InputPartition partition) {
      return true;
    }

    @Override
    public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
      return new Reader(pieces.createReader(partition));
    }
  }

  private static final class Reader implements PartitionReader<ColumnarBatch> {
    private final PartitionReader<InternalRow> pieces;
    private final BufferAllocator memory = child();
    private final Columns columns;

    Reader(PartitionReader<InternalRow> pieces) {
      this.pieces = pieces;
      columns = new Columns(new Joined(pieces), memory);
    }

    @Override
    public boolean next() throws IOException {
      return columns.next();
    }

    @Override
    public ColumnarBatch get() {
      return columns.batch();
    }

    @Override
    public CustomTaskMetric[] currentMetricsValues() {
      return pieces.currentMetricsValues();
    }

    @Override
    public void close() throws IOException {
      try (pieces; memory; columns) {
        // closed in the other order
      }
    }
  }

  /** The batches of a stream, one after the other in the same vectors. */
  private static final class Columns implements AutoCloseable {
    private final ArrowStreamReader stream;
    private ColumnarBatch batch;

    Columns(ReadableByteChannel from, BufferAllocator memory) {
      stream = new ArrowStreamReader(from, memory);
    }

    boolean next() throws IOException {
      if (!stream.loadNextBatch()) {
        return false;
      }
      if (batch == null) {
        List<FieldVector> vectors = stream.getVectorSchemaRoot().getFieldVectors();
        batch = new ColumnarBatch(vectors.stream().map(Kept::new).toArray(ColumnVector[]::new));
      }
      batch.setNumRows(stream.getVectorSchemaRoot().getRowCount());
      return true;
    }

    ColumnarBatch batch() {
      return batch;
    }

    @Override
    public void close() throws IOException {
      stream.close();
    }
  }

  /** A column that is filled again with the next batch: Spark closes what it has read, and a struct lost its fields. */
  private static final class Kept extends ArrowColumnVector {
    Kept(ValueVector vector) {
      super(vector);
    }

    @Override
    public void closeIfFreeable() {}

    @Override
    public void close() {}
  }

  /** The pieces as one stream of bytes. */
  private static final class Joined implements ReadableByteChannel {
    private final PartitionReader<InternalRow> pieces;
    private ByteBuffer piece = ByteBuffer.allocate(0);

    Joined(PartitionReader<InternalRow> pieces) {
      this.pieces = pieces;
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
      while (!piece.hasRemaining()) {
        if (!pieces.next()) {
          return -1;
        }
        piece = ByteBuffer.wrap(pieces.get().getBinary(0));
      }
      int count = Math.min(piece.remaining(), target.remaining());
      target.put(target.position(), piece, piece.position(), count);
      target.position(target.position() + count);
      piece.position(piece.position() + count);
      return count;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() {}
  }
}
