--
-- PostgreSQL database dump
--

\restrict XYcCGGdsCig05Ecq9wXGc2L7Z3q1xdq1duwJPvLN421zfc6cgmFnXwzK24qoSDf

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
    owner_kind text DEFAULT 'user'::text NOT NULL COLLATE pg_catalog."C",
    disabled_by text COLLATE pg_catalog."C",
    disabled_at bigint
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
-- Name: feed; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.feed (
    id bigint NOT NULL,
    turn bigint NOT NULL,
    at bigint NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    actor text COLLATE pg_catalog."C",
    metalake text COLLATE pg_catalog."C",
    catalog text COLLATE pg_catalog."C",
    space text COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    catalog_id bigint,
    parent_id bigint,
    row_id bigint,
    undenied boolean,
    data json NOT NULL
);


--
-- Name: feed_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.feed_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: feed_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.feed_id_seq OWNED BY public.feed.id;


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
    lapsed_at bigint,
    mount_id bigint
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
-- Name: idempotency_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.idempotency_keys (
    principal text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL COLLATE pg_catalog."C",
    held_until bigint NOT NULL,
    status integer,
    headers json,
    body bytea,
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);


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
-- Name: mounts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.mounts (
    id bigint NOT NULL,
    metalake_id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    type text NOT NULL COLLATE pg_catalog."C",
    settings json NOT NULL,
    secrets text,
    secret_names json NOT NULL,
    key_id text COLLATE pg_catalog."C",
    comment text,
    properties json NOT NULL,
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    changed_by text NOT NULL COLLATE pg_catalog."C",
    changed_at bigint NOT NULL,
    revision bigint DEFAULT 1 NOT NULL,
    disabled_by text COLLATE pg_catalog."C",
    disabled_at bigint
);


--
-- Name: mounts_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.mounts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: mounts_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: -
--

ALTER SEQUENCE public.mounts_id_seq OWNED BY public.mounts.id;


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
-- Name: retired_locations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.retired_locations (
    location text NOT NULL COLLATE pg_catalog."C",
    until bigint NOT NULL
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
    last_used_at bigint,
    parent_id bigint
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
-- Name: feed id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feed ALTER COLUMN id SET DEFAULT nextval('public.feed_id_seq'::regclass);


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
-- Name: mounts id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mounts ALTER COLUMN id SET DEFAULT nextval('public.mounts_id_seq'::regclass);


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

INSERT INTO public.branches VALUES (4, 'trial', '', 1, 514, '[[1, "b16a6626907b48efadb607c05bc5f414"]]', '{}', 'written', '508baaf9fee14f7eb02f020b5edb4881', 'ada', 'ada', 1795063129787);


--
-- Data for Name: catalogs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalogs VALUES (1, 1, 'lake', 'lake', true, true, '/warehouse-of-this-home', NULL, '{}', 'ada', 'ada', 1795063129379, 'ada', 1795063129379, 1, 'user', NULL, NULL);


--
-- Data for Name: clones; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: definitions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.definitions VALUES (4, '', 'column', 'total', '{"expression": "price * amount"}', 'ada', 'ada', 1795063129563);
INSERT INTO public.definitions VALUES (4, 'trial', 'column', 'total', '{"expression": "price * amount"}', 'ada', 'ada', 1795063129805);
INSERT INTO public.definitions VALUES (5, '', 'view', '', '{"kind": "query", "source": ["team", "orders"], "columns": {"id": "`id`", "total": "`total`"}, "where": "total > 10", "key": ["id"]}', 'ada', 'ada', 1795063129836);


--
-- Data for Name: feed; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.feed VALUES (1, 727, 1795063129252, 'user.created', 'admin', NULL, NULL, NULL, 'user', 'admin', NULL, NULL, 1, NULL, '{"admin": true}');
INSERT INTO public.feed VALUES (2, 727, 1795063129261, 'token.created', 'admin', NULL, NULL, NULL, 'token', 'admin', NULL, NULL, 1, NULL, '{"token": "1ea3a64baf3c"}');
INSERT INTO public.feed VALUES (3, 728, 1795063129273, 'user.created', 'admin', NULL, NULL, NULL, 'user', 'ada', NULL, NULL, 2, NULL, '{"admin": false}');
INSERT INTO public.feed VALUES (4, 728, 1795063129274, 'token.created', 'admin', NULL, NULL, NULL, 'token', 'ada', NULL, NULL, 2, NULL, '{"token": "48eb554d12f6"}');
INSERT INTO public.feed VALUES (5, 729, 1795063129276, 'token.created', 'admin', NULL, NULL, NULL, 'token', 'ada', NULL, NULL, 2, NULL, '{"token": "edfe69d64bd2"}');
INSERT INTO public.feed VALUES (6, 730, 1795063129277, 'user.created', 'admin', NULL, NULL, NULL, 'user', 'bob', NULL, NULL, 3, NULL, '{"admin": false}');
INSERT INTO public.feed VALUES (7, 730, 1795063129280, 'token.created', 'admin', NULL, NULL, NULL, 'token', 'bob', NULL, NULL, 3, NULL, '{"token": "0854d0f5f2ab"}');
INSERT INTO public.feed VALUES (8, 731, 1795063129288, 'token.revoked', 'admin', NULL, NULL, NULL, 'token', 'bob', NULL, NULL, 3, NULL, '{"token": "0854d0f5f2ab"}');
INSERT INTO public.feed VALUES (9, 733, 1795063129307, 'run.started', 'ada', NULL, NULL, NULL, 'run', 'k1', NULL, NULL, 1, NULL, '{"pipeline": "nightly", "number": 1, "state": "running", "attempt": 1}');
INSERT INTO public.feed VALUES (10, 735, 1795063129316, 'run.ended', 'ada', NULL, NULL, NULL, 'run', 'k1', NULL, NULL, 1, NULL, '{"pipeline": "nightly", "number": 1, "state": "done", "attempt": 1}');
INSERT INTO public.feed VALUES (11, 736, 1795063129366, 'metalake.created', 'ada', 'lanceway', NULL, NULL, 'metalake', '', NULL, NULL, 1, NULL, '{}');
INSERT INTO public.feed VALUES (12, 736, 1795063129389, 'catalog.created', 'ada', 'lanceway', 'lake', '', 'catalog', '', 1, NULL, 1, NULL, '{}');
INSERT INTO public.feed VALUES (13, 737, 1795063129405, 'namespace.created', 'ada', 'lanceway', 'lake', 'team', 'namespace', '', 1, 1, 2, NULL, '{}');
INSERT INTO public.feed VALUES (14, 738, 1795063129488, 'namespace.created', 'ada', 'lanceway', 'lake', 'team.eu%2Ewest', 'namespace', '', 1, 2, 3, NULL, '{}');
INSERT INTO public.feed VALUES (15, 739, 1795063129506, 'table.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"managed": true}');
INSERT INTO public.feed VALUES (16, 741, 1795063129538, 'version.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"branch": "", "version": 1}');
INSERT INTO public.feed VALUES (17, 743, 1795063129558, 'version.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"branch": "", "version": 2}');
INSERT INTO public.feed VALUES (18, 744, 1795063129564, 'definition.changed', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"branch": ""}');
INSERT INTO public.feed VALUES (19, 745, 1795063129580, 'job.queued', 'ada', 'lanceway', NULL, NULL, 'job', 'job-bb3d741024f8b1d9a9e7', NULL, NULL, 1, NULL, '{"job_kind": "backfill", "object": ["lake", "team", "orders"]}');
INSERT INTO public.feed VALUES (20, 746, 1795063129663, 'job.started', NULL, 'lanceway', NULL, NULL, 'job', 'job-bb3d741024f8b1d9a9e7', NULL, NULL, 1, NULL, '{"job_kind": "backfill", "object": ["lake", "team", "orders"], "attempt": 1}');
INSERT INTO public.feed VALUES (21, 748, 1795063129753, 'version.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"branch": "", "version": 3}');
INSERT INTO public.feed VALUES (22, 749, 1795063129767, 'job.ended', NULL, 'lanceway', NULL, NULL, 'job', 'job-bb3d741024f8b1d9a9e7', NULL, NULL, 1, NULL, '{"job_kind": "backfill", "object": ["lake", "team", "orders"], "state": "done"}');
INSERT INTO public.feed VALUES (23, 750, 1795063129777, 'tag.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"tag": "reviewed", "branch": "", "version": 1}');
INSERT INTO public.feed VALUES (24, 752, 1795063129788, 'branch.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"branch": "trial", "version": 1}');
INSERT INTO public.feed VALUES (25, 754, 1795063129797, 'version.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"branch": "trial", "version": 1}');
INSERT INTO public.feed VALUES (26, 756, 1795063129819, 'version.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"branch": "trial", "version": 2}');
INSERT INTO public.feed VALUES (27, 757, 1795063129822, 'tag.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'orders', 1, 2, 4, NULL, '{"tag": "tried", "branch": "trial", "version": 2}');
INSERT INTO public.feed VALUES (28, 759, 1795063129828, 'table.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'large', 1, 2, 5, NULL, '{"managed": true}');
INSERT INTO public.feed VALUES (29, 760, 1795063129834, 'version.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'large', 1, 2, 5, NULL, '{"branch": "", "version": 1}');
INSERT INTO public.feed VALUES (30, 761, 1795063129836, 'definition.changed', 'ada', 'lanceway', 'lake', 'team', 'table', 'large', 1, 2, 5, NULL, '{"branch": ""}');
INSERT INTO public.feed VALUES (31, 762, 1795063129838, 'job.queued', 'ada', 'lanceway', NULL, NULL, 'job', 'job-677a671ae39dbbadbd8f', NULL, NULL, 2, NULL, '{"job_kind": "refresh", "object": ["lake", "team", "large"]}');
INSERT INTO public.feed VALUES (32, 763, 1795063129844, 'job.started', NULL, 'lanceway', NULL, NULL, 'job', 'job-677a671ae39dbbadbd8f', NULL, NULL, 2, NULL, '{"job_kind": "refresh", "object": ["lake", "team", "large"], "attempt": 1}');
INSERT INTO public.feed VALUES (33, 765, 1795063129982, 'version.created', 'ada', 'lanceway', 'lake', 'team', 'table', 'large', 1, 2, 5, NULL, '{"branch": "", "version": 2}');
INSERT INTO public.feed VALUES (34, 766, 1795063129986, 'job.ended', NULL, 'lanceway', NULL, NULL, 'job', 'job-677a671ae39dbbadbd8f', NULL, NULL, 2, NULL, '{"job_kind": "refresh", "object": ["lake", "team", "large"], "state": "done"}');
INSERT INTO public.feed VALUES (35, 767, 1795063129991, 'table.created', 'ada', 'lanceway', 'lake', 'team.eu%2Ewest', 'table', 'people', 1, 3, 6, NULL, '{"managed": true}');
INSERT INTO public.feed VALUES (36, 768, 1795063129999, 'version.created', 'ada', 'lanceway', 'lake', 'team.eu%2Ewest', 'table', 'people', 1, 3, 6, NULL, '{"branch": "", "version": 1}');
INSERT INTO public.feed VALUES (37, 769, 1795063130005, 'job.queued', 'ada', 'lanceway', NULL, NULL, 'job', 'job-1466f0a4d0c83fef0fe0', NULL, NULL, 3, NULL, '{"job_kind": "backfill", "object": ["lake", "team", "orders"]}');
INSERT INTO public.feed VALUES (38, 771, 1795063130022, 'group.created', 'admin', NULL, NULL, NULL, 'group', 'analysts', NULL, NULL, 1, NULL, '{}');
INSERT INTO public.feed VALUES (39, 771, 1795063130028, 'group.joined', 'admin', NULL, NULL, NULL, 'group', 'analysts', NULL, NULL, 1, NULL, '{"user": "bob"}');
INSERT INTO public.feed VALUES (40, 771, 1795063130032, 'role.created', 'admin', 'lanceway', NULL, NULL, 'role', 'readers', NULL, NULL, 1, NULL, '{}');
INSERT INTO public.feed VALUES (41, 771, 1795063130056, 'role.given', 'admin', 'lanceway', NULL, NULL, 'role', 'readers', NULL, NULL, 1, NULL, '{"holder": "analysts", "holder_kind": "group"}');
INSERT INTO public.feed VALUES (42, 771, 1795063130083, 'grant.made', 'admin', 'lanceway', 'lake', 'team', 'grant', '', NULL, NULL, 2, NULL, '{"role": "readers", "privilege": "USE_SCHEMA", "effect": "allow", "level": "schema", "mounted": false}');
INSERT INTO public.feed VALUES (43, 771, 1795063130083, 'grant.made', 'admin', 'lanceway', 'lake', 'team', 'grant', '', NULL, NULL, 2, NULL, '{"role": "readers", "privilege": "SELECT_TABLE", "effect": "allow", "level": "schema", "mounted": false}');
INSERT INTO public.feed VALUES (44, 771, 1795063130084, 'grant.made', 'admin', 'lanceway', 'lake', '', 'grant', '', NULL, NULL, 1, NULL, '{"role": "readers", "privilege": "USE_CATALOG", "effect": "allow", "level": "catalog", "mounted": false}');
INSERT INTO public.feed VALUES (45, 771, 1795063130084, 'grant.made', 'admin', 'lanceway', 'lake', 'team', 'grant', 'orders', NULL, NULL, 4, NULL, '{"role": "readers", "privilege": "SELECT_TABLE", "effect": "deny", "level": "table", "mounted": false}');
INSERT INTO public.feed VALUES (46, 772, 1795063130092, 'catalog.created', 'ada', 'lanceway', 'archive', '', 'catalog', '', NULL, NULL, NULL, NULL, '{}');
INSERT INTO public.feed VALUES (47, 772, 1795063130105, 'grant.made', 'admin', 'lanceway', 'archive', '', 'grant', '', NULL, NULL, NULL, NULL, '{"role": "readers", "privilege": "USE_CATALOG", "effect": "allow", "level": "catalog", "mounted": true}');


--
-- Data for Name: foreign_objects; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.foreign_objects VALUES (1, 1, 'archive', '', 'namespace', NULL, NULL, 'ada', 'user', 'ada', 1795063130090, NULL, 1);


--
-- Data for Name: grants; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.grants VALUES (1, 1, NULL, NULL, 2, 1, 'namespace', 'team', 'USE_SCHEMA', 'allow', 'admin', 1795063130081);
INSERT INTO public.grants VALUES (2, 1, NULL, NULL, 2, 1, 'namespace', 'team', 'SELECT_TABLE', 'allow', 'admin', 1795063130083);
INSERT INTO public.grants VALUES (3, 1, NULL, NULL, 1, NULL, 'namespace', '', 'USE_CATALOG', 'allow', 'admin', 1795063130084);
INSERT INTO public.grants VALUES (4, 1, NULL, NULL, 4, 2, 'table', 'orders', 'SELECT_TABLE', 'deny', 'admin', 1795063130084);
INSERT INTO public.grants VALUES (5, 1, NULL, 1, NULL, NULL, NULL, NULL, 'USE_CATALOG', 'allow', 'admin', 1795063130104);


--
-- Data for Name: group_roles; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.group_roles VALUES (1, 1, 'admin', 1795063130054);


--
-- Data for Name: groups; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.groups VALUES (1, 'analysts', 'admin', 1795063130021);


--
-- Data for Name: idempotency_keys; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: jobs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.jobs VALUES (1, 'job-bb3d741024f8b1d9a9e7', 'backfill', 'lanceway', 'lake', '["team","orders"]', '0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8', '{"column": "total"}', 'fb750046748271ff8b2e77654bcaaeb799472b1d920df5ef61db0007072a6a97', 'done', 1795063129578, NULL, NULL, NULL, 1, NULL, NULL, '{"table": "team.orders", "version": 3, "changed": true, "parts": 1, "done": 1, "rows": 3, "bytes": 0, "column": "total", "type": "int64", "function": "the expression price * amount", "update": true, "computed": 1, "seconds": 0.049}', NULL, 'ada', 1795063129578, 1795063129662, 1795063129766, NULL);
INSERT INTO public.jobs VALUES (2, 'job-677a671ae39dbbadbd8f', 'refresh', 'lanceway', 'lake', '["team","large"]', 'b7df25f820c5262075b2616a8e303c680627bf4051891623c02ed622d3f8a898', '{}', '002bb877ba9f24f9f7918a1818544a843de22fe90124f9d2b5b82d92a326b886', 'done', 1795063129838, NULL, NULL, NULL, 1, NULL, NULL, '{"table": "team.large", "version": 2, "changed": true, "parts": 1, "done": 1, "rows": 2, "bytes": 0, "source": "team.orders", "source_version": 3, "refreshed": "anew", "seconds": 0.1}', NULL, 'ada', 1795063129838, 1795063129842, 1795063129985, NULL);
INSERT INTO public.jobs VALUES (3, 'job-1466f0a4d0c83fef0fe0', 'backfill', 'lanceway', 'lake', '["team","orders"]', '0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8', '{"column": "total", "where": "true"}', 'd79b05e689a818ad244b977c63c5b7f42ecf0c33501721029eeb92f8f46fac1c', 'queued', 1795063130005, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'ada', 1795063130005, NULL, NULL, NULL);


--
-- Data for Name: lanceway_schema; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.lanceway_schema VALUES ('0012');


--
-- Data for Name: locks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.locks VALUES ('locations');


--
-- Data for Name: members; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.members VALUES (3, 1, 'admin', 1795063130027);


--
-- Data for Name: metalakes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.metalakes VALUES (1, 'lanceway', NULL, '{}', 'ada', 'ada', 1795063129365, 'ada', 1795063129365, 1, 'user');


--
-- Data for Name: mounts; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.mounts VALUES (1, 1, 'archive', '63b7088cb4b242df96792021f312fb45', 'rest', '{"uri": "http://127.0.0.1:9/lance"}', 'YQ4t8rFz1mtzJIkpNjtSR+jfnv/BZbnprNfsRu0fkTIaqEYdAdUdfynzFF7Gr/tIN6o5qIY3MWxc9RvF', '["token"]', '6aeec15a6a6e04ad', 'Old sales', '{}', 'ada', 1795063130088, 'ada', 1795063130088, 1, NULL, NULL);


--
-- Data for Name: objects; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.objects VALUES (1, 1, NULL, 'namespace', 'namespace', '', '', NULL, false, NULL, NULL, '{}', 'ada', 'ada', 1795063129381, 'ada', 1795063129381, 1, 'user', false);
INSERT INTO public.objects VALUES (2, 1, 1, 'namespace', 'namespace', 'team', 'team', NULL, false, NULL, NULL, '{"purpose": "sales"}', 'ada', 'ada', 1795063129401, 'ada', 1795063129401, 1, 'user', false);
INSERT INTO public.objects VALUES (3, 1, 2, 'namespace', 'namespace', 'eu.west', 'team.eu%2Ewest', NULL, false, NULL, NULL, '{}', 'ada', 'ada', 1795063129485, 'ada', 1795063129485, 1, 'user', false);
INSERT INTO public.objects VALUES (4, 1, 2, 'namespace', 'table', 'orders', NULL, '/warehouse-of-this-home/3a0d500ab0c440c289c3db7a26c0395c', true, NULL, NULL, '{}', 'ada', 'ada', 1795063129498, 'ada', 1795063129498, 1, 'user', true);
INSERT INTO public.objects VALUES (5, 1, 2, 'namespace', 'table', 'large', NULL, '/warehouse-of-this-home/95bbefe34bf748d2bd142886de64d00c', true, NULL, NULL, '{}', 'ada', 'ada', 1795063129827, 'ada', 1795063129827, 1, 'user', true);
INSERT INTO public.objects VALUES (6, 1, 3, 'namespace', 'table', 'people', NULL, '/warehouse-of-this-home/38e877d8cb284b63ab76dba44218eb8f', true, NULL, NULL, '{}', 'ada', 'ada', 1795063129990, 'ada', 1795063129990, 1, 'user', true);


--
-- Data for Name: pipelines; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.pipelines VALUES (1, 'nightly', NULL, NULL, NULL, NULL, 1795063129295);


--
-- Data for Name: removals; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: retired_locations; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: roles; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.roles VALUES (1, 1, 'readers', 'May read sales', 'admin', 1795063130030);


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

INSERT INTO public.runs VALUES (1, 1, 1, 'k1', 'done', false, 1, 'ada', '{"nodes": []}', NULL, NULL, 1795063129300, 1795063129311);


--
-- Data for Name: settings; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.settings VALUES ('access_control', 'on');
INSERT INTO public.settings VALUES ('oldest_code', '1');
INSERT INTO public.settings VALUES ('separator', ':');
INSERT INTO public.settings VALUES ('separator_policy', 'restricted');
INSERT INTO public.settings VALUES ('identity', '35bff99642e24692b0bbcfc476083b12');
INSERT INTO public.settings VALUES ('mounts_revision', '46c422de708102d5');


--
-- Data for Name: strays; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: tags; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tags VALUES (4, 'reviewed', '', 1, 514, '{}', 'written', '1bb9f668e2bc44e3a1cea7caed63a605', 'ada', 'ada', 1795063129776, 1795063129776);
INSERT INTO public.tags VALUES (4, 'tried', 'trial', 2, 584, '{}', 'written', 'a53b5b540f5345929163698f3727ab13', 'ada', 'ada', 1795063129822, 1795063129822);


--
-- Data for Name: tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tokens VALUES (1, 1, '1ea3a64baf3c', 'a41137089db54aa7bcb45baf051ef1845aef354a76b10fd3922df8ca4eed6ec8', 'first', 'admin', 1795063129259, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (2, 2, '48eb554d12f6', 'b142fa228eaaaba9601a5d6521fb0d65f8bf8e086eb0f751d5be3b4c52e632a2', 'laptop', 'admin', 1795063129274, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (3, 2, 'edfe69d64bd2', '915159be5e98a9bbcb09f455baddaffe5574c14911f1c13df84bf647658a05c6', 'short', 'admin', 1795063129275, 1795149529275, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (4, 3, '0854d0f5f2ab', 'e297e21803a2e12ebda815ec33c7e5446b5a3a8f7e1817942f5fb5fd5684f1d5', NULL, 'admin', 1795063129277, NULL, 'admin', 1795063129283, NULL, NULL);


--
-- Data for Name: user_roles; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES (1, 'admin', true, 'admin', 1795063129249, NULL, NULL, NULL);
INSERT INTO public.users VALUES (2, 'ada', false, 'admin', 1795063129267, NULL, NULL, NULL);
INSERT INTO public.users VALUES (3, 'bob', false, 'admin', 1795063129276, NULL, NULL, NULL);


--
-- Data for Name: versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.versions VALUES (4, '', 1, '_versions/18446744073709551614.manifest-86d23fab-cbe6-4f1b-a68d-09c7ee5f50b5', '_versions/18446744073709551614.manifest', 514, '"aac8a1-66099b42f2fbb-202"', 'V2', '{}', true, 'ada', 1795063129535);
INSERT INTO public.versions VALUES (4, '', 2, '_versions/18446744073709551613.manifest-22f66785-5930-4800-9f06-bd0e96c78215', '_versions/18446744073709551613.manifest', 658, '"aac92c-66099b42fad3d-292"', 'V2', '{}', true, 'ada', 1795063129558);
INSERT INTO public.versions VALUES (4, '', 3, '_versions/18446744073709551612.manifest-4881ae9a-0ab9-4a8d-af60-f0d5c2850ad6', '_versions/18446744073709551612.manifest', 704, '"aac950-66099b4329abb-2c0"', 'V2', '{}', true, 'ada', 1795063129752);
INSERT INTO public.versions VALUES (5, '', 1, '_versions/18446744073709551614.manifest-e5de60f0-b251-4c12-90ca-cc302653ec22', '_versions/18446744073709551614.manifest', 434, '"aae016-66099b433e2db-1b2"', 'V2', '{}', true, 'ada', 1795063129833);
INSERT INTO public.versions VALUES (4, 'trial', 1, 'tree/trial/_versions/18446744073709551614.manifest-48c4ce31-2e3e-4e56-badb-2e876b946b4e', 'tree/trial/_versions/18446744073709551614.manifest', 493, '"aae009-66099b43360f9-1ed"', 'V2', '{}', true, 'ada', 1795063129797);
INSERT INTO public.versions VALUES (4, 'trial', 2, 'tree/trial/_versions/18446744073709551613.manifest-b2077ad4-c3ab-4b60-a50d-c007ddc388f8', 'tree/trial/_versions/18446744073709551613.manifest', 584, '"aae010-66099b433b3fb-248"', 'V2', '{}', true, 'ada', 1795063129819);
INSERT INTO public.versions VALUES (6, '', 1, '_versions/18446744073709551614.manifest-333e031e-05f0-4dc6-8ff3-d6175eab68a9', '_versions/18446744073709551614.manifest', 377, '"aae02b-66099b436637b-179"', 'V2', '{}', true, 'ada', 1795063129998);
INSERT INTO public.versions VALUES (5, '', 2, '_versions/18446744073709551613.manifest-0b722592-72b0-4f9c-b83f-b41e3130795a', '_versions/18446744073709551613.manifest', 752, '"aae024-66099b4362bf3-2f0"', 'V2', '{}', true, 'ada', 1795063129981);


--
-- Name: audit_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.audit_id_seq', 1, false);


--
-- Name: catalogs_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.catalogs_id_seq', 1, true);


--
-- Name: feed_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.feed_id_seq', 47, true);


--
-- Name: foreign_objects_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.foreign_objects_id_seq', 1, true);


--
-- Name: grants_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.grants_id_seq', 5, true);


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
-- Name: mounts_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.mounts_id_seq', 1, true);


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
-- Name: feed pk_feed; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.feed
    ADD CONSTRAINT pk_feed PRIMARY KEY (id);


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
-- Name: idempotency_keys pk_idempotency_keys; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT pk_idempotency_keys PRIMARY KEY (principal, key);


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
-- Name: mounts pk_mounts; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mounts
    ADD CONSTRAINT pk_mounts PRIMARY KEY (id);


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
-- Name: retired_locations pk_retired_locations; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.retired_locations
    ADD CONSTRAINT pk_retired_locations PRIMARY KEY (location);


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
-- Name: mounts uq_mounts_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mounts
    ADD CONSTRAINT uq_mounts_key UNIQUE (key);


--
-- Name: mounts uq_mounts_metalake_id_name; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mounts
    ADD CONSTRAINT uq_mounts_metalake_id_name UNIQUE (metalake_id, name);


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
-- Name: ix_feed_turn_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_feed_turn_id ON public.feed USING btree (turn, id);


--
-- Name: ix_foreign_objects_mount_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_foreign_objects_mount_id ON public.foreign_objects USING btree (mount_id);


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
-- Name: ix_idempotency_keys_expires_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_idempotency_keys_expires_at ON public.idempotency_keys USING btree (expires_at);


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
-- Name: ix_tokens_parent_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_tokens_parent_id ON public.tokens USING btree (parent_id);


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
-- Name: foreign_objects fk_foreign_objects_mount_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.foreign_objects
    ADD CONSTRAINT fk_foreign_objects_mount_id FOREIGN KEY (mount_id) REFERENCES public.mounts(id) ON DELETE CASCADE;


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
-- Name: mounts fk_mounts_metalake_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.mounts
    ADD CONSTRAINT fk_mounts_metalake_id FOREIGN KEY (metalake_id) REFERENCES public.metalakes(id) ON DELETE CASCADE;


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
-- Name: tokens fk_tokens_parent_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT fk_tokens_parent_id FOREIGN KEY (parent_id) REFERENCES public.tokens(id) ON DELETE CASCADE;


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

\unrestrict XYcCGGdsCig05Ecq9wXGc2L7Z3q1xdq1duwJPvLN421zfc6cgmFnXwzK24qoSDf


