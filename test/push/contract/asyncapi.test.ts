import { Parser } from '@asyncapi/parser'
import { Ajv } from 'ajv'
import formats from 'ajv-formats'
import { describe, expect, it } from 'vitest'
import { entities } from '../../../src/model/entities.ts'
import { asyncApi, tableSchema } from '../../../src/push/contract/asyncapi.ts'
import { AdminRig } from '../../ops/http/rig.ts'
import { sqliteDatabase } from '../../tools/databases.ts'
import { holdToSchema } from '../../tools/pushed-schema.ts'

const change = {
  type: 'thread_attachments.insert',
  timestamp: '2026-01-05T12:00:00.000000Z',
  data: {
    seq: 1,
    account: 'acme',
    submission_id: 's',
    entity: 'thread_attachments',
    entity_id: '["s","m",0]',
    operation: 'insert',
    changed_at: '2026-01-05T12:00:00.000000Z',
    cause: 'poll',
    before: null,
    after: { account: 'acme', submission_id: 's', message_id: 'm', position: 0 } as Record<string, unknown>,
  },
}
const withAfter = (after: object) => ({ ...change, data: { ...change.data, after: { ...change.data.after, ...after } } })

describe('what destinations are sent', () => {
  it('is described by a document that the own parser of AsyncAPI takes', async () => {
    const { document, diagnostics } = await new Parser().parse(JSON.stringify(asyncApi('0.1.0')))
    // A newer version, 3.1, is no fault.
    expect(diagnostics.filter(({ code }) => code !== 'asyncapi-latest-version')).toEqual([])
    expect(document?.version()).toBe('3.0.0')
    const names = document
      ?.allMessages()
      .all()
      .map((message) => message.name())
    expect(names).toEqual(expect.arrayContaining(entities.map(({ table }) => `${table}.insert`)))
  })

  it('is answered by the program', async () => {
    const rig = await AdminRig.open(sqliteDatabase)
    const { status, json } = await rig.ask('GET', '/asyncapi.json')
    await rig.close()
    expect(status).toBe(200)
    expect(json).toEqual(asyncApi((json as { info: { version: string } }).info.version))
  })

  it.each(entities)('$table has its own schema that allows further fields', (entity) => {
    const ajv = new Ajv({ strict: true, allowUnionTypes: true, strictRequired: false })
    formats.default(ajv)
    const isRight = ajv.compile(tableSchema(entity))
    expect(isRight({ type: `${entity.table}.unknown` })).toBe(false)
    if (entity.table !== 'thread_attachments') return
    expect(isRight(change)).toBe(true)
    expect(isRight(withAfter({ of_a_later_release: 1 }))).toBe(true)
    expect(isRight(withAfter({ position: 'first' }))).toBe(false)
  })

  it('finds every undescribed part in the tests', () => {
    const hold = (pushed: object) => () => holdToSchema(JSON.stringify(pushed))
    expect(hold(change)).not.toThrow()
    expect(hold(withAfter({ undescribed: 1 }))).toThrow('undescribed')
    expect(hold({ ...change, more: true })).toThrow('more')
    expect(hold({ ...change, type: 'thread_attachments.update' })).toThrow('/data/operation')
    expect(hold({ ...change, type: 'nothing.insert' })).toThrow('not described')
    expect(hold({ type: 'alarm.firing' })).not.toThrow()
  })
})
