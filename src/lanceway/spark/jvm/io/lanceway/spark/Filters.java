package io.lanceway.spark;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.math.BigDecimal;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.Base64;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.sources.*;

/** Spark's filters as JSON: the name of the filter, the column, and a value with the name of its type. */
public final class Filters {
  // Before 1900, in milliseconds: there java.sql's classes count days and zones another way than Spark does.
  private static final long OLD_CALENDARS = -2_208_988_800_000L;

  // The type of a date or time of which Python has none.
  private static final String FAR = "far";

  private Filters() {}

  /** Whether a filter compares with a date or time before the year 1 or after 9999: Spark has those, and Python does not. */
  public static boolean isBeyondPython(Filter filter) {
    return describe(filter).findValuesAsText("type").contains(FAR);
  }

  static ArrayNode describe(Filter[] filters) {
    ArrayNode all = Bridge.JSON.createArrayNode();
    for (Filter filter : filters) {
      all.add(describe(filter));
    }
    return all;
  }

  private static ObjectNode describe(Filter filter) {
    ObjectNode described = Bridge.object().put("filter", filter.getClass().getSimpleName());
    if (filter instanceof And and) {
      described.putArray("of").add(describe(and.left())).add(describe(and.right()));
    } else if (filter instanceof Or or) {
      described.putArray("of").add(describe(or.left())).add(describe(or.right()));
    } else if (filter instanceof Not not) {
      described.putArray("of").add(describe(not.child()));
    } else if (filter instanceof EqualTo equal) {
      compare(described, equal.attribute(), equal.value());
    } else if (filter instanceof EqualNullSafe equal) {
      compare(described, equal.attribute(), equal.value());
    } else if (filter instanceof GreaterThan greater) {
      compare(described, greater.attribute(), greater.value());
    } else if (filter instanceof GreaterThanOrEqual greater) {
      compare(described, greater.attribute(), greater.value());
    } else if (filter instanceof LessThan less) {
      compare(described, less.attribute(), less.value());
    } else if (filter instanceof LessThanOrEqual less) {
      compare(described, less.attribute(), less.value());
    } else if (filter instanceof StringStartsWith text) {
      compare(described, text.attribute(), text.value());
    } else if (filter instanceof StringEndsWith text) {
      compare(described, text.attribute(), text.value());
    } else if (filter instanceof StringContains text) {
      compare(described, text.attribute(), text.value());
    } else if (filter instanceof IsNull tested) {
      described.put("column", tested.attribute());
    } else if (filter instanceof IsNotNull tested) {
      described.put("column", tested.attribute());
    } else if (filter instanceof In in) {
      ArrayNode values = described.put("column", in.attribute()).putArray("values");
      for (Object value : in.values()) {
        values.add(value(value));
      }
    }
    return described;
  }

  private static void compare(ObjectNode described, String column, Object value) {
    described.put("column", column).set("value", value(value));
  }

  private static ObjectNode value(Object value) {
    ObjectNode described = Bridge.object();
    if (value == null) {
      return described.put("type", "null");
    } else if (isFar(value)) {
      return described.put("type", FAR);
    } else if (value instanceof Boolean flag) {
      return described.put("type", "bool").put("value", flag);
    } else if (value instanceof Byte || value instanceof Short || value instanceof Integer || value instanceof Long) {
      return described.put("type", "int").put("value", value.toString());
    } else if (value instanceof Float || value instanceof Double) {
      return described.put("type", value instanceof Float ? "float" : "double").put("value", value.toString());
    } else if (value instanceof BigDecimal number) {
      return described.put("type", "decimal").put("value", number.toPlainString());
    } else if (value instanceof String text) {
      return described.put("type", "string").put("value", text);
    } else if (value instanceof byte[] bytes) {
      return described.put("type", "binary").put("value", Base64.getEncoder().encodeToString(bytes));
    } else if (value instanceof Date day && day.getTime() > OLD_CALENDARS) {
      return described.put("type", "date").put("value", day.toLocalDate().toString());
    } else if (value instanceof LocalDate day) {
      return described.put("type", "date").put("value", day.toString());
    } else if (value instanceof Timestamp moment && moment.getTime() > OLD_CALENDARS) {
      return described.put("type", "timestamp").put("value", moment.toInstant().toString());
    } else if (value instanceof Instant moment) {
      return described.put("type", "timestamp").put("value", moment.toString());
    } else if (value instanceof LocalDateTime moment) {
      return described.put("type", "timestamp_ntz").put("value", moment.toString());
    }
    return described.put("type", "other");
  }

  private static boolean isFar(Object value) {
    if (value instanceof Date day) {
      return isFar(LocalDate.ofEpochDay(DateTimeUtils.fromJavaDate(day)).getYear());
    } else if (value instanceof LocalDate day) {
      return isFar(day.getYear());
    } else if (value instanceof Timestamp moment) {
      return isFar(Instant.EPOCH.plus(DateTimeUtils.fromJavaTimestamp(moment), ChronoUnit.MICROS));
    } else if (value instanceof LocalDateTime moment) {
      return isFar(moment.getYear());
    }
    return value instanceof Instant moment && isFar(moment.atOffset(ZoneOffset.UTC).getYear());
  }

  private static boolean isFar(int year) {
    return year < 1 || year > 9999;
  }
}
