import { onTestFinished } from 'vitest'
import { startSandbox } from '../../src/sandbox/http/server.ts'
import type { Sandbox } from '../../src/sandbox/service/sandbox.ts'
import { type OpenedDatabase, testDatabases } from '../tools/databases.ts'

/** A service that has no submission and plays nothing by itself, and an empty SQLite database. Both end with the test. */
export async function openQuietWorld(): Promise<{ readonly sandbox: Sandbox; readonly opened: OpenedDatabase }> {
  const [sqlite] = testDatabases
  if (!sqlite) throw new Error('no database')
  const sandbox = await startSandbox({ submissions: 0, autoStart: false })
  onTestFinished(() => sandbox.close())
  const opened = await sqlite.open()
  onTestFinished(() => opened.close())
  return { sandbox, opened }
}
