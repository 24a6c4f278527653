/** `sync_log_epochs.home` on SQLite: of a database that is worked on, and of a backup until it is restored. */
export const SQLITE_HOME = 'here'
export const COPY_HOME = 'copy'
