-- +goose Up
-- purpose: the product's business tables: who owns which document, what was asked for, what ran, what was published.
-- locks: DDL locks on new objects only.
-- called by: the migrator, after 00001 (the shared coordination SQL). Privileges on the schema are granted there too.
--
-- Two fences stand in these tables beside the lease guard (F8):
--   tenant      every key carries tenant_id, so no row can refer to another tenant's row;
--   generation  run is unique by (task_id, generation) and revision is unique by author_run, so one generation
--               publishes at most once whatever the code does.
--
-- Room for later states (waiting for clarification, uncertain, cancelled, purged): the state checks are named and
-- replaced by a later migration. Every statement that lets work go on names the states that it accepts, so a new
-- state is refused by old code.

create schema product;

create table product.tenant (
    tenant_id uuid primary key,
    name text not null unique check (name <> '' and length(name) <= 200),
    created_at timestamptz not null default clock_timestamp()
);

create table product.document (
    tenant_id uuid not null references product.tenant,
    document_id uuid not null,
    title text not null check (length(title) <= 500),
    current_revision integer not null check (current_revision > 0),
    created_at timestamptz not null default clock_timestamp(),
    primary key (tenant_id, document_id)
);

create table product.task (
    tenant_id uuid not null,
    task_id uuid not null unique,
    document_id uuid not null,
    kind text not null constraint task_kind check (kind in ('summary')),
    sentence_limit integer not null check (sentence_limit between 1 and 50),
    state text not null default 'queued' constraint task_state check (state in ('queued', 'running', 'done', 'failed')),
    -- A new generation makes every earlier run of the task stale.
    generation integer not null default 1 check (generation > 0),
    failure_code text constraint task_failure_code check (failure_code ~ '^[a-z_]{1,40}$'),
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    primary key (tenant_id, task_id),
    foreign key (tenant_id, document_id) references product.document,
    constraint task_failure check ((state = 'failed') = (failure_code is not null)),
    constraint task_finish check ((state in ('done', 'failed')) = (finished_at is not null))
);
create index task_by_document on product.task (tenant_id, document_id);

-- One row for each generation that started. attempts counts how often its first step ran: more than once means that
-- a worker was lost there.
create table product.run (
    tenant_id uuid not null,
    run_id uuid not null,
    task_id uuid not null,
    generation integer not null check (generation > 0),
    state text not null default 'running' constraint run_state check (state in ('running', 'done', 'failed')),
    attempts integer not null default 1 check (attempts > 0),
    base_revision integer not null check (base_revision > 0),
    published_revision integer check (published_revision = base_revision + 1),
    failure_code text constraint run_failure_code check (failure_code ~ '^[a-z_]{1,40}$'),
    started_at timestamptz not null default clock_timestamp(),
    finished_at timestamptz,
    primary key (tenant_id, run_id),
    unique (task_id, generation),
    foreign key (tenant_id, task_id) references product.task,
    constraint run_failure check ((state = 'failed') = (failure_code is not null)),
    constraint run_finish check ((state = 'running') = (finished_at is null)),
    constraint run_done check (state <> 'done' or published_revision is not null)
);

-- What we know of a provider's work for one run (F7). 'requested' is written before each send: a worker that dies
-- between send and answer leaves the truth behind, which is that nobody knows. sends counts the requests that may
-- have left.
create table product.receipt (
    tenant_id uuid not null,
    run_id uuid not null,
    idempotency_key text not null unique check (length(idempotency_key) <= 200),
    state text not null default 'requested'
        constraint receipt_state check (state in ('requested', 'answered', 'rejected', 'unknown')),
    sends integer not null default 1 check (sends > 0),
    reason text constraint receipt_reason check (reason ~ '^[a-z_]{1,40}$'),
    provider_receipt_id text check (length(provider_receipt_id) <= 200),
    model text check (length(model) <= 200),
    summary text check (summary <> ''),
    requested_at timestamptz not null default clock_timestamp(),
    settled_at timestamptz,
    primary key (tenant_id, run_id),
    foreign key (tenant_id, run_id) references product.run,
    constraint receipt_answer check ((state = 'answered') = (summary is not null and provider_receipt_id is not null and model is not null)),
    constraint receipt_settled check ((state = 'requested') = (settled_at is null))
);

create table product.revision (
    tenant_id uuid not null,
    document_id uuid not null,
    number integer not null check (number > 0),
    body text not null,
    content_hash bytea not null check (length(content_hash) = 32),
    author_user text check (author_user <> '' and length(author_user) <= 200),
    author_run uuid,
    created_at timestamptz not null default clock_timestamp(),
    primary key (tenant_id, document_id, number),
    -- Published twice for one task and generation: impossible, because a run is one generation.
    constraint revision_once_per_run unique (author_run),
    foreign key (tenant_id, document_id) references product.document,
    foreign key (tenant_id, author_run) references product.run (tenant_id, run_id),
    constraint revision_author check (num_nonnulls(author_user, author_run) = 1)
);

-- The current revision exists. Deferred: a document and its first revision are written in one transaction.
alter table product.document add constraint document_current_revision
    foreign key (tenant_id, document_id, current_revision) references product.revision (tenant_id, document_id, number)
    deferrable initially deferred;

select workflow_coordination.guard_table('product.tenant');
select workflow_coordination.guard_table('product.document');
select workflow_coordination.guard_table('product.task');
select workflow_coordination.guard_table('product.run');
select workflow_coordination.guard_table('product.receipt');
select workflow_coordination.guard_table('product.revision');
