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

/** Starts one Postgres server for the run, and builds the programs. The run fails without it: no store test is skipped. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  shareCompiled()
  shareDatabaseFolder()
  const [server] = await Promise.all([startPostgres(QUICK), buildPrograms()])
  project.provide('postgresUrl', server.url)
  project.provide('postgresVersion', 18)
  return () => server.remove()
}
