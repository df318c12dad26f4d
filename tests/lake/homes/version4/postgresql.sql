--
-- PostgreSQL database dump
--

\restrict BQmH3qI4KoohyQ9JMOlMSHXaABigyZgpSC5Dn1bZdCpignIOB07nfHo6IgharUB

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
    revision bigint DEFAULT 1 NOT NULL
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
    ended_at bigint
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
    revision bigint DEFAULT 1 NOT NULL
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
-- Name: users; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.users (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    admin boolean NOT NULL,
    created_by text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL
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
-- Name: catalogs id; Type: DEFAULT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalogs ALTER COLUMN id SET DEFAULT nextval('public.catalogs_id_seq'::regclass);


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
-- Data for Name: catalogs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.catalogs VALUES (1, 1, 'lake', 'lake', true, true, '/warehouse-of-this-home', NULL, '{}', 'ada', 'ada', 1794860922941, 'ada', 1794860922941, 1);


--
-- Data for Name: jobs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.jobs VALUES (1, 'job-0b39590921361e0fa9f8', 'backfill', 'lanceway', 'lake', '["team","orders"]', '0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8', '{"column": "total"}', 'fb750046748271ff8b2e77654bcaaeb799472b1d920df5ef61db0007072a6a97', 'done', 1794860922984, NULL, NULL, NULL, 1, NULL, NULL, '{"table": "team.orders", "version": 3, "changed": true, "parts": 1, "done": 1, "rows": 3, "bytes": 0, "column": "total", "type": "int64", "function": "the expression price * amount", "update": true, "computed": 1, "seconds": 0.034}', NULL, 'ada', 1794860922984, 1794860922994, 1794860923072);
INSERT INTO public.jobs VALUES (2, 'job-d0400c2a3afe0c1083bd', 'refresh', 'lanceway', 'lake', '["team","large"]', 'b7df25f820c5262075b2616a8e303c680627bf4051891623c02ed622d3f8a898', '{}', '002bb877ba9f24f9f7918a1818544a843de22fe90124f9d2b5b82d92a326b886', 'done', 1794860923137, NULL, NULL, NULL, 1, NULL, NULL, '{"table": "team.large", "version": 2, "changed": true, "parts": 1, "done": 1, "rows": 2, "bytes": 0, "source": "team.orders", "source_version": 3, "refreshed": "anew", "seconds": 0.021}', NULL, 'ada', 1794860923137, 1794860923140, 1794860923202);
INSERT INTO public.jobs VALUES (3, 'job-9e08e7a533dcd40eaf89', 'backfill', 'lanceway', 'lake', '["team","orders"]', '0f43542eefc30c24059ca0d12992d8567b9340748ab118e07496f0621d9bead8', '{"column": "total", "where": "true"}', 'd79b05e689a818ad244b977c63c5b7f42ecf0c33501721029eeb92f8f46fac1c', 'queued', 1794860923225, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'ada', 1794860923225, NULL, NULL);


--
-- Data for Name: lanceway_schema; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.lanceway_schema VALUES ('0004');


--
-- Data for Name: locks; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.locks VALUES ('locations');


--
-- Data for Name: metalakes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.metalakes VALUES (1, 'lanceway', NULL, '{}', 'ada', 'ada', 1794860922938, 'ada', 1794860922938, 1);


--
-- Data for Name: objects; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.objects VALUES (1, 1, NULL, 'namespace', 'namespace', '', '', NULL, false, NULL, NULL, '{}', 'ada', 'ada', 1794860922942, 'ada', 1794860922942, 1);
INSERT INTO public.objects VALUES (2, 1, 1, 'namespace', 'namespace', 'team', 'team', NULL, false, NULL, NULL, '{"purpose": "sales"}', 'ada', 'ada', 1794860922945, 'ada', 1794860922945, 1);
INSERT INTO public.objects VALUES (3, 1, 2, 'namespace', 'namespace', 'eu.west', 'team.eu%2Ewest', NULL, false, NULL, NULL, '{}', 'ada', 'ada', 1794860922947, 'ada', 1794860922947, 1);
INSERT INTO public.objects VALUES (4, 1, 2, 'namespace', 'table', 'orders', NULL, '/warehouse-of-this-home/aeeac4419eaa4fdd95ae43663295fdc6', true, NULL, NULL, '{}', 'ada', 'ada', 1794860922949, 'ada', 1794860922949, 1);
INSERT INTO public.objects VALUES (5, 1, 2, 'namespace', 'table', 'large', NULL, '/warehouse-of-this-home/48ad99215d1c408c8af23aad63177eff', true, NULL, NULL, '{}', 'ada', 'ada', 1794860923128, 'ada', 1794860923128, 1);
INSERT INTO public.objects VALUES (6, 1, 3, 'namespace', 'table', 'people', NULL, '/warehouse-of-this-home/1e7afe1c07cb4e3fb8babb2df3975d9f', true, NULL, NULL, '{}', 'ada', 'ada', 1794860923206, 'ada', 1794860923206, 1);


--
-- Data for Name: pipelines; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.pipelines VALUES (1, 'nightly', NULL, NULL, NULL, NULL, 1794860922917);


--
-- Data for Name: removals; Type: TABLE DATA; Schema: public; Owner: -
--



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

INSERT INTO public.runs VALUES (1, 1, 1, 'k1', 'done', false, 1, 'ada', '{"nodes": []}', NULL, NULL, 1794860922920, 1794860922923);


--
-- Data for Name: settings; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.settings VALUES ('oldest_code', '1');
INSERT INTO public.settings VALUES ('separator', ':');
INSERT INTO public.settings VALUES ('separator_policy', 'restricted');
INSERT INTO public.settings VALUES ('identity', '4cc84098856e43a3946b3407a42185cc');


--
-- Data for Name: strays; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: tokens; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.tokens VALUES (1, 1, 'b032b47fc947', '7b23592703fbbb3a6b14f57ff98841050009db5e9826ce40669f734bbf061237', 'first', 'admin', 1794860922907, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (2, 2, '0327c6db437d', '530f887d0b885beb405b34a088ab18f5198344ad552b0aa54804a7f76407fe37', 'laptop', 'admin', 1794860922911, NULL, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (3, 2, 'a8c8b0105847', '4dd2bbfcb499d74dc7bc8aeaf1ce3f7007aa2daf074c10e390036213659f6250', 'short', 'admin', 1794860922912, 1794947322912, NULL, NULL, NULL);
INSERT INTO public.tokens VALUES (4, 3, 'aedf5edb820d', '2812090e9d3206a082b6bfc590ebbea71ce043eeeecabdf090812205398def27', NULL, 'admin', 1794860922914, NULL, 'admin', 1794860922915, NULL);


--
-- Data for Name: users; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.users VALUES (1, 'admin', true, 'admin', 1794860922906);
INSERT INTO public.users VALUES (2, 'ada', false, 'admin', 1794860922910);
INSERT INTO public.users VALUES (3, 'bob', false, 'admin', 1794860922913);


--
-- Data for Name: versions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.versions VALUES (4, '', 1, '_versions/18446744073709551614.manifest-f8a06c74-79c8-4817-bd0d-3e90b2e4ae2a', '_versions/18446744073709551614.manifest', 514, '"986b0f-6606a9fbbe561-202"', 'V2', '{}', true, 'ada', 1794860922968);
INSERT INTO public.versions VALUES (4, '', 2, '_versions/18446744073709551613.manifest-199d5aba-e805-43d5-8a38-c88938477f4a', '_versions/18446744073709551613.manifest', 658, '"986b14-6606a9fbc24f3-292"', 'V2', '{}', true, 'ada', 1794860922978);
INSERT INTO public.versions VALUES (4, '', 3, '_versions/18446744073709551612.manifest-a60712c8-a203-4f51-b5ec-5918def76140', '_versions/18446744073709551612.manifest', 703, '"986b18-6606a9fbd4cc1-2bf"', 'V2', '{}', true, 'ada', 1794860923060);
INSERT INTO public.versions VALUES (4, 'trial', 1, 'tree/trial/_versions/18446744073709551614.manifest-74ea9261-0e90-4cb2-861b-96d4acafc5df', 'tree/trial/_versions/18446744073709551614.manifest', 492, '"986b21-6606a9fbdf8a1-1ec"', 'V2', '{}', true, 'ada', 1794860923099);
INSERT INTO public.versions VALUES (4, 'trial', 2, 'tree/trial/_versions/18446744073709551613.manifest-5fa77404-a36e-43e1-a6a0-476ae8108aef', 'tree/trial/_versions/18446744073709551613.manifest', 583, '"986b29-6606a9fbe2781-247"', 'V2', '{}', true, 'ada', 1794860923108);
INSERT INTO public.versions VALUES (5, '', 1, '_versions/18446744073709551614.manifest-676e6095-f436-43ce-addb-4f3fad8484b3', '_versions/18446744073709551614.manifest', 433, '"986b2f-6606a9fbe8541-1b1"', 'V2', '{}', true, 'ada', 1794860923135);
INSERT INTO public.versions VALUES (6, '', 1, '_versions/18446744073709551614.manifest-ba3a7e79-46d2-4335-88cd-b596b2b0cc28', '_versions/18446744073709551614.manifest', 376, '"986b43-6606a9fbfcd61-178"', 'V2', '{}', true, 'ada', 1794860923217);
INSERT INTO public.versions VALUES (5, '', 2, '_versions/18446744073709551613.manifest-cba5b93d-52d3-4615-bfb8-3f79bc0b950e', '_versions/18446744073709551613.manifest', 751, '"986b36-6606a9fbf8ee1-2ef"', 'V2', '{}', true, 'ada', 1794860923200);


--
-- Name: catalogs_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.catalogs_id_seq', 1, true);


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
-- Name: catalogs pk_catalogs; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalogs
    ADD CONSTRAINT pk_catalogs PRIMARY KEY (id);


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
-- Name: tokens pk_tokens; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT pk_tokens PRIMARY KEY (id);


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
-- Name: ix_catalogs_location; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_catalogs_location ON public.catalogs USING btree (location);


--
-- Name: ix_jobs_requested_by_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_jobs_requested_by_id ON public.jobs USING btree (requested_by, id);


--
-- Name: ix_jobs_state_due_at_id; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_jobs_state_due_at_id ON public.jobs USING btree (state, due_at, id);


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
-- Name: ix_versions_uncopied; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ix_versions_uncopied ON public.versions USING btree (table_id, branch, version) WHERE (NOT copied);


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
-- Name: catalogs fk_catalogs_metalake_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalogs
    ADD CONSTRAINT fk_catalogs_metalake_id FOREIGN KEY (metalake_id) REFERENCES public.metalakes(id);


--
-- Name: objects fk_objects_parent_id_parent_kind; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.objects
    ADD CONSTRAINT fk_objects_parent_id_parent_kind FOREIGN KEY (parent_id, parent_kind) REFERENCES public.objects(id, kind);


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
-- Name: tokens fk_tokens_user_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT fk_tokens_user_id FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;


--
-- Name: versions fk_versions_table_id; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.versions
    ADD CONSTRAINT fk_versions_table_id FOREIGN KEY (table_id) REFERENCES public.objects(id) ON DELETE CASCADE;


--
-- PostgreSQL database dump complete
--

\unrestrict BQmH3qI4KoohyQ9JMOlMSHXaABigyZgpSC5Dn1bZdCpignIOB07nfHo6IgharUB


