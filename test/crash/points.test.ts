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

/** Counters that a process writes periodically. A kill loses the last counts, and nothing depends on them. */
const COUNTED = ['api-changes']

/** Single statements about a running process, whose row is removed when it is killed. */
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

function transactionsIn(text: string): string[] {
  const constant = /const NAME = '([a-z-]+)'/.exec(text)?.[1]
  const begun = text.matchAll(/\b(?:\.write|db\.write|inApplyTransaction|updateInPages)\(\s*(?:[\w.#]+,\s*)*(?:'([a-z-]+)'|NAME\b)/g)
  return [...begun].flatMap(([, name]) => name ?? constant ?? [])
}
