import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readMapFile } from '../../../src/ops/actions/map-file.ts'

const target = { destination: 'ams', accounts: ['acme'] }
const [a, b] = [randomUUID(), randomUUID()]

describe('a file of mappings', () => {
  it('maps each submission to a client; other columns become fields', () => {
    const text = `\uFEFFsubmission_id;client;policy;Branch code\r\n${a.toUpperCase()};C 1;P-1;"north; ""main"""\r\n\r\n# none\r\n${b};C2;;\r\n`
    expect(readMapFile(text, 'map.csv', target)).toEqual({
      problems: [],
      rows: [
        { destination: 'ams', account: 'acme', submissionId: a, client: 'C 1', policy: 'P-1', fields: { 'Branch code': 'north; "main"' } },
        { destination: 'ams', account: 'acme', submissionId: b, client: 'C2', policy: null, fields: {} },
      ],
    })
  })

  it('requires the account if the destination has several', () => {
    const two = { destination: 'ams', accounts: ['acme', 'acme-staging'] }
    expect(readMapFile(`submission_id,client\n${a},1\n`, 'map.csv', two)).toEqual({
      rows: [],
      problems: ['map.csv: the first line must contain a column account, because ams has several accounts: acme, acme-staging'],
    })
    const text = `account,submission_id,client\nacme,${a},1\nacme-staging,${a},2\n,${b},3\nother,${b},3\n`
    const { rows, problems } = readMapFile(text, 'map.csv', two)
    expect(rows.map(({ account, client }) => [account, client])).toEqual([
      ['acme', '1'],
      ['acme-staging', '2'],
    ])
    expect(problems).toEqual([
      'map.csv, line 4: the account is missing; ams has acme, acme-staging',
      'map.csv, line 5: "other" is not an account of ams; it has acme, acme-staging',
    ])
  })

  it('reports all problems by line', () => {
    const text = `submission_id\tclient\tnote\nmany\t1\t\n${a}\t\t\n${b}\t1\t\n${b}\t1\t\n${b}\t2\t\n${randomUUID()}\t1\t${'x'.repeat(501)}\n`
    expect(readMapFile(text, 'map.csv', target).problems).toEqual([
      'map.csv, line 2: "many" is not a submission id (a uuid)',
      'map.csv, line 3: the client is missing',
      `map.csv, line 6: ${b} is mapped twice with different values`,
      'map.csv, line 7: "note" is longer than 500 characters',
    ])
    expect(readMapFile('', 'map.csv', target).problems).toEqual(['map.csv is empty'])
    expect(readMapFile('submission,client,,x,x\n', 'map.csv', target).problems).toEqual([
      'map.csv: the first line must contain a column submission_id',
      'map.csv: the first line contains an unnamed column',
      'map.csv: the first line contains column "x" twice',
    ])
  })

  it('rejects a row with more cells than columns: a separator is not quoted', () => {
    const text = `submission_id,client,policy\n${a},Smith, Inc,P-1\n${b},"Smith, Inc",P-1, ,\n`
    const { rows, problems } = readMapFile(text, 'map.csv', target)
    expect(rows).toMatchObject([{ submissionId: b, client: 'Smith, Inc', policy: 'P-1', fields: {} }])
    expect(problems).toEqual([
      'map.csv, line 2: the row has 4 cells, but the first line has 3 columns. Quote cells that contain a separator',
    ])
  })

  it('may have multi-line cells', () => {
    const text = `submission_id,client,note\n${a},1,"north,\nmain"\nx,2,\n${b},3,"open\n`
    const { rows, problems } = readMapFile(text, 'map.csv', target)
    expect(rows).toMatchObject([{ submissionId: a, fields: { note: 'north,\nmain' } }])
    expect(problems).toEqual([
      'map.csv, line 4: "x" is not a submission id (a uuid)',
      'map.csv, line 5: a quoted cell has no closing quote',
    ])
  })

  it('keeps columns with any name', () => {
    const { rows } = readMapFile(`submission_id,client,__proto__,constructor\n${a},1,p,c\n`, 'map.csv', target)
    expect(Object.entries(rows[0]?.fields ?? {})).toEqual([
      ['__proto__', 'p'],
      ['constructor', 'c'],
    ])
  })
})
