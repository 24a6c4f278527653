import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Row } from '../../../src/model/entity.ts'
import type { PushItem } from '../../../src/push/contract/delivery.ts'
import { rowWriter } from '../../../src/push/file/rows.ts'
import { newFolder } from '../../tools/new-folder.ts'
import { folderKind, pushItem, pushItems, readCsv, readDrop, send } from './support.ts'

const FRAME = 'message_id,seq,account,submission_id,entity,entity_id,operation,changed_at,cause,snapshot,direction,echo'.split(',')

function recordsOf(
  entities: readonly string[] | null,
  items: readonly PushItem[],
  personalFields: readonly string[] = [],
): { text: string; records: Record<string, string | null>[] } {
  const writer = rowWriter({ format: 'csv', byteOrderMark: false, entities, personalFields, filter: null })
  const text = writer.head + writer.rows(items)
  const [header = [], ...records] = readCsv(text)
  return { text, records: records.map((record) => Object.fromEntries(header.map((column, at) => [column, record[at] ?? null]))) }
}

function lane(after: Row, before: Row | null = null): PushItem {
  return pushItem(1, { entity: 'lanes', operation: before ? 'update' : 'insert', before, after })
}

describe('CSV', () => {
  it('is a whole file with one header, ended by CRLF', async () => {
    const folder = newFolder()
    await send(folderKind(folder, { format: 'csv' }), pushItems(250))
    const text = readFileSync(join(folder, readDrop(folder).files[0] ?? ''), 'utf8')
    const [header, ...records] = readCsv(text)
    expect(header).toEqual([...FRAME, 'before', 'after'])
    expect(records).toHaveLength(250)
    expect(records.filter(([first]) => first === 'message_id')).toEqual([])

    expect(text.endsWith('\r\n')).toBe(true)
  })

  it('has before and after as JSON when there are several entities, or all', () => {
    const item = pushItem(1, { operation: 'update', before: { status: 'a, "b"' }, after: { status: null, market_lines: ['GL', 'WC'] } })
    for (const entities of [null, ['market_events', 'lanes']]) {
      const [record] = recordsOf(entities, [item]).records
      expect(record).toMatchObject({ seq: '1001', snapshot: 'false', echo: 'false', direction: null })
      expect(JSON.parse(record?.['before'] ?? '')).toEqual(item.before)
      expect(JSON.parse(record?.['after'] ?? '')).toEqual(item.after)
    }
    expect(recordsOf(null, [pushItem(1)]).records[0]?.['before']).toBeNull()
  })

  it('has the entity’s own columns when there is one entity, whichever columns a change has, and an empty text apart from none', () => {
    const after = { lane_id: 'l', lines: ['GL', 'WC'], submit_ready: true, bound: false, chip: '', program: null }
    const { records } = recordsOf(['lanes'], [lane(after), lane({ chip: 'Bound', program: null }, { chip: '', program: 'A' })])
    expect(Object.keys(records[0] ?? {}).slice(0, FRAME.length + 2)).toEqual([...FRAME, 'changed', 'lane_id'])
    expect(Object.keys(records[0] ?? {})).not.toContain('raw')
    expect(records[0]).toMatchObject({ lines: '["GL","WC"]', submit_ready: 'true', bound: 'false', chip: '', program: null })
    expect(records[1]).toMatchObject({ changed: 'chip program', chip: 'Bound', program: null, submit_ready: null })
  })

  it('writes lists as JSON, and every other column as it is', () => {
    const { records } = recordsOf(['lanes'], [lane({ lines: 'GL', chip: '"GL"' }), lane({ lines: 5, chip: { a: 1 } })])
    expect(records).toMatchObject([
      { lines: '"GL"', chip: '"GL"' },
      { lines: '5', chip: '{"a":1}' },
    ])
  })

  it('has a row without values for a gone record', () => {
    const { records } = recordsOf(['lanes'], [pushItem(1, { entity: 'lanes', operation: 'purged', after: null })])
    expect(records).toMatchObject([{ operation: 'purged', changed: '', chip: null }])
  })

  it('contains the direction of a message from the brokerage’s side', () => {
    const message = pushItem(1, { entity: 'thread_messages', after: { direction: 'inbound', subject: 'Hello' }, direction: 'sent' })
    const { records, text } = recordsOf(['thread_messages'], [message], ['thread_messages.subject'])
    expect(records[0]).toMatchObject({ direction: 'sent', subject: 'Hello' })
    expect(text).not.toContain('inbound')
  })

  it('has no columns for personal data that the destination did not ask for', () => {
    const message = pushItem(1, { entity: 'thread_messages', after: { channel: 'email', subject: 'Hello' } })
    const { records } = recordsOf(['thread_messages'], [message], ['thread_messages.subject'])
    expect(records[0]).toMatchObject({ channel: 'email', subject: 'Hello' })
    expect(Object.keys(records[0] ?? {})).not.toContain('body_text')
    expect(Object.keys(recordsOf(['thread_messages'], [message]).records[0] ?? {})).not.toContain('subject')
  })

  it('lets no text be a formula, and no number be text', () => {
    const quote = (after: Row) => pushItem(1, { entity: 'quotes', after })
    const { records } = recordsOf(
      ['quotes'],
      [
        ...['=1+1', '+1', '-5', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠1', ' =1', '\u00a0=1', '\ufeff+1', ' \t@A'].map(
          (text) => quote({ premium_display: text }),
        ),
        quote({ total_cents: -5, premium_display: '5-5' }),
      ],
    )
    for (const record of records.slice(0, -1)) expect(record['premium_display']?.[0]).toBe("'")
    expect(records[2]).toMatchObject({ premium_display: "'-5" })
    expect(records.at(-1)).toMatchObject({ total_cents: '-5', premium_display: '5-5' })
  })

  it('begins with a byte order mark where that is wanted, and with none else', () => {
    const headOf = (byteOrderMark: boolean) =>
      rowWriter({ format: 'csv', byteOrderMark, entities: null, personalFields: [], filter: null }).head.split(',')[0]
    expect([headOf(false), headOf(true)]).toEqual(['"message_id"', '\ufeff"message_id"'])
  })

  it('can be read back with any text', () => {
    const anyText = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('"', ',', '\r\n', '\n', '""', '=1', "'", ' ', ';', 'NULL'))
    fc.assert(
      fc.property(fc.array(anyText), anyText, (lines, chip) => {
        const { records } = recordsOf(['lanes'], [lane({ lines, chip })])
        expect(records).toHaveLength(1)
        expect(JSON.parse(records[0]?.['lines'] ?? '')).toEqual(lines)
        const read = records[0]?.['chip'] ?? null
        expect(read?.replace(/^'/, '')).toBe(chip.replace(/^'/, ''))
        expect(read).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/)
      }),
    )
  })
})
