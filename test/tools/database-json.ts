import type { DatabaseConfig } from '../../src/store/engine/db.ts'

/** @returns database settings as an argument of a child process. */
export function databaseText(config: DatabaseConfig): string {
  return JSON.stringify(config.kind === 'sqlite' ? config : { kind: 'postgres', url: config.url.reveal(), schema: config.schema })
}

export function databaseFrom(text: string): DatabaseConfig {
  const given = JSON.parse(text) as { kind: 'sqlite'; path: string } | { kind: 'postgres'; url: string; schema: string }
  if (given.kind === 'sqlite') return given
  const url = { reveal: () => given.url }
  return { kind: 'postgres', url, listenUrl: url, schema: given.schema }
}
