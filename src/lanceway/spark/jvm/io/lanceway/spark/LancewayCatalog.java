package io.lanceway.spark;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Any catalog of Lanceway as a catalog of Spark SQL: every question goes to the driver's Python process. */
public class LancewayCatalog implements StagingTableCatalog, SupportsNamespaces {
  private static final String HANDLE = "handle";
  private String name;
  private String handle;
  private Map<String, String> configured;

  @Override
  public void initialize(String given, CaseInsensitiveStringMap options) {
    name = given;
    configured = new HashMap<>(options.asCaseSensitiveMap());
    handle = configured.remove(HANDLE);
  }

  /** What Python keeps for this catalog, which may be set anew, under what Spark's configuration says. */
  private Map<String, String> settings() throws Refusal {
    Map<String, String> kept = handle == null ? Map.of() : Bridge.kept(handle);
    if (kept == null) {
      throw new Refusal(13, "INVALID_INPUT", "The catalog " + name + " belongs to another Spark application. "
          + "Call lanceway.spark.install(spark) in this one.");
    }
    Map<String, String> all = new HashMap<>(kept);
    all.putAll(configured);
    return all;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String[] defaultNamespace() {
    return new String[0];
  }

  // -- namespaces -----------------------------------------------------------------------------------------------------

  @Override
  public String[][] listNamespaces() {
    return listNamespaces(new String[0]);
  }

  @Override
  public String[][] listNamespaces(String[] namespace) {
    return names("list_namespaces", namespace).stream().map(child -> child(namespace, child)).toArray(String[][]::new);
  }

  @Override
  public Map<String, String> loadNamespaceMetadata(String[] namespace) {
    return texts(askAbout(namespace, "describe_namespace", Bridge.object()));
  }

  @Override
  public void createNamespace(String[] namespace, Map<String, String> properties) {
    ObjectNode arguments = Bridge.object();
    arguments.set("properties", Bridge.JSON.valueToTree(properties));
    askAbout(namespace, "create_namespace", arguments);
  }

  @Override
  public void alterNamespace(String[] namespace, NamespaceChange... changes) {
    throw Refusal.unsupported("The properties of a namespace are set when it is made: "
        + "the Lance Namespace contract has no operation that changes them.").plain();
  }

  @Override
  public boolean dropNamespace(String[] namespace, boolean cascade) {
    askAbout(namespace, "drop_namespace", Bridge.object().put("cascade", cascade));
    return true;
  }

  // -- tables ---------------------------------------------------------------------------------------------------------

  @Override
  public Identifier[] listTables(String[] namespace) {
    return names("list_tables", namespace).stream()
        .map(table -> Identifier.of(namespace, table)).toArray(Identifier[]::new);
  }

  @Override
  public Table loadTable(Identifier table) throws NoSuchTableException {
    return load(table, Bridge.object());
  }

  @Override
  public Table loadTable(Identifier table, String version) throws NoSuchTableException {
    return load(table, Bridge.object().put("version", version));
  }

  @Override
  public Table loadTable(Identifier table, long micros) throws NoSuchTableException {
    return load(table, Bridge.object().put("micros", micros));
  }

  @Override
  public boolean tableExists(Identifier table) {
    try {
      return ask(path(table), "table_exists", Bridge.object()).asBoolean();
    } catch (Refusal refusal) {
      throw refusal.about(table);
    }
  }

  @Override
  public boolean dropTable(Identifier table) {
    try {
      ask(path(table), "drop_table", Bridge.object());
      return true;
    } catch (Refusal refusal) {
      if (refusal.isMissing()) {
        return false;
      }
      throw refusal.about(table);
    }
  }

  @Override
  public void renameTable(Identifier table, Identifier target) {
    ObjectNode arguments = Bridge.object();
    arguments.set("to", Bridge.JSON.valueToTree(path(target)));
    try {
      ask(path(table), "rename_table", arguments);
    } catch (Refusal refusal) {
      throw refusal.isTaken() ? refusal.about(target) : refusal.about(table);
    }
  }

  @Override
  public Table alterTable(Identifier table, TableChange... changes) throws NoSuchTableException {
    ObjectNode arguments = Bridge.object();
    try {
      arguments.set("changes", Changes.describe(changes));
      ask(path(table), "alter_table", arguments);
    } catch (Refusal refusal) {
      throw refusal.about(table);
    }
    return loadTable(table);
  }

  @Override
  public Table createTable(Identifier table, TableInfo info) {
    return new LanceTable(this, table, make(table, asked(info, "create")));
  }

  @Override
  public StagedTable stageCreate(Identifier table, TableInfo info) {
    return stage(table, asked(info, "create"));
  }

  @Override
  public StagedTable stageReplace(Identifier table, TableInfo info) {
    return stage(table, asked(info, "replace"));
  }

  @Override
  public StagedTable stageCreateOrReplace(Identifier table, TableInfo info) {
    return stage(table, asked(info, "create_or_replace"));
  }

  private StagedTable stage(Identifier table, ObjectNode asked) {
    return new LanceStagedTable(this, table, asked, make(table, asked));
  }

  private JsonNode make(Identifier table, ObjectNode asked) {
    try {
      return ask(path(table), "create_table", asked);
    } catch (Refusal refusal) {
      throw refusal.isNamespaceMissing() ? refusal.about(table.namespace()) : refusal.about(table);
    }
  }

  private static ObjectNode asked(TableInfo info, String mode) {
    ObjectNode asked = Bridge.object().put("mode", mode).put("partitioned", info.partitions().length > 0);
    asked.set("schema", Columns.describe(info.columns()));
    asked.set("properties", Bridge.JSON.valueToTree(info.properties()));
    return asked;
  }

  private Table load(Identifier table, ObjectNode arguments) throws NoSuchTableException {
    try {
      return new LanceTable(this, table, ask(path(table), "load_table", arguments));
    } catch (Refusal refusal) {
      throw refusal.about(table);
    }
  }

  // -- asking ---------------------------------------------------------------------------------------------------------

  JsonNode ask(String[] id, String question, ObjectNode arguments) throws Refusal {
    arguments.put("catalog", name);
    arguments.set("settings", Bridge.JSON.valueToTree(settings()));
    arguments.set("id", Bridge.JSON.valueToTree(id));
    return Bridge.ask(question, arguments);
  }

  private JsonNode askAbout(String[] namespace, String question, ObjectNode arguments) {
    try {
      return ask(namespace, question, arguments);
    } catch (Refusal refusal) {
      throw refusal.about(namespace);
    }
  }

  private List<String> names(String question, String[] namespace) {
    List<String> found = new ArrayList<>();
    askAbout(namespace, question, Bridge.object()).forEach(each -> found.add(each.asText()));
    return found;
  }

  static Map<String, String> texts(JsonNode object) {
    Map<String, String> found = new HashMap<>();
    object.fieldNames().forEachRemaining(key -> found.put(key, object.get(key).asText()));
    return found;
  }

  static String[] path(Identifier table) {
    return child(table.namespace(), table.name());
  }

  private static String[] child(String[] namespace, String name) {
    String[] path = Arrays.copyOf(namespace, namespace.length + 1);
    path[namespace.length] = name;
    return path;
  }
}
