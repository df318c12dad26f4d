package org.apache.iceberg.rest;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableCommit;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.view.View;

/** Iceberg's own client against a server: CatalogSteps URI WAREHOUSE [TOKEN]. Prints a line for each step. */
public class CatalogSteps {
  private static final Schema SCHEMA =
      new Schema(
          Types.NestedField.required(1, "id", Types.LongType.get()),
          Types.NestedField.optional(2, "name", Types.StringType.get(), "what it is called"));
  private static final Namespace TOP = Namespace.of("java");
  private static final Namespace DEEP = Namespace.of("java", "middle", "deep");
  private static final TableIdentifier FRUIT = TableIdentifier.of(DEEP, "fruit");

  private final RESTCatalog catalog = new RESTCatalog();

  private interface Step {
    Object run() throws Exception;
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> properties = new HashMap<>();
    properties.put(CatalogProperties.URI, arguments[0]);
    properties.put(CatalogProperties.WAREHOUSE_LOCATION, arguments[1]);
    if (arguments.length > 2) {
      properties.put("token", arguments[2]);
    }
    CatalogSteps steps = new CatalogSteps();
    steps.catalog.setConf(new Configuration());
    steps.catalog.initialize("judge", properties);
    steps.namespaces();
    steps.tables();
    steps.schemas();
    steps.appends();
    steps.transactions();
    steps.views();
    steps.ends();
    steps.catalog.close();
  }

  /** What came of a step, or the kind of error that ended it: its words are the server's own. */
  private static void say(String name, Step step) {
    Object result;
    try {
      result = step.run();
    } catch (Exception error) {
      result = error.getClass().getSimpleName();
    }
    System.out.println(name + ": " + result);
  }

  private void namespaces() {
    say("create a namespace", () -> done(() -> catalog.createNamespace(TOP)));
    say("create it again", () -> done(() -> catalog.createNamespace(TOP)));
    say("create one inside", () -> done(() -> catalog.createNamespace(Namespace.of("java", "middle"))));
    say("create one deep inside", () -> done(() -> catalog.createNamespace(DEEP, map("purpose", "test"))));
    say("list the top", () -> catalog.listNamespaces().contains(TOP));
    say("list inside", () -> catalog.listNamespaces(TOP));
    say("list deep inside", () -> catalog.listNamespaces(Namespace.of("java", "middle")));
    say("list a missing one", () -> catalog.listNamespaces(Namespace.of("missing")));
    say("load its properties", () -> catalog.loadNamespaceMetadata(DEEP).get("purpose"));
    say("set properties", () -> catalog.setProperties(DEEP, map("purpose", "more", "a", "b")));
    say("remove a property", () -> catalog.removeProperties(DEEP, new HashSet<>(List.of("a"))));
    say("load them again", () -> catalog.loadNamespaceMetadata(DEEP).get("purpose"));
    say("it exists", () -> catalog.namespaceExists(DEEP));
    say("a missing one", () -> catalog.namespaceExists(Namespace.of("java", "missing")));
    say("drop one that is not empty", () -> catalog.dropNamespace(Namespace.of("java", "middle")));
    say("drop a missing one", () -> catalog.dropNamespace(Namespace.of("missing")));
  }

  private void tables() {
    PartitionSpec buckets = PartitionSpec.builderFor(SCHEMA).bucket("id", 4).build();
    Map<String, String> properties = map("team", "shop");
    say("create a table", () -> catalog.createTable(FRUIT, SCHEMA, buckets, properties).schema().columns().size());
    say("create it again", () -> catalog.createTable(FRUIT, SCHEMA).name());
    say("create one in a missing namespace", () -> catalog.createTable(TableIdentifier.of("missing", "t"), SCHEMA));
    say("list tables", () -> catalog.listTables(DEEP));
    say("load it", () -> catalog.loadTable(FRUIT).properties().get("team"));
    say("its partitions", () -> catalog.loadTable(FRUIT).spec().fields());
    say("its format", () -> TableUtil.formatVersion(catalog.loadTable(FRUIT)));
    say("load a missing one", () -> catalog.loadTable(TableIdentifier.of(DEEP, "missing")));
    say("it exists", () -> catalog.tableExists(FRUIT));
    say("set a property", () -> done(() -> catalog.loadTable(FRUIT).updateProperties().set("k", "v").commit()));
    say("it is set", () -> catalog.loadTable(FRUIT).properties().get("k"));
  }

  private void schemas() {
    Table table = catalog.loadTable(FRUIT);
    say("add a column", () -> done(() -> table.updateSchema().addColumn("price", Types.DoubleType.get()).commit()));
    say("rename a column", () -> done(() -> table.updateSchema().renameColumn("name", "title").commit()));
    say("move and document", () -> done(() -> table.updateSchema().moveFirst("price").updateColumnDoc("id", "number").commit()));
    say("the columns", () -> columns(catalog.loadTable(FRUIT)));
    say("add a partition", () -> done(() -> table.updateSpec().addField("title").commit()));
    say("the partitions", () -> catalog.loadTable(FRUIT).spec().fields().size());
    say("order rows", () -> done(() -> table.replaceSortOrder().asc("id").commit()));
    say("the order", () -> catalog.loadTable(FRUIT).sortOrder().fields().size());
    Table late = catalog.loadTable(FRUIT);
    say("drop a column", () -> done(() -> table.updateSchema().deleteColumn("price").commit()));
    say("a change of an old schema", () -> done(() -> late.updateSchema().addColumn("late", Types.LongType.get()).commit()));
    say("the columns now", () -> columns(catalog.loadTable(FRUIT)));
  }

  private void appends() {
    TableIdentifier plain = TableIdentifier.of(TOP, "plain");
    Table table = catalog.createTable(plain, SCHEMA);
    say("append", () -> done(() -> table.newAppend().appendFile(file(table, "a", 3)).commit()));
    say("append more", () -> done(() -> table.newFastAppend().appendFile(file(table, "b", 4)).commit()));
    say("rows", () -> rows(catalog.loadTable(plain)));
    long first = table.history().get(0).snapshotId();
    say("tag the first", () -> done(() -> table.manageSnapshots().createTag("first", first).commit()));
    say("branch", () -> done(() -> table.manageSnapshots().createBranch("work").commit()));
    say("append to the branch", () -> done(() -> table.newAppend().appendFile(file(table, "c", 5)).toBranch("work").commit()));
    say("references", () -> new TreeSet<>(catalog.loadTable(plain).refs().keySet()));
    say("rows of main", () -> rows(catalog.loadTable(plain)));
    say("delete a file", () -> done(() -> table.newDelete().deleteFile(table.location() + "/data/a.parquet").commit()));
    say("rows without it", () -> rows(catalog.loadTable(plain)));
    say("roll back", () -> done(() -> table.manageSnapshots().rollbackTo(first).commit()));
    say("rows as they were", () -> rows(catalog.loadTable(plain)));
  }

  private void transactions() {
    TableIdentifier made = TableIdentifier.of(TOP, "made");
    TableIdentifier other = TableIdentifier.of(TOP, "other");
    say("a table made by a transaction", () -> {
      Transaction transaction = catalog.newCreateTableTransaction(made, SCHEMA);
      transaction.updateProperties().set("k", "v").commit();
      transaction.newAppend().appendFile(file(transaction.table(), "a", 2)).commit();
      transaction.commitTransaction();
      return rows(catalog.loadTable(made)) + " " + catalog.loadTable(made).properties().get("k");
    });
    say("a table replaced by one", () -> {
      Transaction transaction = catalog.newReplaceTableTransaction(made, SCHEMA, false);
      transaction.newAppend().appendFile(file(transaction.table(), "b", 6)).commit();
      transaction.commitTransaction();
      return rows(catalog.loadTable(made)) + " of " + catalog.loadTable(made).history().size();
    });
    say("two tables at once", () -> {
      Table one = catalog.loadTable(made);
      Table two = catalog.createTable(other, SCHEMA);
      catalog.commitTransaction(List.of(change(made, one, "both"), change(other, two, "both")));
      return catalog.loadTable(made).properties().get("both") + catalog.loadTable(other).properties().get("both");
    });
    say("two tables, one of them changed before", () -> {
      Table one = catalog.loadTable(made);
      Table two = catalog.loadTable(other);
      TableCommit first = change(made, one, "neither");
      Transaction second = two.newTransaction();
      second.updateSchema().addColumn("x", Types.LongType.get()).commit();
      TableCommit stale = commit(other, second);
      catalog.loadTable(other).updateSchema().addColumn("y", Types.LongType.get()).commit();
      try {
        catalog.commitTransaction(List.of(first, stale));
      } catch (RuntimeException error) {
        return error.getClass().getSimpleName() + " " + catalog.loadTable(made).properties().get("neither");
      }
      return "accepted";
    });
  }

  private void views() {
    TableIdentifier seen = TableIdentifier.of(TOP, "seen");
    say("create a view", () -> catalog.buildView(seen).withSchema(SCHEMA).withDefaultNamespace(TOP).withQuery("spark", "SELECT 1").withProperty("k", "v").create().schema().columns().size());
    say("create it again", () -> catalog.buildView(seen).withSchema(SCHEMA).withDefaultNamespace(TOP).withQuery("spark", "SELECT 1").create());
    say("create a table of its name", () -> catalog.createTable(seen, SCHEMA));
    say("replace it", () -> done(() -> catalog.loadView(seen).replaceVersion().withSchema(SCHEMA).withDefaultNamespace(TOP).withQuery("spark", "SELECT 2").withQuery("trino", "SELECT 3").commit()));
    say("its query", () -> catalog.loadView(seen).sqlFor("trino").sql());
    say("its versions", () -> versions(catalog.loadView(seen)));
    say("set a property", () -> done(() -> catalog.loadView(seen).updateProperties().set("k", "w").commit()));
    say("it is set", () -> catalog.loadView(seen).properties().get("k"));
    say("list views", () -> catalog.listViews(TOP));
    say("rename it", () -> done(() -> catalog.renameView(seen, TableIdentifier.of(DEEP, "again"))));
    say("load it by its new name", () -> catalog.loadView(TableIdentifier.of(DEEP, "again")).sqlFor("spark").sql());
    say("load it by its old name", () -> catalog.loadView(seen));
    say("drop it", () -> catalog.dropView(TableIdentifier.of(DEEP, "again")));
    say("drop it again", () -> catalog.dropView(TableIdentifier.of(DEEP, "again")));
  }

  private void ends() {
    TableIdentifier renamed = TableIdentifier.of(TOP, "renamed");
    say("rename a table", () -> done(() -> catalog.renameTable(FRUIT, renamed)));
    say("to a name that is taken", () -> done(() -> catalog.renameTable(renamed, TableIdentifier.of(TOP, "made"))));
    say("to a missing namespace", () -> done(() -> catalog.renameTable(renamed, TableIdentifier.of("missing", "t"))));
    say("a missing table", () -> done(() -> catalog.renameTable(FRUIT, TableIdentifier.of(TOP, "t"))));
    say("its columns", () -> columns(catalog.loadTable(renamed)));
    String file = ((org.apache.iceberg.BaseTable) catalog.loadTable(renamed)).operations().current().metadataFileLocation();
    say("drop it", () -> catalog.dropTable(renamed, false));
    say("drop it again", () -> catalog.dropTable(renamed, false));
    say("register its metadata", () -> columns(catalog.registerTable(renamed, file)));
    say("register it again", () -> catalog.registerTable(renamed, file));
    say("purge it", () -> catalog.dropTable(renamed, true));
    say("drop the rest", () -> {
      List<Boolean> dropped = new ArrayList<>();
      for (TableIdentifier table : catalog.listTables(TOP)) {
        dropped.add(catalog.dropTable(table, true));
      }
      dropped.add(catalog.dropNamespace(DEEP));
      dropped.add(catalog.dropNamespace(Namespace.of("java", "middle")));
      dropped.add(catalog.dropNamespace(TOP));
      return dropped;
    });
  }

  private static String done(ThrowingRunnable change) throws Exception {
    change.run();
    return "done";
  }

  private interface ThrowingRunnable {
    void run() throws Exception;
  }

  private static TableCommit change(TableIdentifier name, Table table, String key) {
    Transaction transaction = table.newTransaction();
    transaction.updateProperties().set(key, "yes").commit();
    return commit(name, transaction);
  }

  private static TableCommit commit(TableIdentifier name, Transaction transaction) {
    org.apache.iceberg.BaseTransaction change = (org.apache.iceberg.BaseTransaction) transaction;
    return TableCommit.create(name, change.startMetadata(), change.currentMetadata());
  }

  /** A map that answers for null, of which the client asks its maps. */
  private static Map<String, String> map(String... pairs) {
    Map<String, String> map = new HashMap<>();
    for (int index = 0; index < pairs.length; index += 2) {
      map.put(pairs[index], pairs[index + 1]);
    }
    return map;
  }

  private static DataFile file(Table table, String name, long rows) {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .withPath(table.location() + "/data/" + name + ".parquet")
        .withFileSizeInBytes(1024)
        .withRecordCount(rows)
        .build();
  }

  private static long rows(Table table) throws Exception {
    long count = 0;
    try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
      for (FileScanTask task : tasks) {
        count += task.file().recordCount();
      }
    }
    return count;
  }

  private static int versions(View view) {
    int count = 0;
    for (Object version : view.versions()) {
      count += 1;
    }
    return count;
  }

  private static List<String> columns(Table table) {
    List<String> names = new ArrayList<>();
    table.schema().columns().forEach(column -> names.add(column.fieldId() + " " + column.name()));
    return names;
  }
}
