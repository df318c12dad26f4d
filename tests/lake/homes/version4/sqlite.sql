BEGIN TRANSACTION;
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
	revision BIGINT DEFAULT 1 NOT NULL, 
	CONSTRAINT fk_catalogs_metalake_id FOREIGN KEY(metalake_id) REFERENCES metalakes (id), 
	CONSTRAINT uq_catalogs_metalake_id_name UNIQUE (metalake_id, name)
);
INSERT INTO "catalogs" VALUES(1,1,'lake','lake',1,1,'/warehouse-of-this-home',NULL,'{}','ada','ada',1794860921056,'ada',1794860921056,1);
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
	ended_at BIGINT, 
	CONSTRAINT uq_jobs_key UNIQUE ("key")
);
INSERT INTO "jobs" VALUES(1,'job-3b4209484a43e511e19b','backfill','lanceway','lake','["team","orders"]','0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8','{"column": "total"}','fb750046748271ff8b2e77654bcaaeb799472b1d920df5ef61db0007072a6a97','done',1794860921495,NULL,NULL,NULL,1,NULL,NULL,'{"table": "team.orders", "version": 3, "changed": true, "parts": 1, "done": 1, "rows": 3, "bytes": 0, "column": "total", "type": "int64", "function": "the expression price * amount", "update": true, "computed": 1, "seconds": 0.027}',NULL,'ada',1794860921495,1794860921507,1794860921730);
INSERT INTO "jobs" VALUES(2,'job-4a56f8ed91448fabbff6','refresh','lanceway','lake','["team","large"]','b7df25f820c5262075b2616a8e303c680627bf4051891623c02ed622d3f8a898','{}','002bb877ba9f24f9f7918a1818544a843de22fe90124f9d2b5b82d92a326b886','done',1794860921766,NULL,NULL,NULL,1,NULL,NULL,'{"table": "team.large", "version": 2, "changed": true, "parts": 1, "done": 1, "rows": 2, "bytes": 0, "source": "team.orders", "source_version": 3, "refreshed": "anew", "seconds": 0.019}',NULL,'ada',1794860921766,1794860921771,1794860921811);
INSERT INTO "jobs" VALUES(3,'job-06d664c0192db58bb96d','backfill','lanceway','lake','["team","orders"]','0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8','{"column": "total", "where": "true"}','d79b05e689a818ad244b977c63c5b7f42ecf0c33501721029eeb92f8f46fac1c','queued',1794860921832,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,'ada',1794860921832,NULL,NULL);
CREATE TABLE lanceway_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT lanceway_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "lanceway_schema" VALUES('0004');
CREATE TABLE locks (
	name TEXT NOT NULL, 
	CONSTRAINT pk_locks PRIMARY KEY (name)
);
INSERT INTO "locks" VALUES('locations');
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
	revision BIGINT DEFAULT 1 NOT NULL, 
	CONSTRAINT uq_metalakes_name UNIQUE (name)
);
INSERT INTO "metalakes" VALUES(1,'lanceway',NULL,'{}','ada','ada',1794860921054,'ada',1794860921054,1);
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
	revision BIGINT DEFAULT 1 NOT NULL, 
	CONSTRAINT ck_objects_kind CHECK (kind IN ('namespace', 'table', 'iceberg_table', 'view')), 
	CONSTRAINT ck_objects_parent_kind CHECK (parent_kind = 'namespace'), 
	CONSTRAINT ck_objects_physical CHECK ((kind = 'namespace') = (physical IS NOT NULL)), 
	CONSTRAINT ck_objects_root CHECK ((parent_id IS NULL) = (physical IS NOT NULL AND physical = '')), 
	CONSTRAINT uq_objects_id_kind UNIQUE (id, kind), 
	CONSTRAINT uq_objects_parent_id_name UNIQUE (parent_id, name), 
	CONSTRAINT fk_objects_parent_id_parent_kind FOREIGN KEY(parent_id, parent_kind) REFERENCES objects (id, kind)
);
INSERT INTO "objects" VALUES(1,1,NULL,'namespace','namespace','','',NULL,0,NULL,NULL,'{}','ada','ada',1794860921056,'ada',1794860921056,1);
INSERT INTO "objects" VALUES(2,1,1,'namespace','namespace','team','team',NULL,0,NULL,NULL,'{"purpose": "sales"}','ada','ada',1794860921059,'ada',1794860921059,1);
INSERT INTO "objects" VALUES(3,1,2,'namespace','namespace','eu.west','team.eu%2Ewest',NULL,0,NULL,NULL,'{}','ada','ada',1794860921060,'ada',1794860921060,1);
INSERT INTO "objects" VALUES(4,1,2,'namespace','table','orders',NULL,'/warehouse-of-this-home/d39857304c954dbf9cdade75f4c8afc0',1,NULL,NULL,'{}','ada','ada',1794860921237,'ada',1794860921237,1);
INSERT INTO "objects" VALUES(5,1,2,'namespace','table','large',NULL,'/warehouse-of-this-home/c4a9fb8db08d4f4bb6449528d1901bf6',1,NULL,NULL,'{}','ada','ada',1794860921754,'ada',1794860921754,1);
INSERT INTO "objects" VALUES(6,1,3,'namespace','table','people',NULL,'/warehouse-of-this-home/9d918b4e64534a918fc8600ded3def84',1,NULL,NULL,'{}','ada','ada',1794860921816,'ada',1794860921816,1);
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
INSERT INTO "pipelines" VALUES(1,'nightly',NULL,NULL,NULL,NULL,1794860921043);
CREATE TABLE removals (
	location TEXT NOT NULL, 
	dropped_by TEXT NOT NULL, 
	dropped_at BIGINT NOT NULL, 
	CONSTRAINT pk_removals PRIMARY KEY (location)
);
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
INSERT INTO "runs" VALUES(1,1,1,'k1','done',0,1,'ada','{"nodes": []}',NULL,NULL,1794860921046,1794860921048);
CREATE TABLE settings (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_settings PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('oldest_code','1');
INSERT INTO "settings" VALUES('separator',':');
INSERT INTO "settings" VALUES('separator_policy','restricted');
INSERT INTO "settings" VALUES('identity','f1c6f54778b7421a86b8304fd3c7392c');
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
INSERT INTO "tokens" VALUES(1,1,'cedd9ce3300f','890c3fe61f6b0d70d040f00e76183777d66f9841e2ec82aa0d7bf29b2b0e198b','first','admin',1794860921039,NULL,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(2,2,'a4611076f20c','303788d207f7a918b21f955b97b871d2b5d6de20fc936229c09594fcacaf8449','laptop','admin',1794860921040,NULL,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(3,2,'cfe6e6429b1a','807ac2c26bb47df85d3775111b0360cab4c1e52d58cca3b613ae7906ac13187b','short','admin',1794860921041,1794947321041,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(4,3,'b2aa558416f8','aec0692580ee0a45f86a85db8c56be81006cd2de2b5db0458091882f7b76068a',NULL,'admin',1794860921042,NULL,'admin',1794860921042,NULL);
CREATE TABLE users (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	admin BOOLEAN NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT uq_users_name UNIQUE (name)
);
INSERT INTO "users" VALUES(1,'admin',1,'admin',1794860921038);
INSERT INTO "users" VALUES(2,'ada',0,'admin',1794860921040);
INSERT INTO "users" VALUES(3,'bob',0,'admin',1794860921041);
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
INSERT INTO "versions" VALUES(4,'',1,'_versions/18446744073709551614.manifest-0bbf5970-ad7c-4bca-883a-dbf2a9856c8f','_versions/18446744073709551614.manifest',514,'"9840b8-6606a9fa2fe61-202"','V2','{}',1,'ada',1794860921341);
INSERT INTO "versions" VALUES(4,'',2,'_versions/18446744073709551613.manifest-f6de8007-980f-436d-92d1-4063b9486e00','_versions/18446744073709551613.manifest',658,'"984107-6606a9fa530e1-292"','V2','{}',1,'ada',1794860921476);
INSERT INTO "versions" VALUES(4,'',3,'_versions/18446744073709551612.manifest-d6390dda-2e39-418b-bf0e-a868dced6d28','_versions/18446744073709551612.manifest',704,'"984147-6606a9fa904ba-2c0"','V2','{}',1,'ada',1794860921724);
INSERT INTO "versions" VALUES(4,'trial',1,'tree/trial/_versions/18446744073709551614.manifest-0f0e3480-051b-4bc2-b51f-40a91d9268b3','tree/trial/_versions/18446744073709551614.manifest',485,'"9841e2-6606a9fa94b00-1e5"','V2','{}',1,'ada',1794860921739);
INSERT INTO "versions" VALUES(4,'trial',2,'tree/trial/_versions/18446744073709551613.manifest-213d855c-7de9-4e2c-b400-d923e3101030','tree/trial/_versions/18446744073709551613.manifest',580,'"984252-6606a9fa96701-244"','V2','{}',1,'ada',1794860921746);
INSERT INTO "versions" VALUES(5,'',1,'_versions/18446744073709551614.manifest-ea74973c-6cab-40ea-8af3-c8c861f990a3','_versions/18446744073709551614.manifest',434,'"984344-6606a9fa9876b-1b2"','V2','{}',1,'ada',1794860921758);
INSERT INTO "versions" VALUES(5,'',2,'_versions/18446744073709551613.manifest-0d6f522f-649b-4517-bf25-dc768e9c0df1','_versions/18446744073709551613.manifest',752,'"9845d5-6606a9faa3221-2f0"','V2','{}',0,'ada',1794860921806);
INSERT INTO "versions" VALUES(6,'',1,'_versions/18446744073709551614.manifest-c3adabac-baa0-4e44-8e17-07829f534795','_versions/18446744073709551614.manifest',377,'"9847b3-6606a9faa8fe1-179"','V2','{}',1,'ada',1794860921824);
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
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('users',3);
INSERT INTO "sqlite_sequence" VALUES('tokens',4);
INSERT INTO "sqlite_sequence" VALUES('pipelines',1);
INSERT INTO "sqlite_sequence" VALUES('runs',1);
INSERT INTO "sqlite_sequence" VALUES('metalakes',1);
INSERT INTO "sqlite_sequence" VALUES('catalogs',1);
INSERT INTO "sqlite_sequence" VALUES('objects',6);
INSERT INTO "sqlite_sequence" VALUES('jobs',3);
COMMIT;
