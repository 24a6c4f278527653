#!/bin/bash
# Runs once on a new primary: allows replication, and makes commits wait for the other server from the next start on. The copy has the same
# settings after its promotion.
set -euo pipefail

echo 'host replication all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
psql --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" --command="alter system set synchronous_standby_names = 'ANY 1 (db1, db2)'"
