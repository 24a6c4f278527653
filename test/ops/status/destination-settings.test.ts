import { expect, it } from 'vitest'
import type { DestinationConfig } from '../../../src/config/config.ts'
import { addressOf, narrowedTo } from '../../../src/ops/status/destination-settings.ts'

const destination = (over: object) => over as DestinationConfig

it('the address of a destination holds no user, no query and no template', () => {
  const of = (over: object) => addressOf(destination(over))
  expect(of({ kind: 'webhook', url: 'https://user:pass@ams.example/in/put?key=abc#x' })).toBe('https://ams.example/in/put')
  expect(of({ kind: 'queue', queue: { url: 'https://sqs.example/1/changes.fifo' } })).toBe('https://sqs.example/1/changes.fifo')
  expect(of({ kind: 'http', request: { url: '"https://ams.example/in?key=abc"' } })).toBe('https://ams.example/in')
  expect(of({ kind: 'http', request: { url: '"https://ams.example/" & entity_id' } })).toBeNull()
  expect(of({ kind: 'file', target: { type: 'folder', path: '/drop' } })).toBe('/drop')
  const sftp = { type: 'sftp', host: 'files.example', port: 22, path: '/drop' }
  expect(of({ kind: 'file', target: sftp })).toBe('sftp://files.example:22/drop')
})

it('the filters of a destination are shown in words', () => {
  const all = { entities: null, operations: null, eventTypes: null, filter: null, accounts: ['a', 'b'] }
  const accounts = [{ name: 'a' }, { name: 'b' }] as unknown as Parameters<typeof narrowedTo>[1]['accounts']
  expect(narrowedTo(destination(all), { accounts })).toBe('everything')
  expect(narrowedTo(destination({ ...all, filter: 'row.chip = "bound"' }), { accounts })).toBe('changes that match its filter')
  expect(narrowedTo(destination({ ...all, entities: ['quotes', 'lanes'], operations: ['insert'], accounts: ['a'] }), { accounts })).toBe(
    'tables quotes, lanes; operations insert; accounts a',
  )
})
