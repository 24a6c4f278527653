import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { adminPoints } from './admin-points.ts'
import { alarmPoints } from './alarm-points.ts'
import { discoveryPoints } from './discovery-points.ts'
import { documentPoints } from './document-points.ts'
import { accountPoints, inboxPoints, readPoints, startPoints } from './points.ts'
import { pushPoints } from './push-points.ts'
import { reconcilePoints } from './reconcile-points.ts'
import { commentPoints, markPoints, upkeepPoints } from './upkeep-points.ts'

/** Transactions of commands, and of a store that is opened only to be looked at. */
const OF_COMMANDS = [
  'copy-again',
  'copy-begin',
  'copy-end',
  'copy-leave',
  'copy-page',
  'doctor',
  'grant-reader',
  'purge',
  'purge-forget',
  'push-resend',
  'push-verified',
  'push-verify',
  'sync-reads',
]

/** What a process counts in memory and writes now and then, one upsert a row: a kill loses what was counted since, on which nothing rests. */
const COUNTED = ['interface-drift']

/** One statement each about a running process: the row of a killed one is removed, and a reload it was asked for ended with it. */
const OF_A_PROCESS = ['process-settings', 'reload-ask', 'reload-finish']

it('the product is killed at every transaction that it makes', () => {
  const source = fileURLToPath(new URL('../../src', import.meta.url))
  const found = globSync(`${source}/**/*.ts`).flatMap((file) => transactionsIn(readFileSync(file, 'utf8')))
  const killed = [
    ...startPoints,
    ...inboxPoints,
    ...readPoints,
    ...accountPoints,
    ...pushPoints,
    ...discoveryPoints,
    ...documentPoints,
    ...upkeepPoints,
    ...commentPoints,
    ...markPoints,
    ...reconcilePoints,
    ...adminPoints,
    ...alarmPoints,
  ].map((point) => point.transaction)
  expect([...new Set(found)].sort()).toEqual([...new Set([...killed, ...OF_COMMANDS, ...COUNTED, ...OF_A_PROCESS])].sort())
})

/** Names that stand where a transaction is begun: as text, or as the constant of the file. */
function transactionsIn(text: string): string[] {
  const constant = /const NAME = '([a-z-]+)'/.exec(text)?.[1]
  const begun = text.matchAll(/\b(?:\.write|db\.write|inApplyTransaction)\(\s*(?:[\w.#]+,\s*)*(?:'([a-z-]+)'|NAME\b)/g)
  return [...begun].flatMap(([, name]) => name ?? constant ?? [])
}
