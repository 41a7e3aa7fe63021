-- +goose Up
-- purpose: the corpus' business tables: which job read which source, what became of each document, and the text to search.
-- locks: DDL locks on new objects only.
-- called by: the migrator, after 00001 (the shared coordination SQL). Privileges on the schema are granted there too.
--
-- Two fences stand in these tables beside the lease guard (F8):
--   attempt    every write of a job names its attempt, and is refused when a later one has begun;
--   published  at most one published document a URI, whatever the code does (document_current).

create schema corpus;

-- How words are compared, for indexing and for searching: one name, so that the two cannot differ. Another language is
-- a matter of one statement here; an existing index must then be written anew (update corpus.passage set body = body).
create text search configuration corpus.prose (copy = pg_catalog.english);

create table corpus.job (
    job_id text primary key check (job_id ~ '^[A-Za-z0-9._:-]{1,200}$'),
    source text not null check (source <> '' and octet_length(source) <= 2000),
    state text not null default 'queued' constraint job_state check (state in ('queued', 'running', 'done', 'failed')),
    -- Raised by each begin: what an earlier attempt still writes is refused.
    attempt integer not null default 0 check (attempt >= 0),
    failure_code text constraint job_failure_code check (failure_code ~ '^[a-z_]{1,40}$'),
    failure_detail text check (length(failure_detail) <= 1000),
    -- What it came to, written when it is settled. items = indexed + unchanged + refused in a job that is done.
    items integer not null default 0 check (items >= 0),
    indexed integer not null default 0 check (indexed >= 0),
    unchanged integer not null default 0 check (unchanged >= 0),
    refused integer not null default 0 check (refused >= 0),
    passages bigint not null default 0 check (passages >= 0),
    removed integer not null default 0 check (removed >= 0),
    created_at timestamptz not null default clock_timestamp(),
    started_at timestamptz,
    finished_at timestamptz,
    constraint job_failure check ((state = 'failed') = (failure_code is not null)),
    constraint job_finish check ((state in ('done', 'failed')) = (finished_at is not null))
);
create index job_by_time on corpus.job (created_at);

-- What a job's source was found to hold, one row a document, and what became of it.
create table corpus.item (
    job_id text not null references corpus.job on delete cascade,
    ordinal integer not null check (ordinal >= 0),
    uri text not null,
    state text not null default 'pending' constraint item_state check (state in ('pending', 'indexed', 'unchanged', 'refused')),
    failure_code text constraint item_failure_code check (failure_code ~ '^[a-z_]{1,40}$'),
    failure_detail text check (length(failure_detail) <= 1000),
    passages integer not null default 0 check (passages >= 0),
    finished_at timestamptz,
    primary key (job_id, ordinal),
    constraint item_failure check ((state = 'refused') = (failure_code is not null)),
    constraint item_finish check ((state = 'pending') = (finished_at is null))
);

-- The documents that were refused, with the reason.
create view corpus.fault as
    select job_id, ordinal, uri, failure_code, failure_detail, finished_at from corpus.item where state = 'refused';

-- One row a version of a document. While published_at is null it is a draft that no search sees: a large document is
-- written in several transactions, because 64 MiB of text take longer than a guarded transaction may (K4).
create table corpus.document (
    document_id bigint generated always as identity primary key,
    uri text not null check (octet_length(uri) <= 2000),
    source text not null check (octet_length(source) <= 2000),
    title text not null check (length(title) between 1 and 300),
    content_hash bytea not null check (length(content_hash) = 32),
    revision integer not null default 0 check (revision >= 0),
    passages integer not null default 0 check (passages >= 0),
    job_id text not null references corpus.job,
    ordinal integer not null,
    attempt integer not null,
    -- When its reading began, by this database's clock: an older reading never replaces a younger one.
    read_at timestamptz not null,
    published_at timestamptz,
    constraint document_revision check ((revision > 0) = (published_at is not null))
);
create unique index document_current on corpus.document (uri) where published_at is not null;
create index document_by_source on corpus.document (source) where published_at is not null;
create index document_by_job on corpus.document (job_id, ordinal);

create table corpus.passage (
    document_id bigint not null references corpus.document on delete cascade,
    ordinal integer not null check (ordinal >= 0),
    section text not null,
    -- The words that weigh more: the section's name, and in the first passage the document's title.
    heading text not null,
    body text not null check (body <> ''),
    tsv tsvector not null generated always as
        (setweight(to_tsvector('corpus.prose'::regconfig, heading), 'A') || to_tsvector('corpus.prose'::regconfig, body)) stored,
    primary key (document_id, ordinal)
);
create index passage_words on corpus.passage using gin (tsv);

select workflow_coordination.guard_table('corpus.job');
select workflow_coordination.guard_table('corpus.item');
select workflow_coordination.guard_table('corpus.document');
select workflow_coordination.guard_table('corpus.passage');
