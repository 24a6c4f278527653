import { describe, expect, it } from 'vitest'
import { entities } from '../../src/model/entities.ts'
import { isMasked, MASK, maskedRow, maskedText, maskedValues, withoutAnswer } from '../../src/model/masking.ts'
import { partsOfRowKey, rowKey, rowKeyOf } from '../../src/model/row-key.ts'

describe('masking', () => {
  it('hides personal values, and shows those that identify a submission', () => {
    const masked = entities.flatMap(({ table, fields }) =>
      Object.entries(fields).flatMap(([column, field]) => (isMasked(field) && field.kind !== 'raw' ? [`${table}.${column}`] : [])),
    )
    expect(masked.sort()).toEqual([
      'application_answers.value',
      'applications.errors',
      'applications.result',
      'bind_assumptions.value',
      'bind_requests.requested_by',
      'documents.document_url',
      'documents.download_path',
      'facts.snippet',
      'facts.value',
      'insureds.contacts',
      'insureds.mailing_address',
      'source_offers.document_url',
      'thread_attachments.download_path',
      'thread_messages.body_text',
      'thread_messages.from_address',
      'thread_messages.to_addresses',
    ])
  })

  it('keeps null, and masks all of an unknown table or column', () => {
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

  it.each([
    ['422: jo.doe+x@acme-bakery.co.uk is no address of a client', `422: ${MASK} is no address of a client`],
    ['SSN 123-45-6789 and FEIN 12-3456789 are not taken', `SSN ${MASK} and FEIN ${MASK} are not taken`],
    ['"No" is no answer to q_17; 2026-03-01, 8c5f0f44-1234-4567-89ab-0123456789ab', null],
    ['answered 503 after 123-45-67890 ms (http://10.0.0.1:8080/a@b)', null],
  ])('hides addresses and tax ids in texts of others: %s', (text, shown) => {
    expect(maskedText(text)).toBe(shown ?? text)
  })

  it.each([
    ['answered 503', 503, 'answered 503'],
    ['it answered 422 (no such code: Dear Jane (mobile))', 422, `it answered 422 ${MASK}`],
    ['answered 422: "One." is no note', null, `answered 422 ${MASK}`],
    ['the lookup failed: it answered 500 (Dear Jane); it may have arrived', null, `the lookup failed: it answered 500 ${MASK}`],
    ['it answered 200 (x), but success failed: Dear Jane', 200, `it answered 200 ${MASK}`],
    ['AMS360 answered Login with a fault (it answered 500 to Jane)', 500, `AMS360 answered Login with a fault ${MASK}`],
    ['it cannot be reached (ECONNREFUSED)', null, 'it cannot be reached (ECONNREFUSED)'],
    ['request.body failed: no client 7', null, 'request.body failed: no client 7'],
  ])('hides the answer of a destination: %s', (text, status, shown) => {
    expect(withoutAnswer(text, status)).toBe(shown)
  })

  it('hides the personal values of a row in any text, except very short ones', () => {
    const values = maskedValues('thread_messages', {
      subject: 'Your quotes',
      body_text: 'Please call Jane Doe (mobile)',
      from_address: 'No',
      to_addresses: ['Jane Doe <jane>'],
      raw: null,
    })
    expect(maskedText('400: "Please call Jane Doe (mobile)" of Your quotes to Jane Doe <jane>: No', values)).toBe(
      `400: "${MASK}" of Your quotes to ${MASK}: No`,
    )
  })
})

describe('the key of a row', () => {
  it.each([[['acme', 'a/b', '%2F', 'é 🦀', '#?&']], [['1']], [['', '']]])('is unchanged after parsing: %j', (parts) => {
    expect(partsOfRowKey(rowKey(parts))).toEqual(parts)
    expect(rowKey(parts).split('/')).toHaveLength(parts.length)
  })

  it('consists of the key columns, and is null when malformed', () => {
    expect(rowKeyOf({ key: ['account', 'n'] }, { n: 7, account: 'acme', other: 1 })).toBe('acme/7')
    expect(partsOfRowKey('%E0')).toBeNull()
  })
})
