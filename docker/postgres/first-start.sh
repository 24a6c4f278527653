#!/bin/bash
# Runs once, while a new primary makes its data: lets the other server follow it. Commits wait for that server from the next start on, and
# so they do on the copy, once it is promoted.
set -euo pipefail

echo 'host replication all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
psql --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --command="alter system set synchronous_standby_names = 'ANY 1 (db1, db2)'"
