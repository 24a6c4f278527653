import type { TestProject } from 'vitest/node'
import { QUICK, startPostgres } from './postgres-server.ts'

/** Gives a project's tests a server of the oldest version. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres({ ...QUICK, version: 14 })
  project.provide('postgresUrl', server.url)
  project.provide('postgresVersion', 14)
  return () => server.remove()
}
