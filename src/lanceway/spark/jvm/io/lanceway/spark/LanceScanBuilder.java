package io.lanceway.spark;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownFilters;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;

/** What of a query Lance carries out itself: its columns, its filters, its limit, and aggregates of its rows. */
final class LanceScanBuilder implements SupportsPushDownRequiredColumns, SupportsPushDownFilters,
    SupportsPushDownLimit, SupportsPushDownAggregates {
  private final LanceTable table;
  private final Map<String, String> options;
  private StructType required;
  private Filter[] pushed = {};
  private int limit = -1;
  private int counts;
  private Aggregates aggregates;
  private boolean averages;

  LanceScanBuilder(LanceTable table, Map<String, String> options) {
    this.table = table;
    this.options = options;
    this.required = table.type();
  }

  /** A search answers its best rows: what the query says of them comes after it, or it would be another search. */
  private boolean chooses() {
    return searches() || has("filter");
  }

  private boolean searches() {
    return has("nearest") || has("full_text") || has("limit");
  }

  private boolean has(String option) {
    return options.keySet().stream().anyMatch(option::equalsIgnoreCase);
  }

  @Override
  public void pruneColumns(StructType columns) {
    required = columns;
  }

  @Override
  public Filter[] pushFilters(Filter[] filters) {
    if (chooses() || filters.length == 0) {
      return filters;
    }
    JsonNode answer;
    try {
      answer = table.ask("push_filters", table.where(filters));
    } catch (Refusal refusal) {
      throw refusal.plain();
    }
    List<Filter> taken = new ArrayList<>();
    List<Filter> left = new ArrayList<>();
    for (int i = 0; i < filters.length; i++) {
      (answer.get("taken").get(i).asBoolean() ? taken : left).add(filters[i]);
    }
    pushed = taken.toArray(Filter[]::new);
    if (pushed.length > 0) {
      options.put("filter", answer.get("filter").asText());
    }
    return left.toArray(Filter[]::new);
  }

  @Override
  public Filter[] pushedFilters() {
    return pushed;
  }

  @Override
  public boolean pushLimit(int rows) {
    if (has("nearest") || has("full_text") || aggregates != null) {
      return false;
    }
    limit = rows;
    options.put("partition_limit", Integer.toString(rows));
    return true;
  }

  @Override
  public boolean pushAggregation(Aggregation aggregation) {
    if (isCount(aggregation)) {
      counts = aggregation.aggregateExpressions().length;
      return true;
    }
    if (averages || searches() || limit >= 0 || !table.plansScans()) {
      return false;
    }
    aggregates = Aggregates.of(aggregation, table.type());
    return aggregates != null;
  }

  /**
   * Spark asks this with the aggregation as it was written. If the answer is no, it then offers an average as a sum and a
   * count: but it adds up an average of whole numbers as doubles, which has no overflow, and a sum of them has.
   */
  @Override
  public boolean supportCompletePushDown(Aggregation aggregation) {
    averages |= Aggregates.hasOtherAverages(aggregation, table.type());
    return isCount(aggregation);
  }

  /** The metadata knows how many rows there are. */
  private boolean isCount(Aggregation aggregation) {
    AggregateFunc[] asked = aggregation.aggregateExpressions();
    boolean counting = asked.length > 0 && aggregation.groupByExpressions().length == 0;
    for (AggregateFunc function : asked) {
      counting &= function instanceof CountStar;
    }
    return counting && pushed.length == 0 && !chooses();
  }

  @Override
  public Scan build() {
    if (counts > 0) {
      return Internals.countScan(table.name(), table.rows(), counts);
    }
    if (aggregates != null) {
      required = new StructType();
      aggregates.columns().forEach(name -> required = required.add(table.type().apply(name)));
    }
    StructType columns = required.isEmpty() ? cheapest() : required;
    if (aggregates != null) {
      return Internals.scan(table, columns, options, pushed, -1, aggregates);
    }
    table.hiddenIn(columns).forEach((name, option) -> options.put(option, "true"));
    if (pushed.length > 0 && table.hasIndices()) {
      byte[] found = table.find(columns, options);
      if (found != null) {
        return Internals.foundScan(table, columns, pushed, found);
      }
    }
    return Internals.scan(table, columns, options, pushed, limit, null);
  }

  /** A query that needs no column still needs to know how many rows there are: the smallest column tells. */
  private StructType cheapest() {
    StructType smallest = new StructType();
    for (var field : table.type().fields()) {
      if (smallest.isEmpty() || field.dataType().defaultSize() < smallest.defaultSize()) {
        smallest = new StructType().add(field);
      }
    }
    return smallest;
  }
}
