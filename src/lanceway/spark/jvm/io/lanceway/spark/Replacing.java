package io.lanceway.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * UPDATE, MERGE INTO, and DELETE by a condition that Lance cannot evaluate itself: the fragments with rows that the
 * statement may concern are read whole, and what Spark makes of their rows takes their place.
 */
final class Replacing implements RowLevelOperation {
  private static final String OPTION = "replacing";
  private final LanceTable table;
  private final Command command;
  private String chosen;

  Replacing(LanceTable table, Command command) {
    this.table = table;
    this.command = command;
    if (command != Command.DELETE) {
      requireWholeRows();
    }
  }

  /** A DELETE that Lance can evaluate never comes so far: Spark asks the table's deleteWhere. */
  private void requireWholeRows() {
    if (!Internals.handsOnWholeRows()) {
      throw Refusal.unsupported(command + " of " + table.name() + " as it stands needs Spark 4.3 or later. "
          + "Use lanceway.spark.update, lanceway.spark.merge or lanceway.spark.delete.").plain();
    }
  }

  @Override
  public Command command() {
    return command;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    requireWholeRows();
    return new Fragments(table.reading(options));
  }

  /** Spark plans what is read before what is written. */
  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    if (chosen == null) {
      throw new IllegalStateException("The rows that are replaced have not been planned to be read.");
    }
    Map<String, String> options = table.writing(info.options());
    options.put(OPTION, chosen);
    return Internals.oneByOne(info, options, table.type());
  }

  /** Filters choose fragments and never rows: a row that is not read is lost. */
  private final class Fragments implements SupportsPushDownFilters {
    private final Map<String, String> options;
    private Filter[] filters = {};

    Fragments(Map<String, String> options) {
      this.options = options;
    }

    @Override
    public Filter[] pushFilters(Filter[] given) {
      filters = given;
      return given;
    }

    @Override
    public Filter[] pushedFilters() {
      return new Filter[0];
    }

    @Override
    public Scan build() {
      ObjectNode arguments = table.where(filters).put("version", options.get("version"));
      try {
        JsonNode answer = table.ask("choose_fragments", arguments.put("command", command.name()));
        chosen = answer.toString();
      } catch (Refusal refusal) {
        throw refusal.plain();
      }
      options.put(OPTION, chosen);
      return Internals.scan(table, table.type(), options, new Filter[0], -1, null);
    }
  }
}
