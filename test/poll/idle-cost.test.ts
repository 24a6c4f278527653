import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { detailReads, mainReads } from '../../src/model/reads.ts'
import { longestIdWaitMs } from '../../src/poll/id-intervals.ts'
import { readIntervalMs } from '../../src/poll/intervals.ts'
import { account } from '../config/support.ts'

const DAY = 86_400_000
const noJitter = { random: () => 0 }

/** Requests per day after `quietMs` without changes, with default settings. */
function requestsADay(quietMs: number) {
  const config = loadConfig(account)
  const perDay = (waitMs: number) => DAY / waitMs
  const sum = (reads: readonly (typeof mainReads | typeof detailReads)[number][]) =>
    reads.reduce((total, read) => total + perDay(readIntervalMs(config, read, quietMs, noJitter)), 0)
  return {
    main: sum(mainReads),
    detail: sum(detailReads),
    openBind: perDay(longestIdWaitMs(config, 'bind_request', false, quietMs)),
    restingBind: perDay(longestIdWaitMs(config, 'bind_request', true, quietMs)),
    policyAndInsured: 2 * perDay(longestIdWaitMs(config, 'policy', false, quietMs)),
  }
}

test('an idle submission costs at most twice its feeds and requirements view', () => {
  const { main, detail, openBind, restingBind, policyAndInsured } = requestsADay(7 * DAY)
  expect(main + detail + openBind + policyAndInsured).toBeLessThanOrEqual(2 * main)
  expect(restingBind).toBeLessThan(openBind)
})

test('config/README.md states the cost', () => {
  const text = readFileSync(new URL('../../config/README.md', import.meta.url), 'utf8').replace(/\s+/g, ' ')
  const idle = requestsADay(7 * DAY)
  expect(text).toContain(
    `an idle submission costs ${idle.main + idle.detail} requests a day: ${idle.main} for its feeds and the requirements view, and ${idle.detail} for`,
  )
  expect(text).toContain(
    `With a bind request under way, a policy, and an insured, it costs ${idle.main + idle.detail + idle.openBind + idle.policyAndInsured} (${idle.openBind} of them for the bind request)`,
  )
  const dormant = requestsADay(100 * DAY)
  expect(text).toContain(
    `After 90 days without news, a submission costs ${(dormant.main + dormant.detail).toFixed(1)} a day, and ${dormant.policyAndInsured} more if it has a policy and an insured`,
  )
})
