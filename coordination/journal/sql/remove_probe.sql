-- purpose: delete the own private queue and its probe. locks: those rows. called by: journal.Journal.RemoveProbe
select workflow_coordination.remove_probe($1)
