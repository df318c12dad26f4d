--
-- PostgreSQL database dump
--

\restrict VnwzaxrFwr3iS7GdxqcyIdH37Mqtvgd3COaHKWKrtYP1wEyQL6UcNXUJcpcqLtA

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: audit; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit (
    id bigint NOT NULL,
    at bigint NOT NULL,
    request_id text NOT NULL COLLATE pg_catalog."C",
    "user" text NOT NULL COLLATE pg_catalog."C",
    via text NOT NULL COLLATE pg_catalog."C",
    operation text NOT NULL COLLATE pg_catalog."C",
    object text COLLATE pg_catalog."C",
    outcome text NOT NULL COLLATE pg_catalog."C",
    code bigint,
    reason text,
    client text,
    agent text
);


--
-- Name: audit_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: audit_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.audit_id_seq OWNED BY public.audit.id;


--
-- Name: branches; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.branches (
    table_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    parent text NOT NULL COLLATE pg_catalog."C",
    parent_version bigint NOT NULL,
    size bigint,
    lineage json NOT NULL,
    metadata json NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    stamp text NOT NULL COLLATE pg_catalog."C",
    owner text COLLATE pg_catalog."C",
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: catalogs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.catalogs (
    id bigint NOT NULL,
    metalake_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    nested boolean NOT NULL,
    managed boolean NOT NULL,
    location text COLLATE pg_catalog."C",
    comment text,
    properties json NOT NULL,
    owner text COLLATE pg_catalog."C",
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    changed_by text NOT NULL COLLATE pg_catalog."C",
    changed_at bigint NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    owner_kind text DEFAULT 'user'::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: catalogs_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.catalogs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: catalogs_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.catalogs_id_seq OWNED BY public.catalogs.id;


--
-- Name: clones; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.clones (
    table_id bigint NOT NULL,
    source_id bigint NOT NULL,
    branch text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    tag text NOT NULL COLLATE pg_catalog."C",
    base_paths json NOT NULL,
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: definitions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.definitions (
    table_id bigint NOT NULL,
    branch text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    definition json NOT NULL,
    owner text COLLATE pg_catalog."C",
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: foreign_objects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.foreign_objects (
    id bigint NOT NULL,
    metalake_id bigint NOT NULL,
    catalog text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    service_id text,
    made_at bigint,
    owner text COLLATE pg_catalog."C",
    owner_kind text DEFAULT 'user'::text NOT NULL COLLATE pg_catalog."C",
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    lapsed_at bigint
);


--
-- Name: foreign_objects_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.foreign_objects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: foreign_objects_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.foreign_objects_id_seq OWNED BY public.foreign_objects.id;


--
-- Name: grants; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.grants (
    id bigint NOT NULL,
    role_id bigint NOT NULL,
    metalake_id bigint,
    foreign_id bigint,
    object_id bigint,
    parent_id bigint,
    kind text COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    privilege text NOT NULL COLLATE pg_catalog."C",
    effect text NOT NULL COLLATE pg_catalog."C",
    granted_by text NOT NULL COLLATE pg_catalog."C",
    granted_at bigint NOT NULL,
    CONSTRAINT ck_grants_effect CHECK ((effect = ANY (ARRAY['allow'::text, 'deny'::text]))),
    CONSTRAINT ck_grants_one CHECK ((((metalake_id IS NOT NULL) AND (foreign_id IS NULL) AND (object_id IS NULL)) OR ((metalake_id IS NULL) AND (foreign_id IS NOT NULL) AND (object_id IS NULL)) OR ((metalake_id IS NULL) AND (foreign_id IS NULL) AND (object_id IS NOT NULL))))
);


--
-- Name: grants_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.grants_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: grants_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.grants_id_seq OWNED BY public.grants.id;


--
-- Name: group_roles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.group_roles (
    group_id bigint NOT NULL,
    role_id bigint NOT NULL,
    granted_by text NOT NULL COLLATE pg_catalog."C",
    granted_at bigint NOT NULL
);


--
-- Name: groups; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.groups (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: groups_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.groups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: groups_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.groups_id_seq OWNED BY public.groups.id;


--
-- Name: jobs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.jobs (
    id bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    metalake text NOT NULL COLLATE pg_catalog."C",
    catalog text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL,
    place text NOT NULL COLLATE pg_catalog."C",
    request json NOT NULL,
    digest text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    due_at bigint NOT NULL,
    holder text COLLATE pg_catalog."C",
    held_by text,
    held_until bigint,
    attempts bigint NOT NULL,
    cancelled_by text COLLATE pg_catalog."C",
    progress json,
    result json,
    error text,
    requested_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    began_at bigint,
    ended_at bigint,
    requested_groups json
);


--
-- Name: jobs_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: jobs_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.jobs_id_seq OWNED BY public.jobs.id;


--
-- Name: lanceway_schema; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.lanceway_schema (
    version_num character varying(32) NOT NULL
);


--
-- Name: locks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.locks (
    name text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: members; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.members (
    user_id bigint NOT NULL,
    group_id bigint NOT NULL,
    granted_by text NOT NULL COLLATE pg_catalog."C",
    granted_at bigint NOT NULL
);


--
-- Name: metalakes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.metalakes (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    comment text,
    properties json NOT NULL,
    owner text COLLATE pg_catalog."C",
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    changed_by text NOT NULL COLLATE pg_catalog."C",
    changed_at bigint NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    owner_kind text DEFAULT 'user'::text NOT NULL COLLATE pg_catalog."C"
);


--
-- Name: metalakes_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.metalakes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: metalakes_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.metalakes_id_seq OWNED BY public.metalakes.id;


--
-- Name: objects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.objects (
    id bigint NOT NULL,
    catalog_id bigint NOT NULL,
    parent_id bigint,
    parent_kind text DEFAULT 'namespace'::text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    physical text COLLATE pg_catalog."C",
    location text COLLATE pg_catalog."C",
    managed boolean NOT NULL,
    metadata_pointer text,
    comment text,
    properties json NOT NULL,
    owner text COLLATE pg_catalog."C",
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    changed_by text NOT NULL COLLATE pg_catalog."C",
    changed_at bigint NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    owner_kind text DEFAULT 'user'::text NOT NULL COLLATE pg_catalog."C",
    adopted boolean DEFAULT false NOT NULL,
    CONSTRAINT ck_objects_kind CHECK ((kind = ANY (ARRAY['namespace'::text, 'table'::text, 'iceberg_table'::text, 'view'::text]))),
    CONSTRAINT ck_objects_parent_kind CHECK ((parent_kind = 'namespace'::text)),
    CONSTRAINT ck_objects_physical CHECK (((kind = 'namespace'::text) = (physical IS NOT NULL))),
    CONSTRAINT ck_objects_root CHECK (((parent_id IS NULL) = ((physical IS NOT NULL) AND (physical = ''::text))))
);


--
-- Name: objects_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.objects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: objects_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.objects_id_seq OWNED BY public.objects.id;


--
-- Name: pipelines; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pipelines (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    holder text COLLATE pg_catalog."C",
    held_by text,
    held_since bigint,
    held_until bigint,
    created_at bigint NOT NULL
);


--
-- Name: pipelines_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.pipelines_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: pipelines_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.pipelines_id_seq OWNED BY public.pipelines.id;


--
-- Name: removals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.removals (
    location text NOT NULL COLLATE pg_catalog."C",
    dropped_by text NOT NULL COLLATE pg_catalog."C",
    dropped_at bigint NOT NULL
);


--
-- Name: roles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.roles (
    id bigint NOT NULL,
    metalake_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    comment text,
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: roles_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.roles_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: roles_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.roles_id_seq OWNED BY public.roles.id;


--
-- Name: run_files; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.run_files (
    id bigint NOT NULL,
    pipeline_id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    path text NOT NULL,
    modified bigint NOT NULL,
    size bigint NOT NULL,
    since bigint NOT NULL,
    gone bigint
);


--
-- Name: run_files_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.run_files_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: run_files_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.run_files_id_seq OWNED BY public.run_files.id;


--
-- Name: run_reads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.run_reads (
    run_id bigint NOT NULL,
    step text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    table_name text,
    location text COLLATE pg_catalog."C",
    after bigint NOT NULL,
    version bigint NOT NULL
);


--
-- Name: run_steps; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.run_steps (
    run_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    "position" bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    base bigint,
    table_name text,
    location text COLLATE pg_catalog."C",
    version bigint,
    rows bigint,
    bytes bigint,
    details json NOT NULL,
    error text,
    began_at bigint,
    ended_at bigint
);


--
-- Name: runs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.runs (
    id bigint NOT NULL,
    pipeline_id bigint NOT NULL,
    number bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    "full" boolean NOT NULL,
    attempts bigint NOT NULL,
    started_by text NOT NULL COLLATE pg_catalog."C",
    graph json NOT NULL,
    pins json,
    error text,
    began_at bigint NOT NULL,
    ended_at bigint
);


--
-- Name: runs_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: runs_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.runs_id_seq OWNED BY public.runs.id;


--
-- Name: settings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.settings (
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL
);


--
-- Name: strays; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.strays (
    id bigint NOT NULL,
    table_id bigint NOT NULL,
    branch text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    path text NOT NULL,
    kept_path text NOT NULL COLLATE pg_catalog."C",
    found_at bigint NOT NULL
);


--
-- Name: strays_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.strays_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: strays_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.strays_id_seq OWNED BY public.strays.id;


--
-- Name: tags; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tags (
    table_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    branch text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    size bigint,
    metadata json NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    stamp text NOT NULL COLLATE pg_catalog."C",
    owner text COLLATE pg_catalog."C",
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    changed_at bigint NOT NULL
);


--
-- Name: tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.tokens (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    prefix text NOT NULL COLLATE pg_catalog."C",
    hash text NOT NULL,
    label text,
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_by text COLLATE pg_catalog."C",
    revoked_at bigint,
    last_used_at bigint
);


--
-- Name: tokens_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: tokens_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.tokens_id_seq OWNED BY public.tokens.id;


--
-- Name: user_roles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.user_roles (
    user_id bigint NOT NULL,
    role_id bigint NOT NULL,
    granted_by text NOT NULL COLLATE pg_catalog."C",
    granted_at bigint NOT NULL
);


--
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    admin boolean NOT NULL,
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    issuer text COLLATE pg_catalog."C",
    disabled_by text COLLATE pg_catalog."C",
    disabled_at bigint
);


--
-- Name: users_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: users_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.users_id_seq OWNED BY public.users.id;


--
-- Name: versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.versions (
    table_id bigint NOT NULL,
    branch text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    staging_path text NOT NULL,
    final_path text NOT NULL,
    size bigint,
    e_tag text,
    naming_scheme text NOT NULL,
    metadata json NOT NULL,
    copied boolean NOT NULL,
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
);


--
-- Name: audit id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit ALTER COLUMN id SET DEFAULT nextval('public.audit_id_seq'::regclass);


--
-- Name: catalogs id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalogs ALTER COLUMN id SET DEFAULT nextval('public.catalogs_id_seq'::regclass);


--
-- Name: foreign_objects id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.foreign_objects ALTER COLUMN id SET DEFAULT nextval('public.foreign_objects_id_seq'::regclass);


--
-- Name: grants id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants ALTER COLUMN id SET DEFAULT nextval('public.grants_id_seq'::regclass);


--
-- Name: groups id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.groups ALTER COLUMN id SET DEFAULT nextval('public.groups_id_seq'::regclass);


--
-- Name: jobs id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.jobs ALTER COLUMN id SET DEFAULT nextval('public.jobs_id_seq'::regclass);


--
-- Name: metalakes id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.metalakes ALTER COLUMN id SET DEFAULT nextval('public.metalakes_id_seq'::regclass);


--
-- Name: objects id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.objects ALTER COLUMN id SET DEFAULT nextval('public.objects_id_seq'::regclass);


--
-- Name: pipelines id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pipelines ALTER COLUMN id SET DEFAULT nextval('public.pipelines_id_seq'::regclass);


--
-- Name: roles id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.roles ALTER COLUMN id SET DEFAULT nextval('public.roles_id_seq'::regclass);


--
-- Name: run_files id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_files ALTER COLUMN id SET DEFAULT nextval('public.run_files_id_seq'::regclass);


--
-- Name: runs id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.runs ALTER COLUMN id SET DEFAULT nextval('public.runs_id_seq'::regclass);


--
-- Name: strays id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.strays ALTER COLUMN id SET DEFAULT nextval('public.strays_id_seq'::regclass);


--
-- Name: tokens id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens ALTER COLUMN id SET DEFAULT nextval('public.tokens_id_seq'::regclass);


--
-- Name: users id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users ALTER COLUMN id SET DEFAULT nextval('public.users_id_seq'::regclass);


--
-- Data for Name: audit; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: branches; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.branches VALUES (4, 'trial', '', 1, 514, '[[1, "3b9a730734bb403fb6105d12d66037fb"]]', '{}', 'written', 'f071626499ec4b9696dfd32b51bf5bd5', 'ada', 'ada', 1794976556818);


--
-- Data for Name: catalogs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalogs VALUES (1, 1, 'lake', 'lake', true, true, '/warehouse-of-this-home', NULL, '{}', 'ada', 'ada', 1794976556585, 'ada', 1794976556585, 1, 'user');


--
-- Data for Name: clones; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: definitions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.definitions VALUES (4, '', 'column', 'total', '{"expression": "price * amount"}', 'ada', 'ada', 1794976556636);
INSERT INTO public.definitions VALUES (4, 'trial', 'column', 'total', '{"expression": "price * amount"}', 'ada', 'ada', 1794976556844);
INSERT INTO public.definitions VALUES (5, '', 'view', '', '{"kind": "query", "source": ["team", "orders"], "columns": {"id": "`id`", "total": "`total`"}, "where": "total > 10", "key": ["id"]}', 'ada', 'ada', 1794976556882);


--
-- Data for Name: foreign_objects; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: grants; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.grants VALUES (1, 1, NULL, NULL, 2, 1, 'namespace', 'team', 'USE_SCHEMA', 'allow', 'admin', 1794976556996);
INSERT INTO public.grants VALUES (2, 1, NULL, NULL, 2, 1, 'namespace', 'team', 'SELECT_TABLE', 'allow', 'admin', 1794976556997);
INSERT INTO public.grants VALUES (3, 1, NULL, NULL, 1, NULL, 'namespace', '', 'USE_CATALOG', 'allow', 'admin', 1794976556998);
INSERT INTO public.grants VALUES (4, 1, NULL, NULL, 4, 2, 'table', 'orders', 'SELECT_TABLE', 'deny', 'admin', 1794976556998);


--
-- Data for Name: group_roles; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.group_roles VALUES (1, 1, 'admin', 1794976556992);


--
-- Data for Name: groups; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.groups VALUES (1, 'analysts', 'admin', 1794976556984);


--
-- Data for Name: jobs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.jobs VALUES (1, 'job-a56e782da6b16b561432', 'backfill', 'lanceway', 'lake', '["team","orders"]', '0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8', '{"column": "total"}', 'fb750046748271ff8b2e77654bcaaeb799472b1d920df5ef61db0007072a6a97', 'done', 1794976556647, NULL, NULL, NULL, 1, NULL, NULL, '{"table": "team.orders", "version": 3, "changed": true, "parts": 1, "done": 1, "rows": 3, "bytes": 0, "column": "total", "type": "int64", "function": "the expression price * amount", "update": true, "computed": 1, "seconds": 0.041}', NULL, 'ada', 1794976556647, 1794976556657, 1794976556793, NULL);
INSERT INTO public.jobs VALUES (2, 'job-8d1706aaf0ea76e31532', 'refresh', 'lanceway', 'lake', '["team","large"]', 'b7df25f820c5262075b2616a8e303c680627bf4051891623c02ed622d3f8a898', '{}', '002bb877ba9f24f9f7918a1818544a843de22fe90124f9d2b5b82d92a326b886', 'done', 1794976556884, NULL, NULL, NULL, 1, NULL, NULL, '{"table": "team.large", "version": 2, "changed": true, "parts": 1, "done": 1, "rows": 2, "bytes": 0, "source": "team.orders", "source_version": 3, "refreshed": "anew", "seconds": 0.015}', NULL, 'ada', 1794976556884, 1794976556887, 1794976556945, NULL);
INSERT INTO public.jobs VALUES (3, 'job-2194d910e22e73a3f18e', 'backfill', 'lanceway', 'lake', '["team","orders"]', '0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8', '{"column": "total", "where": "true"}', 'd79b05e689a818ad244b977c63c5b7f42ecf0c33501721029eeb92f8f46fac1c', 'queued', 1794976556961, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'ada', 1794976556961, NULL, NULL, NULL);


--
-- Data for Name: lanceway_schema; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.lanceway_schema VALUES ('0008');


--
-- Data for Name: locks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.locks VALUES ('locations');


--
-- Data for Name: members; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.members VALUES (3, 1, 'admin', 1794976556986);


--
-- Data for Name: metalakes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.metalakes VALUES (1, 'lanceway', NULL, '{}', 'ada', 'ada', 1794976556580, 'ada', 1794976556580, 1, 'user');


--
-- Data for Name: objects; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.objects VALUES (1, 1, NULL, 'namespace', 'namespace', '', '', NULL, false, NULL, NULL, '{}', 'ada', 'ada', 1794976556586, 'ada', 1794976556586, 1, 'user', false);
INSERT INTO public.objects VALUES (2, 1, 1, 'namespace', 'namespace', 'team', 'team', NULL, false, NULL, NULL, '{"purpose": "sales"}', 'ada', 'ada', 1794976556592, 'ada', 1794976556592, 1, 'user', false);
INSERT INTO public.objects VALUES (3, 1, 2, 'namespace', 'namespace', 'eu.west', 'team.eu%2Ewest', NULL, false, NULL, NULL, '{}', 'ada', 'ada', 1794976556596, 'ada', 1794976556596, 1, 'user', false);
INSERT INTO public.objects VALUES (4, 1, 2, 'namespace', 'table', 'orders', NULL, '/warehouse-of-this-home/8f615e0f9c764aa8a5b473ca5ae85972', true, NULL, NULL, '{}', 'ada', 'ada', 1794976556598, 'ada', 1794976556598, 1, 'user', true);
INSERT INTO public.objects VALUES (5, 1, 2, 'namespace', 'table', 'large', NULL, '/warehouse-of-this-home/98a322a5beca4e4c81a651381d87a1de', true, NULL, NULL, '{}', 'ada', 'ada', 1794976556872, 'ada', 1794976556872, 1, 'user', true);
INSERT INTO public.objects VALUES (6, 1, 3, 'namespace', 'table', 'people', NULL, '/warehouse-of-this-home/fb73a5c0d7e843718caafb0ab51025af', true, NULL, NULL, '{}', 'ada', 'ada', 1794976556949, 'ada', 1794976556949, 1, 'user', true);


--
-- Data for Name: pipelines; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.pipelines VALUES (1, 'nightly', NULL, NULL, NULL, NULL, 1794976556553);


--
-- Data for Name: removals; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: roles; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.roles VALUES (1, 1, 'readers', 'May read sales', 'admin', 1794976556988);


--
-- Data for Name: run_files; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: run_reads; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: run_steps; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.run_steps VALUES (1, 'clean', 1, 'write', 'waiting', NULL, NULL, NULL, NULL, NULL, NULL, '{}', NULL, NULL, NULL);


--
-- Data for Name: runs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.runs VALUES (1, 1, 1, 'k1', 'done', false, 1, 'ada', '{"nodes": []}', NULL, NULL, 1794976556557, 1794976556563);


--
-- Data for Name: settings; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.settings VALUES ('access_control', 'on');
INSERT INTO public.settings VALUES ('oldest_code', '1');
INSERT INTO public.settings VALUES ('separator', ':');
INSERT INTO public.settings VALUES ('separator_policy', 'restricted');
INSERT INTO public.settings VALUES ('identity', 'dda2f81845e140bcb0525a101f8cd7b9');


--
-- Data for Name: strays; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tags VALUES (4, 'reviewed', '', 1, 514, '{}', 'written', '25df9b8cb9ab4b2992d2ce1ff89df83d', 'ada', 'ada', 1794976556808, 1794976556808);
INSERT INTO public.tags VALUES (4, 'tried', 'trial', 2, 584, '{}', 'written', 'fbb78b6b2a8842909bdf432e15e2d04d', 'ada', 'ada', 1794976556867, 1794976556867);


--
-- Data for Name: tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tokens VALUES (1, 1, 'ad636dfef88b', 'd929cdf32ff6759ff815829b126821fb4e47bd98f07270f018faebd7b39b2517', 'first', 'admin', 1794976556541, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (2, 2, '89ecad2928eb', '55082a507fd3907ed8ea7ac91fffcc9f1cb4a3b029cebcb482aa282675b4bb00', 'laptop', 'admin', 1794976556544, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (3, 2, '4ae4809fbb9f', 'd4473ffb80c004b7d36c42a6c9de56790ff8a4355b47072418e0500d5eaf753d', 'short', 'admin', 1794976556546, 1795062956546, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (4, 3, 'b0cfd0ba20a1', 'e375a81e645542a6c63232eb7257136c2797aa5a184dda8306d136daff8db82c', NULL, 'admin', 1794976556548, NULL, 'admin', 1794976556550, NULL);


--
-- Data for Name: user_roles; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES (1, 'admin', true, 'admin', 1794976556539, NULL, NULL, NULL);
INSERT INTO public.users VALUES (2, 'ada', false, 'admin', 1794976556544, NULL, NULL, NULL);
INSERT INTO public.users VALUES (3, 'bob', false, 'admin', 1794976556548, NULL, NULL, NULL);


--
-- Data for Name: versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.versions VALUES (4, '', 1, '_versions/18446744073709551614.manifest-4fc3cc09-9860-460a-8ad4-030d7fd666ce', '_versions/18446744073709551614.manifest', 514, '"9ea3c1-660858c096238-202"', 'V2', '{}', true, 'ada', 1794976556616);
INSERT INTO public.versions VALUES (4, '', 2, '_versions/18446744073709551613.manifest-4f97a057-1dde-4604-8053-938e3cdeac1e', '_versions/18446744073709551613.manifest', 658, '"9ea3c6-660858c09ad37-292"', 'V2', '{}', true, 'ada', 1794976556633);
INSERT INTO public.versions VALUES (4, 'trial', 1, 'tree/trial/_versions/18446744073709551614.manifest-9be258a2-3265-4c15-a70f-f99a4f83ebf1', 'tree/trial/_versions/18446744073709551614.manifest', 493, '"9ea3d4-660858c0cba77-1ed"', 'V2', '{}', true, 'ada', 1794976556831);
INSERT INTO public.versions VALUES (5, '', 1, '_versions/18446744073709551614.manifest-851e688e-bfb0-48b4-8c02-172971edc8a6', '_versions/18446744073709551614.manifest', 434, '"9ea3e1-660858c0d6657-1b2"', 'V2', '{}', true, 'ada', 1794976556880);
INSERT INTO public.versions VALUES (4, '', 3, '_versions/18446744073709551612.manifest-47135e0f-5b84-4e66-835d-11035ca03d3d', '_versions/18446744073709551612.manifest', 704, '"9ea3c9-660858c0bef57-2c0"', 'V2', '{}', true, 'ada', 1794976556785);
INSERT INTO public.versions VALUES (4, 'trial', 2, 'tree/trial/_versions/18446744073709551613.manifest-428ebaed-b565-41ed-b5f0-53345beec9f8', 'tree/trial/_versions/18446744073709551613.manifest', 584, '"9ea3db-660858c0d3777-248"', 'V2', '{}', true, 'ada', 1794976556864);
INSERT INTO public.versions VALUES (6, '', 1, '_versions/18446744073709551614.manifest-3c63a4be-25c0-4020-8fe9-e155eef462cd', '_versions/18446744073709551614.manifest', 377, '"9ea3ee-660858c0e9ed7-179"', 'V2', '{}', true, 'ada', 1794976556956);
INSERT INTO public.versions VALUES (5, '', 2, '_versions/18446744073709551613.manifest-7ec68ac3-12cd-49b5-9db7-16d3ba5f011d', '_versions/18446744073709551613.manifest', 752, '"9ea3cb-660858c0e6057-2f0"', 'V2', '{}', true, 'ada', 1794976556943);


--
-- Name: audit_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.audit_id_seq', 1, false);


--
-- Name: catalogs_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.catalogs_id_seq', 1, true);


--
-- Name: foreign_objects_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.foreign_objects_id_seq', 1, false);


--
-- Name: grants_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.grants_id_seq', 4, true);


--
-- Name: groups_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.groups_id_seq', 1, true);


--
-- Name: jobs_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.jobs_id_seq', 3, true);


--
-- Name: metalakes_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.metalakes_id_seq', 1, true);


--
-- Name: objects_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.objects_id_seq', 6, true);


--
-- Name: pipelines_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.pipelines_id_seq', 1, true);


--
-- Name: roles_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.roles_id_seq', 1, true);


--
-- Name: run_files_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.run_files_id_seq', 1, false);


--
-- Name: runs_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.runs_id_seq', 1, true);


--
-- Name: strays_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.strays_id_seq', 1, false);


--
-- Name: tokens_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.tokens_id_seq', 4, true);


--
-- Name: users_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.users_id_seq', 3, true);


--
-- Name: lanceway_schema lanceway_schema_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lanceway_schema
    ADD CONSTRAINT lanceway_schema_pkc PRIMARY KEY (version_num);


--
-- Name: audit pk_audit; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT pk_audit PRIMARY KEY (id);


--
-- Name: branches pk_branches; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.branches
    ADD CONSTRAINT pk_branches PRIMARY KEY (table_id, name);


--
-- Name: catalogs pk_catalogs; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalogs
    ADD CONSTRAINT pk_catalogs PRIMARY KEY (id);


--
-- Name: clones pk_clones; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clones
    ADD CONSTRAINT pk_clones PRIMARY KEY (table_id);


--
-- Name: definitions pk_definitions; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.definitions
    ADD CONSTRAINT pk_definitions PRIMARY KEY (table_id, branch, kind, name);


--
-- Name: foreign_objects pk_foreign_objects; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.foreign_objects
    ADD CONSTRAINT pk_foreign_objects PRIMARY KEY (id);


--
-- Name: grants pk_grants; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT pk_grants PRIMARY KEY (id);


--
-- Name: group_roles pk_group_roles; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_roles
    ADD CONSTRAINT pk_group_roles PRIMARY KEY (group_id, role_id);


--
-- Name: groups pk_groups; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.groups
    ADD CONSTRAINT pk_groups PRIMARY KEY (id);


--
-- Name: jobs pk_jobs; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT pk_jobs PRIMARY KEY (id);


--
-- Name: locks pk_locks; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.locks
    ADD CONSTRAINT pk_locks PRIMARY KEY (name);


--
-- Name: members pk_members; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT pk_members PRIMARY KEY (user_id, group_id);


--
-- Name: metalakes pk_metalakes; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.metalakes
    ADD CONSTRAINT pk_metalakes PRIMARY KEY (id);


--
-- Name: objects pk_objects; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.objects
    ADD CONSTRAINT pk_objects PRIMARY KEY (id);


--
-- Name: pipelines pk_pipelines; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT pk_pipelines PRIMARY KEY (id);


--
-- Name: removals pk_removals; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.removals
    ADD CONSTRAINT pk_removals PRIMARY KEY (location);


--
-- Name: roles pk_roles; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.roles
    ADD CONSTRAINT pk_roles PRIMARY KEY (id);


--
-- Name: run_files pk_run_files; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_files
    ADD CONSTRAINT pk_run_files PRIMARY KEY (id);


--
-- Name: run_reads pk_run_reads; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_reads
    ADD CONSTRAINT pk_run_reads PRIMARY KEY (run_id, step, source);


--
-- Name: run_steps pk_run_steps; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_steps
    ADD CONSTRAINT pk_run_steps PRIMARY KEY (run_id, name);


--
-- Name: runs pk_runs; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT pk_runs PRIMARY KEY (id);


--
-- Name: settings pk_settings; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT pk_settings PRIMARY KEY (key);


--
-- Name: strays pk_strays; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.strays
    ADD CONSTRAINT pk_strays PRIMARY KEY (id);


--
-- Name: tags pk_tags; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT pk_tags PRIMARY KEY (table_id, name);


--
-- Name: tokens pk_tokens; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT pk_tokens PRIMARY KEY (id);


--
-- Name: user_roles pk_user_roles; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_roles
    ADD CONSTRAINT pk_user_roles PRIMARY KEY (user_id, role_id);


--
-- Name: users pk_users; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT pk_users PRIMARY KEY (id);


--
-- Name: versions pk_versions; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.versions
    ADD CONSTRAINT pk_versions PRIMARY KEY (table_id, branch, version);


--
-- Name: catalogs uq_catalogs_metalake_id_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalogs
    ADD CONSTRAINT uq_catalogs_metalake_id_name UNIQUE (metalake_id, name);


--
-- Name: groups uq_groups_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.groups
    ADD CONSTRAINT uq_groups_name UNIQUE (name);


--
-- Name: jobs uq_jobs_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT uq_jobs_key UNIQUE (key);


--
-- Name: metalakes uq_metalakes_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.metalakes
    ADD CONSTRAINT uq_metalakes_name UNIQUE (name);


--
-- Name: objects uq_objects_id_kind; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.objects
    ADD CONSTRAINT uq_objects_id_kind UNIQUE (id, kind);


--
-- Name: objects uq_objects_parent_id_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.objects
    ADD CONSTRAINT uq_objects_parent_id_name UNIQUE (parent_id, name);


--
-- Name: pipelines uq_pipelines_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pipelines
    ADD CONSTRAINT uq_pipelines_name UNIQUE (name);


--
-- Name: roles uq_roles_metalake_id_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.roles
    ADD CONSTRAINT uq_roles_metalake_id_name UNIQUE (metalake_id, name);


--
-- Name: runs uq_runs_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT uq_runs_key UNIQUE (key);


--
-- Name: runs uq_runs_pipeline_id_number; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT uq_runs_pipeline_id_number UNIQUE (pipeline_id, number);


--
-- Name: strays uq_strays_table_id_kept_path; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.strays
    ADD CONSTRAINT uq_strays_table_id_kept_path UNIQUE (table_id, kept_path);


--
-- Name: tokens uq_tokens_prefix; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT uq_tokens_prefix UNIQUE (prefix);


--
-- Name: users uq_users_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.users
    ADD CONSTRAINT uq_users_name UNIQUE (name);


--
-- Name: ix_audit_at_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_audit_at_id ON public.audit USING btree (at, id);


--
-- Name: ix_audit_object_at_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_audit_object_at_id ON public.audit USING btree (object, at, id);


--
-- Name: ix_audit_user_at_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_audit_user_at_id ON public.audit USING btree ("user", at, id);


--
-- Name: ix_catalogs_location; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_catalogs_location ON public.catalogs USING btree (location);


--
-- Name: ix_clones_source_id_tag; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_clones_source_id_tag ON public.clones USING btree (source_id, tag);


--
-- Name: ix_foreign_objects_owner; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_foreign_objects_owner ON public.foreign_objects USING btree (owner, owner_kind, metalake_id, catalog);


--
-- Name: ix_grants_role; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_grants_role ON public.grants USING btree (role_id, parent_id, kind, name, privilege, effect);


--
-- Name: ix_group_roles_role_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_group_roles_role_id ON public.group_roles USING btree (role_id);


--
-- Name: ix_jobs_requested_by_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_jobs_requested_by_id ON public.jobs USING btree (requested_by, id);


--
-- Name: ix_jobs_state_due_at_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_jobs_state_due_at_id ON public.jobs USING btree (state, due_at, id);


--
-- Name: ix_members_group_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_members_group_id ON public.members USING btree (group_id);


--
-- Name: ix_objects_owner; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_objects_owner ON public.objects USING btree (owner, owner_kind, kind, parent_id, name);


--
-- Name: ix_objects_parent_id_kind_name; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_objects_parent_id_kind_name ON public.objects USING btree (parent_id, kind, name);


--
-- Name: ix_run_files_pipeline_id_source_since; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_run_files_pipeline_id_source_since ON public.run_files USING btree (pipeline_id, source, since);


--
-- Name: ix_run_reads_location; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_run_reads_location ON public.run_reads USING btree (location);


--
-- Name: ix_run_steps_location_version; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_run_steps_location_version ON public.run_steps USING btree (location, version);


--
-- Name: ix_tokens_user_id_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tokens_user_id_id ON public.tokens USING btree (user_id, id);


--
-- Name: ix_user_roles_role_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_user_roles_role_id ON public.user_roles USING btree (role_id);


--
-- Name: ix_versions_uncopied; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_versions_uncopied ON public.versions USING btree (table_id, branch, version) WHERE (NOT copied);


--
-- Name: uq_foreign_objects_path; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_foreign_objects_path ON public.foreign_objects USING btree (metalake_id, catalog, path, kind) WHERE (lapsed_at IS NULL);


--
-- Name: uq_grants_foreign; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_grants_foreign ON public.grants USING btree (foreign_id, role_id, privilege, effect);


--
-- Name: uq_grants_metalake; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_grants_metalake ON public.grants USING btree (metalake_id, role_id, privilege, effect);


--
-- Name: uq_grants_object; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_grants_object ON public.grants USING btree (object_id, role_id, privilege, effect);


--
-- Name: uq_jobs_held; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_jobs_held ON public.jobs USING btree (place) WHERE (holder IS NOT NULL);


--
-- Name: uq_jobs_waiting; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_jobs_waiting ON public.jobs USING btree (digest) WHERE (state = 'queued'::text);


--
-- Name: uq_objects_catalog_id_physical; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_objects_catalog_id_physical ON public.objects USING btree (catalog_id, physical) WHERE (physical IS NOT NULL);


--
-- Name: uq_objects_location; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_objects_location ON public.objects USING btree (location) WHERE (location IS NOT NULL);


--
-- Name: uq_objects_place; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX uq_objects_place ON public.objects USING btree (id, parent_id, kind, name);


--
-- Name: branches fk_branches_table_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.branches
    ADD CONSTRAINT fk_branches_table_id FOREIGN KEY (table_id) REFERENCES public.objects(id) ON DELETE CASCADE;


--
-- Name: catalogs fk_catalogs_metalake_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalogs
    ADD CONSTRAINT fk_catalogs_metalake_id FOREIGN KEY (metalake_id) REFERENCES public.metalakes(id);


--
-- Name: clones fk_clones_source_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clones
    ADD CONSTRAINT fk_clones_source_id FOREIGN KEY (source_id) REFERENCES public.objects(id);


--
-- Name: clones fk_clones_table_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clones
    ADD CONSTRAINT fk_clones_table_id FOREIGN KEY (table_id) REFERENCES public.objects(id) ON DELETE CASCADE;


--
-- Name: definitions fk_definitions_table_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.definitions
    ADD CONSTRAINT fk_definitions_table_id FOREIGN KEY (table_id) REFERENCES public.objects(id) ON DELETE CASCADE;


--
-- Name: foreign_objects fk_foreign_objects_metalake_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.foreign_objects
    ADD CONSTRAINT fk_foreign_objects_metalake_id FOREIGN KEY (metalake_id) REFERENCES public.metalakes(id) ON DELETE CASCADE;


--
-- Name: grants fk_grants_foreign_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT fk_grants_foreign_id FOREIGN KEY (foreign_id) REFERENCES public.foreign_objects(id) ON DELETE CASCADE;


--
-- Name: grants fk_grants_metalake_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT fk_grants_metalake_id FOREIGN KEY (metalake_id) REFERENCES public.metalakes(id) ON DELETE CASCADE;


--
-- Name: grants fk_grants_object_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT fk_grants_object_id FOREIGN KEY (object_id) REFERENCES public.objects(id) ON DELETE CASCADE;


--
-- Name: grants fk_grants_place; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT fk_grants_place FOREIGN KEY (object_id, parent_id, kind, name) REFERENCES public.objects(id, parent_id, kind, name) ON UPDATE CASCADE ON DELETE CASCADE;


--
-- Name: grants fk_grants_role_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.grants
    ADD CONSTRAINT fk_grants_role_id FOREIGN KEY (role_id) REFERENCES public.roles(id) ON DELETE CASCADE;


--
-- Name: group_roles fk_group_roles_group_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_roles
    ADD CONSTRAINT fk_group_roles_group_id FOREIGN KEY (group_id) REFERENCES public.groups(id) ON DELETE CASCADE;


--
-- Name: group_roles fk_group_roles_role_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.group_roles
    ADD CONSTRAINT fk_group_roles_role_id FOREIGN KEY (role_id) REFERENCES public.roles(id) ON DELETE CASCADE;


--
-- Name: members fk_members_group_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT fk_members_group_id FOREIGN KEY (group_id) REFERENCES public.groups(id) ON DELETE CASCADE;


--
-- Name: members fk_members_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT fk_members_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: objects fk_objects_parent_id_parent_kind; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.objects
    ADD CONSTRAINT fk_objects_parent_id_parent_kind FOREIGN KEY (parent_id, parent_kind) REFERENCES public.objects(id, kind);


--
-- Name: roles fk_roles_metalake_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.roles
    ADD CONSTRAINT fk_roles_metalake_id FOREIGN KEY (metalake_id) REFERENCES public.metalakes(id) ON DELETE CASCADE;


--
-- Name: run_files fk_run_files_pipeline_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_files
    ADD CONSTRAINT fk_run_files_pipeline_id FOREIGN KEY (pipeline_id) REFERENCES public.pipelines(id) ON DELETE CASCADE;


--
-- Name: run_reads fk_run_reads_run_id_step; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_reads
    ADD CONSTRAINT fk_run_reads_run_id_step FOREIGN KEY (run_id, step) REFERENCES public.run_steps(run_id, name) ON DELETE CASCADE;


--
-- Name: run_steps fk_run_steps_run_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.run_steps
    ADD CONSTRAINT fk_run_steps_run_id FOREIGN KEY (run_id) REFERENCES public.runs(id) ON DELETE CASCADE;


--
-- Name: runs fk_runs_pipeline_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.runs
    ADD CONSTRAINT fk_runs_pipeline_id FOREIGN KEY (pipeline_id) REFERENCES public.pipelines(id) ON DELETE CASCADE;


--
-- Name: strays fk_strays_table_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.strays
    ADD CONSTRAINT fk_strays_table_id FOREIGN KEY (table_id) REFERENCES public.objects(id) ON DELETE CASCADE;


--
-- Name: tags fk_tags_table_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tags
    ADD CONSTRAINT fk_tags_table_id FOREIGN KEY (table_id) REFERENCES public.objects(id) ON DELETE CASCADE;


--
-- Name: tokens fk_tokens_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT fk_tokens_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: user_roles fk_user_roles_role_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_roles
    ADD CONSTRAINT fk_user_roles_role_id FOREIGN KEY (role_id) REFERENCES public.roles(id) ON DELETE CASCADE;


--
-- Name: user_roles fk_user_roles_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.user_roles
    ADD CONSTRAINT fk_user_roles_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: versions fk_versions_table_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.versions
    ADD CONSTRAINT fk_versions_table_id FOREIGN KEY (table_id) REFERENCES public.objects(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--

\unrestrict VnwzaxrFwr3iS7GdxqcyIdH37Mqtvgd3COaHKWKrtYP1wEyQL6UcNXUJcpcqLtA


