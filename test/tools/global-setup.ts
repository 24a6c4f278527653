import type { TestProject } from 'vitest/node'
import { shareCompiled } from './compile-cache.ts'
import { shareDatabaseFolder } from './database-folder.ts'
import { type PostgresVersion, QUICK, startPostgres } from './postgres-server.ts'
import { buildPrograms } from './program.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrl: string
    postgresVersion: PostgresVersion
  }
}

/** One Postgres server for the whole run, and the programs that tests start. When it cannot start, the run fails: no store test is ever skipped. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  shareCompiled()
  shareDatabaseFolder()
  const [server] = await Promise.all([startPostgres(QUICK), buildPrograms()])
  project.provide('postgresUrl', server.url)
  project.provide('postgresVersion', 18)
  return () => server.remove()
}
