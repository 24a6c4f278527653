import { expect, test } from 'vitest'
import { isSameText } from '../../../src/base/sealed.ts'
import { facts } from '../../../src/model/entities/facts.ts'
import { threadMessages } from '../../../src/model/entities/thread-messages.ts'
import { entities } from '../../../src/model/entities.ts'
import { canonicalJson, sameJson } from '../../../src/model/json.ts'
import { Protection, type ProtectMode } from '../../../src/model/protection/protection.ts'

const SSN = '123-45-6789'
const place = { account: 'a', table: 'submissions', key: '["s"]', column: 'raw' }
const [k1, k2] = ['k1', 'k2'].map((id, n) => ({ id, key: Buffer.alloc(32, n + 1) })) as [Key, Key]

interface Key {
  readonly id: string
  readonly key: Buffer
}

function protection(mode: ProtectMode, ...keys: Key[]): Protection {
  return new Protection({ mode, keys, taxIdFields: ['owner_no'] })
}

const CASES: readonly (readonly [string, string])[] = [
  [`{"fein":"${SSN}"}`, '{"fein":"[protected]"}'],
  [
    `{"a": [ {"b":{"FEIN or SSN" : ${SSN.replaceAll('-', '')} , "n":1.50e3}} ]}`,
    '{"a": [ {"b":{"FEIN or SSN" : "[protected]" , "n":1.50e3}} ]}',
  ],
  [`{"f\\u0065in":["${SSN}",{"x":"${SSN}"}],"y":1}`, '{"f\\u0065in":"[protected]","y":1}'],
  [`{"fein":"${SSN}","fein":"${SSN}"}`, '{"fein":"[protected]","fein":"[protected]"}'],
  [`[{"value":"${SSN}","key":"applicant.fein"}]`, '[{"value":"[protected]","key":"applicant.fein"}]'],
  [`{"question_key":"ownerSsn","answer":{"v":"${SSN}"},"label":"x"}`, '{"question_key":"ownerSsn","answer":"[protected]","label":"x"}'],
  [`{"key":"fein","evidence":"it says ${SSN}","snippet":"${SSN}"}`, '{"key":"fein","evidence":"[protected]","snippet":"[protected]"}'],
  [JSON.stringify({ q: JSON.stringify({ ssn: SSN }) }), JSON.stringify({ q: '{"ssn":"[protected]"}' })],
  [`{"owner_no":"${SSN}"}`, '{"owner_no":"[protected]"}'],
  [`{"fein":"${SSN}", cut off`, '{"fein":"[protected]", cut off'],
  [
    `{"key":"fein","source":{"id":"s1","type":"document","content_hash":"h1","snippet":"it says ${SSN}"}}`,
    '{"key":"fein","source":{"id":"s1","type":"document","content_hash":"[protected]","snippet":"[protected]"}}',
  ],
  [`{"facts":[{"key":"fein","x":[{"key":"revenue","value":5}]}]}`, `{"facts":[{"key":"fein","x":[{"key":"revenue","value":5}]}]}`],
  [
    JSON.stringify({
      a: JSON.stringify({ b: JSON.stringify({ c: JSON.stringify({ d: JSON.stringify({ e: JSON.stringify({ ssn: SSN }) }) }) }) }),
    }),
    JSON.stringify({
      a: JSON.stringify({ b: JSON.stringify({ c: JSON.stringify({ d: JSON.stringify({ e: '{"ssn":"[protected]"}' }) }) }) }),
    }),
  ],
  [`[["fein","${SSN}"],["phone","555-12-3456"]]`, '[["fein","[protected]"],["phone","555-12-3456"]]'],
  [`{"fields":["name","fein"],"values":["Acme","${SSN}"]}`, '{"fields":["name","fein"],"values":["Acme","[protected]"]}'],
  [
    `{"rows":[["Acme","${SSN}"]],"n":123456789,"columns":["name","FEIN"]}`,
    '{"rows":[["Acme","[protected]"]],"n":123456789,"columns":["name","FEIN"]}',
  ],
  [`{"field":{"name":"fein"},"value":"${SSN}"}`, '{"field":{"name":"fein"},"value":"[protected]"}'],
  ['{"k":"fein","v":5}', '{"k":"fein","v":"[protected]"}'],
  [`{"data_point":"EIN","note":"it is ${SSN}"}`, '{"data_point":"EIN","note":"[protected]"}'],
  [`{"d1":"answered 400: {\\"fein\\":\\"${SSN}\\"}"}`, '{"d1":"answered 400: {\\"fein\\":\\"[protected]\\"}"}'],
  ...['NamedInsured_TaxIdentifier_A', 'fein_number', 'ssn_number', 'tax_identification_number', 'ssns', 'tax_ids', 'federal_id'].map(
    (key) => [`{"x":[{"${key}":["${SSN}"]}]}`, `{"x":[{"${key}":"[protected]"}]}`] as const,
  ),
  ...['title', 'type', 'field_name', 'fieldName', 'label', 'id_type'].flatMap((name) =>
    ['value', 'data', 'val', 'display_value', 'valueString', 'number', 'old', 'to'].map(
      (value) => [`[{"${value}":"${SSN}","${name}":"FEIN"}]`, `[{"${value}":"[protected]","${name}":"FEIN"}]`] as const,
    ),
  ),
  ...[
    '{"key":"entity","options":[{"value":"ssn","label":"SSN"},{"value":"fein","label":"FEIN"},{"value":2,"label":"FEIN"}]}',
    '{"key":"fein","options":[{"value":"1","label":"FEIN"}],"input":"text","help_text":"as 12-3456789"}',
    '{"tax_id_type":"ssn","tax_id":"ssn","enum":["ssn","fein"],"tax_ids":["ssn","fein"]}',
    '{"missing_fields":["fein"],"policies":["12-3456789"]}',
    '{"fields":["premium"],"values":["12-3456789"]}',
    '{"subject":"Re: FEIN of Acme","from":"jo@acme.example","body_text":"Our policy 12-3456789 ends in May."}',
    '{"taxes":12345678,"premium_tax":"12-3456789","session_id":"12-3456789","federal_state":"12-3456789"}',
  ].map((text) => [text, text] as const),
  ['{"fein":null,"has_fein":true}', '{"fein":null,"has_fein":true}'],
  ['{"key":"fein","label":"FEIN","protein":"x"}', '{"key":"fein","label":"FEIN","protein":"x"}'],
]

test.each(CASES)('%s', (given, expected) => {
  const drop = protection('drop')
  expect(drop.text(given, place)).toBe(expected)
  expect(drop.text(expected, place), 'twice is as once').toBe(expected)
  const encrypt = protection('encrypt', k1)
  const sealed = encrypt.text(given, place)
  expect(encrypt.text(sealed, place), 'twice is as once').toBe(sealed)
  if (given === expected) return
  expect(sealed).not.toContain(SSN)
  expect(drop.text(sealed, place), 'from encrypted to dropped').toBe(expected)
  expect(protection('keep').text(given, place)).toBe(given)
  expect(encrypt.reveal(sealed, place), 'what was encrypted comes back as it was').toBe(given)
})

test("encryptions of one value differ as texts but count as the same; of other values or places they don't", () => {
  const encrypt = protection('encrypt', k1)
  const [a, b, other] = [SSN, SSN, '987-65-4321'].map((ssn) => encrypt.json({ x: [{ ssn }] }, place))
  expect(a).not.toEqual(b)
  expect(sameJson(a ?? null, b ?? null)).toBe(true)
  expect(canonicalJson(a ?? null)).toBe(canonicalJson(b ?? null))
  expect(sameJson(a ?? null, other ?? null)).toBe(false)
  const [here, there] = ['["s"]', '["t"]'].map((key) => encrypt.text(`{"ssn":"${SSN}"}`, { ...place, key }).slice(8, -2))
  expect(isSameText(here ?? '', there ?? '')).toBe(false)
})

test('a moved or changed text, or one of a lost key, is not decrypted, and stays', () => {
  const encrypt = protection('encrypt', k1)
  const sealed = encrypt.text(`{"ssn":"${SSN}"}`, place)
  expect(encrypt.reveal(sealed, { ...place, account: 'b' })).toBe(sealed)
  const changed = sealed.replace(/.(?=={0,2}"}$)/, (last) => (last === 'A' ? 'Q' : 'A'))
  expect(encrypt.reveal(changed, place)).toBe(changed)
  expect(protection('encrypt', k2).text(sealed, place)).toBe(sealed)
})

test('a new first key re-encrypts values of the old one; `keep` decrypts', () => {
  const sealed = protection('encrypt', k1).text(`{"ssn":"${SSN}"}`, place)
  const rotated = protection('encrypt', k2, k1).text(sealed, place)
  expect(rotated).toContain('enc:k2:')
  expect(protection('encrypt', k2).reveal(rotated, place)).toBe(`{"ssn":"${SSN}"}`)
  expect(protection('keep', k1).text(sealed, place)).toBe(`{"ssn":"${SSN}"}`)
})

test('a message whose subject names a tax id keeps its text', () => {
  const body_text = 'The quote is attached. The policy is 12-3456789.'
  const raw = JSON.stringify({ subject: 'FEIN needed', from: 'jo@acme.example', body_text })
  const row = { account: 'a', submission_id: 's', message_id: 'm', kind: 'question', subject: 'FEIN needed', body_text, raw }
  expect(protection('drop').row(threadMessages, row)).toEqual(row)
})

test('the raw text of a tax-id fact loses only the value, and stays JSON', () => {
  const raw = `{"key":"applicant.fein","value":"${SSN}","source":{"source_id":"s1","snippet":"it says ${SSN}"}}`
  const row = protection('drop').row(facts, { account: 'a', submission_id: 's', fact_key: 'f', key: 'applicant.fein', value: SSN, raw })
  expect(row).toMatchObject({
    value: '[protected]',
    raw: '{"key":"applicant.fein","value":"[protected]","source":{"source_id":"s1","snippet":"[protected]"}}',
  })
})

test.each(entities)('a row of $table loses tax ids in every column except its key', (entity) => {
  const row = Object.fromEntries(
    Object.entries(entity.columns).map(([column, kind]) => {
      if ((entity.key as readonly string[]).includes(column)) return [column, 'k']
      if (kind === 'json') return [column, { x: [{ fein: SSN }] }]
      return [column, kind === 'raw' || kind === 'text' ? `{"x":[{"fein":"${SSN}"}]}` : null]
    }),
  )
  expect(JSON.stringify(protection('drop').row(entity, row))).not.toContain(SSN)
})

test('a text value is searched for JSON too, and options can be answered', () => {
  const rows = { table: 'items', key: ['account', 'k'], fields: {} } as const
  const value = `{"fein":"${SSN}"}`
  expect(protection('drop').row(rows, { account: 'a', k: '1', value })).toMatchObject({ value: '{"fein":"[protected]"}' })
  const item = { account: 'a', k: '1', key: 'fein', label: 'FEIN', options: [{ value: '1', label: 'SSN' }], source: { snippet: SSN } }
  expect(protection('drop').row(rows, item)).toEqual({ ...item, source: { snippet: '[protected]' } })
})

test('a fact or an answer loses its value in any column', () => {
  const text = { kind: 'text', class: 'none', source: '', meaning: '' } as const
  const entity = {
    table: 'answers',
    key: ['account', 'submission_id', 'question_key'],
    fields: { value: { ...text, kind: 'json' }, snippet: text, ssn: { ...text, kind: 'int' }, confirmed: { ...text, kind: 'bool' } },
  } as const
  const row = { account: 'a', submission_id: 's', question_key: 'fein', value: SSN, snippet: SSN, note: SSN, ssn: 1, confirmed: true }
  expect(protection('drop').row(entity, row)).toEqual({
    ...row,
    ...{ value: '[protected]', snippet: '[protected]', note: '[protected]', ssn: null },
  })
  const safe = { ...row, question_key: 'revenue', ssn: null }
  expect(protection('drop').row(entity, safe)).toBe(safe)
})
