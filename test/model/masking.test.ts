import { describe, expect, it } from 'vitest'
import { entities } from '../../src/model/entities.ts'
import { isMasked, MASK, maskedRow } from '../../src/model/masking.ts'
import { partsOfRowKey, rowKey, rowKeyOf } from '../../src/model/row-key.ts'

describe('masking', () => {
  it('hides what is personal, and shows what people find and work a submission by', () => {
    const masked = entities.flatMap(({ table, fields }) =>
      Object.entries(fields).flatMap(([column, field]) => (isMasked(field) && field.kind !== 'raw' ? [`${table}.${column}`] : [])),
    )
    expect(masked.sort()).toEqual([
      ...[
        'application_answers.value',
        'applications.errors',
        'applications.result',
        'bind_assumptions.value',
        'bind_requests.requested_by',
      ],
      ...['documents.document_url', 'documents.download_path', 'facts.snippet', 'facts.value', 'source_offers.document_url'],
      ...['thread_attachments.download_path', 'thread_messages.body_text', 'thread_messages.from_address', 'thread_messages.to_addresses'],
    ])
  })

  it('keeps null, and masks everything of a table or column that nobody knows', () => {
    const row = { subject: 'Your quotes', body_text: 'Dear', from_address: null, raw: '{}', later: 1 }
    expect(maskedRow('thread_messages', row)).toEqual({
      subject: 'Your quotes',
      body_text: MASK,
      from_address: null,
      raw: MASK,
      later: MASK,
    })
    expect(maskedRow('of_tomorrow', { name: 'x', gone_at: null })).toEqual({ name: MASK, gone_at: null })
  })
})

describe('the key of a row', () => {
  it.each([[['acme', 'a/b', '%2F', 'é 🦀', '#?&']], [['1']], [['', '']]])('comes back as it was: %j', (parts) => {
    expect(partsOfRowKey(rowKey(parts))).toEqual(parts)
    expect(rowKey(parts).split('/')).toHaveLength(parts.length)
  })

  it('is of the columns of the key, and refused when it is none', () => {
    expect(rowKeyOf({ key: ['account', 'n'] }, { n: 7, account: 'acme', other: 1 })).toBe('acme/7')
    expect(partsOfRowKey('%E0')).toBeNull()
  })
})
