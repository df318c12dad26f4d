package io.lanceway.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.UncheckedIOException;
import java.util.Arrays;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Columns and types as the JSON that Spark itself writes for a schema. */
final class Columns {
  private Columns() {}

  static JsonNode describe(Column[] columns) {
    StructType schema = new StructType();
    for (Column column : columns) {
      StructField field = new StructField(column.name(), column.dataType(), column.nullable(), Metadata.empty());
      schema = schema.add(column.comment() == null ? field : field.withComment(column.comment()));
    }
    return describe(schema);
  }

  /** A type with a name: a column's collation is written beside its type. */
  static JsonNode describe(String name, DataType type) {
    return describe(new StructType().add(name, type));
  }

  static JsonNode describe(DataType type) {
    try {
      return Bridge.JSON.readTree(type.json());
    } catch (JsonProcessingException error) {
      throw new UncheckedIOException(error);
    }
  }

  static Column[] of(StructType schema) {
    return Arrays.stream(schema.fields())
        .map(field -> Column.create(field.name(), field.dataType(), field.nullable(),
            field.getComment().getOrElse(() -> null), null))
        .toArray(Column[]::new);
  }

  static StructType read(JsonNode schema) {
    return (StructType) DataType.fromJson(schema.toString());
  }
}
