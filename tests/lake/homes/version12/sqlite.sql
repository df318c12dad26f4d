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
INSERT INTO "branches" VALUES(4,'trial','',1,514,'[[1, "1af947ed94664fb38e7a1473fe88efd1"]]','{}','written','d3407560125741e4b700819264bbae1c','ada','ada',1795063125744);
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
	revision BIGINT DEFAULT 1 NOT NULL, owner_kind TEXT DEFAULT 'user' NOT NULL, disabled_by TEXT, disabled_at BIGINT, 
	CONSTRAINT fk_catalogs_metalake_id FOREIGN KEY(metalake_id) REFERENCES metalakes (id), 
	CONSTRAINT uq_catalogs_metalake_id_name UNIQUE (metalake_id, name)
);
INSERT INTO "catalogs" VALUES(1,1,'lake','lake',1,1,'/warehouse-of-this-home',NULL,'{}','ada','ada',1795063123596,'ada',1795063123596,1,'user',NULL,NULL);
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
INSERT INTO "definitions" VALUES(4,'','column','total','{"expression": "price * amount"}','ada','ada',1795063124803);
INSERT INTO "definitions" VALUES(4,'trial','column','total','{"expression": "price * amount"}','ada','ada',1795063125968);
INSERT INTO "definitions" VALUES(5,'','view','','{"kind": "query", "source": ["team", "orders"], "columns": {"id": "`id`", "total": "`total`"}, "where": "total > 10", "key": ["id"]}','ada','ada',1795063126034);
CREATE TABLE feed (
	id INTEGER NOT NULL, 
	turn BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	type TEXT NOT NULL, 
	actor TEXT, 
	metalake TEXT, 
	catalog TEXT, 
	space TEXT, 
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	catalog_id INTEGER, 
	parent_id INTEGER, 
	row_id INTEGER, 
	undenied BOOLEAN, 
	data JSON NOT NULL, 
	CONSTRAINT pk_feed PRIMARY KEY (id)
);
INSERT INTO "feed" VALUES(1,0,1795063123318,'user.created','admin',NULL,NULL,NULL,'user','admin',NULL,NULL,1,NULL,'{"admin": true}');
INSERT INTO "feed" VALUES(2,0,1795063123319,'token.created','admin',NULL,NULL,NULL,'token','admin',NULL,NULL,1,NULL,'{"token": "7d6b37ef20ca"}');
INSERT INTO "feed" VALUES(3,0,1795063123320,'user.created','admin',NULL,NULL,NULL,'user','ada',NULL,NULL,2,NULL,'{"admin": false}');
INSERT INTO "feed" VALUES(4,0,1795063123321,'token.created','admin',NULL,NULL,NULL,'token','ada',NULL,NULL,2,NULL,'{"token": "3a8d6d81b6ee"}');
INSERT INTO "feed" VALUES(5,0,1795063123321,'token.created','admin',NULL,NULL,NULL,'token','ada',NULL,NULL,2,NULL,'{"token": "209327388676"}');
INSERT INTO "feed" VALUES(6,0,1795063123322,'user.created','admin',NULL,NULL,NULL,'user','bob',NULL,NULL,3,NULL,'{"admin": false}');
INSERT INTO "feed" VALUES(7,0,1795063123322,'token.created','admin',NULL,NULL,NULL,'token','bob',NULL,NULL,3,NULL,'{"token": "c71060aa503b"}');
INSERT INTO "feed" VALUES(8,0,1795063123324,'token.revoked','admin',NULL,NULL,NULL,'token','bob',NULL,NULL,3,NULL,'{"token": "c71060aa503b"}');
INSERT INTO "feed" VALUES(9,0,1795063123396,'run.started','ada',NULL,NULL,NULL,'run','k1',NULL,NULL,1,NULL,'{"pipeline": "nightly", "number": 1, "state": "running", "attempt": 1}');
INSERT INTO "feed" VALUES(10,0,1795063123550,'run.ended','ada',NULL,NULL,NULL,'run','k1',NULL,NULL,1,NULL,'{"pipeline": "nightly", "number": 1, "state": "done", "attempt": 1}');
INSERT INTO "feed" VALUES(11,0,1795063123589,'metalake.created','ada','lanceway',NULL,NULL,'metalake','',NULL,NULL,1,NULL,'{}');
INSERT INTO "feed" VALUES(12,0,1795063123606,'catalog.created','ada','lanceway','lake','','catalog','',1,NULL,1,NULL,'{}');
INSERT INTO "feed" VALUES(13,0,1795063123636,'namespace.created','ada','lanceway','lake','team','namespace','',1,1,2,NULL,'{}');
INSERT INTO "feed" VALUES(14,0,1795063123640,'namespace.created','ada','lanceway','lake','team.eu%2Ewest','namespace','',1,2,3,NULL,'{}');
INSERT INTO "feed" VALUES(15,0,1795063124646,'table.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"managed": true}');
INSERT INTO "feed" VALUES(16,0,1795063124759,'version.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"branch":"","version":1}');
INSERT INTO "feed" VALUES(17,0,1795063124788,'version.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"branch":"","version":2}');
INSERT INTO "feed" VALUES(18,0,1795063124803,'definition.changed','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"branch": ""}');
INSERT INTO "feed" VALUES(19,0,1795063124824,'job.queued','ada','lanceway',NULL,NULL,'job','job-992dd406095c1171017b',NULL,NULL,1,NULL,'{"job_kind": "backfill", "object": ["lake", "team", "orders"]}');
INSERT INTO "feed" VALUES(20,0,1795063124839,'job.started',NULL,'lanceway',NULL,NULL,'job','job-992dd406095c1171017b',NULL,NULL,1,NULL,'{"job_kind": "backfill", "object": ["lake", "team", "orders"], "attempt": 1}');
INSERT INTO "feed" VALUES(21,0,1795063125218,'version.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"branch":"","version":3}');
INSERT INTO "feed" VALUES(22,0,1795063125236,'job.ended',NULL,'lanceway',NULL,NULL,'job','job-992dd406095c1171017b',NULL,NULL,1,NULL,'{"job_kind": "backfill", "object": ["lake", "team", "orders"], "state": "done"}');
INSERT INTO "feed" VALUES(23,0,1795063125290,'tag.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"tag": "reviewed", "branch": "", "version": 1}');
INSERT INTO "feed" VALUES(24,0,1795063125744,'branch.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"branch": "trial", "version": 1}');
INSERT INTO "feed" VALUES(25,0,1795063125767,'version.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"branch":"trial","version":1}');
INSERT INTO "feed" VALUES(26,0,1795063126010,'version.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"branch":"trial","version":2}');
INSERT INTO "feed" VALUES(27,0,1795063126014,'tag.created','ada','lanceway','lake','team','table','orders',1,2,4,NULL,'{"tag": "tried", "branch": "trial", "version": 2}');
INSERT INTO "feed" VALUES(28,0,1795063126028,'table.created','ada','lanceway','lake','team','table','large',1,2,5,NULL,'{"managed": true}');
INSERT INTO "feed" VALUES(29,0,1795063126033,'version.created','ada','lanceway','lake','team','table','large',1,2,5,NULL,'{"branch":"","version":1}');
INSERT INTO "feed" VALUES(30,0,1795063126034,'definition.changed','ada','lanceway','lake','team','table','large',1,2,5,NULL,'{"branch": ""}');
INSERT INTO "feed" VALUES(31,0,1795063126046,'job.queued','ada','lanceway',NULL,NULL,'job','job-1c0135b4626d0bfcb907',NULL,NULL,2,NULL,'{"job_kind": "refresh", "object": ["lake", "team", "large"]}');
INSERT INTO "feed" VALUES(32,0,1795063126052,'job.started',NULL,'lanceway',NULL,NULL,'job','job-1c0135b4626d0bfcb907',NULL,NULL,2,NULL,'{"job_kind": "refresh", "object": ["lake", "team", "large"], "attempt": 1}');
INSERT INTO "feed" VALUES(33,0,1795063126139,'version.created','ada','lanceway','lake','team','table','large',1,2,5,NULL,'{"branch":"","version":2}');
INSERT INTO "feed" VALUES(34,0,1795063126142,'job.ended',NULL,'lanceway',NULL,NULL,'job','job-1c0135b4626d0bfcb907',NULL,NULL,2,NULL,'{"job_kind": "refresh", "object": ["lake", "team", "large"], "state": "done"}');
INSERT INTO "feed" VALUES(35,0,1795063126145,'table.created','ada','lanceway','lake','team.eu%2Ewest','table','people',1,3,6,NULL,'{"managed": true}');
INSERT INTO "feed" VALUES(36,0,1795063126148,'version.created','ada','lanceway','lake','team.eu%2Ewest','table','people',1,3,6,NULL,'{"branch":"","version":1}');
INSERT INTO "feed" VALUES(37,0,1795063126151,'job.queued','ada','lanceway',NULL,NULL,'job','job-3999dd9399dd58e62e70',NULL,NULL,3,NULL,'{"job_kind": "backfill", "object": ["lake", "team", "orders"]}');
INSERT INTO "feed" VALUES(38,0,1795063126156,'group.created','admin',NULL,NULL,NULL,'group','analysts',NULL,NULL,1,NULL,'{}');
INSERT INTO "feed" VALUES(39,0,1795063126157,'group.joined','admin',NULL,NULL,NULL,'group','analysts',NULL,NULL,1,NULL,'{"user": "bob"}');
INSERT INTO "feed" VALUES(40,0,1795063126158,'role.created','admin','lanceway',NULL,NULL,'role','readers',NULL,NULL,1,NULL,'{}');
INSERT INTO "feed" VALUES(41,0,1795063126159,'role.given','admin','lanceway',NULL,NULL,'role','readers',NULL,NULL,1,NULL,'{"holder": "analysts", "holder_kind": "group"}');
INSERT INTO "feed" VALUES(42,0,1795063126161,'grant.made','admin','lanceway','lake','team','grant','',NULL,NULL,2,NULL,'{"role": "readers", "privilege": "USE_SCHEMA", "effect": "allow", "level": "schema", "mounted": false}');
INSERT INTO "feed" VALUES(43,0,1795063126161,'grant.made','admin','lanceway','lake','team','grant','',NULL,NULL,2,NULL,'{"role": "readers", "privilege": "SELECT_TABLE", "effect": "allow", "level": "schema", "mounted": false}');
INSERT INTO "feed" VALUES(44,0,1795063126161,'grant.made','admin','lanceway','lake','','grant','',NULL,NULL,1,NULL,'{"role": "readers", "privilege": "USE_CATALOG", "effect": "allow", "level": "catalog", "mounted": false}');
INSERT INTO "feed" VALUES(45,0,1795063126161,'grant.made','admin','lanceway','lake','team','grant','orders',NULL,NULL,4,NULL,'{"role": "readers", "privilege": "SELECT_TABLE", "effect": "deny", "level": "table", "mounted": false}');
INSERT INTO "feed" VALUES(46,0,1795063126178,'catalog.created','ada','lanceway','archive','','catalog','',NULL,NULL,NULL,NULL,'{}');
INSERT INTO "feed" VALUES(47,0,1795063126179,'grant.made','admin','lanceway','archive','','grant','',NULL,NULL,NULL,NULL,'{"role": "readers", "privilege": "USE_CATALOG", "effect": "allow", "level": "catalog", "mounted": true}');
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
	lapsed_at BIGINT, mount_id INTEGER CONSTRAINT fk_foreign_objects_mount_id REFERENCES mounts (id) ON DELETE CASCADE, 
	CONSTRAINT fk_foreign_objects_metalake_id FOREIGN KEY(metalake_id) REFERENCES metalakes (id) ON DELETE CASCADE
);
INSERT INTO "foreign_objects" VALUES(1,1,'archive','','namespace',NULL,NULL,'ada','user','ada',1795063126178,NULL,1);
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
INSERT INTO "grants" VALUES(1,1,NULL,NULL,2,1,'namespace','team','USE_SCHEMA','allow','admin',1795063126160);
INSERT INTO "grants" VALUES(2,1,NULL,NULL,2,1,'namespace','team','SELECT_TABLE','allow','admin',1795063126161);
INSERT INTO "grants" VALUES(3,1,NULL,NULL,1,NULL,'namespace','','USE_CATALOG','allow','admin',1795063126161);
INSERT INTO "grants" VALUES(4,1,NULL,NULL,4,2,'table','orders','SELECT_TABLE','deny','admin',1795063126161);
INSERT INTO "grants" VALUES(5,1,NULL,1,NULL,NULL,NULL,NULL,'USE_CATALOG','allow','admin',1795063126179);
CREATE TABLE group_roles (
	group_id INTEGER NOT NULL, 
	role_id INTEGER NOT NULL, 
	granted_by TEXT NOT NULL, 
	granted_at BIGINT NOT NULL, 
	CONSTRAINT pk_group_roles PRIMARY KEY (group_id, role_id), 
	CONSTRAINT fk_group_roles_group_id FOREIGN KEY(group_id) REFERENCES groups (id) ON DELETE CASCADE, 
	CONSTRAINT fk_group_roles_role_id FOREIGN KEY(role_id) REFERENCES roles (id) ON DELETE CASCADE
);
INSERT INTO "group_roles" VALUES(1,1,'admin',1795063126159);
CREATE TABLE groups (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT uq_groups_name UNIQUE (name)
);
INSERT INTO "groups" VALUES(1,'analysts','admin',1795063126156);
CREATE TABLE idempotency_keys (
	principal TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	state TEXT NOT NULL, 
	holder TEXT NOT NULL, 
	held_until BIGINT NOT NULL, 
	status INTEGER, 
	headers JSON, 
	body BLOB, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	CONSTRAINT pk_idempotency_keys PRIMARY KEY (principal, "key")
);
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
INSERT INTO "jobs" VALUES(1,'job-992dd406095c1171017b','backfill','lanceway','lake','["team","orders"]','0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8','{"column": "total"}','fb750046748271ff8b2e77654bcaaeb799472b1d920df5ef61db0007072a6a97','done',1795063124824,NULL,NULL,NULL,1,NULL,NULL,'{"table": "team.orders", "version": 3, "changed": true, "parts": 1, "done": 1, "rows": 3, "bytes": 0, "column": "total", "type": "int64", "function": "the expression price * amount", "update": true, "computed": 1, "seconds": 0.047}',NULL,'ada',1795063124824,1795063124838,1795063125236,NULL);
INSERT INTO "jobs" VALUES(2,'job-1c0135b4626d0bfcb907','refresh','lanceway','lake','["team","large"]','b7df25f820c5262075b2616a8e303c680627bf4051891623c02ed622d3f8a898','{}','002bb877ba9f24f9f7918a1818544a843de22fe90124f9d2b5b82d92a326b886','done',1795063126046,NULL,NULL,NULL,1,NULL,NULL,'{"table": "team.large", "version": 2, "changed": true, "parts": 1, "done": 1, "rows": 2, "bytes": 0, "source": "team.orders", "source_version": 3, "refreshed": "anew", "seconds": 0.012}',NULL,'ada',1795063126046,1795063126052,1795063126142,NULL);
INSERT INTO "jobs" VALUES(3,'job-3999dd9399dd58e62e70','backfill','lanceway','lake','["team","orders"]','0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8','{"column": "total", "where": "true"}','d79b05e689a818ad244b977c63c5b7f42ecf0c33501721029eeb92f8f46fac1c','queued',1795063126151,NULL,NULL,NULL,0,NULL,NULL,NULL,NULL,'ada',1795063126151,NULL,NULL,NULL);
CREATE TABLE lanceway_schema (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT lanceway_schema_pkc PRIMARY KEY (version_num)
);
INSERT INTO "lanceway_schema" VALUES('0012');
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
INSERT INTO "members" VALUES(3,1,'admin',1795063126157);
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
INSERT INTO "metalakes" VALUES(1,'lanceway',NULL,'{}','ada','ada',1795063123588,'ada',1795063123588,1,'user');
CREATE TABLE mounts (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	metalake_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	type TEXT NOT NULL, 
	settings JSON NOT NULL, 
	secrets TEXT, 
	secret_names JSON NOT NULL, 
	key_id TEXT, 
	comment TEXT, 
	properties JSON NOT NULL, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	changed_by TEXT NOT NULL, 
	changed_at BIGINT NOT NULL, 
	revision BIGINT DEFAULT 1 NOT NULL, 
	disabled_by TEXT, 
	disabled_at BIGINT, 
	CONSTRAINT fk_mounts_metalake_id FOREIGN KEY(metalake_id) REFERENCES metalakes (id) ON DELETE CASCADE, 
	CONSTRAINT uq_mounts_key UNIQUE ("key"), 
	CONSTRAINT uq_mounts_metalake_id_name UNIQUE (metalake_id, name)
);
INSERT INTO "mounts" VALUES(1,1,'archive','c26e0f1e96614836a69f37ae7d517e1f','rest','{"uri": "http://127.0.0.1:9/lance"}','njX4oJy+0vbsaflGHntxlX03g7v5iMCgmRDD9mSBgac3b5aymlfhp3+cObbRo7l/b0dm24G250njYKG2','["token"]','6aeec15a6a6e04ad','Old sales','{}','ada',1795063126177,'ada',1795063126177,1,NULL,NULL);
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
INSERT INTO "objects" VALUES(1,1,NULL,'namespace','namespace','','',NULL,0,NULL,NULL,'{}','ada','ada',1795063123601,'ada',1795063123601,1,'user',0);
INSERT INTO "objects" VALUES(2,1,1,'namespace','namespace','team','team',NULL,0,NULL,NULL,'{"purpose": "sales"}','ada','ada',1795063123619,'ada',1795063123619,1,'user',0);
INSERT INTO "objects" VALUES(3,1,2,'namespace','namespace','eu.west','team.eu%2Ewest',NULL,0,NULL,NULL,'{}','ada','ada',1795063123640,'ada',1795063123640,1,'user',0);
INSERT INTO "objects" VALUES(4,1,2,'namespace','table','orders',NULL,'/warehouse-of-this-home/0b109708b9104ad68571fd589fbb45ff',1,NULL,NULL,'{}','ada','ada',1795063124646,'ada',1795063124646,1,'user',1);
INSERT INTO "objects" VALUES(5,1,2,'namespace','table','large',NULL,'/warehouse-of-this-home/e07d0a7d666b40e19e7cac93d95fb7c8',1,NULL,NULL,'{}','ada','ada',1795063126028,'ada',1795063126028,1,'user',1);
INSERT INTO "objects" VALUES(6,1,3,'namespace','table','people',NULL,'/warehouse-of-this-home/4bc4feccf8b54646901de030b1f078ae',1,NULL,NULL,'{}','ada','ada',1795063126145,'ada',1795063126145,1,'user',1);
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
INSERT INTO "pipelines" VALUES(1,'nightly',NULL,NULL,NULL,NULL,1795063123326);
CREATE TABLE removals (
	location TEXT NOT NULL, 
	dropped_by TEXT NOT NULL, 
	dropped_at BIGINT NOT NULL, 
	CONSTRAINT pk_removals PRIMARY KEY (location)
);
CREATE TABLE retired_locations (
	location TEXT NOT NULL, 
	until BIGINT NOT NULL, 
	CONSTRAINT pk_retired_locations PRIMARY KEY (location)
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
INSERT INTO "roles" VALUES(1,1,'readers','May read sales','admin',1795063126158);
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
INSERT INTO "runs" VALUES(1,1,1,'k1','done',0,1,'ada','{"nodes": []}',NULL,NULL,1795063123395,1795063123550);
CREATE TABLE settings (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_settings PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('access_control','on');
INSERT INTO "settings" VALUES('oldest_code','1');
INSERT INTO "settings" VALUES('separator',':');
INSERT INTO "settings" VALUES('separator_policy','restricted');
INSERT INTO "settings" VALUES('identity','0092cec3b27648ab810d81b1a82ae9da');
INSERT INTO "settings" VALUES('mounts_revision','7d07de3cd9ff375c');
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
INSERT INTO "tags" VALUES(4,'reviewed','',1,514,'{}','written','226f60591e664c07954df4044136ff13','ada','ada',1795063125289,1795063125289);
INSERT INTO "tags" VALUES(4,'tried','trial',2,579,'{}','written','900816d7e58e4a66885e415a0a037a81','ada','ada',1795063126014,1795063126014);
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
	last_used_at BIGINT, parent_id INTEGER CONSTRAINT fk_tokens_parent_id REFERENCES tokens (id) ON DELETE CASCADE, 
	CONSTRAINT uq_tokens_prefix UNIQUE (prefix), 
	CONSTRAINT fk_tokens_user_id FOREIGN KEY(user_id) REFERENCES users (id) ON DELETE CASCADE
);
INSERT INTO "tokens" VALUES(1,1,'7d6b37ef20ca','829e7b89ec942bd0bc94db5ed4d2f412c984eda274bfe24851b931a1e594ece0','first','admin',1795063123318,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(2,2,'3a8d6d81b6ee','7283185509602d9307396662ed9a27769348af634719cb48d2f1663ddc310b43','laptop','admin',1795063123321,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(3,2,'209327388676','48084369ee40416607e5c81c0ef39fe67065bdb832fae6ef7b90d96922a256b7','short','admin',1795063123321,1795149523321,NULL,NULL,NULL,NULL);
INSERT INTO "tokens" VALUES(4,3,'c71060aa503b','e1436ac8f05099dd1cab73fd391724b3406bbb40408c0cc7c5f8ff69ec3eca1f',NULL,'admin',1795063123322,NULL,'admin',1795063123323,NULL,NULL);
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
INSERT INTO "users" VALUES(1,'admin',1,'admin',1795063123317,NULL,NULL,NULL);
INSERT INTO "users" VALUES(2,'ada',0,'admin',1795063123320,NULL,NULL,NULL);
INSERT INTO "users" VALUES(3,'bob',0,'admin',1795063123322,NULL,NULL,NULL);
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
INSERT INTO "versions" VALUES(4,'',1,'_versions/18446744073709551614.manifest-e4f7bc3e-3ffe-4d9c-8139-1a74eebf5eae','_versions/18446744073709551614.manifest',514,'"9866f9-66099b3e65f1b-202"','V2','{}',1,'ada',1795063124759);
INSERT INTO "versions" VALUES(4,'',2,'_versions/18446744073709551613.manifest-c326e1e8-6b7b-470b-b1cf-3d741433c50d','_versions/18446744073709551613.manifest',658,'"9866fc-66099b3e6ebbb-292"','V2','{}',1,'ada',1795063124788);
INSERT INTO "versions" VALUES(4,'',3,'_versions/18446744073709551612.manifest-f7d0bf42-0ae6-4fa2-ba2c-65f6093d2b5d','_versions/18446744073709551612.manifest',703,'"986704-66099b3ed739b-2bf"','V2','{}',1,'ada',1795063125218);
INSERT INTO "versions" VALUES(4,'trial',1,'tree/trial/_versions/18446744073709551614.manifest-2b961caa-082e-4978-8806-1651f96eebdf','tree/trial/_versions/18446744073709551614.manifest',485,'"98829e-66099b3f5ece4-1e5"','V2','{}',1,'ada',1795063125767);
INSERT INTO "versions" VALUES(4,'trial',2,'tree/trial/_versions/18446744073709551613.manifest-39da3697-474c-44ee-9045-d02333997b0c','tree/trial/_versions/18446744073709551613.manifest',579,'"9882a1-66099b3f9895b-243"','V2','{}',1,'ada',1795063126010);
INSERT INTO "versions" VALUES(5,'',1,'_versions/18446744073709551614.manifest-cce0c9b7-8f7f-431c-96d3-8d02e4045249','_versions/18446744073709551614.manifest',433,'"98a2bf-66099b3f9fbf0-1b1"','V2','{}',1,'ada',1795063126033);
INSERT INTO "versions" VALUES(5,'',2,'_versions/18446744073709551613.manifest-829a53c5-7434-47e4-aa9a-4181843068d1','_versions/18446744073709551613.manifest',751,'"98a2c6-66099b3fb8cfb-2ef"','V2','{}',0,'ada',1795063126139);
INSERT INTO "versions" VALUES(6,'',1,'_versions/18446744073709551614.manifest-134c68a8-530c-4380-a146-885a1002c5ac','_versions/18446744073709551614.manifest',376,'"98e510-66099b3fbac3b-178"','V2','{}',1,'ada',1795063126148);
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
CREATE INDEX ix_feed_turn_id ON feed (turn, id) WHERE turn <> 0;
CREATE TRIGGER feed_version_created AFTER INSERT ON versions WHEN NOT NEW.copied
BEGIN
    INSERT INTO feed
        (turn, at, type, actor, metalake, catalog, space, kind, name, catalog_id, parent_id, row_id, data)
    SELECT
        0, NEW.created_at, 'version.created', NEW.created_by, metalakes.name, catalogs.name, around.physical,
        objects.kind, objects.name, objects.catalog_id, objects.parent_id, objects.id,
        json_object('branch', NEW.branch, 'version', NEW.version)
    FROM objects
    JOIN catalogs ON catalogs.id = objects.catalog_id
    JOIN metalakes ON metalakes.id = catalogs.metalake_id
    JOIN objects AS around ON around.id = objects.parent_id
    WHERE objects.id = NEW.table_id;
END;
CREATE INDEX ix_foreign_objects_mount_id ON foreign_objects (mount_id);
CREATE INDEX ix_tokens_parent_id ON tokens (parent_id);
CREATE INDEX ix_idempotency_keys_expires_at ON idempotency_keys (expires_at);
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
INSERT INTO "sqlite_sequence" VALUES('grants',5);
INSERT INTO "sqlite_sequence" VALUES('mounts',1);
INSERT INTO "sqlite_sequence" VALUES('foreign_objects',1);
COMMIT;
