#!/bin/bash
# Starts a server of the profile "failover". Without data, it becomes a standby of the server in FOLLOWS, or a new primary if FOLLOWS is
# empty.
set -euo pipefail

if [[ -n ${FOLLOWS:-} && ! -s $PGDATA/PG_VERSION ]]; then
  install --directory --owner=postgres --group=postgres --mode=0700 "$PGDATA"
  until pg_isready --quiet --host="$FOLLOWS" --username="$POSTGRES_USER"; do sleep 1; done
  PGPASSWORD=$POSTGRES_PASSWORD gosu postgres pg_basebackup --pgdata="$PGDATA" --wal-method=stream --write-recovery-conf \
    --dbname="host=$FOLLOWS user=$POSTGRES_USER application_name=$HOSTNAME"
fi
exec docker-entrypoint.sh postgres -c wal_keep_size=1GB
