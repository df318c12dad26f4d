package io.lanceway.spark;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.ValueVector;
import org.apache.arrow.vector.complex.ListVector;
import org.apache.arrow.vector.complex.MapVector;
import org.apache.arrow.vector.complex.StructVector;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.sql.vectorized.ColumnarMap;

/** Whole columns for Spark, of an Arrow stream that a worker sends beside its rows, or as their values (scan.py). */
final class Columnar {
  private static final BufferAllocator MEMORY = new RootAllocator();
  private static final String SOCKET = "unix:";
  private static final int LONGEST = 256;

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
  static InternalRow[] rows(byte[] stream, UnaryOperator<InternalRow> copy) throws IOException {
    List<InternalRow> rows = new ArrayList<>();
    try (BufferAllocator memory = child();
        Columns columns = new Columns(Channels.newChannel(new ByteArrayInputStream(stream)), memory)) {
      while (columns.next()) {
        columns.batch().rowIterator().forEachRemaining(row -> rows.add(copy.apply(row)));
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

  /**
   * A column that is filled again with the next batch: Spark closes what it has read, and a struct lost its fields. It and
   * the columns inside it have a value for a null too, as Spark's own columns do: a function of an array's elements reads
   * or copies all of them before it looks which are null, and Arrow refuses to give the value of a null.
   */
  private static final class Kept extends ArrowColumnVector {
    private final Kept[] inside;

    Kept(ValueVector vector) {
      super(vector);
      inside = inside(vector).stream().map(Kept::new).toArray(Kept[]::new);
    }

    /** The fields of a struct, the elements of an array, the keys and values of a map. */
    private static List<? extends ValueVector> inside(ValueVector vector) {
      if (vector instanceof MapVector map) {
        return ((StructVector) map.getDataVector()).getChildrenFromFields();
      }
      if (vector instanceof ListVector list) {
        return List.of(list.getDataVector());
      }
      return vector instanceof StructVector struct ? struct.getChildrenFromFields() : List.of();
    }

    @Override
    public ArrowColumnVector getChild(int ordinal) {
      return inside[ordinal];
    }

    @Override
    public ColumnarArray getArray(int row) {
      if (!(getValueVector() instanceof ListVector list)) {
        return super.getArray(row);
      }
      int start = list.getElementStartIndex(row);
      return isNullAt(row) ? null : new ColumnarArray(inside[0], start, list.getElementEndIndex(row) - start);
    }

    @Override
    public ColumnarMap getMap(int row) {
      if (!(getValueVector() instanceof MapVector map)) {
        return super.getMap(row);
      }
      int start = map.getElementStartIndex(row);
      return isNullAt(row) ? null : new ColumnarMap(inside[0], inside[1], start, map.getElementEndIndex(row) - start);
    }

    @Override
    public boolean getBoolean(int row) {
      return !isNullAt(row) && super.getBoolean(row);
    }

    @Override
    public byte getByte(int row) {
      return isNullAt(row) ? 0 : super.getByte(row);
    }

    @Override
    public short getShort(int row) {
      return isNullAt(row) ? 0 : super.getShort(row);
    }

    @Override
    public int getInt(int row) {
      return isNullAt(row) ? 0 : super.getInt(row);
    }

    @Override
    public long getLong(int row) {
      return isNullAt(row) ? 0 : super.getLong(row);
    }

    @Override
    public float getFloat(int row) {
      return isNullAt(row) ? 0 : super.getFloat(row);
    }

    @Override
    public double getDouble(int row) {
      return isNullAt(row) ? 0 : super.getDouble(row);
    }

    @Override
    public void closeIfFreeable() {}

    @Override
    public void close() {}
  }

  /** The pieces as one stream of bytes; or the first of them tells of a socket that has it (scan.py). */
  private static final class Joined implements ReadableByteChannel {
    private final PartitionReader<InternalRow> pieces;
    private ByteBuffer piece = ByteBuffer.allocate(0);
    private SocketChannel channel;

    Joined(PartitionReader<InternalRow> pieces) {
      this.pieces = pieces;
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
      if (channel == null && !piece.hasRemaining()) {
        if (!pieces.next()) {
          return -1;
        }
        take(pieces.get().getBinary(0));
      }
      return channel == null ? copy(target) : receive(target);
    }

    private void take(byte[] given) throws IOException {
      String text = given.length < LONGEST ? new String(given, StandardCharsets.UTF_8) : "";
      if (text.startsWith(SOCKET)) {
        channel = SocketChannel.open(UnixDomainSocketAddress.of(text.substring(SOCKET.length())));
      } else {
        piece = ByteBuffer.wrap(given);
      }
    }

    private int copy(ByteBuffer target) {
      int count = Math.min(piece.remaining(), target.remaining());
      target.put(target.position(), piece, piece.position(), count);
      target.position(target.position() + count);
      piece.position(piece.position() + count);
      return count;
    }

    /** Where the socket ends, the worker has sent all, or has failed, which Spark's own way tells. */
    private int receive(ByteBuffer target) throws IOException {
      int count = channel.read(target);
      while (count < 0 && pieces.next()) {
        pieces.get(); // which is no part of the stream
      }
      return count;
    }

    @Override
    public boolean isOpen() {
      return true;
    }

    @Override
    public void close() throws IOException {
      if (channel != null) {
        channel.close();
      }
    }
  }
}
