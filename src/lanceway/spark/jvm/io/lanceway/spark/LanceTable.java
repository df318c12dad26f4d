package io.lanceway.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.Base64;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDelete;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** One version of a Lance table, as the driver's Python process described it. */
class LanceTable implements SupportsRead, SupportsWrite, SupportsDelete, SupportsRowLevelOperations,
    SupportsMetadataColumns {
  private static final String OPTION = "option";
  private static final List<String> OTHER_VERSIONS = List.of("version", "tag", "branch", "asof");
  private final LancewayCatalog catalog;
  private final Identifier id;
  private final StructType schema;
  private final StructType hidden;
  private final Map<String, String> properties;
  private final Map<String, String> reading;
  private final Map<String, String> writing;
  private final String arrow;
  private final long rows;
  private final boolean indexed;
  private final boolean planned;

  LanceTable(LancewayCatalog catalog, Identifier id, JsonNode described) {
    this.catalog = catalog;
    this.id = id;
    schema = Columns.read(described.get("schema"));
    hidden = Columns.read(described.get("hidden"));
    properties = LancewayCatalog.texts(described.get("properties"));
    reading = LancewayCatalog.texts(described.get("reading"));
    writing = LancewayCatalog.texts(described.get("writing"));
    arrow = described.get("arrow").asText();
    rows = described.get("rows").asLong();
    indexed = described.path("indexed").asBoolean();
    planned = described.path("planned").asBoolean();
  }

  @Override
  public String name() {
    return catalog.name() + "." + String.join(".", LancewayCatalog.path(id));
  }

  @Override
  public Column[] columns() {
    return Columns.of(schema);
  }

  StructType type() {
    return schema;
  }

  @Override
  public Map<String, String> properties() {
    return properties;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_READ, TableCapability.BATCH_WRITE, TableCapability.TRUNCATE,
        TableCapability.MICRO_BATCH_READ, TableCapability.STREAMING_WRITE);
  }

  long rows() {
    return rows;
  }

  /** Whether some column has an index that finds rows. */
  boolean hasIndices() {
    return indexed;
  }

  /** Whether scans are planned in the driver, where what Spark knows nothing of can be planned too. */
  boolean plansScans() {
    return planned;
  }

  /** The rows of a scan as an Arrow stream if an index finds them at once and they are few; else null. */
  byte[] find(StructType columns, Map<String, String> options) {
    try {
      JsonNode answer = ask("find_rows", scanned(columns, options));
      return answer.isTextual() ? Base64.getDecoder().decode(answer.asText()) : null;
    } catch (Refusal refusal) {
      throw refusal.plain();
    }
  }

  ObjectNode scanned(StructType columns, Map<String, String> options) {
    ObjectNode arguments = Bridge.object();
    arguments.set("options", Bridge.JSON.valueToTree(options));
    arguments.set("schema", Columns.describe(columns));
    return arguments;
  }

  JsonNode ask(String question, ObjectNode arguments) throws Refusal {
    return catalog.ask(LancewayCatalog.path(id), question, arguments);
  }

  /** Columns that are shown when they are named: a row's id and address, a search's distance and score. */
  @Override
  public MetadataColumn[] metadataColumns() {
    MetadataColumn[] columns = new MetadataColumn[hidden.size()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = new Hidden(hidden.fields()[i].name(), hidden.fields()[i].dataType());
    }
    return columns;
  }

  /** The options that bring hidden columns which are asked for, by their names. */
  Map<String, String> hiddenIn(StructType columns) {
    Map<String, String> found = new HashMap<>();
    for (StructField column : hidden.fields()) {
      if (column.metadata().contains(OPTION) && Arrays.asList(columns.fieldNames()).contains(column.name())) {
        found.put(column.name(), column.metadata().getString(OPTION));
      }
    }
    return found;
  }

  private record Hidden(String name, DataType dataType) implements MetadataColumn {}

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new LanceScanBuilder(this, reading(options));
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return Internals.writeBuilder(info, writing(info.options()), schema);
  }

  /** The options of a scan: those that mean this version of the table, and those of the statement. */
  Map<String, String> reading(CaseInsensitiveStringMap given) {
    for (String key : OTHER_VERSIONS) {
      if (given.containsKey(key)) {
        throw new Refusal(13, "INVALID_INPUT", "WITH (" + key + " = …) is no option of a table in SQL. "
            + "Write VERSION AS OF or TIMESTAMP AS OF, or use format(\"lance\").").plain();
      }
    }
    return merged(reading, given);
  }

  Map<String, String> writing(CaseInsensitiveStringMap given) {
    return merged(writing, given);
  }

  /** Keys of the statement's options are in lower case here. */
  private static Map<String, String> merged(Map<String, String> own, CaseInsensitiveStringMap given) {
    Map<String, String> all = new HashMap<>(given);
    all.putAll(own);
    return all;
  }

  // -- DELETE, UPDATE, MERGE ------------------------------------------------------------------------------------------

  @Override
  public boolean canDeleteWhere(Filter[] filters) {
    try {
      return ask("can_delete", where(filters)).asBoolean();
    } catch (Refusal refusal) {
      throw refusal.about(id);
    }
  }

  @Override
  public void deleteWhere(Filter[] filters) {
    try {
      ask("delete", where(filters));
    } catch (Refusal refusal) {
      throw refusal.about(id);
    }
  }

  /** Conditions as the driver's Python process takes them; it gets the schema back that it described. */
  ObjectNode where(Filter[] filters) {
    ObjectNode arguments = Bridge.object().put("arrow", arrow);
    arguments.set("filters", Filters.describe(filters));
    return arguments;
  }

  @Override
  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    return () -> new Replacing(this, info.command());
  }
}
