package io.lanceway.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.WriteBuilder;

/**
 * A table on its way. A new one is made empty, and taken away again if its rows cannot be written. One that is replaced
 * keeps its rows and its history until the new rows take their place, in one version.
 */
final class LanceStagedTable extends LanceTable implements StagedTable {
  private final LancewayCatalog catalog;
  private final Identifier id;
  private final ObjectNode asked;
  private final boolean isNew;
  private boolean written;

  LanceStagedTable(LancewayCatalog catalog, Identifier id, ObjectNode asked, JsonNode described) {
    super(catalog, id, described);
    this.catalog = catalog;
    this.id = id;
    this.asked = asked;
    this.isNew = described.get("new").asBoolean();
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    written = true;
    WriteBuilder builder = super.newWriteBuilder(info);
    return isNew ? builder : ((SupportsTruncate) builder).truncate();
  }

  @Override
  public void commitStagedChanges() {
    if (!isNew) {
      try {
        ask(written ? "finish_table" : "replace_table", asked);
      } catch (Refusal refusal) {
        throw refusal.about(id);
      }
    }
  }

  @Override
  public void abortStagedChanges() {
    if (isNew) {
      catalog.dropTable(id);
    }
  }

  // Two interfaces have it in some versions of Spark.
  public CustomTaskMetric[] reportDriverMetrics() {
    return new CustomTaskMetric[0];
  }
}
