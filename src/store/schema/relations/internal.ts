/** What each table of the program's own holds. A release may change them without notice. */
export const internalTables: Readonly<Record<string, string>> = {
  sync_inbox:
    'every delivery, its body as received, what became of it (`ready`, `done`, `aside`, `dead`) and why. `submission-mirror ' +
    'inbox list` shows it',
  sync_rejected: 'a bounded number of refused deliveries with the reason; `inbox list --rejected`',
  sync_reads: 'for each submission and read: cursor, when it is due, lease, failures, the last error',
  sync_accounts:
    "each account's state (`active`, `parked`, `paused`), the reason, the brokerage that is pinned, the pause that the service asked for; `account list`",
  sync_arrivals:
    'what a feed showed first, as news, whether it was a replay that did, and what a webhook told of only later: what tells ' +
    'a lost webhook. `arrivals` shows it',
  sync_record_counts: 'for each submission how many events and messages it has; `submission_overview` and `completeness` show it',
  sync_search_words: "the words of insureds' names, in lower case and without accents: what the list of submissions is searched by",
  sync_known_ids:
    'ids of bind requests, policies, insureds and documents: when each is read next, lease, failures, the last error; `known_ids` shows them',
  sync_documents: 'for each document when it is fetched next, lease, failures, since when it fails, and the limit that it was over',
  sync_reads_off: 'reads that an account does not make: left out by `STATE_READS`, or refused by the service until `retry_at`; `status`',
  sync_path_reads:
    'each path that is probed for submissions, and each extra read, for each submission that it is made for: when it is read next, lease, failures, the ' +
    'last error; of what is probed the last answer (its first 1 MiB; 16 KiB of each path with an id in it)',
  sync_conflicts: 'records that contradicted what was kept of them, with both versions; of one record some 100 at most',
  sync_unreadable: "items of a feed that are not what the service's specification says; of one feed of a submission some 1,000 at most",
  sync_processes: 'the processes that run, with their last sign of life',
  sync_counters: 'counters that outlive a process',
  sync_destinations:
    'for each destination: state, the newest change that was fanned out to it, how far a snapshot has come; `destination list`',
  sync_outbox: 'what goes, or went, to each destination, row by row; `push_status` shows it, and `outbox list`',
  sync_push_lanes: 'submissions that have something to send, by destination: when they are due, who is sending, what blocks them',
  sync_remote_ids: 'what each destination calls the records that it took',
  sync_reconcile: 'for each account the run in progress, and which process has it until when',
  sync_proofs:
    'for each submission when a reconcile run, other than a dry one, last came by, which one last proved it equal to what ' +
    'the service shows, and when',
  sync_last_uses:
    'for each account when a webhook secret verified a delivery last, and when the service last gave a token for a credential; `account list`. ' +
    'A credential is known by its id, a secret by a short tag that is made of it and that nothing can be made of',
  sync_refused_connections: 'how many connections were refused in each minute, and why; of a week',
  sync_differing_deliveries:
    'hashes of bodies that came, well signed, under an id that was stored before with another body; `is_compared` is 0 where ' +
    'retention had removed that one. The newest 10,000',
  sync_operator_notices: 'for each operator and alarm: what was told last, or is to be told, with its tries',
  sync_alarm_watch: 'which process looks for alarms, and when one did last',
  sync_upkeep: 'what one process does for all, such as retention: whose turn it is, how far it came, what it did',
  sync_console_sessions: 'who is signed in to the ops port, by hashes from which nobody can sign in',
  sync_figures:
    'what each process counted in each minute (of two days) and hour (of 31 days): deliveries, changes, lost webhooks, lags, requests, how ' +
    'much waited; `GET /api/v1/history` sums it up',
  sync_interface_drift:
    'how answers and deliveries differ from the specification: fields, values of vocabularies and types that it does not name, and required ' +
    'fields that are missing, by path, with how often; never values. `status --drift` shows it',
  sync_purged: 'submissions that were purged: they are not tracked until `track --again`',
  sync_inbox_left: 'deliveries that were not worked yet when retention passed them',
  sync_log_epochs: 'the numberings of the change log, and in which server or file each began; `log_epochs` shows them',
  sync_restatements: 'submissions whose present state a destination is sent after a branch of the change log was lost',
  sync_migrations: 'the migrations that were applied',
}
