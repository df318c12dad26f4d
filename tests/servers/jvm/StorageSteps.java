package org.apache.iceberg.rest;

import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.io.BulkDeletionFailureException;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.io.SupportsBulkOperations;
import org.apache.iceberg.io.SupportsPrefixOperations;
import org.apache.iceberg.types.Types;

/** Iceberg's S3FileIO without keys of its own: StorageSteps URI TOKEN DELEGATION. Prints a line for each step. */
public class StorageSteps {
  private static final Schema SCHEMA = new Schema(Types.NestedField.optional(1, "id", Types.LongType.get()));
  private static final int MEGABYTES = 40; // S3FileIO sends 32 at once

  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put("uri", arguments[0]);
    properties.put("token", arguments[1]);
    properties.put("warehouse", "lake");
    properties.put("io-impl", "org.apache.iceberg.aws.s3.S3FileIO");
    properties.put("header.X-Iceberg-Access-Delegation", arguments[2]);
    String suffix = arguments[2].replace('-', '_');
    try (RESTCatalog catalog = new RESTCatalog()) {
      catalog.initialize("lake", properties);
      Table table = catalog.createTable(TableIdentifier.of("team", "made_" + suffix), SCHEMA);
      String file = table.location() + "/data/name=a%2Fb/file one.parquet";
      write(table.io().newOutputFile(file), 1, "hello");
      append(table.newAppend(), file);
      table.refresh();
      int files = 0;
      for (ManifestFile manifest : table.currentSnapshot().allManifests(table.io())) {
        for (DataFile each : ManifestFiles.read(manifest, table.io())) {
          files++;
        }
      }
      print("appended", files);
      byte[] buffer = new byte[4];
      try (SeekableInputStream stream = table.io().newInputFile(file).newStream()) {
        stream.seek(1);
        stream.read(buffer, 0, 4);
      }
      print("read", new String(buffer, StandardCharsets.UTF_8));
      int listed = 0;
      for (FileInfo info : ((SupportsPrefixOperations) table.io()).listPrefix(table.location() + "/data/")) {
        listed++;
      }
      print("listed", listed);
      String large = table.location() + "/data/large";
      write(table.io().newOutputFile(large), MEGABYTES, new String(new byte[1 << 20], StandardCharsets.UTF_8));
      print("in parts", table.io().newInputFile(large).getLength() == (long) MEGABYTES << 20);
      table.io().deleteFile(large);
      print("deleted", !table.io().newInputFile(large).exists());
      print("deleted by a list", isDeletedByList(table, file));
      Transaction transaction =
          catalog.newCreateTableTransaction(TableIdentifier.of("team", "staged_" + suffix), SCHEMA);
      String first = transaction.table().location() + "/data/first.parquet";
      write(transaction.table().io().newOutputFile(first), 1, "hello");
      append(transaction.newAppend(), first);
      transaction.commitTransaction();
      print("staged", catalog.tableExists(TableIdentifier.of("team", "staged_" + suffix)));
    }
    System.exit(0); // the SDK's threads would go on
  }

  private static void write(OutputFile file, int times, String text) throws Exception {
    try (PositionOutputStream stream = file.create()) {
      for (int number = 0; number < times; number++) {
        stream.write(text.getBytes(StandardCharsets.UTF_8));
      }
    }
  }

  private static void append(AppendFiles append, String path) {
    DataFile file =
        DataFiles.builder(PartitionSpec.unpartitioned())
            .withPath(path)
            .withFileSizeInBytes(5)
            .withRecordCount(1)
            .withFormat(FileFormat.PARQUET)
            .build();
    append.appendFile(file).commit();
  }

  private static boolean isDeletedByList(Table table, String file) {
    try {
      ((SupportsBulkOperations) table.io()).deleteFiles(List.of(file));
      return true;
    } catch (BulkDeletionFailureException refused) {
      return false;
    }
  }

  private static void print(String step, Object result) {
    System.out.println(step + ": " + result);
  }
}
