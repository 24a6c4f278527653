import type { TestProject } from 'vitest/node'
import { QUICK, startPostgres } from './postgres-server.ts'

/** For a project of its own: its tests are given a server of the oldest version in place of the one of the run. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres({ ...QUICK, version: 14 })
  project.provide('postgresUrl', server.url)
  project.provide('postgresVersion', 14)
  return () => server.remove()
}
