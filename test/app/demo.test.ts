import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { run } from './run.ts'

const folder = mkdtempSync(join(tmpdir(), 'submission-mirror-demo-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('the demo shows arrivals of every kind, ends with agreement of service, mirror and AMS, and leaves a database that can be looked into', {
  timeout: 300_000,
}, async () => {
  const ended = await run(['demo', '--folder', folder])
  expect(ended).toMatchObject({ code: 0, err: '' })
  for (const mark of ['webhook', 'history', 'lost', 'found', 'ams']) expect(ended.out).toMatch(new RegExp(`^ *[\\d.]+ s  ${mark} `, 'm'))
  expect(ended.out.endsWith('\nthe AMS has every change, in order\nmirror agrees with the service\n')).toBe(true)
  const path = join(folder, 'mirror.db')
  expect(existsSync(path)).toBe(true)
  expect(ended.out).toMatch(/^logged by the mirror +(\d+)\narrived at the AMS +\1$/m)
  const number = (line: string) => Number(new RegExp(`^${line} +(\\d+)`, 'm').exec(ended.out)?.[1])
  const ways = ['by webhook', 'by polling, before their [^0-9]*', 'by polling, after their [^0-9]*', 'by reading the history [^0-9]*'].map(
    number,
  )
  expect(ways.reduce((sum, n) => sum + n)).toBe(number('market_events') + number('thread_messages'))
  expect(ended.out).toMatch(/^12 of 12 submissions looked at, \d+ rows compared; nothing was found$/m)
  expect(readFileSync(join(folder, 'reconciliation.html'), 'utf8')).toContain('The mirror agrees with the service')
  const amsLog = readFileSync(join(folder, 'ams.log'), 'utf8')
  for (const answered of ['200', '503', 'gone']) expect(amsLog).toMatch(new RegExp(`^\\S+Z  ${answered} `, 'm'))
  expect(ended.out).toMatch(/^ {2}DATABASE_URL=sqlite:\S+ \S+ \S+ status$/m)
  const status = await run(['status'], { DATABASE_URL: `sqlite:${path}` })
  expect(status).toMatchObject({ code: 0, err: '' })
  expect(status.out).toMatch(/^Complete and fresh: 12 submissions, each read to the end, and nothing waits; no process is running/)
  expect(status.out).toMatch(/^account +proven +never proven +oldest proof\ndefault +12 +0 +\d+ s$/m)
  // By webhook, by poll, backfill.
  expect(status.out).toMatch(/^default +[1-9]\d* +[1-9]\d* +[1-9]\d* +0 +0 % +0 %$/m)
})
