import { readdir, readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entities } from '../../src/model/entities.ts'
import type { Json } from '../../src/model/json.ts'
import { personalColumns, personalDataFilter } from '../../src/model/personal.ts'

/** Locations of a person's documents: a path may contain no name and still lead to personal data. */
const places = ['documents.document_url', 'documents.download_path', 'source_offers.document_url', 'thread_attachments.download_path']

describe('personal columns', () => {
  it('are all columns of the classes personal, free and document', async () => {
    const text = await readFile(new URL('../../migrations/README.md', import.meta.url), 'utf8')
    const documented = text.split(/^### /m).flatMap((section) => {
      const table = section.split('\n', 1)[0] ?? ''
      if (!entities.some((entity) => entity.table === table)) return []
      return [...section.matchAll(/^\| `(\w+)` \| (\w+) \| .* \| (?:personal|free) \|$/gm)].flatMap(([, column = '', kind]) =>
        kind === 'raw' ? [] : [`${table}.${column}`],
      )
    })
    expect(documented.length).toBeGreaterThan(8)
    expect([...personalColumns].sort()).toEqual([...documented, ...places].sort())
  })

  it('exist', () => {
    const columns = entities.flatMap((entity) => Object.keys(entity.columns).map((column) => `${entity.table}.${column}`))
    expect(personalColumns.filter((column) => !columns.includes(column))).toEqual([])
  })
})

describe('leaving out personal data', () => {
  const row = { message_id: 'm', subject: 'Renewal', from_address: 'jane@brokerage.example', to_addresses: ['a@b.example'], kind: 'chat' }

  it('keeps only the allowed columns, and does not change the row', () => {
    expect(personalDataFilter([])('thread_messages', row)).toEqual({ message_id: 'm', kind: 'chat' })
    const some = personalDataFilter(['thread_messages.subject', 'submissions.insured_name'])
    expect(some('thread_messages', row)).toEqual({ message_id: 'm', kind: 'chat', subject: 'Renewal' })
    expect(some('submissions', { insured_name: 'Jane Doe', state: 'TX' })).toEqual({ insured_name: 'Jane Doe', state: 'TX' })
    expect(some('submissions', null)).toBeNull()
    expect(row.from_address).toBe('jane@brokerage.example')
  })

  it("trap 74: sends no address from an application, and no preset uses one as the insured's", async () => {
    const none = personalDataFilter([])
    const email = 'producer@brokerage.example'
    expect(none('facts', { key: 'applicant.contact_email', value: email, confirmed: true })).toEqual({
      key: 'applicant.contact_email',
      confirmed: true,
    })
    expect(none('application_answers', { question_key: 'contact_email', value: email })).toEqual({ question_key: 'contact_email' })
    expect(none('bind_assumptions', { key: 'contact_email', value: email })).toEqual({ key: 'contact_email' })
    for (const folder of ['../../config/presets', '../../src/push/ams360']) {
      const at = new URL(`${folder}/`, import.meta.url)
      for (const name of await readdir(at, { recursive: true })) {
        if (!/\.(yaml|ts)$/.test(name)) continue
        expect(await readFile(new URL(name, at), 'utf8'), name).not.toMatch(/contact_?email/i)
      }
    }
  })

  it('trap 75: keeps no FEIN and no social security number, at any depth, with any allowed columns', () => {
    const all = personalDataFilter(personalColumns)
    const lines = [{ name: 'gl', fein_or_ssn: '12-3456789', owners: [{ SSN: '123-45-6789', share: 50 }] }, 'auto', null]
    expect(all('lanes', { lines, status: 'quoted' })).toEqual({
      lines: [{ name: 'gl', owners: [{ share: 50 }] }, 'auto', null],
      status: 'quoted',
    })
    expect(all('a_table_of_later', { fein: '12-3456789', view: { 'tax-id': '1', taxes: 2 } })).toEqual({ view: { taxes: 2 } })
  })

  it('invariant 12: keeps no value under a key from the settings, in any spelling', () => {
    const asked = personalDataFilter(['lanes.next_step'], ['owner_tax_number', 'loss-ratio'])
    const next_step = '{"OwnerTaxNumber":"12","share":1}'
    expect(asked('lanes', { lines: [{ ownerTaxNumber: '12', share: 1 }], lossRatio: 2, next_step })).toEqual({
      lines: [{ share: 1 }],
      next_step: '{"share":1}',
    })
    expect(asked('lanes', { fein: '1' })).toEqual({})
  })

  it('invariant 12: keeps none in JSON inside a text, and leaves other words unchanged', () => {
    const asked = personalDataFilter(['lanes.next_step'])
    const nextStep = (text: string) => asked('lanes', { next_step: text })?.['next_step']
    expect(nextStep('{"do":"confirm","applicant":[{"fein_or_ssn":"12-3456789","share":0.5}]}')).toBe(
      '{"do":"confirm","applicant":[{"share":0.5}]}',
    )
    expect(nextStep('[{"S\\u0053N":"123-45-6789"},"sign"]')).toBe('[{},"sign"]')
    // Of a repeated key only the last value is read; the first must not be sent either.
    expect(nextStep('{"of":{"ssn":"123-45-6789"},"of":1}')).toBe('{"of":1}')
    expect(nextStep('{"of":{"s\\u0073n":"123-45-6789"},"of":1}')).toBe('{"of":1}')
    for (const words of ['Send the loss runs', '[urgent] sign', '{', '', '"ssn": "1"']) expect(nextStep(words)).toBe(words)
    const exact = '{"of": 12345678901234567890, "share": 1.50}'
    expect(nextStep(exact)).toBe(exact)
    expect(nextStep(`${'['.repeat(50_000)}{"ssn":"1"}${']'.repeat(50_000)}`)).toBeNull()
    expect(asked('lanes', { next_step: null })).toEqual({ next_step: null })
  })

  it('invariant 12: keeps none in a pair, or in JSON inside a value or words, and keeps options', () => {
    const asked = personalDataFilter(personalColumns)
    const text = JSON.stringify({ fein_number: '12-3456789', x: 1 })
    const value = { title: 'FEIN', display_value: '12-3456789', at: { content_hash: 'h', day: 1 }, d1: text, said: `answered: ${text}` }
    expect(asked('application_answers', { question_key: 'd', value: [value] })).toEqual({
      question_key: 'd',
      value: [{ title: 'FEIN', at: { day: 1 }, d1: '{"x":1}', said: 'answered: {"fein_number":"[tax id removed]","x":1}' }],
    })
    const options = [{ value: 'ssn', label: 'SSN' }]
    expect(asked('outstanding_items', { key: 'fein', options, value: text })).toEqual({ key: 'fein', options })
  })

  it('returns the row itself exactly when nothing is removed', () => {
    const asked = personalDataFilter(['lanes.next_step'])
    const key = fc.constantFrom('status', 'lines', 'next_step', 'unmet_labels', 'ssn', 'share')
    const value = fc.letrec<{ json: Json }>((tie) => ({
      json: fc.oneof(
        fc.constantFrom('words', '{"ssn":1}', '[1.50]', 7, null),
        fc.array(tie('json'), { maxLength: 2 }),
        fc.dictionary(key, tie('json'), { maxKeys: 2, noNullPrototype: true }),
      ),
    })).json
    fc.assert(
      fc.property(fc.dictionary(key, value, { noNullPrototype: true }), (row) => {
        const before = structuredClone(row)
        const kept = asked('lanes', row)
        expect(row).toEqual(before)
        expect(kept === row).toBe(JSON.stringify(kept) === JSON.stringify(row))
      }),
    )
  })
})
