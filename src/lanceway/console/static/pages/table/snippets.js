// How other tools reach this very table.

import { address } from '../../base/api.js';
import { isVector } from '../../base/cells.js';
import { h } from '../../base/dom.js';
import { section, snippet } from '../../base/widgets.js';

const quote = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : `\`${name.replaceAll('`', '``')}\``);
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const text = (value) => JSON.stringify(value);

export function snippetsOf(names, fields) {
  const uri = address('lance');
  const vector = fields.find((field) => isVector(field.type));
  const search = vector ? `.search([…])` : '.where("…")';
  const id = names.join('$');
  const rest = `"rest", {"uri": ${text(uri)}, "header.Authorization": "Bearer " + os.environ["LANCEWAY_TOKEN"]}`;
  return [
    ['Python', `import os, lanceway\n\nlake = lanceway.connect(${text(uri)}, token=os.environ["LANCEWAY_TOKEN"])\ntable = lake.table(${text(names.every((name) => /^\w+$/.test(name)) ? names.join('.') : names)})\ntable${search}.limit(5).to_pandas()`],
    ['pylance', `import os, lance, lance_namespace\n\nns = lance_namespace.connect(${rest})\nlance.dataset(namespace_client=ns, table_id=${text(names)}).head(5)`],
    ['LanceDB', `import os, lancedb\n\ndb = lancedb.connect_namespace(${rest})\ndb.open_table(${text(names.at(-1))}, namespace_path=${text(names.slice(0, -1))})${vector ? '.search([…]).limit(5)' : ''}.to_pandas()`],
    ['Spark SQL', `# The namespace "lanceway" of lanceway.toml: type = "rest", uri = ${text(uri)}\nspark.sql("SELECT * FROM lanceway.${names.map(quote).join('.')} LIMIT 5").show()`],
    ['DuckDB', `import os, duckdb, lance, lance_namespace\n\nns = lance_namespace.connect(${rest})\nrows = lance.dataset(namespace_client=ns, table_id=${text(names)})\nduckdb.sql("SELECT count(*) FROM rows")`],
    ['curl', `curl -X POST -H "Authorization: Bearer $LANCEWAY_TOKEN" -H 'Accept: application/json' \\\n  -H 'Content-Type: application/json' -d '{"k": 5, "vector": {"single_vector": []}}' \\\n  ${shell(`${uri}/v1/table/${encodeURIComponent(id)}/query`)}`],
  ];
}

export function useTab(names, table) {
  return section('Use this table', null, h('p', { class: 'muted' }, 'Put a token of yours into the variable LANCEWAY_TOKEN first.'), snippetsOf(names, table.schema?.fields ?? []).map(([title, code]) => snippet(title, code)));
}
