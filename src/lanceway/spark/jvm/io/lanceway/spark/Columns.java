package io.lanceway.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.UncheckedIOException;
import java.util.Arrays;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Columns and types as the JSON that Spark itself writes for a schema. */
final class Columns {
  private Columns() {}

  static ObjectNode describe(Column[] columns) {
    ObjectNode schema = Bridge.object().put("type", "struct");
    ArrayNode fields = schema.putArray("fields");
    for (Column column : columns) {
      ObjectNode field = fields.addObject().put("name", column.name()).put("nullable", column.nullable());
      field.set("type", describe(column.dataType()));
      ObjectNode metadata = field.putObject("metadata");
      if (column.comment() != null) {
        metadata.put("comment", column.comment());
      }
    }
    return schema;
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
