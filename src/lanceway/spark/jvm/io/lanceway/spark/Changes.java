package io.lanceway.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.types.DataType;

/** What ALTER TABLE asks for, as JSON. */
final class Changes {
  private Changes() {}

  static ArrayNode describe(TableChange[] changes) throws Refusal {
    ArrayNode all = Bridge.JSON.createArrayNode();
    for (TableChange change : changes) {
      describe(change, all.addObject());
    }
    return all;
  }

  private static void describe(TableChange change, ObjectNode into) throws Refusal {
    if (change instanceof TableChange.SetProperty set) {
      into.put("change", "set").put("key", set.property()).put("value", set.value());
    } else if (change instanceof TableChange.RemoveProperty removed) {
      into.put("change", "unset").put("key", removed.property());
    } else if (change instanceof TableChange.AddColumn added) {
      if (added.position() != null) {
        throw Refusal.unsupported("A new column comes last: Lance keeps no other place for it. Leave FIRST or AFTER out.");
      }
      into.put("change", "add").put("nullable", added.isNullable()).put("comment", added.comment());
      into.set("schema", describe(added, added.dataType()));
      path(added, into);
    } else if (change instanceof TableChange.RenameColumn renamed) {
      into.put("change", "rename").put("to", renamed.newName());
      path(renamed, into);
    } else if (change instanceof TableChange.UpdateColumnType updated) {
      into.put("change", "type");
      into.set("schema", describe(updated, updated.newDataType()));
      path(updated, into);
    } else if (change instanceof TableChange.UpdateColumnNullability updated) {
      into.put("change", "nullable").put("nullable", updated.nullable());
      path(updated, into);
    } else if (change instanceof TableChange.UpdateColumnComment updated) {
      into.put("change", "comment").put("comment", updated.newComment());
      path(updated, into);
    } else if (change instanceof TableChange.DeleteColumn deleted) {
      into.put("change", "drop").put("if_exists", deleted.ifExists());
      path(deleted, into);
    } else {
      throw Refusal.unsupported("Lance tables know no such change: " + change.getClass().getSimpleName() + ".");
    }
  }

  /** A schema of the one column that is added or changed. */
  private static JsonNode describe(TableChange.ColumnChange change, DataType type) {
    return Columns.describe(change.fieldNames()[change.fieldNames().length - 1], type);
  }

  private static void path(TableChange.ColumnChange change, ObjectNode into) {
    into.set("column", Bridge.JSON.valueToTree(change.fieldNames()));
  }
}
