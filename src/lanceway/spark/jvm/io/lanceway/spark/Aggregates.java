package io.lanceway.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Avg;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.expressions.aggregate.Sum;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * What tasks aggregate of the rows that they read (aggregates.py); Spark adds up what they find. Only what comes out the
 * same wherever it is computed: no group by a floating-point number, no extreme of one, no sum of a type that grows, no
 * average of whole numbers.
 */
final class Aggregates {
  private static final Set<DataType> WHOLE = Set.of(
      DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType, DataTypes.DateType);
  private static final Set<DataType> GROUPS = Set.of(DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType,
      DataTypes.LongType, DataTypes.DateType, DataTypes.BooleanType, DataTypes.StringType);
  private static final Set<DataType> SUMS = Set.of(DataTypes.LongType, DataTypes.DoubleType);

  private final StructType table;
  private final Set<String> read = new LinkedHashSet<>();
  private final ArrayNode group = Bridge.JSON.createArrayNode();
  private final ArrayNode functions = Bridge.JSON.createArrayNode();
  private StructType schema = new StructType();
  private boolean possible = true;

  private Aggregates(StructType table) {
    this.table = table;
  }

  /** Null where something of it is for Spark alone. */
  static Aggregates of(Aggregation asked, StructType table) {
    Aggregates found = new Aggregates(table);
    for (Expression expression : asked.groupByExpressions()) {
      found.addGroup(expression);
    }
    for (AggregateFunc function : asked.aggregateExpressions()) {
      found.addFunction(function);
    }
    return found.possible ? found : null;
  }

  /** Whether it has an average of anything but a column of doubles, whose sum Spark adds up as the average does. */
  static boolean hasOtherAverages(Aggregation asked, StructType table) {
    return Arrays.stream(asked.aggregateExpressions()).anyMatch(function -> function instanceof Avg average
        && new Aggregates(table).column(average.column(), Set.of(DataTypes.DoubleType)) == null);
  }

  /** The columns that are read for it. */
  List<String> columns() {
    return List.copyOf(read);
  }

  /** What comes out: the groups, then the functions. */
  StructType schema() {
    return schema;
  }

  boolean isGrouped() {
    return !group.isEmpty();
  }

  ObjectNode describe() {
    ObjectNode described = Bridge.object();
    described.set("group", group);
    described.set("functions", functions);
    described.set("schema", Columns.describe(schema));
    return described;
  }

  @Override
  public String toString() {
    return "PushedAggregates: " + functions + (isGrouped() ? ", PushedGroupBy: " + group : "");
  }

  private void addGroup(Expression expression) {
    StructField column = column(expression, GROUPS);
    if (column != null) {
      group.add(column.name());
      schema = schema.add(column.name(), column.dataType(), true);
    }
  }

  private void addFunction(AggregateFunc function) {
    if (function instanceof CountStar) {
      add("count_all", null, DataTypes.LongType);
    } else if (function instanceof Count count && !count.isDistinct()) {
      add("count", column(count.column(), null), DataTypes.LongType);
    } else if (function instanceof Sum sum && !sum.isDistinct()) {
      add("sum", column(sum.column(), SUMS));
    } else if (function instanceof Min min) {
      add("min", column(min.column(), WHOLE));
    } else if (function instanceof Max max) {
      add("max", column(max.column(), WHOLE));
    } else {
      possible = false;
    }
  }

  /** A function that gives what its column holds. */
  private void add(String name, StructField column) {
    add(name, column, column == null ? null : column.dataType());
  }

  private void add(String name, StructField column, DataType type) {
    if (!possible) {
      return;
    }
    ObjectNode function = functions.addObject().put("name", name);
    if (column != null) {
      function.put("column", column.name());
    }
    schema = schema.add("aggregate " + functions.size(), type, true);
  }

  /** A column of the table that is of one of these types, of any if none are named; otherwise all is impossible. */
  private StructField column(Expression expression, Set<DataType> types) {
    if (expression instanceof NamedReference reference && reference.fieldNames().length == 1) {
      String name = reference.fieldNames()[0];
      if (Arrays.asList(table.fieldNames()).contains(name)) {
        StructField column = table.apply(name);
        if (types == null || types.contains(column.dataType())) {
          read.add(name);
          return column;
        }
      }
    }
    possible = false;
    return null;
  }
}
