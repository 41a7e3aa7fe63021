-- purpose: add workflow rows from a JSON array. locks: none. called by: journaltest.Insert
with added as (
    insert into dbos.workflow_status select * from jsonb_populate_recordset(null::dbos.workflow_status, $1) returning 1
) select count(*) from added
