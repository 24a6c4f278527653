import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ams } from './ams.ts'
import { Books } from './books.ts'

/**
 * The AMS gets everything, backfill included; refused changes are sent again soon enough to be seen. Accounting gets the policies of
 * submissions whose client it knows.
 */
const SETTINGS = `destinations:
  - name: ams
    kind: webhook
    url: \${AMS_URL}
    secret: \${AMS_SECRET}
    backfill: true
    allow_private: true
    schedule: [300ms, 1s, 2s, 4s, 8s]
  - name: accounting
    kind: webhook
    url: \${BOOKS_URL}
    secret: \${AMS_SECRET}
    entities: [policies]
    mapping: required
    allow_private: true
    schedule: [300ms]
documents:
  hosts: []
`

/** Both receivers of changes, and the settings that lead to them. @param now milliseconds. */
export async function startReceivers(folder: string, now: () => number, closing: AsyncDisposableStack) {
  const log = join(folder, 'ams.log')
  const ams = new Ams(log, now)
  const AMS_URL = await ams.listen()
  closing.defer(() => ams.close())
  const books = new Books()
  const BOOKS_URL = await books.listen()
  closing.defer(() => books.close())
  const CONFIG_FILE = join(folder, 'mirror.yaml')
  writeFileSync(CONFIG_FILE, SETTINGS)
  return { ams, log, settings: { CONFIG_FILE, AMS_URL, BOOKS_URL, AMS_SECRET: ams.secret } }
}
