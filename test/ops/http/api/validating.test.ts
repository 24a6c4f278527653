import { describe, expect, it } from 'vitest'
import { cursorOf, noCursor } from '../../../../src/ops/operations/inputs.ts'
import { onSqlite } from '../../../tools/databases.ts'
import { closedAtEnd } from '../../../tools/servers.ts'
import { AdminRig, refusal } from '../rig.ts'

const WRONG = 'is not storable text: it contains U+0000 or half of a surrogate pair'

describe.each(onSqlite)('texts that a database cannot store, on $name', (database) => {
  it('are rejected in every input', async () => {
    const rig = await closedAtEnd(AdminRig.open(database))
    const nul = JSON.stringify('\u0000')
    const named = { submission_id: 'x', client: 'y', fields: { '\u0000': 'z' } }
    for (const [method, path, body, detail] of [
      ['GET', '/inbox/%00', undefined, `path id: ${nul} ${WRONG}`],
      ['GET', '/outbox/%00', undefined, `path id: ${nul} ${WRONG}`],
      ['GET', '/actions?who=%00', undefined, `query who: ${nul} ${WRONG}`],
      ['GET', '/actions?action=a%00', undefined, `query action: ${JSON.stringify('a\u0000')} ${WRONG}`],
      ['GET', '/outbox?destination=%00', undefined, `query destination: ${nul} ${WRONG}`],
      ['GET', '/destinations/%00/mappings', undefined, `path name: ${nul} ${WRONG}`],
      ['GET', `/destinations/mapped/mappings?cursor=${cursorOf(['\u0000', 'a'])}`, undefined, noCursor().message],
      ['POST', '/inbox/replay', { ids: ['a', 'a\u0000'] }, `body ids.1: ${JSON.stringify('a\u0000')} ${WRONG}`],
      ['POST', '/outbox/retry', { ids: ['\u0000'] }, `body ids.0: ${nul} ${WRONG}`],
      ['POST', '/outbox/skip', { destination: '\u0000', state: 'dead' }, `body destination: ${nul} ${WRONG}`],
      ['POST', '/outbox/skip', { destination: '\ud800', state: 'dead' }, `body destination: ${JSON.stringify('\ud800')} ${WRONG}`],
      ['POST', '/destinations/mapped/mappings', { rows: [named] }, `body rows.0.fields: the name ${nul} ${WRONG}`],
    ] as const) {
      const answer = await rig.ask(method, path, { body })
      expect([path, answer.status, answer.json['detail']]).toEqual([path, 400, detail])
    }
    const csv = { type: 'text/csv', text: 'submission_id,client\nx,\u0000\n' }
    const answer = await rig.ask('POST', '/destinations/mapped/mappings.csv', { raw: csv })
    expect(answer).toMatchObject(refusal(400, expect.stringContaining(WRONG)))
    expect(rig.lines.filter(({ level }) => Number(level) > 40)).toEqual([])
  })
})
