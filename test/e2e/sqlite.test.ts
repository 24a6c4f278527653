import { expect, it, onTestFinished } from 'vitest'
import { newSqlite } from '../tools/databases.ts'
import { postSigned } from './signed.ts'
import { Stage } from './stage.ts'
import { expectTheStory } from './story.ts'

it('trap 36, trap 44: on SQLite the mirror ends as what the service shows, account by account, and nothing was written to the service', async () => {
  const place = newSqlite()
  onTestFinished(() => place.remove())
  const stage = await Stage.open(place.config, {
    seed: 'end to end',
    speed: 60,
    faults: 'all',
    // Of what is not shown, what the other end-to-end tests do not take.
    announceLate: true,
    expiresIn: 'absent',
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
  sandbox.startStory()
  const message = sandbox.addMessage('staging', id, { body_text: 'only in staging' })
  // Signed with the secret of staging, and posted where production's deliveries go.
  const misled = JSON.stringify({ type: 'submission.message', submission_id: id, message: { ...message, body_text: 'misled' } })
  const refused = await postSigned(`${running.receiver}/webhooks/production`, sandbox.account('staging').webhookSecret, misled)
  expect(refused.status).toBe(401)

  const db = await expectTheStory(stage, running)
  const named = await db.read.sql.selectFrom('submissions').select(['account', 'insured_name']).where('submission_id', '=', id).execute()
  expect(named).toHaveLength(2)
  expect(named).toContainEqual({ account: 'staging', insured_name: 'Staging Tests LLC' })
  const messages = await db.read.sql
    .selectFrom('thread_messages')
    .select(['account', 'body_text'])
    .where('message_id', '=', message.id)
    .execute()
  expect(messages).toEqual([{ account: 'staging', body_text: 'only in staging' }])
})
