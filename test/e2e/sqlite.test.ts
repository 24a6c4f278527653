import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import type { Columns } from '../../src/store/schema/tables.ts'
import { newSqlite } from '../tools/databases.ts'
import { postSigned } from './signed.ts'
import { Stage } from './stage.ts'
import { expectTheStory } from './story.ts'

it('trap 36, trap 44: on SQLite the mirror agrees with the service for each account, without writes to the service', async () => {
  const place = newSqlite()
  onTestFinished(() => place.remove())
  const stage = await Stage.open(place.config, {
    seed: 'end to end',
    speed: 60,
    faults: 'all',
    // Variants that other end-to-end tests don't use.
    unshown: { announce_late: 'yes', expires_in: 'absent' },
    signatureHeaders: 'webhook',
    accounts: [
      { name: 'production', submissions: 8 },
      { name: 'staging', submissions: 3 },
    ],
  })
  onTestFinished(() => stage.close())
  const { sandbox } = stage
  const [id = ''] = sandbox.submissionIds('production')
  sandbox.addSubmission('staging', { submissionId: id, facts: { insured_name: 'Staging Tests LLC' } })
  const running = await stage.serve()
  await stage.track()
  stage.deliverTo(running.receiver)
  sandbox.story.start()
  const message = sandbox.addMessage('staging', id, { body_text: 'only in staging' })
  // Signed with the secret of staging, posted to production's path.
  const misled = JSON.stringify({ type: 'submission.message', submission_id: id, message: { ...message, body_text: 'misled' } })
  const refused = await postSigned(`${running.receiver}/webhooks/production`, sandbox.account('staging').webhookSecret, misled)
  expect(refused.status).toBe(401)

  const db = await expectTheStory(stage, running)
  const named = await db.read.sql.selectFrom('submissions').select(['account', 'insured_name']).where('submission_id', '=', id).execute()
  expect(named).toHaveLength(2)
  expect(named).toContainEqual({ account: 'staging', insured_name: 'Staging Tests LLC' })
  const messages = await db.read.all(sql<Columns<'thread_messages', 'account' | 'body_text'>>`
    select account, body_text from thread_messages where message_id = ${message.id}`)
  expect(messages).toEqual([{ account: 'staging', body_text: 'only in staging' }])
})
