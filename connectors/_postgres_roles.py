"""What a role of PostgreSQL may do that no read-only transaction keeps it from. It asks the server's own catalogue, and
changes nothing there.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LOOK", "OUR_NAME", "TOO_MUCH"]

# What the sessions of these tools are called, so that they are told from those of others.
OUR_NAME: Final = "hedgerow"

# One column for each sentence of `TOO_MUCH`. Every role counts that the session's user may become, since
# `set_config('role', ...)` is a function like any other.
LOOK: Final = """
WITH mine AS (
  SELECT r.* FROM pg_catalog.pg_roles AS r WHERE pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')
),
reaching AS (
  SELECT d.objid AS oid FROM pg_catalog.pg_extension AS e, pg_catalog.pg_depend AS d
  WHERE d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass AND d.refobjid = e.oid AND d.deptype = 'e'
  AND d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
  AND e.extname IN ('amqp', 'aws_lambda', 'aws_s3', 'azure_storage', 'citus', 'dblink', 'http', 'orafce',
                    'pg_background', 'pg_curl', 'pg_net')
),
-- Of the server's functions those that matter, since each is asked about by itself.
server AS (
  SELECT p.proname, p.proacl FROM pg_catalog.pg_proc AS p
  WHERE p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
  AND (p.proacl IS NOT NULL OR p.proname IN ('pg_logical_emit_message', 'pg_terminate_backend', 'pg_cancel_backend'))
  AND EXISTS (SELECT FROM mine AS m WHERE pg_catalog.has_function_privilege(m.oid, p.oid, 'EXECUTE'))
)
SELECT
  EXISTS (
    SELECT FROM mine AS m WHERE m.rolsuper OR m.rolreplication OR m.rolname IN (
      'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_signal_backend', 'pg_checkpoint',
      'pg_maintain', 'pg_create_subscription', 'pg_signal_autovacuum_worker', 'pg_monitor', 'pg_read_all_stats',
      'pg_read_all_settings')
  ),
  -- A message of this kind is in the log at once, whatever becomes of the transaction.
  EXISTS (
    SELECT FROM server AS s WHERE s.proname = 'pg_logical_emit_message'
  ) AND EXISTS (
    SELECT FROM pg_catalog.pg_replication_slots AS l
    WHERE l.slot_type = 'logical' AND l.database = pg_catalog.current_database()
  ),
  -- The server itself keeps what reaches its files, its log and its statistics from PUBLIC.
  EXISTS (
    SELECT FROM server AS s WHERE s.proacl IS NOT NULL AND NOT EXISTS (
      SELECT FROM pg_catalog.aclexplode(s.proacl) AS a WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE')
  ),
  EXISTS (
    SELECT FROM reaching AS n, pg_catalog.pg_proc AS p, mine AS m
    WHERE p.oid = n.oid AND p.prorettype <> 'pg_catalog.trigger'::pg_catalog.regtype
    AND pg_catalog.has_function_privilege(m.oid, p.oid, 'EXECUTE')
  ),
  -- A session may end those of its own role. Those of these tools lose nothing but an answer.
  EXISTS (
    SELECT FROM server AS s WHERE s.proname IN ('pg_terminate_backend', 'pg_cancel_backend')
  ) AND EXISTS (
    SELECT FROM pg_catalog.pg_stat_activity AS o, mine AS m
    WHERE o.usesysid = m.oid AND o.backend_type = 'client backend' AND o.pid <> pg_catalog.pg_backend_pid()
    AND o.application_name IS DISTINCT FROM 'hedgerow'
  )
"""
TOO_MUCH: Final = (
    (
        "The role that this database is asked as may do more than read, so it is not asked. Connect as one that is no "
        "superuser, has no replication, and is no member of a role that may reach files, programs, settings or the sessions "
        "of others."
    ),
    (
        "The log of this database is read by others (a logical replication slot), and the role that it is asked as may write "
        "messages for them, so it is not asked. Revoke EXECUTE on pg_logical_emit_message from PUBLIC."
    ),
    (
        "The role that this database is asked as may call functions of the server that are kept from others, so it is not "
        "asked. Revoke EXECUTE on them from the role."
    ),
    (
        "The role that this database is asked as may call functions that act by another connection (of dblink, http or the "
        "like), which no read-only transaction holds, so it is not asked. Revoke EXECUTE on them from PUBLIC."
    ),
    (
        "Others are connected as the role that this database is asked as, and a query could end their sessions, so it is not "
        "asked. Give these tools a role of their own, or revoke EXECUTE on pg_terminate_backend and pg_cancel_backend from "
        "PUBLIC."
    ),
)
