import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { insureds } from '../../src/model/entities/insureds.ts'
import { policies } from '../../src/model/entities/policies.ts'
import { columnsWhere } from '../../src/model/entity.ts'
import { account, problemsOf, withFile } from './support.ts'

const withFields = (fields: string) => withFile(`record_fields: ${fields}\n`, account)

describe('where columns of policies and insureds are looked for', () => {
  test('each column has a default, and the file replaces those that it names', () => {
    const { recordFields } = loadConfig(account)
    for (const [entity, paths] of [
      [policies, recordFields.policies],
      [insureds, recordFields.insureds],
    ] as const)
      expect(Object.keys(paths)).toEqual(columnsWhere(entity, ({ source }) => source.includes('record_fields')))
    const insured = 'insureds: { dba_name: trading_as }'
    const changed = loadConfig(withFields(`{ policies: { policy_number: [a.b, c-d], carrier_name: [] }, ${insured} }`))
    expect(changed.recordFields).toEqual({
      policies: { ...recordFields.policies, policy_number: ['a.b', 'c-d'], carrier_name: [] },
      insureds: { ...recordFields.insureds, dba_name: ['trading_as'] },
    })
  })

  test('unknown tables, unknown columns and invalid paths are mistakes, one line each', () => {
    const { policies, insureds } = loadConfig(account).recordFields
    const known = Object.keys(policies).join(', ')
    const path = 'must be a path: keys of the record, joined by dots, such as premium.total_billed_cents'
    for (const [fields, problem] of [
      ['{ quotes: { a: [b] } }', 'record_fields in CONFIG_FILE has an unknown key, quotes; known are policies, insureds'],
      ['{ policies: { naic: [b] } }', `record_fields.policies in CONFIG_FILE has an unknown key, naic; known are ${known}`],
      [
        '{ insureds: { dba: [a..b] } }',
        `record_fields.insureds in CONFIG_FILE has an unknown key, dba; known are ${Object.keys(insureds).join(', ')}`,
      ],
      ['{ insureds: { dba_name: [a..b] } }', `record_fields.insureds.dba_name[0] in CONFIG_FILE ${path}`],
      ['{ insureds: { dba_name: [a, "b c"] } }', `record_fields.insureds.dba_name[1] in CONFIG_FILE ${path}`],
      ['{ insureds: { dba_name: { a: b } } }', 'record_fields.insureds.dba_name in CONFIG_FILE must be a list'],
      ['[policies]', 'record_fields in CONFIG_FILE must hold keys and values'],
    ] as const)
      expect(problemsOf(withFields(fields)), fields).toEqual([problem])
  })
})
