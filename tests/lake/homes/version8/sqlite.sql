BEGIN TRANSACTION;
CREATE TABLE audit (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at BIGINT NOT NULL, 
	request_id TEXT NOT NULL, 
	user TEXT NOT NULL, 
	via TEXT NOT NULL, 
	operation TEXT NOT NULL, 
	object TEXT, 
	outcome TEXT NOT NULL, 
	code BIGINT, 
	reason TEXT, 
	client TEXT, 
	agent TEXT
);
CREATE TABLE branches (
	table_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	parent TEXT NOT NULL, 
	parent_version BIGINT NOT NULL, 
	size BIGINT, 
	lineage JSON NOT NULL, 
	metadata JSON NOT NULL, 
	state TEXT NOT NULL, 
	stamp TEXT NOT NULL, 
	owner TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_branches PRIMARY KEY (table_id, name), 
	CONSTRAINT fk_branches_table_id FOREIGN KEY(table_id) REFERENCES objects (id) ON DELETE CASCADE
);
INSERT INTO "branches" VALUES(4,'trial','',1,514,'[[1, "1d5b96b48a6f45118724ef2be511c4f8"]]','{}','written','7b532a7aaeed49e29680253f40119559','ada','ada',1794976554132);
CREATE TABLE catalogs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	metalake_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	nested BOOLEAN NOT NULL, 
	managed BOOLEAN NOT NULL, 
	location TEXT, 
	comment TEXT, 
	properties JSON NOT NULL, 
	owner TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	changed_by TEXT NOT NULL, 
	changed_at BIGINT NOT NULL, 
	revision BIGINT DEFAULT 1 NOT NULL, owner_kind TEXT DEFAULT 'user' NOT NULL, 
	CONSTRAINT fk_catalogs_metalake_id FOREIGN KEY(metalake_id) REFERENCES metalakes (id), 
	CONSTRAINT uq_catalogs_metalake_id_name UNIQUE (metalake_id, name)
);
INSERT INTO "catalogs" VALUES(1,1,'lake','lake',1,1,'/warehouse-of-this-home',NULL,'{}','ada','ada',1794976552944,'ada',1794976552944,1,'user');
CREATE TABLE clones (
	table_id INTEGER NOT NULL, 
	source_id INTEGER NOT NULL, 
	branch TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	tag TEXT NOT NULL, 
	base_paths JSON NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_clones PRIMARY KEY (table_id), 
	CONSTRAINT fk_clones_table_id FOREIGN KEY(table_id) REFERENCES objects (id) ON DELETE CASCADE, 
	CONSTRAINT fk_clones_source_id FOREIGN KEY(source_id) REFERENCES objects (id)
);
CREATE TABLE definitions (
	table_id INTEGER NOT NULL, 
	branch TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	definition JSON NOT NULL, 
	owner TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_definitions PRIMARY KEY (table_id, branch, kind, name), 
	CONSTRAINT fk_definitions_table_id FOREIGN KEY(table_id) REFERENCES objects (id) ON DELETE CASCADE
);
INSERT INTO "definitions" VALUES(4,'','column','total','{"expression": "price * amount"}','ada','ada',1794976553913);
INSERT INTO "definitions" VALUES(4,'trial','column','total','{"expression": "price * amount"}','ada','ada',1794976554152);
INSERT INTO "definitions" VALUES(5,'','view','','{"kind": "query", "source": ["team", "orders"], "columns": {"id": "`id`", "total": "`total`"}, "where": "total > 10", "key": ["id"]}','ada','ada',1794976554222);
CREATE TABLE foreign_objects (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	metalake_id INTEGER NOT NULL, 
	catalog TEXT NOT NULL, 
	path TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	service_id TEXT, 
	made_at BIGINT, 
	owner TEXT, 
	owner_kind TEXT DEFAULT 'user' NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	lapsed_at BIGINT, 
	CONSTRAINT fk_foreign_objects_metalake_id FOREIGN KEY(metalake_id) REFERENCES metalakes (id) ON DELETE CASCADE
);
CREATE TABLE grants (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	role_id INTEGER NOT NULL, 
	metalake_id INTEGER, 
	foreign_id INTEGER, 
	object_id INTEGER, 
	parent_id INTEGER, 
	kind TEXT, 
	name TEXT, 
	privilege TEXT NOT NULL, 
	effect TEXT NOT NULL, 
	granted_by TEXT NOT NULL, 
	granted_at BIGINT NOT NULL, 
	CONSTRAINT ck_grants_effect CHECK (effect IN ('allow', 'deny')), 
	CONSTRAINT ck_grants_one CHECK ((metalake_id IS NOT NULL AND foreign_id IS NULL AND object_id IS NULL) OR (metalake_id IS NULL AND foreign_id IS NOT NULL AND object_id IS NULL) OR (metalake_id IS NULL AND foreign_id IS NULL AND object_id IS NOT NULL)), 
	CONSTRAINT fk_grants_role_id FOREIGN KEY(role_id) REFERENCES roles (id) ON DELETE CASCADE, 
	CONSTRAINT fk_grants_metalake_id FOREIGN KEY(metalake_id) REFERENCES metalakes (id) ON DELETE CASCADE, 
	CONSTRAINT fk_grants_foreign_id FOREIGN KEY(foreign_id) REFERENCES foreign_objects (id) ON DELETE CASCADE, 
	CONSTRAINT fk_grants_object_id FOREIGN KEY(object_id) REFERENCES objects (id) ON DELETE CASCADE, 
	CONSTRAINT fk_grants_place FOREIGN KEY(object_id, parent_id, kind, name) REFERENCES objects (id, parent_id, kind, name) ON DELETE CASCADE ON UPDATE CASCADE
);
INSERT INTO "grants" VALUES(1,1,NULL,NULL,2,1,'namespace','team','USE_SCHEMA','allow','admin',1794976554466);
INSERT INTO "grants" VALUES(2,1,NULL,NULL,2,1,'namespace','team','SELECT_TABLE','allow','admin',1794976554466);
INSERT INTO "grants" VALUES(3,1,NULL,NULL,1,NULL,'namespace','','USE_CATALOG','allow','admin',1794976554466);
INSERT INTO "grants" VALUES(4,1,NULL,NULL,4,2,'table','orders','SELECT_TABLE','deny','admin',1794976554466);
CREATE TABLE group_roles (
	group_id INTEGER NOT NULL, 
	role_id INTEGER NOT NULL, 
	granted_by TEXT NOT NULL, 
	granted_at BIGINT NOT NULL, 
	CONSTRAINT pk_group_roles PRIMARY KEY (group_id, role_id), 
	CONSTRAINT fk_group_roles_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE, 
	CONSTRAINT fk_group_roles_role_id FOREIGN KEY(role_id) REFERENCES roles (id) ON DELETE CASCADE
);
INSERT INTO "group_roles" VALUES(1,1,'admin',1794976554459);
CREATE TABLE groups (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT uq_groups_name UNIQUE (name)
);
INSERT INTO "groups" VALUES(1,'analysts','admin',1794976554456);
CREATE TABLE jobs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	"key" TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	metalake TEXT NOT NULL, 
	catalog TEXT NOT NULL, 
	path TEXT NOT NULL, 
	place TEXT NOT NULL, 
	request JSON NOT NULL, 
	digest TEXT NOT NULL, 
	state TEXT NOT NULL, 
	due_at BIGINT NOT NULL, 
	holder TEXT, 
	held_by TEXT, 
	held_until BIGINT, 
	attempts BIGINT NOT NULL, 
	cancelled_by TEXT, 
	progress JSON, 
	result JSON, 
	error TEXT, 
	requested_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	began_at BIGINT, 
	ended_at BIGINT, requested_groups JSON, 
	CONSTRAINT uq_jobs_key UNIQUE ("key")
);
INSERT INTO "jobs" VALUES(1,'job-85da413589becca32652','backfill','lanceway','lake','["team","orders"]','0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8','{"column": "total"}','fb750046748271ff8b2e77654bcaaeb799472b1d920df5ef61db0007072a6a97','done',1794976553936,NULL,NULL,NULL,1,NULL,NULL,'{"table": "team.orders", "version": 3, "changed": true, "parts": 1, "done": 1, "rows": 3, "bytes": 0, "column": "total", "type": "int64", "function": "the expression price * amount", "update": true, "computed": 1, "seconds": 0.058}',NULL,'ada',1794976553936,1794976553948,1794976554038,NULL);
INSERT INTO "jobs" VALUES(2,'job-31709d0a3624542f77c8','refresh','lanceway','lake','["team","large"]','b7df25f820c5262075b2616a8e303c680627bf4051891623c02ed622d3f8a898','{}','002bb877ba9f24f9f7918a1818544a843de22fe90124f9d2b5b82d92a326b886','done',1794976554223,NULL,NULL,NULL,1,NULL,NULL,'{"table": "team.large", "version": 2, "changed": true, "parts": 1, "done": 1, "rows": 2, "bytes": 0, "source": "team.orders", "source_version": 3, "refreshed": "anew", "seconds": 0.023}',NULL,'ada',1794976554223,1794976554227,1794976554407,NULL);
INSERT INTO "jobs" VALUES(3,'job-416580c8514d18b327bd','backfill','lanceway','lake','["team","orders"]','0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8','{"column": "total", "where": "true"}','d79b05e689a818ad244b977c63c5b7f42ecf0c33501721029eeb92f8f46fac1c','queued',1794976554433,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,'ada',1794976554433,NULL,NULL,NULL);
CREATE TABLE lanceway_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT lanceway_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "lanceway_schema" VALUES('0008');
CREATE TABLE locks (
	name TEXT NOT NULL, 
	CONSTRAINT pk_locks PRIMARY KEY (name)
);
INSERT INTO "locks" VALUES('locations');
CREATE TABLE members (
	user_id INTEGER NOT NULL, 
	group_id INTEGER NOT NULL, 
	granted_by TEXT NOT NULL, 
	granted_at BIGINT NOT NULL, 
	CONSTRAINT pk_members PRIMARY KEY (user_id, group_id), 
	CONSTRAINT fk_members_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT fk_members_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE
);
INSERT INTO "members" VALUES(3,1,'admin',1794976554457);
CREATE TABLE metalakes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	comment TEXT, 
	properties JSON NOT NULL, 
	owner TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	changed_by TEXT NOT NULL, 
	changed_at BIGINT NOT NULL, 
	revision BIGINT DEFAULT 1 NOT NULL, owner_kind TEXT DEFAULT 'user' NOT NULL, 
	CONSTRAINT uq_metalakes_name UNIQUE (name)
);
INSERT INTO "metalakes" VALUES(1,'lanceway',NULL,'{}','ada','ada',1794976552942,'ada',1794976552942,1,'user');
CREATE TABLE objects (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	catalog_id INTEGER NOT NULL, 
	parent_id INTEGER, 
	parent_kind TEXT DEFAULT 'namespace' NOT NULL, 
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	physical TEXT, 
	location TEXT, 
	managed BOOLEAN NOT NULL, 
	metadata_pointer TEXT, 
	comment TEXT, 
	properties JSON NOT NULL, 
	owner TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	changed_by TEXT NOT NULL, 
	changed_at BIGINT NOT NULL, 
	revision BIGINT DEFAULT 1 NOT NULL, owner_kind TEXT DEFAULT 'user' NOT NULL, adopted BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT ck_objects_kind CHECK (kind IN ('namespace', 'table', 'iceberg_table', 'view')), 
	CONSTRAINT ck_objects_parent_kind CHECK (parent_kind = 'namespace'), 
	CONSTRAINT ck_objects_physical CHECK ((kind = 'namespace') = (physical IS NOT NULL)), 
	CONSTRAINT ck_objects_root CHECK ((parent_id IS NULL) = (physical IS NOT NULL AND physical = '')), 
	CONSTRAINT uq_objects_id_kind UNIQUE (id, kind), 
	CONSTRAINT uq_objects_parent_id_name UNIQUE (parent_id, name), 
	CONSTRAINT fk_objects_parent_id_parent_kind FOREIGN KEY(parent_id, parent_kind) REFERENCES objects (id, kind)
);
INSERT INTO "objects" VALUES(1,1,NULL,'namespace','namespace','','',NULL,0,NULL,NULL,'{}','ada','ada',1794976552945,'ada',1794976552945,1,'user',0);
INSERT INTO "objects" VALUES(2,1,1,'namespace','namespace','team','team',NULL,0,NULL,NULL,'{"purpose": "sales"}','ada','ada',1794976552955,'ada',1794976552955,1,'user',0);
INSERT INTO "objects" VALUES(3,1,2,'namespace','namespace','eu.west','team.eu%2Ewest',NULL,0,NULL,NULL,'{}','ada','ada',1794976552967,'ada',1794976552967,1,'user',0);
INSERT INTO "objects" VALUES(4,1,2,'namespace','table','orders',NULL,'/warehouse-of-this-home/de033e429c2043ffbdae7b86e7f925b0',1,NULL,NULL,'{}','ada','ada',1794976553605,'ada',1794976553605,1,'user',1);
INSERT INTO "objects" VALUES(5,1,2,'namespace','table','large',NULL,'/warehouse-of-this-home/cd20d77b62574a2bb682d990297b75f5',1,NULL,NULL,'{}','ada','ada',1794976554206,'ada',1794976554206,1,'user',1);
INSERT INTO "objects" VALUES(6,1,3,'namespace','table','people',NULL,'/warehouse-of-this-home/7e17726143f94831b0fad3e1dc5a5c3e',1,NULL,NULL,'{}','ada','ada',1794976554410,'ada',1794976554410,1,'user',1);
CREATE TABLE pipelines (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	holder TEXT, 
	held_by TEXT, 
	held_since BIGINT, 
	held_until BIGINT, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT uq_pipelines_name UNIQUE (name)
);
INSERT INTO "pipelines" VALUES(1,'nightly',NULL,NULL,NULL,NULL,1794976552901);
CREATE TABLE removals (
	location TEXT NOT NULL, 
	dropped_by TEXT NOT NULL, 
	dropped_at BIGINT NOT NULL, 
	CONSTRAINT pk_removals PRIMARY KEY (location)
);
CREATE TABLE roles (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	metalake_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	comment TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT fk_roles_metalake_id FOREIGN KEY(metalake_id) REFERENCES metalakes (id) ON DELETE CASCADE, 
	CONSTRAINT uq_roles_metalake_id_name UNIQUE (metalake_id, name)
);
INSERT INTO "roles" VALUES(1,1,'readers','May read sales','admin',1794976554458);
CREATE TABLE run_files (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	pipeline_id INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	path TEXT NOT NULL, 
	modified BIGINT NOT NULL, 
	size BIGINT NOT NULL, 
	since BIGINT NOT NULL, 
	gone BIGINT, 
	CONSTRAINT fk_run_files_pipeline_id FOREIGN KEY(pipeline_id) REFERENCES pipelines (id) ON DELETE CASCADE
);
CREATE TABLE run_reads (
	run_id INTEGER NOT NULL, 
	step TEXT NOT NULL, 
	source TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	table_name TEXT, 
	location TEXT, 
	"after" BIGINT NOT NULL, 
	version BIGINT NOT NULL, 
	CONSTRAINT pk_run_reads PRIMARY KEY (run_id, step, source), 
	CONSTRAINT fk_run_reads_run_id_step FOREIGN KEY(run_id, step) REFERENCES run_steps (run_id, name) ON DELETE CASCADE
);
CREATE TABLE run_steps (
	run_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	state TEXT NOT NULL, 
	base BIGINT, 
	table_name TEXT, 
	location TEXT, 
	version BIGINT, 
	rows BIGINT, 
	bytes BIGINT, 
	details JSON NOT NULL, 
	error TEXT, 
	began_at BIGINT, 
	ended_at BIGINT, 
	CONSTRAINT pk_run_steps PRIMARY KEY (run_id, name), 
	CONSTRAINT fk_run_steps_run_id FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);
INSERT INTO "run_steps" VALUES(1,'clean',1,'write','waiting',NULL,NULL,NULL,NULL,NULL,NULL,'{}',NULL,NULL,NULL);
CREATE TABLE runs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	pipeline_id INTEGER NOT NULL, 
	number BIGINT NOT NULL, 
	"key" TEXT NOT NULL, 
	state TEXT NOT NULL, 
	"full" BOOLEAN NOT NULL, 
	attempts BIGINT NOT NULL, 
	started_by TEXT NOT NULL, 
	graph JSON NOT NULL, 
	pins JSON, 
	error TEXT, 
	began_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	CONSTRAINT uq_runs_key UNIQUE ("key"), 
	CONSTRAINT uq_runs_pipeline_id_number UNIQUE (pipeline_id, number), 
	CONSTRAINT fk_runs_pipeline_id FOREIGN KEY(pipeline_id) REFERENCES pipelines (id) ON DELETE CASCADE
);
INSERT INTO "runs" VALUES(1,1,1,'k1','done',0,1,'ada','{"nodes": []}',NULL,NULL,1794976552909,1794976552917);
CREATE TABLE settings (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_settings PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('access_control','on');
INSERT INTO "settings" VALUES('oldest_code','1');
INSERT INTO "settings" VALUES('separator',':');
INSERT INTO "settings" VALUES('separator_policy','restricted');
INSERT INTO "settings" VALUES('identity','c2181d48349b4a6bbee2e3d97e6448bc');
CREATE TABLE strays (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	table_id INTEGER NOT NULL, 
	branch TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	path TEXT NOT NULL, 
	kept_path TEXT NOT NULL, 
	found_at BIGINT NOT NULL, 
	CONSTRAINT uq_strays_table_id_kept_path UNIQUE (table_id, kept_path), 
	CONSTRAINT fk_strays_table_id FOREIGN KEY(table_id) REFERENCES objects (id) ON DELETE CASCADE
);
CREATE TABLE tags (
	table_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	branch TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	size BIGINT, 
	metadata JSON NOT NULL, 
	state TEXT NOT NULL, 
	stamp TEXT NOT NULL, 
	owner TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	changed_at BIGINT NOT NULL, 
	CONSTRAINT pk_tags PRIMARY KEY (table_id, name), 
	CONSTRAINT fk_tags_table_id FOREIGN KEY(table_id) REFERENCES objects (id) ON DELETE CASCADE
);
INSERT INTO "tags" VALUES(4,'reviewed','',1,514,'{}','written','d0e881622b5642ee9a737f8e41ae0344','ada','ada',1794976554098,1794976554098);
INSERT INTO "tags" VALUES(4,'tried','trial',2,579,'{}','written','431d16b748c94fa2b7c876701915b5bd','ada','ada',1794976554198,1794976554198);
CREATE TABLE tokens (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	user_id INTEGER NOT NULL, 
	prefix TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	label TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	revoked_by TEXT, 
	revoked_at BIGINT, 
	last_used_at BIGINT, 
	CONSTRAINT uq_tokens_prefix UNIQUE (prefix), 
	CONSTRAINT fk_tokens_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "tokens" VALUES(1,1,'365ce8f4f4d3','97575d397da75ab9d910134615a9ab21d49c7b04739888f02749d5c1c4ec7ed2','first','admin',1794976552884,NULL,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(2,2,'8f4a6651b32f','4fc991fd995c60b1a5f01dca3c4f7f56c84e03084c7931f7fa1aa63f14ca628c','laptop','admin',1794976552890,NULL,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(3,2,'8f966c0e0a33','a54d605c9189e10dc7d7abd3d7ad23384a7a8cc59d452d7aa1ff24aa25b47845','short','admin',1794976552893,1795062952893,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(4,3,'b52351e75b4d','ea7628660b4e9e21814e414d309942d856a31aca9078ce4cbfa460320ad3b7b5',NULL,'admin',1794976552894,NULL,'admin',1794976552897,NULL);
CREATE TABLE user_roles (
	user_id INTEGER NOT NULL, 
	role_id INTEGER NOT NULL, 
	granted_by TEXT NOT NULL, 
	granted_at BIGINT NOT NULL, 
	CONSTRAINT pk_user_roles PRIMARY KEY (user_id, role_id), 
	CONSTRAINT fk_user_roles_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE, 
	CONSTRAINT fk_user_roles_role_id FOREIGN KEY(role_id) REFERENCES roles (id) ON DELETE CASCADE
);
CREATE TABLE users (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	admin BOOLEAN NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, issuer TEXT, disabled_by TEXT, disabled_at BIGINT, 
	CONSTRAINT uq_users_name UNIQUE (name)
);
INSERT INTO "users" VALUES(1,'admin',1,'admin',1794976552883,NULL,NULL,NULL);
INSERT INTO "users" VALUES(2,'ada',0,'admin',1794976552890,NULL,NULL,NULL);
INSERT INTO "users" VALUES(3,'bob',0,'admin',1794976552894,NULL,NULL,NULL);
CREATE TABLE versions (
	table_id INTEGER NOT NULL, 
	branch TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	staging_path TEXT NOT NULL, 
	final_path TEXT NOT NULL, 
	size BIGINT, 
	e_tag TEXT, 
	naming_scheme TEXT NOT NULL, 
	metadata JSON NOT NULL, 
	copied BOOLEAN NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_versions PRIMARY KEY (table_id, branch, version), 
	CONSTRAINT fk_versions_table_id FOREIGN KEY(table_id) REFERENCES objects (id) ON DELETE CASCADE
);
INSERT INTO "versions" VALUES(4,'',1,'_versions/18446744073709551614.manifest-90b41b83-f456-4263-8cdd-f5d77a2509fb','_versions/18446744073709551614.manifest',514,'"9e9e9a-660858bdf2297-202"','V2','{}',1,'ada',1794976553868);
INSERT INTO "versions" VALUES(4,'',2,'_versions/18446744073709551613.manifest-1522d418-ab9d-4e84-91c7-b5187f036d8d','_versions/18446744073709551613.manifest',658,'"9e9e9d-660858be01c97-292"','V2','{}',1,'ada',1794976553910);
INSERT INTO "versions" VALUES(4,'',3,'_versions/18446744073709551612.manifest-3df5fc49-268d-4778-b6bb-7e8ef8e99693','_versions/18446744073709551612.manifest',703,'"9e9ea1-660858be1d217-2bf"','V2','{}',1,'ada',1794976554020);
INSERT INTO "versions" VALUES(4,'trial',1,'tree/trial/_versions/18446744073709551614.manifest-bdbdccab-346b-46ff-a415-1ca46c8fa975','tree/trial/_versions/18446744073709551614.manifest',484,'"9e9ea7-660858be3b677-1e4"','V2','{}',1,'ada',1794976554144);
INSERT INTO "versions" VALUES(4,'trial',2,'tree/trial/_versions/18446744073709551613.manifest-179a8d7c-d545-4883-82dc-f01e4ac4b738','tree/trial/_versions/18446744073709551613.manifest',579,'"9e9eac-660858be48197-243"','V2','{}',1,'ada',1794976554195);
INSERT INTO "versions" VALUES(5,'',1,'_versions/18446744073709551614.manifest-0693b466-db08-48b3-93a9-1fe09c3d4c18','_versions/18446744073709551614.manifest',433,'"9e9eb1-660858be4cfb7-1b1"','V2','{}',1,'ada',1794976554219);
INSERT INTO "versions" VALUES(5,'',2,'_versions/18446744073709551613.manifest-a0eba458-96ff-4116-a71f-4baf3d63c19d','_versions/18446744073709551613.manifest',752,'"9e9eba-660858be79e77-2f0"','V2','{}',1,'ada',1794976554401);
INSERT INTO "versions" VALUES(6,'',1,'_versions/18446744073709551614.manifest-e4caa8ae-58d7-40b4-8d7a-568eb590834b','_versions/18446744073709551614.manifest',377,'"9e9ec1-660858be7fc37-179"','V2','{}',1,'ada',1794976554425);
CREATE INDEX ix_catalogs_location ON catalogs (location);
CREATE INDEX ix_objects_parent_id_kind_name ON objects (parent_id, kind, name);
CREATE UNIQUE INDEX uq_objects_catalog_id_physical ON objects (catalog_id, physical) WHERE physical IS NOT NULL;
CREATE UNIQUE INDEX uq_objects_location ON objects (location) WHERE location IS NOT NULL;
CREATE INDEX ix_versions_uncopied ON versions (table_id, branch, version) WHERE NOT copied;
CREATE INDEX ix_tokens_user_id_id ON tokens (user_id, id);
CREATE INDEX ix_run_steps_location_version ON run_steps (location, version);
CREATE INDEX ix_run_reads_location ON run_reads (location);
CREATE INDEX ix_run_files_pipeline_id_source_since ON run_files (pipeline_id, source, since);
CREATE UNIQUE INDEX uq_jobs_waiting ON jobs (digest) WHERE state = 'queued';
CREATE UNIQUE INDEX uq_jobs_held ON jobs (place) WHERE holder IS NOT NULL;
CREATE INDEX ix_jobs_state_due_at_id ON jobs (state, due_at, id);
CREATE INDEX ix_jobs_requested_by_id ON jobs (requested_by, id);
CREATE INDEX ix_audit_at_id ON audit (at, id);
CREATE INDEX ix_audit_user_at_id ON audit (user, at, id);
CREATE INDEX ix_audit_object_at_id ON audit (object, at, id);
CREATE INDEX ix_objects_owner ON objects (owner, owner_kind, kind, parent_id, name);
CREATE UNIQUE INDEX uq_objects_place ON objects (id, parent_id, kind, name);
CREATE INDEX ix_members_group_id ON members (group_id);
CREATE INDEX ix_user_roles_role_id ON user_roles (role_id);
CREATE INDEX ix_group_roles_role_id ON group_roles (role_id);
CREATE UNIQUE INDEX uq_foreign_objects_path ON foreign_objects (metalake_id, catalog, path, kind) WHERE lapsed_at IS NULL;
CREATE INDEX ix_foreign_objects_owner ON foreign_objects (owner, owner_kind, metalake_id, catalog);
CREATE UNIQUE INDEX uq_grants_object ON grants (object_id, role_id, privilege, effect);
CREATE UNIQUE INDEX uq_grants_metalake ON grants (metalake_id, role_id, privilege, effect);
CREATE UNIQUE INDEX uq_grants_foreign ON grants (foreign_id, role_id, privilege, effect);
CREATE INDEX ix_grants_role ON grants (role_id, parent_id, kind, name, privilege, effect);
CREATE INDEX ix_clones_source_id_tag ON clones (source_id, tag);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('users',3);
INSERT INTO "sqlite_sequence" VALUES('tokens',4);
INSERT INTO "sqlite_sequence" VALUES('pipelines',1);
INSERT INTO "sqlite_sequence" VALUES('runs',1);
INSERT INTO "sqlite_sequence" VALUES('metalakes',1);
INSERT INTO "sqlite_sequence" VALUES('catalogs',1);
INSERT INTO "sqlite_sequence" VALUES('objects',6);
INSERT INTO "sqlite_sequence" VALUES('jobs',3);
INSERT INTO "sqlite_sequence" VALUES('groups',1);
INSERT INTO "sqlite_sequence" VALUES('roles',1);
INSERT INTO "sqlite_sequence" VALUES('grants',4);
COMMIT;
