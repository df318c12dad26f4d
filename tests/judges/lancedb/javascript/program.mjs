// What users do with LanceDB's JavaScript client, one scenario after the other; run where its package is installed.
//
// Reads JSON from its input: `uri`, `token` and `database`. The last line of its output is JSON: each scenario, and why
// it failed, if it did.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import * as lancedb from "@lancedb/lancedb";

const settings = JSON.parse(readFileSync(0, "utf8"));

// Rows whose vectors are in the order of their ids; odd ones are apples, even ones pears.
const fruit = (...ids) =>
  ids.map((id) => ({ id, text: `${id % 2 ? "apple" : "pear"} ${id}`, vector: [id, 0] }));
const upTo = (count) => Array.from({ length: count }, (_, place) => place + 1);
const idsOf = async (query) => (await query.toArray()).map((row) => Number(row.id));
const connect = (database) => lancedb.connect(`db://${database}`, { apiKey: settings.token, hostOverride: settings.uri });

const scenarios = {
  async tables(db) {
    await db.createTable("made", fruit(1, 2));
    await assert.rejects(db.createTable("made", fruit(3)), /already exists/);
    assert.equal(await (await db.createTable("made", fruit(3), { mode: "overwrite" })).countRows(), 1);
    const schema = await (await db.openTable("made")).schema();
    await db.createEmptyTable("empty", schema);
    assert.deepEqual(await db.tableNames(), ["empty", "made"]);
    assert.deepEqual(await db.tableNames({ startAfter: "empty", limit: 1 }), ["made"]);
    await db.dropTable("empty");
    await assert.rejects(db.openTable("empty"), /not found/);
  },

  async renaming(db) {
    await db.createTable("old", fruit(1));
    await db.renameTable("old", "new");
    assert.equal(await (await db.openTable("new")).countRows(), 1);
  },

  async namespaces(db) {
    await db.createNamespace(["team"]);
    await db.createNamespace(["team", "inner"]);
    assert.deepEqual((await db.listNamespaces(["team"])).namespaces, ["inner"]);
    await db.createTable("deep", fruit(1, 2), ["team", "inner"]);
    assert.equal(await (await db.openTable("deep", ["team", "inner"])).countRows(), 2);
    await db.dropTable("deep", ["team", "inner"]);
    await db.dropNamespace(["team", "inner"]);
  },

  async rows(db) {
    const table = await db.createTable("rows", fruit(1, 2, 3));
    await table.add(fruit(4, 5));
    assert.equal(await table.countRows(), 5);
    assert.equal(await table.countRows("id > 3"), 2);
    await table.update({ where: "id = 1", values: { text: "quince" } });
    assert.deepEqual(await idsOf(table.query().where("text = 'quince'")), [1]);
    await table.delete("id > 4");
    assert.equal(await table.countRows(), 4);
    await table.add(fruit(9), { mode: "overwrite" });
    assert.deepEqual(await idsOf(table.query()), [9]);
  },

  async merging(db) {
    const table = await db.createTable("merged", fruit(1, 2));
    const rows = [{ ...fruit(2)[0], text: "changed" }, { ...fruit(3)[0], text: "new" }];
    await table.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows);
    const texts = (await table.query().toArray()).map((row) => row.text);
    assert.deepEqual(texts.sort(), ["apple 1", "changed", "new"]);
  },

  async searches(db) {
    const table = await db.createTable("searched", fruit(...upTo(10)));
    assert.deepEqual(await idsOf(table.search([4.2, 0]).limit(2)), [4, 5]);
    assert.deepEqual(await idsOf(table.vectorSearch([4.2, 0]).where("id > 6").limit(2)), [7, 8]);
    const nearest = await table.vectorSearch([1, 0]).distanceType("cosine").select(["id"]).limit(1).toArrow();
    assert.deepEqual(nearest.schema.names.sort(), ["_distance", "id"]);
    assert.deepEqual(await idsOf(table.vectorSearch([1, 0]).limit(2).offset(1)), [2, 3]);
    assert.deepEqual(await idsOf(table.vectorSearch([1, 0]).distanceRange(0.5, 4.5).limit(9)), [2, 3]);
    assert.deepEqual((await idsOf(table.query().where("id < 4"))).sort(), [1, 2, 3]);
    assert.match(await table.vectorSearch([1, 0]).explainPlan(true), /LanceRead/);
  },

  async words(db) {
    const table = await db.createTable("words", fruit(...upTo(10)));
    await table.createIndex("text", { config: lancedb.Index.fts() });
    await table.waitForIndex(["text_idx"], 60);
    assert.deepEqual((await idsOf(table.search("pear", "fts").where("id < 7").limit(3))).sort(), [2, 4, 6]);
  },

  async indices(db) {
    const table = await db.createTable("indexed", fruit(...upTo(300)));
    await table.createIndex("vector", { config: lancedb.Index.ivfFlat({ numPartitions: 2 }) });
    await table.createIndex("id", { config: lancedb.Index.btree() });
    await table.waitForIndex(["vector_idx", "id_idx"], 60);
    assert.deepEqual((await table.listIndices()).map((index) => index.name).sort(), ["id_idx", "vector_idx"]);
    assert.equal((await table.indexStats("vector_idx")).numIndexedRows, 300);
    assert.deepEqual(await idsOf(table.vectorSearch([7, 0]).nprobes(2).limit(1)), [7]);
    await table.dropIndex("id_idx");
    assert.deepEqual((await table.listIndices()).map((index) => index.name), ["vector_idx"]);
  },

  async versions(db) {
    const table = await db.createTable("versions", fruit(1));
    await table.add(fruit(2));
    const tags = await table.tags();
    await tags.create("two", 2);
    await table.add(fruit(3));
    assert.equal(await table.version(), 3);
    assert.deepEqual((await table.listVersions()).map((each) => each.version), [1, 2, 3]);
    assert.equal((await tags.list()).two.version, 2);
    await table.checkout("two");
    assert.equal(await table.countRows(), 2);
    await table.checkout(1);
    assert.equal(await table.countRows(), 1);
    await table.restore();
    await table.checkoutLatest();
    assert.deepEqual([await table.version(), await table.countRows()], [4, 1]);
  },

  async columns(db) {
    const table = await db.createTable("columns", fruit(1, 2));
    await table.addColumns([{ name: "twice", valueSql: "id * 2" }]);
    assert.deepEqual((await table.query().toArray()).map((row) => Number(row.twice)).sort(), [2, 4]);
    await table.alterColumns([{ path: "twice", rename: "double" }]);
    assert.ok((await table.schema()).names.includes("double"));
    await table.dropColumns(["double"]);
    assert.deepEqual((await table.schema()).names, ["id", "text", "vector"]);
  },

  async statistics(db) {
    const table = await db.createTable("counted", fruit(1, 2, 3));
    assert.equal((await table.stats()).numRows, 3);
  },

  async errors(db) {
    await assert.rejects(db.openTable("nothing"), /not found/);
    const table = await db.createTable("errors", fruit(1));
    await assert.rejects(table.query().where("nothing = 1").toArray(), /nothing/);
    await assert.rejects(table.vectorSearch([1, 2, 3]).limit(1).toArray(), /3/);
  },
};

const outcomes = {};
const whole = await connect(settings.database);
for (const [name, scenario] of Object.entries(scenarios)) {
  const space = `j${name}`;
  await whole.createNamespace([space]);
  try {
    await scenario(await connect(`${settings.database}/${space}`));
    outcomes[name] = null;
  } catch (error) {
    console.error(error);
    outcomes[name] = `${error.name}: ${error.message}`.split(/\s+/).join(" ").slice(0, 300);
  }
  await whole.dropNamespace([space], { behavior: "cascade" });
}
console.log(JSON.stringify(outcomes));
