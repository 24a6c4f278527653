#!/bin/bash
# Starts one of the two servers of the profile "failover". With data it goes on with them. Without, it becomes a standby of the server
# that FOLLOWS names, from a copy of it; and when that is empty, a new primary.
set -euo pipefail

if [[ -n ${FOLLOWS:-} && ! -s $PGDATA/PG_VERSION ]]; then
  install --directory --owner=postgres --group=postgres --mode=0700 "$PGDATA"
  until pg_isready --quiet --host="$FOLLOWS" --username="$POSTGRES_USER"; do sleep 1; done
  PGPASSWORD=$POSTGRES_PASSWORD gosu postgres pg_basebackup --pgdata="$PGDATA" --wal-method=stream --write-recovery-conf \
    --dbname="host=$FOLLOWS user=$POSTGRES_USER application_name=$HOSTNAME"
fi
exec docker-entrypoint.sh postgres -c wal_keep_size=1GB
